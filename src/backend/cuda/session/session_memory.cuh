// What a session holds, from its problem alone: the shapes of its stages, and the device memory that they take. Where
// points come in blocks the stages take turns: what one needs is given back before the next begins.
#pragma once

#include <cstdint>

#include "backend/cuda/base/memory.cuh"
#include "backend/cuda/keys/contending_rows.cuh"
#include "backend/cuda/keys/exact_rows.cuh"
#include "backend/cuda/keys/list_check.cuh"
#include "backend/cuda/keys/refine.cuh"
#include "backend/cuda/result/delivery.cuh"
#include "backend/cuda/select/select.cuh"
#include "backend/cuda/tree/search_rows.cuh"
#include "backend/seam.h"
#include "metric/metric.h"

namespace libknng::cuda {

const Selector& selector_of(const knng_backend_problem& p);
// Whether a filter has lows of any rows with all columns.
bool has_row_filter(const knng_backend_problem& p);

// Whether keys of candidates come from products of all points in fp64, if that unit may be used (product_keys.cuh).
bool takes_product_keys(const knng_backend_problem& p);

// Jobs without arrays.
RefineJob refine_job(const knng_backend_problem& p, const Metric& metric);
ExactJob exact_job(const knng_backend_problem& p, const Metric& metric);
ContendingRowsJob contending_job(const knng_backend_problem& p, const Metric& metric);  // where has_row_filter()
SearchRowsJob search_rows_job(const knng_backend_problem& p, const Metric& metric);

// Candidates that a tile may add to a list: with the cut-off of one tile the next has k below it on average, of a
// variance of 2 k, and a list with more than there is room for is selected from a second time. More where all that lies
// below a guessed cut-off may be in a tile.
std::int64_t found_capacity(const knng_backend_problem& p, std::int64_t capacity);
// Places of a list where a sample does not want long ones.
std::int64_t short_capacity(const knng_backend_problem& p);
// The same for lists of which k entries are wanted and `capacity` kept.
std::int64_t found_capacity(std::int64_t k, std::int64_t capacity);
// Spaces for results: the device goes on with the next rows while the host, which is slower, takes those before.
inline constexpr int kResultSpaces = 4;
// Rows that one round of a stage is for.
std::int64_t refined_together(const knng_backend_problem& p);
std::int64_t redone_together(const knng_backend_problem& p);
std::int64_t evaluated_together(const knng_backend_problem& p);  // listed_keys.cuh
std::int64_t checked_together(const knng_backend_problem& p);

// Whether columns are compared in a random order of their own.
bool shuffles_columns(const knng_backend_problem& p);

// What rows that are checked take in memory, which is 256-byte aligned; without memory it counts. Where points come in
// blocks, all keys of all of them have come with these (CheckedKeys).
struct CheckSpace {
  CheckSpace(const knng_backend_problem& p, void* memory);

  std::int64_t together;  // rows
  std::int64_t* rows;
  double* u;
  double* keys;
  std::int64_t* ids;
  std::byte* values;
  double* listed;
  KeyCounts* counts;
  std::int64_t used;
};

// The same of rows of which all pairs are evaluated.
struct RedoSpace {
  RedoSpace(const knng_backend_problem& p, void* memory);

  ResultSpace results;
  std::int64_t* list;    // the rows
  std::byte* workspace;  // of exact_rows()
  std::int64_t used;
};
// The same of rows whose lists say which columns may belong to them.
struct ContendingSpace {
  ContendingSpace(const knng_backend_problem& p, void* memory);

  ResultSpace results;
  std::int64_t* list;
  std::int64_t* listed;  // ids of the lists
  std::byte* workspace;  // of contending_rows()
  std::int64_t used;
};
// Of rows answered from a tree.
struct AnswerSpace {
  AnswerSpace(const knng_backend_problem& p, void* memory);

  ResultSpace results;
  SearchState* state;
  std::byte* workspace;  // of search_rows()
  std::int64_t used;
};
// Of lists that come from another device, beside those of a tile.
struct MergeSpace {
  MergeSpace(const knng_backend_problem& p, void* memory);

  float *cutoffs, *dropped;
  std::int64_t used;
};

// What a session works in.
enum class Stage { tiles, keys, refine, redo };
// Workspace of a stage, or of all of them.
std::int64_t workspace_bytes(const knng_backend_problem& p, Stage stage);
std::int64_t workspace_bytes(const knng_backend_problem& p);
// Blocks of points that a stage holds, where they come in blocks; `rung` of tiles.
std::int64_t blocks_held(const knng_backend_problem& p, Stage stage, int rung);

std::int64_t session_bytes(const knng_backend_problem& p);
std::int64_t host_bytes(const knng_backend_problem& p);

}  // namespace libknng::cuda

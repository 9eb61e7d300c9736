// The engines of the CPU, as one ordered table: the first that can do a job is the best for it, the last can do any.
#pragma once

#include <atomic>
#include <cstdint>
#include <span>

#include "core/admission.h"
#include "core/buffer.h"
#include "core/monitor.h"
#include "core/thread_team.h"
#include "merge/neighbour_lists.h"
#include "metric/metric.h"
#include "plan/tile_grid.h"
#include "prepare/canonical_rows.h"
#include "select/selector.h"

namespace libknng {

// Points stand for positions: lists and the admission have ids of columns (CanonicalRows::id).
struct CpuProblem {
  const CanonicalRows& rows;     // queries come in their own order
  const CanonicalRows& columns;  // the same object if grid.square
  const Metric& metric;
  TileGrid grid;
  ThreadTeam& team;
  Admission admission;
  const Selector* selector = nullptr;  // of engines that select
};

// What an engine counted.
struct CpuCounts {
  std::int64_t keys = 0;        // canonical keys evaluated
  std::int64_t violations = 0;  // keys outside the bounds of their filter
  std::int64_t redone = 0;      // rows whose list did not fill below a guessed cut-off
  bool inexact = false;         // a filter's arithmetic was not that of the keys
};

struct CpuEngine {
  const char* name;
  std::int64_t panel;        // sides of tiles are best a multiple of it
  std::int64_t block_bytes;  // rows of a tile are best as large, in fp64
  double pairs_per_key;      // that it does in the time of a canonical key, at best; 0: it evaluates all keys
  bool selects;              // with a selector
  bool shuffles;             // columns come in a random order; else in that of their ids
  bool keys_alone;           // compares nothing but canonical keys
  std::int64_t most_dim;     // dimensions that it takes, of metrics that it can do
  bool (*can_run)(const Metric& metric, std::int64_t dim);
  // Whether engine=auto should take it rather than one further down.
  bool (*pays)(const Metric& metric, std::int32_t dtype, std::int64_t dim, std::int64_t rows, std::int64_t columns,
               std::int64_t k);
  // Of all pairs: on how many it spends time, roughly.
  double (*share)(std::int64_t dim, std::int64_t columns, std::int64_t k);
  // Memory beside the canonical rows and the lists: for all points, and for each thread.
  // dtype: of the rows as stored, 0 if queries have another than the data set.
  std::int64_t (*operand_bytes)(const Metric& metric, std::int32_t dtype, std::int64_t k, const TileGrid& grid,
                                std::int64_t dim);
  std::int64_t (*workspace_bytes)(const Metric& metric, std::int32_t dtype, const Selector* selector, std::int64_t k,
                                  const TileGrid& grid, std::int64_t dim);
  // Whether all pairs are best one tile.
  bool (*one_tile)(const Metric& metric, std::int32_t dtype, std::int64_t dim, std::int64_t rows, std::int64_t columns,
                   std::int64_t k);
  // Offers to `lists`, which are by rows, every pair that belongs, and others, each once. Throws KNNG_ERR_CANCELLED
  // when stopped, the lists are then partial.
  CpuCounts (*run)(const CpuProblem& problem, NeighbourLists& lists, Budget* budget, Monitor& monitor);
};

// Of the columns, and of the rows if they are other points. of_points(count): bytes.
template <class F>
std::int64_t of_both_sides(const TileGrid& grid, F&& of_points) {
  return grid.square ? of_points(grid.columns) : checked_add(of_points(grid.columns), of_points(grid.rows), "q");
}

std::span<const CpuEngine> cpu_engines();

// The instructions that they run on, for people.
const char* cpu_target();

}  // namespace libknng

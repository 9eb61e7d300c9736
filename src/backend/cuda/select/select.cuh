// Selectors: from a tile of lower bounds, the C smallest of every row or of every column that are not above its
// cut-off. Knows nothing of metrics, of the bound, or of who keeps the lists (merge.cuh). Papers: komarov-2014 (quick),
// arefin-2012 (insertion), dashti-2013 (batch_sort).
#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>
#include <span>

#include "backend/cuda/base/device_properties.cuh"
#include "backend/cuda/select/candidate.cuh"
#include "backend/cuda/select/list_admission.cuh"

namespace libknng::cuda {

enum class Side { rows, columns };  // a list for every row of the tile, or for every column

// One tile and what is wanted of it. All pointers are to device memory.
//
// The low of (r, c) is tile[r * ld + c], or, where there are terms, fma(-2, tile[r * ld + c], row_terms[r] +
// column_terms[c]) with every operation rounded to nearest; a term of +inf makes a pair no candidate. No low is NaN:
// the plan admits only operands whose products cannot overflow. Of integers it is row_terms[r] + column_terms[c] - 2
// tile[r * ld + c], which fits 32 bits, rounded down; integer_terms.h has terms that say more than a number.
//
// A pair survives when !(low > cutoff) and low < +inf and the list admits its id. Of the survivors of a list the
// `capacity` smallest come out, in no order; among equal lows at the capacity's edge any may be kept.
struct SelectJob {
  const float* tile = nullptr;
  std::int64_t ld = 0;                  // elements from one row to the next
  const float* row_terms = nullptr;     // both or neither
  const float* column_terms = nullptr;  //
  bool integers = false;                // with terms: they and the tile's elements are the bits of int32
  int rows = 0, columns = 0;            // at least 1 each
  // Not 0, with Side::rows: squares of that side on a diagonal, one below the other, of which the last may be smaller.
  // The list of row r has the elements from r / square * square on, `square` of them or up to the last row: ids and
  // column terms begin so much further along. `columns` is `square` then.
  int square = 0;
  Side side = Side::rows;
  std::uint32_t first_id = 0;      // id of candidate 0 of every list
  ListAdmission admission;         // by list
  const float* cutoffs = nullptr;  // per list; null: no cut-off
  int capacity = 0;                // C >= 1
  Candidate* out = nullptr;        // lists x C
  std::int32_t* counts = nullptr;  // per list: min(C, survivors)
  // Only lists whose count, as it stands, is above the capacity are selected for; the others stay as they are. Lists
  // may be selected for all the same where that costs nothing.
  bool only_overflown = false;
  float* dropped = nullptr;  // per list: lowered to the smallest low that survived but found no place; else untouched
};

// Elements from one row of a tile to the next: whole vectors.
constexpr std::int64_t leading_dimension(std::int64_t columns) { return (columns + 3) / 4 * 4; }

// The square of a job of squares that begins with row `first`.
SelectJob square_of(const SelectJob& job, int first);

constexpr int list_count(const SelectJob& job) { return job.side == Side::rows ? job.rows : job.columns; }
constexpr int list_length(const SelectJob& job) { return job.side == Side::rows ? job.columns : job.rows; }

// Of a device, what a selector's buffers go by.
struct DeviceLimits {
  int processors;
  int shared_bytes;  // a block can have after asking for it
};
DeviceLimits limits_of(const DeviceProperties& device);
// Of the current device.
DeviceLimits device_limits();

// What run() does is ordered by the stream. Launch failures are CudaErrors.
struct Selector {
  const char* name;
  // Of that device's memory, which run() may use; aligned as cudaMalloc does.
  std::size_t (*workspace_bytes)(const SelectJob&, const DeviceLimits&);
  void (*run)(const SelectJob&, void* workspace, cudaStream_t);
  // Rows and columns of one tile at once, for selectors that gain by it; null: run() twice. The jobs differ in nothing
  // but side, first_id, admission, cutoffs, capacity and outputs.
  std::size_t (*workspace_bytes_both)(const SelectJob& rows, const SelectJob& columns, const DeviceLimits&) = nullptr;
  void (*run_both)(const SelectJob& rows, const SelectJob& columns, void* workspace, cudaStream_t) = nullptr;
  bool takes_squares = false;  // run() does; select() for those that do not
};

// Best first.
std::span<const Selector> selectors();
// One side of a tile, or of squares, by any selector.
void select(const Selector& selector, const SelectJob& job, void* workspace, cudaStream_t stream);
// nullptr: there is none of that name.
const Selector* find_selector(const char* name);

}  // namespace libknng::cuda

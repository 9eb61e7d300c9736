// `quick` for both sides of a tile at once, in one read. Where a list has a cut-off it is the first pivot of
// komarov-2014, better than any sample: what lies above it is the right part, which nobody wants. So one partition of
// the tile serves its rows and its columns; survivors are few and go straight to their lists. Lists without a cut-off,
// and those that overflow, are left to the kernels of one side.
#include <algorithm>

#include "backend/cuda/check.cuh"
#include "backend/cuda/select/entries.cuh"
#include "backend/cuda/select/lists.cuh"
#include "backend/cuda/select/quick.cuh"

namespace libknng::cuda {
namespace {

constexpr int kThreads = 256;
constexpr int kWidth = 4;          // neighbouring columns of a thread, one load
constexpr int kRowsTogether = 8;   // loads in flight a thread
constexpr int kRowsOfBlock = 128;  // a block takes kThreads x kWidth columns of so many rows

// A list that can have no candidates: a term of +inf. Of integers there is none with these bits.
__device__ bool barren(const ListView& v, int list) { return v.list_terms && !(v.list_terms[list] < infinity()); }

// Counts start from 0, or above the capacity where there is no cut-off to go by.
__device__ void start(const ListView& v, int list) {
  if (list < v.lists) v.counts[list] = v.cutoffs[list] < infinity() || barren(v, list) ? 0 : v.capacity + 1;
}
__global__ void start_counts(const ListView rows, const ListView columns) {
  const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  start(rows, i);
  start(columns, i);
}

// What a list's survivors are below; nothing survives here where there is no cut-off.
__device__ float known_limit(const ListView& v, int list) {
  const float cutoff = v.cutoffs[list];
  return cutoff < infinity() ? next_up(cutoff) : -infinity();
}

__device__ void append(const ListView& v, int list, int element, float low) {
  const int place = atomicAdd(&v.counts[list], 1);
  if (place < v.capacity)
    v.out[static_cast<std::int64_t>(list) * v.capacity + place] = {low, v.first_id + static_cast<unsigned>(element)};
}

// rows.list_terms are the rows' terms, rows.element_terms the columns'.
template <class Low>
__global__ void __launch_bounds__(kThreads) screen(const ListView rows, const ListView columns) {
  struct Row {
    float term, limit;
  };
  __shared__ Row of_rows[kRowsOfBlock];
  const int first_row = static_cast<int>(blockIdx.y) * kRowsOfBlock;
  const int count = min(kRowsOfBlock, rows.lists - first_row);
  for (int r = static_cast<int>(threadIdx.x); r < count; r += kThreads)
    of_rows[r] = {Low::has_terms ? rows.list_terms[first_row + r] : 0.0F, known_limit(rows, first_row + r)};
  __syncthreads();

  const int column = static_cast<int>(blockIdx.x * kThreads + threadIdx.x) * kWidth;
  if (column >= columns.lists) return;
  // The tile's pitch is a multiple of kWidth: reading past its last column is safe, and nothing there survives.
  float terms[kWidth], limits[kWidth];
#pragma unroll
  for (int j = 0; j < kWidth; ++j) {
    const bool there = column + j < columns.lists;
    terms[j] = Low::has_terms && there ? rows.element_terms[column + j] : 0.0F;
    limits[j] = there ? known_limit(columns, column + j) : -infinity();
  }
  const auto* tile =
      reinterpret_cast<const float4*>(rows.tile + static_cast<std::int64_t>(first_row) * rows.ld + column);
  const std::int64_t pitch = rows.ld / kWidth;
  const auto take = [&](int r, float x, int j) {
    const float low = Low::low(x, of_rows[r].term, terms[j]);
    if (column + j >= columns.lists) return;
    if (low < of_rows[r].limit) append(rows, first_row + r, column + j, low);
    if (low < limits[j]) append(columns, column + j, first_row + r, low);
  };
  for (int base = 0; base < count; base += kRowsTogether) {
    float4 x[kRowsTogether];
#pragma unroll
    for (int u = 0; u < kRowsTogether; ++u) x[u] = __ldcs(tile + min(base + u, count - 1) * pitch);
#pragma unroll
    for (int u = 0; u < kRowsTogether; ++u) {
      const int r = min(base + u, count - 1);
      const Row row = of_rows[r];
      const auto hits = [&](float value, int j) {
        return Low::low(value, row.term, terms[j]) < fmaxf(row.limit, limits[j]);
      };
      const bool any = hits(x[u].x, 0) || hits(x[u].y, 1) || hits(x[u].z, 2) || hits(x[u].w, 3);
      if (!any || base + u >= count) continue;
      take(r, x[u].x, 0);
      take(r, x[u].y, 1);
      take(r, x[u].z, 2);
      take(r, x[u].w, 3);
    }
  }
}

// The one-read kernel takes whole vectors, lists with cut-offs and no exceptions.
bool can_screen(const SelectJob& rows, const SelectJob& columns) {
  return rows.ld % kWidth == 0 && reinterpret_cast<std::uintptr_t>(rows.tile) % 16 == 0 && rows.cutoffs &&
         columns.cutoffs && !rows.excluded && !columns.excluded;
}

}  // namespace

std::size_t quick_workspace_both(const SelectJob& rows, const SelectJob& columns) {
  return std::max(quick_workspace(rows), quick_workspace(columns));
}

void quick_run_both(const SelectJob& rows, const SelectJob& columns, void* workspace, cudaStream_t stream) {
  SelectJob rest_of_rows = rows, rest_of_columns = columns;
  if (can_screen(rows, columns)) {
    const ListView of_rows = list_view(rows), of_columns = list_view(columns);
    const auto lists = static_cast<unsigned>(std::max(rows.rows, rows.columns));
    start_counts<<<(lists + kThreads - 1) / kThreads, kThreads, 0, stream>>>(of_rows, of_columns);
    check_launch();
    const dim3 blocks(static_cast<unsigned>((rows.columns + kThreads * kWidth - 1) / (kThreads * kWidth)),
                      static_cast<unsigned>((rows.rows + kRowsOfBlock - 1) / kRowsOfBlock));
    with_low(rows, [&]<class Low>(Low) { screen<Low><<<blocks, kThreads, 0, stream>>>(of_rows, of_columns); });
    check_launch();
    rest_of_rows.only_overflown = rest_of_columns.only_overflown = true;
  }
  quick_run(rest_of_rows, workspace, stream);
  quick_run(rest_of_columns, workspace, stream);
}

}  // namespace libknng::cuda

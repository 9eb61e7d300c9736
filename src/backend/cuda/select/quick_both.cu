// `quick` for both sides of a tile at once, in one read. Where a list has a cut-off it is the first pivot of
// komarov-2014, better than any sample: what lies above it is the right part, which nobody wants. So one partition of
// the tile serves its rows and its columns; survivors are few and go straight to their lists. Lists without a cut-off,
// and those that overflow, are left to the kernels of one side.
#include <algorithm>

#include "backend/cuda/base/blocks.cuh"
#include "backend/cuda/base/check.cuh"
#include "backend/cuda/select/entries.cuh"
#include "backend/cuda/select/lists.cuh"
#include "backend/cuda/select/quick.cuh"
#include "core/division.h"

namespace libknng::cuda {
namespace {

constexpr int kThreads = 256;
constexpr int kWidth = 4;          // neighbouring columns of a thread, one load
constexpr int kRowsTogether = 8;   // loads in flight a thread
constexpr int kRowsOfBlock = 128;  // a block takes kThreads x kWidth columns of so many rows

// Counts start from 0, or above the capacity where there is no cut-off to go by, but may be candidates.
template <class Low>
__device__ void start(const ListView& v, int list) {
  if (list >= v.lists) return;
  const bool barren = Low::has_terms && Low::is_none(v.list_terms[list]);
  v.counts[list] = v.cutoffs[list] < infinity() || barren ? 0 : v.capacity + 1;
}
template <class Low>
__global__ void start_counts(const ListView rows, const ListView columns) {
  const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  start<Low>(rows, i);
  start<Low>(columns, i);
}

// What a list's survivors are below; nothing survives here where there is no cut-off.
__device__ float known_limit(const ListView& v, int list) {
  const float cutoff = v.cutoffs[list];
  return cutoff < infinity() ? next_up(cutoff) : -infinity();
}

// Puts a survivor into its list.
__device__ void append(const ListView& v, int list, int element, float low) {
  const int place = atomicAdd(&v.counts[list], 1);
  if (place < v.capacity)
    v.out[static_cast<std::int64_t>(list) * v.capacity + place] = {low, v.first_id + static_cast<unsigned>(element)};
}

// Survivors of a warp on their way to their lists. A list's count is far away, and who waits for it reads nothing
// meanwhile: so many go together. All lanes call everything.
class Survivors {
 public:
  static constexpr int kRoom = 256;
  struct Entry {
    float low;
    std::uint32_t place;  // row in the block, column in the block, and whose they are
  };

  __device__ explicit Survivors(Entry* room) : room_(room) {}

  // Whether there is room for one of every lane as many times.
  __device__ bool has_room(int times) const { return size_ + 32 * times <= kRoom; }
  __device__ void add(int r, int c, float low, bool of_row, bool of_column) {
    const unsigned votes = __ballot_sync(0xffffffffU, of_row || of_column);
    if (of_row || of_column)
      room_[size_ + __popc(votes & lanes_before())] = {low, static_cast<std::uint32_t>(r) << 16 |
                                                                static_cast<std::uint32_t>(c) << 2 |
                                                                (of_row ? 2U : 0U) | (of_column ? 1U : 0U)};
    size_ += __popc(votes);
  }
  __device__ void deliver(const ListView& rows, const ListView& columns, int first_row, int first_column) {
    __syncwarp();
#pragma unroll 1
    for (int i = static_cast<int>(threadIdx.x % 32); i < size_; i += 32) {
      const Entry e = room_[i];
      const int row = first_row + static_cast<int>(e.place >> 16);
      const int column = first_column + static_cast<int>(e.place >> 2 & 0x3fffU);
      if ((e.place & 2U) != 0) append(rows, row, column, e.low);
      if ((e.place & 1U) != 0) append(columns, column, row, e.low);
    }
    __syncwarp();
    size_ = 0;
  }

 private:
  Entry* room_;
  int size_ = 0;  // the same for all lanes
};
static_assert(kRowsOfBlock <= 1 << 16 && kThreads * kWidth <= 1 << 14);

// rows.list_terms are the rows' terms, rows.element_terms the columns'.
template <class Low>
__global__ void __launch_bounds__(kThreads, 4) screen(const ListView rows, const ListView columns) {
  struct Row {
    float term, limit;
  };
  __shared__ Row of_rows[kRowsOfBlock];
  __shared__ Survivors::Entry found[kThreads / 32][Survivors::kRoom];
  const int first_row = static_cast<int>(blockIdx.y) * kRowsOfBlock;
  const int count = min(kRowsOfBlock, rows.lists - first_row);
  for (int r = static_cast<int>(threadIdx.x); r < count; r += kThreads)
    of_rows[r] = {Low::has_terms ? rows.list_terms[first_row + r] : 0.0F, known_limit(rows, first_row + r)};
  __syncthreads();

  const int first_column = static_cast<int>(blockIdx.x) * kThreads * kWidth;
  const int c = static_cast<int>(threadIdx.x) * kWidth;
  // The tile's pitch is a multiple of kWidth: reading past its last column is safe, and nothing there survives. Threads
  // beyond it read its last vector.
  const int column = min(first_column + c, (columns.lists - 1) / kWidth * kWidth);
  float terms[kWidth], limits[kWidth];
#pragma unroll
  for (int j = 0; j < kWidth; ++j) {
    const bool there = first_column + c + j < columns.lists;
    terms[j] = Low::has_terms && there ? rows.element_terms[column + j] : 0.0F;
    limits[j] = there ? known_limit(columns, column + j) : -infinity();
  }
  const auto* tile =
      reinterpret_cast<const float4*>(rows.tile + static_cast<std::int64_t>(first_row) * rows.ld + column);
  const std::int64_t pitch = rows.ld / kWidth;
  Survivors survivors(found[threadIdx.x / 32]);
  for (int base = 0; base < count; base += kRowsTogether) {
    float4 x[kRowsTogether];
#pragma unroll
    for (int u = 0; u < kRowsTogether; ++u) x[u] = __ldcs(tile + min(base + u, count - 1) * pitch);
    unsigned found_in = 0;  // rows of these with survivors in the warp
#pragma unroll
    for (int u = 0; u < kRowsTogether; ++u) {
      const Row row = of_rows[min(base + u, count - 1)];
      const auto below = [&](float value, int j) {
        return Low::low(value, row.term, terms[j]) < fmaxf(row.limit, limits[j]);
      };
      const bool any = below(x[u].x, 0) || below(x[u].y, 1) || below(x[u].z, 2) || below(x[u].w, 3);
      if (__any_sync(0xffffffffU, any) && base + u < count) found_in |= 1U << u;
    }
#pragma unroll 1
    for (; found_in != 0; found_in &= found_in - 1) {
      const int at = __ffs(static_cast<int>(found_in)) - 1, r = base + at;
      float4 four = x[0];
#pragma unroll
      for (int u = 1; u < kRowsTogether; ++u)
        if (at == u) four = x[u];
      const float values[kWidth] = {four.x, four.y, four.z, four.w};
      const Row row = of_rows[r];
      if (!survivors.has_room(kWidth)) survivors.deliver(rows, columns, first_row, first_column);
#pragma unroll
      for (int j = 0; j < kWidth; ++j) {
        const float low = Low::low(values[j], row.term, terms[j]);
        const bool there = first_column + c + j < columns.lists;
        survivors.add(r, c + j, low, there && low < row.limit, there && low < limits[j]);
      }
    }
  }
  survivors.deliver(rows, columns, first_row, first_column);
}

// The one-read kernel takes whole vectors, lists with cut-offs and no exceptions.
bool can_screen(const SelectJob& rows, const SelectJob& columns) {
  return rows.ld % kWidth == 0 && reinterpret_cast<std::uintptr_t>(rows.tile) % 16 == 0 && rows.cutoffs &&
         columns.cutoffs && rows.admission.admits_all() && columns.admission.admits_all();
}

}  // namespace

std::size_t quick_workspace_both(const SelectJob& rows, const SelectJob& columns, const DeviceLimits& limits) {
  return std::max(quick_workspace(rows, limits), quick_workspace(columns, limits));
}

void quick_run_both(const SelectJob& rows, const SelectJob& columns, void* workspace, cudaStream_t stream) {
  SelectJob rest_of_rows = rows, rest_of_columns = columns;
  if (can_screen(rows, columns)) {
    const ListView of_rows = list_view(rows), of_columns = list_view(columns);
    const auto lists = static_cast<unsigned>(std::max(rows.rows, rows.columns));
    const dim3 blocks(static_cast<unsigned>((rows.columns + kThreads * kWidth - 1) / (kThreads * kWidth)),
                      blocks_for(rows.rows, kRowsOfBlock));
    with_low(rows, [&]<class Low>(Low) {
      start_counts<Low><<<ceil_div(lists, kThreads), kThreads, 0, stream>>>(of_rows, of_columns);
      check_launch();
      screen<Low><<<blocks, kThreads, 0, stream>>>(of_rows, of_columns);
      check_launch();
    });
    rest_of_rows.only_overflown = rest_of_columns.only_overflown = true;
  }
  quick_run(rest_of_rows, workspace, stream);
  quick_run(rest_of_columns, workspace, stream);
}

}  // namespace libknng::cuda

// The fused kernel for compute capability 8.0 and later: products by mma.sync, operands by cp.async through a ring in
// shared memory. Two blocks on a multiprocessor that has shared memory for them, so that one multiplies while the other
// compares; the 100 KiB of 8.6, 8.9 and 12.0 hold one.
#include <algorithm>

#include "backend/cuda/base/check.cuh"
#include "backend/cuda/base/copy_async.cuh"
#include "backend/cuda/fused/fused_job.cuh"
#include "backend/cuda/fused/held_up.cuh"
#include "backend/cuda/fused/sift.cuh"
#include "core/division.h"

namespace libknng::cuda::fused {
namespace {

// A block's tile is half a job's row block at a time; warps lie 2 x 4 in it, 64 x 32 products each.
constexpr int kRows = 128, kColumns = kBlockColumns;
constexpr int kThreads = 256, kWarps = kThreads / 32;
constexpr int kWarpRows = 64, kWarpColumns = 32, kWarpsAcross = kColumns / kWarpColumns;
constexpr int kSlabs = kWarpRows / 16, kEights = kWarpColumns / 8;
constexpr int kTerms = 32;  // of a stage: 64 bytes of a point, halves or twice as many bytes
constexpr int kPointBytes = kTerms * 2, kPieces = kPointBytes / 16;  // of 16 bytes
constexpr int kStages = 3;
constexpr int kPacketProducts = 16, kPacketsRoom = 28;  // 32 products were slower
static_assert(kBlockRows % kRows == 0 && kWarps == kRows / kWarpRows * kWarpsAcross);

template <class Number>
struct Shared {
  __align__(128) std::byte rows[kStages][kRows * kPointBytes];
  __align__(128) std::byte columns[kStages][kColumns * kPointBytes];
  __align__(16) ListLimit<Number> limits[2][kColumns];
  ListLimit<Number> least[2][kColumns / kLaneColumns];
  ListLimit<Number> row_limits[kRows];
  PacketSpace<Number, kPacketProducts, kPacketsRoom> packets[kWarps];
  Survivors::Space survivors[kWarps];
  std::uint16_t near[kWarps][kPacketsRoom * kPacketProducts];
};

// Of 8.0, which has 164 KiB, one of them taken for each block ("CUDA Programming Guide", compute capability 8.x).
static_assert(2 * (sizeof(Shared<float>) + 1024) <= 164 * 1024);

// Pieces of 16 bytes are swizzled, so that eight points' pieces lie in eight banks of 16 bytes. Eight points on it is
// the same for the next: what a lane reads of all of them lies at fixed distances, and takes one register.
__device__ int piece_at(int point, int piece) { return point * kPointBytes + (piece ^ (point >> 1 & 3)) * 16; }

// Terms [first, first + kTerms) of kRows or kColumns points; zeros where there are none.
__device__ void bring(std::byte* to, const std::byte* operands, std::int64_t stride, std::int64_t terms, int point,
                      int points, int first) {
  constexpr int kAtATime = kThreads / kPieces;
  static_assert(kRows == kColumns && kRows % kAtATime == 0 && kAtATime % 8 == 0);
  const int thread = static_cast<int>(threadIdx.x), p = thread / kPieces, piece = thread % kPieces;
#pragma unroll
  for (int next = 0; next < kRows; next += kAtATime) {
    const bool there = point + next + p < points && first + piece * 8 < terms;
    const std::int64_t at = there ? (point + next + p) * stride + first + piece * 8 : 0;
    copy_async_or_zero(to + piece_at(p, piece) + next * kPointBytes, operands + at * 2, there);
  }
}

__device__ void load_matrices(unsigned (&to)[4], const std::byte* at) {
#if __CUDA_ARCH__ >= 800
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3])
               : "r"(static_cast<unsigned>(__cvta_generic_to_shared(at))));
#endif
}

// 16 x 8 sums in fp32 += 16 x 16 by 16 x 8 of fp16.
__device__ void multiply(float* d, const unsigned (&a)[4], unsigned b0, unsigned b1) {
#if __CUDA_ARCH__ >= 800
  asm volatile(
      "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, "
      "%3};"
      : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
#endif
}

// 16 x 8 sums in int32 += 16 x 32 by 32 x 8 of signed bytes.
__device__ void multiply(std::int32_t* d, const unsigned (&a)[4], unsigned b0, unsigned b1) {
#if __CUDA_ARCH__ >= 800
  asm volatile(
      "mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, "
      "%3};"
      : "+r"(d[0]), "+r"(d[1]), "+r"(d[2]), "+r"(d[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
#endif
}

template <class Number>
using Found = Products<Number, kSlabs, kEights, 16, 8, kPacketProducts>;

template <class Number>
__device__ void multiply_stage(Found<Number>& found, const std::byte* rows, const std::byte* columns, int warp_row,
                               int warp_column) {
  const int lane = static_cast<int>(threadIdx.x % 32);
#pragma unroll
  for (int step = 0; step < kTerms / 16; ++step) {
    unsigned a[kSlabs][4], b[kEights / 2][4];
#pragma unroll
    for (int slab = 0; slab < kSlabs; ++slab)
      load_matrices(a[slab], rows + (warp_row + slab * 16) * kPointBytes + piece_at(lane % 16, step * 2 + lane / 16));
      // Two eights at once: points 0 to 7 and 8 to 15, the first and the second eight terms of each.
#pragma unroll
    for (int two = 0; two < kEights / 2; ++two)
      load_matrices(b[two], columns + (warp_column + two * 16) * kPointBytes +
                                piece_at(lane / 16 * 8 + lane % 8, step * 2 + lane / 8 % 2));
#pragma unroll
    for (int slab = 0; slab < kSlabs; ++slab)
#pragma unroll
      for (int eight = 0; eight < kEights; ++eight)
        multiply(&found.values[slab][eight * 4], a[slab], b[eight / 2][eight % 2 * 2], b[eight / 2][eight % 2 * 2 + 1]);
  }
}

// What a warp has found and not handed over.
template <bool kBoth, class Number>
class Finds {
 public:
  __device__ Finds(PacketSpace<Number, kPacketProducts, kPacketsRoom>& packets, std::uint16_t* near,
                   Survivors::Space& survivors, const FusedJob<Number>& job)
      : packets_(packets), near_(near), survivors_(survivors), job_(job) {}

  // Before the first product of a unit, and behind its last.
  __device__ void begin(const WarpPlace& place) { place_ = place; }
  __device__ void end() {
    flush();
    survivors_.deliver(job_, place_.first_row, place_.first_column);
  }

  // Packets of the groups of which the lane's `mine` has a bit.
  template <int kGroups, class PacketOf>
  __device__ __forceinline__ void add(unsigned mine, const PacketOf& packet_of) {
    added_ += put_aside<kGroups>(*this, mine, packet_of);
  }

  // Packets since it was told to count anew.
  __device__ int added() const { return added_; }
  __device__ void count_anew() { added_ = 0; }

  // For put_aside().
  static constexpr int kRoom = kPacketsRoom;
  int count = 0;
  __device__ auto& space() { return packets_; }
  __device__ void open() {}
  __device__ __noinline__ void flush() {
    open_packets<kBoth, 1, Found<Number>>(Packets(packets_, count), near_, survivors_, job_, place_);
    count = 0;
  }

 private:
  PacketSpace<Number, kPacketProducts, kPacketsRoom>& packets_;
  std::uint16_t* near_;
  int added_ = 0;
  Survivors survivors_;
  const FusedJob<Number>& job_;
  WarpPlace place_{};
};

template <bool kBoth, class Number>
__global__ void __launch_bounds__(kThreads, 2) multiply_and_sift(const __grid_constant__ FusedJob<Number> job) {
  if (!is_needed(job)) return;
  extern __shared__ std::byte memory[];
  auto& shared = *reinterpret_cast<Shared<Number>*>(memory);
  const int lane = static_cast<int>(threadIdx.x % 32), warp = static_cast<int>(threadIdx.x / 32);
  const int warp_row = warp / kWarpsAcross * kWarpRows, warp_column = warp % kWarpsAcross * kWarpColumns;
  Finds<kBoth, Number> finds(shared.packets[warp], shared.near[warp], shared.survivors[warp], job);
  Sift sift(job.row_order != nullptr);
  const int blocks = static_cast<int>(ceil_div(job.terms, kTerms));
  constexpr int kHalves = kBlockRows / kRows;
  for (int work = static_cast<int>(blockIdx.x); work < units(job) * kHalves; work += static_cast<int>(gridDim.x)) {
    const int u = work / kHalves;
    const Unit at = unit_of(job, u);
    const WantedWindows wanted = wanted_windows(job, at);
    if (!wanted.any()) continue;
    const int first_row = at.row_block * kBlockRows + work % kHalves * kRows;
    if (first_row >= job.rows.rows) continue;
    finds.begin({warp_row, first_row, at.first_column});
    const auto wanted_from = [&](int column) {
      while (column < at.columns && !wanted.has(column)) column += kColumns;
      return column;
    };
    // Stages of all wanted columns of the unit, one after the other: what is fetched next.
    int next_column = wanted_from(0), next_block = 0, next_stage = 0;
    const auto fetch = [&] {
      if (next_column < at.columns) {
        const int slot = next_stage++ % kStages, first = next_block * kTerms;
        bring(shared.rows[slot], job.row_operands, job.stride, job.terms, first_row,
              places(job.row_order, job.rows.rows), first);
        bring(shared.columns[slot], job.column_operands, job.stride, job.terms, at.first_column + next_column,
              places(job.column_order, job.rows.columns), first);
        if (++next_block == blocks) {
          next_block = 0;
          next_column = wanted_from(next_column + kColumns);
        }
      }
      commit_copies();
    };
    may_be_held_up();
    __syncthreads();  // nobody reads the ring and the limits any more
    if (threadIdx.x < kRows) shared.row_limits[threadIdx.x] = job.row_limits[first_row + static_cast<int>(threadIdx.x)];
    for (int stage = 0; stage < kStages - 1; ++stage) fetch();
    Found<Number> found;
    int tile = 0, stage = 0;
    for (int column = wanted_from(0); column < at.columns; column = wanted_from(column + kColumns), ++tile) {
#pragma unroll
      for (auto& slab : found.values)
#pragma unroll
        for (Number& value : slab) value = 0;
      ListLimit<Number>* const column_limits = shared.limits[tile % 2];
      const int first_column = at.first_column + column, thread = static_cast<int>(threadIdx.x);
      if (thread < kColumns) column_limits[thread] = job.column_limits[first_column + thread];
      if (thread < kColumns / kLaneColumns)
        shared.least[tile % 2][thread] = job.column_least[first_column / kLaneColumns + thread];
      for (int block = 0; block < blocks; ++block, ++stage) {
        wait_for_copies<kStages - 2>();
        may_be_held_up();
        __syncthreads();  // the stage is there for all, and the one before is read
        fetch();
        may_be_held_up();
        multiply_stage(found, shared.rows[stage % kStages], shared.columns[stage % kStages], warp_row, warp_column);
      }
      const auto row_limit = [&](int slab, int half) {
        return shared.row_limits[warp_row + Found<Number>::row_of({slab, 0, half, 0}, lane)];
      };
      LeastLimit<Number> least;
#pragma unroll
      for (int i = 0; i < 2 * kSlabs; ++i) least.take(row_limit(i / 2, i % 2));
      sift.tile<kBoth>(found,
                       WarpLimits{row_limit, least, column_limits + warp_column,
                                  shared.least[tile % 2] + warp_column / kLaneColumns},
                       column + warp_column, finds,
                       [](bool yes) { return __syncthreads_count(yes) / static_cast<float>(kThreads); });
    }
    finds.end();
  }
  wait_for_copies<0>();
}

template <bool kBoth, class Number>
void launch(const FusedJob<Number>& job, int multiprocessors, cudaStream_t stream) {
  constexpr auto kernel = multiply_and_sift<kBoth, Number>;
  check(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                             static_cast<int>(sizeof(Shared<Number>))));
  int resident = 0;
  check(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&resident, kernel, kThreads, sizeof(Shared<Number>)));
  const int blocks = std::min(resident * multiprocessors, units(job) * (kBlockRows / kRows));
  kernel<<<static_cast<unsigned>(blocks), kThreads, sizeof(Shared<Number>), stream>>>(job);
  check_launch();
}

}  // namespace

bool can_run_portable(int compute_major) { return compute_major >= 8; }

template <class Number>
void run_portable(const FusedJob<Number>& job, int multiprocessors, cudaStream_t stream) {
  if (job.both)
    launch<true>(job, multiprocessors, stream);
  else
    launch<false>(job, multiprocessors, stream);
}

template void run_portable(const FusedJob<float>&, int, cudaStream_t);
template void run_portable(const FusedJob<std::int32_t>&, int, cudaStream_t);

}  // namespace libknng::cuda::fused

// The fused kernel for compute capability 9.0. A producer warp brings operands by bulk copies into a ring in shared
// memory; two consumer warpgroups of 128 rows each multiply (wgmma) and compare, one while the other multiplies; what
// they put aside goes to drain warps, which look at it pair by pair and store what is wanted. Where all terms of 256
// rows fit they stay. Else rows come with columns.
#include <algorithm>
#include <array>
#include <type_traits>

#include "backend/cuda/base/check.cuh"
#include "backend/cuda/base/driver.cuh"
#include "backend/cuda/fused/fused_job.cuh"
#include "backend/cuda/fused/hopper.cuh"
#include "backend/cuda/fused/mailbox.cuh"
#include "backend/cuda/fused/sift.cuh"
#include "core/division.h"

namespace libknng::cuda::fused {
namespace {

constexpr int kConsumers = 2, kConsumerWarps = 4 * kConsumers;
// In front of them a warpgroup whose first warp is the producer.
constexpr int kThreads = 128 * (1 + kConsumers), kDrainWarps = 3;
constexpr int kTerms = 64;        // of a stage: 128 bytes of a row, halves or twice as many bytes
constexpr int kTermsAtOnce = 16;  // by an instruction
constexpr int kRowsBytes = kBlockRows * kTerms * 2, kColumnsBytes = kBlockColumns * kTerms * 2;
constexpr int kMostStages = 8, kLimitSlots = 4;
constexpr int kMostShared = 227 * 1024;
// Of a thread. A launch gets no more than it has threads for, in eights.
constexpr int kHelperRegisters = 72, kConsumerRegisters = 216;
static_assert(128 * (kHelperRegisters + kConsumers * kConsumerRegisters) <= 65536 / kThreads / 8 * 8 * kThreads);

// Packets of a letter: the more, the sooner many are opened. Where rows come with columns four stages need the room.
constexpr int kPacketProducts = 16;
constexpr int letter_room(bool rows_stay) { return rows_stay ? 32 : 20; }

// Behind operands, which are aligned to 1024.
template <class Number, bool kRowsStay>
struct Control {
  static constexpr int kRoom = letter_room(kRowsStay);
  ListLimit<Number> limits[kLimitSlots][kBlockColumns];
  ListLimit<Number> least[kLimitSlots][kTile / kLaneColumns];
  Mailbox<Number, kPacketProducts, kRoom> mail[kConsumerWarps];
  DrainSpace<kPacketProducts, kRoom> drains[kDrainWarps];
  Barrier full[kMostStages], empty[kMostStages], limits_free[kLimitSlots], rows_there, rows_free;
};

struct Shape {
  int blocks;        // of kTerms terms of a point; behind the last term are zeros
  int whole_blocks;  // to be multiplied whole: all, or all but the last
  int last_rounds;   // of the last, of kTermsAtOnce terms that are not all zeros
  int stages;
};

constexpr int stage_bytes(bool rows_stay) { return kColumnsBytes + (rows_stay ? 0 : kRowsBytes); }

// How many stages there is room for beside rows that stay.
template <bool kRowsStay>
constexpr int stages_beside(int rows_bytes) {
  const int room = kMostShared - 1024 - static_cast<int>(sizeof(Control<float, kRowsStay>)) - rows_bytes;
  return std::min(room / stage_bytes(kRowsStay), kMostStages);
}
static_assert(stages_beside<false>(0) == 4);
static_assert(sizeof(Control<std::int32_t, false>) == sizeof(Control<float, false>));
// Whether rows stay: then both consumers need all terms of some columns in the ring, and the next on their way.
constexpr bool rows_stay(int blocks) {
  return 2 * stages_beside<true>(blocks * kRowsBytes) >= 3 * blocks && blocks <= 4;
}
static_assert(rows_stay(3));

Shape shape_of(std::int64_t terms) {
  const int blocks = static_cast<int>(ceil_div(terms, kTerms));
  const int last = static_cast<int>(terms) - (blocks - 1) * kTerms;
  const int last_rounds = ceil_div(last, kTermsAtOnce);
  return {blocks, last_rounds * kTermsAtOnce == kTerms ? blocks : blocks - 1, last_rounds,
          rows_stay(blocks) ? stages_beside<true>(blocks * kRowsBytes) : stages_beside<false>(0)};
}

#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
#define KNNG_HAS_WGMMA 1
#else
#define KNNG_HAS_WGMMA 0
#endif

#if KNNG_HAS_WGMMA
// Numbers of barriers at which a consumer's warps choose how to compare.
constexpr int kChoice = 1;
constexpr int kLimitsBytes = kBlockColumns * static_cast<int>(sizeof(ListLimit<float>)),
              kLeastBytes = kLimitsBytes / kLaneColumns;
static_assert(kBlockColumns == kTile);

template <bool kRowsStay, class Number>
__device__ void produce(const CUtensorMap* rows, const CUtensorMap* columns, const FusedJob<Number>& job,
                        const Shape& shape, std::byte* staying, std::byte* ring, Control<Number, kRowsStay>& control) {
  constexpr int kStageBytes = stage_bytes(kRowsStay);
  Turn stage, slot, unit;
  for (int u = static_cast<int>(blockIdx.x); u < units(job); u += static_cast<int>(gridDim.x)) {
    const Unit at = unit_of(job, u);
    const WantedWindows wanted = wanted_windows(job, at);
    if (!wanted.any()) continue;
    const int first_row = at.row_block * kBlockRows;
    const auto bring_rows = [&](std::byte* to, int block, Barrier* there) {
      copy_box(to, rows, block * kTerms, first_row, there);
      copy_box(to + kRowsBytes / 2, rows, block * kTerms, first_row + kBlockRows / 2, there);
    };
    if constexpr (kRowsStay) {
      wait(&control.rows_free, unit.parity ^ 1);
      arrive_expecting(&control.rows_there, shape.blocks * kRowsBytes);
      for (int block = 0; block < shape.blocks; ++block)
        bring_rows(staying + block * kRowsBytes, block, &control.rows_there);
      unit.next(1);
    }
    for (int column = 0; column < at.columns; column += kBlockColumns) {
      if (!wanted.has(column)) continue;
      wait(&control.limits_free[slot.at], slot.parity ^ 1);
      for (int block = 0; block < shape.blocks; ++block) {
        std::byte* const to = ring + stage.at * kStageBytes;
        Barrier* const there = &control.full[stage.at];
        wait(&control.empty[stage.at], stage.parity ^ 1);
        arrive_expecting(there, kStageBytes + (block == 0 ? kLimitsBytes + kLeastBytes : 0));
        if (block == 0) {
          const int first = at.first_column + column;
          copy_bytes(control.limits[slot.at], job.column_limits + first, kLimitsBytes, there);
          copy_bytes(control.least[slot.at], job.column_least + first / kLaneColumns, kLeastBytes, there);
        }
        copy_box(to, columns, block * kTerms, at.first_column + column, there);
        if constexpr (!kRowsStay) bring_rows(to + kColumnsBytes, block, there);
        stage.next(shape.stages);
      }
      slot.next(kLimitSlots);
    }
  }
}

// Of 32 rows a warp has the first and the third eight in one slab, the second and the fourth in the other.
template <class Number>
using Found = Products<Number, 2, kBlockColumns / 8, 8, 16, kPacketProducts>;

// A block of terms; kWhole: all its rounds, else the first of them. In a loop the compiler lets products run beside
// each other only if each round begins anew.
template <bool kWhole, class Number>
__device__ __forceinline__ void multiply_block(Found<Number>& found, const std::byte* rows, const std::byte* columns,
                                               bool first, int rounds) {
  constexpr unsigned kNextSlab = 8 * kTerms * 2 >> 4;
  const unsigned a = matrix_at(rows), b = matrix_at(columns);
  const auto begin = [&] {
    pin(found.values[0]);
    pin(found.values[1]);
    begin_products();
  };
  const auto multiply_round = [&](int s) {
    const bool fresh = first && s == 0;
    multiply(found.values[0], a + s * kNextTerms, b + s * kNextTerms, fresh);
    multiply(found.values[1], a + kNextSlab + s * kNextTerms, b + s * kNextTerms, fresh);
  };
  if constexpr (kWhole) {
    begin();
#pragma unroll
    for (int s = 0; s < kTerms / kTermsAtOnce; ++s) multiply_round(s);
    commit_products();
  } else {
#pragma unroll 1
    for (int s = 0; s < rounds; ++s) {
      begin();
      multiply_round(s);
      commit_products();
    }
  }
}

template <bool kRowsStay, bool kBoth, class Number>
__device__ void consume(const FusedJob<Number>& job, const Shape& shape, const std::byte* staying,
                        const std::byte* ring, Control<Number, kRowsStay>& control, int consumer) {
  constexpr int kStageBytes = stage_bytes(kRowsStay);
  const int thread = static_cast<int>(threadIdx.x % 128), lane = thread % 32, warp = thread / 32;
  const int row_base = consumer * 128 + warp * 32;  // of the block
  Sender sender(control.mail[consumer * 4 + warp]);
  Sift sift(job.row_order != nullptr);
  Turn stage, slot, unit;
  Found<Number> found;
  for (int u = static_cast<int>(blockIdx.x); u < units(job); u += static_cast<int>(gridDim.x)) {
    const Unit at = unit_of(job, u);
    const WantedWindows wanted = wanted_windows(job, at);
    if (!wanted.any()) continue;
    const int first_row = at.row_block * kBlockRows;
    sender.begin({row_base, first_row, at.first_column});
    ListLimit<Number> row_limits[2][2];  // of slabs and halves
    LeastLimit<Number> least;
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      row_limits[i / 2][i % 2] =
          job.row_limits[first_row + row_base + Found<Number>::row_of({i / 2, 0, i % 2, 0}, lane)];
      least.take(row_limits[i / 2][i % 2]);
    }
    if constexpr (kRowsStay) {
      wait(&control.rows_there, unit.parity);
      unit.next(1);
    }
    for (int column = 0; column < at.columns; column += kBlockColumns) {
      if (!wanted.has(column)) continue;
      int first_stage = stage.at;
      const auto next_block = [&](int block, auto whole) {
        wait(&control.full[stage.at], stage.parity);
        const std::byte* const there = ring + stage.at * kStageBytes;
        const std::byte* const rows =
            (kRowsStay ? staying + block * kRowsBytes : there + kColumnsBytes) + consumer * (kRowsBytes / 2);
        multiply_block<whole>(found, rows, there, block == 0, shape.last_rounds);
        if constexpr (!kRowsStay) {
          // The stage before is read by then.
          if (block > 0) {
            wait_for_products<1>();
            if (thread == 0) arrive(&control.empty[first_stage]);
            first_stage = stage.at;
          }
        }
        stage.next(shape.stages);
      };
      for (int block = 0; block < shape.whole_blocks; ++block) next_block(block, std::true_type());
      if (shape.whole_blocks < shape.blocks) next_block(shape.whole_blocks, std::false_type());
      wait_for_products<0>();
      pin(found.values[0]);
      pin(found.values[1]);
      if (thread == 0) {
        if constexpr (kRowsStay)
          for (int block = 0; block < shape.blocks; ++block)
            arrive(&control.empty[first_stage + block < shape.stages ? first_stage + block
                                                                     : first_stage + block - shape.stages]);
        else
          arrive(&control.empty[first_stage]);
      }
      const auto row_limit = [&](int slab, int half) { return row_limits[slab][half]; };
      sift.tile<kBoth>(found, WarpLimits{row_limit, least, control.limits[slot.at], control.least[slot.at]}, column,
                       sender, [&](bool yes) { return count_named(kChoice + consumer, 128, yes) / 128.0F; });
      arrive(&control.limits_free[slot.at]);
      slot.next(kLimitSlots);
    }
    if constexpr (kRowsStay)
      if (thread == 0) arrive(&control.rows_free);
    sender.end();
  }
  sender.close();
}
#endif

template <bool kRowsStay, bool kBoth, class Number>
__global__ void __launch_bounds__(kThreads, 1)
    multiply_and_sift(const __grid_constant__ CUtensorMap rows, const __grid_constant__ CUtensorMap columns,
                      const __grid_constant__ FusedJob<Number> job, const Shape shape) {
#if KNNG_HAS_WGMMA
  if (!is_needed(job)) return;
  extern __shared__ std::byte shared[];
  std::byte* const staying = shared + (1024 - shared_address(shared) % 1024) % 1024;
  std::byte* const ring = staying + (kRowsStay ? shape.blocks * kRowsBytes : 0);
  auto& control = *reinterpret_cast<Control<Number, kRowsStay>*>(ring + shape.stages * stage_bytes(kRowsStay));
  if (threadIdx.x == 0) {
    for (int i = 0; i < shape.stages; ++i) {
      init_barrier(&control.full[i], 1);
      init_barrier(&control.empty[i], kConsumers);
    }
    for (auto& slot : control.limits_free) init_barrier(&slot, 32 * kConsumerWarps);
    init_barrier(&control.rows_there, 1);
    init_barrier(&control.rows_free, kConsumers);
    for (auto& box : control.mail) box.open();
    publish_barriers();
  }
  __syncthreads();
  const int group = static_cast<int>(threadIdx.x / 128);
  if (group == 0) {
    give_registers<kHelperRegisters>();
    const int drain = static_cast<int>(threadIdx.x / 32) - 1;
    if (drain >= 0)
      open_letters<kBoth, Found<Number>, kConsumerWarps, kDrainWarps>(control.mail, drain, control.drains[drain], job);
    else if (threadIdx.x == 0)
      produce<kRowsStay>(&rows, &columns, job, shape, staying, ring, control);
  } else {
    take_registers<kConsumerRegisters>();
    consume<kRowsStay, kBoth>(job, shape, staying, ring, control, group - 1);
  }
#endif
}

// Boxes of kTerms x 128 points.
CUtensorMap map_of(const std::byte* operands, std::int64_t points, std::int64_t stride, std::int64_t terms) {
  static const auto encode = driver_function<PFN_cuTensorMapEncodeTiled_v12000>("cuTensorMapEncodeTiled", 12000);
  CUtensorMap map{};
  const std::array<cuuint64_t, 2> size{static_cast<cuuint64_t>(terms), static_cast<cuuint64_t>(points)};
  const std::array<cuuint64_t, 1> pitch{static_cast<cuuint64_t>(stride) * 2};
  const std::array<cuuint32_t, 2> box{kTerms, kBlockColumns}, steps{1, 1};
  const CUresult result =
      encode ? encode(&map, CU_TENSOR_MAP_DATA_TYPE_UINT16, 2, const_cast<std::byte*>(operands), size.data(),
                      pitch.data(), box.data(), steps.data(), CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_128B,
                      CU_TENSOR_MAP_L2_PROMOTION_L2_256B, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE)
             : CUDA_ERROR_NOT_FOUND;
  check(result);
  return map;
}

template <bool kRowsStay, bool kBoth, class Number>
void launch(const FusedJob<Number>& job, const Shape& shape, int blocks, cudaStream_t stream) {
  constexpr auto kernel = multiply_and_sift<kRowsStay, kBoth, Number>;
  const int shared = 1024 + static_cast<int>(sizeof(Control<Number, kRowsStay>)) +
                     (kRowsStay ? shape.blocks * kRowsBytes : 0) + shape.stages * stage_bytes(kRowsStay);
  check(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, kMostShared));
  kernel<<<static_cast<unsigned>(blocks), kThreads, static_cast<std::size_t>(shared), stream>>>(
      map_of(job.row_operands, places(job.row_order, job.rows.rows), job.stride, job.terms),
      map_of(job.column_operands, places(job.column_order, job.rows.columns), job.stride, job.terms), job, shape);
  check_launch();
}

}  // namespace

bool can_run_hopper(int compute_major) { return compute_major == 9; }

template <class Number>
void run_hopper(const FusedJob<Number>& job, int multiprocessors, cudaStream_t stream) {
  const Shape shape = shape_of(job.terms);
  const int blocks = std::min(multiprocessors, units(job));
  const auto start = [&]<bool kRowsStay>(std::bool_constant<kRowsStay>) {
    if (job.both)
      launch<kRowsStay, true>(job, shape, blocks, stream);
    else
      launch<kRowsStay, false>(job, shape, blocks, stream);
  };
  if (rows_stay(shape.blocks))
    start(std::true_type());
  else
    start(std::false_type());
}

template void run_hopper(const FusedJob<float>&, int, cudaStream_t);
template void run_hopper(const FusedJob<std::int32_t>&, int, cudaStream_t);

}  // namespace libknng::cuda::fused

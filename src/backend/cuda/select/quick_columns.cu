// `quick` for columns: a block takes a strip of 32 columns and all rows, so that a warp's read is 128 neighbouring
// bytes and a lane's element always belongs to the same list. The strip's buffers of survivors stand side by side;
// where the rows' kernel works with a group a list, here lanes append, and warps select for two columns each. Otherwise
// as quick_rows.cu.
#include <algorithm>

#include "backend/cuda/base/check.cuh"
#include "backend/cuda/select/quick.cuh"
#include "core/division.h"

namespace libknng::cuda {
namespace {

constexpr int kStrip = 32;  // columns of a block
constexpr int kWarps = 16;
constexpr int kElements = 16;  // of a thread's batch, all loaded before the first is looked at

struct StripState {
  KthScratch<1> scratch[kWarps];
  int count[kStrip];
  float limit[kStrip];  // what is collected is below it
};

constexpr int state_bytes = static_cast<int>((sizeof(StripState) + 15) / 16 * 16);

// The row of the thread's element j of a batch.
__device__ unsigned element(unsigned start, int j) {
  return start + static_cast<unsigned>(j * kWarps) + threadIdx.x / 32;
}

// These are rare, and must not cost the stream registers.
//
// The warp's columns whose buffers have run over are cut to their C + 1 smallest.
__device__ __noinline__ void tighten(Key* keys, int room, int keep, StripState& state) {
  const int warp = static_cast<int>(threadIdx.x / 32);
  for (int c = warp; c < kStrip; c += kWarps) {
    if (state.count[c] <= room) continue;
    Key* mine = keys + static_cast<std::int64_t>(c) * room;
    const Key last = kth_smallest<1>(KeyArray{mine}, room, keep, state.scratch[warp]);
    keep_up_to<1>(mine, room, last, &state.count[c]);
    if (threadIdx.x % 32 == 0) state.limit[c] = low_of(last);
  }
  __syncthreads();
}

// The pivot of each column with a limit, from what was sampled into its buffer: `rank` elements of that lie up to it.
__device__ __noinline__ void take_pivots(const Key* keys, int room, int rank, StripState& state) {
  const int warp = static_cast<int>(threadIdx.x / 32);
  for (int c = warp; c < kStrip; c += kWarps) {
    if (!(state.limit[c] > -infinity())) continue;
    const int found = state.count[c];
    if (found > rank) {
      const Key key =
          kth_smallest<1>(KeyArray{keys + static_cast<std::int64_t>(c) * room}, found, rank, state.scratch[warp]);
      if (threadIdx.x % 32 == 0) state.limit[c] = next_up(low_of(key));
    }
    __syncwarp();
    if (threadIdx.x % 32 == 0) state.count[c] = 0;
    __syncwarp();
  }
  __syncthreads();
}

__device__ __noinline__ void emit_strip(const ListView& v, int first, const Key* keys, int room, StripState& state) {
  const int warp = static_cast<int>(threadIdx.x / 32);
  for (int c = warp; c < kStrip && first + c < v.lists; c += kWarps) {
    const int size = state.count[c];
    __syncwarp();
    emit_list<1>(v, first + c, keys + static_cast<std::int64_t>(c) * room, size, state.scratch[warp], &state.count[c]);
    __syncwarp();
  }
}

// What the stream of a lane's column needs at hand.
template <class Low>
struct ColumnStream {
  const float* column;  // of the tile; a column that is there, even if the lane's is not
  std::int64_t ld;
  const float* element_terms;
  float list_term;
  unsigned length, first_id;
  ElementAdmission admission;
  int room;
  Key* keys;
  int* count;

  __device__ float low(unsigned e) const {
    return Low::low(__ldg(column + e * ld), list_term, Low::has_terms ? __ldg(element_terms + e) : 0.0F);
  }

  // Those of the batch that are below limit: element j's bit is 1 << j.
  template <bool kInside>
  __device__ unsigned below(unsigned start, float limit) const {
    float x[kElements];
    const float* at = column + element(start, 0) * ld;
#pragma unroll
    for (int j = 0; j < kElements; ++j)
      x[j] = kInside || element(start, j) < length ? __ldg(at + j * kWarps * ld) : 0.0F;
    unsigned mask = 0;
#pragma unroll
    for (int j = 0; j < kElements; ++j) {
      const unsigned e = element(start, j);
      if (!kInside && e >= length) continue;
      if (Low::low(x[j], list_term, Low::has_terms ? __ldg(element_terms + e) : 0.0F) < limit) mask |= 1U << j;
    }
    return mask;
  }

  // Appends the mask's elements, read again; returns what found no room.
  __device__ unsigned append(unsigned mask, unsigned start, float limit) const {
    while (mask != 0) {
      const unsigned e = element(start, __ffs(static_cast<int>(mask)) - 1);
      const float mine = low(e);
      if (mine < limit && admission.admits(e)) {
        const int place = atomicAdd(count, 1);
        if (place >= room) return mask;
        keys[place] = make_key(mine, first_id + e);
      }
      mask &= mask - 1;
    }
    return 0;
  }
};

template <class Low>
__device__ void stream_strip(const ColumnStream<Low>& stream, Key* keys, const QuickPlan& plan, StripState& state) {
  const int lane = static_cast<int>(threadIdx.x % 32);
  constexpr unsigned step = kWarps * kElements;
  float limit = state.limit[lane];
  for (unsigned start = 0; start < stream.length; start += step) {
    unsigned mask = stream.length - start >= step ? stream.template below<true>(start, limit)
                                                  : stream.template below<false>(start, limit);
    for (;;) {
      mask = stream.append(mask, start, limit);
      if (!__syncthreads_or(mask != 0)) break;
      tighten(keys, plan.room, plan.keep, state);
      limit = state.limit[lane];
    }
  }
  __syncthreads();
}

template <class Low>
__device__ void select_strip(const ListView& v, const QuickPlan& plan, int first, Key* keys, StripState& state) {
  const int lane = static_cast<int>(threadIdx.x % 32), warp = static_cast<int>(threadIdx.x / 32);
  const int column = min(first + lane, v.lists - 1);
  // Nothing is below the limit of a column beyond the tile.
  const float all = first + lane < v.lists ? v.limit(column) : -infinity();
  const ColumnStream<Low> stream{v.tile + column,
                                 v.ld,
                                 v.element_terms,
                                 Low::has_terms ? v.list_terms[column] : 0.0F,
                                 static_cast<unsigned>(v.length),
                                 v.first_id,
                                 v.admission_of(column),
                                 plan.room,
                                 keys + static_cast<std::int64_t>(lane) * plan.room,
                                 &state.count[lane]};
  // Too few below a sampled pivot: once more with a higher one, and with none. Of columns that have enough nothing is
  // below the limit then.
  bool wanted = true;
  for (int turn = 0;; ++turn) {
    if (warp == 0) {
      if (wanted) state.count[lane] = 0;
      state.limit[lane] = wanted ? all : -infinity();
    }
    __syncthreads();
    if (plan.sample > 0 && turn < kPivots) {
      const unsigned sample = static_cast<unsigned>(plan.sample);
#pragma unroll 4
      for (unsigned i = static_cast<unsigned>(warp); i < sample; i += kWarps) {
        const float low = stream.low(sampled_element(i, sample, stream.length));
        if (wanted && low < all) stream.keys[atomicAdd(stream.count, 1)] = make_key(low, i);
      }
      __syncthreads();
      take_pivots(keys, plan.room, plan.pivots[turn], state);
    }
    const float pivot = state.limit[lane];
    stream_strip(stream, keys, plan, state);
    wanted = wanted && pivot < all && state.count[lane] < plan.keep;
    if (!__syncthreads_or(wanted)) break;
  }
  emit_strip(v, first, keys, plan.room, state);
  __syncthreads();
}

template <class Low, bool kShared>
__global__ void __launch_bounds__(32 * kWarps, 2)
    select_columns(const __grid_constant__ ListView v, const __grid_constant__ QuickPlan plan, Key* spill) {
  extern __shared__ __align__(16) unsigned char shared[];
  auto& state = *reinterpret_cast<StripState*>(shared);
  Key* keys = kShared ? reinterpret_cast<Key*>(shared + state_bytes)
                      : spill + static_cast<std::int64_t>(blockIdx.x) * kStrip * plan.room;
  const int strips = (v.lists - 1) / kStrip + 1;
  for (int strip = static_cast<int>(blockIdx.x); strip < strips; strip += static_cast<int>(gridDim.x)) {
    const int column = strip * kStrip + static_cast<int>(threadIdx.x % 32);
    if (!__syncthreads_or(column < v.lists && v.wanted(column))) continue;
    select_strip<Low>(v, plan, strip * kStrip, keys, state);
  }
}

struct StripLaunch {
  bool in_shared;
  int blocks;
  int shared_bytes;
  QuickPlan plan;
};

constexpr int kSampledPart = 128;

std::int64_t room_in_shared(const DeviceLimits& limits) {
  return (limits.shared_bytes - state_bytes) / (kStrip * static_cast<int>(sizeof(Key)));
}

StripLaunch plan_strips(const SelectJob& job) {
  const DeviceLimits limits = device_limits();
  StripLaunch launch{};
  launch.plan = plan_quick(job.rows, job.capacity, 32, kSampledPart, room_in_shared(limits));
  const int strips = ceil_div(job.columns, kStrip);
  const std::int64_t bytes = state_bytes + std::int64_t{kStrip} * launch.plan.room * 8;
  launch.in_shared = bytes <= limits.shared_bytes;
  launch.blocks = launch.in_shared ? strips : std::min(strips, 2 * limits.processors);
  launch.shared_bytes = launch.in_shared ? static_cast<int>(bytes) : state_bytes;
  return launch;
}

template <class Low, bool kShared>
void launch_columns(const SelectJob& job, const StripLaunch& l, void* workspace, cudaStream_t stream) {
  const auto kernel = select_columns<Low, kShared>;
  // Not what this launch takes: another thread may be about to launch with more.
  check(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, device_limits().shared_bytes));
  kernel<<<static_cast<unsigned>(l.blocks), 32 * kWarps, static_cast<std::size_t>(l.shared_bytes), stream>>>(
      list_view(job), l.plan, static_cast<Key*>(workspace));
  check_launch();
}

}  // namespace

// For shorter columns as well.
std::size_t quick_columns_workspace(const SelectJob& job, const DeviceLimits& limits) {
  if (enough_room(job.rows, job.capacity, 32, kSampledPart) <= room_in_shared(limits)) return 0;
  const std::int64_t blocks = std::min(ceil_div(job.columns, kStrip), 2 * limits.processors);
  return static_cast<std::size_t>(blocks * kStrip * most_room(job.rows, job.capacity)) * sizeof(Key);
}

void quick_columns(const SelectJob& job, void* workspace, cudaStream_t stream) {
  if (job.columns == 0) return;
  const StripLaunch launch = plan_strips(job);
  with_low(job, [&]<class Low>(Low) {
    if (launch.in_shared)
      launch_columns<Low, true>(job, launch, workspace, stream);
    else
      launch_columns<Low, false>(job, launch, workspace, stream);
  });
}

}  // namespace libknng::cuda

// `quick` for columns: a block takes a strip of 32 columns and all rows, so that a warp's read is 128 neighbouring
// bytes and a lane's element always belongs to the same list. The strip's buffers of survivors stand side by side;
// where the rows' kernel works with a group a list, here lanes append and warp w selects for column w. Otherwise as
// quick_rows.cu.
#include <algorithm>

#include "backend/cuda/check.cuh"
#include "backend/cuda/select/quick.cuh"

namespace libknng::cuda {
namespace {

constexpr int kStrip = 32;  // columns of a block, and warps
constexpr int kLoads = 8;   // in flight a thread, and as many again ahead

struct StripState {
  KthScratch<1> scratch[kStrip];
  int count[kStrip];
  float limit[kStrip];  // what is collected is below it
  float from[kStrip];   // and not below this
};

constexpr int state_bytes = static_cast<int>((sizeof(StripState) + 15) / 16 * 16);

template <class Low>
struct StripSelect {
  const ListView& v;
  const QuickPlan& plan;
  Key* const keys;  // kStrip buffers of plan.room
  StripState& state;
  const int lane, warp;
  const int first;   // column of lane 0
  const int column;  // the lane's; may lie beyond the tile
  const float* const base;
  const float list_term;
  const unsigned excluded;

  __device__ StripSelect(const ListView& view, const QuickPlan& quick_plan, int strip, Key* buffers, StripState& s)
      : v(view),
        plan(quick_plan),
        keys(buffers),
        state(s),
        lane(static_cast<int>(threadIdx.x % 32)),
        warp(static_cast<int>(threadIdx.x / 32)),
        first(strip * kStrip),
        column(strip * kStrip + static_cast<int>(threadIdx.x % 32)),
        base(view.tile + column),
        list_term(Low::has_terms && column < view.lists ? view.list_terms[column] : 0.0F),
        excluded(column < view.lists ? view.excluded_element(column) : ~0U) {}

  __device__ Key* buffer(int strip_column) const { return keys + static_cast<std::int64_t>(strip_column) * plan.room; }

  __device__ void load(float (&x)[kLoads], unsigned start) const {
#pragma unroll
    for (int u = 0; u < kLoads; ++u) {
      const unsigned e = start + static_cast<unsigned>(u * kStrip + warp);
      const bool there = e < static_cast<unsigned>(v.length) && column < v.lists;
      x[u] = there ? __ldg(base + static_cast<std::int64_t>(e) * v.ld) : infinity();
    }
  }

  __device__ void sample_pivots() {
    const unsigned sample = static_cast<unsigned>(plan.sample), length = static_cast<unsigned>(v.length);
    const float limit = state.limit[lane];
    for (unsigned i = static_cast<unsigned>(warp); i < sample; i += kStrip) {
      if (column >= v.lists) break;
      const unsigned e = sampled_element(i, sample, length);
      const float low = Low::low(__ldg(base + static_cast<std::int64_t>(e) * v.ld), list_term,
                                 Low::has_terms ? __ldg(v.element_terms + e) : 0.0F);
      if (low < limit) buffer(lane)[atomicAdd(&state.count[lane], 1)] = make_key(low, i);
    }
    __syncthreads();
    const int found = state.count[warp];
    if (found > plan.sample_rank) {
      const Key* mine = buffer(warp);
      const Key key = kth_smallest<1>(KeyArray{mine}, found, plan.sample_rank, state.scratch[warp]);
      if (lane == 0) state.limit[warp] = next_up(low_of(key));
    }
    __syncwarp();
    if (lane == 0) state.count[warp] = 0;
    __syncthreads();
  }

  // As RowSelect::append(): what finds no room stays.
  __device__ bool append(float (&x)[kLoads], unsigned start, float limit) {
    bool left = false;
#pragma unroll
    for (int u = 0; u < kLoads; ++u) {
      if (!(x[u] < limit)) continue;
      const int place = atomicAdd(&state.count[lane], 1);
      if (place < plan.room) {
        buffer(lane)[place] = make_key(x[u], v.first_id + start + static_cast<unsigned>(u * kStrip + warp));
        x[u] = infinity();
      } else {
        left = true;
      }
    }
    return left;
  }

  // Warp w cuts the buffer of column w if it has run over.
  __device__ void tighten() {
    if (state.count[warp] > plan.room) {
      Key* mine = buffer(warp);
      const Key last = kth_smallest<1>(KeyArray{mine}, plan.room, plan.keep, state.scratch[warp]);
      keep_up_to<1>(mine, plan.room, last, &state.count[warp]);
      if (lane == 0) state.limit[warp] = low_of(last);
    }
    __syncthreads();
  }

  __device__ void pass() {
    const unsigned length = static_cast<unsigned>(v.length);
    constexpr unsigned step = kLoads * kStrip;
    float limit = state.limit[lane];
    const float from = state.from[lane];
    float next[kLoads];
    load(next, 0);
    for (unsigned start = 0; start < length; start += step) {
      float x[kLoads];
#pragma unroll
      for (int u = 0; u < kLoads; ++u) x[u] = next[u];
      if (start + step < length) load(next, start + step);
#pragma unroll
      for (int u = 0; u < kLoads; ++u) {
        const unsigned e = start + static_cast<unsigned>(u * kStrip + warp);
        const bool there = e < length && column < v.lists && e != excluded;
        const float low = Low::low(x[u], list_term, Low::has_terms && e < length ? __ldg(v.element_terms + e) : 0.0F);
        x[u] = there && !(low < from) ? low : infinity();
      }
      while (__syncthreads_or(append(x, start, limit))) {
        tighten();
        limit = state.limit[lane];
      }
    }
    __syncthreads();
  }

  __device__ void run() {
    const float all = column < v.lists ? v.limit(column) : -infinity();
    if (warp == 0) {
      state.count[lane] = 0;
      state.limit[lane] = all;
      state.from[lane] = -infinity();
    }
    __syncthreads();
    if (plan.sample > 0) sample_pivots();
    const float pivot = state.limit[lane];
    pass();
    // Too few below a sampled pivot: the others of these columns.
    const bool again = pivot < all && state.count[lane] < plan.keep;
    if (__syncthreads_or(again)) {
      if (warp == 0) {
        state.from[lane] = again ? pivot : -infinity();
        state.limit[lane] = again ? all : -infinity();
      }
      __syncthreads();
      pass();
    }
    const int size = state.count[warp];
    __syncwarp();
    if (first + warp < v.lists)
      emit_list<1>(v, first + warp, buffer(warp), size, state.scratch[warp], &state.count[warp]);
    __syncthreads();
  }
};

template <class Low, bool kShared>
__global__ void __launch_bounds__(32 * kStrip, 1) select_columns(const ListView v, const QuickPlan plan, Key* spill) {
  extern __shared__ __align__(16) unsigned char shared[];
  auto& state = *reinterpret_cast<StripState*>(shared);
  Key* keys = kShared ? reinterpret_cast<Key*>(shared + state_bytes)
                      : spill + static_cast<std::int64_t>(blockIdx.x) * kStrip * plan.room;
  const int strips = (v.lists - 1) / kStrip + 1;
  for (int strip = static_cast<int>(blockIdx.x); strip < strips; strip += static_cast<int>(gridDim.x)) {
    const int column = strip * kStrip + static_cast<int>(threadIdx.x % 32);
    if (!__syncthreads_or(column < v.lists && v.wanted(column))) continue;
    StripSelect<Low>(v, plan, strip, keys, state).run();
  }
}

struct StripLaunch {
  bool in_shared;
  int blocks;
  int shared_bytes;
  QuickPlan plan;
};

StripLaunch plan_strips(const SelectJob& job) {
  const DeviceLimits limits = device_limits();
  StripLaunch launch{};
  launch.plan = plan_quick(job.rows, job.capacity, 32);
  const int strips = (job.columns + kStrip - 1) / kStrip;
  const std::int64_t bytes = state_bytes + std::int64_t{kStrip} * launch.plan.room * 8;
  launch.in_shared = bytes <= limits.shared_bytes;
  launch.blocks = launch.in_shared ? strips : std::min(strips, limits.processors);
  launch.shared_bytes = launch.in_shared ? static_cast<int>(bytes) : state_bytes;
  return launch;
}

template <class Low, bool kShared>
void launch_columns(const SelectJob& job, const StripLaunch& l, void* workspace, cudaStream_t stream) {
  const auto kernel = select_columns<Low, kShared>;
  check(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, l.shared_bytes));
  kernel<<<static_cast<unsigned>(l.blocks), 32 * kStrip, static_cast<std::size_t>(l.shared_bytes), stream>>>(
      list_view(job), l.plan, static_cast<Key*>(workspace));
  check_launch();
}

}  // namespace

std::size_t quick_columns_workspace(const SelectJob& job) {
  const StripLaunch launch = plan_strips(job);
  if (launch.in_shared) return 0;
  return static_cast<std::size_t>(launch.blocks) * kStrip * static_cast<std::size_t>(launch.plan.room) * sizeof(Key);
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

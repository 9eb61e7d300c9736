// `quick` for rows: a warp or a block streams a row once, 16 bytes a thread and load, and collects what lies below a
// sampled pivot. komarov-2014 partitions every row around pivots until C are left; with a first pivot just above the
// C-th smallest, the right part is never written, and the rest happens in shared memory.
//
// If more is collected than there is room for, the buffer is cut to its C + 1 smallest, the last of which is the pivot
// from there on; strictly below it, so that equal keys fill the buffer once. If less than C + 1 lay below the sampled
// pivot, the left part is kept and the right part searched, as in the paper.
#include <algorithm>

#include "backend/cuda/check.cuh"
#include "backend/cuda/select/quick.cuh"

namespace libknng::cuda {
namespace {

template <int kWarps>
struct RowState {
  KthScratch<kWarps> scratch;
  int count;
};

constexpr int round_up(std::size_t bytes) { return static_cast<int>((bytes + 15) / 16 * 16); }

// Vectors of kWidth elements; x[u * kWidth + j] is element j of vector `first` + u * stride. Beyond the list: 0.
template <int kWidth, int kLoads>
__device__ void load(float (&x)[kWidth * kLoads], const float* list, unsigned length, unsigned first, unsigned stride) {
#pragma unroll
  for (int u = 0; u < kLoads; ++u) {
    const unsigned e = (first + static_cast<unsigned>(u) * stride) * kWidth;
    if constexpr (kWidth == 4) {
      if (e + 4 <= length) {
        const float4 four = __ldg(reinterpret_cast<const float4*>(list + e));
        x[u * 4] = four.x, x[u * 4 + 1] = four.y, x[u * 4 + 2] = four.z, x[u * 4 + 3] = four.w;
        continue;
      }
    }
#pragma unroll
    for (int j = 0; j < kWidth; ++j) x[u * kWidth + j] = e + j < length ? __ldg(list + e + j) : 0.0F;
  }
}

// The C + 1 smallest of a full buffer stay; what is not below the last of them can be passed over from now on. Rare, so
// that it must not cost the stream registers.
template <int kWarps>
__device__ __noinline__ float tighten(Key* keys, int room, int keep, RowState<kWarps>& state) {
  const Key last = kth_smallest<kWarps>(KeyArray{keys}, room, keep, state.scratch);
  keep_up_to<kWarps>(keys, room, last, &state.count);
  return low_of(last);
}

template <class Low, int kWarps, int kWidth>
struct RowSelect {
  using Threads = Group<kWarps>;
  static constexpr int loads = kWidth == 4 ? 4 : 8;  // in flight a thread, and as many again ahead
  static constexpr int elements = loads * kWidth;

  const ListView& v;
  const QuickPlan& plan;
  const int list;
  const float* const row;
  const float list_term;
  const unsigned excluded;
  Key* const keys;
  RowState<kWarps>& state;

  __device__ RowSelect(const ListView& view, const QuickPlan& quick_plan, int l, Key* buffer, RowState<kWarps>& s)
      : v(view),
        plan(quick_plan),
        list(l),
        row(view.tile + static_cast<std::int64_t>(l) * view.ld),
        list_term(Low::has_terms ? view.list_terms[l] : 0.0F),
        excluded(view.excluded_element(l)),
        keys(buffer),
        state(s) {}

  // A pivot with about `sample_rank` of the sample up to it, if that many are below `limit`.
  __device__ float first_pivot(float limit) {
    const unsigned sample = static_cast<unsigned>(plan.sample), length = static_cast<unsigned>(v.length);
    for (unsigned start = 0; start < sample; start += Threads::threads) {
      const unsigned i = start + static_cast<unsigned>(Threads::thread());
      float low = infinity();
      if (i < sample) {
        const unsigned e = sampled_element(i, sample, length);
        low = Low::low(__ldg(row + e), list_term, Low::has_terms ? __ldg(v.element_terms + e) : 0.0F);
      }
      const int place = append_place(&state.count, low < limit);
      if (low < limit) keys[place] = make_key(low, i);
    }
    Threads::sync();
    const int found = state.count;
    if (found > plan.sample_rank)
      limit = next_up(low_of(kth_smallest<kWarps>(KeyArray{keys}, found, plan.sample_rank, state.scratch)));
    Threads::sync();
    if (Threads::thread() == 0) state.count = 0;
    Threads::sync();
    return limit;
  }

  // The lows of a batch, in place of what the tile holds; +inf for what is no candidate.
  __device__ void lows(float (&x)[elements], unsigned first, float from) {
    const unsigned length = static_cast<unsigned>(v.length);
#pragma unroll
    for (int u = 0; u < loads; ++u) {
      const unsigned vector = first + static_cast<unsigned>(u * Threads::threads), e = vector * kWidth;
      float terms[kWidth] = {};
      if constexpr (Low::has_terms) load<kWidth, 1>(terms, v.element_terms, length, vector, 0);
#pragma unroll
      for (int j = 0; j < kWidth; ++j) x[u * kWidth + j] = Low::low(x[u * kWidth + j], list_term, terms[j]);
      if (e + kWidth > length || excluded - e < kWidth) {
#pragma unroll
        for (int j = 0; j < kWidth; ++j)
          if (e + j >= length || e + j == excluded) x[u * kWidth + j] = infinity();
      }
    }
    if (from > -infinity()) {  // the second pass: the left part is there already
#pragma unroll
      for (int i = 0; i < elements; ++i)
        if (x[i] < from) x[i] = infinity();
    }
  }

  // Appends what is below limit and makes it +inf; what finds no room stays. True if something did.
  __device__ bool append(float (&x)[elements], unsigned first, float limit) {
    bool left = false;
#pragma unroll
    for (int u = 0; u < loads; ++u) {
      unsigned votes[kWidth], any = 0;
#pragma unroll
      for (int j = 0; j < kWidth; ++j) {
        votes[j] = __ballot_sync(0xffffffffU, x[u * kWidth + j] < limit);
        any |= votes[j];
      }
      if (any == 0) continue;  // the same for all lanes
      int total = 0;
#pragma unroll
      for (int j = 0; j < kWidth; ++j) total += __popc(votes[j]);
      int place = 0;
      if (Threads::lane() == 0) place = atomicAdd(&state.count, total);
      place = __shfl_sync(0xffffffffU, place, 0);
      const unsigned e = (first + static_cast<unsigned>(u * Threads::threads)) * kWidth;
#pragma unroll
      for (int j = 0; j < kWidth; ++j) {
        float& low = x[u * kWidth + j];
        if (low < limit) {
          const int mine = place + __popc(votes[j] & lanes_before());
          if (mine < plan.room) {
            keys[mine] = make_key(low, v.first_id + e + static_cast<unsigned>(j));
            low = infinity();
          } else {
            left = true;
          }
        }
        place += __popc(votes[j]);
      }
    }
    return left;
  }

  // Collects what is in [from, limit).
  __device__ void pass(float from, float limit) {
    const unsigned length = static_cast<unsigned>(v.length), vectors = (length + kWidth - 1) / kWidth;
    constexpr unsigned step = Threads::threads * loads;
    const unsigned thread = static_cast<unsigned>(Threads::thread());
    float next[elements];
    load<kWidth, loads>(next, row, length, thread, Threads::threads);
    for (unsigned start = 0; start < vectors; start += step) {
      float x[elements];
#pragma unroll
      for (int i = 0; i < elements; ++i) x[i] = next[i];
      if (start + step < vectors) load<kWidth, loads>(next, row, length, start + step + thread, Threads::threads);
      lows(x, start + thread, from);
      while (Threads::any(append(x, start + thread, limit))) limit = tighten<kWarps>(keys, plan.room, plan.keep, state);
    }
  }

  __device__ void run() {
    if (Threads::thread() == 0) state.count = 0;
    Threads::sync();
    const float all = v.limit(list);
    float pivot = plan.sample > 0 ? first_pivot(all) : all;
    float from = -infinity();
    for (;;) {
      pass(from, pivot);
      Threads::sync();
      if (!(pivot < all) || state.count >= plan.keep) break;
      Threads::sync();
      from = pivot;
      pivot = all;
    }
    const int size = state.count;
    Threads::sync();
    emit_list<kWarps>(v, list, keys, size, state.scratch, &state.count);
    Threads::sync();
  }
};

// Dynamic shared memory: for each group its state, and its buffer unless that is in `spill` (room keys a block).
template <class Low, int kWarps, int kWidth, bool kShared>
__global__ void __launch_bounds__(kWarps == 1 ? 256 : 32 * kWarps, kWarps < 16 ? 4 : 32 / kWarps)
    select_rows(const ListView v, const QuickPlan plan, Key* spill) {
  extern __shared__ __align__(16) unsigned char shared[];
  constexpr int groups = kWarps == 1 ? 8 : 1;
  const int group = kWarps == 1 ? static_cast<int>(threadIdx.x / 32) : 0;
  constexpr int state_bytes = round_up(sizeof(RowState<kWarps>));
  auto& state = *reinterpret_cast<RowState<kWarps>*>(shared + group * state_bytes);
  Key* keys = kShared ? reinterpret_cast<Key*>(shared + groups * state_bytes) + group * plan.room
                      : spill + static_cast<std::int64_t>(blockIdx.x) * plan.room;
  for (std::int64_t list = static_cast<std::int64_t>(blockIdx.x) * groups + group; list < v.lists;
       list += static_cast<std::int64_t>(gridDim.x) * groups)
    if (v.wanted(static_cast<int>(list)))
      RowSelect<Low, kWarps, kWidth>(v, plan, static_cast<int>(list), keys, state).run();
}

struct RowLaunch {
  int warps;  // of a group
  bool in_shared;
  int blocks;
  int shared_bytes;
  QuickPlan plan;
};

int state_bytes(int warps) {
  return round_up(warps == 1 ? sizeof(RowState<1>) : sizeof(RowState<8>));  // 8, 16 and 32 are alike
}

RowLaunch plan_rows(const SelectJob& job, int warps) {
  const DeviceLimits limits = device_limits();
  const auto with = [&](int w) {
    RowLaunch launch{};
    launch.warps = w;
    launch.plan = plan_quick(job.columns, job.capacity, 32 * w);
    const int groups = w == 1 ? 8 : 1;
    const std::int64_t bytes = groups * (state_bytes(w) + std::int64_t{launch.plan.room} * 8);
    launch.in_shared = bytes <= limits.shared_bytes;
    launch.blocks = (job.rows + groups - 1) / groups;
    launch.shared_bytes = static_cast<int>(bytes);
    if (!launch.in_shared) {
      launch.warps = 32;
      launch.plan = plan_quick(job.columns, job.capacity, 32 * 32);
      launch.blocks = std::min(job.rows, limits.processors);
      launch.shared_bytes = state_bytes(32);
    }
    return launch;
  };
  if (warps != 0) return with(warps);
  // Blocks that a processor can hold beside one another hide each other's selections. A multiprocessor has little more
  // shared memory than one block may ask for.
  const auto resident = [&](const RowLaunch& l) { return l.in_shared ? limits.shared_bytes / l.shared_bytes : 0; };
  if (job.rows >= 64 * limits.processors && job.columns <= 16384 && resident(with(1)) >= 3) return with(1);
  if (job.rows >= 4 * limits.processors && resident(with(8)) >= 4) return with(8);
  if (job.rows >= 2 * limits.processors && resident(with(16)) >= 2) return with(16);
  return with(32);
}

template <class Low, int kWarps, int kWidth, bool kShared>
void launch_rows(const SelectJob& job, const RowLaunch& l, void* workspace, cudaStream_t stream) {
  const auto kernel = select_rows<Low, kWarps, kWidth, kShared>;
  check(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, l.shared_bytes));
  const ListView view = list_view(job);
  const unsigned threads = kWarps == 1 ? 256 : 32 * kWarps;
  kernel<<<static_cast<unsigned>(l.blocks), threads, static_cast<std::size_t>(l.shared_bytes), stream>>>(
      view, l.plan, static_cast<Key*>(workspace));
  check_launch();
}

bool aligned(const void* p) { return reinterpret_cast<std::uintptr_t>(p) % 16 == 0; }

}  // namespace

std::size_t quick_rows_workspace(const SelectJob& job, int warps) {
  const RowLaunch launch = plan_rows(job, warps);
  if (launch.in_shared) return 0;
  return static_cast<std::size_t>(launch.blocks) * static_cast<std::size_t>(launch.plan.room) * sizeof(Key);
}

void quick_rows(const SelectJob& job, int warps, void* workspace, cudaStream_t stream) {
  if (job.rows == 0) return;
  const RowLaunch l = plan_rows(job, warps);
  with_low(job, [&]<class Low>(Low) {
    const auto with_width = [&]<int kWidth>(std::integral_constant<int, kWidth>) {
      if (!l.in_shared) return launch_rows<Low, 32, kWidth, false>(job, l, workspace, stream);
      switch (l.warps) {
        case 1: return launch_rows<Low, 1, kWidth, true>(job, l, workspace, stream);
        case 8: return launch_rows<Low, 8, kWidth, true>(job, l, workspace, stream);
        case 16: return launch_rows<Low, 16, kWidth, true>(job, l, workspace, stream);
        default: return launch_rows<Low, 32, kWidth, true>(job, l, workspace, stream);
      }
    };
    if (aligned(job.tile) && job.ld % 4 == 0 && (!Low::has_terms || aligned(job.column_terms)))
      with_width(std::integral_constant<int, 4>{});
    else
      with_width(std::integral_constant<int, 1>{});
  });
}

}  // namespace libknng::cuda

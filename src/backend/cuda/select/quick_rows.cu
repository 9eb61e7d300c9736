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

// A batch: kElements elements of the list for every thread, all loaded before the first is looked at. Neighbouring
// threads take neighbouring vectors of kWidth elements.
constexpr int kElements = 16;

// Element j of the thread's, of those that start at `start`.
template <class Threads, int kWidth>
__device__ unsigned element(unsigned start, int j) {
  const unsigned vector = static_cast<unsigned>(j / kWidth * Threads::threads + Threads::thread());
  return start + vector * kWidth + static_cast<unsigned>(j % kWidth);
}

// kInside: the batch does not reach beyond the list; else what does is 0.
template <class Threads, int kWidth, bool kInside>
__device__ void load(float (&x)[kElements], const float* __restrict__ list, unsigned length, unsigned start) {
  if constexpr (kInside && kWidth == 4) {
    const float4* vectors = reinterpret_cast<const float4*>(list + start) + Threads::thread();
#pragma unroll
    for (int u = 0; u < kElements / 4; ++u) {
      const float4 four = __ldg(vectors + u * Threads::threads);
      x[u * 4] = four.x, x[u * 4 + 1] = four.y, x[u * 4 + 2] = four.z, x[u * 4 + 3] = four.w;
    }
  } else {
#pragma unroll
    for (int j = 0; j < kElements; ++j) {
      const unsigned e = element<Threads, kWidth>(start, j);
      x[j] = kInside || e < length ? __ldg(list + e) : 0.0F;
    }
  }
}

// These are rare, and must not cost the stream registers.
//
// The C + 1 smallest of a full buffer stay; what is not below the last of them can be passed over from now on.
template <int kWarps>
__device__ __noinline__ float tighten(Key* keys, int room, int keep, RowState<kWarps>& state) {
  const Key last = kth_smallest<kWarps>(KeyArray{keys}, room, keep, state.scratch);
  keep_up_to<kWarps>(keys, room, last, &state.count);
  return low_of(last);
}

// A pivot with about plan.sample_rank of the sample up to it, if that many are below `limit`.
template <class Low, int kWarps>
__device__ __noinline__ float first_pivot(const ListView& v, const QuickPlan& plan, const float* row, float list_term,
                                          float limit, Key* keys, RowState<kWarps>& state) {
  using Threads = Group<kWarps>;
  constexpr int loads = 4;  // in flight
  const unsigned sample = static_cast<unsigned>(plan.sample), length = static_cast<unsigned>(v.length);
  for (unsigned start = 0; start < sample; start += loads * Threads::threads) {
    float lows[loads];
#pragma unroll
    for (int u = 0; u < loads; ++u) {
      const unsigned i = start + static_cast<unsigned>(u * Threads::threads + Threads::thread());
      const unsigned e = sampled_element(min(i, sample - 1), sample, length);
      const float low = Low::low(__ldg(row + e), list_term, Low::has_terms ? __ldg(v.element_terms + e) : 0.0F);
      lows[u] = i < sample ? low : infinity();
    }
#pragma unroll
    for (int u = 0; u < loads; ++u) {
      const unsigned i = start + static_cast<unsigned>(u * Threads::threads + Threads::thread());
      const int place = append_place(&state.count, lows[u] < limit);
      if (lows[u] < limit) keys[place] = make_key(lows[u], i);
    }
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

template <int kWarps>
__device__ __noinline__ void emit_row(const ListView& v, int list, const Key* keys, int size, RowState<kWarps>& state) {
  emit_list<kWarps>(v, list, keys, size, state.scratch, &state.count);
}

// What the stream of a row needs at hand.
template <class Low, int kWarps, int kWidth>
struct RowStream {
  using Threads = Group<kWarps>;

  const float* row;
  const float* element_terms;
  float list_term;
  unsigned length, first_id, excluded;
  float from;  // collected is what is not below this
  int room;
  Key* keys;
  int* count;

  __device__ float low(float stored, unsigned e) const {
    return Low::low(stored, list_term, Low::has_terms ? __ldg(element_terms + e) : 0.0F);
  }

  // Those of the batch that are below limit: element j's bit is 1 << j.
  template <bool kInside>
  __device__ unsigned below(unsigned start, float limit) const {
    float x[kElements], terms[kElements];
    load<Threads, kWidth, kInside>(x, row, length, start);
    if constexpr (Low::has_terms) load<Threads, kWidth, kInside>(terms, element_terms, length, start);
    unsigned mask = 0;
#pragma unroll
    for (int j = 0; j < kElements; ++j) {
      const bool is = Low::low(x[j], list_term, Low::has_terms ? terms[j] : 0.0F) < limit;
      if (is && (kInside || element<Threads, kWidth>(start, j) < length)) mask |= 1U << j;
    }
    return mask;
  }

  // Elements of a batch are read again where they are wanted, from the nearest cache: cheaper than to keep what most
  // often is not.
  __device__ float at(unsigned e) const { return low(__ldg(row + e), e); }

  // Of the mask's elements those that may be collected.
  __device__ unsigned filter(unsigned mask, unsigned start, float limit) const {
    unsigned kept = 0;
    for (; mask != 0; mask &= mask - 1) {
      const unsigned e = element<Threads, kWidth>(start, __ffs(static_cast<int>(mask)) - 1);
      const float mine = at(e);
      if (mine < limit && !(mine < from) && e != excluded) kept |= mask & (0U - mask);
    }
    return kept;
  }

  // Appends the mask's elements; returns those that found no room. Places of a warp's elements: the lanes' numbers of
  // elements are added up bit by bit, each bit by a ballot.
  __device__ unsigned append(unsigned mask, unsigned start) const {
    const int mine = __popc(mask);
    int before = 0, total = 0;
    for (int bit = 0; __any_sync(0xffffffffU, (mine >> bit) != 0); ++bit) {
      const unsigned votes = __ballot_sync(0xffffffffU, (mine >> bit & 1) != 0);
      before += __popc(votes & lanes_before()) << bit;
      total += __popc(votes) << bit;
    }
    if (total == 0) return 0;  // the same for all lanes
    int place = 0;
    if (Threads::lane() == 0) place = atomicAdd(count, total);
    place = __shfl_sync(0xffffffffU, place, 0) + before;
    for (; mask != 0 && place < room; ++place, mask &= mask - 1) {
      const unsigned e = element<Threads, kWidth>(start, __ffs(static_cast<int>(mask)) - 1);
      keys[place] = make_key(at(e), first_id + e);
    }
    __syncwarp();
    return mask;
  }

  template <bool kInside>
  __device__ float batch(unsigned start, float limit, int keep, RowState<kWarps>& state) const {
    unsigned mask = below<kInside>(start, limit);
    if (excluded - start < Threads::threads * kElements || from > -infinity()) mask = filter(mask, start, limit);
    for (;;) {
      mask = append(mask, start);
      if (!Threads::any(mask != 0)) return limit;
      limit = tighten<kWarps>(keys, room, keep, state);
      mask = filter(mask, start, limit);
    }
  }

  // Collects what is in [from, limit).
  __device__ void pass(float limit, int keep, RowState<kWarps>& state) const {
    constexpr unsigned step = Threads::threads * kElements;
    unsigned start = 0;
    for (; length - start >= step; start += step) limit = batch<true>(start, limit, keep, state);
    if (start < length) batch<false>(start, limit, keep, state);
  }
};

template <class Low, int kWarps, int kWidth>
__device__ void select_row(const ListView& v, const QuickPlan& plan, int list, Key* keys, RowState<kWarps>& state) {
  using Threads = Group<kWarps>;
  if (Threads::thread() == 0) state.count = 0;
  Threads::sync();
  RowStream<Low, kWarps, kWidth> stream{v.tile + static_cast<std::int64_t>(list) * v.ld,
                                        v.element_terms,
                                        Low::has_terms ? v.list_terms[list] : 0.0F,
                                        static_cast<unsigned>(v.length),
                                        v.first_id,
                                        v.excluded_element(list),
                                        -infinity(),
                                        plan.room,
                                        keys,
                                        &state.count};
  const float all = v.limit(list);
  float pivot = all;
  if (plan.sample > 0) pivot = first_pivot<Low, kWarps>(v, plan, stream.row, stream.list_term, all, keys, state);
  for (;;) {
    stream.pass(pivot, plan.keep, state);
    Threads::sync();
    if (!(pivot < all) || state.count >= plan.keep) break;
    Threads::sync();
    stream.from = pivot;
    pivot = all;
  }
  const int size = state.count;
  Threads::sync();
  emit_row<kWarps>(v, list, keys, size, state);
  Threads::sync();
}

// Dynamic shared memory: for each group its state, and its buffer unless that is in `spill` (room keys a block).
template <class Low, int kWarps, int kWidth, bool kShared>
__global__ void __launch_bounds__(kWarps == 1 ? 256 : 32 * kWarps, kWarps == 1   ? 4
                                                                   : kWarps == 8 ? 5
                                                                                 : 32 / kWarps)
    select_rows(const __grid_constant__ ListView v, const __grid_constant__ QuickPlan plan, Key* spill) {
  extern __shared__ __align__(16) unsigned char shared[];
  constexpr int groups = kWarps == 1 ? 8 : 1;
  const int group = kWarps == 1 ? static_cast<int>(threadIdx.x / 32) : 0;
  constexpr int state_bytes = round_up(sizeof(RowState<kWarps>));
  auto& state = *reinterpret_cast<RowState<kWarps>*>(shared + group * state_bytes);
  Key* keys = kShared ? reinterpret_cast<Key*>(shared + groups * state_bytes) + group * plan.room
                      : spill + static_cast<std::int64_t>(blockIdx.x) * plan.room;
  for (std::int64_t list = static_cast<std::int64_t>(blockIdx.x) * groups + group; list < v.lists;
       list += static_cast<std::int64_t>(gridDim.x) * groups)
    if (v.wanted(static_cast<int>(list))) select_row<Low, kWarps, kWidth>(v, plan, static_cast<int>(list), keys, state);
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
  if (job.rows >= 16 * limits.processors && job.columns <= 16384 && resident(with(1)) >= 3) return with(1);
  if (job.rows >= 16 * limits.processors && resident(with(8)) >= 4) return with(8);
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

// `quick` for rows: a warp or a block streams a row once, 16 bytes a thread and copy, and collects what lies below a
// sampled pivot. komarov-2014 partitions every row around pivots until C are left; with a first pivot just above the
// C-th smallest, the right part is never written, and the rest happens in shared memory.
//
// If more is collected than there is room for, the buffer is cut to its C + 1 smallest, the last of which is the pivot
// from there on; strictly below it, so that equal keys fill the buffer once. If less than C + 1 lay below the sampled
// pivot, the row is read again with one that lies higher, where the paper would search the right part; and with none if
// that is too low as well.
#include <algorithm>

#include "backend/cuda/base/check.cuh"
#include "backend/cuda/base/copy_async.cuh"
#include "backend/cuda/select/quick.cuh"
#include "core/division.h"

namespace libknng::cuda {
namespace {

// A batch: so many elements of the list for every thread. While one is looked at the next is on its way to shared
// memory, where every thread reads what itself asked for and nothing else, so that warps need not wait for each other.
constexpr unsigned kElements = 16;
constexpr int kStages = 2;

// What a group works in besides its buffer. While a key is looked for, the first batch of a list may be on its way, and
// no other.
template <int kWarps>
struct alignas(16) RowState {
  static constexpr int kBatch = kElements * 32 * kWarps;
  union {
    float stages[kStages * kBatch];
    struct {
      float first_batch[kBatch];
      KthScratch<kWarps> scratch;
    };
  };
  int count;   // of keys in the buffer; more than there is room for until it is cut
  int turn;    // how often the row was begun
  bool whole;  // what is collected is below the list's own limit, and no pivot
};

// Neighbouring threads take neighbouring vectors of kWidth elements.
template <int kWarps, int kWidth>
struct Stages {
  using Threads = Group<kWarps>;
  static constexpr unsigned step = Threads::threads * kElements;

  float* memory;  // 16-byte aligned

  // Where the thread's element j is in a batch.
  static __device__ unsigned place(unsigned j) {
    return (j / kWidth * Threads::threads + static_cast<unsigned>(Threads::thread())) * kWidth + j % kWidth;
  }
  // 1 << j if the batch's element at this place is the thread's j, else 0.
  static __device__ unsigned bit(unsigned place) {
    const unsigned vector = place / kWidth;
    return vector % Threads::threads == static_cast<unsigned>(Threads::thread())
               ? 1U << (vector / Threads::threads * kWidth + place % kWidth)
               : 0;
  }
  __device__ float* batch(unsigned start) const { return memory + start / step % kStages * step; }

  // Asks for a batch; kInside: which does not reach beyond the list, else as far as the list reaches. The tile's pitch
  // is a multiple of kWidth: a vector that begins in the list may be read.
  template <bool kInside>
  __device__ void begin(const float* list, unsigned length, unsigned start) const {
    const float* const from = list + start + place(0);
    float* const to = batch(start) + place(0);
#pragma unroll
    for (unsigned j = 0; j < kElements; j += kWidth)
      if (kInside || start + place(j) < length)
        copy_async<4 * kWidth>(to + j * Threads::threads, from + j * Threads::threads);
    commit_copies();
  }
  // The batch before the last that was asked for.
  __device__ void read(float (&x)[kElements], unsigned start) const {
    wait_for_copies<kStages - 1>();
    const float* const from = batch(start);
#pragma unroll
    for (unsigned j = 0; j < kElements; j += kWidth) {
      if constexpr (kWidth == 4) {
        const float4 four = *reinterpret_cast<const float4*>(from + place(j));
        x[j] = four.x, x[j + 1] = four.y, x[j + 2] = four.z, x[j + 3] = four.w;
      } else {
        x[j] = from[place(j)];
      }
    }
  }
  __device__ float at(unsigned start, unsigned j) const { return batch(start)[place(j)]; }
};

// These are rare, and must not cost the stream registers.
//
// Asks for the first batch of a stream from `start` on.
template <int kWarps, int kWidth>
__device__ __noinline__ void begin_stream(Stages<kWarps, kWidth> batches, const float* list, unsigned length,
                                          unsigned start) {
  batches.template begin<false>(list, length, start);
}

// The C + 1 smallest of a full buffer stay; what is not below the last of them can be passed over from now on. Batches
// are lost.
template <int kWarps>
__device__ __noinline__ float tighten(Key* keys, int room, int keep, RowState<kWarps>& state) {
  wait_for_copies<0>();
  Group<kWarps>::sync();
  const Key last = kth_smallest<kWarps>(KeyArray{keys}, room, keep, state.scratch);
  keep_up_to<kWarps>(keys, room, last, &state.count);
  return low_of(last);
}

// What a row's next turn collects is below this: the turn's pivot from the sample, if enough of that is below the
// list's limit, else the limit. The buffer is empty, and is again.
template <class Low, int kWarps>
__device__ __noinline__ float next_pivot(const ListView& v, const QuickPlan& plan, int list, Key* keys,
                                         RowState<kWarps>& state) {
  using Threads = Group<kWarps>;
  constexpr int loads = 4;  // in flight
  const int turn = state.turn;
  const float all = v.limit(list);
  float pivot = all;
  // The plan is for the longest list; of one that is shorter than the sample none is drawn.
  if (plan.sample > 0 && turn < kPivots && plan.sample <= v.length_of(list)) {
    const float* const row = v.tile + list * v.ld;
    const float list_term = Low::has_terms ? v.list_terms[list] : 0.0F;
    const float* const terms = v.element_terms + v.shift(list);
    const unsigned sample = static_cast<unsigned>(plan.sample), length = static_cast<unsigned>(v.length_of(list));
    for (unsigned start = 0; start < sample; start += loads * Threads::threads) {
      float lows[loads];
#pragma unroll
      for (int u = 0; u < loads; ++u) {
        const unsigned i = start + static_cast<unsigned>(u * Threads::threads + Threads::thread());
        const unsigned e = sampled_element(min(i, sample - 1), sample, length);
        const float low = Low::low(__ldg(row + e), list_term, Low::has_terms ? __ldg(terms + e) : 0.0F);
        lows[u] = i < sample ? low : infinity();
      }
#pragma unroll
      for (int u = 0; u < loads; ++u) {
        const unsigned i = start + static_cast<unsigned>(u * Threads::threads + Threads::thread());
        const int place = append_place(&state.count, lows[u] < all);
        if (lows[u] < all) keys[place] = make_key(lows[u], i);
      }
    }
    Threads::sync();
    const int found = state.count, rank = plan.pivots[turn];
    if (found > rank) pivot = next_up(low_of(kth_smallest<kWarps>(KeyArray{keys}, found, rank, state.scratch)));
  }
  Threads::sync();
  if (Threads::thread() == 0) {
    state.count = 0;
    state.turn = turn + 1;
    state.whole = !(pivot < all);
  }
  Threads::sync();
  return pivot;
}

template <int kWarps>
__device__ __noinline__ void emit_row(const ListView& v, int list, const Key* keys, int size, RowState<kWarps>& state) {
  emit_list<kWarps>(v, list, keys, size, state.scratch, &state.count);
}

// What the stream of a row needs at hand.
template <class Low, int kWarps, int kWidth>
struct RowStream {
  using Threads = Group<kWarps>;
  using Batches = Stages<kWarps, kWidth>;

  const float* row;
  const float* element_terms;
  float list_term;
  unsigned length, first_id;
  ElementAdmission admission;
  int room;
  Key* keys;
  int* count;
  Batches batches;

  __device__ float term(unsigned e) const { return Low::has_terms ? __ldg(element_terms + e) : 0.0F; }
  // The low of element j of a batch.
  __device__ float low(unsigned start, unsigned j) const {
    return Low::low(batches.at(start, j), list_term, term(start + Batches::place(j)));
  }

  // Those of the batch that are below limit: element j's bit is 1 << j. kInside: it does not reach beyond the list.
  template <bool kInside>
  __device__ unsigned below(unsigned start, float limit) const {
    float x[kElements];
    batches.read(x, start);
    unsigned mask = 0;
#pragma unroll
    for (unsigned j = 0; j < kElements; j += kWidth) {
      const unsigned e = start + Batches::place(j);
      float terms[kWidth] = {};
      if constexpr (Low::has_terms && kInside && kWidth == 4) {
        const float4 four = __ldg(reinterpret_cast<const float4*>(element_terms + e));
        terms[0] = four.x, terms[1] = four.y, terms[2] = four.z, terms[3] = four.w;
      } else {
#pragma unroll
        for (unsigned w = 0; w < kWidth; ++w)
          if (kInside || e + w < length) terms[w] = term(e + w);
      }
#pragma unroll
      for (unsigned w = 0; w < kWidth; ++w)
        if ((kInside || e + w < length) && Low::low(x[j + w], list_term, terms[w]) < limit) mask |= 1U << (j + w);
    }
    return mask;
  }

  // Appends the mask's elements, one a lane and vote; returns those that found no room.
  __device__ unsigned append(unsigned mask, unsigned start) const {
    for (;;) {
      const unsigned votes = __ballot_sync(0xffffffffU, mask != 0);
      if (votes == 0) return 0;
      const int first = reserve(count, __popc(votes)), place = first + __popc(votes & lanes_before());
      if (mask != 0 && place < room) {
        const auto j = static_cast<unsigned>(__ffs(static_cast<int>(mask)) - 1);
        keys[place] = make_key(low(start, j), first_id + start + Batches::place(j));
        mask &= mask - 1;
      }
      if (first + __popc(votes) > room) return mask;
    }
  }

  // Collects from the batches at `start` and behind, of which the first is asked for, until the warp finds no room for
  // all survivors of one. Returns where that is, or what is not below length. left: of the first batch, then of the
  // one where there was no room, what has not been appended, each thread's as in below(); all ones: nothing has.
  __device__ unsigned collect(unsigned start, float limit, unsigned& left) const {
    for (; start < length; start += Batches::step) {
      if (length - start >= 2 * Batches::step)
        batches.template begin<true>(row, length, start + Batches::step);
      else
        batches.template begin<false>(row, length, start + Batches::step);
      const unsigned mask = length - start >= Batches::step ? below<true>(start, limit) : below<false>(start, limit);
      left = append(admission.template admitted<Batches>(mask & left, start), start);
      if (__any_sync(0xffffffffU, left != 0)) break;
      left = ~0U;
    }
    return start;
  }

  // Collects what is below limit. The first batch is asked for. Warps run apart until the buffer is full.
  __device__ void pass(float limit, int keep, RowState<kWarps>& state) const {
    unsigned left = ~0U, start = 0;
    for (;;) {
      start = collect(start, limit, left);
      if (!Threads::any(start < length)) break;
      limit = tighten<kWarps>(keys, room, keep, state);
      if (start < length) begin_stream(batches, row, length, start);
    }
  }
};

// Fills the buffer with what contains the list's smallest. Its first batch is asked for.
template <class Low, int kWarps, int kWidth>
__device__ void collect_row(const ListView& v, const QuickPlan& plan, int list, Key* keys, RowState<kWarps>& state) {
  using Threads = Group<kWarps>;
  if (Threads::thread() == 0) {
    state.count = 0;
    state.turn = 0;
  }
  Threads::sync();
  const RowStream<Low, kWarps, kWidth> stream{v.tile + list * v.ld,
                                              v.element_terms + v.shift(list),
                                              Low::has_terms ? v.list_terms[list] : 0.0F,
                                              static_cast<unsigned>(v.length_of(list)),
                                              v.first_id_of(list),
                                              v.admission_of(list),
                                              plan.room,
                                              keys,
                                              &state.count,
                                              {state.stages}};
  for (;;) {
    stream.pass(next_pivot<Low, kWarps>(v, plan, list, keys, state), plan.keep, state);
    Threads::sync();
    if (state.whole || state.count >= plan.keep) break;
    Threads::sync();
    if (Threads::thread() == 0) state.count = 0;
    begin_stream(stream.batches, stream.row, stream.length, 0);
    Threads::sync();
  }
}

constexpr int groups_of_block(int warps) { return warps == 1 ? 8 : 1; }
constexpr int threads_of_block(int warps) { return 32 * warps * groups_of_block(warps); }
// Blocks of a multiprocessor that registers suffice for.
constexpr int blocks_resident(int warps) { return warps == 1 ? 3 : 32 / warps; }

// Dynamic shared memory: for each group its state, and its buffer unless that is in `spill` (room keys a group).
template <class Low, int kWarps, int kWidth, bool kShared>
__global__ void __launch_bounds__(threads_of_block(kWarps), blocks_resident(kWarps))
    select_rows(const __grid_constant__ ListView v, const __grid_constant__ QuickPlan plan, Key* spill) {
  extern __shared__ __align__(16) unsigned char shared[];
  constexpr int groups = groups_of_block(kWarps);
  const int group = kWarps == 1 ? static_cast<int>(threadIdx.x / 32) : 0;
  auto* const states = reinterpret_cast<RowState<kWarps>*>(shared);
  Key* const keys = (kShared ? reinterpret_cast<Key*>(states + groups)
                             : spill + static_cast<std::int64_t>(blockIdx.x) * groups * plan.room) +
                    group * plan.room;
  RowState<kWarps>& state = states[group];
  const unsigned lists = static_cast<unsigned>(v.lists), stride = gridDim.x * groups;
  // From `list` on the first that is wanted, whose first batch is asked for.
  const auto begin_from = [&](unsigned list) {
    while (list < lists && !v.wanted(static_cast<int>(list))) list += stride;
    if (list < lists)
      begin_stream(Stages<kWarps, kWidth>{state.stages}, v.tile + list * v.ld,
                   static_cast<unsigned>(v.length_of(static_cast<int>(list))), 0);
    return list;
  };
  for (unsigned list = begin_from(blockIdx.x * groups + group); list < lists;) {
    collect_row<Low, kWarps, kWidth>(v, plan, static_cast<int>(list), keys, state);
    const int size = state.count;
    const unsigned next = begin_from(list + stride);
    Group<kWarps>::sync();
    emit_row<kWarps>(v, static_cast<int>(list), keys, size, state);
    Group<kWarps>::sync();
    list = next;
  }
}

struct RowLaunch {
  int warps;  // of a group
  bool in_shared;
  int resident;  // blocks of a multiprocessor; 0: none fits
  int blocks;
  int shared_bytes;
  QuickPlan plan;
};

constexpr int state_bytes(int warps) {
  switch (warps) {
    case 1: return sizeof(RowState<1>);
    case 4: return sizeof(RowState<4>);
    case 8: return sizeof(RowState<8>);
    case 16: return sizeof(RowState<16>);
    default: return sizeof(RowState<32>);
  }
}

// Warps draw larger samples at less cost than blocks, where each step of a selection waits for all.
constexpr int sampled_part(int warps) { return warps == 1 ? 64 : 256; }

std::int64_t room_in_shared(int warps, const DeviceLimits& limits) {
  return (limits.shared_bytes / groups_of_block(warps) - state_bytes(warps)) / static_cast<int>(sizeof(Key));
}

RowLaunch plan_launch(const SelectJob& job, int warps, bool in_shared, const DeviceLimits& limits) {
  constexpr int reserved = 1024;  // shared memory of a block that is the system's
  RowLaunch launch{};
  launch.warps = warps;
  launch.in_shared = in_shared;
  const int groups = groups_of_block(warps);
  launch.plan = plan_quick(job.columns, job.capacity, 32 * warps, sampled_part(warps),
                           in_shared ? room_in_shared(warps, limits) : job.columns);
  const std::int64_t bytes = groups * (state_bytes(warps) + (in_shared ? std::int64_t{launch.plan.room} * 8 : 0));
  if (bytes > limits.shared_bytes) return launch;
  launch.shared_bytes = static_cast<int>(bytes);
  // A multiprocessor has little more shared memory than one block may ask for.
  launch.resident =
      std::min((limits.shared_bytes + reserved) / (launch.shared_bytes + reserved), blocks_resident(warps));
  launch.blocks = ceil_div(job.rows, groups);
  if (!in_shared) launch.blocks = std::min(launch.blocks, limits.processors * launch.resident);
  return launch;
}

RowLaunch plan_rows(const SelectJob& job, int warps) {
  const DeviceLimits limits = device_limits();
  const auto with = [&](int w) { return plan_launch(job, w, true, limits); };
  const auto spilling = [&] {
    const RowLaunch large = plan_launch(job, 32, false, limits);
    return large.resident > 0 ? large : plan_launch(job, 8, false, limits);
  };
  if (warps != 0) return with(warps).resident > 0 ? with(warps) : spilling();
  // Groups that a multiprocessor can hold beside one another hide each other's selections: small ones, while there is
  // shared memory for the buffers of many. Of short rows fewer will do: to read one takes less time than to select.
  constexpr int kShort = 20480;
  const bool many = job.rows >= 16 * limits.processors, is_short = job.columns <= kShort;
  const bool enough = many || (is_short && job.rows >= 4 * limits.processors);
  if (many && is_short && with(1).resident >= 2) return with(1);
  if (enough && with(4).resident >= 6) return with(4);
  if (enough && with(8).resident >= 2) return with(8);
  if (job.rows >= 2 * limits.processors && with(16).resident >= 2) return with(16);
  for (const int w : {32, 16})
    if (with(w).resident > 0) return with(w);
  const RowLaunch spilled = spilling();
  return spilled.warps < 32 && with(8).resident > 0 ? with(8) : spilled;
}

template <class Low, int kWarps, int kWidth, bool kShared>
void launch_rows(const SelectJob& job, const RowLaunch& l, void* workspace, cudaStream_t stream) {
  const auto kernel = select_rows<Low, kWarps, kWidth, kShared>;
  // Not what this launch takes: another thread may be about to launch with more.
  check(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, device_limits().shared_bytes));
  const ListView view = list_view(job);
  kernel<<<static_cast<unsigned>(l.blocks), threads_of_block(kWarps), static_cast<std::size_t>(l.shared_bytes),
           stream>>>(view, l.plan, static_cast<Key*>(workspace));
  check_launch();
}

bool aligned(const void* p) { return reinterpret_cast<std::uintptr_t>(p) % 16 == 0; }

}  // namespace

// For shorter rows as well.
std::size_t quick_rows_workspace(const SelectJob& job, int warps, const DeviceLimits& limits) {
  const int spilling = state_bytes(32) <= limits.shared_bytes ? 32 : 8;
  // What the plan would take rather than spill.
  const int last = warps != 0 ? warps : spilling == 32 ? 16 : 8;
  if (enough_room(job.columns, job.capacity, 32 * last, sampled_part(last)) <= room_in_shared(last, limits)) return 0;
  const std::int64_t blocks =
      std::min<std::int64_t>(job.rows, std::int64_t{limits.processors} * blocks_resident(spilling));
  return static_cast<std::size_t>(blocks * most_room(job.columns, job.capacity)) * sizeof(Key);
}

void quick_rows(const SelectJob& job, int warps, void* workspace, cudaStream_t stream) {
  if (job.rows == 0) return;
  const RowLaunch l = plan_rows(job, warps);
  with_low(job, [&]<class Low>(Low) {
    const auto with_width = [&]<int kWidth>(std::integral_constant<int, kWidth>) {
      if (!l.in_shared)
        return l.warps == 32 ? launch_rows<Low, 32, kWidth, false>(job, l, workspace, stream)
                             : launch_rows<Low, 8, kWidth, false>(job, l, workspace, stream);
      switch (l.warps) {
        case 1: return launch_rows<Low, 1, kWidth, true>(job, l, workspace, stream);
        case 4: return launch_rows<Low, 4, kWidth, true>(job, l, workspace, stream);
        case 8: return launch_rows<Low, 8, kWidth, true>(job, l, workspace, stream);
        case 16: return launch_rows<Low, 16, kWidth, true>(job, l, workspace, stream);
        default: return launch_rows<Low, 32, kWidth, true>(job, l, workspace, stream);
      }
    };
    if (aligned(job.tile) && job.ld % 4 == 0 && (!Low::has_terms || (aligned(job.column_terms) && job.square % 4 == 0)))
      with_width(std::integral_constant<int, 4>{});
    else
      with_width(std::integral_constant<int, 1>{});
  });
}

}  // namespace libknng::cuda

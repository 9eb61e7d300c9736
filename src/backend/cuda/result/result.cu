#include "backend/cuda/result/result.cuh"

#include <algorithm>
#include <bit>
#include <cub/block/block_merge_sort.cuh>

#include "backend/cuda/base/block_sort.cuh"
#include "backend/cuda/base/check.cuh"
#include "backend/cuda/base/orderable.cuh"
#include "backend/cuda/base/warp.cuh"
#include "core/dtype.h"
#include "metric/report.h"

namespace libknng::cuda {
namespace {

// How a block sorts a row's entries. With kItems of each thread in registers:
template <int kThreads, int kItems>
struct InRegisters {
  static constexpr int threads = kThreads, entries = kThreads * kItems;

  struct Entry {
    double key;
    std::uint32_t id;
  };
  struct Less {
    __device__ bool operator()(const Entry& a, const Entry& b) const {
      return a.key < b.key || (a.key == b.key && a.id < b.id);
    }
  };
  using Sort = cub::BlockMergeSort<Entry, kThreads, kItems>;
  static constexpr std::int64_t shared_bytes =
      std::max<std::int64_t>(sizeof(typename Sort::TempStorage), entries*(sizeof(double) + sizeof(std::uint32_t)));

  static __device__ KeyedIds sort(const KeyedIds& own, std::int64_t filled, unsigned char* shared) {
    Entry mine[kItems];
#pragma unroll
    for (int j = 0; j < kItems; ++j) {
      const auto i = static_cast<std::int64_t>(threadIdx.x) + j * kThreads;
      mine[j] = i < filled ? Entry{own.keys[i], own.ids[i]} : Entry{INFINITY, kNoId};
    }
    Sort(*reinterpret_cast<typename Sort::TempStorage*>(shared)).Sort(mine, Less());
    __syncthreads();
    const KeyedIds sorted{reinterpret_cast<double*>(shared),
                          reinterpret_cast<std::uint32_t*>(reinterpret_cast<double*>(shared) + entries)};
#pragma unroll
    for (int j = 0; j < kItems; ++j) {
      const int i = static_cast<int>(threadIdx.x) * kItems + j;
      sorted.keys[i] = mine[j].key;
      sorted.ids[i] = mine[j].id;
    }
    __syncthreads();
    return sorted;
  }
};
// Or by numbers of 32 bits, a quarter of what an entry takes: the first bits of its key beside its place in the row.
// Keys are counted from the smallest one, so that few that differ look alike: of 1,153 of 20 bits about one pair. What
// is left open, two neighbours settle between them.
template <int kThreads, int kItems>
struct ByShortKeys {
  static constexpr int threads = kThreads, entries = kThreads * kItems;
  static constexpr int kPlaceBits = std::bit_width(static_cast<unsigned>(entries - 1));
  static constexpr std::uint32_t kNothing = std::uint32_t{1} << 31;  // of a number: it stands for no entry
  static constexpr std::uint64_t kNone = ~std::uint64_t{0};          // of a key

  struct Less {
    __device__ bool operator()(std::uint32_t a, std::uint32_t b) const { return a < b; }
  };
  using Sort = cub::BlockMergeSort<std::uint32_t, kThreads, kItems>;
  struct Shared {
    double keys[entries];
    std::uint32_t ids[entries];
    union {
      typename Sort::TempStorage sorting;
      std::uint64_t extremes[2][kThreads / 32];
    };
  };
  static constexpr std::int64_t shared_bytes = sizeof(Shared);

  static __device__ KeyedIds sort(const KeyedIds& own, std::int64_t filled, unsigned char* memory) {
    Shared& shared = *reinterpret_cast<Shared*>(memory);
    const KeyedIds sorted{shared.keys, shared.ids};
    std::uint64_t key[kItems];
    load(own, filled, shared, key);
    std::uint32_t number[kItems];
    shorten(key, shared, number);
    Sort(shared.sorting).Sort(number, Less());
    arrange(own, number, sorted);
    if (!settle(sorted, static_cast<int>(filled))) sort_in_place(sorted, filled);
    return sorted;
  }

 private:
  // Keys as integers in their order; kNone for entries that stand for nothing.
  static __device__ void load(const KeyedIds& own, std::int64_t filled, Shared& shared, std::uint64_t (&key)[kItems]) {
    std::uint64_t lowest = kNone, highest = 0;
#pragma unroll
    for (int j = 0; j < kItems; ++j) {
      const int i = static_cast<int>(threadIdx.x) + j * kThreads;
      key[j] = i < filled && own.ids[i] != kNoId ? orderable(own.keys[i]) : kNone;
      lowest = min(lowest, key[j]);
      if (key[j] != kNone) highest = max(highest, key[j]);
    }
    lowest = smallest_of_lanes(lowest);
    highest = largest_of_lanes(highest);
    if (threadIdx.x % 32 == 0) {
      shared.extremes[0][threadIdx.x / 32] = lowest;
      shared.extremes[1][threadIdx.x / 32] = highest;
    }
    __syncthreads();
  }
  static __device__ void shorten(const std::uint64_t (&key)[kItems], Shared& shared, std::uint32_t (&number)[kItems]) {
    std::uint64_t lowest = kNone, highest = 0;
    for (int w = 0; w < kThreads / 32; ++w) {
      lowest = min(lowest, shared.extremes[0][w]);
      highest = max(highest, shared.extremes[1][w]);
    }
    constexpr int kKeyBits = 31 - kPlaceBits;
    const int lost = highest > lowest ? max(64 - __clzll(static_cast<long long>(highest - lowest)) - kKeyBits, 0) : 0;
#pragma unroll
    for (int j = 0; j < kItems; ++j) {
      const unsigned i = threadIdx.x + static_cast<unsigned>(j * kThreads);
      // Those for nothing come last: the others' first bit is 0.
      number[j] =
          key[j] == kNone ? kNothing | i : static_cast<std::uint32_t>((key[j] - lowest) >> lost) << kPlaceBits | i;
    }
    __syncthreads();
  }
  static __device__ void arrange(const KeyedIds& own, const std::uint32_t (&number)[kItems], const KeyedIds& sorted) {
#pragma unroll
    for (int j = 0; j < kItems; ++j) {
      const int i = static_cast<int>(threadIdx.x) * kItems + j;
      const std::uint32_t from = number[j] & ((std::uint32_t{1} << kPlaceBits) - 1);
      const bool none = number[j] >= kNothing;
      sorted.keys[i] = none ? INFINITY : own.keys[from];
      sorted.ids[i] = none ? kNoId : own.ids[from];
    }
    __syncthreads();
  }
  // Puts neighbours into their order until all are, if that is soon: it is not where many keys are equal.
  static __device__ bool settle(const KeyedIds& sorted, int filled) {
    constexpr int kMostRounds = 8, kMany = kThreads / 4;
    for (int round = 0; round < kMostRounds; ++round) {
      bool moved = false;
      for (int odd = 0; odd < 2; ++odd) {
        for (int i = 2 * static_cast<int>(threadIdx.x) + odd; i + 1 < filled; i += 2 * kThreads) {
          if (!sorted.less(i + 1, i)) continue;
          sorted.order(i, i + 1);
          moved = true;
        }
        __syncthreads();
      }
      const int moving = __syncthreads_count(moved);
      if (moving == 0) return true;
      if (moving > kMany) return false;
    }
    return false;
  }
};
// Or any number, in shared memory and their own place in turns (block_sort.cuh).
struct InChunks {
  static constexpr std::int64_t chunk = 4096;
  static constexpr int threads = 512;
  static constexpr std::int64_t shared_bytes = chunk * (sizeof(double) + sizeof(std::uint32_t));

  static __device__ KeyedIds sort(const KeyedIds& own, std::int64_t filled, unsigned char* shared) {
    auto* const keys = reinterpret_cast<double*>(shared);
    return block_sort(own, filled, {keys, reinterpret_cast<std::uint32_t*>(keys + chunk)}, chunk);
  }
};

template <class Value>
__device__ bool store_value(Value* values, std::int64_t at, const Metric& metric, double key, bool similarity) {
  const auto value = static_cast<Value>(report<ScalarOps>(metric, key, similarity));
  values[at] = value;
  return isfinite(value);
}

// Whether nothing that is missing from the entries can belong to the row.
__device__ bool is_proved(const ResultJob& job, std::int64_t place, std::int64_t row, std::int64_t valid,
                          double last_key) {
  if (valid < job.k) return false;
  if (job.constants && job.constants[row].factor == 0) return true;
  const std::int64_t list = job.lists ? job.lists[place] : place;
  if (job.kept && job.kept[list] > job.capacity) return false;
  // Strictly: an equal bound may belong to an equal key with a smaller id. What cut-offs left out is above them; one
  // that was guessed, or comes from a list that has lost something, may be below the last key. A NaN proves nothing.
  const double last = ScalarOps::mul(last_key, job.scale);
  const bool above_dropped = !job.dropped || static_cast<double>(job.dropped[list]) > last;
  const bool within_cutoff = !job.cutoffs || static_cast<double>(job.cutoffs[list]) >= last;
  return (above_dropped && within_cutoff) || valid >= job.admission.of(row).count(job.columns);
}

// One block a row.
template <class Value, class Sorting>
__global__ void store_rows(ResultJob job, Metric metric, ResultRows result) {
  extern __shared__ __align__(16) unsigned char shared_bytes[];
  const std::int64_t place = blockIdx.x, k = job.k;
  const std::int64_t row = job.list ? job.list[place] : job.first + place;
  const std::int64_t filled = job.entries.filled[place];
  const KeyedIds own{job.entries.keys + place * job.entries.slots, job.entries.ids + place * job.entries.slots};
  const KeyedIds sorted = Sorting::sort(own, filled, shared_bytes);

  // Entries that stand for nothing are last.
  std::int64_t valid = 0;
  for (std::int64_t base = 0; base < filled; base += blockDim.x) {
    const std::int64_t i = base + threadIdx.x;
    valid += __syncthreads_count(i < filled && sorted.ids[i] != kNoId);
  }

  const std::int64_t to = result.packed ? place : row - result.first;
  const std::int64_t at = to * result.width, shift = result.width - k;
  auto* values = static_cast<Value*>(result.values);
  bool fits = true;
  for (std::int64_t j = threadIdx.x; j < k; j += blockDim.x) {
    if (j < valid) {
      result.ids[at + shift + j] = sorted.ids[j];
      fits = store_value(values, at + shift + j, metric, sorted.keys[j], result.similarity) && fits;
    } else {
      result.ids[at + shift + j] = -1;
      values[at + shift + j] = static_cast<Value>(INFINITY);
    }
  }
  if (threadIdx.x == 0 && shift > 0) {
    result.ids[at] = job.admission.of(row).excluded;  // the row itself
    const double key = job.entries.self_keys ? job.entries.self_keys[place] : 0.0;
    fits = store_value(values, at, metric, key, result.similarity) && fits;
  }
  fits = __syncthreads_and(fits);
  if (threadIdx.x != 0) return;
  const double last_key = valid >= k ? sorted.keys[k - 1] : INFINITY;
  const bool proved = is_proved(job, place, row, valid, last_key);
  result.ties[to] = valid > k && sorted.keys[k] == last_key;
  result.proved[to] = proved ? result.rung : 0;
  if (result.last_keys) result.last_keys[to] = last_key;
  // What is wrong with a row that is redone will be found then.
  if (proved && !fits) atomicMin(&result.findings->first_too_large, static_cast<unsigned long long>(row));
  if (!proved) {
    const unsigned long long slot = atomicAdd(&result.findings->unproved, 1ull);
    if (result.redo) result.redo[slot] = row;
  }
}

}  // namespace

void clear(ResultFindings* findings, cudaStream_t stream) {
  static_assert(ResultFindings::kNothing == ~0ull);
  check(cudaMemsetAsync(findings, 0, sizeof *findings, stream));
  check(cudaMemsetAsync(&findings->first_too_large, 0xff, sizeof findings->first_too_large, stream));
}

namespace {

template <class Sorting>
void store_sorted(const ResultJob& job, const Metric& metric, const ResultRows& result, cudaStream_t stream) {
  const auto run = [&](auto kernel) {
    kernel<<<static_cast<unsigned>(job.count), Sorting::threads, Sorting::shared_bytes, stream>>>(job, metric, result);
    check_launch();
  };
  if (result.value_dtype == KNNG_F64)
    run(store_rows<double, Sorting>);
  else
    run(store_rows<float, Sorting>);
}

// The first of some ways, the smallest first, that has room for so many entries; else in chunks.
template <class Sorting, class... Larger>
void store_by_size(const ResultJob& job, const Metric& metric, const ResultRows& result, cudaStream_t stream) {
  if (job.entries.slots <= Sorting::entries)
    store_sorted<Sorting>(job, metric, result, stream);
  else if constexpr (sizeof...(Larger) > 0)
    store_by_size<Larger...>(job, metric, result, stream);
  else
    store_sorted<InChunks>(job, metric, result, stream);
}

}  // namespace

void store_result(const ResultJob& job, const Metric& metric, const ResultRows& result, cudaStream_t stream) {
  if (job.count == 0) return;
  store_by_size<InRegisters<32, 1>, InRegisters<32, 2>, ByShortKeys<32, 4>, ByShortKeys<64, 4>, ByShortKeys<128, 4>,
                ByShortKeys<256, 5>, ByShortKeys<256, 8>>(job, metric, result, stream);
}

}  // namespace libknng::cuda

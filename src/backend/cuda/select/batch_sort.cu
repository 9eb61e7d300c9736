// The selector `batch_sort` (dashti-2013, "batch index sort"): what is above the cut-offs is dropped in one pass over
// the tile, the rest is radix sorted by low, and a stable sort by row then gives every row's nearest first; a stable
// sort of the same by column gives every column's, without transposing. Without cut-offs this is the paper's sort of
// whole tiles.
#include <algorithm>
#include <array>
#include <cstddef>
#include <cub/device/device_radix_sort.cuh>

#include "backend/cuda/base/blocks.cuh"
#include "backend/cuda/base/check.cuh"
#include "backend/cuda/base/sort_space.cuh"
#include "backend/cuda/base/workspace.cuh"
#include "backend/cuda/select/entries.cuh"
#include "backend/cuda/select/group.cuh"
#include "backend/cuda/select/lists.cuh"
#include "core/division.h"

namespace libknng::cuda {
namespace {

constexpr int kThreads = 256;

struct TilePair {
  std::uint32_t row, column;
};

// Arrays have a place for every pair of the tile: how many survive is known too late. Two of each for a sort, which
// goes from one to the other; a third where the pairs sorted by low must outlast the sort by row.
struct SortArrays {
  unsigned long long* survivors;       // a counter
  std::int64_t* begins;                // of each list in the sorted pairs
  std::array<std::uint32_t*, 3> keys;  // lows, then lists
  std::array<void*, 3> values;         // TilePairs, then Candidates
  void* sort;
  std::int64_t sort_bytes;
  std::size_t bytes;
};
static_assert(sizeof(TilePair) == sizeof(Candidate));

// A stable sort of the lowest bits; of two buffers, as cub leaves them.
void sort(const SortArrays& w, cub::DoubleBuffer<std::uint32_t>& keys, cub::DoubleBuffer<std::uint64_t>& values,
          std::int64_t pairs, int bits, cudaStream_t stream) {
  const auto run = [&](void* temporary, std::size_t& bytes) {
    check(cub::DeviceRadixSort::SortPairs(temporary, bytes, keys, values, pairs, 0, bits, stream));
  };
  std::size_t bytes = 0;
  run(nullptr, bytes);
  require_sort_fits(bytes, w.sort_bytes);
  run(w.sort, bytes);
}

SortArrays lay_out(const SelectJob& job, int sets, void* start) {
  SortArrays w{};
  Workspace all(start);
  const std::int64_t pairs = std::int64_t{job.rows} * job.columns;
  w.survivors = all.take<unsigned long long>(1);
  w.begins = all.take<std::int64_t>(std::max(job.rows, job.columns) + 1);
  for (std::size_t i = 0; i < static_cast<std::size_t>(sets); ++i) {
    w.keys[i] = all.take<std::uint32_t>(pairs);
    w.values[i] = all.take<Candidate>(pairs);
  }
  w.sort_bytes = sort_bytes(pairs);
  w.sort = all.take<std::byte>(w.sort_bytes);
  w.bytes = static_cast<std::size_t>(all.used());
  return w;
}

// What a job asks of a pair.
struct Filter {
  const float* cutoffs;
  ListAdmission admission;
  std::uint32_t first_id;
  __device__ bool takes(int list, int element, float low) const {
    if (!(low < (cutoffs ? next_up(cutoffs[list]) : infinity()))) return false;
    return admission.admits_all() || admission.of(list, first_id).admits(static_cast<std::uint32_t>(element));
  }
};

// Appends what one of the sides takes: its low as an ordered integer, and where it stands.
template <class Low>
__global__ void __launch_bounds__(kThreads)
    collect(const SelectJob job, Filter rows, Filter columns, bool take_rows, bool take_columns,
            unsigned long long* survivors, std::uint32_t* keys, TilePair* places) {
  constexpr int loads = 8;
  const int step = static_cast<int>(gridDim.x) * kThreads * loads;
  for (int r = static_cast<int>(blockIdx.y); r < job.rows; r += static_cast<int>(gridDim.y)) {
    const float* row = job.tile + static_cast<std::int64_t>(r) * job.ld;
    const float row_term = Low::has_terms ? job.row_terms[r] : 0.0F;
    for (std::int64_t start = static_cast<std::int64_t>(blockIdx.x) * kThreads * loads; start < job.columns;
         start += step) {
      float x[loads];
#pragma unroll
      for (int u = 0; u < loads; ++u) {
        const std::int64_t c = start + u * kThreads + threadIdx.x;
        x[u] = c < job.columns ? __ldg(row + c) : 0.0F;
      }
#pragma unroll
      for (int u = 0; u < loads; ++u) {
        const std::int64_t at = start + u * kThreads + threadIdx.x;
        const int c = static_cast<int>(at);
        float low = infinity();
        bool taken = false;
        if (at < job.columns) {
          low = Low::low(x[u], row_term, Low::has_terms ? __ldg(job.column_terms + c) : 0.0F);
          taken = (take_rows && rows.takes(r, c, low)) || (take_columns && columns.takes(c, r, low));
        }
        const unsigned votes = __ballot_sync(0xffffffffU, taken);
        if (votes == 0) continue;
        unsigned long long place = 0;
        if (threadIdx.x % 32 == 0) place = atomicAdd(survivors, static_cast<unsigned long long>(__popc(votes)));
        place = __shfl_sync(0xffffffffU, place, 0) + static_cast<unsigned>(__popc(votes & lanes_before()));
        if (taken) {
          keys[place] = ordered(low);
          places[place] = {static_cast<std::uint32_t>(r), static_cast<std::uint32_t>(c)};
        }
      }
    }
  }
}

// The pairs of a sorted tile for the second sort: by list, what comes out as value.
__global__ void __launch_bounds__(kThreads)
    key_by_list(std::int64_t pairs, const std::uint32_t* lows, const TilePair* places, bool by_row,
                std::uint32_t first_id, std::uint32_t* lists, Candidate* candidates) {
  for (std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * kThreads + threadIdx.x; i < pairs;
       i += static_cast<std::int64_t>(gridDim.x) * kThreads) {
    const TilePair p = places[i];
    lists[i] = by_row ? p.row : p.column;
    candidates[i] = {from_ordered(lows[i]), first_id + (by_row ? p.column : p.row)};
  }
}

// begins[list] is where the list's pairs begin, begins[lists] where the last one's end: each pair, and the end, fills
// in the lists since the pair before it.
__global__ void __launch_bounds__(kThreads)
    find_lists(std::int64_t pairs, const std::uint32_t* of_pair, int lists, std::int64_t* begins) {
  for (std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * kThreads + threadIdx.x; i <= pairs;
       i += static_cast<std::int64_t>(gridDim.x) * kThreads) {
    const std::int64_t to = i < pairs ? static_cast<std::int64_t>(of_pair[i]) : lists;
    for (std::int64_t l = i == 0 ? 0 : static_cast<std::int64_t>(of_pair[i - 1]) + 1; l <= to; ++l) begins[l] = i;
  }
}

// The first C of every list that its filter takes, and the next one's low. A warp a list.
__global__ void __launch_bounds__(kThreads)
    take_first(const ListView v, const std::int64_t* begins, const Candidate* sorted) {
  const int lane = static_cast<int>(threadIdx.x % 32);
  for (std::int64_t list = (static_cast<std::int64_t>(blockIdx.x) * kThreads + threadIdx.x) / 32; list < v.lists;
       list += static_cast<std::int64_t>(gridDim.x) * kThreads / 32) {
    const float limit = v.limit(static_cast<int>(list));
    const ElementAdmission admission = v.admission_of(static_cast<int>(list));
    const std::int64_t end = begins[list + 1];
    Candidate* out = v.out + list * v.capacity;
    int count = 0;
    for (std::int64_t start = begins[list]; start < end && count <= v.capacity; start += 32) {
      Candidate c{infinity(), 0};
      if (start + lane < end) c = sorted[start + lane];
      const bool taken = c.low < limit && admission.admits(c.id - v.first_id);
      const unsigned votes = __ballot_sync(0xffffffffU, taken);
      const int place = count + __popc(votes & lanes_before());
      if (taken && place < v.capacity) out[place] = c;
      if (taken && place == v.capacity && v.dropped) v.dropped[list] = fminf(v.dropped[list], c.low);
      count += __popc(votes);
      if (__any_sync(0xffffffffU, !(c.low < limit))) break;  // sorted: all that follow are above as well
    }
    if (lane == 0) v.counts[list] = min(count, v.capacity);
  }
}

unsigned blocks_for(std::int64_t threads) {
  return static_cast<unsigned>(std::clamp<std::int64_t>(ceil_div(threads, kThreads), 1, 8192));
}

int bits_of(int lists) {
  int bits = 1;
  while (bits < 32 && (std::int64_t{1} << bits) < lists) ++bits;
  return bits;
}

// The pairs that survive on some side, sorted by low.
struct ByLow {
  std::int64_t pairs;
  int set;  // of the workspace's arrays, where they are
};

ByLow sort_by_low(const SelectJob& job, Filter rows, Filter columns, bool take_rows, bool take_columns,
                  const SortArrays& w, cudaStream_t stream) {
  check(cudaMemsetAsync(w.survivors, 0, sizeof *w.survivors, stream));
  with_low(job, [&]<class Low>(Low) {
    const dim3 grid(static_cast<unsigned>(std::clamp(job.columns / (kThreads * 8), 1, 64)),
                    static_cast<unsigned>(std::min(job.rows, 65535)));
    collect<Low><<<grid, kThreads, 0, stream>>>(job, rows, columns, take_rows, take_columns, w.survivors, w.keys[0],
                                                static_cast<TilePair*>(w.values[0]));
    check_launch();
  });
  // The host has to know how much a radix sort gets.
  unsigned long long survivors = 0;
  check(cudaMemcpyAsync(&survivors, w.survivors, sizeof survivors, cudaMemcpyDeviceToHost, stream));
  check(cudaStreamSynchronize(stream));

  cub::DoubleBuffer<std::uint32_t> keys(w.keys[0], w.keys[1]);
  cub::DoubleBuffer<std::uint64_t> values(static_cast<std::uint64_t*>(w.values[0]),
                                          static_cast<std::uint64_t*>(w.values[1]));
  const auto pairs = static_cast<std::int64_t>(survivors);
  if (pairs > 0) sort(w, keys, values, pairs, 32, stream);
  return {pairs, keys.selector};
}

// The lists of one side, sorted in the workspace's sets `one` and `other`; `one` is not the pairs' own, `other` may be.
void emit(const SelectJob& job, const ByLow& by_low, int one, int other, const SortArrays& w, cudaStream_t stream) {
  const auto set = [](int i) { return static_cast<std::size_t>(i); };
  cub::DoubleBuffer<std::uint32_t> lists(w.keys[set(one)], w.keys[set(other)]);
  cub::DoubleBuffer<std::uint64_t> candidates(static_cast<std::uint64_t*>(w.values[set(one)]),
                                              static_cast<std::uint64_t*>(w.values[set(other)]));
  key_by_list<<<blocks_for(by_low.pairs), kThreads, 0, stream>>>(
      by_low.pairs, w.keys[set(by_low.set)], static_cast<const TilePair*>(w.values[set(by_low.set)]),
      job.side == Side::rows, job.first_id, lists.Current(), reinterpret_cast<Candidate*>(candidates.Current()));
  check_launch();
  if (by_low.pairs > 0) sort(w, lists, candidates, by_low.pairs, bits_of(list_count(job)), stream);
  find_lists<<<blocks_for(by_low.pairs + 1), kThreads, 0, stream>>>(by_low.pairs, lists.Current(), list_count(job),
                                                                    w.begins);
  check_launch();
  take_first<<<blocks_for(std::int64_t{list_count(job)} * 32), kThreads, 0, stream>>>(
      list_view(job), w.begins, reinterpret_cast<const Candidate*>(candidates.Current()));
  check_launch();
}

Filter filter(const SelectJob& job) { return {job.cutoffs, job.admission, job.first_id}; }

}  // namespace

std::size_t batch_sort_workspace(const SelectJob& job, const DeviceLimits&) { return lay_out(job, 2, nullptr).bytes; }

void batch_sort_run(const SelectJob& job, void* workspace, cudaStream_t stream) {
  if (job.rows == 0 || job.columns == 0) return;
  const SortArrays w = lay_out(job, 2, workspace);
  const bool rows = job.side == Side::rows;
  const ByLow by_low = sort_by_low(job, filter(job), filter(job), rows, !rows, w, stream);
  emit(job, by_low, 1 - by_low.set, by_low.set, w, stream);
}

std::size_t batch_sort_workspace_both(const SelectJob& rows, const SelectJob&, const DeviceLimits&) {
  return lay_out(rows, 3, nullptr).bytes;
}

void batch_sort_run_both(const SelectJob& rows, const SelectJob& columns, void* workspace, cudaStream_t stream) {
  if (rows.rows == 0 || rows.columns == 0) return;
  const SortArrays w = lay_out(rows, 3, workspace);
  const ByLow by_low = sort_by_low(rows, filter(rows), filter(columns), true, true, w, stream);
  emit(rows, by_low, 1 - by_low.set, 2, w, stream);
  emit(columns, by_low, 1 - by_low.set, by_low.set, w, stream);
}

}  // namespace libknng::cuda

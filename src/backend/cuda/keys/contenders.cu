#include "backend/cuda/keys/contenders.cuh"

#include <algorithm>
#include <type_traits>

#include "backend/cuda/base/check.cuh"
#include "backend/cuda/keys/pair_keys.cuh"
#include "backend/cuda/rows/prepare.cuh"
#include "backend/cuda/select/lists.cuh"

namespace libknng::cuda {
namespace {

constexpr int kThreads = 256;
constexpr int kWarpsOfBlock = kThreads / kCanonicalLanes;
// Blocks that share a row's contenders: enough for all multiprocessors, however few the rows.
constexpr unsigned kBlocksOfRow = 32;
constexpr std::int64_t kColumnsOfBlock = 4096;

__device__ bool is_listed(const ContendersJob& job, std::int64_t row, std::int64_t id) {
  return id >= 0 && id < job.columns.rows.rows && job.admission.of(job.list[row]).admits(id);
}

// What a row has in its list, as contenders. What cannot be there gets some key that is not looked at.
__global__ void copy_lists(ContendersJob job) {
  const std::int64_t at = static_cast<std::int64_t>(blockIdx.x) * kThreads + threadIdx.x;
  if (at >= job.count * job.k) return;
  const std::int64_t row = at / job.k, j = at % job.k;
  const std::int64_t id = job.listed[row * job.width + job.width - job.k + j];
  job.ids[row * job.columns.rows.rows + j] = is_listed(job, row, id) ? static_cast<std::uint32_t>(id) : 0;
  if (j == 0) job.counts[row] = static_cast<std::int32_t>(job.k);
}

// Different ids in ascending order of (key, id): the k-th key of all cannot be above the last. A warp a row.
__global__ void find_last_keys(ContendersJob job) {
  const std::int64_t row = static_cast<std::int64_t>(blockIdx.x) * kWarpsOfBlock + threadIdx.x / kCanonicalLanes;
  if (row >= job.count) return;
  const std::int64_t* const ids = job.listed + row * job.width + job.width - job.k;
  const double* const keys = job.keys + row * job.columns.rows.rows;
  bool good = true;
  for (std::int64_t j = threadIdx.x % kCanonicalLanes; j < job.k; j += kCanonicalLanes) {
    good = good && is_listed(job, row, ids[j]);
    if (j > 0) good = good && (keys[j - 1] < keys[j] || (keys[j - 1] == keys[j] && ids[j - 1] < ids[j]));
  }
  good = __all_sync(kWarp, good);
  if (threadIdx.x % kCanonicalLanes == 0) job.limits[row] = good ? keys[job.k - 1] : INFINITY;
}

// A low is no more than its scaled key: a column with a larger one than the limit has a larger key, too. Pairs without
// a direction have no low, but a key by definition.
template <class Low>
__global__ void __launch_bounds__(kThreads) list_contenders(ContendersJob job, RowLows lows) {
  const std::int64_t place = blockIdx.y, row = job.list[place], columns = job.columns.rows.rows;
  const std::int64_t first = blockIdx.x * kColumnsOfBlock, end = min(first + kColumnsOfBlock, columns);
  const RowAdmission admission = job.admission.of(row);
  const double limit = job.limits[place], scaled = ScalarOps::mul(limit, lows.scale);
  const bool undirected_belong = !(kNoDirectionKey > limit);
  const float row_term = lows.row_terms[lows.places ? lows.places[row] : row];
  const auto lane = threadIdx.x % 32;
  for (std::int64_t base = first + threadIdx.x - lane; base < end; base += kThreads) {
    const std::int64_t c = base + lane;
    bool belongs = false;
    std::int64_t id = 0;
    if (c < end) {
      const float column_term = lows.column_terms[c];
      id = lows.order ? lows.order[c] : c;
      const auto low = static_cast<double>(Low::low(lows.tile[place * lows.ld + c], row_term, column_term));
      const bool undirected = !lows.integers && (row_term == INFINITY || column_term == INFINITY);
      belongs = admission.admits(id) && (undirected ? undirected_belong : !(low > scaled));
    }
    const unsigned found = __ballot_sync(kWarp, belongs);
    if (found == 0) continue;
    int before = 0;
    if (lane == 0) before = atomicAdd(job.counts + place, __popc(found));
    before = __shfl_sync(kWarp, before, 0);
    if (belongs)
      job.ids[place * columns + before + __popc(found & ((1u << lane) - 1))] = static_cast<std::uint32_t>(id);
  }
}

// Of metrics that have lows.
template <class T>
constexpr bool kHasProducts = std::is_same_v<T, SquaredDifference> || std::is_same_v<T, Product>;

struct Part {
  ContendersJob job;
  const RowConstants* row_constants;  // null: all rows have a direction
  std::int64_t first, end;            // of each row's contenders
  PairTerms terms;
};

template <class Source, class T>
__global__ void __launch_bounds__(kThreads) keys_of_listed(Source columns, Part p) {
  constexpr int kPairs = kPairsOfList<T, Source>, kLanes = kCanonicalLanes / kPairs;
  const ContendersJob& job = p.job;
  const int lane = static_cast<int>(threadIdx.x) % kCanonicalLanes;
  const std::int64_t row = blockIdx.y, at = row * job.columns.rows.rows;
  const std::int64_t warp = blockIdx.x * kWarpsOfBlock + threadIdx.x / kCanonicalLanes;
  const std::int64_t end = min(p.end, static_cast<std::int64_t>(job.counts[row]));
  const double* const u = job.u + row * p.terms.dim;
  for (std::int64_t base = p.first + warp * kPairs; base < end;
       base += std::int64_t{gridDim.x} * kWarpsOfBlock * kPairs) {
    // Places beyond the last repeat it: their keys go nowhere.
    std::uint32_t together[kPairs];
#pragma unroll
    for (int j = 0; j < kPairs; ++j) together[j] = job.ids[at + min(base + j, end - 1)];
    double key = keys_of<T, kPairs>(columns, u, together, p.terms);
    const std::int64_t j = base + lane / kLanes;
    if (lane % kLanes != 0 || j >= end) continue;
    if constexpr (Source::kDirections)
      if (columns.directionless(job.ids[at + j]) || p.row_constants[job.list[row]].factor == 0) key = kNoDirectionKey;
    job.keys[at + j] = key;
  }
  if constexpr (std::is_same_v<T, Product>) {
    if (job.self_keys == nullptr || warp != 0) return;
    const std::int64_t self = job.admission.of(job.list[row]).excluded;
    const double key = keys_of<T, 1>(columns, u, {static_cast<std::uint32_t>(self)}, p.terms);
    if (lane == 0) job.self_keys[row] = key;
  }
}

// Of no more than `most` contenders of a row.
void keys_of_first(const ContendersJob& job, std::int64_t most, cudaStream_t stream) {
  const std::int64_t together = std::max<std::int64_t>(job.parts.pairs / job.count, kThreads);
  visit_columns(job.columns, job.metric, [&](const auto& source, auto term) {
    using Source = std::remove_cvref_t<decltype(source)>;
    using T = decltype(term);
    if constexpr (kHasProducts<T>) {
      for (std::int64_t first = 0; first < most; first += together) {
        if (job.parts.before) job.parts.before();
        const std::int64_t end = std::min(first + together, most);
        const Part part{job,
                        has_directions(job.rows.transform) ? job.rows.constants : nullptr,
                        first,
                        end,
                        {job.columns.rows.dim, job.metric.p, job.metric.scale}};
        const std::int64_t enough = (end - first + kThreads - 1) / kThreads;
        const dim3 blocks(static_cast<unsigned>(std::min<std::int64_t>(enough, kBlocksOfRow)),
                          static_cast<unsigned>(job.count));
        keys_of_listed<Source, T><<<blocks, kThreads, 0, stream>>>(source, part);
        check_launch();
      }
    }
  });
}

unsigned blocks_for(std::int64_t threads) { return static_cast<unsigned>((threads + kThreads - 1) / kThreads); }

}  // namespace

void find_limits(const ContendersJob& job, cudaStream_t stream) {
  load_canonical(job.rows, job.list, 0, job.count, job.u, stream);
  copy_lists<<<blocks_for(job.count * job.k), kThreads, 0, stream>>>(job);
  check_launch();
  keys_of_first(job, job.k, stream);
  find_last_keys<<<blocks_for(job.count * kCanonicalLanes), kThreads, 0, stream>>>(job);
  check_launch();
}

void find_contenders(const ContendersJob& job, const RowLows& lows, cudaStream_t stream) {
  check(cudaMemsetAsync(job.counts, 0, static_cast<std::size_t>(job.count) * sizeof *job.counts, stream));
  const dim3 blocks(static_cast<unsigned>((job.columns.rows.rows + kColumnsOfBlock - 1) / kColumnsOfBlock),
                    static_cast<unsigned>(job.count));
  if (lows.integers)
    list_contenders<IntegerLow><<<blocks, kThreads, 0, stream>>>(job, lows);
  else
    list_contenders<ProductLow><<<blocks, kThreads, 0, stream>>>(job, lows);
  check_launch();
}

void keys_of_contenders(const ContendersJob& job, cudaStream_t stream) {
  keys_of_first(job, job.columns.rows.rows, stream);
}

}  // namespace libknng::cuda

#include "backend/cuda/keys/listed_keys.cuh"

#include <algorithm>

#include "backend/cuda/base/blocks.cuh"
#include "backend/cuda/base/check.cuh"
#include "backend/cuda/keys/pair_keys.cuh"

namespace libknng::cuda {
namespace {

constexpr int kThreads = 256;
constexpr int kWarpsPerBlock = kThreads / kCanonicalLanes;

// One warp a row.
template <class Rows, class Source, class T>
__global__ void __launch_bounds__(kThreads)
    keys_in_block(Rows rows, Source columns, std::int64_t size, ListedKeysJob job, PairTerms terms) {
  constexpr int kPairs = kPairsTogether<T>;
  const int lane = static_cast<int>(threadIdx.x) % kCanonicalLanes;
  const std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * kWarpsPerBlock + threadIdx.x / kCanonicalLanes;
  if (i >= job.count) return;
  const auto u = rows.row(job.first + i);
  const Candidate* candidates = job.candidates + i * job.capacity;
  double* keys = job.keys + i * job.capacity;
  const std::int64_t n = min(static_cast<std::int64_t>(job.kept[i]), job.capacity);
  for (std::int64_t base = 0; base < n; base += kCanonicalLanes) {
    const bool any = base + lane < n;
    const std::int64_t column = any ? static_cast<std::int64_t>(candidates[base + lane].id) - job.first_column : -1;
    unsigned left = __ballot_sync(kAllLanes, column >= 0 && column < size);
    while (left != 0) {
      // The next few candidates of the block; where there are fewer, the last is repeated: its key goes nowhere.
      std::uint32_t together[kPairs];
      int lanes[kPairs];
#pragma unroll
      for (int j = 0; j < kPairs; ++j) {
        lanes[j] = left != 0 ? __ffs(static_cast<int>(left)) - 1 : -1;
        const int from = lanes[j] >= 0 ? lanes[j] : lanes[0];
        together[j] = static_cast<std::uint32_t>(__shfl_sync(kAllLanes, static_cast<int>(column), from));
        left &= left - 1;
      }
      const double folded = keys_of<T>(columns, u, together, terms);
#pragma unroll
      for (int j = 0; j < kPairs; ++j) {
        const double key = __shfl_sync(kAllLanes, folded, lane_of_pair<kPairs>(j));
        if (lane == lanes[j]) keys[base + lane] = key;
      }
    }
  }
  if constexpr (std::is_same_v<T, Product>) {
    if (job.self_keys == nullptr) return;
    const double key = keys_of<T>(rows, u, {static_cast<std::uint32_t>(job.first + i)}, terms);
    if (lane == 0) job.self_keys[i] = key;
  }
}

}  // namespace

void listed_keys(const ListedKeysJob& job, cudaStream_t stream) {
  if (job.count == 0) return;
  const PairTerms terms{job.columns.rows.dim, job.metric.p, job.metric.scale};
  visit_columns(job.columns, job.metric, [&](const auto& source, auto term) {
    const auto blocks = blocks_for(job.count, kWarpsPerBlock);
    using Source = std::remove_cvref_t<decltype(source)>;
    const auto launch = [&](const auto& rows) {
      keys_in_block<std::remove_cvref_t<decltype(rows)>, Source, decltype(term)>
          <<<blocks, kThreads, 0, stream>>>(rows, source, job.columns.rows.rows, job, terms);
      check_launch();
    };
    if (job.u) return launch(RowSource<double, Transform::identity>{job.u, terms.dim, 1, nullptr});
    Source rows = source;
    rows.point_at(job.rows);
    launch(rows);
  });
}

}  // namespace libknng::cuda

#include "backend/cuda/keys/whole_keys.cuh"

#include <algorithm>
#include <type_traits>

#include "backend/cuda/base/check.cuh"
#include "backend/cuda/keys/pair_keys.cuh"
#include "backend/cuda/rows/prepare.cuh"

namespace libknng::cuda {
namespace {

constexpr int kThreads = 256;
constexpr int kColumnsOfBlock = kThreads;  // each warp has as many as lanes

// Rows that a block has: values of columns are read once for all of them.
template <class T>
constexpr int kRowsOfBlock = kHeavyTerm<T> ? 1 : 4;

struct Part {
  const double* u;
  const RowConstants* row_constants;  // null: all rows have a direction
  const std::int64_t* list;
  std::int64_t rows;
  std::int64_t first, end;  // columns
  double* keys;             // of the first of them
  std::int64_t ld;
  PairTerms terms;
};

template <class T>
std::int64_t row_blocks(std::int64_t rows) {
  return (rows + kRowsOfBlock<T> - 1) / kRowsOfBlock<T>;
}

// A block has some rows and as many columns as threads, a warp 32 of them. Blocks side by side have the same columns.
template <class Source, class T>
__global__ void __launch_bounds__(kThreads) keys_of_rows(Source columns, Part p, unsigned blocks_of_rows) {
  constexpr int kPairs = kPairsTogether<T>, kRows = kRowsOfBlock<T>;
  const int lane = static_cast<int>(threadIdx.x) % kCanonicalLanes, warp = static_cast<int>(threadIdx.x) - lane;
  const std::int64_t row = std::int64_t{kRows} * (blockIdx.x % blocks_of_rows);
  const std::int64_t base = std::int64_t{blockIdx.x / blocks_of_rows} * kColumnsOfBlock + warp;
  const std::int64_t first = p.first + base, last = p.end - 1;
  if (first > last) return;
  // Lanes beyond the last column, and places beyond the last row, repeat it: their keys go nowhere.
  const auto column = static_cast<std::uint32_t>(min(first + lane, last));
  const double* u[kRows];
#pragma unroll
  for (int r = 0; r < kRows; ++r) u[r] = p.u + min(row + r, p.rows - 1) * p.terms.dim;
  double keys[kRows] = {};
  for (int group = 0; group < kCanonicalLanes; group += kPairs) {
    std::uint32_t together[kPairs];
#pragma unroll
    for (int j = 0; j < kPairs; ++j) together[j] = __shfl_sync(kWarp, column, group + j);
    double folded[kRows];
    keys_of<T>(columns, u, together, p.terms, folded);
#pragma unroll
    for (int r = 0; r < kRows; ++r) {
      const double given = __shfl_sync(kWarp, folded[r], lane_of_pair<kPairs>(lane - group));
      if (lane >= group && lane < group + kPairs) keys[r] = given;
    }
  }
  if (first + lane > last) return;
#pragma unroll
  for (int r = 0; r < kRows; ++r) {
    if (row + r >= p.rows) return;
    if constexpr (Source::kDirections)
      if (columns.directionless(column) || p.row_constants[p.list[row + r]].factor == 0) keys[r] = kNoDirectionKey;
    p.keys[(row + r) * p.ld + base + lane] = keys[r];
  }
}

}  // namespace

void whole_keys(const WholeKeysJob& job, cudaStream_t stream) {
  if (job.count == 0 || job.column_count == 0) return;
  load_canonical(job.rows, job.list, 0, job.count, job.u, stream);
  const std::int64_t fit = job.parts.pairs / job.count / kColumnsOfBlock * kColumnsOfBlock;
  const std::int64_t most = (std::int64_t{1} << 30) / job.count * kColumnsOfBlock;  // blocks of a launch
  const std::int64_t together = std::clamp<std::int64_t>(fit, kColumnsOfBlock, most);
  visit_columns(job.columns, job.metric, [&](const auto& source, auto term) {
    using Source = std::remove_cvref_t<decltype(source)>;
    using T = decltype(term);
    for (std::int64_t done = 0; done < job.column_count; done += together) {
      if (job.parts.before) job.parts.before();
      const std::int64_t columns = std::min(together, job.column_count - done), first = job.first + done;
      const Part part{job.u,
                      has_directions(job.rows.transform) ? job.rows.constants : nullptr,
                      job.list,
                      job.count,
                      first,
                      first + columns,
                      job.keys + done,
                      job.ld,
                      {job.columns.rows.dim, job.metric.p, job.metric.scale}};
      const auto of_rows = static_cast<unsigned>(row_blocks<T>(job.count));
      const auto blocks = static_cast<unsigned>((columns + kColumnsOfBlock - 1) / kColumnsOfBlock) * of_rows;
      keys_of_rows<Source, T><<<blocks, kThreads, 0, stream>>>(source, part, of_rows);
      check_launch();
    }
  });
}

}  // namespace libknng::cuda

#include "backend/cuda/keys/whole_keys.cuh"

#include <algorithm>
#include <type_traits>

#include "backend/cuda/base/check.cuh"
#include "backend/cuda/keys/pair_keys.cuh"
#include "backend/cuda/rows/prepare.cuh"

namespace libknng::cuda {
namespace {

constexpr int kThreads = 256;
// As few as make enough blocks of some thousand columns for all multiprocessors.
constexpr int kColumnsOfWarp = 4, kColumnsOfBlock = kThreads / kCanonicalLanes * kColumnsOfWarp;

// Rows that a block has.
template <class T>
constexpr int kRowsOfBlock = T::kHeavy ? 1 : kRowsOfWholeKeys;

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

// A block has some rows, and a few columns for each of its warps. Blocks side by side have the same columns.
template <class Source, class T>
__global__ void __launch_bounds__(kThreads) keys_of_rows(Source columns, Part p, unsigned blocks_of_rows) {
  constexpr int kRows = kRowsOfBlock<T>, kTogether = kPairsTogether<T>, kLanes = kCanonicalLanes / (kRows * kTogether);
  const int lane = static_cast<int>(threadIdx.x) % kCanonicalLanes,
            warp = static_cast<int>(threadIdx.x) / kCanonicalLanes;
  const std::int64_t row = std::int64_t{kRows} * (blockIdx.x % blocks_of_rows);
  const std::int64_t base = std::int64_t{blockIdx.x / blocks_of_rows} * kColumnsOfBlock + warp * kColumnsOfWarp;
  const std::int64_t last = p.end - 1;
  // Places beyond the last row or column repeat it: their keys go nowhere.
  const double* u[kRows];
#pragma unroll
  for (int r = 0; r < kRows; ++r) u[r] = p.u + min(row + r, p.rows - 1) * p.terms.dim;
  for (int done = 0; done < kColumnsOfWarp; done += kTogether) {
    const std::int64_t first = p.first + base + done;
    if (first > last) return;
    std::uint32_t together[kTogether];
#pragma unroll
    for (int j = 0; j < kTogether; ++j) together[j] = static_cast<std::uint32_t>(min(first + j, last));
    double key = keys_of<T>(columns, u, together, p.terms);
    const std::int64_t r = row + lane / kLanes / kTogether, j = lane / kLanes % kTogether;
    if (lane % kLanes != 0 || r >= p.rows || first + j > last) continue;
    if constexpr (Source::kDirections)
      if (columns.directionless(first + j) || p.row_constants[p.list[r]].factor == 0) key = kNoDirectionKey;
    p.keys[r * p.ld + base + done + j] = key;
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

#include "backend/cuda/keys/whole_keys.cuh"

#include <algorithm>
#include <type_traits>

#include "backend/cuda/base/blocks.cuh"
#include "backend/cuda/base/check.cuh"
#include "backend/cuda/keys/pair_keys.cuh"
#include "backend/cuda/keys/stored_key.cuh"
#include "backend/cuda/rows/prepare.cuh"

namespace libknng::cuda {
namespace {

constexpr int kThreads = 256;
// As few as make enough blocks of some thousand columns for all multiprocessors.
constexpr int kColumnsOfWarp = 4, kColumnsOfBlock = kThreads / kCanonicalLanes * kColumnsOfWarp;

// Rows that a block has.
template <class T>
constexpr int kRowsOfBlock = T::kHeavy ? 1 : kRowsOfWholeKeys;

// Some columns of a job: [done, end).
struct Part {
  const double* u;
  const RowConstants* row_constants;  // null: all rows have a direction
  const std::int64_t *list, *column_list;
  std::int64_t first_row, rows, first_column, done, end;
  double* keys;
  float* lows;
  std::int64_t ld;
  PairTerms terms;

  __device__ std::int64_t row(std::int64_t r) const { return list ? list[r] : first_row + r; }
  __device__ std::int64_t column(std::int64_t c) const { return column_list ? column_list[c] : first_column + c; }
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
  const std::int64_t base =
      p.done + std::int64_t{blockIdx.x / blocks_of_rows} * kColumnsOfBlock + warp * kColumnsOfWarp;
  // Places beyond the last row or column repeat it: their keys go nowhere.
  const double* u[kRows];
#pragma unroll
  for (int r = 0; r < kRows; ++r) u[r] = p.u + min(row + r, p.rows - 1) * p.terms.dim;
  for (int done = 0; done < kColumnsOfWarp; done += kTogether) {
    const std::int64_t first = base + done;
    if (first >= p.end) return;
    std::uint32_t together[kTogether];
#pragma unroll
    for (int j = 0; j < kTogether; ++j) together[j] = static_cast<std::uint32_t>(p.column(min(first + j, p.end - 1)));
    double key = keys_of<T>(columns, u, together, p.terms);
    const std::int64_t r = row + lane / kLanes / kTogether, c = first + lane / kLanes % kTogether;
    if (lane % kLanes != 0 || r >= p.rows || c >= p.end) continue;
    if constexpr (Source::kDirections)
      if (columns.directionless(p.column(c)) || p.row_constants[p.row(r)].factor == 0) key = kNoDirectionKey;
    if (p.keys)
      store_key(p.keys + r * p.ld + c, key);
    else
      store_key(p.lows + r * p.ld + c, key);
  }
}

}  // namespace

void whole_keys(const WholeKeysJob& job, cudaStream_t stream) {
  if (job.count == 0 || job.column_count == 0) return;
  load_canonical(job.rows, job.list, job.first_row, job.count, job.u, stream);
  const std::int64_t fit = job.parts.pairs / job.count / kColumnsOfBlock * kColumnsOfBlock;
  const std::int64_t most = (std::int64_t{1} << 30) / job.count * kColumnsOfBlock;  // blocks of a launch
  const std::int64_t together = std::clamp<std::int64_t>(fit, kColumnsOfBlock, most);
  visit_columns(job.columns, job.metric, [&](const auto& source, auto term) {
    using Source = std::remove_cvref_t<decltype(source)>;
    using T = decltype(term);
    for (std::int64_t done = 0; done < job.column_count; done += together) {
      if (job.parts.before) job.parts.before();
      const std::int64_t columns = std::min(together, job.column_count - done);
      const Part part{job.u,
                      has_directions(job.rows.transform) ? job.rows.constants : nullptr,
                      job.list,
                      job.column_list,
                      job.first_row,
                      job.count,
                      job.first_column,
                      done,
                      done + columns,
                      job.keys,
                      job.lows,
                      job.ld,
                      {job.columns.rows.dim, job.metric.p, job.metric.scale}};
      const auto of_rows = static_cast<unsigned>(row_blocks<T>(job.count));
      const auto blocks = blocks_for(columns, kColumnsOfBlock) * of_rows;
      keys_of_rows<Source, T><<<blocks, kThreads, 0, stream>>>(source, part, of_rows);
      check_launch();
    }
  });
}

}  // namespace libknng::cuda

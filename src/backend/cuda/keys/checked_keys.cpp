#include "backend/cuda/keys/checked_keys.cuh"

#include <algorithm>
#include <vector>

#include "backend/cuda/keys/whole_keys.cuh"

namespace libknng::cuda {
namespace {

// In a graph rows are where columns are: in a block.
std::vector<std::int64_t> rows_in_view(const knng_backend_problem& p) {
  std::vector<std::int64_t> rows(p.checked, p.checked + p.checked_count);
  if (p.square)
    for (std::int64_t& row : rows) row %= p.tile_cols;
  return rows;
}

}  // namespace

CheckedKeys::CheckedKeys(const knng_backend_problem& p, DeviceContext& context)
    : checked_(p.checked, static_cast<std::size_t>(p.checked_count)),
      columns_(p.columns.count),
      dim_(p.columns.dim),
      arrays_(taken<Arrays>(context, p)) {
  const std::vector<std::int64_t> rows = rows_in_view(p);
  check(cudaMemcpyAsync(arrays_.in_view.data(), rows.data(), rows.size() * sizeof rows[0], cudaMemcpyHostToDevice,
                        context.stream));
  context.stream.wait();
}

CheckedKeys::Arrays::Arrays(const knng_backend_problem& p, ArraySource& source)
    : in_view(source.take<std::int64_t>(p.checked_count)),
      keys(source.take<double>(p.checked_count * p.columns.count)),
      u(source.take<double>(p.checked_count * p.columns.dim)) {}

std::int64_t CheckedKeys::bytes(const knng_backend_problem& p) {
  return p.checked_count == 0 ? 0 : bytes_of<Arrays>(p);
}

void CheckedKeys::evaluate(const Metric& metric, const CanonicalView& rows, std::int64_t first_row,
                           std::int64_t row_count, const CanonicalView& columns, std::int64_t at,
                           std::int64_t first_column, std::int64_t column_count, const DirectParts& parts,
                           cudaStream_t stream) {
  const auto begin = std::lower_bound(checked_.begin(), checked_.end(), first_row);
  const std::int64_t from = begin - checked_.begin();
  WholeKeysJob job;
  job.rows = rows;
  job.list = arrays_.in_view.data() + from;
  job.count = std::lower_bound(begin, checked_.end(), first_row + row_count) - begin;
  job.columns = columns;
  job.first_column = at;
  job.column_count = column_count;
  job.metric = metric;
  job.keys = arrays_.keys.data() + from * columns_ + first_column;
  job.ld = columns_;
  job.u = arrays_.u.data() + from * dim_;
  job.parts = parts;
  whole_keys(job, stream);
}

}  // namespace libknng::cuda

#include "backend/cuda/tree/search_rows.cuh"

#include <algorithm>

#include "backend/cuda/base/workspace.cuh"
#include "backend/cuda/rows/prepare.cuh"
#include "backend/cuda/tree/hilbert_order.cuh"

namespace libknng::cuda {
namespace {

struct Arrays {
  double* u;
  void* order;
  RowEntries entries;
};

std::int64_t lay_out(const SearchRowsJob& job, void* memory, Arrays& a) {
  const std::int64_t rows = job.most_rows;
  Workspace space(memory);
  a.u = space.take<double>(rows * job.rows.rows.dim);
  a.order = space.take<unsigned char>(HilbertOrder::bytes(rows));
  // One more than k shows whether the last of k is tied.
  a.entries = take_entries(space, rows, std::min(job.k + 1, job.columns), false);
  return space.used();
}

}  // namespace

std::int64_t search_rows_workspace_bytes(const SearchRowsJob& job) {
  Arrays arrays{};
  return lay_out(job, nullptr, arrays);
}

void search_rows(const SearchRowsJob& job, SearchState* state, cudaStream_t stream) {
  Arrays arrays{};
  lay_out(job, job.workspace, arrays);
  const RowConstants* constants = has_directions(job.metric.transform) ? job.rows.constants : nullptr;
  load_canonical(job.rows, nullptr, job.first, job.count, arrays.u, stream);
  const HilbertOrder order(job.most_rows, arrays.order);
  order.encode(job.grid, arrays.u, constants ? constants + job.first : nullptr, 0, job.count, nullptr, stream);

  SearchJob search;
  search.columns = job.tree;
  search.column_count = job.columns;
  search.u = arrays.u;
  search.order = order.sort(job.count, stream);
  search.first = job.first;
  search.count = job.count;
  search.admission = job.admission;
  search.constants = constants;
  search.directionless = job.directionless;
  search.directionless_count = job.directionless ? job.directionless_count : 0;
  search.entries = arrays.entries;
  search.state = state;
  search_nearest(search, job.metric, stream);
  if (job.searching) job.searching();

  ResultJob store;
  store.entries = arrays.entries;
  store.first = job.first;
  store.count = job.count;
  store.k = job.k;
  store.columns = job.columns;
  store.admission = job.admission;
  store_result(store, job.metric, job.result, stream);
}

}  // namespace libknng::cuda

#include "backend/cuda/keys/exact_rows.cuh"

#include <algorithm>

#include "backend/cuda/base/check.cuh"
#include "backend/cuda/base/workspace.cuh"
#include "backend/cuda/keys/smallest_keys.cuh"

namespace libknng::cuda {
namespace {

// Under inner_product the row's key with itself is like any other, and was computed with them.
__global__ void copy_self_keys(SmallestJob b) {
  const std::int64_t place = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (place >= b.count) return;
  const std::int64_t self = b.admission.of(b.list[place]).excluded;
  b.entries.self_keys[place] = b.keys[place * b.columns + self];
}

struct Arrays {
  void* rows;
  void* columns;
  double* keys;
  RowEntries entries;
};

std::int64_t lay_out(const ExactJob& job, void* memory, Arrays& a) {
  const std::int64_t rows = job.rows_at_a_time, dim = job.columns.rows.dim, n = job.columns.rows.rows;
  Workspace space(memory);
  a.rows = space.take<unsigned char>(direct_operand_bytes(rows, dim));
  a.columns = space.take<unsigned char>(direct_operand_bytes(std::min(n, job.columns_at_a_time), dim));
  a.keys = space.take<double>(rows * n);
  a.entries = take_entries(space, rows, places_for(job.k, n), wants_self_keys(job.metric, job.k, job.result.width));
  return space.used();
}

}  // namespace

std::int64_t exact_workspace_bytes(const ExactJob& job) {
  Arrays arrays{};
  return lay_out(job, nullptr, arrays);
}

void exact_rows(const ExactJob& job, cudaStream_t stream) {
  const std::int64_t n = job.columns.rows.rows, step = std::min(n, job.columns_at_a_time);
  Arrays arrays{};
  lay_out(job, job.workspace, arrays);
  DirectOperand columns;
  for (std::int64_t done = 0; done < job.count; done += job.rows_at_a_time) {
    const std::int64_t count = std::min(job.rows_at_a_time, job.count - done);
    const std::int64_t* list = job.list + done;
    const DirectOperand rows = job.rows_picked
                                   ? make_direct_operand(job.rows, nullptr, done, count, arrays.rows, stream)
                                   : make_direct_operand(job.rows, list, 0, count, arrays.rows, stream);
    for (std::int64_t first = 0; first < n; first += step) {
      if (done == 0 || step < n)
        columns = make_direct_operand(job.columns_from ? job.columns_from(first) : job.columns, nullptr,
                                      job.columns_from ? 0 : first, std::min(step, n - first), arrays.columns, stream);
      direct_tile(job.metric, rows, columns, arrays.keys + first, n, job.parts, stream);
    }
    const SmallestJob smallest{.keys = arrays.keys,
                               .ids = nullptr,
                               .counts = nullptr,
                               .list = list,
                               .admission = job.admission,
                               .count = count,
                               .k = job.k,
                               .columns = n,
                               .entries = arrays.entries,
                               .evaluated = &job.result.findings->keys};
    smallest_keys(smallest, stream);
    if (arrays.entries.self_keys) {
      copy_self_keys<<<static_cast<unsigned>((count + 255) / 256), 256, 0, stream>>>(smallest);
      check_launch();
    }
    ResultJob store;
    store.entries = arrays.entries;
    store.list = list;
    store.count = count;
    store.k = job.k;
    store.columns = n;
    store.admission = job.admission;
    store_result(store, job.metric, job.result, stream);
  }
}

}  // namespace libknng::cuda

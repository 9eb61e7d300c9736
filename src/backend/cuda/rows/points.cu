#include "backend/cuda/rows/points.cuh"

#include <algorithm>

#include "backend/cuda/rows/caller_memory.cuh"

namespace libknng::cuda {
namespace {

// Of a part: to find the ranks of so many takes some hundredths of a second. Fewer rows would not keep a device busy.
constexpr std::int64_t kValuesTogether = std::int64_t{1} << 27, kFewestTogether = 512;

std::int64_t rank_bytes(std::int64_t dim) { return short_ranks_suffice(dim) ? 2 : 4; }

}  // namespace

std::int64_t Points::bytes(const knng_backend_rows& rows, Transform transform) {
  const DeviceRows shape{nullptr, rows.dtype, rows.count, rows.dim, rows.dim, 1};
  std::int64_t bytes = array_bytes(rows.count * rows.dim * dtype_bytes(rows.dtype));
  if (has_constants(transform)) bytes += array_bytes(rows.count * static_cast<std::int64_t>(sizeof(RowConstants)));
  if (transform == Transform::rank_unit) bytes += array_bytes(rows.count * rows.dim * rank_bytes(rows.dim));
  return bytes + array_bytes(prepare_workspace_bytes(shape, transform)) + array_bytes(sizeof(PrepareFindings));
}

Points::Points(const knng_backend_rows& rows, Transform transform, double limit, Staging& staging,
               DeviceContext& context, const std::function<void()>& between) {
  const void* stored = points_in_place(rows, context.device);
  if (!stored) {
    stored_ = DeviceArray<std::byte>(rows.count * rows.dim * dtype_bytes(rows.dtype), context);
    bring_points(rows, 0, rows.count, stored_.data(), context.device, staging, context.stream);
    stored = stored_.data();
  }
  view_.rows = {stored, rows.dtype, rows.count, rows.dim, rows.dim, 1};
  view_.transform = transform;
  if (has_constants(transform)) constants_ = DeviceArray<RowConstants>(rows.count, context);
  if (transform == Transform::rank_unit && short_ranks_suffice(rows.dim))
    short_ranks_ = DeviceArray<std::int16_t>(rows.count * rows.dim, context);
  else if (transform == Transform::rank_unit)
    long_ranks_ = DeviceArray<std::int32_t>(rows.count * rows.dim, context);
  view_.constants = constants_.data();
  view_.short_ranks = short_ranks_.data();
  view_.long_ranks = long_ranks_.data();

  PrepareFindings found;
  const DeviceArray<PrepareFindings> findings(1, context);
  const DeviceArray<std::byte> workspace(prepare_workspace_bytes(view_.rows, transform), context);
  check(cudaMemcpyAsync(findings.data(), &found, sizeof found, cudaMemcpyHostToDevice, context.stream));
  PrepareJob job;
  job.rows = view_.rows;
  job.transform = transform;
  job.limit = limit;
  job.constants = constants_.data();
  job.short_ranks = short_ranks_.data();
  job.long_ranks = long_ranks_.data();
  job.findings = findings.data();
  job.workspace = workspace.data();
  InFlight parts(2);
  prepare_in_parts(job, parts, context.stream, between);
  check(cudaMemcpyAsync(&found, findings.data(), sizeof found, cudaMemcpyDeviceToHost, context.stream));
  context.stream.wait();
  // Rows were checked for values that are not valid when the data set got them.
  if (found.first_refused != PrepareFindings::kNothing)
    throw RefusedRow{static_cast<std::int64_t>(found.first_refused / static_cast<unsigned long long>(rows.dim + 1))};
  any_directionless_ = found.any_directionless != 0;
}

void prepare_in_parts(PrepareJob job, InFlight& parts, const Stream& stream, const std::function<void()>& between) {
  const std::int64_t together = std::max(kValuesTogether / job.rows.dim, kFewestTogether);
  for (job.first = 0; job.first < job.rows.rows; job.first += together) {
    job.count = std::min(together, job.rows.rows - job.first);
    prepare_rows(job, stream);
    parts.add(stream);
    if (between) between();
  }
}

std::vector<std::uint32_t> Points::first_directionless(std::int64_t most, DeviceContext& context) const {
  if (!any_directionless_) return {};
  return libknng::cuda::first_directionless(constants_.data(), count(), most, context);
}

std::vector<std::uint32_t> first_directionless(const RowConstants* constants, std::int64_t count, std::int64_t most,
                                               DeviceContext& context) {
  std::vector<RowConstants> all(static_cast<std::size_t>(count));
  check(cudaMemcpyAsync(all.data(), constants, all.size() * sizeof(RowConstants), cudaMemcpyDeviceToHost,
                        context.stream));
  context.stream.wait();
  std::vector<std::uint32_t> first;
  for (std::size_t i = 0; i < all.size() && static_cast<std::int64_t>(first.size()) < most; ++i)
    if (all[i].factor == 0) first.push_back(static_cast<std::uint32_t>(i));
  return first;
}

}  // namespace libknng::cuda

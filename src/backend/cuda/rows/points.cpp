#include "backend/cuda/rows/points.cuh"

#include <algorithm>

#include "backend/cuda/rows/caller_memory.cuh"
#include "core/dtype.h"

namespace libknng::cuda {
namespace {

// Of a part: to find the ranks of so many takes some hundredths of a second. Fewer rows would not keep a device busy.
constexpr std::int64_t kValuesTogether = std::int64_t{1} << 27, kFewestTogether = 512;

// What preparing points takes beside.
struct Preparation {
  Preparation(const knng_backend_rows& rows, Transform transform, ArraySource& source)
      : findings(source.take<PrepareFindings>(1)),
        workspace(source.take<std::byte>(
            prepare_workspace_bytes(DeviceRows{nullptr, rows.dtype, rows.count, rows.dim, rows.dim, 1}, transform))) {}

  DeviceArray<PrepareFindings> findings;
  DeviceArray<std::byte> workspace;
};

}  // namespace

Points::Arrays::Arrays(const knng_backend_rows& rows, Transform transform, bool in_place, ArraySource& source) {
  const std::int64_t values = rows.count * rows.dim;
  if (!in_place) stored = source.take<std::byte>(values * dtype_bytes(rows.dtype));
  if (has_constants(transform)) constants = source.take<RowConstants>(rows.count);
  if (transform != Transform::rank_unit) return;
  if (short_ranks_suffice(rows.dim))
    short_ranks = source.take<std::int16_t>(values);
  else
    long_ranks = source.take<std::int32_t>(values);
}

std::int64_t Points::bytes(const knng_backend_rows& rows, Transform transform) {
  return bytes_of<Arrays>(rows, transform, false) + bytes_of<Preparation>(rows, transform);
}

Points::Points(const knng_backend_rows& rows, Transform transform, double limit, Staging& staging,
               DeviceContext& context, const std::function<void()>& between)
    : arrays_(taken<Arrays>(context, rows, transform, points_in_place(rows, context.device) != nullptr)) {
  const void* stored = points_in_place(rows, context.device);
  if (!stored) {
    bring_points(rows, 0, rows.count, arrays_.stored.data(), context.device, staging, context.stream);
    stored = arrays_.stored.data();
  }
  view_.rows = {stored, rows.dtype, rows.count, rows.dim, rows.dim, 1};
  view_.transform = transform;
  view_.constants = arrays_.constants.data();
  view_.short_ranks = arrays_.short_ranks.data();
  view_.long_ranks = arrays_.long_ranks.data();

  PrepareFindings found;
  const auto beside = taken<Preparation>(context, rows, transform);
  check(cudaMemcpyAsync(beside.findings.data(), &found, sizeof found, cudaMemcpyHostToDevice, context.stream));
  PrepareJob job;
  job.rows = view_.rows;
  job.transform = transform;
  job.limit = limit;
  job.constants = arrays_.constants.data();
  job.short_ranks = arrays_.short_ranks.data();
  job.long_ranks = arrays_.long_ranks.data();
  job.findings = beside.findings.data();
  job.workspace = beside.workspace.data();
  job.valid = true;  // or the data set would not have taken them
  InFlight parts(2);
  prepare_in_parts(job, parts, context.stream, between);
  staging.download(beside.findings.data(), &found, sizeof found, context.stream);
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
  return libknng::cuda::first_directionless(arrays_.constants.data(), count(), most, context);
}

std::vector<std::uint32_t> first_directionless(const RowConstants* constants, std::int64_t count, std::int64_t most,
                                               DeviceContext& context) {
  constexpr std::int64_t kTogether = std::int64_t{1} << 16;  // 2 MiB of host memory
  std::vector<RowConstants> some(static_cast<std::size_t>(std::min(kTogether, count)));
  std::vector<std::uint32_t> first;
  const auto is_full = [&] { return static_cast<std::int64_t>(first.size()) >= most; };
  for (std::int64_t begin = 0; begin < count && !is_full(); begin += kTogether) {
    const auto rows = static_cast<std::size_t>(std::min(kTogether, count - begin));
    check(cudaMemcpyAsync(some.data(), constants + begin, rows * sizeof(RowConstants), cudaMemcpyDeviceToHost,
                          context.stream));
    context.stream.wait();
    for (std::size_t i = 0; i < rows && !is_full(); ++i)
      if (some[i].factor == 0) first.push_back(static_cast<std::uint32_t>(begin + static_cast<std::int64_t>(i)));
  }
  return first;
}

}  // namespace libknng::cuda

#include "backend/cuda/result/duplicate_expansion.cuh"

#include <algorithm>
#include <cstring>
#include <limits>

#include "backend/cuda/base/handle_cache.cuh"
#include "backend/cuda/base/in_flight.cuh"
#include "backend/cuda/base/memory.cuh"
#include "backend/cuda/base/metric.cuh"
#include "backend/cuda/base/staging.cuh"
#include "backend/cuda/base/workspace.cuh"
#include "backend/cuda/result/nearest_members.cuh"
#include "backend/cuda/result/result.cuh"

namespace libknng::cuda {
namespace {

// Of the rows of a part: some milliseconds.
constexpr std::int64_t kEntriesTogether = std::int64_t{1} << 21;
constexpr std::size_t kPartsInFlight = 2;

// One more than k, so that ties are seen, if there is one.
std::int64_t slots_of(const knng_backend_expansion& e) { return std::min(e.k + 1, e.rows - 1); }

// All that it works in, in `memory`; without memory it counts.
struct Space {
  Space(const knng_backend_expansion& e, void* memory)
      : together(std::clamp<std::int64_t>(kEntriesTogether / slots_of(e), 1, e.rows)) {
    Workspace space(memory);
    group = space.take<std::uint32_t>(e.rows);
    starts = space.take<std::uint32_t>(e.groups + 1);
    members = space.take<std::uint32_t>(e.rows);
    entries = take_entries(space, together, slots_of(e), false);
    ties = space.take<std::uint8_t>(e.rows);
    proved = space.take<std::uint8_t>(together);
    findings = space.take<ResultFindings>(1);
    used = space.used();
  }

  std::int64_t together;  // rows
  std::uint32_t *group, *starts, *members;
  RowEntries entries;
  std::uint8_t *ties, *proved;
  ResultFindings* findings;
  std::int64_t used;
};

// Numbers of rows, of which there are fewer than 2^32.
void upload(const knng_backend_expansion& e, const std::int64_t* from, std::int64_t count, std::uint32_t* to,
            Staging& staging, const Stream& stream) {
  const auto fill = [&](std::int64_t first, std::int64_t part, std::byte* buffer) {
    std::transform(from + first, from + first + part, reinterpret_cast<std::uint32_t*>(buffer),
                   [](std::int64_t number) { return static_cast<std::uint32_t>(number); });
    return e.cancelled(e.cancellation) == 0;
  };
  staging.upload(count, sizeof *to, fill, to, stream);
}

}  // namespace

std::int64_t expansion_bytes(const knng_backend_expansion& e) { return array_bytes(Space(e, nullptr).used); }

std::int64_t expansion_host_bytes() { return Staging::host_bytes(sizeof(std::uint32_t)); }

void expand(const knng_backend_expansion& e, knng_backend_result& result) {
  DeviceContext context(result.device, std::numeric_limits<std::int64_t>::max());
  const DeviceArray<std::byte> memory(Space(e, nullptr).used, context);
  const Space space(e, memory.data());
  const HandleCache handles(result.device, context.stream);
  Staging staging(handles, [](void* to, const void* from, std::int64_t bytes) {
    std::memcpy(to, from, static_cast<std::size_t>(bytes));
  });
  upload(e, e.group, e.rows, space.group, staging, context.stream);
  upload(e, e.starts, e.groups + 1, space.starts, staging, context.stream);
  upload(e, e.members, e.rows, space.members, staging, context.stream);

  MembersJob nearest;
  nearest.group = space.group;
  nearest.starts = space.starts;
  nearest.members = space.members;
  nearest.ids = e.ids;
  nearest.keys = e.keys;
  nearest.listed = e.listed;
  nearest.rows = e.rows;
  ResultJob job;
  job.entries = space.entries;
  job.k = e.k;
  job.columns = e.rows;
  job.admission.square = true;
  ResultRows to;
  to.width = e.k + (e.self_first ? 1 : 0);
  to.value_dtype = e.value_dtype;
  to.similarity = e.metric.similarity != 0;
  to.proved = space.proved;
  to.findings = space.findings;
  const std::int64_t value_bytes = e.value_dtype == KNNG_F64 ? 8 : 4;
  const Metric metric = metric_of(e.metric);

  clear(space.findings, context.stream);
  InFlight parts(kPartsInFlight);
  for (std::int64_t first = 0; first < e.rows; first += space.together) {
    if (e.cancelled(e.cancellation)) throw Cancelled{};
    nearest.first = job.first = to.first = first;
    nearest.count = job.count = std::min(space.together, e.rows - first);
    to.ids = result.ids + first * to.width;
    to.values = static_cast<std::byte*>(result.values) + first * to.width * value_bytes;
    to.ties = space.ties + first;
    nearest_members(nearest, space.entries, context.stream);
    store_result(job, metric, to, context.stream);
    parts.add(context.stream);
  }

  ResultFindings found;
  const Outgoing facts[] = {{space.ties, result.ties, e.rows}, {space.findings, &found, sizeof found}};
  staging.download(facts, context.stream);
  if (found.first_too_large != ResultFindings::kNothing)
    result.too_large = std::min(result.too_large, static_cast<std::int64_t>(found.first_too_large));
}

}  // namespace libknng::cuda

#include "exec/devices/device_team.h"

#include <array>
#include <iterator>
#include <string>

#include "backend/units.h"
#include "exec/rows/host_rows.h"
#include "prepare/canonical_rows.h"

namespace libknng {
namespace {

[[noreturn]] void fail_on(const knng_backend_seam& backend, std::int32_t device, std::int32_t status,
                          const knng_backend_error& error) {
  fail(static_cast<knng_status>(status), error.argument, {.row = error.row, .given = error.given, .limit = error.limit},
       "%s:%d: %s", backend.name, device, error.text);
}

}  // namespace

void DeviceSession::require(std::int32_t status) const {
  if (status == KNNG_OK) return;
  job_.reading.rethrow();  // why rows did not come
  if (error_.of_rows == 1) refuse(job_.data, "rows");
  if (error_.of_rows == 2) refuse(*job_.queries, job_.queries_name);
  fail_on(job_.backend, device_, status, error_);
}

void DeviceSession::refuse(const Dataset& data, const char* what) const {
  if (!data.on_devices()) refuse_row(data, job_.metric, error_.row, what);
  std::vector<double> x(static_cast<std::size_t>(data.dim()));
  host_rows(data, data.original(error_.row), 1, nullptr, nullptr, what).load(0, x.data());
  refuse_row(x, job_.metric, data.original(error_.row), what);
}

knng_backend_units Team::find_units(const Job& job, const std::vector<std::int32_t>& devices, Monitor& monitor) {
  struct Found {
    knng_backend_units units{};
    std::array<char, 256> objection{};
  };
  std::vector<Found> found(devices.size());
  each([&](std::size_t i) {
    knng_backend_error error{};
    const std::int32_t status = job.backend.find_units(
        devices[i], &job.problem, &found[i].units, found[i].objection.data(), std::ssize(found[i].objection), &error);
    if (status != KNNG_OK) fail_on(job.backend, devices[i], status, error);
  });
  knng_backend_units units = found.front().units;
  for (std::size_t i = 0; i < found.size(); ++i) {
    units = weakest(units, found[i].units);
    if (found[i].objection[0] != '\0')
      monitor.log_once(1, std::string(job.backend.name) + ":" + std::to_string(devices[i]) +
                              ": this is not used: " + found[i].objection.data());
  }
  return units;
}

}  // namespace libknng

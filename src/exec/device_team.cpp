#include "exec/device_team.h"

#include "exec/host_rows.h"
#include "prepare/canonical_rows.h"

namespace libknng {

void Session::require(std::int32_t status) const {
  if (status == KNNG_OK) return;
  job_.reading.rethrow();  // why rows did not come
  if (error_.of_rows == 1) refuse(job_.data, "rows");
  if (error_.of_rows == 2) refuse(*job_.queries, job_.queries_name);
  fail(static_cast<knng_status>(status), error_.argument,
       {.row = error_.row, .given = error_.given, .limit = error_.limit}, "%s:%d: %s", job_.backend.name, device_,
       error_.text);
}

void Session::refuse(const Dataset& data, const char* what) const {
  if (!data.on_devices()) refuse_row(data, job_.metric, error_.row, what);
  std::vector<double> x(static_cast<std::size_t>(data.dim()));
  host_rows(data, data.original(error_.row), 1, nullptr, nullptr, what).load(0, x.data());
  refuse_row(x, job_.metric, data.original(error_.row), what);
}

}  // namespace libknng

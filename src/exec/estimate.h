// What a build or a query takes, without running it.
#pragma once

#include <cstdint>

#include "exec/task.h"
#include "options/options.h"

namespace libknng {

// queries: 0 for a build. Of queries, which nobody has seen, it is not known whether engines will work with them as
// bytes (work_types.h), nor which type they have: memory is that of whichever takes most on the CPU, and on devices of
// the rows' own type and bytes.
TaskPlan estimate(const Dataset& stored, const Settings& settings, std::int64_t queries, std::int64_t k);

}  // namespace libknng

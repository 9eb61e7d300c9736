// The ladder of precisions on devices: tiles of all pairs, lists joined, refined and proved, in one precision after the
// other. Rows that are left without a proof are redone by their lists, and what these leave by all keys. Knows nothing
// of slices.
#pragma once

#include <cstdint>
#include <optional>

#include "exec/devices/device_output.h"
#include "exec/devices/device_part.h"
#include "exec/devices/device_team.h"

namespace libknng {

// Whether any step filters: else all keys of all rows are evaluated.
bool has_ladder(const knng_backend_seam& backend, const knng_backend_problem& problem);

std::int64_t count_unproved(const Part& part);

// False if the output is discarded.
bool climb(Team& team, const Job& job, const TaskPlan& plan, const Part& part, Output& output, Monitor& monitor,
           std::optional<Results>& results);

}  // namespace libknng

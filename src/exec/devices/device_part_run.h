// Rows of a graph answered by a team of devices: all of them, or a slice. A session on each device, tiles or rows from
// one queue, the ladder, the result, and some lists checked. Knows nothing of other slices.
#pragma once

#include <atomic>
#include <cstdint>
#include <span>
#include <vector>

#include "exec/devices/device_output.h"
#include "exec/devices/device_part.h"
#include "exec/request.h"
#include "exec/task.h"

namespace libknng {

// What all parts of a run have in common.
struct Run {
  const Request& request;
  const Task& task;
  const std::atomic<int>& copiers;  // threads of each device
  Output& output;
  std::span<const std::int64_t> checked;  // rows that are looked at again

  // Those of a part, counted from its first row.
  std::vector<std::int64_t> checked_of(const Part& part) const;
};

// The points of a part that are not the data: queries, or a slice of the data's own rows.
struct Queries {
  const Dataset* rows;  // null: none
  const char* argument;
  Admission admission;
};

// plan: for the rows of the part. False if the output is discarded.
bool run_part(const Run& run, const TaskPlan& plan, const Queries& queries, const Part& part);

}  // namespace libknng

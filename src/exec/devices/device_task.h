// What a task asks of devices: which of them, with which engine and selector; the problem that the seam describes; the
// plan for it. Runs nothing.
#pragma once

#include <cstdint>
#include <optional>

#include "dataset/dataset.h"
#include "exec/request.h"
#include "exec/task.h"

namespace libknng {

// Plans the task for devices, if it is one for them: device=cuda, or device=auto where one can do it, has the memory
// and pays. False: it is one for the CPU. queries: 0 for a build. Throws as plan_task().
bool plan_devices(const Task& task, const Dataset& data, std::int64_t queries, std::int32_t query_dtype, std::int64_t k,
                  std::int64_t held_bytes, TaskPlan& plan);

// A plan for the same devices that needs less memory, half if that will do, for those that have less than they said;
// and the task that it is for. None if there is none.
struct SmallerPlan {
  Task task;
  TaskPlan plan;
};
std::optional<SmallerPlan> plan_less_memory(const Request& request, const Task& task, const TaskPlan& plan);

// The problem without the means to read its rows.
knng_backend_problem describe_problem(const Task& task, const TaskPlan& plan, const Dataset& data, std::int64_t queries,
                                      std::int32_t query_dtype, std::int64_t k);

}  // namespace libknng

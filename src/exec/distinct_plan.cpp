#include "exec/distinct_plan.h"

#include <utility>

#include "exec/devices/device_expand.h"
#include "exec/devices/device_task.h"

namespace libknng {
namespace {

// Where the work of all rows is: a device has the memory that it was planned with, and the CPU copies of rows.
Task task_among(const Task& all, const TaskPlan& plan) {
  Task task = task_of_distinct(all);
  task.chosen = plan.device.set;
  if (plan.engine) {
    task.device = "cpu";
    task.check_rows = 0;  // rows of the whole are looked at, when equal ones are put back
    // The same team works on them: with fewer threads, as might do for so few rows, less would be counted than is held.
    task.asked_threads = plan.threads;
  } else {
    task.free_device_bytes = plan.device.bytes;
  }
  return task;
}

}  // namespace

DistinctPlan::DistinctPlan(const Request& request, const Task& all, const TaskPlan& of_all, const RowLoader& loader,
                           Buffer<std::int64_t> first)
    : groups(request.data, loader, all.metric, std::move(first), request.budget, request.monitor),
      rows(request.data, groups.representatives()),
      k(k_of_distinct(request.k, groups.count())),
      task(task_among(all, of_all)),
      kept(all.kept_bytes(request.data.rows(), request.k)) {
  const Dataset& data = request.data;
  if (k > 0) plan = plan_task(task, rows, 0, 0, k, data.held_bytes() + Groups::bytes(data.rows()));
  host_bytes = graph_bytes_of_distinct(task, groups.count(), k);
  if (!all.keep_on_device) {
    host_bytes = checked_add(host_bytes, expand_bytes(request.k, of_all.threads), "k");
    return;
  }
  expansion = describe_expansion(describe_problem(all, of_all, data, 0, 0, request.k), groups, k);
  const ExpansionBytes working = expansion_bytes(of_all.device.set, expansion);
  host_bytes = checked_add(host_bytes, working.host, "k");
  device_bytes = checked_add(checked_add(kept, task.kept_bytes(groups.count(), k), "k"), working.device, "k");
}

bool DistinctPlan::fits(const TaskPlan& of_all, const Dataset& data, std::int64_t result) const {
  if (plan.device.undersized && !of_all.device.undersized) return false;
  // While the graph of distinct rows is made, while it becomes the result, or while rows of that are checked.
  const std::int64_t held = data.held_bytes() + Groups::bytes(data.rows());
  return checked_add(held, checked_add(result - kept, of_all.check_bytes, "k"), "k") <= of_all.host_bytes &&
         plan.host_bytes <= of_all.host_bytes && plan.device.bytes <= of_all.device.bytes &&
         device_bytes <= of_all.device.bytes &&
         checked_add(held, checked_add(host_bytes, result - kept, "k"), "k") <= of_all.host_bytes;
}

}  // namespace libknng

// Work on devices, and again with less memory where others have taken what was free when the plan was made.
#include <algorithm>
#include <optional>
#include <string>
#include <string_view>

#include "core/stopwatch.h"
#include "exec/devices/device_expand.h"
#include "exec/devices/device_run.h"
#include "exec/devices/device_task.h"
#include "exec/distinct_plan.h"
#include "exec/worker.h"

namespace libknng {

bool is_of_device_memory(const Error& e) noexcept {
  const std::string_view argument = e.info().argument;
  return e.code() == KNNG_ERR_MEMORY && (argument == "max_device_bytes" || argument == "graph");
}

namespace {

class DeviceWorker final : public Worker {
 public:
  bool leaves_host_free() const noexcept override { return true; }
  bool needs_rows_on_host() const noexcept override { return false; }

  bool fill(const Request& request, const Task& task, const TaskPlan& plan, ThreadTeam&,
            const DuplicateCheck& check_duplicates, Graph& graph) const override {
    std::optional<SmallerPlan> smaller;
    for (;;) try {
        const Task& planned_for = smaller ? smaller->task : task;
        return run_on_devices(request, planned_for, smaller ? smaller->plan : plan, check_duplicates, graph);
      } catch (const Error& full) {
        if (!is_of_device_memory(full)) throw;
        // Another device may know by now that its work was cancelled.
        if (check_duplicates(false) == Duplicates::found) {
          graph.clear();
          return false;
        }
        smaller = plan_less_memory(request, smaller ? smaller->task : task, smaller ? smaller->plan : plan);
        if (!smaller) throw;
        request.monitor.log(1, (full.what() + std::string("; again, with less memory")).c_str());
        graph.clear();
      }
  }

  void put_back(const Graph& of_distinct, const DistinctPlan& distinct, const Request& request, const Task& task,
                const TaskPlan& plan, ThreadTeam& team, Graph& graph) const override {
    Stopwatch watch;
    if (task.keep_on_device)
      expand_on_device(plan.device.set, of_distinct, distinct.groups, distinct.expansion, task, request.budget,
                       request.monitor, graph);
    else
      expand(of_distinct, distinct.groups, task, team, request.budget, request.monitor, graph);
    double& peak = graph.stats[Stat::bytes_device_peak];
    peak = std::max(peak, static_cast<double>(distinct.device_bytes));
    graph.stats[Stat::seconds_emit] += watch.lap();
  }
};

}  // namespace

const Worker& device_worker() noexcept {
  static const DeviceWorker worker;
  return worker;
}

}  // namespace libknng

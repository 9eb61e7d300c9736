#include "exec/build.h"

#include <algorithm>
#include <future>
#include <optional>

#include "backend/cpu/engine.h"
#include "core/stopwatch.h"
#include "dataset/fingerprint.h"
#include "exec/device_run.h"
#include "exec/emit.h"
#include "exec/task.h"
#include "prepare/canonical_rows.h"

namespace libknng {
namespace {

// Fills the graph on the CPU: lists are filled by an engine and made a result.
void run_on_cpu(const Task& task, const TaskPlan& plan, const Dataset& data, const Dataset* queries,
                const std::int64_t* leave_out, std::int64_t k, Budget* budget, Monitor& monitor, Graph& graph) {
  Stopwatch watch;
  const CanonicalRows columns(data, task.metric, plan.threads, budget, monitor, "rows");
  std::optional<CanonicalRows> query_rows;
  if (queries) query_rows.emplace(*queries, task.metric, plan.threads, budget, monitor, "q");
  const CanonicalRows& rows = queries ? *query_rows : columns;
  graph.stats[Stat::seconds_prepare] += watch.lap();

  NeighbourLists lists(graph.rows, k, budget);
  const CpuCounts counts = plan.engine->run(
      {rows, columns, task.metric, plan.grid, leave_out, plan.threads, plan.selector}, lists, budget, monitor);
  if (counts.violations > 0)
    fail(KNNG_ERR_INTERNAL, "bound_violations", {.given = counts.violations},
         "%lld keys lay outside their proved bounds: please report this with the data",
         static_cast<long long>(counts.violations));
  graph.stats[Stat::seconds_tile] = watch.lap();

  emit(lists, rows, task, plan.engine == &cpu_engines().back() ? Proof::fp64 : Proof::filter, plan.threads, budget,
       monitor, graph);
  graph.stats[Stat::seconds_emit] = watch.lap();
  graph.stats[Stat::keys] = static_cast<double>(counts.keys);
  graph.stats[Stat::redone_fp64] = static_cast<double>(counts.redone);
  graph.stats[Stat::refined] = counts.inexact ? static_cast<double>(graph.rows) : 0;
  graph.text.engine = plan.engine->name;
  graph.text.selector = plan.selector ? plan.selector->name : "none";
  graph.text.device = std::string("cpu: ") + cpu_target() + ", " + std::to_string(plan.threads) +
                      (plan.threads == 1 ? " thread" : " threads");
}

// What build and query share. queries: nullptr for a build.
Graph run(const Dataset& data, const Dataset* queries, const std::int64_t* leave_out, const Task& task,
          const TaskPlan& plan, std::int64_t k, Budget& budget, Monitor& monitor) {
  Stopwatch total;
  Graph graph;
  graph.square = queries == nullptr;
  graph.rows = queries ? queries->rows() : data.rows();
  graph.columns = data.rows();
  graph.self_first = task.self_first;
  graph.width = k + (task.self_first ? 1 : 0);

  // While devices work the host reads the rows once more; the CPU does one after the other.
  Stopwatch watch;
  const bool on_devices = plan.device.set.backend != nullptr;
  Monitor beside(monitor);
  std::future<Fingerprint> print;
  if (!queries) {
    if (!on_devices) monitor.stage("fingerprint", static_cast<double>(data.rows()));
    Monitor& reported = on_devices ? beside : monitor;
    print = std::async(on_devices ? std::launch::async : std::launch::deferred, [&] {
      const FloatEnv env;
      return fingerprint(data, plan.threads, &budget, reported);
    });
    if (!on_devices) print.wait();
  }
  graph.stats[Stat::seconds_prepare] = watch.lap();
  const auto run_there = on_devices ? &run_on_devices : &run_on_cpu;
  run_there(task, plan, data, queries, leave_out, k, &budget, monitor, graph);
  if (print.valid()) {
    const Fingerprint found = print.get();
    graph.text.fingerprint = found.text;
    graph.stats[Stat::duplicates] = static_cast<double>(found.duplicates);
  }

  graph.stats[Stat::rows] = static_cast<double>(graph.rows);
  graph.stats[Stat::columns] = static_cast<double>(graph.columns);
  graph.stats[Stat::pairs] = plan.grid.pairs();
  graph.stats[Stat::tiles] = static_cast<double>(plan.grid.tiles());
  graph.stats[Stat::proved] = static_cast<double>(graph.rows);
  graph.stats[Stat::ties_at_k] = static_cast<double>(std::count(graph.ties.begin(), graph.ties.end(), 1));
  graph.stats[Stat::bytes_host_peak] = static_cast<double>(budget.peak());
  graph.text.metric = task.metric.name;
  graph.text.p = task.p_text;
  graph.text.precision = "exact";
  graph.text.version = KNNG_VERSION_TEXT;
  graph.text.value = task.similarity ? "similarity" : "distance";
  graph.text.self = task.self_first ? "first" : "exclude";
  graph.stats[Stat::seconds_total] = total.lap();
  return graph;
}

}  // namespace

Graph build_graph(const Dataset& data, const Settings& settings, std::int64_t k, Monitor& monitor) {
  require_k(data, k, false, false);
  const Task task = make_task(settings, data, false);
  const TaskPlan plan = plan_task(task, data, 0, 0, k, data.held_bytes());
  require_budget(task, plan);
  Budget budget(task.max_host_bytes, data.held_bytes());
  Graph graph;
  monitor.run([&] { graph = run(data, nullptr, nullptr, task, plan, k, budget, monitor); });
  return graph;
}

Graph query_graph(const Dataset& data, const Settings& settings, const Dataset& queries, const std::int64_t* leave_out,
                  std::int64_t k, Monitor& monitor) {
  require_k(data, k, true, leave_out != nullptr);
  const Task task = make_task(settings, data, true);
  const std::int64_t held = checked_add(data.held_bytes(), queries.held_bytes(), "q");
  const TaskPlan plan = plan_task(task, data, queries.rows(), queries.dtype(), k, held);
  require_budget(task, plan);
  Budget budget(task.max_host_bytes, held);
  Graph graph;
  monitor.run([&] { graph = run(data, &queries, leave_out, task, plan, k, budget, monitor); });
  return graph;
}

}  // namespace libknng

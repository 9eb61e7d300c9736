#include "exec/build.h"

#include <algorithm>
#include <optional>
#include <string>

#include "backend/cpu/engine.h"
#include "core/stopwatch.h"
#include "core/thread_team.h"
#include "exec/distinct_plan.h"
#include "exec/duplicate_search.h"
#include "exec/request.h"
#include "exec/rows/file_rows.h"
#include "exec/rows/host_rows.h"
#include "exec/self_check.h"
#include "exec/task.h"
#include "exec/work_types.h"
#include "exec/worker.h"
#include "prepare/canonical_rows.h"

namespace libknng {
namespace {

// The graph of rows that all are equal: one, without neighbours.
void fill_single(const Request& request, const Task& task, const TaskPlan& plan, Graph& graph) {
  graph.proof = Buffer<std::uint8_t>(1, static_cast<std::uint8_t>(Proof::fp64));
  const Dataset first = host_rows(request.data, 0, 1, request.budget, &request.monitor, "rows");
  ThreadTeam alone(1);
  const CanonicalRows checked(first, task.metric, alone, request.budget, request.monitor, "rows");
  graph.text.engine = plan.engine ? plan.engine->name : plan.device.engine;
  graph.text.selector = plan.selector ? plan.selector->name : plan.engine ? "none" : plan.device.selector;
  graph.text.device = "cpu: nothing to compare";
}

// Distinct rows are compared, and the others put back. request, task, plan: of all rows.
void run_distinct(const Request& request, const DistinctPlan& distinct, const Task& task, const TaskPlan& plan,
                  ThreadTeam& team, Graph& graph) {
  Graph of_distinct;
  of_distinct.square = true;
  of_distinct.rows = of_distinct.columns = distinct.groups.count();
  of_distinct.width = distinct.k;
  if (distinct.k == 0) {
    fill_single(request, task, plan, of_distinct);
  } else {
    try {
      const Request among_distinct{distinct.rows, nullptr,        {.square = true},
                                   distinct.k,    request.budget, request.monitor};
      const auto no_duplicates = [](bool) { return Duplicates::none; };
      worker_of(distinct.plan).fill(among_distinct, distinct.task, distinct.plan, team, no_duplicates, of_distinct);
    } catch (const Error& wrong) {  // the caller's number of a row that was found so
      if (wrong.code() != KNNG_ERR_CHECK) throw;
      refuse_list(distinct.groups.representatives()[static_cast<std::size_t>(wrong.info().row)]);
    }
  }
  const Charge held(request.budget, graph_bytes_of_distinct(distinct.task, distinct.groups.count(), distinct.k));
  graph.stats = of_distinct.stats;
  graph.text = of_distinct.text;
  if (graph.stats[Stat::refined] > 0) graph.stats[Stat::refined] = static_cast<double>(graph.rows);
  worker_of(plan).put_back(of_distinct, distinct, request, task, plan, team, graph);
}

// What a result says of itself, whoever made it.
void describe(const Request& request, const Task& task, const DuplicateSearch& search, Graph& graph) {
  graph.text.fingerprint = search.fingerprint();
  graph.text.metric = task.metric.name;
  graph.text.p = task.p_text;
  graph.text.precision = "exact";
  graph.text.version = KNNG_VERSION_TEXT;
  graph.text.value = task.similarity ? "similarity" : "distance";
  graph.text.self = task.self_first ? "first" : "exclude";
  graph.stats[Stat::duplicates] = static_cast<double>(search.duplicates());
  if (request.queries) graph.stats.forget(Stat::duplicates);  // nobody looks for equal rows then
  graph.stats[Stat::seconds_prepare] += search.seconds();
  graph.stats[Stat::rows] = static_cast<double>(graph.rows);
  graph.stats[Stat::columns] = static_cast<double>(graph.columns);
  graph.stats[Stat::proved] = static_cast<double>(graph.rows);
  graph.stats[Stat::ties_at_k] = static_cast<double>(std::count(graph.ties.begin(), graph.ties.end(), 1));
  graph.stats[Stat::bytes_host_peak] = static_cast<double>(request.budget->peak());
}

// What build and query share.
Graph run(const Request& request, const Task& task, const TaskPlan& plan) {
  Stopwatch total;
  const Worker& worker = worker_of(plan);
  Graph graph;
  graph.square = request.queries == nullptr;
  graph.rows = request.points().rows();
  graph.columns = request.data.rows();
  graph.self_first = task.self_first;
  graph.width = request.k + (task.self_first ? 1 : 0);

  ThreadTeam team(plan.threads);
  DuplicateSearch search(request, task, plan, team, worker.leaves_host_free());
  const auto fill = [&] {
    return worker.fill(
        request, task, plan, team, [&](bool wait) { return search.check(wait); }, graph);
  };
  if (!fill()) try {
      run_distinct(request, *search.distinct(), task, plan, team, graph);
    } catch (const Error& full) {  // two graphs were too much
      if (!is_of_device_memory(full)) throw;
      request.monitor.log(1, (full.what() + std::string("; again, with all rows")).c_str());
      search.leave_distinct();
      graph.clear();
      fill();
    }
  describe(request, task, search, graph);
  graph.stats[Stat::seconds_total] = total.lap();
  return graph;
}

// The same with copies of rows that are not where the work is done: those in memory of devices and in files.
Graph run_anywhere(const Request& request, const Task& task, const TaskPlan& plan) {
  if (!worker_of(plan).needs_rows_on_host() || task.absent_row_bytes == 0) return run(request, task, plan);
  const auto& [data, queries, admission, k, budget, monitor] = request;
  monitor.stage("copy", 1);
  const Dataset rows = host_rows(data, 0, data.rows(), budget, &monitor, "rows");
  std::optional<Dataset> query_rows;
  if (queries) query_rows.emplace(host_rows(*queries, 0, queries->rows(), budget, &monitor, "q"));
  // What was copied is what was looked at when it was added: nothing here is made for NaN.
  data.require_unchanged();
  if (queries) queries->require_unchanged();
  Task on_host = task;
  on_host.row_devices.clear();
  on_host.absent_row_bytes = 0;
  return run({rows, queries ? &*query_rows : nullptr, admission, k, budget, monitor}, on_host, plan);
}

bool is_brief(const Task& task, const TaskPlan& plan) {
  return plan.brief && (task.absent_row_bytes == 0 || !worker_of(plan).needs_rows_on_host());
}

}  // namespace

Graph build_graph(const Dataset& stored, const Settings& settings, std::int64_t k, Monitor& monitor) {
  require_k(stored, k, false, false);
  Dataset data = stored;
  choose_work_types(data, nullptr);
  const Task task = make_task(settings, data, false);
  const TaskPlan plan = plan_task(task, data, 0, 0, k, data.held_bytes());
  require_budget(task, plan);
  Budget budget(task.max_host_bytes, data.held_bytes());
  Graph graph;
  const Request request{data, nullptr, {.square = true}, k, &budget, monitor};
  run_while_unchanged(data, nullptr, monitor, is_brief(task, plan), [&] { graph = run_anywhere(request, task, plan); });
  return graph;
}

Graph query_graph(const Dataset& stored, const Settings& settings, const Dataset& stored_queries,
                  const std::int64_t* leave_out, std::int64_t k, Monitor& monitor, std::int64_t held_bytes) {
  require_k(stored, k, true, leave_out != nullptr);
  Dataset data = stored, queries = stored_queries;
  choose_work_types(data, &queries);
  Task task = make_task(settings, data, true);
  task.add_rows(queries);
  const std::int64_t held = checked_add(checked_add(data.held_bytes(), queries.held_bytes(), "q"), held_bytes, "q");
  const TaskPlan plan = plan_task(task, data, queries.rows(), queries.work_dtype(), k, held);
  require_budget(task, plan);
  Budget budget(task.max_host_bytes, held);
  Graph graph;
  const Request request{data, &queries, {.leave_out = leave_out}, k, &budget, monitor};
  run_while_unchanged(data, &queries, monitor, is_brief(task, plan),
                      [&] { graph = run_anywhere(request, task, plan); });
  return graph;
}

}  // namespace libknng

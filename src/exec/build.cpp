#include "exec/build.h"

#include <algorithm>
#include <chrono>
#include <functional>
#include <future>
#include <optional>
#include <string>
#include <string_view>

#include "backend/cpu/engine.h"
#include "core/dtype.h"
#include "core/stopwatch.h"
#include "dataset/fingerprint.h"
#include "exec/device_expand.h"
#include "exec/device_row_loader.h"
#include "exec/device_run.h"
#include "exec/device_task.h"
#include "exec/distinct.h"
#include "exec/emit.h"
#include "exec/file_rows.h"
#include "exec/host_rows.h"
#include "exec/request.h"
#include "exec/self_check.h"
#include "exec/task.h"
#include "prepare/canonical_rows.h"

namespace libknng {
namespace {

// Rows of the data set for the CPU, in that order.
std::unique_ptr<const CanonicalRows> prepare(const Request& request, const Task& task, const TaskPlan& plan,
                                             RowOrder order) {
  return std::make_unique<const CanonicalRows>(request.data, task.metric, plan.threads, request.budget, request.monitor,
                                               "rows", std::move(order));
}

// Lists are filled by an engine and made a result.
void fill_on_cpu(const Request& request, const Task& task, const TaskPlan& plan, const CanonicalRows& columns,
                 Graph& graph) {
  const auto& [data, queries, leave_out, k, budget, monitor] = request;
  Stopwatch watch;
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

// Fills the graph on the CPU, and looks at some rows again.
void run_on_cpu(const Request& request, const Task& task, const TaskPlan& plan, Graph& graph) {
  Stopwatch watch;
  const Dataset& data = request.data;
  const bool shuffles = plan.engine->shuffles;
  auto columns = prepare(request, task, plan, shuffles ? RowOrder(data.rows(), request.budget) : RowOrder());
  graph.stats[Stat::seconds_prepare] += watch.lap();
  fill_on_cpu(request, task, plan, *columns, graph);
  if (plan.checked == 0) return;
  if (shuffles) {
    watch.lap();
    columns.reset();
    columns = prepare(request, task, plan, RowOrder());
    graph.stats[Stat::seconds_check] += watch.lap();
  }
  check_rows(request, task, plan, plan.checked, *columns, graph);
}

// The same of a graph whose distinct rows were made on the CPU.
void check_expanded(const Request& request, const Task& task, const TaskPlan& plan, double pairs, Graph& graph) {
  if (plan.checked == 0) return;
  const std::int64_t checked =
      rows_to_check(task.check_rows, graph.rows, pairs, graph.rows, plan.engine->pairs_per_key);
  Stopwatch watch;
  const auto columns = prepare(request, task, plan, RowOrder());
  graph.stats[Stat::seconds_check] += watch.lap();
  check_rows(request, task, plan, checked, *columns, graph);
}

// The distinct rows of a build with many duplicates, and what is asked about them.
struct Distinct {
  Groups groups;
  Dataset rows;
  Task task;
  TaskPlan plan;
  std::int64_t k;
  std::int64_t kept;                   // bytes of the whole's lists, if they stay on a device
  knng_backend_expansion expansion{};  // then
  // While equal rows are put back: held on the device, and on the host beside data and result.
  std::int64_t device_bytes = 0, host_bytes = 0;

  // of_whole: the plan of all rows, which may be at work.
  Distinct(const Task& whole, const TaskPlan& of_whole, const Dataset& data, const RowLoader& loader,
           std::int64_t k_of_whole, Buffer<std::int64_t> first, Budget* budget, const Monitor& monitor)
      : groups(data, loader, whole.metric, std::move(first), budget, monitor),
        rows(data, groups.representatives()),
        task(task_of_distinct(whole)),
        k(k_of_distinct(k_of_whole, groups.count())),
        kept(whole.kept_bytes(data.rows(), k_of_whole)) {
    // Where the whole is: a device has what it needs, and the CPU copies of rows.
    task.chosen = of_whole.device.set;
    if (task.chosen.backend) {
      task.free_device_bytes = of_whole.device.bytes;
    } else {
      task.device = "cpu";
      task.check_rows = 0;  // rows of the whole are looked at, when equal ones are put back
    }
    if (k > 0) plan = plan_task(task, rows, 0, 0, k, data.held_bytes() + Groups::bytes(data.rows()));
    host_bytes = graph_bytes_of_distinct(task, groups.count(), k);
    if (!whole.keep_on_device) {
      host_bytes = checked_add(host_bytes, expand_bytes(k_of_whole, of_whole.threads), "k");
      return;
    }
    expansion = describe_expansion(describe_problem(whole, of_whole, data, 0, 0, k_of_whole), groups, k);
    const ExpansionBytes working = expansion_bytes(of_whole.device.set, expansion);
    host_bytes = checked_add(host_bytes, working.host, "k");
    device_bytes = checked_add(checked_add(kept, task.kept_bytes(groups.count(), k), "k"), working.device, "k");
  }
  // Whether it takes no more memory than the whole was planned with, and is as good a plan; result: bytes.
  bool fits(const TaskPlan& of_whole, const Dataset& data, std::int64_t result) const {
    if (plan.device.undersized && !of_whole.device.undersized) return false;
    // While it is made, while it becomes the result, or while rows of that are checked.
    const std::int64_t held = data.held_bytes() + Groups::bytes(data.rows());
    return checked_add(held, checked_add(result - kept, of_whole.check_bytes, "k"), "k") <= of_whole.host_bytes &&
           plan.host_bytes <= of_whole.host_bytes && plan.device.bytes <= of_whole.device.bytes &&
           device_bytes <= of_whole.device.bytes &&
           checked_add(held, checked_add(host_bytes, result - kept, "k"), "k") <= of_whole.host_bytes;
  }
};

// What a call that failed has left in a graph goes; its shape stays.
void empty(Graph& graph) {
  Graph shape;
  shape.rows = graph.rows;
  shape.columns = graph.columns;
  shape.width = graph.width;
  shape.square = graph.square;
  shape.self_first = graph.self_first;
  graph = std::move(shape);
}

// Whether a device had no memory left, for a session or for lists that stay there.
bool is_of_device_memory(const Error& e) {
  const std::string_view argument = e.info().argument;
  return e.code() == KNNG_ERR_MEMORY && (argument == "max_device_bytes" || argument == "graph");
}

// Fills a graph whose shape is set, on the plan's devices. Of memory that was free when the plan was made others may
// have taken some: then by plans that need less, if there are.
bool run_within_memory(const Request& request, Task task, TaskPlan plan, const DuplicateCheck& check_duplicates,
                       Graph& graph) {
  for (;;) try {
      return run_on_devices(request, task, plan, check_duplicates, graph);
    } catch (const Error& full) {
      if (!is_of_device_memory(full)) throw;
      // Another device may know by now that its work was cancelled.
      if (check_duplicates(false) == Duplicates::found) {
        empty(graph);
        return false;
      }
      if (!plan_less_memory(task, request.data, request.query_count(), request.query_dtype(), request.k, plan)) throw;
      request.monitor.log(1, (full.what() + std::string("; again, with less memory")).c_str());
      empty(graph);
    }
}

// Fills a graph whose shape is set, where the plan says.
bool run_planned(const Request& request, const Task& task, const TaskPlan& plan, const DuplicateCheck& check_duplicates,
                 Graph& graph) {
  if (plan.device.set.backend) return run_within_memory(request, task, plan, check_duplicates, graph);
  graph.stats[Stat::pairs] = plan.grid.pairs();
  if (check_duplicates(true) == Duplicates::found) return false;
  graph.stats[Stat::tiles] = static_cast<double>(plan.grid.tiles());
  run_on_cpu(request, task, plan, graph);
  return true;
}

// request, task, plan: of all rows.
void run_distinct(const Request& request, const Distinct& distinct, const Task& task, const TaskPlan& plan,
                  Graph& graph) {
  Budget* const budget = request.budget;
  Monitor& monitor = request.monitor;
  Graph of_distinct;
  of_distinct.square = true;
  of_distinct.rows = of_distinct.columns = distinct.groups.count();
  of_distinct.width = distinct.k;
  if (distinct.k > 0) {
    try {
      const Request among_distinct{distinct.rows, nullptr, nullptr, distinct.k, budget, monitor};
      run_planned(
          among_distinct, distinct.task, distinct.plan, [](bool) { return Duplicates::none; }, of_distinct);
    } catch (const Error& wrong) {  // the caller's number of a row that was found so
      if (wrong.code() != KNNG_ERR_CHECK) throw;
      refuse_list(distinct.groups.representatives()[static_cast<std::size_t>(wrong.info().row)]);
    }
  } else {  // all rows are equal
    of_distinct.proof = Buffer<std::uint8_t>(1, static_cast<std::uint8_t>(Proof::fp64));
    const Dataset first = host_rows(request.data, 0, 1, budget, &monitor, "rows");
    const CanonicalRows checked(first, task.metric, 1, budget, monitor, "rows");
    of_distinct.text.engine = plan.engine ? plan.engine->name : plan.device.engine;
    of_distinct.text.selector = plan.selector ? plan.selector->name : plan.engine ? "none" : plan.device.selector;
    of_distinct.text.device = "cpu: nothing to compare";
  }
  Stopwatch watch;
  const Charge held(budget, graph_bytes_of_distinct(distinct.task, distinct.groups.count(), distinct.k));
  if (task.keep_on_device)
    expand_on_device(plan.device.set, of_distinct, distinct.groups, distinct.expansion, task, budget, monitor, graph);
  else
    expand(of_distinct, distinct.groups, task, plan.threads, budget, monitor, graph);
  graph.stats = of_distinct.stats;
  double& peak = graph.stats[Stat::bytes_device_peak];
  peak = std::max(peak, static_cast<double>(distinct.device_bytes));
  graph.stats[Stat::seconds_emit] += watch.lap();
  if (graph.stats[Stat::refined] > 0) graph.stats[Stat::refined] = static_cast<double>(graph.rows);
  graph.text = of_distinct.text;
  if (!plan.device.set.backend) check_expanded(request, task, plan, distinct.plan.grid.pairs(), graph);
}

// beside_sessions: on devices that have work, whose memory rows are compared in.
Fingerprint result_of(std::future<Fingerprint>& print, bool beside_sessions) {
  try {
    return print.get();
  } catch (const Error& e) {
    if (beside_sessions && e.code() == KNNG_ERR_MEMORY && std::string_view(e.info().argument) == "rows")
      fail(KNNG_ERR_MEMORY, "max_device_bytes", "%s", e.what());
    throw;
  }
}

// What build and query share.
Graph run(const Request& request, const Task& task, const TaskPlan& plan) {
  const Dataset& data = request.data;
  const Dataset* const queries = request.queries;
  const std::int64_t k = request.k;
  Budget* const budget = request.budget;
  Monitor& monitor = request.monitor;
  Stopwatch total;
  Graph graph;
  graph.square = queries == nullptr;
  graph.rows = request.points().rows();
  graph.columns = data.rows();
  graph.self_first = task.self_first;
  graph.width = k + (task.self_first ? 1 : 0);

  // While devices get the rows the host reads them too; the CPU does one after the other. Of rows in memory of devices
  // it has the hashes.
  const bool on_devices = plan.device.set.backend != nullptr;
  Monitor beside(monitor);
  std::unique_ptr<const RowLoader> loader = queries ? nullptr : make_row_loader(data, budget);
  std::future<Fingerprint> print;  // ends first
  const auto start_print = [&] {
    if (!on_devices) monitor.stage("fingerprint", static_cast<double>(data.rows()));
    print = std::async(on_devices ? std::launch::async : std::launch::deferred, [&] {
      const FloatEnv env;
      // Half of the threads bring rows to the devices meanwhile; where rows are there already, all can sort.
      const int threads = on_devices && !data.on_devices() ? std::max(1, plan.threads / 2) : plan.threads;
      return fingerprint(data, *loader, threads, budget, on_devices ? beside : monitor);
    });
  };
  bool known = queries != nullptr;
  if (!known) start_print();
  std::optional<Distinct> distinct;
  std::string fingerprint_text;
  double duplicates = 0, seconds_fingerprint = 0;
  // Knows the fingerprint from then on; stop: `distinct` is what should be done.
  const auto check_duplicates = [&](bool wait) {
    if (known) return distinct ? Duplicates::found : Duplicates::none;
    if (!print.valid()) start_print();  // the last try ended for want of memory
    if (!wait && print.wait_for(std::chrono::seconds(0)) == std::future_status::timeout) return Duplicates::unknown;
    Stopwatch watch;
    Fingerprint found = result_of(print, on_devices && data.on_devices());
    known = true;
    fingerprint_text = found.text;
    duplicates = static_cast<double>(found.duplicates);
    if (distinct_pays(task, graph.rows, found.duplicates)) {
      const std::int64_t result =
          checked_mul(graph.rows, graph.width * (8 + find_dtype(task.value_dtype)->bytes) + 2, "k");
      try {
        distinct.emplace(task, plan, data, *loader, k, std::move(found.first), budget, monitor);
        if (!distinct->fits(plan, data, result)) distinct.reset();
      } catch (const Error& e) {  // no plan: all rows have one
        if (e.code() == KNNG_ERR_CANCELLED) throw;
        distinct.reset();
      }
    }
    loader.reset();
    seconds_fingerprint = watch.lap();
    return distinct ? Duplicates::found : Duplicates::none;
  };
  try {
    const auto all_rows = [&] { return run_planned(request, task, plan, check_duplicates, graph); };
    if (!all_rows()) try {
        run_distinct(request, *distinct, task, plan, graph);
      } catch (const Error& full) {  // two graphs were too much
        if (!is_of_device_memory(full)) throw;
        monitor.log(1, (full.what() + std::string("; again, with all rows")).c_str());
        distinct.reset();
        empty(graph);
        all_rows();
      }
  } catch (...) {
    beside.stop();  // nobody waits for the fingerprint any more
    throw;
  }
  graph.text.fingerprint = fingerprint_text;
  graph.stats[Stat::duplicates] = duplicates;
  graph.stats[Stat::seconds_prepare] += seconds_fingerprint;

  graph.stats[Stat::rows] = static_cast<double>(graph.rows);
  graph.stats[Stat::columns] = static_cast<double>(graph.columns);
  graph.stats[Stat::proved] = static_cast<double>(graph.rows);
  graph.stats[Stat::ties_at_k] = static_cast<double>(std::count(graph.ties.begin(), graph.ties.end(), 1));
  graph.stats[Stat::bytes_host_peak] = static_cast<double>(budget->peak());
  graph.text.metric = task.metric.name;
  graph.text.p = task.p_text;
  graph.text.precision = "exact";
  graph.text.version = KNNG_VERSION_TEXT;
  graph.text.value = task.similarity ? "similarity" : "distance";
  graph.text.self = task.self_first ? "first" : "exclude";
  graph.stats[Stat::seconds_total] = total.lap();
  return graph;
}

// The same where the rows are, or, for the CPU, with copies of those in memory of devices and in files.
Graph run_anywhere(const Request& request, Task& task, const TaskPlan& plan) {
  if (plan.device.set.backend || task.absent_row_bytes == 0) return run(request, task, plan);
  const auto& [data, queries, leave_out, k, budget, monitor] = request;
  monitor.stage("copy", 1);
  const Dataset rows = host_rows(data, 0, data.rows(), budget, &monitor, "rows");
  std::optional<Dataset> query_rows;
  if (queries) query_rows.emplace(host_rows(*queries, 0, queries->rows(), budget, &monitor, "q"));
  // What was copied is what was looked at when it was added: nothing here is made for NaN.
  data.require_unchanged();
  if (queries) queries->require_unchanged();
  task.row_devices.clear();
  task.absent_row_bytes = 0;
  return run({rows, queries ? &*query_rows : nullptr, leave_out, k, budget, monitor}, task, plan);
}

}  // namespace

Graph build_graph(const Dataset& data, const Settings& settings, std::int64_t k, Monitor& monitor) {
  require_k(data, k, false, false);
  Task task = make_task(settings, data, false);
  const TaskPlan plan = plan_task(task, data, 0, 0, k, data.held_bytes());
  require_budget(task, plan);
  Budget budget(task.max_host_bytes, data.held_bytes());
  Graph graph;
  const Request request{data, nullptr, nullptr, k, &budget, monitor};
  run_while_unchanged(data, nullptr, monitor, [&] { graph = run_anywhere(request, task, plan); });
  return graph;
}

Graph query_graph(const Dataset& data, const Settings& settings, const Dataset& queries, const std::int64_t* leave_out,
                  std::int64_t k, Monitor& monitor, std::int64_t held_bytes) {
  require_k(data, k, true, leave_out != nullptr);
  Task task = make_task(settings, data, true);
  task.add_rows(queries);
  const std::int64_t held = checked_add(checked_add(data.held_bytes(), queries.held_bytes(), "q"), held_bytes, "q");
  const TaskPlan plan = plan_task(task, data, queries.rows(), queries.dtype(), k, held);
  require_budget(task, plan);
  Budget budget(task.max_host_bytes, held);
  Graph graph;
  const Request request{data, &queries, leave_out, k, &budget, monitor};
  run_while_unchanged(data, &queries, monitor, [&] { graph = run_anywhere(request, task, plan); });
  return graph;
}

}  // namespace libknng

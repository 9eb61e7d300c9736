// Work on the CPU: canonical rows, an engine's lists, the result, and some rows looked at again.
#include <memory>
#include <optional>
#include <string>

#include "backend/cpu/engine.h"
#include "core/stopwatch.h"
#include "exec/distinct_plan.h"
#include "exec/emit.h"
#include "exec/self_check.h"
#include "exec/worker.h"
#include "prepare/canonical_rows.h"

namespace libknng {
namespace {

// Rows of the data set, in that order.
std::unique_ptr<const CanonicalRows> prepare(const Request& request, const Task& task, ThreadTeam& team,
                                             RowOrder order) {
  return std::make_unique<const CanonicalRows>(request.data, task.metric, team, request.budget, request.monitor, "rows",
                                               std::move(order));
}

// Lists are filled by an engine and made a result.
void fill_lists(const Request& request, const Task& task, const TaskPlan& plan, ThreadTeam& team,
                const CanonicalRows& columns, Graph& graph) {
  Budget* const budget = request.budget;
  Monitor& monitor = request.monitor;
  Stopwatch watch;
  std::optional<CanonicalRows> query_rows;
  if (request.queries) query_rows.emplace(*request.queries, task.metric, team, budget, monitor, "q");
  const CanonicalRows& rows = request.queries ? *query_rows : columns;
  graph.stats[Stat::seconds_prepare] += watch.lap();

  NeighbourLists lists(graph.rows, request.k, budget, request.admission.first_cutoff());
  const CpuCounts counts = plan.engine->run(
      {rows, columns, task.metric, plan.grid, team, request.admission, plan.selector}, lists, budget, monitor);
  if (counts.violations > 0)
    fail(KNNG_ERR_INTERNAL, "bound_violations", {.given = counts.violations},
         "%lld keys lay outside their proved bounds: unless rows changed after they were borrowed, please report this "
         "with the data",
         static_cast<long long>(counts.violations));
  graph.stats[Stat::seconds_tile] = watch.lap();

  emit(lists, rows, task, plan.engine->keys_alone ? Proof::fp64 : Proof::filter, team, budget, monitor, graph);
  graph.stats[Stat::seconds_emit] = watch.lap();
  graph.stats[Stat::keys] = static_cast<double>(counts.keys);
  graph.stats[Stat::redone_fp64] = static_cast<double>(counts.redone);
  graph.stats[Stat::refined] = counts.inexact ? static_cast<double>(graph.rows) : 0;
  graph.text.engine = plan.engine->name;
  graph.text.selector = plan.selector ? plan.selector->name : "none";
  graph.text.device = std::string("cpu: ") + cpu_target() + ", " + std::to_string(plan.threads) +
                      (plan.threads == 1 ? " thread" : " threads");
}

class CpuWorker final : public Worker {
 public:
  bool leaves_host_free() const noexcept override { return false; }
  bool needs_rows_on_host() const noexcept override { return true; }

  bool fill(const Request& request, const Task& task, const TaskPlan& plan, ThreadTeam& team,
            const DuplicateCheck& check_duplicates, Graph& graph) const override {
    graph.stats[Stat::pairs] = plan.grid.pairs();
    if (check_duplicates(true) == Duplicates::found) return false;
    graph.stats[Stat::tiles] = static_cast<double>(plan.grid.tiles());
    Stopwatch watch;
    const bool shuffles = plan.engine->shuffles;
    auto columns = prepare(request, task, team, shuffles ? RowOrder(request.data.rows(), request.budget) : RowOrder());
    graph.stats[Stat::seconds_prepare] += watch.lap();
    fill_lists(request, task, plan, team, *columns, graph);
    if (plan.checked == 0) return true;
    if (shuffles) {
      watch.lap();
      columns.reset();
      columns = prepare(request, task, team, RowOrder());
      graph.stats[Stat::seconds_check] += watch.lap();
    }
    check_rows(request, task, plan, team, plan.checked, *columns, graph);
    return true;
  }

  void put_back(const Graph& of_distinct, const DistinctPlan& distinct, const Request& request, const Task& task,
                const TaskPlan& plan, ThreadTeam& team, Graph& graph) const override {
    Stopwatch watch;
    expand(of_distinct, distinct.groups, task, team, request.budget, request.monitor, graph);
    graph.stats[Stat::seconds_emit] += watch.lap();
    if (plan.checked == 0) return;
    const double pairs = distinct.plan.grid.pairs();
    const std::int64_t checked =
        rows_to_check(task.check_rows, graph.rows, pairs, graph.rows, plan.engine->pairs_per_key);
    watch.lap();
    const auto columns = prepare(request, task, team, RowOrder());
    graph.stats[Stat::seconds_check] += watch.lap();
    check_rows(request, task, plan, team, checked, *columns, graph);
  }
};

}  // namespace

const Worker& cpu_worker() noexcept {
  static const CpuWorker worker;
  return worker;
}

}  // namespace libknng

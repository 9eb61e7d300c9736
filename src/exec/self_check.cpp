#include "exec/self_check.h"

#include <algorithm>
#include <bit>
#include <vector>

#include "backend/cpu/direct_workspace.h"
#include "core/division.h"
#include "core/stopwatch.h"
#include "exec/emit.h"
#include "plan/checked_rows.h"

namespace libknng {
namespace {

// The engine that evaluates all keys, and its tiles.
const CpuEngine& engine() { return cpu_engines().back(); }
// Few rows want no large block of columns: it is packed for them alone, and would leave the second level cache.
TileGrid grid_of(std::int64_t checked, std::int64_t columns, std::int64_t dim, std::int64_t tile_rows,
                 std::int64_t tile_cols) {
  constexpr std::int64_t kBlock = 1 << 19, kFewest = 64;
  const std::int64_t block = std::max(kFewest, kBlock / (8 * dim) / kPanelRows * kPanelRows);
  return {checked, columns, std::min(tile_rows, round_up(checked, kPanelRows)), std::min(tile_cols, block), false};
}

bool same_bits(double a, double b) noexcept {
  return std::bit_cast<std::uint64_t>(a) == std::bit_cast<std::uint64_t>(b);
}

// u: the row, or empty where its value with itself does not depend on it.
bool is_right(const Task& task, const Graph& graph, std::int64_t row, std::span<const double> u, const Neighbour* list,
              bool tied) {
  const std::int64_t k = graph.k(), first = row * graph.width + (graph.width - k);
  bool right = (graph.ties[row] != 0) == tied;
  if (graph.self_first)
    right = right && graph.ids[first - 1] == row && same_bits(graph.value(first - 1), self_value(task, u));
  for (std::int64_t t = 0; t < k; ++t)
    right = right && graph.ids[first + t] == list[t].id &&
            same_bits(graph.value(first + t), rounded_value(task, list[t].key));
  return right;
}

}  // namespace

void refuse_list(std::int64_t row) {
  fail(KNNG_ERR_CHECK, "check_rows", {.row = row},
       "check_rows: the list of a row is not what all of its canonical keys say, which the proof rules out: please "
       "report this with the data");
}

std::int64_t check_bytes(const Task& task, std::int64_t checked, std::int64_t dim, std::int64_t k) {
  // Which rows they are.
  const std::int64_t numbers = checked_mul(checked, 8, "check_rows");
  const std::int64_t prepared = checked_mul(checked, CanonicalRows::bytes_per_row(task.metric, dim), "check_rows");
  const std::int64_t self =
      task.self_first && task.metric.term == Term::product ? checked_mul(dim, 8, "check_rows") : 0;
  return checked_add(checked_add(numbers, self, "check_rows"),
                     checked_add(prepared, NeighbourLists::bytes(checked, k), "check_rows"), "check_rows");
}

std::int64_t check_thread_bytes(const Metric& metric, std::int64_t checked, std::int64_t columns, std::int64_t dim,
                                std::int64_t k, std::int64_t tile_rows, std::int64_t tile_cols) {
  if (checked == 0) return 0;
  return engine().workspace_bytes(metric, 0, nullptr, k, grid_of(checked, columns, dim, tile_rows, tile_cols), dim);
}

void check_rows(const Request& request, const Task& task, const TaskPlan& plan, ThreadTeam& team, std::int64_t checked,
                const CanonicalRows& columns, Graph& graph) {
  if (checked == 0) return;
  Budget* const budget = request.budget;
  Monitor& monitor = request.monitor;
  Stopwatch watch;
  monitor.stage("check", 1);
  Monitor beside(monitor);  // the engine has stages of its own
  const Charge numbers(budget, checked_mul(checked, 8, "check_rows"));
  const std::vector<std::int64_t> listed = SpreadRows(checked, graph.rows).list();
  const Dataset picked(request.points(), listed);
  const CanonicalRows rows(picked, task.metric, team, budget, beside, graph.square ? "rows" : "q");
  NeighbourLists lists(checked, graph.k(), budget, request.admission.first_cutoff());
  const TileGrid grid = grid_of(checked, columns.rows(), columns.dim(), plan.grid.tile_rows, plan.grid.tile_cols);
  engine().run({rows, columns, task.metric, grid, team, request.admission.picked(listed.data())}, lists, budget,
               beside);
  Buffer<double> u(graph.self_first && task.metric.term == Term::product ? rows.dim() : 0, budget);
  for (std::int64_t s = 0; s < checked; ++s) {
    const Neighbour* list = lists.sort(s);
    if (!u.empty()) rows.load(s, u.data());
    const std::span<const double> self(u.data(), static_cast<std::size_t>(u.size()));
    const std::int64_t row = listed[static_cast<std::size_t>(s)];
    if (!is_right(task, graph, row, self, list, lists.tied(s))) refuse_list(row);
  }
  graph.stats[Stat::checked] += static_cast<double>(checked);
  graph.stats[Stat::seconds_check] += watch.lap();
}

}  // namespace libknng

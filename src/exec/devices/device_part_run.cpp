#include "exec/devices/device_part_run.h"

#include <algorithm>
#include <optional>

#include "backend/admission.h"
#include "core/first_failure.h"
#include "core/stopwatch.h"
#include "exec/devices/device_ladder.h"
#include "exec/devices/device_task.h"
#include "exec/devices/device_team.h"
#include "exec/emit.h"
#include "exec/rows/session_rows.h"
#include "exec/self_check.h"

namespace libknng {
namespace {

// Rows at most that are looked at again in one call: a stop is noticed between calls.
constexpr std::int64_t kCheckedTogether = 256;

// All rows, answered by whichever device is free.
void answer_rows(Team& team, const TileGrid& grid, Results& results, Monitor& monitor) {
  TileQueue queue(grid);
  monitor.stage("neighbours", static_cast<double>(grid.rows));
  team.each([&](std::size_t i) {
    for (Tile t; !monitor.stopped() && !team.failed() && queue.next(t);) {
      team[i].answer(t.first_row, t.rows, results[i]);
      monitor.advance(static_cast<double>(t.rows));
    }
  });
  monitor.check();
}

// Each device looks again at rows of its share, of which it has met all columns if points come block by block.
void check_lists(Team& team, const TaskPlan& plan, const Part& part, std::span<const std::int64_t> checked,
                 Results& results, Monitor& monitor) {
  if (checked.empty()) return;
  Stopwatch watch;
  monitor.stage(part.named("check"), static_cast<double>(checked.size()));
  std::vector<std::int64_t> wrong(team.size(), -1);
  team.each([&](std::size_t i) {
    const Share share(plan, i, team.size());
    auto at = std::lower_bound(checked.begin(), checked.end(), share.first);
    const auto end = std::lower_bound(at, checked.end(), share.first + share.count);
    while (at != end && wrong[i] < 0 && !monitor.stopped() && !team.failed()) {
      const auto next = at + std::min<std::ptrdiff_t>(kCheckedTogether, end - at);
      wrong[i] = team[i].check(*at, next[-1] + 1 - *at, results[i]);
      monitor.advance(static_cast<double>(next - at));
      at = next;
    }
  });
  monitor.check();
  for (const std::int64_t row : wrong)
    if (row >= 0) refuse_list(part.first + row);
  part.graph.stats[Stat::checked] += static_cast<double>(checked.size());
  part.graph.stats[Stat::seconds_check] += watch.lap();
}

void take_counts(const Run& run, const Part& part, const knng_backend_result& total, Team& team) {
  if (total.violations > 0)
    fail(KNNG_ERR_INTERNAL, "bound_violations", {.given = total.violations},
         "%lld keys lay outside their proved bounds: unless rows changed after they were borrowed, please report this "
         "with the data",
         static_cast<long long>(total.violations));
  if (const std::int64_t left = count_unproved(part); left > 0)
    fail(KNNG_ERR_INTERNAL, "device", {.given = left}, "%lld rows were left without a proof",
         static_cast<long long>(left));
  if (total.too_large < part.rows) refuse_large_value(run.task, part.first + total.too_large, nullptr, part.graph);
  Stats& stats = part.graph.stats;
  stats[Stat::keys] += static_cast<double>(total.keys);
  stats[Stat::candidates_max] = std::max(stats[Stat::candidates_max], static_cast<double>(total.candidates));
  for (std::size_t i = 0; i < team.size(); ++i) {
    const std::int64_t peak = team[i].peak_bytes() + (i == 0 ? run.output.kept_bytes() : 0);
    stats[Stat::bytes_device_peak] = std::max(stats[Stat::bytes_device_peak], static_cast<double>(peak));
  }
}

}  // namespace

std::vector<std::int64_t> Run::checked_of(const Part& part) const {
  std::vector<std::int64_t> rows;
  for (const std::int64_t row : checked)
    if (row >= part.first && row < part.first + part.rows) rows.push_back(row - part.first);
  return rows;
}

bool run_part(const Run& run, const TaskPlan& plan, const Queries& queries, const Part& part) {
  Stopwatch watch;
  const DeviceSet& set = plan.device.set;
  const Dataset& points = queries.rows ? *queries.rows : run.request.data;
  FirstFailure reading;
  Job job{*set.backend,
          run.task.metric,
          run.request.data,
          queries.rows,
          queries.argument,
          reading,
          describe_problem(run.task, plan, run.request.data, queries.rows ? points.rows() : 0, points.work_dtype(),
                           run.request.k)};
  const SessionRows rows(run.request.data, run.copiers, run.request.monitor, reading),
      query_rows(points, run.copiers, run.request.monitor, reading);
  rows.describe(job.problem.columns);
  query_rows.describe(job.problem.rows);
  job.problem.copy = &SessionRows::copy;
  job.problem.copy_user = &rows;
  Cancellation cancellation{rows};
  job.problem.cancelled = &Cancellation::ask;
  job.problem.cancellation = &cancellation;
  set_admission(job.problem, queries.admission);
  const std::vector<std::int64_t> checked = run.checked_of(part);
  job.problem.checked = checked.data();
  job.problem.checked_count = std::ssize(checked);
  // What is kept beside all parts.
  if (job.problem.max_bytes != INT64_MAX) job.problem.max_bytes -= run.output.kept_bytes();
  std::int64_t session_host = 0;
  job.backend.session_bytes(&job.problem, &session_host);
  const Charge charge(run.request.budget,
                      checked_mul(session_host, static_cast<std::int64_t>(set.devices.size()), "devices"));

  run.request.monitor.stage(part.named("prepare"), 1);
  Team team(job, set.devices, cancellation, run.request.monitor);
  Stats& stats = part.graph.stats;
  stats[Stat::seconds_copy] += watch.lap();
  std::optional<Results> results;
  if (plan.device.by_rows) {
    if (run.output.is_discarded(true)) return false;
    results.emplace(run.output.results(part));
    answer_rows(team, plan.grid, *results, run.request.monitor);
    stats[Stat::tiles] += static_cast<double>(plan.grid.tiles());
    stats[Stat::seconds_tile] += watch.lap();
  } else if (!climb(team, job, plan, part, run.output, run.request.monitor, results)) {
    return false;
  }
  take_counts(run, part, results->total(), team);
  // Without a step of the ladder all keys of all rows were evaluated.
  const bool filtered = plan.device.by_rows || has_ladder(job.backend, job.problem);
  if (filtered) check_lists(team, plan, part, checked, *results, run.request.monitor);
  return true;
}

}  // namespace libknng

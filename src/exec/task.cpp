#include "exec/task.h"

#include <algorithm>
#include <string>

#include "core/division.h"
#include "core/dtype.h"
#include "core/error.h"
#include "core/host_memory.h"
#include "exec/devices/device_task.h"
#include "exec/self_check.h"
#include "prepare/canonical_rows.h"

namespace libknng {
namespace {

// A line of a planned tile, or shorter: the selector is chosen before the tiles.
constexpr std::int64_t kLine = 480;

// The engine of the CPU that was asked for, or nullptr: the best that can run and fits the budget. Who asks for a
// selector asks for an engine that has it.
const CpuEngine* asked_engine(const Task& task, std::int64_t dim) {
  const bool select = task.selector != "auto";
  if (task.engine == "auto" && !select) return nullptr;
  for (const CpuEngine& engine : cpu_engines()) {
    if (task.engine == "auto" ? !engine.selects : task.engine != engine.name) continue;
    if (select && !engine.selects)
      fail(KNNG_ERR_OPTION, "selector", "selector=%s goes with engine=tiled, engine=%s has none", task.selector.c_str(),
           engine.name);
    if (engine.can_run(task.metric, dim)) return &engine;
    if (engine.can_run(task.metric, engine.most_dim))
      fail(KNNG_ERR_UNSUPPORTED, "engine", {.given = dim, .limit = engine.most_dim},
           "engine=%s cannot do dimension %lld, it takes %lld at most: engine=auto takes one that can", engine.name,
           static_cast<long long>(dim), static_cast<long long>(engine.most_dim));
    fail(KNNG_ERR_UNSUPPORTED, "engine", "engine=%s cannot do metric=%s: engine=auto takes one that can", engine.name,
         task.metric.name);
  }
  fail(KNNG_ERR_UNSUPPORTED, "engine", "engine=%s is not available on the CPU", task.engine.c_str());
}

double pairs_of(const Problem& p) { return TileGrid{p.rows, p.columns, 1, 1, p.square}.pairs(); }

// What an engine takes for a problem, by the size of its tiles.
struct CpuBytes {
  const CpuEngine& engine;
  const Task& task;
  const Problem& problem;
  std::int32_t dtype;  // of rows and columns; 0: of more than one type
  const Selector* selector;
  std::int64_t checked;

  std::int64_t workspace(std::int64_t tile_rows, std::int64_t tile_cols) const {
    return engine.workspace_bytes(task.metric, dtype, selector, problem.k, grid(tile_rows, tile_cols), problem.dim);
  }
  std::int64_t operands(std::int64_t tile_rows, std::int64_t tile_cols) const {
    return engine.operand_bytes(task.metric, dtype, problem.k, grid(tile_rows, tile_cols), problem.dim);
  }
  std::int64_t check(std::int64_t tile_rows, std::int64_t tile_cols) const {
    return check_thread_bytes(task.metric, checked, problem.columns, problem.dim, problem.k, tile_rows, tile_cols);
  }

 private:
  TileGrid grid(std::int64_t tile_rows, std::int64_t tile_cols) const {
    return {problem.rows, problem.columns, tile_rows, tile_cols, problem.square};
  }
};

// The plan for engines of the CPU.
TaskPlan plan_cpu(const Task& task, const Dataset& data, std::int64_t queries, std::int32_t query_dtype, std::int64_t k,
                  std::int64_t held_bytes) {
  Problem problem;
  problem.square = queries == 0;
  problem.rows = problem.square ? data.rows() : queries;
  problem.columns = data.rows();
  problem.dim = data.dim();
  problem.k = k;
  problem.self_first = task.self_first;
  problem.value_bytes = find_dtype(task.value_dtype)->bytes;
  problem.held_bytes = held_bytes;
  problem.prepared_bytes = CanonicalRows::bytes_per_row(task.metric, data.dim());
  problem.threads_fixed = task.asked_threads > 0;
  problem.max_host_bytes = task.max_host_bytes;
  problem.tile_rows = task.tile_rows;
  problem.tile_cols = task.tile_cols;
  const std::int32_t dtype = problem.square || query_dtype == data.work_dtype() ? data.work_dtype() : 0;
  const Selector& selector = task.selector == "auto"
                                 ? best_selector(k, std::min(problem.columns, task.tile_cols ? task.tile_cols : kLine))
                                 : *find_selector(task.selector);
  const auto plan_for = [&](const CpuEngine& engine) {
    const Selector* with = engine.selects ? &selector : nullptr;
    problem.panel = engine.panel;
    problem.block_bytes = engine.block_bytes;
    problem.share = engine.share(problem.dim, problem.columns, k);
    problem.order_bytes = engine.shuffles ? RowOrder::bytes(problem.columns) : 0;
    const std::int64_t checked =
        engine.pairs_per_key == 0
            ? 0
            : rows_to_check(task.check_rows, problem.rows, pairs_of(problem), problem.columns, engine.pairs_per_key);
    problem.check_bytes = check_bytes(task, checked, problem.dim, k);
    problem.one_tile = engine.one_tile(task.metric, dtype, problem.dim, problem.rows, problem.columns, k);
    const CpuBytes bytes{engine, task, problem, dtype, with, checked};
    problem.workspace_bytes = [&bytes](std::int64_t rows, std::int64_t cols) { return bytes.workspace(rows, cols); };
    problem.operand_bytes = [&bytes](std::int64_t rows, std::int64_t cols) { return bytes.operands(rows, cols); };
    problem.check_thread_bytes = [&bytes](std::int64_t rows, std::int64_t cols) { return bytes.check(rows, cols); };
    problem.threads = task.asked_threads > 0 ? task.asked_threads : threads_worth(problem, default_threads);
    TaskPlan plan{make_plan(problem), &engine, with, {}};
    plan.checked = checked;
    plan.check_bytes = checked_add(
        checked_mul(problem.columns, problem.prepared_bytes, "rows"),
        checked_add(problem.check_bytes,
                    checked_mul(bytes.check(plan.grid.tile_rows, plan.grid.tile_cols), plan.threads, "threads"),
                    "check_rows"),
        "check_rows");
    return plan;
  };
  if (const CpuEngine* engine = asked_engine(task, problem.dim)) return plan_for(*engine);
  // engine=auto takes the first engine that pays and fits; the smallest budget is that of whichever needs least.
  TaskPlan chosen;
  std::int64_t smallest = INT64_MAX;
  for (const CpuEngine& engine : cpu_engines()) {
    const bool last = &engine == &cpu_engines().back();
    if (!last && !(engine.can_run(task.metric, problem.dim) &&
                   engine.pays(task.metric, dtype, problem.dim, problem.rows, problem.columns, k)))
      continue;
    const TaskPlan plan = plan_for(engine);
    smallest = std::min(smallest, plan.smallest_host);
    const bool fits = plan.host_bytes <= task.max_host_bytes;
    if (!chosen.engine && (fits || last)) chosen = plan;
    if (fits && !task.wants_smallest) break;
  }
  chosen.smallest_host = smallest;
  return chosen;
}

}  // namespace

Task make_task(const Settings& settings, const Dataset& data, bool query) {
  if (!settings.is(Setting::precision, "exact"))
    fail(KNNG_ERR_UNSUPPORTED, "precision", "precision=%s is not available: this build proves every row",
         settings.text(Setting::precision).c_str());

  Task task;
  const bool has_exponent = settings.is(Setting::metric, "minkowski"),
             exponent_given = !settings.is(Setting::p, "auto");
  if (exponent_given && !has_exponent)
    fail(KNNG_ERR_OPTION, "p", "p=%s goes with metric=minkowski; metric=%s has no exponent",
         settings.text(Setting::p).c_str(), settings.text(Setting::metric).c_str());
  task.metric = find_metric(settings.text(Setting::metric), exponent_given ? settings.real(Setting::p) : 2);
  if (has_exponent) task.p_text = exponent_given ? settings.text(Setting::p) : "2";
  task.similarity = settings.is(Setting::value, "similarity");
  if (task.similarity && !task.metric.similarity)
    fail(KNNG_ERR_OPTION, "value",
         "value=similarity goes with metric=cosine, correlation, spearman or inner_product, not with metric=%s",
         task.metric.name);
  task.self_first = !query && settings.is(Setting::self, "first");
  const std::string& value_type = settings.text(Setting::value_type);
  task.value_dtype = value_type == "f64" || (value_type == "auto" && data.dtype() == KNNG_F64) ? KNNG_F64 : KNNG_F32;
  task.asked_threads = static_cast<int>(settings.integer(Setting::threads));
  if (const std::int64_t limit = settings.integer(Setting::max_host_bytes)) task.max_host_bytes = limit;
  task.tile_rows = settings.integer(Setting::tile_rows);
  task.tile_cols = settings.integer(Setting::tile_cols);
  if (!settings.is(Setting::check_rows, "auto")) task.check_rows = settings.integer(Setting::check_rows);
  if (const std::int64_t limit = settings.integer(Setting::max_device_bytes)) task.max_device_bytes = limit;
  task.device = settings.text(Setting::device);
  task.engine = settings.text(Setting::engine);
  task.selector = settings.text(Setting::selector);
  task.keep_on_device = settings.is(Setting::graph, "device");
  task.add_rows(data);
  return task;
}

std::int64_t Task::kept_bytes(std::int64_t rows, std::int64_t k) const {
  if (!keep_on_device) return 0;
  return checked_mul(checked_mul(rows, k + (self_first ? 1 : 0), "k"), 8 + find_dtype(value_dtype)->bytes, "k");
}

void Task::add_rows(const Dataset& data) {
  absent_row_bytes += data.absent_bytes();
  if (data.in_files()) {
    rows_in_files = true;
    // Rows stayed there because of it: nobody may be asked for more.
    limited_by_machine = limited_by_machine || max_host_bytes == INT64_MAX;
    if (limited_by_machine) max_host_bytes = host_memory();
  }
  for (const auto& chunk : data.chunks()) {
    if (!chunk->view().on_device()) continue;
    const std::int32_t number = chunk->view().device;
    const auto at = std::lower_bound(row_devices.begin(), row_devices.end(), number);
    if (at == row_devices.end() || *at != number) row_devices.insert(at, number);
  }
}

void require_k(const Dataset& data, std::int64_t k, bool query, bool left_out) {
  const std::int64_t n = data.rows();
  if (n == 0) fail(KNNG_ERR_STATE, "h", "the data set has no rows yet");
  if (k < 1)
    fail(KNNG_ERR_RANGE, "k", {.given = k, .limit = 1}, "k=%lld must be at least 1", static_cast<long long>(k));
  const std::int64_t others = query && !left_out ? n : n - 1;
  if (k > others)
    fail(KNNG_ERR_RANGE, "k", {.given = k, .limit = others > 0 ? others : -1},
         "k=%lld%s needs at least %llu rows, the data set has %lld", static_cast<long long>(k),
         query && left_out ? " with leave_out" : "",
         static_cast<unsigned long long>(k) + static_cast<unsigned long long>(n - others), static_cast<long long>(n));
}

std::int64_t TaskPlan::tiles() const noexcept {
  if (device.slice == 0) return grid.tiles();
  const auto blocks = [this](std::int64_t rows) { return ceil_div(rows, grid.tile_rows); };
  return (grid.rows / device.slice * blocks(device.slice) + blocks(grid.rows % device.slice)) * grid.column_blocks();
}

TaskPlan plan_task(const Task& task, const Dataset& data, std::int64_t queries, std::int32_t query_dtype,
                   std::int64_t k, std::int64_t held_bytes) {
  TaskPlan plan;
  if (plan_devices(task, data, queries, query_dtype, k, held_bytes, plan)) return plan;
  if (task.keep_on_device)
    fail(KNNG_ERR_OPTION, "graph", "graph=device: device=%s has no memory of its own", task.device.c_str());
  return plan_cpu(task, data, queries, query_dtype, k, checked_add(held_bytes, task.absent_row_bytes, "rows"));
}

void require_budget(const Task& task, const TaskPlan& plan) {
  const auto require = [](const char* name, std::int64_t limit, std::int64_t needed, std::int64_t smallest,
                          const char* advice) {
    if (needed > limit)
      fail(KNNG_ERR_BUDGET, name, {.given = limit, .limit = smallest},
           "%s=%lld is too small: the smallest that works is %lld%s", name, static_cast<long long>(limit),
           static_cast<long long>(smallest), advice);
  };
  const char* const of_files =
      task.rows_in_files && plan.engine ? "; the CPU needs a copy of rows that stay in files, a GPU would not" : "";
  if (task.limited_by_machine && plan.host_bytes > task.max_host_bytes)
    fail(KNNG_ERR_MEMORY, "max_host_bytes", {.given = task.max_host_bytes, .limit = plan.smallest_host},
         "this machine's %lld bytes of memory are too few: at least %lld are needed%s",
         static_cast<long long>(task.max_host_bytes), static_cast<long long>(plan.smallest_host), of_files);
  require("max_host_bytes", task.max_host_bytes, plan.host_bytes, plan.smallest_host, of_files);
  require("max_device_bytes", task.max_device_bytes, plan.device.bytes, plan.device.smallest, "");
}

}  // namespace libknng

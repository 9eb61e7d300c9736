#include "exec/device_task.h"

#include <algorithm>
#include <iterator>

#include "core/dtype.h"
#include "core/error.h"
#include "exec/device_row_loader.h"
#include "exec/distinct.h"
#include "plan/device_plan.h"
#include "refine/bound.h"
#include "refine/sum_terms.h"

namespace libknng {
namespace {

// Below so many coordinates compared the CPU is done before a device is awake.
constexpr double kPays = 0x1p36;

// Beyond so many dimensions few boxes of points can be left out, and a filter of all pairs is faster.
constexpr std::int64_t kBoxesPay = 8;

// Whether engine=tiled has a filter: products, or sums of values that single precision holds.
bool has_filter(const Metric& metric, const knng_backend_problem& p) {
  if (p.columns.dim > kLargestFilterDim) return false;
  return has_product_form(metric.term) ||
         (has_sum_term(metric.term) && p.rows.dtype != KNNG_F64 && p.columns.dtype != KNNG_F64);
}

// Which devices to try: asked for, or perhaps useful.
DeviceSet candidates(const Task& task, const Dataset& data, std::int64_t queries) {
  if (task.device == "cpu") return {};
  if (task.device != "auto") return find_devices(task.device);
  if (!task.row_devices.empty() && task.engine != "fused")
    if (DeviceSet set = usable_devices_of(task.row_devices); set.backend) return set;
  if (task.keep_on_device) {
    if (DeviceSet set = usable_devices(); set.backend) return set;
    fail(KNNG_ERR_DEVICE, "graph", "graph=device: no device can be used: %s", describe_device(1).why_not);
  }
  if (!task.row_devices.empty()) return {};
  const auto rows = static_cast<double>(queries ? queries : data.rows());
  const double work = rows * static_cast<double>(data.rows()) * static_cast<double>(data.dim());
  // Rows are left in files where the host has no memory for them.
  const bool pays = work >= kPays || task.rows_in_files;
  return !pays || task.engine == "fused" ? DeviceSet{} : usable_devices();
}

// Host memory, beside the result, while equal rows are put back (distinct.h): if half of the rows equal others. Of
// graphs that stay on a device there is so little that it is counted for any share.
std::int64_t bytes_to_put_back(const Task& task, std::int64_t rows, std::int64_t k) {
  const Task of_distinct = task_of_distinct(task);
  if (task.keep_on_device) return graph_bytes_of_distinct(of_distinct, rows, k);
  return checked_add(graph_bytes_of_distinct(of_distinct, ceil_div(rows, 2), k + 1), expand_bytes(k, task.threads),
                     "k");
}

// Host memory at its peak. for_distinct: if many of the rows turn out to equal others.
std::int64_t host_bytes(const Task& task, const Dataset& data, std::int64_t rows, bool square, std::int64_t k,
                        std::int64_t held_bytes, std::int64_t session_bytes, bool for_distinct) {
  const std::int64_t entries = checked_mul(rows, k + (task.self_first ? 1 : 0), "k");
  const std::int64_t entry_bytes = task.keep_on_device ? 0 : 8 + find_dtype(task.value_dtype)->bytes;
  const std::int64_t result = checked_add(checked_mul(entries, entry_bytes, "k"), 2 * rows, "k");
  const std::int64_t print = square && !task.rows_are_distinct ? bytes_to_fingerprint(data, task.threads) : 0;
  const bool puts_back = for_distinct && square && distinct_pays(task, rows, rows / 2);
  const std::int64_t distinct =
      puts_back ? checked_add(Groups::bytes(rows) + bytes_to_group(data), bytes_to_put_back(task, rows, k), "k") : 0;
  const std::int64_t working = checked_add(checked_add(result, session_bytes, "k"), std::max(print, distinct), "k");
  return checked_add(held_bytes, working, "rows");
}

}  // namespace

knng_backend_problem describe_problem(const Task& task, const TaskPlan& plan, const Dataset& data, std::int64_t queries,
                                      std::int32_t query_dtype, std::int64_t k) {
  knng_backend_problem p{};
  p.square = queries == 0;
  p.columns = {nullptr, data.rows(), data.dim(), data.dtype(), nullptr, nullptr, 0};
  p.rows = p.square ? p.columns : knng_backend_rows{nullptr, queries, data.dim(), query_dtype, nullptr, nullptr, 0};
  p.self_first = task.self_first;
  p.value_dtype = task.value_dtype;
  const Metric& m = task.metric;
  p.metric = {static_cast<std::int32_t>(m.transform),
              static_cast<std::int32_t>(m.term),
              static_cast<std::int32_t>(m.report),
              task.similarity,
              m.scale,
              m.p,
              largest_magnitude(m, data.dim())};
  p.k = k;
  p.engine = plan.device.engine.c_str();
  p.selector = plan.device.selector.c_str();
  p.by_rows = plan.device.by_rows;
  p.tile_rows = plan.grid.tile_rows;
  p.tile_cols = plan.grid.tile_cols;
  p.capacity = plan.device.capacity;
  p.blocks_held = plan.device.blocks_held;
  p.devices = plan.device.set.devices.data();
  p.device_count = std::ssize(plan.device.set.devices);
  p.max_bytes = task.max_device_bytes;
  if (p.max_bytes != INT64_MAX) p.max_bytes -= task.kept_bytes(p.rows.count, k);
  return p;
}

bool plan_devices(const Task& task, const Dataset& data, std::int64_t queries, std::int32_t query_dtype, std::int64_t k,
                  std::int64_t held_bytes, TaskPlan& plan) {
  const bool asked = task.device != "auto" || task.keep_on_device;
  DeviceTask& device = plan.device;
  device.set = candidates(task, data, queries);
  if (device.set.devices.empty()) return false;
  const knng_backend_seam& backend = *device.set.backend;
  device.engine = task.engine != "auto" ? task.engine : "direct";
  device.selector = task.selector != "auto" ? task.selector : "quick";
  knng_backend_problem problem = describe_problem(task, plan, data, queries, query_dtype, k);
  // Who asks for a selector or columns of a tile asks for tiles.
  std::int64_t rows_at_a_time = 0;
  if (task.selector == "auto" && task.tile_cols == 0) rows_at_a_time = backend.rows_at_a_time(&problem);
  if (task.engine == "auto" && has_filter(task.metric, problem) && (rows_at_a_time == 0 || data.dim() > kBoxesPay)) {
    device.engine = "tiled";
    rows_at_a_time = 0;
  }
  device.by_rows = rows_at_a_time > 0;
  problem = describe_problem(task, plan, data, queries, query_dtype, k);
  constexpr std::int64_t some_id = -1;
  if (queries > 0) problem.leave_out = &some_id;  // whether there are ids to leave out is not known yet
  knng_backend_error error{};
  if (const std::int32_t status = backend.can_run(&problem, &error); status != KNNG_OK) {
    if (asked)
      fail(static_cast<knng_status>(status), error.argument, {.given = error.given, .limit = error.limit}, "%s",
           error.text);
    return false;
  }
  DeviceProblem p;
  p.rows = problem.rows.count;
  p.columns = problem.columns.count;
  p.k = k;
  p.square = queries == 0;
  p.devices = static_cast<int>(device.set.devices.size());
  // INT64_MAX is what a session that cannot be counted takes.
  const std::int64_t free = task.free_device_bytes >= 0 ? task.free_device_bytes : device.set.free_bytes;
  p.max_bytes = std::min({task.max_device_bytes, free, INT64_MAX - 1});
  // Kernels, handles and what else shares the device take from what is free, which nobody limited.
  if (free <= task.max_device_bytes) p.spare_bytes = p.max_bytes / 16;
  p.tile_rows = task.tile_rows;
  p.tile_cols = task.tile_cols;
  p.rows_at_a_time = rows_at_a_time;
  p.pairs_at_a_time = backend.pairs_at_a_time(&problem, KNNG_RUNG_FILTER);
  p.fewest_held = KNNG_BACKEND_FEWEST_HELD;
  if (p.square && (p.tile_rows || p.tile_cols)) {
    if (p.tile_rows && p.tile_cols && p.tile_rows != p.tile_cols)
      fail(KNNG_ERR_OPTION, "tile_cols", {.given = p.tile_cols, .limit = p.tile_rows},
           "tile_cols=%lld with tile_rows=%lld: a device takes square tiles of a graph",
           static_cast<long long>(p.tile_cols), static_cast<long long>(p.tile_rows));
    p.tile_rows = p.tile_cols = std::max(p.tile_rows, p.tile_cols);
  }
  std::int64_t session_host = 0;
  const std::int64_t kept = task.kept_bytes(p.rows, k);  // the first device has it beside its session
  p.session_bytes = [&](std::int64_t tile_rows, std::int64_t tile_cols, std::int64_t capacity, std::int64_t held) {
    problem.tile_rows = tile_rows;
    problem.tile_cols = tile_cols;
    problem.capacity = capacity;
    problem.blocks_held = held;
    const std::int64_t bytes = backend.session_bytes(&problem, &session_host);
    return bytes > INT64_MAX - kept ? INT64_MAX : bytes + kept;
  };
  const DevicePlan made = make_device_plan(p);
  if (!asked && made.bytes > p.max_bytes) return false;
  if (made.bytes > p.max_bytes && made.bytes <= task.max_device_bytes)
    fail(KNNG_ERR_DEVICE, "device", {.given = p.max_bytes, .limit = made.smallest},
         "device=%s: %lld bytes are free on a device, at least %lld are needed", task.device.c_str(),
         static_cast<long long>(p.max_bytes), static_cast<long long>(made.smallest));
  p.session_bytes(made.grid.tile_rows, made.grid.tile_cols, made.capacity, made.blocks_held);  // for the host's part
  plan.grid = made.grid;
  plan.threads = task.threads;
  device.capacity = made.capacity;
  device.blocks_held = made.blocks_held;
  device.bytes = made.bytes;
  device.smallest = made.smallest;
  session_host = checked_mul(session_host, p.devices, "devices");
  plan.smallest_host = host_bytes(task, data, p.rows, p.square, k, held_bytes, session_host, false);
  plan.host_bytes = host_bytes(task, data, p.rows, p.square, k, held_bytes, session_host, true);
  if (plan.host_bytes > task.max_host_bytes) plan.host_bytes = plan.smallest_host;
  plan.held_bytes = held_bytes;
  return true;
}

bool plan_less_memory(Task& task, const Dataset& data, std::int64_t queries, std::int32_t query_dtype, std::int64_t k,
                      TaskPlan& plan) {
  if (plan.device.bytes <= plan.device.smallest) return false;
  Task less = task;
  less.max_device_bytes = std::max(plan.device.bytes / 2, plan.device.smallest);
  TaskPlan made;
  try {
    if (!plan_devices(less, data, queries, query_dtype, k, plan.held_bytes, made)) return false;
  } catch (const Error&) {  // not even so much is free by now
    return false;
  }
  if (made.device.bytes > less.max_device_bytes || made.host_bytes > task.max_host_bytes ||
      made.device.set.devices != plan.device.set.devices)
    return false;
  task = less;
  plan = made;
  return true;
}

}  // namespace libknng

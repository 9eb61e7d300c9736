#include "exec/devices/device_task.h"

#include <algorithm>
#include <iterator>

#include "core/division.h"
#include "core/dtype.h"
#include "core/error.h"
#include "exec/distinct.h"
#include "exec/rows/device_row_loader.h"
#include "plan/device_plan.h"

namespace libknng {
namespace {

// Below so many coordinates compared the CPU is done before a device is awake; and a device more, which has to get all
// points as well, pays from so many on each, some 0.04 s of an H200 (docs/internals/benchmarks-gpu.md, "One GPU").
constexpr double kPays = 0x1p36, kPaysOnEach = 0x1p42;

// Few coordinates compared, of points with few bytes: done before a thread would be of help (Plan::brief). 2,000 x 512,
// a quarter of so many coordinates, take 1.1 ms on an H100 in all.
constexpr double kBriefWork = 0x1p32;
constexpr std::int64_t kBriefBytes = std::int64_t{16} << 20;
// Of a graph of rows that are on devices and that stays there the host has little to do at all: to look for equal rows
// among so many takes a fraction of a millisecond, beside kernels. That is brief where a device needs no longer than an
// eighth of what a tile may take, by the least that it is known to do. 10,000 x 128 take 0.9 ms on an H200, with
// threads 1.1.
constexpr std::int64_t kBriefRowsThere = std::int64_t{1} << 15, kBriefPartOfTile = 8;

// How much more a key of a row that is checked takes than one in a tile of keys, times the share of its best that a
// tile of products reaches: 5 on an H200 for rows as they are, 29 where values are transformed at each use (W2, W3).
constexpr double kCheckedAlone = 32;

// Which devices to try: asked for, or perhaps useful.
DeviceSet candidates(const Task& task, const Dataset& data, std::int64_t queries) {
  if (task.chosen.backend) return task.chosen;
  if (task.device == "cpu") return {};
  const bool on_gpus = task.device == "cuda";
  if (!on_gpus && task.device != "auto") return listed_devices(task.device);
  if (!task.row_devices.empty())
    if (DeviceSet set = usable_devices_of(task.row_devices); set.backend) return set;
  const auto rows = static_cast<double>(queries ? queries : data.rows());
  const double work = rows * static_cast<double>(data.rows()) * static_cast<double>(data.dim());
  const auto most = static_cast<std::int32_t>(std::clamp(work / kPaysOnEach, 1.0, 0x1p30));
  if (on_gpus) return cuda_devices(most);
  if (task.keep_on_device) {
    if (DeviceSet set = usable_devices(most); set.backend) return set;
    fail(KNNG_ERR_DEVICE, "graph", "graph=device: no device can be used: %s", describe_device(1).why_not);
  }
  if (!task.row_devices.empty()) return {};
  // Rows are left in files where the host has no memory for them.
  const bool pays = work >= kPays || task.rows_in_files;
  return pays ? usable_devices(most) : DeviceSet{};
}

// ends_soon: Planning::ends_soon().
bool is_brief(const Task& task, const Dataset& data, const TileGrid& grid, bool ends_soon) {
  if (task.rows_in_files) return false;
  const std::int64_t points = data.rows() + (grid.square ? 0 : grid.rows);
  const auto dim = static_cast<double>(data.dim());
  const double bytes = static_cast<double>(points) * dim * find_dtype(data.dtype())->bytes;
  const bool there = grid.square && task.keep_on_device && static_cast<double>(data.absent_bytes()) == bytes;
  if (there && points <= kBriefRowsThere && ends_soon) return true;
  return grid.pairs() * dim <= kBriefWork && bytes <= static_cast<double>(kBriefBytes);
}

// Host memory, beside the result, while equal rows are put back (distinct.h): if half of the rows equal others. Of
// graphs that stay on a device there is so little that it is counted for any share.
std::int64_t bytes_to_put_back(const Task& task, int threads, std::int64_t rows, std::int64_t k) {
  const Task of_distinct = task_of_distinct(task);
  if (task.keep_on_device) return graph_bytes_of_distinct(of_distinct, rows, k);
  return checked_add(graph_bytes_of_distinct(of_distinct, ceil_div(rows, 2), k + 1), expand_bytes(k, threads), "k");
}

// Host memory at its peak. for_distinct: if many of the rows turn out to equal others.
std::int64_t host_bytes(const Task& task, int threads, const Dataset& data, std::int64_t rows, bool square,
                        std::int64_t k, std::int64_t held_bytes, std::int64_t session_bytes, bool for_distinct) {
  const std::int64_t entries = checked_mul(rows, k + (task.self_first ? 1 : 0), "k");
  const std::int64_t entry_bytes = task.keep_on_device ? 0 : 8 + find_dtype(task.value_dtype)->bytes;
  const std::int64_t result = checked_add(checked_mul(entries, entry_bytes, "k"), 2 * rows, "k");
  const std::int64_t print = square && !task.rows_are_distinct ? bytes_to_fingerprint(data, threads) : 0;
  const bool puts_back = for_distinct && square && distinct_pays(task, rows, rows / 2);
  const std::int64_t distinct = puts_back ? checked_add(Groups::bytes(rows) + bytes_to_group(data),
                                                        bytes_to_put_back(task, threads, rows, k), "k")
                                          : 0;
  const std::int64_t working = checked_add(checked_add(result, session_bytes, "k"), std::max(print, distinct), "k");
  return checked_add(held_bytes, working, "rows");
}

}  // namespace

knng_backend_problem describe_problem(const Task& task, const TaskPlan& plan, const Dataset& data, std::int64_t queries,
                                      std::int32_t query_dtype, std::int64_t k) {
  knng_backend_problem p{};
  p.square = queries == 0;
  p.columns = {nullptr, data.rows(), data.dim(), data.work_dtype(), nullptr, nullptr, 0};
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
  p.checked_count = plan.checked;
  return p;
}

namespace {

// A problem for devices that are chosen, and the means to plan it.
class Planning final : private SessionMemory {
 public:
  Planning(const Task& task, const Dataset& data, std::int64_t queries, std::int32_t query_dtype, std::int64_t k,
           TaskPlan& plan)
      : task_(task), data_(data), queries_(queries), query_dtype_(query_dtype), k_(k), plan_(plan) {}

  // Whether devices can do it, with rows that are answered or with tiles; if not, why.
  std::int32_t choose(bool by_rows, knng_backend_error& error) {
    DeviceTask& device = plan_.device;
    device.by_rows = by_rows;
    device.engine = task_.engine;
    device.capacity = device.blocks_held = 0;  // of a plan before this one
    describe();
    if (task_.engine == "auto") problem_.engine = nullptr;
    const std::int32_t status = backend().find_engine(&problem_, &engine_, &error);
    if (status != KNNG_OK) return status;
    device.engine = engine_.name;
    device.all_keys = engine_.all_keys != 0;
    device.redoes_by_lists = engine_.redoes_by_lists != 0;
    describe();
    return KNNG_OK;
  }
  // Whether rows are answered straight away, because that is the fastest way. Who asks for a selector or columns of a
  // tile asks for tiles.
  bool answers_rows() {
    knng_backend_error ignored{};
    return task_.selector == "auto" && task_.tile_cols == 0 && choose(true, ignored) == KNNG_OK;
  }
  // As it was chosen.
  DevicePlan make(std::int64_t free_bytes) {
    DeviceProblem p;
    p.rows = problem_.rows.count;
    p.columns = problem_.columns.count;
    p.k = k_;
    p.square = queries_ == 0;
    p.devices = static_cast<int>(problem_.device_count);
    // INT64_MAX is what a session that cannot be counted takes.
    p.max_bytes = std::min({task_.max_device_bytes, free_bytes, INT64_MAX - 1});
    // Kernels, handles and what else shares the device take from what is free, which nobody limited.
    if (free_bytes <= task_.max_device_bytes) p.spare_bytes = p.max_bytes / 16;
    p.tile_rows = task_.tile_rows;
    p.tile_cols = task_.tile_cols;
    p.rows_at_a_time = engine_.rows_at_a_time;
    p.most_pairs = engine_.most_pairs;
    const double pairs = static_cast<double>(p.rows) * static_cast<double>(p.columns);
    p.few_tiles_will_do = p.devices == 1 && pairs <= static_cast<double>(engine_.few_tiles_to);
    p.candidates = engine_.candidates;
    p.pairs_at_a_time = backend().pairs_at_a_time(&problem_, KNNG_RUNG_FILTER);
    p.fewest_held = KNNG_BACKEND_FEWEST_HELD;
    p.wants_smallest = task_.wants_smallest;
    pairs_at_a_time_ = p.pairs_at_a_time;
    keys_at_a_time_ = backend().pairs_at_a_time(&problem_, KNNG_RUNG_FP64);
    pairs_per_key_ = kCheckedAlone * static_cast<double>(pairs_at_a_time_) / static_cast<double>(keys_at_a_time_);
    if (p.square && (p.tile_rows || p.tile_cols)) {
      if (p.tile_rows && p.tile_cols && p.tile_rows != p.tile_cols)
        fail(KNNG_ERR_OPTION, "tile_cols", {.given = p.tile_cols, .limit = p.tile_rows},
             "tile_cols=%lld with tile_rows=%lld: a device takes square tiles of a graph",
             static_cast<long long>(p.tile_cols), static_cast<long long>(p.tile_rows));
      p.tile_rows = p.tile_cols = std::max(p.tile_rows, p.tile_cols);
    }
    kept_bytes_ = task_.kept_bytes(p.rows, k_);
    return make_device_plan(p, *this);
  }
  // Host memory that sessions of such a plan take.
  std::int64_t host_bytes(const DevicePlan& made) {
    const SessionShape shape{made.slice > 0 ? made.slice : made.grid.rows, made.grid.tile_rows, made.grid.tile_cols,
                             made.capacity, made.blocks_held};
    const auto of = [&](const knng_backend_problem& p) { return session_bytes(p, shape).host; };
    std::int64_t session = of(problem_);
    if (problem_.square && !task_.rows_are_distinct) {  // or those that make the graph of distinct rows
      knng_backend_problem distinct = problem_;
      distinct.k += 1;
      distinct.self_first = 0;
      distinct.value_dtype = KNNG_F64;
      session = std::max(session, of(distinct));
    }
    const std::int64_t sessions = checked_mul(session, problem_.device_count, "devices");
    // Numbers of rows: of a slice, and of those that are looked at again, of all and of a slice.
    return checked_add(sessions, 8 * made.slice + checked_mul(checked(made.blocks_held), 16, "check_rows"), "rows");
  }
  // Whether all pairs, and all keys of lists, take no longer than a part of a tile may.
  bool ends_soon(const DevicePlan& made) const {
    const double keys = static_cast<double>(made.grid.rows) * static_cast<double>(made.capacity);
    return kBriefPartOfTile * made.grid.pairs() <= static_cast<double>(pairs_at_a_time_) &&
           kBriefPartOfTile * keys <= static_cast<double>(keys_at_a_time_);
  }
  // Rows that are looked at again, if so many blocks of points are held.
  std::int64_t checked(std::int64_t held) const {
    if (plan_.device.all_keys) return 0;
    // How much boxes leave out is the data's matter; and where points come in blocks all keys of these rows are kept.
    const bool few = plan_.device.by_rows || held > 0;
    const std::int64_t asked = few && task_.check_rows == kCheckedByCost ? kFewestChecked : task_.check_rows;
    const TileGrid all{problem_.rows.count, problem_.columns.count, 1, 1, queries_ == 0};
    return rows_to_check(asked, all.rows, all.pairs(), all.columns, pairs_per_key_);
  }

 private:
  const knng_backend_seam& backend() const { return *plan_.device.set.backend; }

  void describe() {
    problem_ = describe_problem(task_, plan_, data_, queries_, query_dtype_, k_);
    // Whether there are ids to leave out is not known yet.
    if (queries_ > 0) problem_.leave_out = &kSomeId;
  }

  // A session's, and on the first device what it keeps beside.
  std::int64_t bytes(const SessionShape& shape) const override {
    const std::int64_t session = session_bytes(problem_, shape).device;
    return session > INT64_MAX - kept_bytes_ ? INT64_MAX : session + kept_bytes_;
  }

  struct Bytes {
    std::int64_t device, host;
  };
  Bytes session_bytes(knng_backend_problem problem, const SessionShape& shape) const {
    if (shape.rows < problem.rows.count) {  // a slice of them, which are queries that leave themselves out
      problem.square = 0;
      problem.rows.count = shape.rows;
      problem.leave_out = &kSomeId;
    }
    problem.tile_rows = shape.tile_rows;
    problem.tile_cols = shape.tile_cols;
    problem.capacity = shape.capacity;
    problem.blocks_held = shape.blocks_held;
    problem.checked_count = SpreadRows(checked(shape.blocks_held), problem_.rows.count).most_in(shape.rows);
    Bytes bytes{};
    bytes.device = backend().session_bytes(&problem, &bytes.host);
    return bytes;
  }

  static constexpr std::int64_t kSomeId = -1;
  const Task& task_;
  const Dataset& data_;
  const std::int64_t queries_;
  const std::int32_t query_dtype_;
  const std::int64_t k_;
  TaskPlan& plan_;
  knng_backend_problem problem_{};
  knng_backend_engine engine_{};
  std::int64_t kept_bytes_ = 0;
  std::int64_t pairs_at_a_time_ = 0, keys_at_a_time_ = 0;
  double pairs_per_key_ = 1;
};

}  // namespace

bool plan_devices(const Task& task, const Dataset& data, std::int64_t queries, std::int32_t query_dtype, std::int64_t k,
                  std::int64_t held_bytes, TaskPlan& plan) {
  const bool asked = task.device != "auto" || task.keep_on_device || task.chosen.backend;
  DeviceTask& device = plan.device;
  device.set = candidates(task, data, queries);
  if (!device.set.backend) return false;
  device.selector = task.selector != "auto" ? task.selector : "quick";
  const std::int64_t free = task.free_device_bytes >= 0 ? task.free_device_bytes : device.set.free_bytes;
  const std::int64_t most = std::min({task.max_device_bytes, free, INT64_MAX - 1});
  Planning planning(task, data, queries, query_dtype, k, plan);
  knng_backend_error error{};
  const auto make = [&](bool by_rows, DevicePlan& made) {
    const std::int32_t status = planning.choose(by_rows, error);
    if (status == KNNG_OK) made = planning.make(free);
    return status;
  };
  DevicePlan made;
  const bool answered = planning.answers_rows();
  std::int32_t status = make(answered, made);
  // The points that answers are searched for in stay on the device: where they cannot, tiles are a way.
  if (answered && status == KNNG_OK && (made.bytes > most || task.wants_smallest)) {
    DevicePlan tiles;
    const bool has_tiles = make(false, tiles) == KNNG_OK;
    const std::int64_t smallest = has_tiles ? std::min(made.smallest, tiles.smallest) : made.smallest;
    if (has_tiles && made.bytes > most && tiles.bytes < made.bytes)
      made = tiles;
    else
      status = planning.choose(answered, error);
    made.smallest = smallest;
  }
  if (status != KNNG_OK) {
    if (asked)
      fail(static_cast<knng_status>(status), error.argument, {.given = error.given, .limit = error.limit}, "%s",
           error.text);
    return false;
  }
  if (!asked && (made.bytes > most || made.undersized)) return false;
  if (made.bytes > most && made.bytes <= task.max_device_bytes)
    fail(KNNG_ERR_DEVICE, "device", {.given = most, .limit = made.smallest},
         "device=%s: %lld bytes are free on a device, at least %lld are needed", task.device.c_str(),
         static_cast<long long>(most), static_cast<long long>(made.smallest));
  plan.grid = made.grid;
  plan.brief = is_brief(task, data, made.grid, planning.ends_soon(made));
  const int threads = task.threads();
  plan.threads = plan.brief && task.asked_threads == 0 ? 1 : threads;
  device.slice = made.slice;
  device.capacity = made.capacity;
  device.blocks_held = made.blocks_held;
  device.bytes = made.bytes;
  device.smallest = made.smallest;
  device.undersized = made.undersized;
  plan.checked = planning.checked(made.blocks_held);
  const std::int64_t session_host = planning.host_bytes(made);
  const std::int64_t rows = made.grid.rows;
  const bool square = queries == 0;
  plan.smallest_host = host_bytes(task, threads, data, rows, square, k, held_bytes, session_host, false);
  plan.host_bytes = host_bytes(task, threads, data, rows, square, k, held_bytes, session_host, true);
  if (plan.host_bytes > task.max_host_bytes) plan.host_bytes = plan.smallest_host;
  plan.held_bytes = held_bytes;
  return true;
}

std::optional<SmallerPlan> plan_less_memory(const Request& request, const Task& task, const TaskPlan& plan) {
  SmallerPlan smaller{task, {}};
  Task& less = smaller.task;
  less.chosen = usable_devices_of(plan.device.set.devices);  // with what is free by now
  less.free_device_bytes = -1;
  if (less.chosen.devices != plan.device.set.devices) return std::nullopt;
  const auto make_plan = [&](bool with_smallest) {
    less.wants_smallest = with_smallest;
    plan_devices(less, request.data, request.query_count(), request.query_dtype(), request.k, plan.held_bytes,
                 smaller.plan);
  };
  try {
    make_plan(true);
    const std::int64_t smallest = smaller.plan.device.smallest;
    if (plan.device.bytes <= smallest) return std::nullopt;
    less.max_device_bytes = std::max(plan.device.bytes / 2, smallest);
    make_plan(false);
  } catch (const Error&) {  // not even so much is free by now
    return std::nullopt;
  }
  if (smaller.plan.device.bytes > less.max_device_bytes || smaller.plan.host_bytes > task.max_host_bytes)
    return std::nullopt;
  return smaller;
}

}  // namespace libknng

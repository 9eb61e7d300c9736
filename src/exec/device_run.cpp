#include "exec/device_run.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <exception>
#include <future>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "core/first_failure.h"
#include "core/float_env.h"
#include "core/stopwatch.h"
#include "exec/device_task.h"
#include "exec/emit.h"
#include "exec/host_copy.h"
#include "exec/host_lists.h"
#include "exec/host_rows.h"
#include "exec/session_rows.h"
#include "plan/device_plan.h"
#include "plan/integer_products.h"
#include "prepare/canonical_rows.h"

namespace libknng {
namespace {

// Rows at most that are redone with all their pairs, or refined, in one call: a stop is noticed between calls.
constexpr std::int64_t kRedoneTogether = 256, kRefinedTogether = std::int64_t{1} << 17;
// With fewer unproved rows than this share, all their pairs are evaluated canonically: less than another pass costs.
constexpr std::int64_t kFewUnproved = 256;
// A sample with more unproved rows than this share tells that the tiles of all pairs will have to be evaluated again.
// Of 128 rows three are above it; where all rows together are just at the limit of few, as many are found once in 70
// times.
constexpr double kHopeless = 1.0 / 64;

// What all sessions share.
struct Job {
  const knng_backend_seam& backend;
  const Metric& metric;
  const Dataset& data;
  const Dataset* queries;
  const FirstFailure& reading;
  knng_backend_problem problem;
};

// A session on one device; every call that fails throws.
class Session {
 public:
  Session(const Job& job, std::int32_t device) : job_(job), device_(device), session_(nullptr, job.backend.close) {
    knng_backend_session* opened = nullptr;
    const std::int32_t status = job.backend.open(&opened, device, &job.problem, &error_);
    session_.reset(opened);
    require(status);
  }

  void begin(std::int32_t rung) { require(job_.backend.begin(session_.get(), rung, &error_)); }
  double sample() {
    double unproved = 0;
    require(job_.backend.sample(session_.get(), &unproved, &error_));
    return unproved;
  }
  void run(const Tile& t) {
    require(job_.backend.tile(session_.get(), t.first_row, t.rows, t.first_column, t.columns, &error_));
  }
  void settle() { require(job_.backend.settle(session_.get(), &error_)); }
  void heed(const Session& from) { require(job_.backend.heed(session_.get(), from.session_.get(), &error_)); }
  std::int64_t blocks_held() const { return job_.backend.blocks_held(session_.get()); }
  void begin_keys() { require(job_.backend.begin_keys(session_.get(), &error_)); }
  void keys(std::int64_t first_row, std::int64_t rows, std::int64_t first_column, std::int64_t columns) {
    require(job_.backend.keys(session_.get(), first_row, rows, first_column, columns, &error_));
  }
  void absorb(const Session& from, std::int64_t first, std::int64_t count) {
    require(job_.backend.absorb(session_.get(), from.session_.get(), first, count, &error_));
  }
  void refine(std::int64_t first, std::int64_t count, knng_backend_result& result) {
    require(job_.backend.refine(session_.get(), first, count, &result, &error_));
  }
  void redo(const std::int64_t* rows, std::int64_t count, knng_backend_result& result) {
    require(job_.backend.redo(session_.get(), rows, count, &result, &error_));
  }
  void answer(std::int64_t first, std::int64_t count, knng_backend_result& result) {
    require(job_.backend.answer(session_.get(), first, count, &result, &error_));
  }
  void quiet() noexcept { job_.backend.quiet(session_.get()); }
  std::int64_t peak_bytes() const { return job_.backend.peak_bytes(session_.get()); }

 private:
  void require(std::int32_t status) const {
    if (status == KNNG_OK) return;
    job_.reading.rethrow();  // why rows did not come
    if (error_.of_rows == 1) refuse(job_.data, "rows");
    if (error_.of_rows == 2) refuse(*job_.queries, "q");
    fail(static_cast<knng_status>(status), error_.argument,
         {.row = error_.row, .given = error_.given, .limit = error_.limit}, "%s:%d: %s", job_.backend.name, device_,
         error_.text);
  }

  [[noreturn]] void refuse(const Dataset& data, const char* what) const {
    if (!data.on_devices()) refuse_row(data, job_.metric, error_.row, what);
    std::vector<double> x(static_cast<std::size_t>(data.dim()));
    host_rows(data, data.original(error_.row), 1, nullptr, nullptr, what).load(0, x.data());
    refuse_row(x, job_.metric, data.original(error_.row), what);
  }

  const Job& job_;
  std::int32_t device_;
  std::unique_ptr<knng_backend_session, void (*)(knng_backend_session*)> session_;
  knng_backend_error error_{};
};

// What sessions ask of a call: whether anybody wants more of it. When one of them has failed nobody does.
struct Wanted {
  const SessionRows& rows;
  std::atomic<bool> failed{false};

  static std::int32_t ask(const void* user) {
    const auto& wanted = *static_cast<const Wanted*>(user);
    return !wanted.failed.load() && wanted.rows.wanted();
  }
};

// The devices at work, each with a thread, which has a team of its own for copies.
class Team {
 public:
  Team(const Job& job, const std::vector<std::int32_t>& devices, Wanted& wanted)
      : wanted_(wanted), sessions_(devices.size()) {
    each([&](std::size_t i) { sessions_[i] = std::make_unique<Session>(job, devices[i]); });
  }

  // A failure may have left work of some of them that reads others' memory.
  ~Team() {
    if (sessions_.size() > 1)
      for (const auto& session : sessions_) session->quiet();
  }
  Team(const Team&) = delete;
  Team& operator=(const Team&) = delete;

  std::size_t size() const noexcept { return sessions_.size(); }
  Session& operator[](std::size_t i) noexcept { return *sessions_[i]; }

  // Calls f(i) for each device; of several failures the first device's comes out, but for those that are another's.
  template <class F>
  void each(F&& f) {
    std::vector<std::exception_ptr> failures(sessions_.size());
    const auto run = [&](std::size_t i) {
      const FloatEnv env;
      try {
        f(i);
      } catch (const Error& e) {
        if (!(e.code() == KNNG_ERR_CANCELLED && failed())) failures[i] = std::current_exception();
        wanted_.failed.store(true);
      } catch (...) {
        failures[i] = std::current_exception();
        wanted_.failed.store(true);
      }
    };
    {
      std::vector<std::jthread> others;
      others.reserve(sessions_.size());
      try {
        for (std::size_t i = 1; i < sessions_.size(); ++i) others.emplace_back(run, i);
      } catch (...) {
        wanted_.failed.store(true);  // those that have begun end early
        throw;
      }
      run(0);
    }
    for (const std::exception_ptr& failure : failures)
      if (failure) std::rethrow_exception(failure);
  }
  // Whether a device has failed: the others need not go on.
  bool failed() const noexcept { return wanted_.failed.load(); }

 private:
  Wanted& wanted_;
  std::vector<std::unique_ptr<Session>> sessions_;
};

// Rows [first, first + count) of the i-th of `parts` equal shares: of whole blocks, if points come in blocks.
struct Share {
  std::int64_t first, count;
  Share(const TaskPlan& plan, std::size_t i, std::size_t parts)
      : first(begin_of(plan, i, parts)), count(begin_of(plan, i + 1, parts) - first) {}

 private:
  static std::int64_t begin_of(const TaskPlan& plan, std::size_t i, std::size_t parts) {
    const std::int64_t rows = plan.grid.rows, grain = plan.device.blocks_held > 0 ? plan.grid.tile_rows : 1;
    const std::int64_t grains = ceil_div(rows, grain), n = static_cast<std::int64_t>(parts);
    const auto at = static_cast<std::int64_t>(i);
    return std::min((grains / n * at + grains % n * at / n) * grain, rows);
  }
};

// Counts of the devices' results, each its own while it works.
class Results {
 public:
  Results(std::size_t devices, Graph& graph)
      : parts_(devices, {graph.kept_on_device() ? graph.on_device.ids : graph.ids.data(),
                         graph.kept_on_device() ? graph.on_device.values : graph.values.data(), graph.on_device.device,
                         graph.ties.data(), graph.proof.data(), 0, 0, 0, INT64_MAX}) {}

  knng_backend_result& operator[](std::size_t i) noexcept { return parts_[i]; }

  knng_backend_result total() const {
    knng_backend_result sum = parts_.front();
    for (std::size_t i = 1; i < parts_.size(); ++i) {
      sum.keys += parts_[i].keys;
      sum.violations += parts_[i].violations;
      sum.candidates = std::max(sum.candidates, parts_[i].candidates);
      sum.too_large = std::min(sum.too_large, parts_[i].too_large);
    }
    return sum;
  }

 private:
  std::vector<knng_backend_result> parts_;
};

// What a step of the ladder is called: each once, so that progress under a name never goes back.
struct Step {
  std::int32_t rung;
  const char *distances, *keys, *refine;
};
constexpr std::array<Step, 3> kLadder = {{
    {KNNG_RUNG_FILTER, "distances", "keys", "refine"},
    {KNNG_RUNG_TWO_PIECE, "distances again, in two pieces", "keys after two pieces", "refine after two pieces"},
    {KNNG_RUNG_FP32, "distances again, in fp32", "keys after fp32", "refine after fp32"},
}};
// Metrics without products: sums in single precision, then canonical keys.
constexpr std::array<Step, 2> kSums = {{
    {KNNG_RUNG_FILTER, "distances", "keys", "refine"},
    {KNNG_RUNG_FP64, "distances again, in fp64", "keys after fp64", "refine after fp64"},
}};
constexpr std::array<Step, 1> kDirect = {{{KNNG_RUNG_FP64, "distances", "keys", "refine"}}};

std::span<const Step> ladder_of(const Metric& metric, const knng_backend_problem& p) {
  if (std::string_view(p.engine) == "direct") return kDirect;
  if (!has_product_form(metric.term)) return kSums;
  // What exact products do not prove is for want of room in lists: no other precision does.
  const bool exact = has_integer_products(metric, p.rows.dtype, p.columns.dtype, p.columns.dim);
  return std::span<const Step>(kLadder).first(exact ? 1 : kLadder.size());
}

// Row blocks that a device should have in hand at a time: beside them it holds the columns that they meet and the next.
std::int64_t band_of(Session& session, const TileGrid& grid) {
  const std::int64_t held = session.blocks_held();
  return held == 0 ? 1 : grid.square ? std::max<std::int64_t>(held - 2, 1) : grid.row_blocks();
}

// Memory for the result, made as soon as it is clear that there will be one: while devices work.
class Output {
 public:
  Output(const Task& task, int threads, const DeviceSet& set, const Ask& ask, Budget* budget, Graph& graph)
      : task_(task), threads_(threads), set_(set), ask_(ask), budget_(budget), graph_(graph) {}

  // Whether nothing more is to be done, as far as is known; one thread asks.
  bool unwanted(bool wait) {
    if (results_ || unwanted_.load()) return unwanted_.load();
    const Verdict verdict = ask_(wait);
    if (verdict == Verdict::stop) unwanted_.store(true);
    if (verdict != Verdict::go_on) return unwanted_.load();
    allocate_result(task_, budget_, graph_);
    if (task_.keep_on_device) graph_.on_device = make_lists(set_, graph_, kept_bytes());
    // Pages of a large result are made by several threads.
    touched_ = std::async(std::launch::async, [this] {
      touch_bytes(graph_.ids.data(), graph_.ids.bytes(), threads_);
      touch_bytes(graph_.values.data(), graph_.values.bytes(), threads_);
    });
    results_.emplace(set_.devices.size(), graph_);
    return false;
  }
  // For other threads.
  bool known_unwanted() const noexcept { return unwanted_.load(); }
  // On the first device.
  std::int64_t kept_bytes() const { return task_.kept_bytes(graph_.rows, graph_.k()); }
  Results& results() {
    if (touched_.valid()) touched_.get();
    return *results_;
  }

 private:
  const Task& task_;
  int threads_;
  const DeviceSet& set_;
  const Ask& ask_;
  Budget* budget_;
  Graph& graph_;
  std::atomic<bool> unwanted_{false};
  std::optional<Results> results_;
  std::future<void> touched_;
};

// Tiles after which a device takes over the cut-offs of the others: copies of them are nothing beside so many tiles.
constexpr std::int64_t kTilesBetweenCutoffs = 16;

void heed_others(Team& team, std::size_t i) {
  for (std::size_t other = 0; other < team.size(); ++other)
    if (other != i) team[i].heed(team[other]);
}

// Tiles of a queue, on whichever device is free; or some of them, if the output is found unwanted.
void take_tiles(Team& team, const TileGrid& grid, TileQueue& queue, Output& output, Monitor& monitor) {
  team.each([&](std::size_t i) {
    std::int64_t done = 0;
    for (Tile t; !monitor.stopped() && !team.failed() && queue.next(t);) {
      if (output.known_unwanted()) break;
      team[i].run(t);
      if (i == 0 && output.unwanted(false)) break;  // asked while the device is at it
      if (++done % kTilesBetweenCutoffs == 0) heed_others(team, i);
      monitor.advance(grid.pairs_of(t));
    }
    team[i].settle();
  });
  monitor.check();
}

// Tiles of all pairs, in one precision. Those on the diagonal give every row a cut-off, and with the cut-offs of both
// sides one read of a tile is enough for both; points that come in blocks would come once more for it.
void run_tiles(Team& team, const TileGrid& grid, const char* stage, Output& output, Monitor& monitor) {
  const std::int64_t band = band_of(team[0], grid);
  const bool diagonal_first = grid.square && team[0].blocks_held() == 0;
  monitor.stage(stage, grid.pairs());
  if (diagonal_first) {
    TileQueue diagonal(grid, band, TileQueue::Part::diagonal);
    take_tiles(team, grid, diagonal, output, monitor);
    if (output.known_unwanted()) return;
    team.each([&](std::size_t i) { heed_others(team, i); });
  }
  TileQueue rest(grid, band, diagonal_first ? TileQueue::Part::beside_diagonal : TileQueue::Part::all);
  take_tiles(team, grid, rest, output, monitor);
}

// Such that a stop is soon; blocks of points were planned so for the first rung, and have the size of their tiles.
TileGrid tiles_of_rung(const Job& job, const TaskPlan& plan, std::int32_t rung) {
  if (plan.device.blocks_held > 0) return plan.grid;
  return in_tiles_of(plan.grid, job.backend.pairs_at_a_time(&job.problem, rung));
}

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

// Each device takes the lists of a share of the rows from all others.
void join_lists(Team& team, const TaskPlan& plan) {
  if (team.size() == 1) return;
  team.each([&](std::size_t i) {
    const Share share(plan, i, team.size());
    for (std::size_t other = 0; other < team.size(); ++other)
      if (other != i) team[i].absorb(team[other], share.first, share.count);
  });
}

// Where points come block by block: the keys of what each device's share of the rows has found. A device alone, whose
// share are all points, has both blocks of a tile for the lists of either.
void evaluate_lists(Team& team, const TaskPlan& plan, const char* stage, Monitor& monitor) {
  const TileGrid& grid = plan.grid;
  const bool both = grid.square && team.size() == 1;
  monitor.stage(stage, both ? grid.pairs() : static_cast<double>(grid.rows) * static_cast<double>(grid.columns));
  team.each([&](std::size_t i) {
    team[i].begin_keys();
    const Share share(plan, i, team.size());
    const TileGrid mine = {share.count, grid.columns, grid.tile_rows, grid.tile_cols, both};
    TileQueue queue(mine, band_of(team[i], grid));
    for (Tile t; !monitor.stopped() && !team.failed() && queue.next(t);) {
      const std::int64_t first_row = share.first + t.first_row;
      team[i].keys(first_row, t.rows, t.first_column, t.columns);
      if (both && t.row_block != t.column_block) team[i].keys(t.first_column, t.columns, first_row, t.rows);
      monitor.advance(mine.pairs_of(t));
    }
  });
  monitor.check();
}

void refine_lists(Team& team, const TaskPlan& plan, const char* stage, Results& results, Monitor& monitor) {
  monitor.stage(stage, static_cast<double>(plan.grid.rows));
  team.each([&](std::size_t i) {
    const Share share(plan, i, team.size());
    for (std::int64_t done = 0; done < share.count && !monitor.stopped() && !team.failed();) {
      const std::int64_t count = std::min(kRefinedTogether, share.count - done);
      team[i].refine(share.first + done, count, results[i]);
      done += count;
      monitor.advance(static_cast<double>(count));
    }
  });
  monitor.check();
}

std::int64_t count_unproved(const Graph& graph) {
  return std::count(graph.proof.begin(), graph.proof.end(), static_cast<std::uint8_t>(Proof::none));
}

// Hands out the rows without a proof, in order. Who has got rows may prove them meanwhile: it only looks ahead.
class UnprovedQueue {
 public:
  using Rows = std::array<std::int64_t, kRedoneTogether>;
  explicit UnprovedQueue(const Graph& graph) : graph_(graph) {}

  // How many were put into `rows`; 0 at the end.
  std::int64_t next(Rows& rows) {
    const std::lock_guard lock(mutex_);
    std::size_t count = 0;
    for (; row_ < graph_.rows && count < rows.size(); ++row_)
      if (graph_.proof[row_] == static_cast<std::uint8_t>(Proof::none)) rows[count++] = row_;
    return static_cast<std::int64_t>(count);
  }

 private:
  const Graph& graph_;
  std::mutex mutex_;
  std::int64_t row_ = 0;
};

void redo_rows(Team& team, const Graph& graph, std::int64_t unproved, Results& results, Monitor& monitor) {
  monitor.stage("redo", static_cast<double>(unproved));
  UnprovedQueue queue(graph);
  team.each([&](std::size_t i) {
    UnprovedQueue::Rows rows{};
    while (!monitor.stopped() && !team.failed()) {
      const std::int64_t count = queue.next(rows);
      if (count == 0) break;
      team[i].redo(rows.data(), count, results[i]);
      monitor.advance(static_cast<double>(count));
    }
  });
  monitor.check();
}

// Tiles of all pairs in one precision after the other, until few rows or none are left without a proof; false if the
// output is unwanted.
bool climb(Team& team, const Job& job, const TaskPlan& plan, Output& output, Monitor& monitor, Graph& graph) {
  const std::int64_t n = graph.rows;
  const bool direct = plan.device.engine == "direct";
  Stopwatch watch;
  double seconds_tile = 0, seconds_merge = 0, seconds_refine = 0, tiles = 0;
  std::int64_t unproved = 0, redone = 0;
  const std::span<const Step> ladder = ladder_of(job.metric, job.problem);
  for (const Step& step : ladder) {
    if (step.rung == KNNG_RUNG_FP32) graph.stats[Stat::redone_fp32] = static_cast<double>(unproved);
    if (step.rung == KNNG_RUNG_FP64 && !direct) redone = n;  // the others, too, are proved by keys alone now
    team.each([&](std::size_t i) { team[i].begin(step.rung); });
    if (step.rung != ladder.back().rung && team[0].sample() > kHopeless) continue;
    const TileGrid grid = tiles_of_rung(job, plan, step.rung);
    run_tiles(team, grid, step.distances, output, monitor);
    tiles += static_cast<double>(grid.tiles());
    if (output.unwanted(true)) return false;
    seconds_tile += watch.lap();
    join_lists(team, plan);
    seconds_merge += watch.lap();
    if (plan.device.blocks_held > 0) evaluate_lists(team, plan, step.keys, monitor);
    refine_lists(team, plan, step.refine, output.results(), monitor);
    seconds_refine += watch.lap();
    unproved = count_unproved(graph);
    if (unproved <= n / kFewUnproved) break;
  }
  if (unproved > 0) redo_rows(team, graph, unproved, output.results(), monitor);
  graph.stats[Stat::tiles] = tiles;
  graph.stats[Stat::seconds_refine] = seconds_refine + watch.lap();
  graph.stats[Stat::seconds_tile] = seconds_tile;
  graph.stats[Stat::seconds_merge] = seconds_merge;
  graph.stats[Stat::redone_fp64] = static_cast<double>(std::max(redone, unproved));
  graph.stats[Stat::refined] = direct ? 0 : static_cast<double>(n);
  return true;
}

// Where a graph was made, as in "cuda:0,1: NVIDIA H200".
std::string device_text(const DeviceSet& set) {
  std::string text = set.backend->name;
  char separator = ':';
  for (const std::int32_t device : set.devices) {
    text.push_back(separator);
    text.append(std::to_string(device));
    separator = ',';
  }
  // A device's own name may begin with its number, as it does in a list of devices.
  const std::string_view name = set.name;
  const std::string number = text.substr(0, text.find(','));
  const bool numbered = name.starts_with(number) && name.substr(number.size()).starts_with(": ");
  return text.append(numbered ? "" : ": ").append(numbered ? name.substr(number.size()) : name);
}

}  // namespace

bool run_on_devices(const Task& task, const TaskPlan& plan, const Dataset& data, const Dataset* queries,
                    const std::int64_t* leave_out, std::int64_t k, const Ask& ask, Budget* budget, Monitor& monitor,
                    Graph& graph) {
  Stopwatch watch;
  const DeviceSet& set = plan.device.set;
  const std::int64_t n = graph.rows;
  FirstFailure reading;
  Job job{*set.backend,
          task.metric,
          data,
          queries,
          reading,
          describe_problem(task, plan, data, queries ? queries->rows() : 0, queries ? queries->dtype() : 0, k)};
  // Half of the threads, all devices together: the fingerprint takes the others, and later the result's memory.
  const int half = std::max(1, plan.threads / 2);
  const int copiers = std::max(1, half / static_cast<int>(set.devices.size()));
  const SessionRows rows(data, copiers, monitor, reading),
      query_rows(queries ? *queries : data, copiers, monitor, reading);
  rows.describe(job.problem.columns);
  query_rows.describe(job.problem.rows);
  job.problem.copy = &SessionRows::copy;
  job.problem.copy_user = &rows;
  Wanted wanted{rows};
  job.problem.wanted = &Wanted::ask;
  job.problem.wanted_user = &wanted;
  job.problem.leave_out = leave_out;
  std::int64_t session_host = 0;
  job.backend.session_bytes(&job.problem, &session_host);
  const Charge charge(budget, checked_mul(session_host, static_cast<std::int64_t>(set.devices.size()), "devices"));

  monitor.stage("prepare", 1);
  Team team(job, set.devices, wanted);
  graph.stats[Stat::seconds_copy] = watch.lap();
  Output output(task, half, set, ask, budget, graph);
  if (plan.device.by_rows) {
    if (output.unwanted(true)) return false;
    answer_rows(team, plan.grid, output.results(), monitor);
    graph.stats[Stat::tiles] = static_cast<double>(plan.grid.tiles());
    graph.stats[Stat::seconds_tile] = watch.lap();
  } else if (!climb(team, job, plan, output, monitor, graph)) {
    return false;
  }

  const knng_backend_result total = output.results().total();
  if (total.violations > 0)
    fail(KNNG_ERR_INTERNAL, "bound_violations", {.given = total.violations},
         "%lld keys lay outside their proved bounds: please report this with the data",
         static_cast<long long>(total.violations));
  if (const std::int64_t left = count_unproved(graph); left > 0)
    fail(KNNG_ERR_INTERNAL, "device", {.given = left}, "%lld rows were left without a proof",
         static_cast<long long>(left));
  if (total.too_large < n) refuse_large_value(task, total.too_large, nullptr, graph);
  graph.stats[Stat::keys] = static_cast<double>(total.keys);
  graph.stats[Stat::candidates_max] = static_cast<double>(total.candidates);
  std::int64_t peak = 0;
  for (std::size_t i = 0; i < team.size(); ++i)
    peak = std::max(peak, team[i].peak_bytes() + (i == 0 ? output.kept_bytes() : 0));
  graph.stats[Stat::bytes_device_peak] = static_cast<double>(peak);
  release_result(graph);
  graph.text.engine = plan.device.engine;
  graph.text.selector = plan.device.by_rows ? "none" : plan.device.selector;
  graph.text.device = device_text(set);
  return true;
}

}  // namespace libknng

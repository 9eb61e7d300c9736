#include "exec/device_run.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <future>
#include <iterator>
#include <mutex>
#include <numeric>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "core/buffer.h"
#include "core/dtype.h"
#include "core/first_failure.h"
#include "core/stopwatch.h"
#include "exec/device_lists.h"
#include "exec/device_task.h"
#include "exec/device_team.h"
#include "exec/emit.h"
#include "exec/host_copy.h"
#include "exec/self_check.h"
#include "exec/session_rows.h"
#include "plan/device_plan.h"
#include "plan/integer_products.h"

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

// Rows of a graph whose lists devices have at a time, and their place in it: all, or one of several slices.
struct Part {
  Graph& graph;
  std::int64_t first, rows;
  std::int64_t number = 1, of = 1;

  std::span<const std::uint8_t> proof() const noexcept {
    return {graph.proof.data() + first, static_cast<std::size_t>(rows)};
  }
  // A stage of several slices has a name of its own in each, so that progress under a name never goes back.
  std::string named(const char* stage) const {
    std::string name = stage;
    if (of > 1) name.append(" (").append(std::to_string(number)).append(" of ").append(std::to_string(of)).append(")");
    return name;
  }
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
  Results(std::size_t devices, const Part& part) {
    Graph& graph = part.graph;
    const bool kept = graph.kept_on_device();
    const std::int64_t entry = part.first * graph.width, value_bytes = find_dtype(graph.value_dtype)->bytes;
    knng_backend_result result{};
    result.ids = (kept ? graph.on_device.ids : graph.ids.data()) + entry;
    result.values = static_cast<std::byte*>(kept ? graph.on_device.values : graph.values.data()) + entry * value_bytes;
    result.device = graph.on_device.device;
    result.ties = graph.ties.data() + part.first;
    result.proof = graph.proof.data() + part.first;
    result.too_large = INT64_MAX;
    parts_.assign(devices, result);
  }

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
  std::int32_t rung, unit;  // a KNNG_UNIT bit; 0: no products
  const char *distances, *keys, *refine;
};
constexpr std::array<Step, 3> kLadder = {{
    {KNNG_RUNG_FILTER, KNNG_UNIT_FP16, "distances", "keys", "refine"},
    {KNNG_RUNG_TWO_PIECE, KNNG_UNIT_FP16, "distances again, in two pieces", "keys after two pieces",
     "refine after two pieces"},
    {KNNG_RUNG_FP32, KNNG_UNIT_FP32, "distances again, in fp32", "keys after fp32", "refine after fp32"},
}};
// Metrics without products: sums in single precision, then canonical keys.
constexpr std::array<Step, 2> kSums = {{
    {KNNG_RUNG_FILTER, 0, "distances", "keys", "refine"},
    {KNNG_RUNG_FP64, 0, "distances again, in fp64", "keys after fp64", "refine after fp64"},
}};
constexpr std::array<Step, 1> kDirect = {{{KNNG_RUNG_FP64, 0, "distances", "keys", "refine"}}};
// Bytes: what exact products do not prove is for want of room in lists, and no other precision does.
constexpr std::array<Step, 1> kBytes = {{{KNNG_RUNG_FILTER, KNNG_UNIT_BYTES, "distances", "keys", "refine"}}};

// Without the steps whose unit is not used: none may be left, then all keys are evaluated.
std::vector<Step> ladder_of(const Metric& metric, const knng_backend_problem& p) {
  std::span<const Step> steps = kLadder;
  if (std::string_view(p.engine) == "direct")
    steps = kDirect;
  else if (!has_product_form(metric.term))
    steps = kSums;
  else if (has_integer_products(metric, p.rows.dtype, p.columns.dtype, p.columns.dim))
    steps = kBytes;
  std::vector<Step> ladder;
  std::copy_if(steps.begin(), steps.end(), std::back_inserter(ladder),
               [&p](const Step& step) { return (step.unit & ~p.units.usable) == 0; });
  return ladder;
}

// Row blocks that a device should have in hand at a time: beside them it holds the columns that they meet and the next.
std::int64_t band_of(DeviceSession& session, const TileGrid& grid) {
  const std::int64_t held = session.blocks_held();
  return held == 0 ? 1 : grid.square ? std::max<std::int64_t>(held - 2, 1) : grid.row_blocks();
}

// Memory for the result, made as soon as it is clear that there will be one: while devices work. Until it is there half
// of the host's threads are for that and for what finds it out; the others, all devices together, bring rows.
class Output {
 public:
  Output(const Task& task, int threads, const DeviceSet& set, const DuplicateCheck& check_duplicates, Budget* budget,
         Graph& graph, std::atomic<int>& copiers)
      : task_(task),
        threads_(threads),
        set_(set),
        check_(check_duplicates),
        budget_(budget),
        graph_(graph),
        copiers_(copiers) {
    copiers_.store(of_each_device(threads / 2));
  }

  // Whether nothing more is to be done, as far as is known; one thread asks.
  bool is_discarded(bool wait) {
    if (made_ || discarded_.load()) return discarded_.load();
    const Duplicates found = check_(wait);
    if (found == Duplicates::found) discarded_.store(true);
    if (found != Duplicates::none) return discarded_.load();
    allocate_result(task_, budget_, graph_);
    if (task_.keep_on_device) graph_.on_device = make_lists(set_, graph_, kept_bytes());
    // Pages of a large result are made by several threads.
    touched_ = std::async(std::launch::async, [this, half = std::max(1, threads_ / 2)] {
      touch_bytes(graph_.ids.data(), graph_.ids.bytes(), half);
      touch_bytes(graph_.values.data(), graph_.values.bytes(), half);
      copiers_.store(of_each_device(threads_ - std::max(1, threads_ / kElsewhere)));
    });
    made_ = true;
    return false;
  }
  // For other threads.
  bool known_discarded() const noexcept { return discarded_.load(); }
  // On the first device.
  std::int64_t kept_bytes() const { return task_.kept_bytes(graph_.rows, graph_.k()); }
  Results results(const Part& part) {
    if (touched_.valid()) touched_.get();
    return {set_.devices.size(), part};
  }

 private:
  // One in so many threads is left for what else there is. Where those who wait keep their processors busy, as OpenMP
  // has it, a team that finds one of its processors taken waits for a time slice: 8 ms were seen in place of 0.1.
  static constexpr int kElsewhere = 8;

  int of_each_device(int threads) const noexcept {
    return std::max(1, threads / static_cast<int>(set_.devices.size()));
  }

  const Task& task_;
  int threads_;
  const DeviceSet& set_;
  const DuplicateCheck& check_;
  Budget* budget_;
  Graph& graph_;
  std::atomic<int>& copiers_;
  std::atomic<bool> discarded_{false};
  bool made_ = false;
  std::future<void> touched_;
};

// Tiles after which a device takes over the cut-offs of the others: copies of them are nothing beside so many tiles.
constexpr std::int64_t kTilesBetweenCutoffs = 16;

void adopt_cutoffs_of_others(Team& team, std::size_t i) {
  for (std::size_t other = 0; other < team.size(); ++other)
    if (other != i) team[i].adopt_cutoffs(team[other]);
}

// Tiles of a queue, on whichever device is free; or some of them, if the output is found to be discarded.
void take_tiles(Team& team, const TileGrid& grid, TileQueue& queue, Output& output, Monitor& monitor) {
  team.each([&](std::size_t i) {
    std::int64_t done = 0;
    for (Tile t; !monitor.stopped() && !team.failed() && queue.next(t);) {
      if (output.known_discarded()) break;
      team[i].run(t);
      if (i == 0 && output.is_discarded(false)) break;  // asked while the device is at it
      if (++done % kTilesBetweenCutoffs == 0) adopt_cutoffs_of_others(team, i);
      monitor.advance(grid.pairs_of(t));
    }
    team[i].settle();
  });
  monitor.check();
}

// Tiles of all pairs, in one precision. Those on the diagonal give every row a cut-off, and with the cut-offs of both
// sides one read of a tile is enough for both; points that come in blocks would come once more for it.
void run_tiles(Team& team, const TileGrid& grid, const std::string& stage, Output& output, Monitor& monitor) {
  const std::int64_t band = band_of(team[0], grid);
  const bool diagonal_first = grid.square && team[0].blocks_held() == 0;
  monitor.stage(stage, grid.pairs());
  if (diagonal_first) {
    TileQueue diagonal(grid, band, TileQueue::Part::diagonal);
    take_tiles(team, grid, diagonal, output, monitor);
    if (output.known_discarded()) return;
    team.each([&](std::size_t i) { adopt_cutoffs_of_others(team, i); });
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
      if (other != i) team[i].merge_lists(team[other], share.first, share.count);
  });
}

// Where points come block by block: the keys of what each device's share of the rows has found. A device alone, whose
// share are all points, has both blocks of a tile for the lists of either.
void evaluate_lists(Team& team, const TaskPlan& plan, const std::string& stage, Monitor& monitor) {
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

void refine_lists(Team& team, const TaskPlan& plan, const std::string& stage, Results& results, Monitor& monitor) {
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

constexpr auto kUnproved = static_cast<std::uint8_t>(Proof::none);

std::int64_t count_unproved(const Part& part) {
  return std::count(part.proof().begin(), part.proof().end(), kUnproved);
}

// Hands out the rows without a proof, in order. Who has got rows may prove them meanwhile: it only looks ahead.
class UnprovedQueue {
 public:
  using Rows = std::array<std::int64_t, kRedoneTogether>;
  explicit UnprovedQueue(const Part& part) : proof_(part.proof()) {}

  // How many were put into `rows`; 0 at the end.
  std::int64_t next(Rows& rows) {
    const std::lock_guard lock(mutex_);
    std::size_t count = 0;
    for (; row_ < proof_.size() && count < rows.size(); ++row_)
      if (proof_[row_] == kUnproved) rows[count++] = static_cast<std::int64_t>(row_);
    return static_cast<std::int64_t>(count);
  }

 private:
  const std::span<const std::uint8_t> proof_;
  std::mutex mutex_;
  std::size_t row_ = 0;
};

void redo_rows(Team& team, const Part& part, std::int64_t unproved, Results& results, Monitor& monitor) {
  monitor.stage(part.named("redo"), static_cast<double>(unproved));
  UnprovedQueue queue(part);
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
// output is discarded.
bool climb(Team& team, const Job& job, const TaskPlan& plan, const Part& part, Output& output, Monitor& monitor,
           std::optional<Results>& results) {
  const bool direct = plan.device.engine == "direct";
  Stats& stats = part.graph.stats;
  Stopwatch watch;
  std::int64_t unproved = 0, redone = 0;
  const std::vector<Step> ladder = ladder_of(job.metric, job.problem);
  for (const Step& step : ladder) {
    if (step.rung == KNNG_RUNG_FP32) stats[Stat::redone_fp32] += static_cast<double>(unproved);
    if (step.rung == KNNG_RUNG_FP64 && !direct) redone = part.rows;  // the others, too, are proved by keys alone now
    team.each([&](std::size_t i) { team[i].begin(step.rung); });
    if (step.rung != ladder.back().rung && team[0].sample() > kHopeless) continue;
    const TileGrid grid = tiles_of_rung(job, plan, step.rung);
    run_tiles(team, grid, part.named(step.distances), output, monitor);
    stats[Stat::tiles] += static_cast<double>(grid.tiles());
    if (output.is_discarded(true)) return false;
    if (!results) results.emplace(output.results(part));
    stats[Stat::seconds_tile] += watch.lap();
    join_lists(team, plan);
    stats[Stat::seconds_merge] += watch.lap();
    if (plan.device.blocks_held > 0) evaluate_lists(team, plan, part.named(step.keys), monitor);
    refine_lists(team, plan, part.named(step.refine), *results, monitor);
    stats[Stat::seconds_refine] += watch.lap();
    unproved = count_unproved(part);
    if (unproved <= part.rows / kFewUnproved) break;
  }
  if (ladder.empty()) {
    if (output.is_discarded(true)) return false;
    results.emplace(output.results(part));
    std::fill_n(part.graph.proof.data() + part.first, part.rows, kUnproved);
    unproved = part.rows;
  }
  if (unproved > 0) redo_rows(team, part, unproved, *results, monitor);
  stats[Stat::seconds_refine] += watch.lap();
  stats[Stat::redone_fp64] += static_cast<double>(std::max(redone, unproved));
  stats[Stat::refined] += direct || ladder.empty() ? 0 : static_cast<double>(part.rows);
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
      const auto next = at + std::min<std::ptrdiff_t>(kRedoneTogether, end - at);
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

// What all parts of a run have in common.
struct Run {
  const Task& task;
  const Dataset& data;
  std::int64_t k;
  const std::atomic<int>& copiers;  // threads of each device
  Output& output;
  std::span<const std::int64_t> checked;  // rows that are looked at again
  Budget* budget;
  Monitor& monitor;

  // Those of a part, counted from its first row.
  std::vector<std::int64_t> checked_of(const Part& part) const {
    std::vector<std::int64_t> rows;
    for (const std::int64_t row : checked)
      if (row >= part.first && row < part.first + part.rows) rows.push_back(row - part.first);
    return rows;
  }
};

// The points of a part that are not the data: queries, or a slice of the data's own rows.
struct Queries {
  const Dataset* rows;  // null: none
  const char* argument;
  const std::int64_t* leave_out;
};

void take_counts(const Run& run, const Part& part, const knng_backend_result& total, Team& team) {
  if (total.violations > 0)
    fail(KNNG_ERR_INTERNAL, "bound_violations", {.given = total.violations},
         "%lld keys lay outside their proved bounds: please report this with the data",
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

// plan: for the rows of the part. False if the output is discarded.
bool run_part(const Run& run, const TaskPlan& plan, const Queries& queries, const Part& part) {
  Stopwatch watch;
  const DeviceSet& set = plan.device.set;
  const Dataset& points = queries.rows ? *queries.rows : run.data;
  FirstFailure reading;
  Job job{*set.backend,
          run.task.metric,
          run.data,
          queries.rows,
          queries.argument,
          reading,
          describe_problem(run.task, plan, run.data, queries.rows ? points.rows() : 0, points.dtype(), run.k)};
  const SessionRows rows(run.data, run.copiers, run.monitor, reading),
      query_rows(points, run.copiers, run.monitor, reading);
  rows.describe(job.problem.columns);
  query_rows.describe(job.problem.rows);
  job.problem.copy = &SessionRows::copy;
  job.problem.copy_user = &rows;
  Cancellation cancellation{rows};
  job.problem.cancelled = &Cancellation::ask;
  job.problem.cancellation = &cancellation;
  job.problem.leave_out = queries.leave_out;
  const std::vector<std::int64_t> checked = run.checked_of(part);
  job.problem.checked = checked.data();
  job.problem.checked_count = std::ssize(checked);
  // What is kept beside all parts.
  if (job.problem.max_bytes != INT64_MAX) job.problem.max_bytes -= run.output.kept_bytes();
  std::int64_t session_host = 0;
  job.backend.session_bytes(&job.problem, &session_host);
  const Charge charge(run.budget, checked_mul(session_host, static_cast<std::int64_t>(set.devices.size()), "devices"));

  run.monitor.stage(part.named("prepare"), 1);
  Team team(job, set.devices, cancellation, run.monitor);
  Stats& stats = part.graph.stats;
  stats[Stat::seconds_copy] += watch.lap();
  std::optional<Results> results;
  if (plan.device.by_rows) {
    if (run.output.is_discarded(true)) return false;
    results.emplace(run.output.results(part));
    answer_rows(team, plan.grid, *results, run.monitor);
    stats[Stat::tiles] += static_cast<double>(plan.grid.tiles());
    stats[Stat::seconds_tile] += watch.lap();
  } else if (!climb(team, job, plan, part, run.output, run.monitor, results)) {
    return false;
  }
  take_counts(run, part, results->total(), team);
  // Without a step of the ladder all keys of all rows were evaluated.
  const bool filtered = plan.device.by_rows || !ladder_of(run.task.metric, job.problem).empty();
  if (filtered) check_lists(team, plan, part, checked, *results, run.monitor);
  return true;
}

// One slice after the other: its rows are queries of the data, which must not return themselves.
bool run_slices(const Run& run, const TaskPlan& plan, const Queries& queries, Graph& graph) {
  const std::int64_t slice = plan.device.slice, n = graph.rows;
  const Dataset& points = queries.rows ? *queries.rows : run.data;
  Buffer<std::int64_t> numbers(slice, run.budget);
  for (std::int64_t first = 0; first < n; first += slice) {
    const Part part{graph, first, std::min(slice, n - first), first / slice + 1, ceil_div(n, slice)};
    std::iota(numbers.begin(), numbers.end(), first);
    const auto begin = static_cast<std::size_t>(first), count = static_cast<std::size_t>(part.rows);
    const std::span<const std::int64_t> picked = points.picked();
    const Dataset rows(points,
                       picked.empty() ? std::span(std::as_const(numbers).data(), count) : picked.subspan(begin, count));
    TaskPlan of_slice = plan;
    of_slice.grid.rows = part.rows;
    of_slice.grid.tile_rows = std::min(plan.grid.tile_rows, part.rows);
    const std::int64_t* leave_out = queries.rows ? queries.leave_out : numbers.data();
    if (queries.rows && leave_out) leave_out += first;
    if (!run_part(run, of_slice, {&rows, queries.argument, leave_out}, part)) return false;
  }
  return true;
}

}  // namespace

bool run_on_devices(const Task& task, const TaskPlan& plan, const Dataset& data, const Dataset* queries,
                    const std::int64_t* leave_out, std::int64_t k, const DuplicateCheck& check_duplicates,
                    Budget* budget, Monitor& monitor, Graph& graph) {
  std::atomic<int> copiers;
  Output output(task, plan.threads, plan.device.set, check_duplicates, budget, graph, copiers);
  const Charge numbers(budget, checked_mul(plan.checked, 16, "check_rows"));
  const std::vector<std::int64_t> checked = SpreadRows(plan.checked, graph.rows).list();
  const Run run{task, data, k, copiers, output, checked, budget, monitor};
  const Queries points{queries, queries ? "q" : "rows", leave_out};
  graph.stats[Stat::pairs] = plan.grid.pairs();
  const bool done = plan.device.slice > 0 ? run_slices(run, plan, points, graph)
                                          : run_part(run, plan, points, {graph, 0, graph.rows});
  if (!done) return false;
  release_result(graph);
  graph.text.engine = plan.device.engine;
  graph.text.selector = plan.device.by_rows ? "none" : plan.device.selector;
  graph.text.device = device_text(plan.device.set);
  return true;
}

}  // namespace libknng

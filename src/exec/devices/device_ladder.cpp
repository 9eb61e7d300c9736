#include "exec/devices/device_ladder.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstring>
#include <limits>
#include <mutex>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "core/checked.h"
#include "core/division.h"
#include "core/dtype.h"
#include "core/stopwatch.h"
#include "plan/device_plan.h"

namespace libknng {
namespace {

// Rows at most that are redone in one call, by lists and by all keys: progress is reported between calls.
constexpr std::int64_t kByListsTogether = 1024, kByAllTogether = 256;
// Lists that are refined in one call, in bytes and in coordinates of candidates: progress is reported between calls,
// but no device works while the last lists of one go into the result.
constexpr std::int64_t kRefinedBytes = std::int64_t{256} << 20, kRefinedCoordinates = std::int64_t{1} << 34;
// With fewer unproved rows than this share, no tiles are evaluated again: to redo so few costs less.
constexpr std::int64_t kFewUnproved = 256;
// A sample with more unproved rows than this share tells that the tiles of all pairs will have to be evaluated again.
// Of 128 rows three are above it; where all rows together are just at the limit of few, as many are found once in 70
// times.
constexpr double kHopeless = 1.0 / 64;
// What redoing all rows by their lists costs, in tiles of all pairs in the filter's precision: 7 to 35 measured, for
// 30,000 x 1,000 to 1,000,000 x 64 points (docs/internals/benchmarks-gpu.md, "Rows that no list proves").
constexpr double kRedoneByLists = 24;
// And what crowded lists cost beside, as their tiles go through memory: an estimate.
constexpr double kCrowded = 8;

// The ladder of the job's engine, as the backend has it.
std::vector<knng_backend_rung> ladder_of(const knng_backend_seam& backend, const knng_backend_problem& p) {
  static_assert(4 * KNNG_BACKEND_MOST_RUNGS + 1 <= kMostPasses, "four keys a rung, and one of all pairs");
  std::vector<knng_backend_rung> rungs(KNNG_BACKEND_MOST_RUNGS);
  rungs.resize(static_cast<std::size_t>(backend.rungs(&p, rungs.data())));
  return rungs;
}

// Stages of a rung behind another have names of their own, so that progress under a name never goes back.
struct StageNames {
  std::string distances = "distances", keys = "keys", refine = "refine";

  StageNames(const knng_backend_rung& rung, bool first) {
    if (first) return;
    distances.append(" again, in ").append(rung.name);
    keys.append(" after ").append(rung.name);
    refine.append(" after ").append(rung.name);
  }
};

// Row blocks that a device should have in hand at a time: beside them it holds the columns that they meet and the next.
std::int64_t band_of(DeviceSession& session, const TileGrid& grid) {
  const std::int64_t held = session.blocks_held();
  return held == 0 ? 1 : grid.square ? std::max<std::int64_t>(held - 2, 1) : grid.row_blocks();
}

// Tiles after which a device takes over the cut-offs of the others: copies of them are nothing beside so many tiles.
constexpr std::int64_t kTilesBetweenCutoffs = 16;

void adopt_cutoffs_of_others(Team& team, std::size_t i) {
  for (std::size_t other = 0; other < team.size(); ++other)
    if (other != i) team[i].adopt_cutoffs(team[other]);
}

void share_cutoffs(Team& team) {
  team.each([&](std::size_t i) { adopt_cutoffs_of_others(team, i); });
}

// Each device gives a share of the rows first cut-offs. False: they should have been guessed, and one cannot guess.
bool first_cutoffs(Team& team, const TaskPlan& plan, bool guess, bool long_lists) {
  std::atomic<bool> missing{false};
  team.each([&](std::size_t i) {
    const Share share(plan, i, team.size());
    if (team[i].first_cutoffs(share.first, share.count, guess, long_lists) != guess) missing = true;
  });
  share_cutoffs(team);
  return !missing;
}

// The first device finds an order, if one pays, and the others take it. If one of them cannot, all give it up.
void order_points(Team& team) {
  if (!team[0].order_points(nullptr)) return;
  std::atomic<std::size_t> without{0};
  team.each([&](std::size_t i) {
    if (i > 0 && !team[i].order_points(&team[0])) without = i;
  });
  if (const std::size_t one = without; one > 0)
    team.each([&](std::size_t i) {
      if (i != one) team[i].order_points(&team[one]);
    });
}

bool redoes_by_lists(const TaskPlan& plan) { return plan.device.redoes_by_lists && plan.device.blocks_held == 0; }

// What tiles of all pairs cost, in those of the filter's precision.
double cost_of(const Job& job, const knng_backend_rung& rung) {
  const auto speed = [&](std::int32_t number) {
    return static_cast<double>(job.backend.pairs_at_a_time(&job.problem, number));
  };
  return speed(KNNG_RUNG_FILTER) / speed(rung.number);
}

void begin(Team& team, const knng_backend_rung& rung, bool crowded = false) {
  team.each([&](std::size_t i) { team[i].begin(rung.number, crowded); });
}

// A rung, by its place on the ladder; whether its first cut-offs are guessed; whether it leaves many rows without a
// proof; and whether lists will be crowded, or should be long.
struct Choice {
  std::size_t rung;
  bool guess = false, leaves = false, crowded = false, long_lists = false;
};

// Begins one of the rungs from `next` on, with empty lists and first cut-offs. Samples tell what each would leave
// without a proof. Where rows can be redone by lists, it is the rung that costs least together with what it leaves;
// elsewhere the first that proves nearly all rows, or the last. None, if each costs more than `now`: than to redo what
// is left by lists without another rung.
std::optional<Choice> begin_rung(Team& team, const Job& job, const TaskPlan& plan,
                                 std::span<const knng_backend_rung> ladder, std::size_t next, double now) {
  const bool weighs = redoes_by_lists(plan), only = next + 1 == ladder.size() && std::isinf(now);
  std::optional<Choice> best;
  double least = now;
  for (std::size_t at = next;; ++at) {
    begin(team, ladder[at]);
    const bool last = at + 1 == ladder.size();
    Choice choice{at};
    choice.guess = team[0].sample(true, choice.crowded, choice.long_lists) <= kHopeless;
    const bool asks = !choice.guess && !only && (weighs || !last);
    const double unproved = asks ? team[0].sample(false, choice.crowded, choice.long_lists) : 0;
    choice.leaves = unproved > kHopeless;
    const double cost = cost_of(job, ladder[at]) + unproved * kRedoneByLists;
    if (const double all = cost + (choice.crowded ? kCrowded : 0); (weighs || !choice.leaves) && all < least) {
      least = all;
      best = choice;
    }
    if (choice.leaves && !last) continue;
    if (!best) return best;
    if (best->rung != at || best->crowded) begin(team, ladder[best->rung], best->crowded);
    break;
  }
  if (first_cutoffs(team, plan, best->guess, best->long_lists)) return best;
  begin(team, ladder[best->rung], best->crowded);  // who guessed takes it that all did
  first_cutoffs(team, plan, false, best->long_lists);
  return best;
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
    share_cutoffs(team);
  }
  TileQueue rest(grid, band, diagonal_first ? TileQueue::Part::beside_diagonal : TileQueue::Part::all);
  take_tiles(team, grid, rest, output, monitor);
}

// Such that a stop is soon; blocks of points were planned so for the first rung, and have the size of their tiles.
TileGrid tiles_of_rung(const Job& job, const TaskPlan& plan, std::int32_t rung) {
  if (plan.device.blocks_held > 0) return plan.grid;
  return in_tiles_of(plan.grid, job.backend.pairs_at_a_time(&job.problem, rung));
}

constexpr auto kUnproved = static_cast<std::uint8_t>(Proof::none);

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

std::int64_t refined_together(const TaskPlan& plan, const Graph& graph, std::int64_t dim) {
  const std::int64_t row_bytes = graph.width * (8 + find_dtype(graph.value_dtype)->bytes);
  const std::int64_t row_coordinates = checked_mul(plan.device.capacity, dim, "k");
  return std::max<std::int64_t>(1, std::min(kRefinedBytes / row_bytes, kRefinedCoordinates / row_coordinates));
}

// together: rows of a call.
void refine_lists(Team& team, const TaskPlan& plan, std::int64_t together, const std::string& stage, Results& results,
                  Monitor& monitor) {
  monitor.stage(stage, static_cast<double>(plan.grid.rows));
  team.each([&](std::size_t i) {
    const Share share(plan, i, team.size());
    for (std::int64_t done = 0; done < share.count && !monitor.stopped() && !team.failed();) {
      const std::int64_t count = std::min(together, share.count - done);
      team[i].refine(share.first + done, count, results[i]);
      done += count;
      monitor.advance(static_cast<double>(count));
    }
  });
  monitor.check();
}

// Hands out the rows without a proof, in order. Who has got rows may prove them meanwhile: it only looks ahead.
class UnprovedQueue {
 public:
  explicit UnprovedQueue(const Part& part) : proof_(part.proof()) {}

  // How many were put into `rows`; 0 at the end.
  std::int64_t next(std::span<std::int64_t> rows) {
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

void redo_rows(Team& team, const Part& part, const std::string& stage, bool by_lists, std::int64_t unproved,
               Results& results, Monitor& monitor) {
  monitor.stage(stage, static_cast<double>(unproved));
  UnprovedQueue queue(part);
  const std::int64_t fair = ceil_div(unproved, static_cast<std::int64_t>(team.size()));
  const std::int64_t together = std::min(fair, by_lists ? kByListsTogether : kByAllTogether);
  team.each([&](std::size_t i) {
    std::vector<std::int64_t> rows(static_cast<std::size_t>(together));
    while (!monitor.stopped() && !team.failed()) {
      const std::int64_t count = queue.next(rows);
      if (count == 0) break;
      team[i].redo({rows.data(), static_cast<std::size_t>(count)}, by_lists, results[i]);
      monitor.advance(static_cast<double>(count));
    }
  });
  monitor.check();
}

}  // namespace

bool has_ladder(const knng_backend_seam& backend, const knng_backend_problem& problem) {
  return !ladder_of(backend, problem).empty();
}

// From one to the next, as there are few: std::count() takes ten times as long for none.
std::int64_t count_unproved(const Part& part) {
  std::int64_t count = 0;
  for (std::span<const std::uint8_t> rest = part.proof(); !rest.empty(); ++count) {
    const void* const found = std::memchr(rest.data(), kUnproved, rest.size());
    if (!found) break;
    rest = rest.subspan(static_cast<std::size_t>(static_cast<const std::uint8_t*>(found) - rest.data()) + 1);
  }
  return count;
}

bool climb(Team& team, const Job& job, const TaskPlan& plan, const Part& part, Output& output, Monitor& monitor,
           std::optional<Results>& results) {
  constexpr double kNever = std::numeric_limits<double>::infinity();
  Stats& stats = part.graph.stats;
  Stopwatch watch;
  std::int64_t unproved = part.rows, redone = 0;
  const std::int64_t few = part.rows / kFewUnproved;
  const std::vector<knng_backend_rung> ladder = ladder_of(job.backend, job.problem);
  const bool by_lists = redoes_by_lists(plan) && !ladder.empty();
  if (!ladder.empty() && job.problem.square) order_points(team);
  std::size_t at = 0;
  std::optional<Choice> choice;
  if (!ladder.empty()) choice = begin_rung(team, job, plan, ladder, at, kNever);
  while (choice) {
    at = choice->rung;
    const knng_backend_rung& rung = ladder[at];
    const StageNames names(rung, !results);
    if (rung.number == KNNG_RUNG_FP32 && results) stats[Stat::redone_fp32] += static_cast<double>(unproved);
    if (rung.number == KNNG_RUNG_FP64 && !plan.device.all_keys)
      redone = part.rows;  // the others, too, are proved by keys alone now
    const TileGrid grid = tiles_of_rung(job, plan, rung.number);
    run_tiles(team, grid, part.named(names.distances), output, monitor);
    stats[Stat::tiles] += static_cast<double>(grid.tiles());
    if (output.is_discarded(true)) return false;
    if (!results) results.emplace(output.results(part));
    stats[Stat::seconds_tile] += watch.lap();
    join_lists(team, plan);
    stats[Stat::seconds_merge] += watch.lap();
    if (plan.device.blocks_held > 0) evaluate_lists(team, plan, part.named(names.keys), monitor);
    refine_lists(team, plan, refined_together(plan, part.graph, job.problem.columns.dim), part.named(names.refine),
                 *results, monitor);
    stats[Stat::seconds_refine] += watch.lap();
    unproved = count_unproved(part);
    if (unproved <= few || at + 1 == ladder.size() || (by_lists && choice->leaves)) break;
    const double share = static_cast<double>(unproved) / static_cast<double>(part.rows);
    choice = begin_rung(team, job, plan, ladder, at + 1, by_lists ? share * kRedoneByLists : kNever);
    if (!choice) begin(team, rung);
  }
  if (!ladder.empty() && !results) throw std::logic_error("no rung was begun");
  if (ladder.empty()) {
    if (output.is_discarded(true)) return false;
    results.emplace(output.results(part));
    std::fill_n(part.graph.proof.data() + part.first, part.rows, kUnproved);
  }
  redone = std::max(redone, unproved);
  // What is left of them in one precision may be told apart in the next. Of rounded bytes it always may: a row that
  // these are far from has nearly all others as contenders.
  for (; by_lists && unproved > 0; begin(team, ladder[++at])) {
    redo_rows(team, part, part.named(std::string("redo by lists, in ") + ladder[at].name), true, unproved, *results,
              monitor);
    unproved = count_unproved(part);
    if ((unproved <= few && ladder[at].number != KNNG_RUNG_ROUNDED_BYTES) || at + 1 == ladder.size()) break;
  }
  if (unproved > 0) redo_rows(team, part, part.named("redo"), false, unproved, *results, monitor);
  stats[Stat::seconds_refine] += watch.lap();
  stats[Stat::redone_fp64] += static_cast<double>(redone);
  stats[Stat::refined] += plan.device.all_keys || ladder.empty() ? 0 : static_cast<double>(part.rows);
  return true;
}

}  // namespace libknng

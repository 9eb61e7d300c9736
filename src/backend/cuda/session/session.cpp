#include "backend/cuda/session/session.cuh"

#include <algorithm>
#include <cstdlib>
#include <iterator>
#include <limits>
#include <numeric>
#include <span>
#include <stdexcept>
#include <utility>
#include <vector>

#include "backend/admission.h"
#include "backend/cuda/base/metric.cuh"
#include "backend/cuda/engines/rounded_bytes.h"
#include "backend/cuda/keys/contending_rows.cuh"
#include "backend/cuda/keys/listed_keys.cuh"
#include "backend/cuda/result/delivery.cuh"
#include "backend/cuda/rows/prepare.cuh"
#include "backend/cuda/select/sampled_proof.cuh"
#include "backend/cuda/session/work_sizes.cuh"
#include "prepare/drawn_columns.h"
#include "prepare/row_order.h"
#include "refine/bound.h"

namespace libknng::cuda {
namespace {

static_assert(kFewestRowsSampledFrom >= 64 * SampledRows::kGroups * SampledRows::kMostTogether);
// To look through longer lists takes as long as to fill them.
constexpr std::int64_t kLongestSampled = 8192;
// Rows that look beside themselves together, and columns beside them, on either side.
constexpr std::int64_t kLookTogether = 2560, kBeside = 1024;

// Whether no other device's memory has to do with the session.
bool is_alone(const knng_backend_problem& p, int device) {
  const auto elsewhere = [device](const knng_backend_rows& rows) {
    return std::any_of(rows.pieces, rows.pieces + rows.piece_count,
                       [device](const knng_backend_piece& piece) { return piece.rows.device != device; });
  };
  return p.device_count <= 1 && !elsewhere(p.columns) && !elsewhere(p.rows);
}

// A session that takes no more than pools keep has its arrays in one block. Not where bytes are limited: arrays may not
// fit into the block's gaps. Nor beside other devices, which read some of them in another pool. Nor where
// KNNG_SEPARATE_ARRAYS is in the environment, for tools that look for accesses beyond an array: they see the ends of
// what a pool hands out.
std::int64_t block_bytes(const knng_backend_problem& p, int device) {
  static const bool separate = std::getenv("KNNG_SEPARATE_ARRAYS") != nullptr;
  if (separate || is_paged(p) || p.device_count > 1 || p.max_bytes != std::numeric_limits<std::int64_t>::max())
    return 0;
  const std::int64_t bytes = session_bytes(p);
  return bytes <= MemoryPool::most_kept(device) ? bytes : 0;
}

std::vector<std::int32_t> devices_beside(const knng_backend_problem& p, int device) {
  std::vector<std::int32_t> others;
  std::copy_if(p.devices, p.devices + p.device_count, std::back_inserter(others),
               [device](std::int32_t other) { return other != device; });
  return others;
}

}  // namespace

Session::Session(int device, const knng_backend_problem& problem)
    : problem_(problem),
      metric_(metric_of(problem.metric)),
      selector_(selector_of(problem)),
      long_{problem.k, problem.capacity, found_capacity(problem, problem.capacity)},
      short_{problem.k, short_capacity(problem), found_capacity(problem, short_capacity(problem))},
      depth_(long_),
      device_(device),
      context_(device, problem.max_bytes, !is_paged(problem) && is_alone(problem, device),
               devices_beside(problem, device), block_bytes(problem, device)),
      handles_(device, context_.stream),
      staging_(handles_, [&problem](void* to, const void* from,
                                    std::int64_t bytes) { problem.copy(problem.copy_user, to, from, bytes); }),
      points_(problem, metric_, staging_, context_, [this] { throw_if_cancelled(); }),
      key_parts_{keys_at_a_time(problem, device), [this] { begin_part(); }} {
  const knng_backend_problem& p = problem_;
  if (p.by_rows)
    answerer_.emplace(p, metric_, points_, staging_, context_);
  else
    make_lists();
  if (is_paged(p) && p.checked_count > 0) checked_keys_.emplace(p, context_);
  ArraySource source(context_);
  if (p.by_rows) space_.emplace(p, source);
  left_out_.emplace(p, source);
  if (p.leave_out) {
    check(cudaMemcpyAsync(left_out_->ids.data(), p.leave_out, static_cast<std::size_t>(8 * p.rows.count),
                          cudaMemcpyHostToDevice, context_.stream));
    context_.stream.wait();
  }
  if (!is_paged(p)) find_directionless();
}

void Session::find_directionless() {
  const std::vector<std::uint32_t> first = points_.first_directionless(left_out_->directionless.size());
  knows_directionless_ = true;
  left_out_->directionless_count = static_cast<std::int64_t>(first.size());
  if (first.empty()) return;
  check(cudaMemcpyAsync(left_out_->directionless.data(), first.data(), first.size() * sizeof first[0],
                        cudaMemcpyHostToDevice, context_.stream));
  context_.stream.wait();
}

// Cut-offs only fall, and each is written at once: whatever is read while the other works was a cut-off of the list,
// and a row is proved under its lowest one only. The tile's memory is free between two tiles.
void Session::adopt_cutoffs(const Session& from) {
  if (reads(from))
    lists_->lower_cutoffs(*from.lists_, context_.stream);
  else
    lists_->lower_cutoffs(*from.lists_, device_, from.device_, space_->tiles->tile, context_.stream);
}

void Session::settle() {
  context_.stream.wait();
  if (!points_.is_paged() || !points_.paged().any_refused()) return;
  leave_stage();
  points_.paged().look_for_refused();
}

// What tiles need for as long as the session lives.
void Session::make_lists() {
  const knng_backend_problem& p = problem_;
  maker_ = kernels_of(p).make({p, metric_, points_, handles_, staging_, context_, key_parts_});
  ArraySource source(context_);
  lists_.emplace(p, source);
  if (!is_paged(p)) space_.emplace(p, source);
  arrange_columns();
}

// The order in which columns are compared, and in it who may be in which list.
void Session::arrange_columns() {
  const knng_backend_problem& p = problem_;
  // Columns may come nearer and nearer to a row: at random its cut-off falls soon, whatever order they are in. (A
  // graph's tiles on the diagonal, which come first, do the same for all rows.)
  std::vector<std::int64_t> run_at;  // of each run of rows the place among them
  if (shuffles_columns(p)) run_at = points_.shuffle(p.leave_out != nullptr);
  lists_->admit(admission_of(p), run_at, context_.stream);
}

// Devices that take the session's lists must read them where they are: those of consecutive rows lie anywhere.
bool Session::is_read_by_all() const {
  const std::vector<std::int32_t> others = devices_beside(problem_, device_);
  return std::all_of(others.begin(), others.end(),
                     [this](std::int32_t other) { return context_.pool.is_read_by(other); });
}

bool Session::order_points(const Session* as) {
  const knng_backend_problem& p = problem_;
  if (p.by_rows || !kernels_of(p).may_order(p)) return false;
  if (!is_read_by_all() || (as && !as->points_.places())) {
    points_.order_as_stored();
    return false;
  }
  if (as) {
    points_.order_as(as->points_);
  } else {
    DeviceArray<std::int64_t> order = maker_->find_order();
    if (order.size() > 0)
      points_.order_by(std::move(order));
    else if (maker_->scatters())
      points_.scatter();
    else
      return false;
  }
  context_.stream.wait();
  return true;
}

// Where points come in blocks: gives back what the last stage worked in, all but keys.
void Session::leave_stage() {
  stage_.reset();
  points_.release();
  if (maker_) maker_->release();
  space_.reset();
}

// Takes what a stage needs, in place of what the one before worked in.
void Session::enter(Stage stage) {
  if (!points_.is_paged() || stage_ == stage) return;
  const knng_backend_problem& p = problem_;
  leave_stage();
  if (stage != Stage::refine) keys_.reset();
  // In one piece, for arrays of other sizes.
  context_.stream.wait();
  context_.pool.trim();
  const std::int64_t held = cuda::blocks_held(p, stage, rung_);
  const bool tiles_of_stored = stage == Stage::tiles && !maker_->holds_blocks();
  ArraySource source(context_);
  if (stage == Stage::keys) keys_.emplace(p, source);
  space_.emplace(p, stage, source);
  if (stage == Stage::tiles && !tiles_of_stored) maker_->hold(held);
  if (stage == Stage::keys || stage == Stage::redo || tiles_of_stored) points_.hold(held);
  stage_ = stage;
}

void Session::blocks_used() {
  points_.used();
  if (maker_) maker_->used();
}

// As many of the largest tiles as take the time of four that end soon; some more, but no more than there are blocks of
// points, only where these come: then the next is asked for while they are at it. Tiles that are cut for a slow rung
// count as whole ones.
std::size_t Session::tiles_in_flight() const {
  const auto most = static_cast<double>(std::max<std::int64_t>(kTilesInFlight, problem_.blocks_held));
  const double soon = kTilesInFlight * tiles_at_a_time(problem_, rung_, device_);
  return static_cast<std::size_t>(std::clamp<double>(soon, kFewestInFlight, most));
}

void Session::begin(int rung, bool crowded) {
  rung_ = rung;
  in_flight_ = InFlight(tiles_in_flight());
  if (points_.is_paged()) leave_stage();
  keys_.reset();  // what is there of the rung before goes first
  table_.reset();
  maker_->begin(rung, crowded);
  clear_lists();
  enter(Stage::tiles);
  show_lists();
}

// First cut-offs are infinite, of all lists that there are.
void Session::clear_lists() {
  depth_ = long_;
  lists_->clear(round_up(left_out_->admission().first_cutoff() * maker_->meaning().scale), context_.stream);
  maker_->lists_cleared();
  seen_.reset();
  if (points_.are_scattered()) seen_.emplace(problem_.columns.count);
}

// Others may adopt_cutoffs the cut-offs from now on.
void Session::show_lists() const {
  if (problem_.device_count > 1) context_.stream.wait();
}

void Session::search_rows(std::int64_t first, std::int64_t count, std::int64_t first_column, std::int64_t columns,
                          const Depth& depth) {
  search_rows(first, count, first_column, columns, depth,
              [this](const TileArea& area) { return maker_->parts(area, false); });
}

template <class Parts>
void Session::search_rows(std::int64_t first, std::int64_t count, std::int64_t first_column, std::int64_t columns,
                          const Depth& depth, const Parts& parts_of) {
  const knng_backend_problem& p = problem_;
  for (std::int64_t row = 0; row < count; row += p.tile_rows)
    for (std::int64_t column = 0; column < columns; column += p.tile_cols) {
      const TileArea area{first + row, std::min(p.tile_rows, count - row), first_column + column,
                          std::min(p.tile_cols, columns - column)};
      for (const TilePart& part : parts_of(area)) search(part, false, depth, {depth.k, depth.k});
      in_flight_.add(context_.stream);
      throw_if_cancelled();
    }
}

// Where neighbours come together, as in an order of cells, a list that has not seen any would find too many at once. It
// sees those that are next to its row first, wherever tiles begin. They come once more with all others: the lists go,
// their cut-offs stay.
void Session::look_beside(std::int64_t first, std::int64_t count) {
  const std::int64_t end = first + count;
  for (std::int64_t row = first; row < end; row += kLookTogether) {
    const std::int64_t rows = std::min(kLookTogether, end - row), from = std::max<std::int64_t>(row - kBeside, 0);
    search_rows(row, rows, from, std::min(row + rows + kBeside, problem_.columns.count) - from, depth_);
  }
  lists_->empty(context_.stream);
}

// Rows beside columns drawn at random, which come once more with all others, as above: cut-offs that are guessed.
void Session::look_at_drawn(std::int64_t first, std::int64_t count) {
  const CutoffGuess guess = maker_->guess();
  search_rows(first, count, problem_.columns.count, guess.drawn,
              {guess.rank, guess.capacity, found_capacity(guess.rank, guess.capacity)});
  lists_->empty(context_.stream);
}

bool Session::first_cutoffs(std::int64_t first, std::int64_t count, bool guess, bool long_lists) {
  if (!long_lists && rung_ != KNNG_RUNG_ROUNDED_BYTES) {
    depth_ = short_;
    lists_->shorten(short_.capacity);
  }
  const bool guesses = guess && maker_->guess().drawn > 0;
  if (guesses) {
    look_at_drawn(first, count);
    maker_->trust_guesses(depth_.found);
  } else if (maker_->leaves_out()) {
    look_beside(first, count);
  }
  show_lists();
  return guesses;
}

// The rows of a sample beside all columns. A graph's tiles on the diagonal show rows first what is stored beside them,
// so these see it first, too.
Outlook Session::sample(bool guess) {
  const knng_backend_problem& p = problem_;
  if (guess && maker_->guess().drawn == 0) return {.unproved = 1};
  const SampledRows rows(p.rows.count);
  // Of a later rung it is asked when an earlier one has failed; of rows rounded to bytes always, since others would do.
  const bool rounds_to_bytes = rung_ == KNNG_RUNG_ROUNDED_BYTES;
  const bool first = !rounds_to_bytes && rung_ == rungs_of(p).front().number;
  const double pairs = static_cast<double>(p.rows.count) * static_cast<double>(p.columns.count);
  const bool small = first && pairs < kPairsWorthSampling;
  if (points_.is_paged() || small || p.rows.count < kFewestRowsSampledFrom || p.capacity > kLongestSampled) return {};
  for (int group = 0; group < SampledRows::kGroups; ++group) {
    if (guess) look_at_drawn(rows.first(group), rows.together);
    if (p.square) look_beside(rows.first(group), rows.together);
  }
  const auto parts = [&](const TileArea& area) {
    const std::int64_t seen = guess ? p.columns.count : 2 * kBeside + area.first_column;
    return p.square ? maker_->parts_of_sample(area, seen) : maker_->parts(area, false);
  };
  for (int group = 0; group < SampledRows::kGroups; ++group)
    search_rows(rows.first(group), rows.together, 0, p.columns.count, depth_, parts);
  auto* const counted = reinterpret_cast<SampledCounts*>(workspace());
  check(cudaMemsetAsync(counted, 0, sizeof *counted, context_.stream));
  count_sampled(rows, lists_->from(0), bounds_from(0, p.k), short_.capacity, counted, context_.stream);
  SampledCounts found{};
  staging_.download(counted, &found, sizeof found, context_.stream);
  Outlook outlook{.unproved = static_cast<double>(found.unproved) / rows.count(),
                  .crowded = found.unproved > 0 && !guess && is_crowded(rows),
                  .long_lists = found.beyond > 0};
  if (rounds_to_bytes && !rounded_bytes_pay(p, static_cast<double>(found.near) / rows.count()))
    outlook = {.unproved = std::numeric_limits<double>::infinity()};
  clear_lists();
  show_lists();
  return outlook;
}

// Whether a quarter of a sample's rows have several times as many columns below their cut-offs as a part may find.
bool Session::is_crowded(const SampledRows& rows) {
  const knng_backend_problem& p = problem_;
  if (!has_row_filter(p)) return false;
  const ContendingSpace space(p, workspace());
  if (rows.together > space.results.together) return false;  // memory is short
  auto* const crowded = reinterpret_cast<int*>(space.listed);
  check(cudaMemsetAsync(crowded, 0, sizeof *crowded, context_.stream));
  ContendingRowsJob job = contending_job();
  job.list = space.list;
  job.count = rows.together;
  job.workspace = space.workspace;
  for (int group = 0; group < SampledRows::kGroups; ++group) {
    const std::int64_t first = rows.first(group);
    const auto bytes = static_cast<std::size_t>(rows.together) * sizeof first;
    if (const std::int64_t* const order = p.square ? points_.order_of_columns(first) : nullptr) {
      check(cudaMemcpyAsync(space.list, order, bytes, cudaMemcpyDeviceToDevice, context_.stream));
    } else {
      std::vector<std::int64_t> numbers(static_cast<std::size_t>(rows.together));
      std::iota(numbers.begin(), numbers.end(), first);
      check(cudaMemcpyAsync(space.list, numbers.data(), bytes, cudaMemcpyHostToDevice, context_.stream));
      context_.stream.wait();
    }
    count_crowded(job, lists_->cutoffs(), 2 * depth_.found, crowded, context_.stream);
  }
  int found = 0;
  staging_.download(crowded, &found, sizeof found, context_.stream);
  return 4 * found > rows.count();
}

void Session::tile(std::int64_t first_row, std::int64_t rows, std::int64_t first_column, std::int64_t columns) {
  for (const TilePart& part : maker_->parts({first_row, rows, first_column, columns}, problem_.square != 0)) {
    const bool both = problem_.square && part.area.first_row != part.area.first_column;
    search(part, both, depth_, ranks_after(part, both));
  }
  in_flight_.add(context_.stream);
}

// Long lists that meet all columns at once need no cut-off: they will meet no more, and are in no order that would show
// refinement where to end. Where points are scattered, what a list has met tells about where its k-th key of all
// columns will be. Of rows that have met different numbers of columns the highest rank is high enough for all.
Session::Ranks Session::ranks_after(const TilePart& part, bool both) {
  Ranks ranks{depth_.k, depth_.k};
  constexpr int kNoRank = std::numeric_limits<int>::max();
  if (!both && part.columns() == problem_.columns.count && depth_.capacity > kLongestSorted) ranks.rows = kNoRank;
  if (!seen_) return ranks;
  const TileArea& area = part.area;
  const auto rank = [&](std::int64_t first, std::int64_t count, std::int64_t columns) {
    return rank_above_seen(problem_.columns.count, seen_->meet(first, count, columns), depth_.k);
  };
  ranks.rows = rank(area.first_row, area.rows, part.columns());
  if (both) ranks.columns = rank(area.first_column, area.columns, area.rows);
  return ranks;
}

void Session::search(const TilePart& part, bool both, const Depth& depth, const Ranks& ranks) {
  const TileArea& area = part.area;
  const TileSpace& space = *space_->tiles;
  TileSearch search{.part = part,
                    .both = both,
                    .rows = {},
                    .columns = {},
                    .row_lists = lists_->from(area.first_row, depth.capacity),
                    .column_lists = {},
                    .row_bounds = bounds_from(area.first_row, ranks.rows),
                    .column_bounds = {},
                    .selector = selector_,
                    .tile = space.tile.data(),
                    .workspace = workspace()};
  const auto aim = [&](SelectJob& job, Side side, std::int64_t first_list, std::int64_t first_id) {
    const int s = side == Side::rows ? 0 : 1;
    job.rows = static_cast<int>(area.rows);
    job.columns = static_cast<int>(part.columns());
    job.square = static_cast<int>(part.square);
    job.capacity = static_cast<int>(depth.found);
    job.side = side;
    job.first_id = static_cast<std::uint32_t>(first_id);
    job.admission = lists_->admission(first_list, both);
    job.cutoffs = lists_->cutoffs() + first_list;
    job.out = space.incoming[s].data();
    job.counts = space.counts[s].data();
    job.dropped = lists_->dropped() + first_list;
  };
  aim(search.rows, Side::rows, area.first_row, area.first_column);
  aim(search.columns, Side::columns, area.first_column, area.first_row);
  if (both) {
    search.column_lists = lists_->from(area.first_column, depth.capacity);
    search.column_bounds = bounds_from(area.first_column, ranks.columns);
  }
  maker_->find(search);
  blocks_used();
  const auto found = [](const SelectJob& job, const CandidateLists& lists, const Bounds& bounds) {
    return MergeJob{lists, list_count(job), {job.out, job.counts, job.capacity}, bounds};
  };
  const MergeJob of_rows = found(search.rows, search.row_lists, search.row_bounds);
  if (both)
    merge(of_rows, found(search.columns, search.column_lists, search.column_bounds), context_.stream);
  else
    merge(of_rows, context_.stream);
}

Bounds Session::bounds_from(std::int64_t first, std::int64_t k) const {
  const TileMeaning& meaning = maker_->meaning();
  Bounds bounds{.k = static_cast<int>(k), .sums = meaning.sums, .widths = meaning.widths};
  if (meaning.column_bounds) {
    bounds.of_list = meaning.row_bounds + first;
    bounds.of_id = meaning.column_bounds;
  }
  return bounds;
}

void Session::merge_lists(const Session& from, std::int64_t first, std::int64_t count) {
  maker_->learn(*from.maker_, device_, from.device_);
  if (const std::uint32_t* const places = points_.places()) {
    if (!reads(from)) throw std::logic_error("points in an order of their own, and lists that are not read");
    cuda::merge_lists(lists_->from(0), from.lists_->from(0), places + first, count, bounds_from(0, problem_.k),
                      context_.stream);
    return settle();
  }
  if (reads(from)) {
    cuda::merge_lists(lists_->from(first), from.lists_->from(first), nullptr, count, bounds_from(first, problem_.k),
                      context_.stream);
    return settle();
  }
  const int capacity = static_cast<int>(depth_.capacity);
  const TileSpace& found = *space_->tiles;
  const MergeSpace space(problem_, workspace());
  const CandidateLists here{found.incoming[0].data(), found.counts[0].data(), capacity, space.cutoffs, space.dropped};
  for (std::int64_t done = 0; done < count; done += problem_.tile_rows) {
    const std::int64_t at = first + done, lists = std::min(problem_.tile_rows, count - done);
    const auto fetch = [&]<class T>(T* to, const T* source, std::int64_t values) {
      check(cudaMemcpyPeerAsync(to, device_, source, from.device_, static_cast<std::size_t>(values) * sizeof(T),
                                context_.stream));
    };
    const CandidateLists there = from.lists_->from(at);
    fetch(here.entries, there.entries, lists * capacity);
    fetch(here.counts, there.counts, lists);
    fetch(here.cutoffs, there.cutoffs, lists);
    fetch(here.dropped, there.dropped, lists);
    cuda::merge_lists(lists_->from(at), here, nullptr, lists, bounds_from(at, problem_.k), context_.stream);
  }
  settle();
}

// Each takes little time, but what a block of columns gives may have none at all: as many are in flight as take the
// time of two parts of a tile of keys, and no more than serve two blocks of columns, both ways.
void Session::begin_keys() {
  enter(Stage::keys);
  const knng_backend_problem& p = problem_;
  const double blocks = static_cast<double>(p.columns.count) / static_cast<double>(p.tile_cols);
  const double pairs = static_cast<double>(p.tile_rows) * static_cast<double>(p.capacity) / std::max(blocks, 1.0);
  const double soon = 2 * static_cast<double>(key_parts_.pairs) / pairs;
  in_flight_ = InFlight(
      static_cast<std::size_t>(std::clamp<double>(soon, kFewestInFlight, static_cast<double>(4 * blocks_held()))));
}

void Session::keys(std::int64_t first_row, std::int64_t rows, std::int64_t first_column, std::int64_t columns) {
  const knng_backend_problem& p = problem_;
  const BlockView row_place = points_.view_of_rows(first_row), column_place = points_.view_of_columns(first_column);
  const std::int64_t together = points_.queries() ? evaluated_together(p) : rows;
  for (std::int64_t done = 0; done < rows; done += together) {
    ListedKeysJob job;
    job.rows = row_place.view;
    job.first = row_place.at + done;
    job.count = std::min(together, rows - done);
    if (points_.queries()) {
      load_canonical(row_place.view, nullptr, job.first, job.count, space_->canonical.data(), context_.stream);
      job.u = space_->canonical.data();
      job.first = 0;
    }
    job.columns = column_place.view;
    job.first_column = first_column;
    job.metric = metric_;
    const std::int64_t row = first_row + done;
    const CandidateLists lists = lists_->from(row);
    job.candidates = lists.entries;
    job.kept = lists.counts;
    job.capacity = lists.capacity;
    job.keys = keys_->of_lists.data() + row * lists.capacity;
    job.self_keys = keys_->of_selves.size() > 0 ? keys_->of_selves.data() + row : nullptr;
    listed_keys(job, context_.stream);
  }
  if (checked_keys_)
    checked_keys_->evaluate(metric_, row_place.view, first_row, rows, column_place.view, column_place.at, first_column,
                            columns, key_parts_, context_.stream);
  blocks_used();
  in_flight_.add(context_.stream);
  throw_if_cancelled();
}

}  // namespace libknng::cuda

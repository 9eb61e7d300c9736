#include "backend/cuda/session/session_memory.cuh"

#include <algorithm>
#include <cmath>
#include <span>

#include "backend/admission.h"
#include "backend/cuda/base/device_properties.cuh"
#include "backend/cuda/base/metric.cuh"
#include "backend/cuda/base/staging.cuh"
#include "backend/cuda/base/workspace.cuh"
#include "backend/cuda/engines/cells.cuh"
#include "backend/cuda/engines/cutoff_guess.h"
#include "backend/cuda/engines/engine.h"
#include "backend/cuda/engines/engine_kernels.cuh"
#include "backend/cuda/engines/operands.cuh"
#include "backend/cuda/keys/checked_keys.cuh"
#include "backend/cuda/keys/product_keys.cuh"
#include "backend/cuda/keys/smallest_keys.cuh"
#include "backend/cuda/keys/whole_keys.cuh"
#include "backend/cuda/result/delivery.cuh"
#include "backend/cuda/rows/paged_points.cuh"
#include "backend/cuda/rows/point_store.cuh"
#include "backend/cuda/rows/points.cuh"
#include "backend/cuda/rows/slots.cuh"
#include "backend/cuda/session/row_lists.cuh"
#include "backend/cuda/session/session_space.cuh"
#include "backend/cuda/tree/point_tree.cuh"
#include "core/division.h"
#include "plan/list_places.h"
#include "prepare/row_order.h"

namespace libknng::cuda {
namespace {

// Places come in so many.
constexpr std::int64_t kPlaces = 16;

// Rows that refinement has in flight; of so few parts results leave while others are made.
constexpr std::int64_t kRowsInFlight = 16384, kFewestParts = 8;
// Coordinates, or places in lists, of the rows that are refined in one launch: of short rows more go together, as the
// end of a launch leaves multiprocessors idle. Where memory is short, and tiles are small, no more than kRowsInFlight
// do.
constexpr std::int64_t kValuesRefined = std::int64_t{1} << 23;
constexpr std::int64_t kResultBytes = std::int64_t{20} << 20;
// Rows whose contenders are looked for together: no fewer, unless memory is short, and no more; among so many columns
// at a time.
constexpr std::int64_t kFewContending = 192, kMostContending = 1024, kColumnsContending = std::int64_t{1} << 15;
constexpr std::int64_t kFewestHeld = KNNG_BACKEND_FEWEST_HELD;

// Of a tile, or of one square where several lie in memory together: what rows that are redone work in goes by it.
std::int64_t tile_bytes(const knng_backend_problem& p) {
  const TileBuffer buffer = kernels_of(p).buffer(p);
  const std::int64_t rows = buffer.squares > 1 ? std::min(buffer.rows, buffer.columns) : buffer.rows;
  return rows * leading_dimension(buffer.columns) * 4;
}

// The largest tile as a selector sees it, from which it takes so many.
SelectJob largest_job(const knng_backend_problem& p, Side side, std::int64_t capacity) {
  const TileBuffer buffer = kernels_of(p).buffer(p);
  SelectJob job;
  job.rows = static_cast<int>(buffer.rows);
  job.columns = static_cast<int>(buffer.columns);
  job.ld = leading_dimension(buffer.columns);
  job.side = side;
  job.capacity = static_cast<int>(capacity);
  return job;
}
std::int64_t selector_bytes(const knng_backend_problem& p, std::int64_t capacity) {
  const Selector& selector = selector_of(p);
  const SelectJob rows = largest_job(p, Side::rows, capacity), columns = largest_job(p, Side::columns, capacity);
  std::size_t bytes = 0;
  for (const std::int32_t device : std::span(p.devices, static_cast<std::size_t>(p.device_count))) {
    const DeviceLimits limits = limits_of(properties_if_known(device));
    bytes = std::max({bytes, selector.workspace_bytes(rows, limits), selector.workspace_bytes(columns, limits)});
    if (selector.workspace_bytes_both) bytes = std::max(bytes, selector.workspace_bytes_both(rows, columns, limits));
  }
  return static_cast<std::int64_t>(bytes);
}

// ---- points in blocks

// Of one block in a stage.
std::int64_t slot_bytes(const knng_backend_problem& p, Stage stage, int rung) {
  return stage == Stage::tiles ? kernels_of(p).block_bytes(p, rung) : PagedPoints::block_bytes(p);
}
// What a stage takes beside its blocks.
std::int64_t stage_bytes(const knng_backend_problem& p, Stage stage) {
  const std::int64_t bytes = bytes_of<StageSpace>(p, stage);
  switch (stage) {
    case Stage::tiles: return bytes + kernels_of(p).bytes_beside_blocks(p);
    case Stage::keys:
    case Stage::refine: return bytes + bytes_of<ListKeys>(p);
    default: {
      knng_backend_rows listed = p.rows;
      listed.count = redone_together(p);
      return bytes + Points::bytes(listed, transform_of(p));
    }
  }
}
// Before any stage; and after one that met points that are refused.
std::int64_t opening_bytes(const knng_backend_problem& p) {
  return std::max(bytes_of<PagedPoints::Passing>(p.columns, transform_of(p), p.tile_cols),
                  kernels_of(p).opening_bytes(p));
}
std::int64_t bytes_of_stages(const knng_backend_problem& p) {
  const auto with = [&](Stage stage, std::int64_t held, int rung) {
    return stage_bytes(p, stage) + Slots::bytes(held, slot_bytes(p, stage, rung));
  };
  std::int64_t bytes = std::max({opening_bytes(p), with(Stage::keys, kFewestHeld, 0), stage_bytes(p, Stage::refine),
                                 with(Stage::redo, kFewestHeld, 0)});
  // As many blocks as are planned on the first rung, the fewest on the others.
  std::int64_t held = p.blocks_held;
  for (const knng_backend_rung& rung : rungs_of(p)) {
    bytes = std::max(bytes, with(Stage::tiles, held, rung.number));
    held = kFewestHeld;
  }
  return bytes;
}
std::int64_t paged_bytes(const knng_backend_problem& p) {
  return PagedPoints::bytes(p.columns, transform_of(p), p.tile_cols) + kernels_of(p).paged_bytes(p) +
         bytes_of_stages(p);
}

}  // namespace

const Selector& selector_of(const knng_backend_problem& p) { return *find_selector(p.selector); }
bool has_row_filter(const knng_backend_problem& p) { return kernels_of(p).row_operand_bytes(p) > 0; }
bool takes_product_keys(const knng_backend_problem& p) {
  static_assert(kLongestOfProductKeys <= kLongestOfProducts);
  return product_keys_pay(p) && p.device_count == 1 && properties_if_known(p.devices[0]).has_fast_doubles();
}
bool shuffles_columns(const knng_backend_problem& p) {
  return !p.square && !p.by_rows && !is_paged(p) && p.columns.count > p.tile_cols;
}

std::int64_t found_capacity(std::int64_t k, std::int64_t capacity) {
  const double mean = static_cast<double>(k), six_deviations = 6 * std::sqrt(2 * mean);
  return std::max(capacity, round_up(static_cast<std::int64_t>(mean + six_deviations), kPlaces));
}
std::int64_t short_capacity(const knng_backend_problem& p) {
  return std::min(p.capacity, list_places(p.k, 0, p.columns.count));
}
std::int64_t found_capacity(const knng_backend_problem& p, std::int64_t capacity) {
  // What a single tile finds is all that lists will have. (Engines that guess have several parts of it.)
  if (p.square && !is_paged(p) && !engine_of(p).guesses && p.tile_rows >= p.rows.count) return capacity;
  // Of long lists no more than the list's length is a cut-off: as many as it holds are below it.
  const bool is_long = capacity > short_capacity(p);
  const std::int64_t found = found_capacity(is_long ? capacity : p.k, capacity);
  const CutoffGuess guess = cutoff_guess(p);
  if (guess.drawn == 0) return found;
  const std::int64_t most = std::min(room_under_guess(guess, p.columns.count, p.k), p.tile_cols);
  return std::max(found, round_up(most, kPlaces));
}

std::int64_t refined_together(const knng_backend_problem& p) {
  const std::int64_t fit = kResultBytes / (width(p) * (8 + value_bytes(p)));
  const std::int64_t most = std::clamp<std::int64_t>(p.rows.count / (kFewestParts * kRowsInFlight), 2, 4);
  const std::int64_t whole = std::min(fit / kRowsInFlight, most) * kRowsInFlight;
  return std::min(whole > 0 ? whole : std::max(fit, kRowsInFlight / kResultSpaces), p.rows.count);
}
// The last rung takes about as much as tile_bytes().
std::int64_t redone_together(const knng_backend_problem& p) {
  const std::int64_t fit = std::clamp<std::int64_t>(tile_bytes(p) / (8 * p.columns.count), 1, 256);
  return fit < kRowsOfWholeKeys ? fit : fit / kRowsOfWholeKeys * kRowsOfWholeKeys;
}
// Where rows are answered from a tree, no tile's memory is there for keys.
std::int64_t checked_together(const knng_backend_problem& p) {
  constexpr std::int64_t kBesideTree = 4;
  return std::min(p.by_rows ? kBesideTree : redone_together(p), p.checked_count);
}
std::int64_t evaluated_together(const knng_backend_problem& p) { return rounded_together(p.tile_rows, p.columns.dim); }

RefineJob refine_job(const knng_backend_problem& p, const Metric& metric) {
  RefineJob job;
  job.rows.rows = {nullptr, p.rows.dtype, p.rows.count, p.rows.dim, p.rows.dim, 1};
  job.columns.rows = {nullptr, p.columns.dtype, p.columns.count, p.columns.dim, p.columns.dim, 1};
  job.rows.transform = job.columns.transform = metric.transform;
  job.metric = metric;
  job.k = p.k;
  job.admission = admission_of(p);
  job.lists.capacity = p.capacity;
  job.result.width = width(p);
  const std::int64_t fit = std::min(kValuesRefined / std::max(p.columns.dim, p.capacity), p.tile_rows);
  job.rows_at_a_time = std::min(std::max(fit, kRowsInFlight), refined_together(p));
  job.keys_known = is_paged(p);
  return job;
}

ExactJob exact_job(const knng_backend_problem& p, const Metric& metric) {
  const RefineJob shape = refine_job(p, metric);
  ExactJob job;
  job.rows = shape.rows;
  job.columns = shape.columns;
  job.metric = metric;
  job.k = p.k;
  job.admission = shape.admission;
  job.result.width = width(p);
  job.rows_at_a_time = job.count = redone_together(p);
  const std::int64_t columns =
      is_paged(p) ? p.tile_cols : std::max<std::int64_t>(tile_bytes(p) / (8 * p.columns.dim), 128);
  job.columns_at_a_time = std::min(columns, p.columns.count);
  return job;
}

// In as much memory as all keys of some rows take: enough rows for products to be fast, and of each as many contenders
// as there is room for.
ContendingRowsJob contending_job(const knng_backend_problem& p, const Metric& metric) {
  const RefineJob shape = refine_job(p, metric);
  ContendingRowsJob job;
  job.rows = shape.rows;
  job.columns = shape.columns;
  job.metric = metric;
  job.admission = shape.admission;
  job.k = p.k;
  job.result.width = width(p);
  job.operand_bytes = kernels_of(p).row_operand_bytes(p);
  const std::int64_t n = p.columns.count;
  job.columns_at_a_time = std::min(round_up(n, kColumnGrain), kColumnsContending);
  job.rows_at_a_time = kFewContending;
  const auto bytes_of_row = [&](std::int64_t capacity) {
    ContendingRowsJob few = job;
    few.capacity = capacity;
    return (contending_workspace_bytes(few) + ResultSpace(p, kFewContending, nullptr).used) / kFewContending;
  };
  const std::int64_t fewest = places_for(p.k, n), room = 2 * tile_bytes(p);
  const std::int64_t spare = room / kFewContending - bytes_of_row(fewest);
  constexpr std::int64_t kContenderBytes = sizeof(double) + sizeof(std::uint32_t);
  job.capacity = std::clamp(fewest + spare / kContenderBytes, fewest, n);
  job.rows_at_a_time = std::clamp<std::int64_t>(room / bytes_of_row(job.capacity), 1, kMostContending);
  job.rows_at_a_time = job.count = std::min(job.rows_at_a_time, p.rows.count);
  return job;
}

SearchRowsJob search_rows_job(const knng_backend_problem& p, const Metric& metric) {
  SearchRowsJob job;
  job.rows = refine_job(p, metric).rows;
  job.columns = p.columns.count;
  job.metric = metric;
  job.k = p.k;
  job.admission = admission_of(p);
  job.result.width = width(p);
  job.most_rows = p.tile_rows;
  return job;
}

CheckSpace::CheckSpace(const knng_backend_problem& p, void* memory) : together(checked_together(p)) {
  Workspace space(memory);
  const std::int64_t entries = together * width(p);
  rows = space.take<std::int64_t>(together);
  u = space.take<double>(together * p.columns.dim);
  keys = space.take<double>(is_paged(p) ? 0 : together * p.columns.count);
  ids = space.take<std::int64_t>(entries);
  values = space.take<std::byte>(entries * value_bytes(p));
  listed = space.take<double>(entries);
  counts = space.take<KeyCounts>(together);
  used = space.used();
}

RedoSpace::RedoSpace(const knng_backend_problem& p, void* memory) : results(p, redone_together(p), memory) {
  Workspace space(results.rest);
  list = space.take<std::int64_t>(results.together);
  workspace = space.take<std::byte>(exact_workspace_bytes(exact_job(p, metric_of(p.metric))));
  used = results.used + space.used();
}

ContendingSpace::ContendingSpace(const knng_backend_problem& p, void* memory)
    : results(p, contending_job(p, metric_of(p.metric)).rows_at_a_time, memory) {
  Workspace space(results.rest);
  list = space.take<std::int64_t>(results.together);
  listed = space.take<std::int64_t>(results.together * width(p));
  workspace = space.take<std::byte>(contending_workspace_bytes(contending_job(p, metric_of(p.metric))));
  used = results.used + space.used();
}

AnswerSpace::AnswerSpace(const knng_backend_problem& p, void* memory) : results(p, p.tile_rows, memory) {
  Workspace space(results.rest);
  state = space.take<SearchState>(1);
  workspace = space.take<std::byte>(search_rows_workspace_bytes(search_rows_job(p, metric_of(p.metric))));
  used = results.used + space.used();
}

MergeSpace::MergeSpace(const knng_backend_problem& p, void* memory) {
  Workspace space(memory);
  cutoffs = space.take<float>(p.tile_rows);
  dropped = space.take<float>(p.tile_rows);
  used = space.used();
}

std::int64_t workspace_bytes(const knng_backend_problem& p, Stage stage) {
  const Metric metric = metric_of(p.metric);
  switch (stage) {
    case Stage::tiles: {
      std::int64_t bytes = selector_bytes(p, found_capacity(p, p.capacity));
      if (const CutoffGuess guess = cutoff_guess(p); guess.drawn > 0)
        bytes = std::max(bytes, selector_bytes(p, found_capacity(guess.rank, guess.capacity)));
      bytes += kernels_of(p).workspace_bytes(p);
      return std::max(bytes, MergeSpace(p, nullptr).used);
    }
    case Stage::keys: return 0;
    case Stage::refine:
      return std::max(kResultSpaces * ResultSpace(p, refined_together(p), nullptr).used +
                          refine_workspace_bytes(refine_job(p, metric)),
                      takes_product_keys(p) ? 8 * p.rows.count * p.rows.dim : 0);
    default:
      return std::max({RedoSpace(p, nullptr).used, has_row_filter(p) ? ContendingSpace(p, nullptr).used : 0,
                       CheckSpace(p, nullptr).used});
  }
}

std::int64_t workspace_bytes(const knng_backend_problem& p) {
  if (p.by_rows) return std::max(AnswerSpace(p, nullptr).used, CheckSpace(p, nullptr).used);
  return std::max(
      {workspace_bytes(p, Stage::tiles), workspace_bytes(p, Stage::refine), workspace_bytes(p, Stage::redo)});
}

std::int64_t blocks_held(const knng_backend_problem& p, Stage stage, int rung) {
  if (!is_paged(p)) return 0;
  if (stage == Stage::redo) return kFewestHeld;
  const std::int64_t room = bytes_of_stages(p) - stage_bytes(p, stage), slot = slot_bytes(p, stage, rung);
  std::int64_t fit = room / Slots::bytes(1, slot);
  while (fit > 0 && Slots::bytes(fit, slot) > room) --fit;
  const std::int64_t blocks = (p.columns.count + p.tile_cols - 1) / p.tile_cols;
  return std::clamp(fit, kFewestHeld, std::max(blocks, kFewestHeld));
}

std::int64_t session_bytes(const knng_backend_problem& p) {
  const std::int64_t d = p.columns.dim;
  std::int64_t bytes = p.square ? 0 : Points::bytes(p.rows, transform_of(p));
  bytes += bytes_of<LeftOut>(p);
  if (shuffles_columns(p)) bytes += PointStore::shuffle_bytes(p.columns.count);
  if (!is_paged(p)) bytes += Points::bytes(p.columns, transform_of(p));
  if (kernels_of(p).may_order(p)) bytes += PointStore::order_bytes(p.columns.count);
  if (p.by_rows)
    return bytes + PointTree::bytes(p.columns.count, d) +
           std::max(PointTree::bytes_while_made(p.columns.count, d), bytes_of<StageSpace>(p));
  bytes += kernels_of(p).bytes(p);
  bytes += bytes_of<RowLists>(p);
  if (is_paged(p)) return bytes + paged_bytes(p) + CheckedKeys::bytes(p);
  return bytes + bytes_of<StageSpace>(p);
}

std::int64_t host_bytes(const knng_backend_problem& p) {
  const auto point = [](const knng_backend_rows& rows) { return rows.dim * dtype_bytes(rows.dtype); };
  // The order of columns, with leave_out also the other way round, and whom rows leave out.
  const std::int64_t order = shuffles_columns(p) ? RowOrder::bytes(p.columns.count) * (p.leave_out ? 2 : 1) : 0;
  const std::int64_t left_out = p.leave_out ? 4 * p.rows.count : 0;
  // Lists that are checked, and what their keys say.
  const std::int64_t checked = checked_together(p) * (width(p) * (16 + value_bytes(p)) + 16);
  // Lists of rows that are redone, as they come and as they go.
  const std::int64_t row_that_leaves = width(p) * (8 + value_bytes(p)) + 2;
  std::int64_t redone = redone_together(p) * row_that_leaves;
  if (has_row_filter(p))
    redone = std::max(redone, contending_job(p, metric_of(p.metric)).rows_at_a_time * (row_that_leaves + 8 * width(p)));
  const std::int64_t cells = kernels_of(p).may_order(p) ? cell_host_bytes(p.columns.count) : 0;
  return Staging::host_bytes(std::max(point(p.columns), point(p.rows))) + order + left_out +
         std::max({checked, redone, cells});
}

}  // namespace libknng::cuda

#include "backend/cuda/engines/fused_tiles.cuh"

#include <algorithm>

#include "backend/cuda/base/device_properties.cuh"
#include "backend/cuda/base/workspace.cuh"
#include "backend/cuda/engines/cells.cuh"
#include "backend/cuda/engines/cutoff_guess.h"
#include "backend/cuda/fused/arrange.cuh"
#include "backend/cuda/fused/balls.cuh"
#include "backend/cuda/fused/fused_job.cuh"
#include "backend/cuda/fused/limits.cuh"
#include "core/division.h"

namespace libknng::cuda {
namespace {

// The side of tiles in memory, where whole tiles of the plan may have to go through memory.
constexpr std::int64_t kWholeSide = 16384;
constexpr std::int64_t kGrain = 128;
// Of rows of a sample, which may meet a whole cluster at once, where rows of a build meet it in parts that double.
constexpr int kPassesOfSample = 6;
static_assert(fused::kPasses == kPassesOfPart && kPassesOfSample <= fused::kMostPasses);
// Of fewer points all products take no longer than finding cells.
constexpr std::int64_t kFewestInCells = std::int64_t{1} << 17;
// These may be scattered nevertheless, where so many neighbours are wanted that it pays.
constexpr std::int64_t kFewestScattered = std::int64_t{1} << 14, kFewestWanted = 32;

std::int64_t side_in_memory(const knng_backend_problem& p) { return is_paged(p) ? kWholeSide : opening_columns(p); }

// Whether operands of so many halves are put into the order of limits: with more, comparing is a small part of the work
// (docs/internals/benchmarks-gpu.md has the kernel's rates). Points that take two pieces are clustered, and few of them
// are alike.
constexpr bool are_arranged(std::int64_t halves, Precision precision) {
  return halves <= (precision == Precision::fp16 ? 512 : 256);
}
// What the kernels multiply of a point, in halves.
constexpr std::int64_t terms_in_halves(std::int64_t dim, Precision p) { return halves_of(terms_of(dim, p), p); }
// Halves of operands in that order, of a point.
std::int64_t arranged_terms(const knng_backend_problem& p) {
  std::int64_t most = 0;
  for (const knng_backend_rung& rung : rungs_of(p)) {
    const Precision precision = precision_of(p, rung.number);
    if (precision == Precision::fp32) continue;
    const std::int64_t terms = terms_in_halves(p.columns.dim, precision);
    if (are_arranged(terms, precision)) most = std::max(most, in_lines(terms));
  }
  return most;
}

// Points of a graph that keep their operands. Rows that are bytes would have to be rounded for an order.
bool keeps_operands(const knng_backend_problem& p) { return p.square && !is_paged(p) && !multiplies_bytes(p); }
// While cells are looked for there are no operands, whose memory it takes.
bool may_find_cells(const knng_backend_problem& p) {
  return keeps_operands(p) && p.columns.count >= kFewestInCells &&
         cell_bytes(p.columns.count, p.columns.dim) <= ProductTiles::operand_bytes_of_graph(p);
}

// What a launch works in.
template <class Number>
struct FusedSpace {
  FusedSpace(const knng_backend_problem& p, void* memory) {
    using namespace fused;
    Workspace space(memory);
    const std::int64_t rows = round_up(p.tile_rows, kBlockRows), columns = round_up(p.tile_cols, kTile);
    row_limits = space.take<ListLimit<Number>>(rows);
    column_limits = space.take<ListLimit<Number>>(columns);
    column_least = space.take<ListLimit<Number>>(columns / kLaneColumns);
    const std::int64_t value_bytes_arranged = 2 * arranged_terms(p);
    if (value_bytes_arranged > 0) {
      row_order = space.take<std::uint16_t>(rows);
      column_order = space.take<std::uint16_t>(columns);
      row_operands = space.take<std::byte>(rows * value_bytes_arranged);
      column_operands = space.take<std::byte>(columns * value_bytes_arranged);
    }
    if (may_find_cells(p)) {
      const std::int64_t row_windows = in_windows(p.tile_rows), column_windows = in_windows(p.tile_cols);
      cutoffs = space.take<float>(row_windows + column_windows);
      near = space.take<std::uint64_t>(row_windows * column_windows);
    }
    rows_again = space.take<std::uint8_t>(ceil_div(p.tile_rows, kBlockRows));
    columns_again = space.take<std::uint8_t>(ceil_div(p.tile_cols, kBlockColumns));
    overflown = space.take<unsigned>(kMostPasses);
    used = space.used();
  }

  fused::ListLimit<Number>*row_limits, *column_limits, *column_least;
  std::uint16_t *row_order = nullptr, *column_order = nullptr;
  std::byte *row_operands = nullptr, *column_operands = nullptr;
  float* cutoffs = nullptr;
  std::uint64_t* near = nullptr;
  std::uint8_t *rows_again, *columns_again;
  unsigned* overflown;
  std::int64_t used;
};

}  // namespace

FusedTiles::FusedTiles(const TileInputs& inputs) : ProductTiles(inputs) {
  const DeviceProperties properties = properties_of(in_.context.device);
  compute_major_ = properties.major;
  multiprocessors_ = properties.multiprocessors;
}

bool FusedTiles::may_order(const knng_backend_problem& p) {
  if (p.columns.count >= kFewestInCells) return may_find_cells(p);
  return keeps_operands(p) && p.columns.count >= kFewestScattered && p.k >= kFewestWanted;
}

std::int64_t FusedTiles::bytes(const knng_backend_problem& p) {
  return ProductTiles::bytes(p) + (may_find_cells(p) ? bytes_of<fused::BallArrays>(p.columns.count, p.columns.dim) : 0);
}

std::int64_t FusedTiles::workspace_bytes(const knng_backend_problem& p) {
  return multiplies_bytes(p) ? FusedSpace<std::int32_t>(p, nullptr).used : FusedSpace<float>(p, nullptr).used;
}

// Two squares on the diagonal are in memory together: the warps that select from one would leave a GPU half empty when
// the last of them are at work.
TileBuffer FusedTiles::buffer(const knng_backend_problem& p) {
  const std::int64_t side = side_in_memory(p), columns = std::min(p.tile_cols, side);
  if (!p.square) return {p.tile_rows, columns};
  const std::int64_t squares = is_paged(p) || p.tile_rows <= side ? 1 : 2;
  return {std::min(p.tile_rows, squares * side), columns, squares};
}

bool FusedTiles::fuses() const noexcept { return !crowded_ && fuses(precision()); }

bool FusedTiles::fuses(Precision precision) const noexcept {
  return fused::has_kernel(compute_major_) && (in_.problem.units.usable & KNNG_UNIT_FUSED) != 0 &&
         precision != Precision::fp32;
}

DeviceArray<std::int64_t> FusedTiles::find_order() {
  if (!may_find_cells(in_.problem) || !fuses(Precision::fp16)) return {};
  return order_by_cells(in_.points.resident(), frame(), products(), in_.staging, in_.context);
}

void FusedTiles::begin(int rung, bool crowded) {
  ProductTiles::begin(rung, crowded);
  crowded_ = crowded;
  passes_under_guess_ = 0;
  if (!in_.points.places() || in_.points.are_scattered() || !fuses()) return;
  const std::int64_t count = in_.problem.columns.count, dim = in_.problem.columns.dim;
  if (!balls_) balls_.emplace(taken<fused::BallArrays>(in_.context, count, dim));
  const bool two_piece = precision() == Precision::two_piece;
  balls_->find({operands().values(), stride_of(dim, precision()), dim, two_piece ? 2 * pitch_of(dim, precision()) : 0,
                operands().terms(), count, precision() == Precision::int8},
               in_.context.stream);
}

// Whether balls are of the rows and of the columns.
bool FusedTiles::has_balls(const TileArea& area) const {
  return leaves_out() && area.first_row % fused::kWindow == 0 && area.first_column % fused::kWindow == 0 &&
         area.first_column + area.columns <= in_.problem.columns.count;
}

std::vector<TilePart> FusedTiles::parts(const TileArea& area, bool square) {
  const knng_backend_problem& p = in_.problem;
  std::vector<TilePart> parts;
  const bool on_diagonal = square && area.first_row == area.first_column;
  // Points of a graph that do not come in blocks were on the diagonal, of this device or of another.
  const bool known = square && !is_paged(p);
  const bool beside = square != (p.square != 0);  // rows of a graph as if they were queries
  const bool rows_met = known || (!beside && has_met(area.first_row));
  const bool columns_met = known || !square || has_met(area.first_column);
  if (!fuses() || (!on_diagonal && !rows_met && !columns_met))
    cut(area, square, parts);
  else if (on_diagonal)
    split_diagonal(area, diagonal_cut(), parts);
  else if (!rows_met)
    split_strips(area, true, parts);
  else if (!columns_met)
    split_strips(area, false, parts);
  else
    parts.push_back({area, false});
  if (!beside && area.first_column < p.columns.count) {
    meet(area.first_row, area.rows);
    if (square) meet(area.first_column, area.columns);
  }
  return parts;
}

std::vector<TilePart> FusedTiles::parts_of_sample(const TileArea& area, std::int64_t seen) {
  std::vector<TilePart> parts;
  if (!fuses()) {
    cut(area, false, parts);
    return parts;
  }
  for (std::int64_t done = 0, width = 0; done < area.columns; done += width) {
    width = std::min(seen + done, area.columns - done);
    parts.push_back({{area.first_row, area.rows, area.first_column + done, width}, false, kPassesOfSample});
  }
  return parts;
}

void FusedTiles::lists_cleared() {
  met_.assign(static_cast<std::size_t>(ceil_div(in_.problem.rows.count, in_.problem.tile_rows)), false);
}

bool FusedTiles::has_met(std::int64_t first) const {
  return met_[static_cast<std::size_t>(first / in_.problem.tile_rows)];
}
// Whole blocks only.
void FusedTiles::meet(std::int64_t first, std::int64_t points) {
  const std::int64_t side = in_.problem.tile_rows;
  if (first % side == 0 && points == std::min(side, in_.problem.rows.count - first))
    met_[static_cast<std::size_t>(first / side)] = true;
}

// Not of rows rounded to bytes: how many pairs have lows below the k-th smallest key, no sample of keys tells.
CutoffGuess FusedTiles::guess() const {
  const bool rounds_to_bytes = precision() == Precision::int8 && !multiplies_bytes(in_.problem);
  return fuses() && !rounds_to_bytes ? cutoff_guess(in_.problem) : CutoffGuess();
}

// Not in an order of cells: there neighbours are stored beside each other, and squares would take all their passes.
void FusedTiles::trust_guesses(std::int64_t room) {
  const knng_backend_problem& p = in_.problem;
  if (leaves_out()) return;
  const std::int64_t passes = passes_under_guess(cutoff_guess(p), p.columns.count, p.k, room);
  if (passes <= fused::kMostPasses) passes_under_guess_ = static_cast<int>(passes);
}

// Into what lies in memory at a time.
void FusedTiles::cut(const TileArea& area, bool square, std::vector<TilePart>& parts) const {
  const TileBuffer most = buffer(in_.problem);
  const bool on_diagonal = square && area.first_row == area.first_column;
  const std::int64_t rows = on_diagonal ? std::min(most.rows, most.columns) : most.rows;
  for (std::int64_t r = 0; r < area.rows; r += rows)
    for (std::int64_t c = on_diagonal ? r : 0; c < area.columns; c += most.columns)
      parts.push_back({{area.first_row + r, std::min(rows, area.rows - r), area.first_column + c,
                        std::min(most.columns, area.columns - c)},
                       true});
}

// Squares that are no longer cut open lists in memory, two at a time; in registers, and so larger, if lists have
// guessed cut-offs. Whole windows, so that they may be left out.
DiagonalCut FusedTiles::diagonal_cut() const {
  constexpr std::int64_t kSquareUnderGuess = 16384;
  const knng_backend_problem& p = in_.problem;
  const bool guessed = passes_under_guess_ > 0;
  return {.longest = guessed ? kSquareUnderGuess : std::min(opening_columns(p), side_in_memory(p)),
          .together = guessed ? 0 : buffer(p).rows,
          .passes = passes_under_guess_,
          .window = fused::kWindow,
          .grain = kGrain};
}

// Where the lists of one side have seen nothing yet: strips of the other side's points, each as wide as all before it.
void FusedTiles::split_strips(const TileArea& area, bool of_columns, std::vector<TilePart>& parts) const {
  const std::int64_t all = of_columns ? area.columns : area.rows;
  const auto strip = [&](std::int64_t first, std::int64_t width) {
    return of_columns ? TileArea{area.first_row, area.rows, area.first_column + first, width}
                      : TileArea{area.first_row + first, width, area.first_column, area.columns};
  };
  std::int64_t width = std::min(opening_columns(in_.problem), all);
  cut(strip(0, width), false, parts);
  for (std::int64_t done = width; done < all; done += width, width = done) {
    width = std::min(width, all - done);
    parts.push_back({strip(done, width), false});
  }
}

void FusedTiles::find(TileSearch& search) {
  if (search.part.opens) return ProductTiles::find(search);
  set_terms(search);
  if (precision() == Precision::int8)
    find_in_registers<std::int32_t>(search);
  else
    find_in_registers<float>(search);
}

template <class Number>
void FusedTiles::find_in_registers(const TileSearch& search) {
  using namespace fused;
  const TileArea& area = search.part.area;
  const std::int64_t dim = in_.problem.columns.dim;
  const FusedSpace<Number> space(in_.problem, search.workspace);
  FusedJob<Number> job{};
  job.rows = search.rows;
  job.columns = search.columns;
  job.both = search.both;
  job.row_operands = operands_of_rows(area.first_row);
  job.column_operands = operands_of_columns(area.first_column);
  if (precision() == Precision::two_piece) job.column_operands += pitch_of(dim, precision()) * value_bytes(precision());
  job.stride = halves_of(stride_of(dim, precision()), precision());
  job.terms = terms_in_halves(dim, precision());
  job.row_limits = space.row_limits;
  job.column_limits = space.column_limits;
  job.column_least = space.column_least;
  job.rows_again = space.rows_again;
  job.columns_again = space.columns_again;
  job.overflown = space.overflown;
  cut_into_units(job, multiprocessors_, has_balls(area));
  const ListsOfSide rows{search.row_lists, search.row_bounds}, columns{search.column_lists, search.column_bounds};
  cudaStream_t stream = in_.context.stream;
  const bool arranges = are_arranged(job.terms, precision());
  if (arranges) {
    job.row_order = space.row_order;
    job.column_order = space.column_order;
  }
  if (has_balls(area)) {
    const Balls balls = balls_->balls();
    find_near(job, balls.from(area.first_row), balls.from(area.first_column), space.cutoffs, space.near, stream);
    job.near = space.near;
  }
  start_limits(job, stream);
  if (arranges) {
    const std::int64_t stride = in_lines(job.terms);
    arrange({job.row_operands, job.rows.rows, job.row_order, space.row_operands},
            {job.column_operands, job.rows.columns, job.column_order, space.column_operands}, job.stride, job.terms,
            stride, stream);
    job.row_operands = space.row_operands;
    job.column_operands = space.column_operands;
    job.stride = stride;
  }
  job.passes = std::max(kPasses, search.part.passes);
  for (; job.pass < job.passes; ++job.pass) {
    if (job.pass > 0) renew_limits(job, rows, columns, stream);
    kernel_of<Number>(compute_major_)(job, multiprocessors_, stream);
  }
}

}  // namespace libknng::cuda

#include "backend/cuda/engines/product_tiles.cuh"

#include <algorithm>
#include <stdexcept>

#include "backend/cuda/engines/cutoff_guess.h"
#include "backend/cuda/engines/integer_operands.cuh"

namespace libknng::cuda {
namespace {

// The bound of a pair allows for errors that all have one sign. Independent errors nearly cancel, and the key lies near
// low + 1 (b_i + b_j): a cut-off a fifth higher loses nearly no neighbour. The proof finds the rows that have lost one.
constexpr float kWidthsOfBytes = 1.2F;

// Points may be so many powers of two farther from the centre than a sample of them before their operands suffer: as
// many as leave the second of two pieces above fp16's denormals. fp32 holds whatever comes.
constexpr int kHeadroom = 8;

std::int64_t bytes_of_operands(const knng_backend_problem& p, std::int64_t count, std::int64_t drawn) {
  const std::int64_t dim = p.columns.dim;
  return multiplies_bytes(p) ? Operands::integer_bytes(count, drawn, dim) : Operands::bytes(count, drawn, dim);
}

}  // namespace

Precision precision_of(const knng_backend_problem& p, int rung) {
  switch (rung) {
    case KNNG_RUNG_ROUNDED_BYTES: return Precision::int8;
    case KNNG_RUNG_FILTER: return multiplies_bytes(p) ? Precision::int8 : Precision::fp16;
    case KNNG_RUNG_TWO_PIECE: return Precision::two_piece;
    default: return Precision::fp32;
  }
}

std::int64_t ProductTiles::bytes(const knng_backend_problem& p) {
  const std::int64_t n = p.rows.count, dim = p.columns.dim;
  const bool of_sample = p.square && is_paged(p);  // there are no queries either
  const std::int64_t drawn = cutoff_guess(p).drawn;
  std::int64_t bytes = Products::bytes();
  if (!of_sample) bytes += bytes_of_operands(p, n, p.square ? drawn : 0);
  if (!multiplies_bytes(p)) bytes += Frame::bytes(of_sample ? std::min(n, kSampleRows) : n, dim);
  return bytes + (p.square || is_paged(p) ? 0 : bytes_of_operands(p, p.columns.count, drawn));
}

std::int64_t ProductTiles::operand_bytes_of_graph(const knng_backend_problem& p) {
  return bytes_of_operands(p, p.columns.count, cutoff_guess(p).drawn);
}

std::int64_t ProductTiles::paged_bytes(const knng_backend_problem& p) {
  knng_backend_rows sampled = p.columns;
  sampled.count = std::min(p.columns.count, kSampleRows);
  return (multiplies_bytes(p) ? 0 : Points::bytes(sampled, transform_of(p))) + PagedOperands::bytes(p.columns.count);
}

std::int64_t ProductTiles::opening_bytes(const knng_backend_problem& p) {
  return multiplies_bytes(p) ? 0 : Operands::bytes(std::min(p.columns.count, kSampleRows), 0, p.columns.dim);
}

std::int64_t ProductTiles::block_bytes(const knng_backend_problem& p, int rung) {
  return PagedOperands::slot_bytes(p.tile_cols, p.columns.dim, precision_of(p, rung));
}

std::int64_t ProductTiles::bytes_beside_blocks(const knng_backend_problem& p) {
  return PagedOperands::held_bytes(PagedPoints::block_bytes(p), p.tile_cols, p.columns.dim,
                                   precision_of(p, KNNG_RUNG_FILTER));
}

std::int64_t ProductTiles::row_operand_bytes(const knng_backend_problem& p) {
  if (is_paged(p)) return 0;
  std::int64_t bytes = 0;
  for (const knng_backend_rung& rung : rungs_of(p)) {
    const Precision precision = precision_of(p, rung.number);
    bytes = std::max(bytes, stride_of(p.columns.dim, precision) * value_bytes(precision));
  }
  return bytes;
}

ProductTiles::ProductTiles(const TileInputs& inputs) : TileMaker(inputs), products_(inputs.handles, inputs.context) {
  if (!multiplies_bytes(in_.problem)) make_frame();
}

// The frame of all points; of those that come in blocks, as a sample shows them.
void ProductTiles::make_frame() {
  PointStore& points = in_.points;
  const knng_backend_problem& p = in_.problem;
  const bool paged = points.is_paged();
  if (paged) try {
      sample_.emplace(sample_rows(p.columns).rows(), in_.metric.transform, p.metric.largest, in_.staging, in_.context);
    } catch (const RefusedRow&) {
      points.paged().look_for_refused();
      throw;
    }
  const Points& columns = paged ? *sample_ : points.resident();
  frame_.emplace(in_.metric, columns, in_.context);
  frame_->cover(columns.view(), in_.context);
  if (points.queries()) frame_->cover(points.queries()->view(), in_.context);
  frame_->settle(paged ? kHeadroom : 0, in_.staging, in_.context.stream);
}

void ProductTiles::begin(int rung, bool) {
  precision_ = precision_of(in_.problem, rung);
  if ((in_.problem.units.usable & unit_of(precision_)) == 0)
    throw std::logic_error("products of a unit that is not used");
  operands_.reset();
  query_operands_.reset();
  paged_operands_.reset();
  PointStore& points = in_.points;
  const bool paged = points.is_paged();
  if (multiplies_bytes(in_.problem)) {
    if (paged)
      paged_operands_.emplace(points.paged(), in_.metric, in_.context);
    else
      operands_.emplace(points.resident(), points.order_of_columns(0), cutoff_guess(in_.problem).drawn, in_.metric,
                        in_.context);
    if (points.queries()) query_operands_.emplace(*points.queries(), nullptr, 0, in_.metric, in_.context);
    meaning_.scale = integer_scale(in_.metric);
  } else {
    round_operands();
  }
  meaning_.integers = precision_ == Precision::int8;
  meaning_.widths = precision_ == Precision::int8 ? kWidthsOfBytes : 2;
  meaning_.column_terms = paged ? paged_operands_->terms() : operands_->terms();
  meaning_.column_bounds = paged ? paged_operands_->bounds() : operands_->bounds();
  meaning_.row_terms = points.queries() ? query_operands_->terms() : meaning_.column_terms;
  meaning_.row_bounds = points.queries() ? query_operands_->bounds() : meaning_.column_bounds;
}

void ProductTiles::round_operands() {
  const bool paged = in_.points.is_paged();
  const Points& points = paged ? *sample_ : in_.points.resident();
  const Points* const queries = in_.points.queries();
  const std::int64_t* const order = in_.points.order_of_columns(0);
  const std::int64_t dim = points.dim();
  if (precision_ == Precision::int8) frame_->settle_bytes(points, in_.staging, in_.context);
  operands_.emplace(points, order, cutoff_guess(in_.problem).drawn, *frame_, precision_, in_.staging, in_.context);
  if (queries) query_operands_.emplace(*queries, nullptr, 0, *frame_, precision_, in_.staging, in_.context);
  OperandExtremes extremes = operands_->extremes();
  if (queries) extremes = extremes.with(query_operands_->extremes());
  const double ratio = precision_ == Precision::int8 ? frame_->byte_ratio() : static_cast<double>(extremes.ratio);
  LowBound::Rounding rounding{std::max(ratio, LowBound::kSmallestRatio)};
  if (!paged) rounding.longest = static_cast<double>(extremes.longest);
  const LowBound bound(in_.metric, dim, frame_->factor(precision_), Products::unit(precision_, dim, in_.problem.units),
                       rounding);
  meaning_.scale = bound.scale();
  if (paged) {
    operands_.reset();
    paged_operands_.emplace(in_.points.paged(), in_.metric, *frame_, precision_, bound, in_.context);
  } else {
    operands_->settle(points, order, bound, in_.context);
  }
  if (queries) query_operands_->settle(*queries, nullptr, bound, in_.context);
}

const std::byte* ProductTiles::operands_of_columns(std::int64_t first) {
  if (in_.points.is_paged()) {
    const std::int64_t block = in_.points.paged().block_of(first);
    return operand_of(paged_operands_->block(block), first - block * in_.problem.tile_cols, precision_,
                      in_.problem.columns.dim);
  }
  return operand_of(operands_->values(), first, precision_, in_.points.resident().dim());
}

const std::byte* ProductTiles::operands_of_rows(std::int64_t first) {
  if (!in_.points.queries()) return operands_of_columns(first);
  return operand_of(query_operands_->values(), first, precision_, in_.points.queries()->dim());
}

void ProductTiles::gather_rows(const std::int64_t* list, std::int64_t count, std::byte* operands) {
  const std::uint32_t* const places = in_.points.queries() ? nullptr : in_.points.places();
  const std::int64_t bytes = stride_of(in_.problem.columns.dim, precision_) * value_bytes(precision_);
  gather_operands(operands_of_rows(0), places, list, count, bytes, operands, in_.context.stream);
}

RowLows ProductTiles::lows(const std::byte* operands, std::int64_t count, std::int64_t first, std::int64_t columns,
                           float* tile, std::int64_t ld) {
  products_.run(operands, count, operands_of_columns(first), columns, in_.problem.columns.dim, precision_, tile, ld);
  return {meaning_.row_terms, meaning_.column_terms + first, meaning_.integers, in_.points.order_of_columns(first)};
}

void ProductTiles::fill(const TileArea& area, float* tile, std::int64_t ld, std::byte*) {
  const std::byte* const of_rows = operands_of_rows(area.first_row);
  const std::byte* const of_columns = operands_of_columns(area.first_column);
  products_.run(of_rows, area.rows, of_columns, area.columns, in_.problem.columns.dim, precision_, tile, ld);
}

}  // namespace libknng::cuda

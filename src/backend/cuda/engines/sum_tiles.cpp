#include "backend/cuda/engines/sum_tiles.cuh"

#include <algorithm>

#include "backend/cuda/engines/sum_tile.cuh"

namespace libknng::cuda {
namespace {

OperandSides sides_of(const knng_backend_problem& p, std::byte* memory) {
  return {sum_operand_bytes(p.tile_rows, p.rows.dim), sum_operand_bytes(p.tile_cols, p.rows.dim), memory};
}

}  // namespace

SumTiles::SumTiles(const TileInputs& inputs) : TileMaker(inputs), keys_(inputs), range_(find_values()) {}

std::int64_t SumTiles::bytes(const knng_backend_problem&) { return bytes_of<Found>(); }

std::int64_t SumTiles::workspace_bytes(const knng_backend_problem& p) {
  return std::max(KeyTiles::workspace_bytes(p), sides_of(p, nullptr).used);
}

// How large values are: all are looked at. Sums of so many points take far longer.
ValueRange SumTiles::find_values() const {
  DeviceContext& context = in_.context;
  const auto found = taken<Found>(context);
  ValueRange range;
  check(cudaMemcpyAsync(found.range.data(), &range, sizeof range, cudaMemcpyHostToDevice, context.stream));
  if (in_.points.is_paged()) {
    PagedPoints& paged = in_.points.paged();
    const PagedPoints::Passing passing = paged.passing();
    const UntilDone loaded(paged.loader());
    context.stream.wait();
    for (std::int64_t block = 0; block < paged.blocks(); ++block)
      find_range(paged.bring(block, passing.memory.data()).rows, found.range.data(), paged.loader());
    paged.loader().wait();
  } else {
    find_range(in_.points.resident().view().rows, found.range.data(), context.stream);
  }
  if (in_.points.queries()) find_range(in_.points.queries()->view().rows, found.range.data(), context.stream);
  check(cudaMemcpyAsync(&range, found.range.data(), sizeof range, cudaMemcpyDeviceToHost, context.stream));
  context.stream.wait();
  return range;
}

void SumTiles::begin(int rung, bool) {
  meaning_.sums.reset();
  if (rung == KNNG_RUNG_FILTER) meaning_.sums = SumBound(sum_error(in_.metric, in_.problem.columns.dim, range_));
}

void SumTiles::fill(const TileArea& area, float* tile, std::int64_t ld, std::byte* workspace) {
  if (!meaning_.sums) return keys_.fill(area, tile, ld, workspace);
  const BlockView rows = in_.points.view_of_rows(area.first_row);
  const BlockView columns = in_.points.view_of_columns(area.first_column);
  const OperandSides sides = sides_of(in_.problem, workspace);
  const cudaStream_t stream = in_.context.stream;
  const SumOperand of_columns = make_sum_operand(columns.view.rows, in_.points.order_of_columns(area.first_column),
                                                 columns.at, area.columns, sides.columns, stream);
  const bool symmetric = in_.problem.square && area.first_row == area.first_column && area.rows == area.columns;
  const SumOperand of_rows =
      symmetric ? of_columns : make_sum_operand(rows.view.rows, nullptr, rows.at, area.rows, sides.rows, stream);
  sum_tile(in_.metric, *meaning_.sums, of_rows, of_columns, symmetric, tile, ld, stream);
}

}  // namespace libknng::cuda

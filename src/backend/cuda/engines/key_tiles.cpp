#include "backend/cuda/engines/key_tiles.cuh"

namespace libknng::cuda {
namespace {

OperandSides sides_of(const knng_backend_problem& p, std::byte* memory) {
  return {direct_operand_bytes(p.tile_rows, p.rows.dim), direct_operand_bytes(p.tile_cols, p.rows.dim), memory};
}

}  // namespace

std::int64_t KeyTiles::workspace_bytes(const knng_backend_problem& p) { return sides_of(p, nullptr).used; }

void KeyTiles::begin(int, bool) {}

void KeyTiles::fill(const TileArea& area, float* tile, std::int64_t ld, std::byte* workspace) {
  const BlockView rows = in_.points.place_of_rows(area.first_row);
  const BlockView columns = in_.points.place_of_columns(area.first_column);
  const OperandSides sides = sides_of(in_.problem, workspace);
  const cudaStream_t stream = in_.context.stream;
  const DirectOperand of_rows = make_direct_operand(rows.view, nullptr, rows.at, area.rows, sides.rows, stream);
  const DirectOperand of_columns = make_direct_operand(columns.view, in_.points.order_of_columns(area.first_column),
                                                       columns.at, area.columns, sides.columns, stream);
  direct_tile(in_.metric, of_rows, of_columns, tile, ld, in_.key_parts, stream);
}

}  // namespace libknng::cuda

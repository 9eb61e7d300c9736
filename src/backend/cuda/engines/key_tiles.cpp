#include "backend/cuda/engines/key_tiles.cuh"

namespace libknng::cuda {
namespace {

std::int64_t side_bytes(const knng_backend_problem& p, std::int64_t count) {
  return array_bytes(direct_operand_bytes(count, p.rows.dim));
}

}  // namespace

std::int64_t KeyTiles::workspace_bytes(const knng_backend_problem& p) {
  return side_bytes(p, p.tile_rows) + side_bytes(p, p.tile_cols);
}

void KeyTiles::begin(int) {}

void KeyTiles::fill(const TileArea& area, float* tile, std::int64_t ld, std::byte* workspace) {
  const BlockView rows = in_.points.place_of_rows(area.first_row);
  const BlockView columns = in_.points.place_of_columns(area.first_column);
  const cudaStream_t stream = in_.context.stream;
  const DirectOperand of_rows = make_direct_operand(rows.view, nullptr, rows.at, area.rows, workspace, stream);
  const DirectOperand of_columns =
      make_direct_operand(columns.view, in_.points.order_of_columns(area.first_column), columns.at, area.columns,
                          workspace + side_bytes(in_.problem, in_.problem.tile_rows), stream);
  direct_tile(in_.metric, of_rows, of_columns, tile, ld, in_.key_parts, stream);
}

}  // namespace libknng::cuda

#include "backend/cuda/engines/key_tiles.cuh"

#include "backend/cuda/engines/throughput.h"
#include "backend/cuda/keys/whole_keys.cuh"

namespace libknng::cuda {
namespace {

// So few rows of a tile read the columns where they are in less time than it takes to lay these out; but for terms that
// take longer than reading. (Measured on an H200.)
constexpr std::int64_t kRowsReadingInPlace = 64;

bool reads_in_place(const knng_backend_problem& p) {
  return p.tile_rows <= kRowsReadingInPlace && !is_heavy(static_cast<Term>(p.metric.term));
}

OperandSides sides_of(const knng_backend_problem& p, std::byte* memory) {
  return {direct_operand_bytes(p.tile_rows, p.rows.dim), direct_operand_bytes(p.tile_cols, p.rows.dim), memory};
}

}  // namespace

std::int64_t KeyTiles::workspace_bytes(const knng_backend_problem& p) {
  return reads_in_place(p) ? 8 * p.tile_rows * p.rows.dim : sides_of(p, nullptr).used;
}

void KeyTiles::begin(int, bool) {}

void KeyTiles::fill(const TileArea& area, float* tile, std::int64_t ld, std::byte* workspace) {
  const BlockView rows = in_.points.view_of_rows(area.first_row);
  const BlockView columns = in_.points.view_of_columns(area.first_column);
  const std::int64_t* const order = in_.points.order_of_columns(area.first_column);
  const cudaStream_t stream = in_.context.stream;
  if (reads_in_place(in_.problem)) {
    WholeKeysJob job;
    job.rows = rows.view;
    job.first_row = rows.at;
    job.count = area.rows;
    job.columns = columns.view;
    job.column_list = order;
    job.first_column = columns.at;
    job.column_count = area.columns;
    job.metric = in_.metric;
    job.lows = tile;
    job.ld = ld;
    job.u = reinterpret_cast<double*>(workspace);
    job.parts = in_.key_parts;
    return whole_keys(job, stream);
  }
  const OperandSides sides = sides_of(in_.problem, workspace);
  const DirectOperand of_columns =
      make_direct_operand(columns.view, order, columns.at, area.columns, sides.columns, stream);
  const bool symmetric = in_.problem.square && area.first_row == area.first_column && area.rows == area.columns;
  const DirectOperand of_rows =
      symmetric ? of_columns : make_direct_operand(rows.view, nullptr, rows.at, area.rows, sides.rows, stream);
  direct_tile(in_.metric, of_rows, of_columns, symmetric, tile, ld, in_.key_parts, stream);
}

}  // namespace libknng::cuda

#include "backend/cuda/engines/tile_maker.cuh"

#include <algorithm>

namespace libknng::cuda {

std::vector<TilePart> TileMaker::parts(const TileArea& area, bool) { return {{area, true}}; }
std::vector<TilePart> TileMaker::parts_of_sample(const TileArea& area, std::int64_t) { return {{area, true}}; }

void TileMaker::set_terms(TileSearch& search) const {
  if (!meaning_.column_terms) return;
  for (SelectJob* const job : {&search.rows, &search.columns}) {
    job->row_terms = meaning_.row_terms + search.part.area.first_row;
    job->column_terms = meaning_.column_terms + search.part.area.first_column;
    job->integers = meaning_.integers;
  }
}

void TileMaker::find(TileSearch& search) {
  const TilePart& part = search.part;
  const std::int64_t ld = leading_dimension(part.columns());
  for (std::int64_t done = 0, side = part.square > 0 ? part.square : part.area.rows; done < part.area.rows;
       done += side) {
    TileArea area = part.area;
    if (part.square > 0) {
      area.rows = area.columns = std::min(side, part.area.rows - done);
      area.first_row += done;
      area.first_column += done;
    }
    fill(area, search.tile + done * ld, ld, search.workspace);
  }
  set_terms(search);
  for (SelectJob* const job : {&search.rows, &search.columns}) {
    job->tile = search.tile;
    job->ld = ld;
  }
  const Selector& selector = search.selector;
  cudaStream_t stream = in_.context.stream;
  if (search.both && selector.run_both) {
    selector.run_both(search.rows, search.columns, search.workspace, stream);
    return;
  }
  select(selector, search.rows, search.workspace, stream);
  if (search.both) select(selector, search.columns, search.workspace, stream);
}

}  // namespace libknng::cuda

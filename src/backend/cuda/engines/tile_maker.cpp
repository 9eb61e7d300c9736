#include "backend/cuda/engines/tile_maker.cuh"

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
  const TileArea& area = search.part.area;
  const std::int64_t ld = leading_dimension(area.columns);
  fill(area, search.tile, ld, search.workspace);
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
  selector.run(search.rows, search.workspace, stream);
  if (search.both) selector.run(search.columns, search.workspace, stream);
}

}  // namespace libknng::cuda

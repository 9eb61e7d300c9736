#include "backend/cuda/session/session_space.cuh"

#include <algorithm>

#include "backend/admission.h"
#include "backend/cuda/base/metric.cuh"
#include "backend/cuda/engines/engine_kernels.cuh"
#include "backend/cuda/result/delivery.cuh"
#include "backend/cuda/result/result.cuh"

namespace libknng::cuda {
namespace {

// Products of all points, and their squares, lie where the tile was.
std::int64_t elements_of_products(const knng_backend_problem& p) {
  static_assert(sizeof(double) == 2 * sizeof(float));
  return takes_product_keys(p) ? 2 * p.rows.count * (p.rows.count + 1) : 0;
}

}  // namespace

TileSpace::TileSpace(const knng_backend_problem& p, ArraySource& source)
    : tile(source.take<float>(std::max(kernels_of(p).buffer(p).elements(), elements_of_products(p)))) {
  const std::int64_t sides[] = {p.tile_rows, p.square ? p.tile_cols : 0};
  for (int side = 0; side < 2; ++side) {
    incoming[side] = source.take<Candidate>(sides[side] * found_capacity(p, p.capacity));
    counts[side] = source.take<std::int32_t>(sides[side]);
  }
}

StageSpace::StageSpace(const knng_backend_problem& p, Stage stage, ArraySource& source) {
  if (stage == Stage::tiles) tiles.emplace(p, source);
  if (stage == Stage::keys && !p.square) canonical = source.take<double>(evaluated_together(p) * p.columns.dim);
  if (const std::int64_t bytes = workspace_bytes(p, stage); bytes > 0) workspace = source.take<std::byte>(bytes);
}

StageSpace::StageSpace(const knng_backend_problem& p, ArraySource& source) {
  if (!p.by_rows) tiles.emplace(p, source);
  workspace = source.take<std::byte>(workspace_bytes(p));
}

ListKeys::ListKeys(const knng_backend_problem& p, ArraySource& source)
    : of_lists(source.take<double>(p.rows.count * p.capacity)) {
  if (wants_self_keys(metric_of(p.metric), p.k, width(p))) of_selves = source.take<double>(p.rows.count);
}

LeftOut::LeftOut(const knng_backend_problem& p, ArraySource& source) : on_host(admission_of(p)) {
  if (p.leave_out) ids = source.take<std::int64_t>(p.rows.count);
  directionless = source.take<std::uint32_t>(p.k + 1 + on_host.most_refused());
}

}  // namespace libknng::cuda

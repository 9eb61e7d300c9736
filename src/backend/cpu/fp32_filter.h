// The filter for any metric of products: single precision with a proved bound (docs/internals/error-bound.md).
#pragma once

#include "backend/cpu/tile_filter.h"

namespace libknng {

bool fp32_filter_can_run(const Metric& metric, std::int64_t dim);
std::unique_ptr<TileFilter> make_fp32_filter(const CpuProblem& problem, Budget* budget, Monitor& monitor);
// Of one worker.
std::int64_t fp32_filter_bytes(std::int64_t tile_rows, std::int64_t tile_cols);

}  // namespace libknng

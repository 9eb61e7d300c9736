// The filter for rows of 8-bit integers, where products and so keys are exact: what it keeps belongs, and nothing has
// to be evaluated or proved. For processors with byte products.
#pragma once

#include "backend/cpu/tile_filter.h"

namespace libknng {

// dtype: of both sides, 0 if they differ.
bool integer_filter_can_run(const Metric& metric, std::int32_t dtype, std::int64_t dim);
std::unique_ptr<TileFilter> make_integer_filter(const CpuProblem& problem, Budget* budget, Monitor& monitor);
// Of one worker.
std::int64_t integer_filter_bytes(std::int64_t tile_rows, std::int64_t tile_cols);

}  // namespace libknng

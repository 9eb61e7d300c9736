// The filter that multiplies rounded operands, in single precision or, where the processor is faster at it and the data
// allow it, in bfloat16: what it lets through is evaluated canonically.
#pragma once

#include <memory>

#include "backend/cpu/filter_tile.h"
#include "backend/cpu/tile_filter.h"
#include "prepare/filter_operands.h"

namespace libknng {

bool product_filter_can_run(const Metric& metric, std::int64_t dim);

// A tile and the operands that it takes.
struct ProductArithmetic {
  const FilterTile* tile;
  OperandType type;
};
ProductArithmetic fp32_arithmetic();
// The fastest; what plans count with.
ProductArithmetic fastest_arithmetic(std::int64_t dim);

// fp32 in place of bfloat16 that adds up otherwise than its bound supposes, of which the log tells.
ProductArithmetic proven_arithmetic(const ProductArithmetic& wanted, Monitor& monitor);

// With the fastest arithmetic that is proven, or with fp32 if bfloat16 would let through too much.
std::unique_ptr<TileFilter> make_product_filter(const CpuProblem& problem, std::int64_t k, Budget* budget,
                                                Monitor& monitor);
std::unique_ptr<TileFilter> make_product_filter(const CpuProblem& problem, const ProductArithmetic& arithmetic,
                                                FilterFrame frame, Budget* budget, Monitor& monitor);
// Of one worker.
std::int64_t product_filter_bytes(std::int64_t tile_rows, std::int64_t tile_cols);

}  // namespace libknng

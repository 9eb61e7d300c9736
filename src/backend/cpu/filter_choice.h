// Whether bfloat16's wider bound is worth its speed on these data, by filtering a few rows against a few columns both
// ways. Decides nothing but time.
#pragma once

#include <cstdint>

#include "backend/cpu/engine.h"
#include "backend/cpu/filter_tile.h"
#include "prepare/filter_operands.h"

namespace libknng {

bool bf16_pays(const CpuProblem& problem, std::int64_t k, const FilterFrame& frame, const FilterTile& fp32,
               const FilterTile& bf16, Budget* budget);

}  // namespace libknng

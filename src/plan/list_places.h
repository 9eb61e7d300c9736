// How many candidates a device's list has room for. The planner plans with it and the backend works with it.
#pragma once

#include <algorithm>
#include <cstdint>

#include "core/checked.h"

namespace libknng {

// More than k, so that a bound that cannot tell neighbours from their rivals still proves most rows: how many are
// enough is the bound's matter, and rows that need more are found out and redone. At least `wanted`, and no more than
// there are columns.
inline std::int64_t list_places(std::int64_t k, std::int64_t wanted, std::int64_t columns) {
  return std::min(round_up(std::max(checked_add(k, k / 8 + 16, "k"), wanted), 32), columns);
}

}  // namespace libknng

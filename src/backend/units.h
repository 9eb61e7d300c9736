// One model of the product units for a problem: the weakest of its devices', in whatever order they come. A larger
// constant makes a wider bound, so the largest of each holds on all devices. A unit is used only if all of them can use
// it, so that all are on the same rung.
#pragma once

#include <algorithm>

#include "backend/seam.h"

namespace libknng {

inline knng_backend_units weakest(const knng_backend_units& a, const knng_backend_units& b) noexcept {
  return {a.usable & b.usable, std::max(a.lost, b.lost), std::max(a.shortest, b.shortest)};
}

}  // namespace libknng

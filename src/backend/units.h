// One model of the product units for a problem: the weakest of its devices', whatever their order. A bound is wider for
// a larger constant, so the largest of each holds on all devices; and a unit that one of them cannot use none uses, so
// that all are on the same rung.
#pragma once

#include <algorithm>

#include "backend/seam.h"

namespace libknng {

inline knng_backend_units weakest(const knng_backend_units& a, const knng_backend_units& b) noexcept {
  return {a.usable & b.usable, std::max(a.lost, b.lost), std::max(a.shortest, b.shortest)};
}

}  // namespace libknng

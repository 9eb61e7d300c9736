// The seam's problem in this library's terms. Knows nothing of engines.
#pragma once

#include "backend/seam.h"
#include "metric/metric.h"

namespace libknng::cuda {

inline Metric metric_of(const knng_backend_metric& m) noexcept {
  return {"",      static_cast<Transform>(m.transform), static_cast<Term>(m.term),
          m.scale, static_cast<Report>(m.report),       m.similarity != 0,
          m.p};
}

inline Transform transform_of(const knng_backend_problem& p) noexcept {
  return static_cast<Transform>(p.metric.transform);
}

// Whether points come to devices in blocks, of which so many are held.
inline bool is_paged(const knng_backend_problem& p) noexcept { return p.blocks_held > 0; }

}  // namespace libknng::cuda

// The seam's metric as a Metric (metric/metric.h). Knows nothing of rows.
#pragma once

#include "backend/seam.h"
#include "metric/metric.h"

namespace libknng::cuda {

inline Metric metric_of(const knng_backend_metric& m) noexcept {
  return {"",      static_cast<Transform>(m.transform), static_cast<Term>(m.term),
          m.scale, static_cast<Report>(m.report),       m.similarity != 0,
          m.p};
}

}  // namespace libknng::cuda

// Rows of a problem answered from a tree of its columns, without lists and tiles. Knows nothing of other rows.
#pragma once

#include <cstdint>

#include "backend/cuda/base/memory.cuh"
#include "backend/cuda/base/staging.cuh"
#include "backend/cuda/rows/point_store.cuh"
#include "backend/cuda/session/session_space.cuh"
#include "backend/cuda/tree/point_tree.cuh"
#include "backend/cuda/tree/search_rows.cuh"
#include "backend/seam.h"
#include "metric/metric.h"

namespace libknng::cuda {

class Answerer {
 public:
  // All of these outlive it. Makes the tree of the store's columns, all of which are on the device.
  Answerer(const knng_backend_problem& problem, const Metric& metric, const PointStore& points, Staging& staging,
           DeviceContext& context)
      : problem_(problem),
        metric_(metric),
        points_(points),
        staging_(staging),
        context_(context),
        tree_(points.resident(), context) {}

  // The seam's call. `workspace` is that of a problem whose rows are answered. Throws Cancelled.
  void answer(std::int64_t first, std::int64_t count, const LeftOut& left_out, std::byte* workspace,
              knng_backend_result& result);

 private:
  void wait_unless_cancelled(SearchState* search, const Stream& beside);

  const knng_backend_problem& problem_;
  const Metric& metric_;
  const PointStore& points_;
  Staging& staging_;
  DeviceContext& context_;
  const PointTree tree_;
};

}  // namespace libknng::cuda

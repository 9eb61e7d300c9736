// The points of one side of a problem, resident on the device, where they are the caller's or our own: as stored, with
// what their metric needs to know of each. Knows nothing of pairs.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <vector>

#include "backend/cuda/base/array_source.cuh"
#include "backend/cuda/base/in_flight.cuh"
#include "backend/cuda/base/memory.cuh"
#include "backend/cuda/base/staging.cuh"
#include "backend/cuda/rows/prepare.cuh"
#include "backend/cuda/rows/rows.cuh"
#include "backend/seam.h"

namespace libknng::cuda {

// Whether ranks fit 16 bits.
constexpr bool short_ranks_suffice(std::int64_t dim) { return dim <= std::numeric_limits<std::int16_t>::max(); }

// A row that the metric cannot take; the library words it.
struct RefusedRow {
  std::int64_t row;
  bool of_queries = false;
};

// As prepare_rows(), for all of the job's rows in parts that end soon; `between`, if there is one, is called after each
// and may throw.
void prepare_in_parts(PrepareJob job, InFlight& parts, const Stream& stream, const std::function<void()>& between);

// The first `most` of those without direction, ascending.
std::vector<std::uint32_t> first_directionless(const RowConstants* constants, std::int64_t count, std::int64_t most,
                                               DeviceContext& context);

class Points {
 public:
  // Throws RefusedRow. `between` is that of prepare_in_parts().
  Points(const knng_backend_rows& rows, Transform transform, double limit, Staging& staging, DeviceContext& context,
         const std::function<void()>& between = {});
  static std::int64_t bytes(const knng_backend_rows& rows, Transform transform);  // at most

  const CanonicalView& view() const noexcept { return view_; }
  std::int64_t count() const noexcept { return view_.rows.rows; }
  std::int64_t dim() const noexcept { return view_.rows.dim; }
  // The first `most` points without direction, ascending.
  std::vector<std::uint32_t> first_directionless(std::int64_t most, DeviceContext& context) const;

 private:
  struct Arrays {
    // in_place: rows are used where the caller has them.
    Arrays(const knng_backend_rows& rows, Transform transform, bool in_place, ArraySource& source);

    DeviceArray<std::byte> stored;
    DeviceArray<RowConstants> constants;
    DeviceArray<std::int16_t> short_ranks;
    DeviceArray<std::int32_t> long_ranks;
  };

  CanonicalView view_;
  bool any_directionless_ = false;
  Arrays arrays_;
};

}  // namespace libknng::cuda

// What one call asks for, apart from its settings: the points, how many neighbours, and where it reports and counts its
// memory. It stays as it is while the call lasts. Knows nothing of who does the work.
#pragma once

#include <cstdint>

#include "core/admission.h"
#include "core/host_memory.h"
#include "core/monitor.h"
#include "dataset/dataset.h"

namespace libknng {

struct Request {
  const Dataset& data;
  const Dataset* queries;  // null: a build, of all rows of the data
  Admission admission;     // square if it is one
  std::int64_t k;
  Budget* budget;
  Monitor& monitor;

  // The points that get lists.
  const Dataset& points() const noexcept { return queries ? *queries : data; }
  // As plans are made: 0 for a build.
  std::int64_t query_count() const noexcept { return queries ? queries->rows() : 0; }
  std::int32_t query_dtype() const noexcept { return queries ? queries->work_dtype() : 0; }
};

}  // namespace libknng

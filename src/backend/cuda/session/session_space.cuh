// The arrays that a session works in beside points, operands and lists. Each struct takes its arrays from a source, so
// that the plan counts what the session will hold (base/array_source.cuh).
#pragma once

#include <cstdint>
#include <optional>

#include "backend/cuda/base/array_source.cuh"
#include "backend/cuda/base/memory.cuh"
#include "backend/cuda/select/candidate.cuh"
#include "backend/cuda/session/session_memory.cuh"
#include "backend/seam.h"
#include "core/admission.h"

namespace libknng::cuda {

// A tile, as much of it as lies in memory at a time, and what is found in it for its rows and, where a pair serves both
// of its points, its columns.
struct TileSpace {
  TileSpace(const knng_backend_problem& p, ArraySource& source);

  DeviceArray<float> tile;
  DeviceArray<Candidate> incoming[2];
  DeviceArray<std::int32_t> counts[2];
};

// What one stage works in, or all of them in turns.
struct StageSpace {
  StageSpace(const knng_backend_problem& p, Stage stage, ArraySource& source);
  StageSpace(const knng_backend_problem& p, ArraySource& source);

  std::optional<TileSpace> tiles;
  DeviceArray<double> canonical;  // queries that are evaluated together
  DeviceArray<std::byte> workspace;
};

// Where points come in blocks: keys by place in the lists, and of rows with themselves where these are wanted.
struct ListKeys {
  ListKeys(const knng_backend_problem& p, ArraySource& source);

  DeviceArray<double> of_lists, of_selves;
};

// Whom rows leave out, by row, and the first columns without direction.
struct LeftOut {
  LeftOut(const knng_backend_problem& p, ArraySource& source);

  // On the device.
  Admission admission() const noexcept {
    Admission here = on_host;
    if (here.leave_out) here.leave_out = ids.data();
    return here;
  }
  // Null: none are.
  const std::uint32_t* first_directionless() const noexcept {
    return directionless_count > 0 ? directionless.data() : nullptr;
  }

  Admission on_host;
  DeviceArray<std::int64_t> ids;
  DeviceArray<std::uint32_t> directionless;
  std::int64_t directionless_count = 0;
};

}  // namespace libknng::cuda

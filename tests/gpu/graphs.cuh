// What programs that build graphs through the public API share: a handle, and a graph's ids and values as bytes,
// wherever they are. Nothing here ends a program.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "backend/cuda/base/current_device.cuh"
#include "knng.h"
#include "tests/gpu/gpu.cuh"

namespace gpu {

// A device's free memory, with what the library keeps there for the next call.
inline std::int64_t free_for_library(int device) {
  knng_device of_library{};
  of_library.struct_size = sizeof of_library;
  expect(knng_device_get(1 + device, &of_library, nullptr) == KNNG_OK, "%s", knng_last_error());
  return of_library.memory_free;
}

inline knng* handle(const char* device, const char* metric) {
  knng* h = nullptr;
  knng_create(&h, 0, 0, nullptr);
  expect(knng_set(h, "device", device, nullptr) == KNNG_OK, "%s", knng_last_error());
  expect(knng_set(h, "metric", metric, nullptr) == KNNG_OK, "%s", knng_last_error());
  return h;
}

struct Result {
  std::vector<std::byte> ids, values;
  bool operator==(const Result&) const = default;
};

inline Result taken(knng_graph* g) {
  Result r;
  knng_matrix ids{}, values{};
  ids.struct_size = values.struct_size = sizeof ids;
  expect(knng_graph_view(g, &ids, &values, nullptr) == KNNG_OK, "view: %s", knng_last_error());
  const auto copy = [](const knng_matrix& m) {
    std::vector<std::byte> bytes(static_cast<std::size_t>(m.rows * m.cols * ((m.dtype & 0xff) / 8)));
    const libknng::cuda::CurrentDevice current(m.space == KNNG_CUDA ? m.device : 0);
    gpu::copy(bytes.data(), m.data, bytes.size());
    return bytes;
  };
  r.ids = copy(ids);
  r.values = copy(values);
  knng_graph_destroy(g);
  return r;
}

inline Result built(const knng* h, std::int64_t k, const char* what) {
  knng_graph* g = nullptr;
  const knng_status status = knng_build(h, k, nullptr, &g, nullptr);
  expect(status == KNNG_OK, "%s: %s", what, knng_last_error());
  return status == KNNG_OK ? taken(g) : Result{};
}

}  // namespace gpu

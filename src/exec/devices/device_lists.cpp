#include "exec/devices/device_lists.h"

#include "backend/memory.h"
#include "core/dtype.h"
#include "dataset/dataset.h"

namespace libknng {

MatrixView kept_ids(const Graph& graph) noexcept {
  const auto* const ids = reinterpret_cast<const std::byte*>(graph.on_device.ids);
  return {KNNG_I64, graph.rows, graph.width, graph.width, 1, ids, graph.on_device.device};
}

MatrixView kept_values(const Graph& graph) noexcept {
  return {graph.value_dtype, graph.rows, graph.width, graph.width, 1, graph.on_device.values, graph.on_device.device};
}

DeviceLists make_lists(const DeviceSet& set, const Graph& graph, std::int64_t bytes) {
  const std::int32_t device = set.devices.front();
  const DeviceMemory memory = allocate_on_device(*set.backend, device, bytes, "graph");
  return {memory.owner, device, reinterpret_cast<std::int64_t*>(memory.data),
          memory.data + graph.rows * graph.width * static_cast<std::int64_t>(sizeof(std::int64_t))};
}

void fetch_lists(Graph& graph) {
  const std::int64_t entries = graph.rows * graph.width;
  Buffer<std::int64_t> ids(entries);
  Buffer<std::byte> values(entries * find_dtype(graph.value_dtype)->bytes);
  copy_from_device(kept_ids(graph), 0, graph.rows, reinterpret_cast<std::byte*>(ids.data()), "g");
  copy_from_device(kept_values(graph), 0, graph.rows, values.data(), "g");
  graph.ids = std::move(ids);
  graph.values = std::move(values);
}

void load_values(const Graph& graph, std::int64_t row, double* out) {
  if (!graph.kept_on_device()) {
    for (std::int64_t t = 0; t < graph.width; ++t) out[t] = graph.value(row * graph.width + t);
    return;
  }
  Buffer<std::byte> stored(graph.width * find_dtype(graph.value_dtype)->bytes);
  copy_from_device(kept_values(graph), row, 1, stored.data(), "g");
  load_row({graph.value_dtype, 1, graph.width, graph.width, 1, stored.data()}, 0, out);
}

}  // namespace libknng

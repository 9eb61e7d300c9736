#include "exec/devices/device_lists.h"

#include <algorithm>

#include "backend/memory.h"
#include "core/dtype.h"
#include "dataset/dataset.h"

namespace libknng {
namespace {

// Bytes of lists that are copied between two looks at the monitor.
constexpr std::int64_t kCopiedTogether = std::int64_t{32} << 20;

}  // namespace

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

void fetch_lists(Graph& graph, const Work& work) {
  const std::int64_t entries = graph.rows * graph.width, value_bytes = find_dtype(graph.value_dtype)->bytes;
  if (work.budget) work.budget->take(entries * (8 + value_bytes));
  Buffer<std::int64_t> ids(entries);
  Buffer<std::byte> values(entries * value_bytes);
  work.begin("copy", graph.rows);
  const std::int64_t together = std::max<std::int64_t>(1, kCopiedTogether / (graph.width * (8 + value_bytes)));
  for (std::int64_t first = 0; first < graph.rows; first += together) {
    const std::int64_t count = std::min(together, graph.rows - first), at = first * graph.width;
    work.done(0);
    copy_from_device(kept_ids(graph), first, count, reinterpret_cast<std::byte*>(ids.data() + at), "g");
    copy_from_device(kept_values(graph), first, count, values.data() + at * value_bytes, "g");
    work.done(count);
  }
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

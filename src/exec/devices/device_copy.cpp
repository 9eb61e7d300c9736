#include "exec/devices/device_copy.h"

#include "backend/memory.h"
#include "core/buffer.h"
#include "exec/devices/device_lists.h"
#include "graph/copy.h"

namespace libknng {
namespace {

std::int64_t load_id(const Graph& graph, std::int64_t entry) {
  if (!graph.kept_on_device()) return graph.ids[entry];
  Buffer<std::int64_t> row(graph.width);
  copy_from_device(kept_ids(graph), entry / graph.width, 1, reinterpret_cast<std::byte*>(row.data()), "g");
  return row[entry % graph.width];
}

double load_value(const Graph& graph, std::int64_t entry) {
  Buffer<double> row(graph.width);
  load_values(graph, entry / graph.width, row.data());
  return row[entry % graph.width];
}

}  // namespace

void copy_ids_to_device(const Graph& graph, std::int32_t base, const MutableMatrixView& to) {
  const std::byte* const from =
      graph.kept_on_device() ? kept_ids(graph).data : reinterpret_cast<const std::byte*>(graph.ids.data());
  const std::int64_t unfit = convert_to_device(to, KNNG_I64, from, base, "ids");
  if (unfit >= 0) refuse_id(load_id(graph, unfit) + base, base, unfit / graph.width, unfit % graph.width, to.dtype);
}

void copy_values_to_device(const Graph& graph, const MutableMatrixView& to) {
  const std::byte* const from = graph.kept_on_device() ? kept_values(graph).data : graph.values.data();
  const std::int64_t unfit = convert_to_device(to, graph.value_dtype, from, 0, "values");
  if (unfit >= 0) refuse_value(load_value(graph, unfit), unfit / graph.width, unfit % graph.width, to.dtype);
}

}  // namespace libknng

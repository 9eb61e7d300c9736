#include "capi/objects.h"

#include "exec/devices/device_lists.h"

const libknng::Graph& knng_graph::with_lists(const libknng::Work& work) const {
  if (graph.kept_on_device()) {
    const std::lock_guard lock(fetching);
    if (graph.ids.empty()) libknng::fetch_lists(graph, work);
  }
  return graph;
}

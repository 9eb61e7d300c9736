// Lists that a graph keeps on a device: memory for them there, and copies for the host.
#pragma once

#include "backend/devices.h"
#include "core/work.h"
#include "graph/graph.h"

namespace libknng {

// Of as many bytes as Task::kept_bytes() says, for a graph whose shape is set.
DeviceLists make_lists(const DeviceSet& set, const Graph& graph, std::int64_t bytes);

// Copies ids and values of a graph that is kept on a device; both stay there as well. On failure it is as it was. The
// copies outlive the call, so that its budget never gets back what they take.
void fetch_lists(Graph& graph, const Work& work);

// Values of one row of any graph. out: graph.width.
void load_values(const Graph& graph, std::int64_t row, double* out);

// Its ids and values as matrices in memory of its device.
MatrixView kept_ids(const Graph& graph) noexcept;
MatrixView kept_values(const Graph& graph) noexcept;

}  // namespace libknng

// Puts equal rows back on the device that has the graph of the distinct ones. No list comes to the host.
#pragma once

#include <cstdint>

#include "backend/devices.h"
#include "core/buffer.h"
#include "core/monitor.h"
#include "exec/distinct.h"
#include "exec/task.h"
#include "graph/graph.h"

namespace libknng {

// What has to be said of it, but for the graph of the distinct rows and who wants the result. whole: the problem of all
// rows; k: of the distinct ones. Both groups and problem outlive it.
knng_backend_expansion describe_expansion(const knng_backend_problem& whole, const Groups& groups, std::int64_t k);

// Memory that it takes beside both graphs.
struct ExpansionBytes {
  std::int64_t device = 0, host = 0;
};
ExpansionBytes expansion_bytes(const DeviceSet& set, const knng_backend_expansion& expansion);

// As expand(). Both graphs are on the first device of the set. Throws KNNG_ERR_DEVICE, KNNG_ERR_MEMORY,
// KNNG_ERR_CANCELLED as well.
void expand_on_device(const DeviceSet& set, const Graph& distinct, const Groups& groups,
                      const knng_backend_expansion& expansion, const Task& task, Budget* budget, Monitor& monitor,
                      Graph& graph);

}  // namespace libknng

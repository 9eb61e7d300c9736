// A build or query on the devices of a backend: a session on each, tiles from one queue, the lists that they found
// joined, refined and proved, and the ladder of precisions for rows that are not. Knows devices only through the seam.
#pragma once

#include <cstdint>
#include <functional>

#include "core/monitor.h"
#include "dataset/dataset.h"
#include "exec/task.h"
#include "graph/graph.h"

namespace libknng {

// Whether rows have duplicates, so that distinct rows are compared in their place; unknown: the check is still at work.
enum class Duplicates { none, found, unknown };
using DuplicateCheck = std::function<Duplicates(bool wait)>;

// Fills ids, values, ties, proof and statistics of a graph whose shape is set. queries: nullptr for a build. On a
// driver thread; each device gets one of its own. `ask` is asked while devices get the rows and begin: if it says stop,
// the graph is left as it was, and false comes back. Throws KNNG_ERR_DEVICE, naming the device, if one fails;
// KNNG_ERR_DATA for rows that the metric cannot take; KNNG_ERR_RANGE for a value that fp32 cannot hold;
// KNNG_ERR_CANCELLED.
bool run_on_devices(const Task& task, const TaskPlan& plan, const Dataset& data, const Dataset* queries,
                    const std::int64_t* leave_out, std::int64_t k, const DuplicateCheck& check_duplicates,
                    Budget* budget, Monitor& monitor, Graph& graph);

}  // namespace libknng

// A build or query on the devices of a backend: all rows at once, or slice by slice where their lists do not fit
// (device_part_run.h has what is done with either). Knows devices only through the seam.
#pragma once

#include "exec/duplicate_check.h"
#include "exec/request.h"
#include "exec/task.h"
#include "graph/graph.h"

namespace libknng {

// Fills ids, values, ties, proof and statistics of a graph whose shape is set. On a driver thread; each device gets
// one of its own. check_duplicates is asked while devices get the rows and begin: if there are some, the graph is left
// as it was, and false comes back. Throws KNNG_ERR_DEVICE, naming the device, if one fails; KNNG_ERR_DATA for rows that
// the metric cannot take; KNNG_ERR_RANGE for a value that fp32 cannot hold; KNNG_ERR_CANCELLED.
bool run_on_devices(const Request& request, const Task& task, const TaskPlan& plan,
                    const DuplicateCheck& check_duplicates, Graph& graph);

}  // namespace libknng

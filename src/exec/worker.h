// Who does the work of a call: the engines of the CPU, or a team of devices. Drivers know which rows get lists and what
// becomes of them; a worker knows how lists are found. Plans say who it is (worker_of).
#pragma once

#include "core/error.h"
#include "core/thread_team.h"
#include "exec/duplicate_check.h"
#include "exec/request.h"
#include "exec/task.h"
#include "graph/graph.h"

namespace libknng {

struct DistinctPlan;

// Has no state: what a call needs is in its request, task and plan. On a driver thread, or the caller's if the plan is
// brief.
class Worker {
 public:
  // Whether the host is free to read rows for the fingerprint meanwhile.
  virtual bool leaves_host_free() const noexcept = 0;
  // Whether rows must be on the host.
  virtual bool needs_rows_on_host() const noexcept = 0;

  // Fills a graph whose shape is set. False if check_duplicates found some: the graph is left as it was.
  virtual bool fill(const Request& request, const Task& task, const TaskPlan& plan, ThreadTeam& team,
                    const DuplicateCheck& check_duplicates, Graph& graph) const = 0;
  // Fills a graph whose shape is set from that of its distinct rows; task and plan are for all rows.
  virtual void put_back(const Graph& of_distinct, const DistinctPlan& distinct, const Request& request,
                        const Task& task, const TaskPlan& plan, ThreadTeam& team, Graph& graph) const = 0;

 protected:
  ~Worker() = default;
};

// Whether a device had no memory left, for a session or for lists that stay there.
bool is_of_device_memory(const Error& e) noexcept;

const Worker& cpu_worker() noexcept;
const Worker& device_worker() noexcept;
inline const Worker& worker_of(const TaskPlan& plan) noexcept { return plan.engine ? cpu_worker() : device_worker(); }

}  // namespace libknng

// The distinct rows of a build with many duplicates: who they are, how their graph is made, and how much memory that
// takes. Nothing is run here.
#pragma once

#include <cstdint>

#include "backend/seam.h"
#include "core/buffer.h"
#include "dataset/dataset.h"
#include "dataset/row_loader.h"
#include "exec/distinct.h"
#include "exec/request.h"
#include "exec/task.h"

namespace libknng {

struct DistinctPlan {
  // request, task, plan: of all rows; the plan may be at work. first: of each row the first that equals it. Throws as
  // plan_task().
  DistinctPlan(const Request& request, const Task& task, const TaskPlan& plan, const RowLoader& loader,
               Buffer<std::int64_t> first);

  // Whether it takes no more memory than all rows were planned with, and is as good a plan. result: bytes of the
  // graph of all rows.
  bool fits(const TaskPlan& of_all, const Dataset& data, std::int64_t result) const;

  Groups groups;
  Dataset rows;
  std::int64_t k;  // 0: all rows are equal
  Task task;
  TaskPlan plan;
  std::int64_t kept;                   // bytes of the lists of all rows, if they stay on a device
  knng_backend_expansion expansion{};  // then
  // While equal rows are put back: held on the device, and on the host beside data and result.
  std::int64_t device_bytes = 0, host_bytes = 0;
};

}  // namespace libknng

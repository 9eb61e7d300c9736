// What a call asks for: settings read once, checked against each other and against what this build can do.
#pragma once

#include <cstdint>
#include <string>

#include "backend/cpu/engine.h"
#include "dataset/dataset.h"
#include "metric/metric.h"
#include "options/options.h"
#include "plan/plan.h"

namespace libknng {

struct Task {
  Metric metric;
  std::string p_text;  // of minkowski, else empty
  bool similarity = false;
  bool self_first = false;
  std::int32_t value_dtype = KNNG_F32;
  int threads = 1;
  bool threads_fixed = false;
  std::int64_t max_host_bytes = INT64_MAX;
  std::int64_t tile_rows = 0, tile_cols = 0;
  const CpuEngine* engine = nullptr;  // nullptr: the best that can run and fits the budget
};

// Throws KNNG_ERR_OPTION for settings that contradict each other, KNNG_ERR_UNSUPPORTED for what this build has not.
// On the calling thread, whose OpenMP settings decide about threads=0.
Task make_task(const Settings& settings, const Dataset& data, bool query);

// Throws KNNG_ERR_STATE or KNNG_ERR_RANGE if k does not fit. `left_out`: queries may leave out a row.
void require_k(const Dataset& data, std::int64_t k, bool query, bool left_out);

// The plan of a build (queries = 0) or of a query, and the engine that it is for; held_bytes: of rows, the library's.
struct TaskPlan : Plan {
  const CpuEngine* engine = nullptr;
};
TaskPlan plan_task(const Task& task, const Dataset& data, std::int64_t queries, std::int32_t query_dtype,
                   std::int64_t k, std::int64_t held_bytes);
// Throws KNNG_ERR_BUDGET, with the smallest budget that works, if the plan does not fit.
void require_budget(const Task& task, const Plan& plan);

}  // namespace libknng

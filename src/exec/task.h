// What a call asks for: settings read once, checked against each other and against what this build can do.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "backend/cpu/engine.h"
#include "backend/devices.h"
#include "core/thread_team.h"
#include "dataset/dataset.h"
#include "metric/metric.h"
#include "options/options.h"
#include "plan/checked_rows.h"
#include "plan/plan.h"

namespace libknng {

struct Task {
  Metric metric;
  std::string p_text;  // of minkowski, else empty
  bool similarity = false;
  bool self_first = false;
  std::int32_t value_dtype = KNNG_F32;
  int asked_threads = 0;  // 0: as many as suit
  std::int64_t max_host_bytes = INT64_MAX;
  bool limited_by_machine = false;  // max_host_bytes is the machine's memory, as nobody limited it
  std::int64_t tile_rows = 0, tile_cols = 0;
  std::int64_t check_rows = kCheckedByCost;  // plan/checked_rows.h
  std::int64_t max_device_bytes = INT64_MAX;
  std::int64_t free_device_bytes = -1;    // known to be free on each device; -1: they are asked
  std::string device, engine, selector;   // as they were asked for
  DeviceSet chosen;                       // the devices that were found for it; empty: `device` says which
  bool keep_on_device = false;            // the lists of the graph
  bool wants_smallest = false;            // the smallest budgets, also of a plan that fits
  bool rows_are_distinct = false;         // nobody looks for equal ones
  std::vector<std::int32_t> row_devices;  // that hold rows, ascending
  std::int64_t absent_row_bytes = 0;      // of rows there and in files: the CPU needs them on the host
  bool rows_in_files = false;

  // The most that the work may have; of those that nobody asked for, by what this thread may run on now.
  int threads() const noexcept { return asked_threads > 0 ? asked_threads : default_threads(); }
  // Rows that the work reads.
  void add_rows(const Dataset& data);
  // Of a device's memory: for lists of k neighbours that are kept there.
  std::int64_t kept_bytes(std::int64_t rows, std::int64_t k) const;
};

// Throws KNNG_ERR_OPTION for settings that contradict each other, KNNG_ERR_UNSUPPORTED for what this build has not.
Task make_task(const Settings& settings, const Dataset& data, bool query);

// Throws KNNG_ERR_STATE or KNNG_ERR_RANGE if k does not fit. `left_out`: queries may leave out a row.
void require_k(const Dataset& data, std::int64_t k, bool query, bool left_out);

// How devices other than the CPU do a task.
struct DeviceTask {
  DeviceSet set;  // empty: the CPU does it
  std::string engine, selector;
  bool by_rows = false;          // rows are answered straight away, without tiles or selector
  bool all_keys = false;         // the canonical keys of all pairs are evaluated
  bool redoes_by_lists = false;  // rows can be redone without all their keys, if all points stay on the device
  std::int64_t slice = 0;        // rows whose lists are there at a time, one slice after the other; 0: all
  std::int64_t capacity = 0;     // candidates of a list
  std::int64_t blocks_held = 0;  // of points that come block by block; 0: all stay on the device
  std::int64_t bytes = 0;        // of each device, at its peak
  std::int64_t smallest = 0;     // with the smallest tiles; 0: nobody wanted it, and the plan fits
  bool undersized = false;       // there is less memory than pays
};

// The plan of a build (queries = 0) or of a query, and what it is for: an engine of the CPU, or devices.
struct TaskPlan : Plan {
  const CpuEngine* engine = nullptr;
  const Selector* selector = nullptr;  // of an engine that selects
  DeviceTask device;
  std::int64_t held_bytes = 0;  // that it was made with
  std::int64_t checked = 0;     // rows that are looked at again when their lists are done
  // Of the CPU, of that: prepared rows included, beside the graph.
  std::int64_t check_bytes = 0;

  // Of all slices.
  std::int64_t tiles() const noexcept;
};
// held_bytes: of rows, the library's. Throws KNNG_ERR_DEVICE for devices that are not there, KNNG_ERR_UNSUPPORTED for
// an engine or selector that cannot do the task there.
TaskPlan plan_task(const Task& task, const Dataset& data, std::int64_t queries, std::int32_t query_dtype,
                   std::int64_t k, std::int64_t held_bytes);
// Throws KNNG_ERR_BUDGET, with the smallest budget that works, if the plan does not fit; KNNG_ERR_MEMORY if the machine
// is what is too small.
void require_budget(const Task& task, const TaskPlan& plan);

}  // namespace libknng

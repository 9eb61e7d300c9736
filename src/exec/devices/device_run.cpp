#include "exec/devices/device_run.h"

#include <algorithm>
#include <atomic>
#include <numeric>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/buffer.h"
#include "core/division.h"
#include "exec/devices/device_part_run.h"
#include "exec/emit.h"
#include "plan/checked_rows.h"

namespace libknng {
namespace {

// Where a graph was made, as in "cuda:0,1: NVIDIA H200".
std::string device_text(const DeviceSet& set) {
  std::string text = set.backend->name;
  char separator = ':';
  for (const std::int32_t device : set.devices) {
    text.push_back(separator);
    text.append(std::to_string(device));
    separator = ',';
  }
  // A device's own name may begin with its number, as it does in a list of devices.
  const std::string_view name = set.name;
  const std::string number = text.substr(0, text.find(','));
  const bool numbered = name.starts_with(number) && name.substr(number.size()).starts_with(": ");
  return text.append(numbered ? "" : ": ").append(numbered ? name.substr(number.size()) : name);
}

// One slice after the other: its rows are queries of the data, which must not return themselves.
bool run_slices(const Run& run, const TaskPlan& plan, const Queries& queries, Graph& graph) {
  const std::int64_t slice = plan.device.slice, n = graph.rows;
  const Dataset& points = queries.rows ? *queries.rows : run.request.data;
  Buffer<std::int64_t> numbers(slice, run.request.budget);
  for (std::int64_t first = 0; first < n; first += slice) {
    const Part part{graph, first, std::min(slice, n - first), first / slice + 1, ceil_div(n, slice)};
    std::iota(numbers.begin(), numbers.end(), first);
    const auto begin = static_cast<std::size_t>(first), count = static_cast<std::size_t>(part.rows);
    const std::span<const std::int64_t> picked = points.picked();
    const Dataset rows(points,
                       picked.empty() ? std::span(std::as_const(numbers).data(), count) : picked.subspan(begin, count));
    TaskPlan of_slice = plan;
    of_slice.grid.rows = part.rows;
    of_slice.grid.tile_rows = std::min(plan.grid.tile_rows, part.rows);
    const Admission admission = queries.rows ? queries.admission.from(first) : Admission{.leave_out = numbers.data()};
    if (!run_part(run, of_slice, {&rows, queries.argument, admission}, part)) return false;
  }
  return true;
}

}  // namespace

bool run_on_devices(const Request& request, const Task& task, const TaskPlan& plan,
                    const DuplicateCheck& check_duplicates, Graph& graph) {
  std::atomic<int> copiers;
  Output output(task, plan.threads, plan.device.set, check_duplicates, request.budget, graph, copiers);
  const Charge numbers(request.budget, checked_mul(plan.checked, 16, "check_rows"));
  const std::vector<std::int64_t> checked = SpreadRows(plan.checked, graph.rows).list();
  const Run run{request, task, copiers, output, checked};
  const Queries points{request.queries, request.queries ? "q" : "rows", request.admission};
  graph.stats[Stat::pairs] = plan.grid.pairs();
  const bool done = plan.device.slice > 0 ? run_slices(run, plan, points, graph)
                                          : run_part(run, plan, points, {graph, 0, graph.rows});
  if (!done) return false;
  release_result(graph);
  graph.text.engine = plan.device.engine;
  graph.text.selector = plan.device.by_rows ? "none" : plan.device.selector;
  graph.text.device = device_text(plan.device.set);
  return true;
}

}  // namespace libknng

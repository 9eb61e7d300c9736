#include "measure.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <numeric>
#include <optional>

#include "device_rows.h"
#include "library.h"
#include "machine.h"

namespace bench {
namespace {

std::map<std::string, double> all_stats(const knng_graph* g) {
  std::map<std::string, double> stats;
  const char* name = nullptr;
  for (std::int32_t i = 0; knng_stat_name(i, &name, nullptr, nullptr) == KNNG_OK; ++i) stats[name] = stat(g, name);
  return stats;
}

// Ids and values, wherever the graph has them.
struct Lists {
  std::vector<std::byte> ids, values;
  bool operator==(const Lists&) const = default;
};

Lists lists_of(const knng_graph* g) {
  knng_matrix ids = knng_packed(0, 0, 0, nullptr), values = ids;
  check(knng_graph_view(g, &ids, &values, nullptr));
  Lists lists;
  const auto fetch_to = [](knng_matrix& view, std::vector<std::byte>& memory) {
    memory.resize(static_cast<std::size_t>(view.rows * view.cols) * static_cast<std::size_t>((view.dtype & 0xff) / 8));
    view = knng_packed(view.dtype, view.rows, view.cols, memory.data());
  };
  fetch_to(ids, lists.ids);
  fetch_to(values, lists.values);
  check(knng_graph_copy(g, 0, &ids, &values, nullptr));
  return lists;
}

int median_of(const std::vector<double>& seconds) {
  std::vector<int> order(seconds.size());
  std::iota(order.begin(), order.end(), 0);
  std::sort(order.begin(), order.end(),
            [&](int a, int b) { return seconds[static_cast<std::size_t>(a)] < seconds[static_cast<std::size_t>(b)]; });
  return order[(order.size() - 1) / 2];
}

// One case with its handle: builds, and what they showed.
class Timed {
 public:
  Timed(const Case& what, const knng_matrix& rows) : handle_(make_handle()) {
    result_.what = what;
    check(knng_set(handle_.get(), "metric", what.workload.metric.c_str(), nullptr));
    check(knng_set(handle_.get(), "engine", what.engine.c_str(), nullptr));
    check(knng_set(handle_.get(), "selector", what.selector.c_str(), nullptr));
    check(knng_set(handle_.get(), "threads", std::to_string(what.threads).c_str(), nullptr));
    for (const auto& [key, value] : what.settings) check(knng_set(handle_.get(), key.c_str(), value.c_str(), nullptr));
    check(knng_borrow(handle_.get(), &rows, nullptr, nullptr));
  }

  // A failure ends this case, not the others.
  Graph build(bool counts) {
    if (!result_.error.empty()) return nullptr;
    reset_peak_memory();
    const double cpu = cpu_seconds();
    const auto start = std::chrono::steady_clock::now();
    knng_graph* raw = nullptr;
    const knng_status status = knng_build(handle_.get(), result_.what.workload.k, nullptr, &raw, nullptr);
    const std::chrono::duration<double> wall = std::chrono::steady_clock::now() - start;
    if (status != KNNG_OK) {
      result_.error = knng_last_error();
      return nullptr;
    }
    Graph graph(raw);
    result_.engine = text(raw, "engine");
    result_.selector = text(raw, "selector");
    result_.device = text(raw, "device");
    result_.fingerprint = text(raw, "fingerprint");
    result_.process_peak = std::max(result_.process_peak, peak_memory());
    if (counts) {
      result_.wall.push_back(wall.count());
      result_.cpu.push_back(cpu_seconds() - cpu);
      stats_.push_back(all_stats(raw));
    }
    return graph;
  }

  void verify(const knng_graph* g, std::int64_t rows) {
    result_.checked = rows < 0 ? result_.what.workload.n : std::min(rows, result_.what.workload.n);
    check(knng_check(handle_.get(), g, rows < 0 ? 0 : result_.checked, nullptr, &result_.first_wrong, nullptr));
  }

  void compare(const knng_graph* first, const knng_graph* g) { result_.as_first = lists_of(first) == lists_of(g); }

  Result finish() {
    if (result_.error.empty() && !result_.wall.empty()) {
      result_.median = median_of(result_.wall);
      result_.stats = stats_[static_cast<std::size_t>(result_.median)];
    }
    return result_;
  }

 private:
  Handle handle_;
  Result result_;
  std::vector<std::map<std::string, double>> stats_;
};

}  // namespace

std::vector<Result> measure(const std::vector<Case>& cases, const Rows& rows, const Protocol& protocol) {
  std::optional<const DeviceRows> on_device;
  if (protocol.rows_on_device) on_device.emplace(rows.view);
  std::vector<Timed> timed;
  timed.reserve(cases.size());
  for (const Case& c : cases) timed.emplace_back(c, on_device ? on_device->view : rows.view);
  for (int i = 0; i < protocol.warmups; ++i)
    for (Timed& t : timed) t.build(false);
  Graph first;
  for (int i = 0; i < protocol.runs; ++i) {
    const bool last = i + 1 == protocol.runs;
    for (Timed& t : timed) {
      Graph graph = t.build(true);
      if (!graph || !last) continue;
      if (protocol.verify != 0) t.verify(graph.get(), protocol.verify);
      if (!protocol.save.empty()) check(knng_graph_save(graph.get(), protocol.save.c_str(), nullptr, nullptr, nullptr));
      if (first)
        t.compare(first.get(), graph.get());
      else
        first = std::move(graph);
    }
  }
  std::vector<Result> results;
  results.reserve(timed.size());
  for (Timed& t : timed) results.push_back(t.finish());
  return results;
}

}  // namespace bench

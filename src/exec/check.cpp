#include "exec/check.h"

#include <omp.h>

#include <algorithm>
#include <bit>
#include <cstdio>
#include <mutex>
#include <optional>
#include <string>

#include "core/float_env.h"
#include "exec/emit.h"
#include "exec/file_rows.h"
#include "exec/host_rows.h"
#include "exec/task.h"
#include "merge/neighbour_lists.h"
#include "prepare/canonical_rows.h"

namespace libknng {
namespace {

// Rows checked together, so that every other row is transformed once for all of them.
constexpr std::int64_t kTogether = 16;

// What is wrong with a row: its first entry that differs, and whether an id does. Nothing is allocated inside the team.
struct Difference {
  char text[200] = "";
  bool in_ids = false;
  bool found() const noexcept { return text[0] != '\0'; }
};

void compare(const Graph& graph, std::int64_t i, std::int64_t at, std::int64_t id, double value, Difference& out) {
  const std::int64_t entry = i * graph.width + at;
  const double found = graph.value(entry);
  if (graph.ids[entry] == id && std::bit_cast<std::uint64_t>(found) == std::bit_cast<std::uint64_t>(value)) return;
  out.in_ids = out.in_ids || graph.ids[entry] != id;
  if (out.found()) return;
  std::snprintf(out.text, sizeof out.text, "row %lld, entry %lld: id %lld, value %.17g; should be id %lld, value %.17g",
                static_cast<long long>(i), static_cast<long long>(at), static_cast<long long>(graph.ids[entry]), found,
                static_cast<long long>(id), value);
}

// What is wrong with the graph: the first row that differs, whatever the order in which rows are checked.
class Findings {
 public:
  void add(std::int64_t row, const Difference& difference) {
    const std::lock_guard lock(mutex_);
    ++(difference.in_ids ? in_ids_ : in_values_);
    if (first_row_ >= 0 && row > first_row_) return;
    first_row_ = row;
    first_ = difference;
  }

  // -1: none.
  std::int64_t first_row() const noexcept { return first_row_; }

  void log(std::int64_t checked, Monitor& monitor) const {
    if (first_row_ < 0) return;
    char text[160];
    std::snprintf(text, sizeof text, "of %lld rows checked, %lld differ in ids, %lld in values only; the first:",
                  static_cast<long long>(checked), static_cast<long long>(in_ids_), static_cast<long long>(in_values_));
    monitor.log(1, text);
    monitor.log(1, first_.text);
  }

 private:
  std::mutex mutex_;
  std::int64_t first_row_ = -1, in_ids_ = 0, in_values_ = 0;
  Difference first_;
};

// A graph that says how it was made is hardly meant to be held against other settings.
void warn_about(const char* what, const std::string& of_graph, const std::string& of_handle, Monitor& monitor) {
  if (of_graph.empty() || of_graph == "unknown" || of_graph == of_handle) return;
  monitor.log(1, ("the graph was made with " + std::string(what) + "=" + of_graph + ", the handle has " + what + "=" +
                  of_handle)
                     .c_str());
}

}  // namespace

std::int64_t check_graph(const Dataset& data, const Settings& settings, const Graph& graph, std::int64_t sample,
                         Monitor& monitor) {
  const std::int64_t n = data.rows(), d = data.dim();
  Task task = make_task(settings, data, false);
  task.value_dtype = graph.value_dtype;
  if (!graph.square || graph.rows != n)
    fail(KNNG_ERR_ARGUMENT, "g", {.given = graph.rows, .limit = n}, "the graph has %lld rows%s, the data set has %lld",
         static_cast<long long>(graph.rows), graph.square ? "" : " that are queries", static_cast<long long>(n));
  const std::int64_t shift = task.self_first ? 1 : 0, k = graph.width - shift;
  require_k(data, k, false, false);
  if (sample < 0)
    fail(KNNG_ERR_RANGE, "sample", {.given = sample, .limit = 0}, "sample=%lld must not be negative",
         static_cast<long long>(sample));
  const std::int64_t checked = sample == 0 ? n : std::min(sample, n);
  const auto row_of = [&](std::int64_t s) {  // spread evenly; the product needs 128 bits
    return static_cast<std::int64_t>(static_cast<__int128>(s) * n / checked);
  };

  Budget budget(task.max_host_bytes, data.held_bytes());
  warn_about("metric", graph.text.metric, settings.text(Setting::metric), monitor);
  warn_about("p", graph.text.p, settings.text(Setting::p), monitor);
  warn_about("value", graph.text.value, settings.text(Setting::value), monitor);
  warn_about("self", graph.text.self, settings.text(Setting::self), monitor);
  Findings findings;
  run_while_unchanged(data, nullptr, monitor, [&] {
    std::optional<Dataset> copied;
    if (!data.on_host()) copied.emplace(host_rows(data, 0, n, &budget, &monitor, "rows"));
    const CanonicalRows rows(copied ? *copied : data, task.metric, task.threads, &budget, monitor, "rows");
    const std::int64_t groups = ceil_div(checked, kTogether);
    NeighbourLists lists(kTogether * task.threads, k, &budget);
    Buffer<double> scratch(checked_mul((kTogether + 1) * d, task.threads, "threads"), &budget);
    monitor.stage("check", static_cast<double>(groups) * static_cast<double>(n));
#pragma omp parallel for schedule(dynamic, 1) num_threads(task.threads)
    for (std::int64_t group = 0; group < groups; ++group) {
      const FloatEnv env;
      const int thread = omp_get_thread_num();
      const auto size = static_cast<std::size_t>(d);
      double* u = scratch.data() + thread * (kTogether + 1) * d;
      double* v = u + kTogether * d;
      const std::int64_t first = group * kTogether, count = std::min(kTogether, checked - first);
      const std::int64_t list = thread * kTogether;
      for (std::int64_t s = 0; s < count; ++s) {
        rows.load(row_of(first + s), u + s * d);
        lists.clear(list + s);
      }
      for (std::int64_t j = 0; j < n && !monitor.stopped(); ++j) {
        rows.load(j, v);
        for (std::int64_t s = 0; s < count; ++s) {
          const std::int64_t i = row_of(first + s);
          if (i == j) continue;
          const bool directionless = rows.directionless(i) || rows.directionless(j);
          const double key = directionless ? kNoDirectionKey : canonical_key(task.metric, {u + s * d, size}, {v, size});
          lists.offer(list + s, key, j);
        }
        monitor.advance(1);
      }
      if (monitor.stopped()) continue;
      for (std::int64_t s = 0; s < count; ++s) {
        const std::int64_t i = row_of(first + s);
        const Neighbour* expected = lists.sort(list + s);
        Difference wrong;
        if (shift) compare(graph, i, 0, i, self_value(task, {u + s * d, size}), wrong);
        for (std::int64_t j = 0; j < k; ++j)
          compare(graph, i, shift + j, expected[j].id, rounded_value(task, expected[j].key), wrong);
        if (wrong.found()) findings.add(i, wrong);
      }
    }
    monitor.check();
    findings.log(checked, monitor);
  });
  return findings.first_row();
}

}  // namespace libknng

#include "exec/emit.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <limits>
#include <vector>

#include "exec/devices/device_lists.h"

namespace libknng {
namespace {

void store(Graph& graph, std::int64_t entry, double value) noexcept {
  if (graph.value_dtype == KNNG_F64)
    reinterpret_cast<double*>(graph.values.data())[entry] = value;
  else
    reinterpret_cast<float*>(graph.values.data())[entry] = static_cast<float>(value);
}

}  // namespace

double rounded_value(const Task& task, double key) noexcept {
  const double value = reported_value(task.metric, key, task.similarity);
  return task.value_dtype == KNNG_F64 ? value : static_cast<double>(static_cast<float>(value));
}

double self_value(const Task& task, std::span<const double> u) noexcept {
  return rounded_value(task, task.metric.term == Term::product ? canonical_key(task.metric, u, u) : 0.0);
}

void allocate_result(const Task& task, Budget* budget, Graph& graph) {
  const std::int64_t n = graph.rows, entries = checked_mul(n, graph.width, "k");
  graph.value_dtype = task.value_dtype;
  graph.proof = Buffer<std::uint8_t>(n, budget);
  if (!task.keep_on_device) {
    graph.values = Buffer<std::byte>(checked_mul(entries, task.value_dtype == KNNG_F64 ? 8 : 4, "k"), budget);
    graph.ids = Buffer<std::int64_t>(entries, budget);
  }
  graph.ties = Buffer<std::uint8_t>(n, budget);
}

void release_result(Graph& graph) noexcept {
  graph.ids.release_from_budget();
  graph.values.release_from_budget();
  graph.ties.release_from_budget();
  graph.proof.release_from_budget();
}

bool emit_row(const Task& task, std::int64_t row, double self, const Neighbour* list, Graph& graph) noexcept {
  const std::int64_t k = graph.k();
  std::int64_t entry = row * graph.width;
  bool fits = true;
  if (graph.self_first) {
    graph.ids[entry] = row;
    store(graph, entry++, self);
    fits = std::isfinite(self);
  }
  for (std::int64_t j = 0; j < k; ++j, ++entry) {
    const double value = rounded_value(task, list[j].key);
    graph.ids[entry] = list[j].id;
    fits = fits && std::isfinite(value);
    store(graph, entry, value);
  }
  return fits;
}

void note_large_value(std::atomic<std::int64_t>& first, std::int64_t row) noexcept {
  for (std::int64_t known = first.load(); row < known && !first.compare_exchange_weak(known, row);) {
  }
}

void refuse_large_value(const Task& task, std::int64_t row, const Neighbour* list, const Graph& graph) {
  std::vector<double> values(static_cast<std::size_t>(graph.width));
  load_values(graph, row, values.data());
  const auto bad = std::find_if(values.begin(), values.end() - 1, [](double value) { return !std::isfinite(value); });
  const std::int64_t col = bad - values.begin();
  const std::int64_t at = col - (graph.width - graph.k());
  const bool wide = task.value_dtype == KNNG_F64;
  if (at < 0)
    fail(KNNG_ERR_RANGE, "value_type", {.row = row, .col = col}, "the row itself: its value does not fit %s",
         wide ? "fp64" : "fp32; set value_type=f64");
  if (wide && task.metric.term == Term::power_difference)
    fail(KNNG_ERR_RANGE, "p", {.row = row, .col = col}, "with p=%g the distance of a neighbour overflows fp64",
         task.metric.p);
  // Rows whose distances overflow are refused when they are prepared.
  if (wide || (list && !std::isfinite(list[at].key)))
    fail(KNNG_ERR_DATA, "", {.row = row, .col = col},
         "the distance of a neighbour is not finite: rows have changed after they were borrowed");
  char value[32] = "its value";
  if (list) std::snprintf(value, sizeof value, "%g", reported_value(task.metric, list[at].key, task.similarity));
  fail(KNNG_ERR_RANGE, "value_type", {.row = row, .col = col}, "a neighbour: %s does not fit fp32; set value_type=f64",
       value);
}

void emit(NeighbourLists& lists, const CanonicalRows& rows, const Task& task, Proof proof, ThreadTeam& team,
          Budget* budget, Monitor& monitor, Graph& graph) {
  const std::int64_t n = graph.rows;
  allocate_result(task, budget, graph);
  std::fill(graph.proof.begin(), graph.proof.end(), static_cast<std::uint8_t>(proof));
  Buffer<double> scratch(task.self_first && task.metric.term == Term::product ? rows.dim() * team.size() : 0, budget);

  monitor.stage("result", static_cast<double>(n));
  std::atomic<std::int64_t> too_large{std::numeric_limits<std::int64_t>::max()};
  // Some 50 us of work.
  const std::int64_t together = std::clamp<std::int64_t>((1 << 13) / graph.width, 1, 1024);
  team.for_each(monitor, n, together, [&](int member, std::int64_t begin, std::int64_t end) {
    const std::span<double> u(scratch.data() + (scratch.empty() ? 0 : member * rows.dim()),
                              scratch.empty() ? 0 : static_cast<std::size_t>(rows.dim()));
    for (std::int64_t i = begin; i < end; ++i) {
      const std::int64_t row = rows.id(i);
      const Neighbour* list = lists.sort(i);
      graph.ties[row] = lists.tied(i);
      if (!u.empty()) rows.load(i, u.data());
      if (!emit_row(task, row, task.self_first ? self_value(task, u) : 0, list, graph))
        note_large_value(too_large, row);
    }
  });
  if (const std::int64_t row = too_large.load(); row < n) {
    std::int64_t i = 0;
    while (rows.id(i) != row) ++i;
    refuse_large_value(task, row, lists.sort(i), graph);
  }
  release_result(graph);
}

}  // namespace libknng

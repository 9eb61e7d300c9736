#include "exec/distinct.h"

#include <algorithm>
#include <atomic>
#include <limits>
#include <vector>

#include "core/float_env.h"
#include "exec/emit.h"
#include "metric/canonical.h"

namespace libknng {
namespace {

// A smaller share of duplicates saves less than putting them back costs.
constexpr std::int64_t kLeastShare = 8;

}  // namespace

Groups::Groups(const Dataset& data, const Metric& metric, Buffer<std::int64_t> first, Budget* budget)
    : group_(std::move(first)) {
  const std::int64_t n = data.rows();
  const bool directions = has_directions(metric.transform);
  std::vector<double> x(static_cast<std::size_t>(data.dim()));
  // A row without a direction stays its own first: it is found by the first of its like, which is checked once.
  constexpr std::int64_t lone = -1;
  std::int64_t groups = 0;
  representatives_ = Buffer<std::int64_t>(n, budget);
  for (std::int64_t i = 0; i < n; ++i) {
    const std::int64_t leader = group_[i];
    const bool starts = leader == i || representatives_[leader] == lone;
    group_[i] = starts ? groups++ : group_[leader];
    representatives_[i] = 0;
    if (leader != i || !directions) continue;
    data.load(i, x.data());
    if (has_no_direction(metric.transform, x)) representatives_[i] = lone;
  }
  starts_ = Buffer<std::int64_t>(groups + 1, 0, budget);
  members_ = Buffer<std::int64_t>(n, budget);
  for (std::int64_t i = 0; i < n; ++i) ++starts_[group_[i] + 1];
  for (std::int64_t g = 0; g < groups; ++g) starts_[g + 1] += starts_[g];
  // Places are handed out from the starts, which move to their ends, and are put back.
  for (std::int64_t i = 0; i < n; ++i) members_[starts_[group_[i]]++] = i;
  for (std::int64_t g = groups; g > 0; --g) starts_[g] = starts_[g - 1];
  starts_[0] = 0;
  for (std::int64_t g = 0; g < groups; ++g) representatives_[g] = members_[starts_[g]];
}

std::int64_t Groups::bytes(std::int64_t rows) { return checked_mul(4 * rows + 1, sizeof(std::int64_t), "rows"); }

bool distinct_pays(const Task& task, std::int64_t rows, std::int64_t duplicates) {
  return task.engine != "direct" && task.metric.term != Term::product && duplicates >= ceil_div(rows, kLeastShare);
}

Task task_of_distinct(const Task& task) {
  Task of_distinct = task;
  of_distinct.metric.report = Report::key;
  of_distinct.similarity = of_distinct.self_first = false;
  of_distinct.value_dtype = KNNG_F64;
  return of_distinct;
}

std::int64_t k_of_distinct(std::int64_t k, std::int64_t groups) { return std::min(k + 1, groups - 1); }

std::int64_t graph_bytes_of_distinct(std::int64_t groups, std::int64_t k) {
  return checked_mul(groups, checked_add(checked_mul(k, 16, "k"), 2, "k"), "rows");
}

void expand(const Graph& distinct, const Groups& groups, const Task& task, int threads, Budget* budget,
            Monitor& monitor, Graph& graph) {
  const std::int64_t n = graph.rows, k = graph.k();
  allocate_result(task, budget, graph);

  // The k + 1 nearest of a row, or all there are. Of a group no more than k + 1 can belong, those with the smallest
  // ids; groups come by their keys, so that one with a key above that of k + 1 neighbours ends the list.
  const auto enough = static_cast<std::size_t>(k + 1);
  const auto gather = [&](std::int64_t row, std::vector<Neighbour>& list) {
    list.clear();
    const std::int64_t own = groups.group(row);
    for (const std::int64_t id : groups.members(own)) {
      if (list.size() == enough) break;
      if (id != row) list.push_back({0, id});
    }
    for (std::int64_t j = 0; j < distinct.width; ++j) {
      const std::int64_t entry = own * distinct.width + j;
      const double key = distinct.value(entry);
      if (list.size() >= enough && key > list.back().key) break;
      const std::span<const std::int64_t> members = groups.members(distinct.ids[entry]);
      for (const std::int64_t id : members.first(std::min(members.size(), enough))) list.push_back({key, id});
    }
    std::sort(list.begin(), list.end());
  };

  const double self = self_value(task, {});
  monitor.stage("result", static_cast<double>(n));
  std::atomic<std::int64_t> too_large{std::numeric_limits<std::int64_t>::max()};
#pragma omp parallel num_threads(threads)
  {
    const FloatEnv env;
    std::vector<Neighbour> list;
#pragma omp for schedule(dynamic, 256)
    for (std::int64_t i = 0; i < n; ++i) {
      if (monitor.stopped()) continue;
      monitor.advance(1);
      gather(i, list);
      graph.ties[i] = list.size() >= enough && list[enough - 1].key == list[enough - 2].key;
      graph.proof[i] = distinct.proof[groups.group(i)];
      if (!emit_row(task, i, self, list.data(), graph))
        for (std::int64_t known = too_large.load(); i < known && !too_large.compare_exchange_weak(known, i);) {
        }
    }
  }
  monitor.check();
  if (const std::int64_t row = too_large.load(); row < n) {
    std::vector<Neighbour> list;
    gather(row, list);
    refuse_large_value(task, row, list.data(), graph);
  }
  release_result(graph);
}

}  // namespace libknng

#include "exec/distinct.h"

#include <algorithm>
#include <atomic>
#include <limits>
#include <vector>

#include "core/division.h"
#include "exec/emit.h"

namespace libknng {
namespace {

// A smaller share of duplicates saves less than putting them back costs.
constexpr std::int64_t kLeastShare = 8;
// Rows between two looks at the stop flag.
constexpr std::int64_t kCheckedTogether = 4096;

// Calls f(row) for the wanted rows that have no direction.
template <class Wanted, class F>
void each_without_direction(const Dataset& data, const RowLoader& loader, Transform transform, Wanted&& wanted, F&& f,
                            const Monitor& monitor) {
  const auto together = static_cast<std::size_t>(loader.asked_together());
  std::vector<std::int64_t> listed;
  std::vector<double> values(static_cast<std::size_t>(loader.together() * data.dim()));
  std::vector<std::uint8_t> without(together);
  const auto settle = [&] {
    loader.without_direction(transform, listed, values.data(), without.data());
    for (std::size_t i = 0; i < listed.size(); ++i)
      if (without[i]) f(listed[i]);
    listed.clear();
  };
  listed.reserve(together);
  for (std::int64_t i = 0; i < data.rows(); ++i) {
    if (i % kCheckedTogether == 0) monitor.check();
    if (wanted(i)) listed.push_back(i);
    if (listed.size() == together) settle();
  }
  settle();
}

}  // namespace

Groups::Groups(const Dataset& data, const RowLoader& loader, const Metric& metric, Buffer<std::int64_t> first,
               Budget* budget, const Monitor& monitor)
    : group_(std::move(first)) {
  const std::int64_t n = data.rows();
  // Of each row that others equal: whether it leads them, or all of them are alone.
  enum Leader : std::int64_t { nobody, leads, alone };
  representatives_ = Buffer<std::int64_t>(n, static_cast<std::int64_t>(nobody), budget);
  for (std::int64_t i = 0; i < n; ++i)
    if (group_[i] != i) representatives_[group_[i]] = leads;
  if (has_directions(metric.transform))
    each_without_direction(
        data, loader, metric.transform, [&](std::int64_t i) { return representatives_[i] == leads; },
        [&](std::int64_t i) { representatives_[i] = alone; }, monitor);
  std::int64_t groups = 0;
  for (std::int64_t i = 0; i < n; ++i) {
    if (i % kCheckedTogether == 0) monitor.check();
    const std::int64_t leader = group_[i];
    group_[i] = leader == i || representatives_[leader] == alone ? groups++ : group_[leader];
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
  return !task.rows_are_distinct && task.engine != "direct" && task.metric.term != Term::product &&
         duplicates >= ceil_div(rows, kLeastShare);
}

Task task_of_distinct(const Task& task) {
  Task of_distinct = task;
  of_distinct.metric.report = Report::key;
  of_distinct.similarity = of_distinct.self_first = false;
  of_distinct.value_dtype = KNNG_F64;
  of_distinct.rows_are_distinct = true;
  return of_distinct;
}

std::int64_t k_of_distinct(std::int64_t k, std::int64_t groups) { return std::min(k + 1, groups - 1); }

std::int64_t graph_bytes_of_distinct(const Task& task, std::int64_t groups, std::int64_t k) {
  const std::int64_t lists = task.keep_on_device ? 0 : checked_mul(k, 16, "k");
  return checked_mul(groups, checked_add(lists, 2, "k"), "rows");
}

namespace {

// The k + 1 smallest of what is added.
class Nearest {
 public:
  static std::int64_t room(std::int64_t k) { return checked_mul(2, k + 1, "k"); }
  Nearest(Neighbour* entries, std::int64_t k) noexcept : entries_(entries), enough_(k + 1) {}

  void clear() noexcept { size_ = 0; }
  // Whether (key, id) can still be among them.
  bool wants(const Neighbour& n) const noexcept { return size_ < enough_ || n < last_; }
  void add(const Neighbour& n) noexcept {
    entries_[size_++] = n;
    if (size_ == enough_ || size_ == 2 * enough_) shorten();
  }
  // In order.
  std::span<const Neighbour> sorted() noexcept {
    if (size_ > enough_) shorten();
    std::sort(entries_, entries_ + size_);
    return {entries_, static_cast<std::size_t>(size_)};
  }

 private:
  void shorten() noexcept {
    std::nth_element(entries_, entries_ + (enough_ - 1), entries_ + size_);
    last_ = entries_[enough_ - 1];
    size_ = enough_;
  }

  Neighbour* entries_;
  std::int64_t enough_, size_ = 0;
  Neighbour last_{};  // of the k + 1 smallest, once there are so many
};

// The k + 1 nearest of a row, or all there are. Groups come by their keys and their members by their ids.
void gather(const Graph& distinct, const Groups& groups, std::int64_t row, Nearest& nearest) noexcept {
  nearest.clear();
  const auto add = [&](double key, std::int64_t group) {
    for (const std::int64_t id : groups.members(group)) {
      if (!nearest.wants({key, id})) break;
      if (id != row) nearest.add({key, id});
    }
  };
  const std::int64_t own = groups.group(row);
  add(0, own);
  for (std::int64_t entry = own * distinct.width; entry < (own + 1) * distinct.width; ++entry) {
    const double key = distinct.value(entry);
    if (!nearest.wants({key, -1})) break;
    add(key, distinct.ids[entry]);
  }
}

}  // namespace

std::int64_t expand_bytes(std::int64_t k, int threads) {
  return checked_mul(checked_mul(Nearest::room(k), threads, "threads"), sizeof(Neighbour), "k");
}

void expand(const Graph& distinct, const Groups& groups, const Task& task, ThreadTeam& team, Budget* budget,
            Monitor& monitor, Graph& graph) {
  const std::int64_t n = graph.rows, k = graph.k();
  allocate_result(task, budget, graph);
  Buffer<Neighbour> entries(Nearest::room(k) * team.size(), budget);

  const double self = self_value(task, {});
  monitor.stage("result", static_cast<double>(n));
  std::atomic<std::int64_t> too_large{std::numeric_limits<std::int64_t>::max()};
  constexpr std::int64_t together = 256;
  team.for_each(monitor, n, together, [&](int member, std::int64_t begin, std::int64_t end) {
    Nearest nearest(entries.data() + member * Nearest::room(k), k);
    for (std::int64_t i = begin; i < end; ++i) {
      gather(distinct, groups, i, nearest);
      const std::span<const Neighbour> list = nearest.sorted();
      const auto last = static_cast<std::size_t>(k);
      graph.ties[i] = list.size() > last && list[last].key == list[last - 1].key;
      graph.proof[i] = distinct.proof[groups.group(i)];
      if (!emit_row(task, i, self, list.data(), graph)) note_large_value(too_large, i);
    }
  });
  if (const std::int64_t row = too_large.load(); row < n) {
    Nearest nearest(entries.data(), k);
    gather(distinct, groups, row, nearest);
    refuse_large_value(task, row, nearest.sorted().data(), graph);
  }
  release_result(graph);
}

}  // namespace libknng

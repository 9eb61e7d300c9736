#include "exec/check.h"

#include <algorithm>
#include <bit>
#include <cstdio>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/division.h"
#include "core/dtype.h"
#include "core/thread_team.h"
#include "exec/emit.h"
#include "exec/rows/file_rows.h"
#include "exec/rows/host_rows.h"
#include "exec/task.h"
#include "merge/neighbour_lists.h"
#include "prepare/canonical_rows.h"

namespace libknng {
namespace {

// Rows checked together, so that every other row is transformed once for all of them.
constexpr std::int64_t kTogether = 16;
// So many times as many for each thread before the next are prepared.
constexpr std::int64_t kAtOnce = 4;

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

// What is wrong with the graph.
class Findings {
 public:
  // Rows come in order.
  void add(std::int64_t row, const Difference& difference) {
    ++(difference.in_ids ? in_ids_ : in_values_);
    if (first_row_ >= 0) return;
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
  std::int64_t first_row_ = -1, in_ids_ = 0, in_values_ = 0;
  Difference first_;
};

// A graph that says how it was made is hardly meant to be held against other settings.
void warn_about(const char* what, const std::string& of_graph, const std::string& of_handle, Monitor& monitor) {
  if (of_graph.empty() || of_graph == "unknown" || of_graph == of_handle) return;
  monitor.log(1, ("the graph was made with " + std::string(what) + "=" + of_graph + ", the settings have " + what +
                  "=" + of_handle)
                     .c_str());
}

// How many rows are checked at a time, and how many others they meet: all, where memory of the host has them or room
// for a copy of them; else as many as it has room for, and the more are checked together, the less often the others
// come.
struct Parts {
  std::int64_t checked, others;
  Parts(const Dataset& data, const Metric& metric, std::int64_t all_checked, std::int64_t k, int threads,
        const Budget& budget)
      : checked(std::min(all_checked, checked_mul(kAtOnce * kTogether, threads, "threads"))), others(data.rows()) {
    const std::int64_t d = data.dim(), stored = d * find_dtype(data.dtype())->bytes;
    const std::int64_t other = stored + CanonicalRows::bytes_per_row(metric, d);
    const std::int64_t one = checked_add(other, NeighbourLists::bytes(1, k), "k");
    // Beside them CanonicalRows takes up to so much to prepare some.
    const std::int64_t room = budget.limit() - budget.held() - checked_mul(16 * d, threads, "threads");
    const std::int64_t whole = checked_add(checked_mul(others, other, "rows"), checked_mul(checked, one, "k"), "rows");
    if (data.on_host() || whole <= room) return;
    checked = std::clamp<std::int64_t>(room / 2 / one, 1, all_checked);
    others = std::clamp<std::int64_t>((room - checked * one) / other, 1, others);
  }
};

// Some rows in memory of the host, as canonical rows.
class Prepared {
 public:
  // Rows [first, first + count).
  Prepared(const Dataset& data, std::int64_t first, std::int64_t count, const Task& task, ThreadTeam& team,
           Budget& budget, Monitor& monitor)
      : rows_(host_rows(data, first, count, &budget, &monitor, "rows")) {
    prepare(data, task, team, budget, monitor, [first](std::int64_t row) { return first + row; });
  }
  Prepared(const Dataset& data, const std::vector<std::int64_t>& ids, const Task& task, ThreadTeam& team,
           Budget& budget, Monitor& monitor)
      : rows_(data, ids) {
    if (data.on_host()) {
      canonical_.emplace(rows_, task.metric, team, &budget, monitor, "rows");
      return;
    }
    const std::int64_t count = std::ssize(ids), row_bytes = data.dim() * find_dtype(data.work_dtype())->bytes;
    Buffer<std::byte> copy(checked_mul(count, row_bytes, "sample"), &budget);
    if (data.on_devices())
      for (std::int64_t s = 0; s < count; ++s)
        host_rows(data, ids[static_cast<std::size_t>(s)], 1, &budget, &monitor, "rows")
            .pack(0, 1, copy.data() + s * row_bytes);
    else
      rows_.pack(0, count, copy.data());
    rows_ = Dataset(data.dim(), data.work_dtype());
    rows_.append(std::make_shared<Chunk>(std::move(copy), data.work_dtype(), count, data.dim()));
    prepare(data, task, team, budget, monitor, [&ids](std::int64_t row) { return ids[static_cast<std::size_t>(row)]; });
  }

  const Dataset& rows() const noexcept { return rows_; }
  const CanonicalRows& canonical() const noexcept { return *canonical_; }

 private:
  // number: of a row in the data set.
  template <class Number>
  void prepare(const Dataset& data, const Task& task, ThreadTeam& team, Budget& budget, Monitor& monitor,
               Number&& number) {
    data.require_unchanged();  // what was copied is what was looked at when it was added
    try {
      canonical_.emplace(rows_, task.metric, team, &budget, monitor, "rows");
    } catch (const Error& e) {
      if (e.code() != KNNG_ERR_DATA) throw;
      std::vector<double> x(static_cast<std::size_t>(data.dim()));
      rows_.load(e.info().row, x.data());
      refuse_row(x, task.metric, number(e.info().row), "rows");
    }
  }

  Dataset rows_;
  std::optional<CanonicalRows> canonical_;
};

// Offers to the lists of the checked rows `ids` all others, of which the first is row `first` of the data set. scratch:
// kTogether + 1 rows for each thread.
void meet(const Task& task, ThreadTeam& team, const CanonicalRows& rows, const std::vector<std::int64_t>& ids,
          const CanonicalRows& others, std::int64_t first, NeighbourLists& lists, Buffer<double>& scratch,
          Monitor& monitor) {
  const std::int64_t d = rows.dim(), checked = rows.rows();
  const auto size = static_cast<std::size_t>(d);
  team.for_each(checked, kTogether, [&](int member, std::int64_t begin, std::int64_t end) {
    double* const u = scratch.data() + member * (kTogether + 1) * d;
    double* const v = u + kTogether * d;
    for (std::int64_t s = begin; s < end; ++s) rows.load(s, u + (s - begin) * d);
    for (std::int64_t j = 0; j < others.rows() && !monitor.stopped(); ++j) {
      others.load(j, v);
      for (std::int64_t s = begin; s < end; ++s) {
        if (ids[static_cast<std::size_t>(s)] == first + j) continue;
        const bool directionless = rows.directionless(s) || others.directionless(j);
        const double key =
            directionless ? kNoDirectionKey : canonical_key(task.metric, {u + (s - begin) * d, size}, {v, size});
        lists.offer(s, key, first + j);
      }
      monitor.advance(1);
    }
  });
}

void compare_lists(const Task& task, const Graph& graph, const CanonicalRows& rows,
                   const std::vector<std::int64_t>& ids, NeighbourLists& lists, Findings& findings) {
  const std::int64_t shift = task.self_first ? 1 : 0;
  std::vector<double> u(static_cast<std::size_t>(rows.dim()));
  for (std::int64_t s = 0; s < rows.rows(); ++s) {
    const std::int64_t i = ids[static_cast<std::size_t>(s)];
    const Neighbour* expected = lists.sort(s);
    Difference wrong;
    if (shift) {
      rows.load(s, u.data());
      compare(graph, i, 0, i, self_value(task, u), wrong);
    }
    for (std::int64_t j = 0; j < lists.k(); ++j)
      compare(graph, i, shift + j, expected[j].id, rounded_value(task, expected[j].key), wrong);
    if (wrong.found()) findings.add(i, wrong);
  }
}

}  // namespace

std::int64_t check_graph(const Dataset& data, const Settings& settings, const Graph& graph, std::int64_t sample,
                         Monitor& monitor) {
  const std::int64_t n = data.rows(), d = data.dim();
  Task task = make_task(settings, data, false);
  task.value_dtype = graph.value_dtype;
  if (!graph.square)
    fail(KNNG_ERR_ARGUMENT, "g", "a graph of %lld queries: only a graph of the data set's own %lld rows can be checked",
         static_cast<long long>(graph.rows), static_cast<long long>(n));
  if (graph.rows != n)
    fail(KNNG_ERR_ARGUMENT, "g", {.given = graph.rows, .limit = n}, "the graph has %lld rows, the data set has %lld",
         static_cast<long long>(graph.rows), static_cast<long long>(n));
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
  run_while_unchanged(data, nullptr, monitor, false, [&] {
    const int threads = task.threads();
    ThreadTeam team(threads);
    Buffer<double> scratch(checked_mul((kTogether + 1) * d, threads, "threads"), &budget);
    const Parts parts(data, task.metric, checked, k, threads, budget);
    NeighbourLists lists(parts.checked, k, &budget);
    std::unique_ptr<const Prepared> others;
    if (parts.others == n) others = std::make_unique<Prepared>(data, 0, n, task, team, budget, monitor);
    Monitor beside(monitor);  // what is prepared part by part is no stage
    monitor.stage("check", static_cast<double>(ceil_div(checked, kTogether)) * static_cast<double>(n));
    for (std::int64_t begin = 0; begin < checked; begin += parts.checked) {
      std::vector<std::int64_t> ids(static_cast<std::size_t>(std::min(parts.checked, checked - begin)));
      for (std::size_t s = 0; s < ids.size(); ++s) ids[s] = row_of(begin + static_cast<std::int64_t>(s));
      const Prepared rows(parts.others == n ? others->rows() : data, ids, task, team, budget, beside);
      for (std::int64_t s = 0; s < std::ssize(ids); ++s) lists.clear(s);
      for (std::int64_t first = 0; first < n; first += parts.others) {
        if (parts.others < n) {
          others.reset();  // before the next part needs memory
          others =
              std::make_unique<Prepared>(data, first, std::min(parts.others, n - first), task, team, budget, beside);
        }
        meet(task, team, rows.canonical(), ids, others->canonical(), first, lists, scratch, monitor);
        monitor.check();
      }
      compare_lists(task, graph, rows.canonical(), ids, lists, findings);
    }
    findings.log(checked, monitor);
  });
  return findings.first_row();
}

}  // namespace libknng

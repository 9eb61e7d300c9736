// A problem on a simulated device: a list of candidates for every row, tiles that feed them, refinement. Slow and
// plain. Bounds are keys made worse by a slack of its own for every pair, as much as an approximation of that precision
// would be off. Knows nothing of the seam's calls.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cmath>
#include <cstdint>
#include <limits>
#include <memory>
#include <span>
#include <vector>

#include "backend/admission.h"
#include "backend/seam.h"
#include "core/checked.h"
#include "metric/canonical.h"
#include "refine/sum_terms.h"
#include "tests/backend/fake_behaviour.h"
#include "tests/backend/fake_points.h"

namespace libknng::fake {

inline constexpr std::int32_t kMostDevices = 16;
inline constexpr double kInfinity = std::numeric_limits<double>::infinity();
// How far bounds of each precision may be below their keys, as a share of the norms.
inline constexpr std::array<double, 5> kSlack = {0, 0x1p-6, 0x1p-14, 0x1p-22, 0};

inline constexpr double kUnknown = std::numeric_limits<double>::quiet_NaN();

inline std::atomic<std::int64_t> live_sessions{0}, blocks_brought{0}, cutoffs_adopted{0}, orders_made{0},
    rows_guessed{0}, rows_checked{0};
inline std::array<std::atomic<std::int64_t>, kMostDevices> tiles_done{};

inline Metric metric_of(const knng_backend_metric& m) {
  return {"",      static_cast<Transform>(m.transform), static_cast<Term>(m.term),
          m.scale, static_cast<Report>(m.report),       m.similarity != 0,
          m.p};
}

struct Candidate {
  double low;
  std::int64_t id;
  friend bool operator<(const Candidate& a, const Candidate& b) {
    return a.low < b.low || (a.low == b.low && a.id < b.id);
  }
};

// In [0, 1), of its own for every pair and precision.
inline double noise(std::int64_t i, std::int64_t j, std::int32_t rung) {
  auto z = static_cast<std::uint64_t>(std::min(i, j)) * 0x9e3779b97f4a7c15u +
           static_cast<std::uint64_t>(std::max(i, j)) * 0xbf58476d1ce4e5b9u + static_cast<std::uint64_t>(rung);
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return std::ldexp(static_cast<double>((z ^ (z >> 31)) >> 11), -53);
}

class Session {
 public:
  Session(std::int32_t device, const knng_backend_problem& problem)
      : p(problem),
        number(device),
        metric(metric_of(problem.metric)),
        columns(problem.columns, problem.metric, 1, problem.blocks_held == 0,
                problem.blocks_held > 0 ? in_host_memory : held),
        blocks(block_values(problem), held),
        all_keys(kept_keys(problem), held),
        keys_of_lists(problem.blocks_held > 0 ? checked_mul(listed(problem), problem.capacity, "capacity") : 0, held),
        lists(checked_mul(listed(problem), problem.capacity, "capacity"), held),
        counts(listed(problem), held),
        dropped(listed(problem), held),
        cutoffs(listed(problem), held),
        lows(checked_mul(problem.tile_rows, problem.tile_cols, "tile_rows"), held) {
    if (!p.square) queries = std::make_unique<Points>(p.rows, p.metric, 2, true, held);
    ++live_sessions;
  }
  ~Session() { --live_sessions; }

  static std::int64_t bytes(const knng_backend_problem& p) {
    const std::int64_t entries = checked_mul(listed(p), p.capacity, "capacity");
    std::int64_t sum = p.square ? 0 : Points::bytes(p.rows);
    sum = checked_add(sum, p.blocks_held > 0 ? DeviceArray<double>::bytes(entries) : Points::bytes(p.columns), "rows");
    sum = checked_add(sum, DeviceArray<double>::bytes(block_values(p)), "rows");
    sum = checked_add(sum, DeviceArray<double>::bytes(kept_keys(p)), "rows");
    sum = checked_add(sum, DeviceArray<Candidate>::bytes(entries), "rows");
    sum = checked_add(sum, DeviceArray<std::int64_t>::bytes(listed(p)) + 2 * DeviceArray<double>::bytes(listed(p)),
                      "rows");
    return checked_add(sum, DeviceArray<double>::bytes(checked_mul(p.tile_rows, p.tile_cols, "tile_rows")), "rows");
  }

  // Another's cut-offs, from now until nothing is in flight.
  void read(const Session& other) {
    reads.push_back(&other);
    ++other.readers;
  }
  void read_no_more() {
    for (const Session* other : reads) --other->readers;
    reads.clear();
  }

  static std::int64_t block_values(const knng_backend_problem& p) {
    return checked_mul(checked_mul(p.blocks_held, p.tile_cols, "rows"), p.columns.dim, "rows");
  }
  // Of checked rows with all columns, where these come in blocks.
  static std::int64_t kept_keys(const knng_backend_problem& p) {
    return p.blocks_held > 0 ? checked_mul(p.checked_count, p.columns.count, "rows") : 0;
  }
  // A block of points is wanted on the device.
  void use_block(std::int64_t first) {
    if (p.blocks_held == 0 || (!recent.empty() && recent.front().first == first)) return;
    if (first % p.tile_cols != 0) throw Failure{KNNG_ERR_INTERNAL, "points between two blocks"};
    const auto at = std::find_if(recent.begin(), recent.end(), [&](const Block& b) { return b.first == first; });
    Block block{first, static_cast<std::int64_t>(recent.size())};
    if (at != recent.end()) {
      block = *at;
      recent.erase(at);
    } else {
      if (block.place == p.blocks_held) {
        block.place = recent.back().place;
        recent.pop_back();
      }
      for (std::int64_t i = first; i < std::min(first + p.tile_cols, p.columns.count); ++i)
        columns.load(i, blocks.at((block.place * p.tile_cols + i - first) * p.columns.dim));
      ++blocks_brought;
    }
    recent.insert(recent.begin(), block);
  }
  void use_block_of(std::int64_t row) { use_block(p.blocks_held ? row / p.tile_cols * p.tile_cols : row); }
  // u of a column, or of a row; points in blocks are there if their block is.
  const double* find(std::int64_t i) const {
    if (p.blocks_held == 0) return columns.u(i);
    for (const Block& b : recent)
      if (b.first <= i && i < b.first + p.tile_cols)
        return &blocks[(b.place * p.tile_cols + i - b.first) * p.columns.dim];
    return nullptr;
  }
  std::span<const double> column(std::int64_t i) const {
    const double* const u = find(i);
    if (!u) throw Failure{KNNG_ERR_INTERNAL, "a point that is not there"};
    return {u, static_cast<std::size_t>(p.columns.dim)};
  }
  std::span<const double> row_of(std::int64_t i) const {
    return queries ? std::span(queries->u(i), static_cast<std::size_t>(p.rows.dim)) : column(i);
  }
  // Rows that have a list on the device.
  static std::int64_t listed(const knng_backend_problem& p) { return p.by_rows ? 0 : p.rows.count; }
  const Points& rows() const { return queries ? *queries : columns; }
  bool admits(std::int64_t row, std::int64_t id) const { return admission_of(p).admits(row, id); }
  double key(std::int64_t row, std::int64_t id) const { return key_of(row, row_of(row), id); }
  double key_of(std::int64_t row, std::span<const double> u, std::int64_t id) const {
    if (rows().directionless(row) || columns.directionless(id)) return kNoDirectionKey;
    return canonical_key(metric, u, column(id));
  }
  // A lower bound of the key: rounded down after what was taken off.
  double low(std::int64_t row, std::int64_t id, bool lies) const {
    const double k = key(row, id);
    if (lies) return k + std::fabs(k) * noise(row, id, rung);
    const double slack = kSlack[static_cast<std::size_t>(rung)] * noise(row, id, rung);
    return slack > 0 ? std::nextafter(k - slack * (rows().norm(row) + columns.norm(id)), -kInfinity) : k;
  }
  // The candidates of a row as a heap, the one to go first.
  void offer(std::int64_t row, Candidate c) {
    if (drops == c.id) return;
    if (c.low > cutoffs[row].load()) return;
    Candidate* const list = lists.at(row * p.capacity);
    std::int64_t& count = counts[row];
    if (count == p.capacity) {
      if (!(c < list[0])) {
        dropped[row] = std::min(dropped[row], c.low);
        return;
      }
      std::pop_heap(list, list + count);
      dropped[row] = std::min(dropped[row], list[--count].low);
    }
    list[count++] = c;
    std::push_heap(list, list + count);
  }

  void begin(std::int32_t precision) {
    rung = precision;
    for (std::int64_t i = 0; i < p.rows.count; ++i) {
      counts[i] = 0;
      dropped[i] = kInfinity;
      cutoffs[i].store(kInfinity);
    }
  }
  // The point at a place of the order in which points are compared.
  std::int64_t point(std::int64_t place) const { return backwards ? p.columns.count - 1 - place : place; }

  // Cut-offs: the key of that rank among every fourth column.
  void guess(std::int64_t first, std::int64_t n, std::int64_t rank) {
    for (std::int64_t place = first; place < first + n; ++place) {
      const std::int64_t row = point(place);
      std::vector<double> found;
      for (std::int64_t id = 0; id < p.columns.count; id += 4)
        if (admits(row, id)) found.push_back(key(row, id));
      if (static_cast<std::int64_t>(found.size()) < rank) continue;
      std::nth_element(found.begin(), found.begin() + (rank - 1), found.end());
      cutoffs[row].store(found[static_cast<std::size_t>(rank - 1)]);
    }
  }
  // Every eighth row's list of all columns; rank: of first cut-offs that are guessed, or 0.
  double sample(std::int64_t rank) {
    if (p.blocks_held > 0) return 0;
    if (rank > 0) guess(0, p.rows.count, rank);
    std::int64_t sampled = 0, unproved = 0;
    for (std::int64_t row = 0; row < p.rows.count; row += 8, ++sampled) {
      for (std::int64_t id = 0; id < p.columns.count; ++id)
        if (admits(row, id)) offer(row, {low(row, id, false), id});
      const double guess = cutoffs[row].load();
      lower_cutoff(row);
      unproved += !(dropped[row] > cutoffs[row].load()) || (guess < kInfinity && !fills(row, guess));
    }
    begin(rung);
    return static_cast<double>(unproved) / static_cast<double>(sampled);
  }
  void tile(std::int64_t first_row, std::int64_t n, std::int64_t first_column, std::int64_t m) {
    if (p.square) use_block(first_row);
    use_block(first_column);
    const bool lies = behaviour(number, "lies") >= 0;
    for (std::int64_t i = 0; i < n; ++i)
      for (std::int64_t j = 0; j < m; ++j) lows[i * m + j] = low(point(first_row + i), point(first_column + j), lies);
    for (std::int64_t i = 0; i < n; ++i)
      for (std::int64_t j = 0; j < m; ++j) {
        const std::int64_t row = point(first_row + i), id = point(first_column + j);
        if (admits(row, id)) offer(row, {lows[i * m + j], id});
        if (p.square && first_row != first_column) offer(id, {lows[i * m + j], row});
      }
    if (++tiles % 8 == 0)
      for (std::int64_t i = 0; i < n; ++i) lower_cutoff(point(first_row + i));
    ++tiles_done[static_cast<std::size_t>(number)];
  }
  // The k-th smallest key of those in a list whose points are there: no pair above it is wanted.
  void lower_cutoff(std::int64_t row) {
    if (counts[row] < p.k) return;
    std::vector<double> found;
    for (std::int64_t i = 0; i < counts[row]; ++i)
      if (const std::int64_t id = lists[row * p.capacity + i].id; find(id)) found.push_back(key(row, id));
    if (static_cast<std::int64_t>(found.size()) < p.k) return;
    const auto kth = found.begin() + (p.k - 1);
    std::nth_element(found.begin(), kth, found.end());
    if (*kth < cutoffs[row].load()) cutoffs[row].store(*kth);
  }
  // Whether k of the keys in a list, all of whose points are there, are not above the cut-off.
  bool fills(std::int64_t row, double cutoff) {
    const Candidate* const list = lists.at(row * p.capacity);
    return std::count_if(list, list + counts[row], [&](Candidate c) { return key(row, c.id) <= cutoff; }) >= p.k;
  }
  void adopt_cutoffs(const Session& from) {
    for (std::int64_t row = 0; row < p.rows.count; ++row) {
      const double theirs = from.cutoffs[row].load();
      if (theirs < cutoffs[row].load()) cutoffs[row].store(theirs);
    }
    ++cutoffs_adopted;
  }
  void merge_lists(const Session& from, std::int64_t first, std::int64_t n) {
    if (backwards != from.backwards) throw Failure{KNNG_ERR_INTERNAL, "lists of points in another order"};
    for (std::int64_t row = first; row < first + n; ++row) {
      for (std::int64_t i = 0; i < from.counts[row]; ++i) offer(row, from.lists[row * p.capacity + i]);
      dropped[row] = std::min(dropped[row], from.dropped[row]);
    }
  }
  void begin_keys() {
    if (p.blocks_held == 0) throw Failure{KNNG_ERR_INTERNAL, "all points are there"};
    recent.clear();
    for (std::int64_t i = 0; i < p.rows.count * p.capacity; ++i) keys_of_lists[i] = kUnknown;
    for (std::int64_t i = 0; i < kept_keys(p); ++i) all_keys[i] = kUnknown;
  }
  void keys(std::int64_t first_row, std::int64_t n, std::int64_t first_column, std::int64_t m) {
    if (p.square) use_block(first_row);
    use_block(first_column);
    for (std::int64_t row = first_row; row < first_row + n; ++row)
      for (std::int64_t at = row * p.capacity; at < row * p.capacity + counts[row]; ++at)
        if (const std::int64_t id = lists[at].id; id >= first_column && id < first_column + m) {
          if (!std::isnan(keys_of_lists[at])) throw Failure{KNNG_ERR_INTERNAL, "keys asked for twice"};
          keys_of_lists[at] = key(row, id);
        }
    for (std::int64_t c = 0; c < p.checked_count; ++c)
      if (const std::int64_t row = p.checked[c]; row >= first_row && row < first_row + n)
        for (std::int64_t id = first_column; id < first_column + m; ++id)
          all_keys[c * p.columns.count + id] = key(row, id);
  }
  // Whether the list of a checked row in a result is that of all its keys.
  bool is_right(std::int64_t checked, const knng_backend_result& result) const {
    const std::int64_t row = p.checked[checked], width = p.k + p.self_first;
    std::vector<Candidate> all;
    for (std::int64_t id = 0; id < p.columns.count; ++id) {
      const double k = p.blocks_held > 0 ? all_keys[checked * p.columns.count + id] : key(row, id);
      if (std::isnan(k)) throw Failure{KNNG_ERR_INTERNAL, "a checked row has not met all columns"};
      if (admits(row, id)) all.push_back({k, id});
    }
    std::sort(all.begin(), all.end());
    const auto k = static_cast<std::size_t>(p.k);
    bool right = (result.ties[row] != 0) == (all.size() > k && all[k].low == all[k - 1].low);
    const auto* const ids = reinterpret_cast<const std::int64_t*>(fake::reach(result.ids)) + row * width + p.self_first;
    const std::byte* const values = fake::reach(result.values);
    for (std::size_t t = 0; t < k; ++t) {
      const double value = reported_value(metric, all[t].low, p.metric.similarity != 0);
      const std::size_t at = static_cast<std::size_t>(row * width + p.self_first) + t;
      const bool same = p.value_dtype == KNNG_F64
                            ? reinterpret_cast<const double*>(values)[at] == value
                            : reinterpret_cast<const float*>(values)[at] == static_cast<float>(value);
      right = right && ids[t] == all[t].id && same;
    }
    return right;
  }
  std::int64_t check(std::int64_t first, std::int64_t n, const knng_backend_result& result) const {
    for (std::int64_t c = 0; c < p.checked_count; ++c)
      if (p.checked[c] >= first && p.checked[c] < first + n && !is_right(c, result)) return p.checked[c];
    return -1;
  }
  // The key of an entry of a list.
  double listed_key(std::int64_t row, std::int64_t at) const {
    if (p.blocks_held == 0) return key(row, lists[at].id);
    if (std::isnan(keys_of_lists[at])) throw Failure{KNNG_ERR_INTERNAL, "keys were not asked for"};
    return keys_of_lists[at];
  }
  // Sorts `found`, whose lows are keys, and stores its first k as the row's result.
  void store(std::int64_t row, std::vector<Candidate>& found, knng_backend_result& result) {
    std::sort(found.begin(), found.end());
    const auto k = static_cast<std::size_t>(p.k);
    const std::int64_t width = p.k + p.self_first;
    std::int64_t entry = row * width;
    auto* const ids = reinterpret_cast<std::int64_t*>(fake::reach(result.ids));
    std::byte* const values = fake::reach(result.values);
    const auto put = [&](std::int64_t id, double value) {
      const float rounded = static_cast<float>(value);
      const bool wide = p.value_dtype == KNNG_F64;
      if (!std::isfinite(wide ? value : static_cast<double>(rounded)))
        result.too_large = std::min(result.too_large, row);
      ids[entry] = id;
      wide ? reinterpret_cast<double*>(values)[entry] = value : reinterpret_cast<float*>(values)[entry] = rounded;
      ++entry;
    };
    if (p.self_first) {
      const bool product = metric.term == Term::product;
      if (product && !queries) use_block_of(row);
      put(admission_of(p).of(row).excluded,
          reported_value(metric, product ? canonical_key(metric, row_of(row), row_of(row)) : 0.0,
                         p.metric.similarity != 0));
    }
    for (std::size_t i = 0; i < k; ++i)
      put(found[i].id, reported_value(metric, found[i].low, p.metric.similarity != 0));
    result.ties[row] = found.size() > k && found[k].low == found[k - 1].low;
  }
  void refine(std::int64_t row, knng_backend_result& result) {
    const Candidate* const list = lists.at(row * p.capacity);
    std::vector<Candidate> found(list, list + counts[row]);
    result.keys += counts[row];
    result.candidates = std::max(result.candidates, counts[row]);
    for (std::int64_t at = row * p.capacity; Candidate & c : found) {
      const double k = listed_key(row, at++);
      result.violations += c.low > k;
      c.low = k;
    }
    std::sort(found.begin(), found.end());
    const bool fills = counts[row] >= p.k;
    const double kth = fills ? found[static_cast<std::size_t>(p.k - 1)].low : kInfinity;
    const bool proved = fills && dropped[row] > kth && !(kth > cutoffs[row].load());
    result.proof[row] = static_cast<std::uint8_t>(proved ? rung : 0);
    if (proved) store(row, found, result);
  }
  void redo(std::span<const std::int64_t> rows, knng_backend_result& result) {
    std::vector<std::vector<Candidate>> found(rows.size());
    std::vector<std::vector<double>> points;
    for (const std::int64_t row : rows) {
      if (!queries) use_block_of(row);
      const std::span<const double> u = row_of(row);
      points.emplace_back(u.begin(), u.end());
    }
    for (std::int64_t id = 0; id < p.columns.count; ++id) {
      use_block_of(id);
      for (std::size_t r = 0; r < rows.size(); ++r)
        if (admits(rows[r], id)) found[r].push_back({key_of(rows[r], points[r], id), id});
    }
    for (std::size_t r = 0; r < rows.size(); ++r) {
      result.keys += static_cast<std::int64_t>(found[r].size());
      store(rows[r], found[r], result);
      result.proof[rows[r]] = KNNG_RUNG_FP64;
    }
  }

  // All keys of some rows at once, then the lists.
  void answer(std::int64_t first, std::int64_t n, knng_backend_result& result) {
    const std::int64_t m = p.columns.count;
    for (std::int64_t i = 0; i < n; ++i)
      for (std::int64_t j = 0; j < m; ++j) lows[i * m + j] = key(first + i, j);
    for (std::int64_t i = 0; i < n; ++i) {
      std::vector<Candidate> found;
      for (std::int64_t j = 0; j < m; ++j)
        if (admits(first + i, j) && drops != j) found.push_back({lows[i * m + j], j});
      result.keys += static_cast<std::int64_t>(found.size());
      store(first + i, found, result);
      result.proof[first + i] = KNNG_RUNG_FP64;
    }
    ++tiles_done[static_cast<std::size_t>(number)];
  }

  const knng_backend_problem& p;
  std::vector<const Session*> reads;    // whose lists what is in flight may read
  mutable std::atomic<int> readers{0};  // times that it is so read
  const std::int32_t number;
  const std::int64_t drops = behaviour(number, "drops");  // asked once, not for each of a session's pairs
  const Metric metric;
  std::int64_t held = 0;  // bytes; before what fills it
  std::int64_t in_host_memory = 0;
  const Points columns;
  std::unique_ptr<const Points> queries;
  DeviceArray<double> blocks;  // points that come block by block
  struct Block {
    std::int64_t first, place;
  };
  std::vector<Block> recent;     // those there, the last used first
  DeviceArray<double> all_keys;  // of checked rows
  DeviceArray<double> keys_of_lists;
  DeviceArray<Candidate> lists;
  DeviceArray<std::int64_t> counts;
  DeviceArray<double> dropped;               // smallest low that a row's list lost
  DeviceArray<std::atomic<double>> cutoffs;  // above which no pair is wanted; others read them
  DeviceArray<double> lows;                  // of a tile
  std::int32_t rung = 0;
  bool backwards = false;                           // the order in which points are compared
  std::int64_t tiles = 0;                           // so far
  std::array<std::int64_t, kCalls.size()> calls{};  // so far, of each kind
};

}  // namespace libknng::fake

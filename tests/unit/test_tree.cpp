// The CPU's tree: short keys are canonical keys, no pair's key is below the bound of boxes, the tree holds every point
// once and in its boxes, and searches on every SIMD target find what all keys say, at a cost that equal points do not
// make quadratic.
#include <algorithm>
#include <cfloat>
#include <cmath>
#include <cstring>
#include <numeric>
#include <string>
#include <vector>

#include "backend/cpu/point_tree.h"
#include "backend/cpu/tree_engine.h"
#include "backend/cpu/tree_search.h"
#include "metric/canonical.h"
#include "points.h"

#include "harness/cmocka.h"
#include "harness/small_run.h"

using namespace libknng;
using points::make_rows;
using points::Rows;

namespace {

struct Kind {
  const char* metric;
  double p;
};
constexpr Kind kKinds[] = {{"sqeuclidean", 2},   {"cosine", 2},      {"manhattan", 2},
                           {"chebyshev", 2},     {"minkowski", 3},   {"minkowski", 1.7},
                           {"minkowski", 12.25}, {"minkowski", 0.5}, {"minkowski", 0.01}};
constexpr std::int64_t kMostDim = kMostTreeDim;

void short_keys_are_canonical(void**) {
  values::Random random(601);
  for (const Kind& kind : kKinds)
    for (std::int64_t dim = 1; dim <= kMostDim; ++dim) {
      const Metric metric = find_metric(kind.metric, kind.p);
      const double limit = std::min(largest_magnitude(metric, dim), 0x1p500);
      for (const TreeTarget* target : tree_targets()) {
        const TreeKernels kernels = target->kernels(metric.term, dim);
        for (int i = 0; i < 200; ++i) {
          double u[kMostDim] = {}, v[kMostDim] = {};
          for (std::int64_t t = 0; t < dim; ++t) {
            u[t] = values::nasty(random, limit);
            v[t] = values::nasty(random, limit);
          }
          const auto d = static_cast<std::size_t>(dim);
          const double expected = canonical_key(metric, std::span(u, d), std::span(v, d));
          assert_true(values::bits(kernels.key(u, v, metric.p, metric.scale)) == values::bits(expected));
        }
      }
    }
}

// Two clouds of points and the boxes around them.
struct Cloud {
  static constexpr int kPoints = 5;
  double x[kPoints][kMostDim] = {}, low[kMostDim] = {}, high[kMostDim] = {};

  void enclose(std::int64_t dim) {
    for (std::int64_t t = 0; t < dim; ++t) {
      low[t] = high[t] = x[0][t];
      for (const auto& point : x) {
        low[t] = std::min(low[t], point[t]);
        high[t] = std::max(high[t], point[t]);
      }
    }
  }
};

void no_key_is_below_the_bound(void**) {
  values::Random random(602);
  std::int64_t apart = 0, tight = 0;
  for (int i = 0; i < 60'000; ++i) {
    const std::int64_t dim = 1 + random.below(kMostDim);
    const Kind& kind = kKinds[random.below(std::size(kKinds))];
    const Metric metric = find_metric(kind.metric, kind.p);
    const TreeKernels kernels = tree_targets().front()->kernels(metric.term, dim);
    const double limit = std::min(largest_magnitude(metric, dim), 1e300);
    Cloud a, b;
    const std::int64_t way = random.below(4);
    const double apart_by = way == 3 ? 0x1p-1070 : std::ldexp(1.0, static_cast<int>(random.below(40)) - 20);
    for (std::int64_t t = 0; t < dim; ++t) {
      const double centre = values::nasty(random, limit / 4);
      for (int p = 0; p < Cloud::kPoints; ++p) {
        double* const to[] = {&a.x[p][t], &b.x[p][t]};
        for (int side = 0; side < 2; ++side) {
          double x = values::nasty(random, limit);                              // anything
          if (way == 1) x = centre + (random.uniform() + 3 * side) * apart_by;  // beside each other
          if (way == 2) x = centre * (1 + 0x1p-52 * static_cast<double>(random.below(8 + 8 * side)));  // last bits
          if (way == 3) x = (random.uniform() + 3 * side) * apart_by;                                  // denormals
          *to[side] = std::clamp(x, -limit, limit);
        }
      }
    }
    a.enclose(dim);
    b.enclose(dim);
    const auto bound_of = [&](const double* low, const double* high, const double* other_low, const double* other) {
      return kernels.bound(low, high, other_low, other, metric.p, metric.scale);
    };
    const double bound = bound_of(a.low, a.high, b.low, b.high);
    assert_true(bound >= 0 && !std::signbit(bound));
    assert_true(values::bits(bound) == values::bits(bound_of(b.low, b.high, a.low, a.high)));
    apart += bound > 0;
    double least = values::kInfinity;
    for (const auto& x : a.x) {
      const double of_row = bound_of(x, x, b.low, b.high);
      for (const auto& y : b.x) {
        const double key = kernels.key(x, y, metric.p, metric.scale);
        assert_true(bound <= key && of_row <= key);
        // Between points the gaps are the differences.
        const double of_points = bound_of(x, x, y, y);
        assert_true(metric.term == Term::power_difference ? of_points <= key
                                                          : values::bits(of_points) == values::bits(key));
        least = std::min(least, key);
      }
    }
    tight += bound > 0.5 * least;
  }
  // Bounds that are 0, or far off, would prove nothing here.
  assert_true(apart > 10'000 && tight > 1000);
}

// Rounded powers fall now and then as the base grows; a bound between points that differ by the smaller base must not
// be above the key of the larger one.
void powers_that_fall_are_no_bound(void**) {
  values::Random random(603);
  std::int64_t fell = 0;
  const int tries = small_run() ? 100'000 : 1'500'000;
  for (int i = 0; i < tries; ++i) {
    const double p = i % 2 == 0 ? 0.01 : random.uniform(0.01, 0.2);
    const Metric metric = find_metric("minkowski", p);
    const TreeKernels kernels = tree_targets().front()->kernels(metric.term, 1);
    const double zero = 0, gap = i % 4 < 2 ? random.uniform(1, 2) : random.denormal();
    const double more = std::nextafter(gap, 4.0);
    const double key = kernels.key(&zero, &more, p, 1);
    fell += key < kernels.key(&zero, &gap, p, 1);
    assert_true(kernels.bound(&zero, &zero, &gap, &gap, p, 1) <= key);
  }
  if (!small_run()) assert_true(fell > 0);
  // Powers that are denormal themselves: an error of one of them is large beside them.
  for (int i = 0; i < tries / 4; ++i) {
    const Metric metric = find_metric("minkowski", random.uniform(1.01, 1.1));
    const TreeKernels kernels = tree_targets().front()->kernels(metric.term, 1);
    const double zero = 0, gap = std::ldexp(random.uniform(1, 2), -980), more = std::nextafter(gap, 4.0);
    assert_true(kernels.bound(&zero, &zero, &gap, &gap, metric.p, 1) <= kernels.key(&zero, &more, metric.p, 1));
  }
}

// Canonical rows of stored ones.
struct Prepared {
  points::Call call;
  Metric metric;
  Dataset data;
  CanonicalRows rows;

  Prepared(const Rows& stored, const Metric& m)
      : metric(m),
        data(points::stored(KNNG_F64, stored)),
        rows(data, metric, call.team, nullptr, call.monitor, "rows") {}
  std::vector<double> u(std::int64_t i) const {
    std::vector<double> out(static_cast<std::size_t>(rows.dim()));
    rows.load(i, out.data());
    return out;
  }
};

void check_node(const TreeView& tree, std::int64_t node, std::int64_t first, std::int64_t leaves) {
  const double* const box = tree.box(node);
  double smallest = values::kInfinity;
  for (std::int64_t i = first; i < first + leaves; ++i)
    for (int j = 0; j < kTreeLeaf; ++j) {
      const double number = tree.leaf(i)[tree.dim * kTreeLeaf + j];
      if (number < 0) continue;
      smallest = std::min(smallest, number);
      for (int t = 0; t < tree.dim; ++t) {
        const double x = tree.leaf(i)[t * kTreeLeaf + j];
        assert_true(box[t] <= x && x <= box[tree.dim + t]);
      }
    }
  assert_true(box[2 * tree.dim] == smallest);
  if (leaves == 1) return;
  const std::int64_t left = left_leaves(leaves);
  check_node(tree, node + 1, first, left);
  check_node(tree, node + 2 * left, first + left, leaves - left);
}

void trees_hold_every_point_in_its_boxes(void**) {
  values::Random random(604);
  int turn = 0;
  for (const std::int64_t n : {1, 2, 31, 32, 33, 64, 65, 100, 1000, 5000, 20'011})
    for (const std::int64_t d : {1, 3, 9, 16})
      for (int way = 0; way < 4; ++way) {
        if (!tried(turn++, 4)) continue;
        const Rows stored = make_rows("rows", n, d, [&](std::int64_t i, std::int64_t) {
          if (way == 1) return static_cast<double>(random.below(2));
          if (way == 2) return 7.0;
          return way == 3 && i % 3 == 0 ? 0.0 : values::nasty(random, 1e150);
        });
        const Prepared prepared(stored, find_metric(way == 3 ? "cosine" : "euclidean", 2));
        std::vector<int> seen(static_cast<std::size_t>(n));
        Budget budget;
        ThreadTeam team(3);
        points::Call call;
        const PointTree tree(prepared.rows, team, &budget, call.monitor);
        assert_true(budget.held() <= PointTree::bytes(n, d));
        const TreeView view = tree.view();
        std::int64_t count = 0;
        for (std::int64_t i = 0; i < view.leaves; ++i)
          for (int j = 0; j < kTreeLeaf; ++j) {
            const double number = view.leaf(i)[view.dim * kTreeLeaf + j];
            if (number < 0) continue;
            ++count;
            const auto at = static_cast<std::int64_t>(number);
            assert_false(seen[static_cast<std::size_t>(at)]++);
            const std::vector<double> u = prepared.u(at);
            for (int t = 0; t < view.dim; ++t)
              assert_true(view.leaf(i)[t * kTreeLeaf + j] == (t < d ? u[static_cast<std::size_t>(t)] : 0.0));
          }
        std::int64_t directed = 0;
        for (std::int64_t i = 0; i < n; ++i) directed += !prepared.rows.directionless(i);
        assert_int_equal(count, directed);
        if (view.leaves > 0) check_node(view, 0, 0, view.leaves);
      }
}

// Of each row the pairs offered, in short lists of every length on every target: with equal keys by their ids, with
// others as well if ids are not looked at. Rows behind the last and pairs that are none change nothing.
void short_lists_keep_the_smallest(void**) {
  values::Random random(607);
  constexpr int kRows = kTreeLeaf - 3, kPoints = 90;
  constexpr double kCutoff = 40;
  for (const TreeTarget* target : tree_targets())
    for (std::int64_t k = 1; k <= 32; ++k)
      for (const bool by_id : {false, true}) {
        LeafLists lists(k, nullptr);
        assert_true(lists.are_short());
        lists.clear(by_id ? kCutoff : kNoNeighbour.key, kRows);
        const auto lanes = static_cast<std::size_t>(target->lanes);
        std::vector<std::vector<Neighbour>> expected(kTreeLeaf);
        std::vector<double> ids(kPoints);
        for (int j = 0; j < kPoints; ++j) ids[static_cast<std::size_t>(j)] = j;
        for (int j = kPoints - 1; j > 0; --j)
          std::swap(ids[static_cast<std::size_t>(j)], ids[static_cast<std::size_t>(random.below(j + 1))]);
        for (std::size_t first = 0; first < kTreeLeaf; first += lanes) {
          std::vector<double> keys(kPoints * lanes);
          for (std::size_t e = 0; e < keys.size(); ++e) {
            keys[e] = by_id ? static_cast<double>(random.below(50)) : random.uniform();
            if (random.below(8) == 0) keys[e] = std::numeric_limits<double>::quiet_NaN();
            if (keys[e] <= kCutoff)
              expected[first + e % lanes].push_back({keys[e], static_cast<std::int64_t>(ids[e / lanes])});
          }
          target->insert(lists.positions(), by_id)(keys.data(), ids.data(), 50, lists.keys(0) + first,
                                                   lists.ids(0) + first);
          target->insert(lists.positions(), by_id)(keys.data() + 50 * lanes, ids.data() + 50, kPoints - 50,
                                                   lists.keys(0) + first, lists.ids(0) + first);
        }
        for (int i = 0; i < kTreeLeaf; ++i) {
          if (i >= kRows) {
            assert_true(lists.last_keys()[i] == -values::kInfinity);
            continue;
          }
          std::vector<Neighbour>& all = expected[static_cast<std::size_t>(i)];
          std::sort(all.begin(), all.end());
          NeighbourLists to(1, k + 1, nullptr);
          lists.hand_over(i, to, 0);
          const Neighbour* const list = to.sort(0);
          for (std::size_t e = 0; e <= static_cast<std::size_t>(k); ++e)
            assert_true(list[e].id == all[e].id && values::bits(list[e].key) == values::bits(all[e].key));
          assert_true(lists.last_keys()[i] == list[k].key && lists.last_ids()[i] == static_cast<double>(list[k].id));
        }
      }
}

// What a search found on one target, row by row.
struct Found {
  std::vector<Neighbour> lists;
  std::vector<bool> tied;
  std::int64_t keys = 0;
};
Found search_with(const TreeTarget& target, const Prepared& columns, const Prepared& rows, bool square,
                  const std::int64_t* leave_out, std::int64_t k) {
  points::Call call;
  const PointTree tree(columns.rows, call.team, nullptr, call.monitor);
  const PointTree queries(rows.rows, call.team, nullptr, call.monitor);
  NeighbourLists lists(rows.rows.rows(), k, nullptr);
  TreeSearch job;
  job.columns = tree.view();
  job.rows = queries.view();
  job.p = columns.metric.p;
  job.scale = columns.metric.scale;
  job.admission = {square, leave_out};
  job.monitor = &call.monitor;
  Found found;
  const TreeKernels kernels = target.kernels(columns.metric.term, columns.rows.dim());
  LeafLists of_leaf(k, nullptr);
  for (std::int64_t leaf = 0; leaf < job.rows.leaves; ++leaf) {
    found.keys += kernels.search(job, leaf, of_leaf);
    const double* const numbers = job.rows.leaf(leaf) + job.rows.dim * kTreeLeaf;
    for (int i = 0; i < kTreeLeaf && numbers[i] >= 0; ++i)
      of_leaf.hand_over(i, lists, static_cast<std::int64_t>(numbers[i]));
  }
  for (std::int64_t i = 0; i < rows.rows.rows(); ++i) {
    const Neighbour* const list = lists.sort(i);
    found.lists.insert(found.lists.end(), list, list + k);
    found.tied.push_back(lists.tied(i));
  }
  return found;
}

// Of each row all pairs that it may have, in order.
using Lists = std::vector<std::vector<Neighbour>>;
Lists all_keys(const Prepared& columns, const Prepared& rows, bool square, const std::int64_t* leave_out) {
  std::vector<std::vector<double>> u;
  for (std::int64_t j = 0; j < columns.rows.rows(); ++j) u.push_back(columns.u(j));
  Lists lists;
  for (std::int64_t i = 0; i < rows.rows.rows(); ++i) {
    const std::vector<double> own = rows.u(i);
    std::vector<Neighbour>& list = lists.emplace_back();
    for (std::int64_t j = 0; j < columns.rows.rows(); ++j)
      if (!(square && i == j) && !(leave_out && leave_out[i] == j))
        list.push_back({canonical_key(columns.metric, own, u[static_cast<std::size_t>(j)]), j});
    std::sort(list.begin(), list.end());
  }
  return lists;
}

void assert_nearest(const Found& found, const Lists& all, std::int64_t k) {
  auto at = found.lists.begin();
  const auto last = static_cast<std::size_t>(k - 1);
  for (std::size_t i = 0; i < all.size(); ++i) {
    for (std::size_t e = 0; e <= last; ++e, ++at)
      assert_true(at->id == all[i][e].id && values::bits(at->key) == values::bits(all[i][e].key));
    assert_true(found.tied[i] == (last + 1 < all[i].size() && all[i][last + 1].key == all[i][last].key));
  }
}

void every_target_finds_the_nearest(void**) {
  values::Random random(605);
  int at = 0, turn = 0;
  for (const Kind& kind : kKinds)
    for (const std::int64_t n : {2, 33, 150, 230})
      for (int way = 0; way < 5; ++way, ++at) {
        if (!tried(at, 6)) continue;
        const std::int64_t d = 1 + random.below(kMostDim);
        const Metric metric = find_metric(kind.metric, kind.p);
        const double limit = std::min(largest_magnitude(metric, d), 1e300);
        const auto value = [&](std::int64_t i, std::int64_t t) {
          if (way == 0) return random.uniform() + 2;
          if (way == 1) return static_cast<double>(1 + random.below(3));
          if (way == 2) return std::max(values::nasty(random, limit), values::kSmallest);
          if (way == 3) return random.denormal();
          return i % 7 == 0 ? 0.25 + static_cast<double>(t) : 1 + random.uniform();  // many equal rows
        };
        const Prepared columns(make_rows("columns", n, d, value), metric);
        const Prepared queries(make_rows("queries", 50, d, value), metric);
        std::vector<std::int64_t> leave_out(50);
        for (std::int64_t& id : leave_out) id = random.below(n + 1) - 1;
        const Lists graph = all_keys(columns, columns, true, nullptr);
        const Lists query = all_keys(columns, queries, false, leave_out.data());
        for (const std::int64_t k : {1L, 5L, 10L, 32L, 40L, static_cast<long>(n - 1)}) {
          if (k > n - 1) continue;
          for (const TreeTarget* target : tree_targets()) {
            if (!tried(turn++, 5)) continue;
            assert_nearest(search_with(*target, columns, columns, true, nullptr, k), graph, k);
            assert_nearest(search_with(*target, columns, queries, false, leave_out.data(), k), query, k);
          }
        }
      }
}

// Keys that a row is compared with, at most: what is far away is left out, and of equal points all but some.
void few_keys_are_evaluated(void**) {
  const std::int64_t n = small_run() ? 4000 : 20'000, k = 8;
  values::Random random(606);
  struct Shape {
    const char* name;
    std::int64_t d;
    std::int64_t most;  // keys a row
    double (*value)(values::Random&, std::int64_t, std::int64_t);
  };
  static const Shape shapes[] = {
      {"uniform", 2, 150, [](values::Random& r, std::int64_t, std::int64_t) { return r.uniform(); }},
      {"uniform", 3, 300, [](values::Random& r, std::int64_t, std::int64_t) { return r.uniform(); }},
      {"line", 8, 150, [](values::Random&, std::int64_t i, std::int64_t t) { return double(i) * double(t + 1); }},
      {"lattice", 2, 400,
       [](values::Random&, std::int64_t i, std::int64_t t) { return double(t ? i / 100 : i % 100); }},
      {"equal", 3, 150, [](values::Random&, std::int64_t, std::int64_t) { return 1.0; }},
      {"ten places", 2, 200,
       [](values::Random&, std::int64_t i, std::int64_t t) { return double(i % 10) * double(t); }},
      {"outlier", 3, 300, [](values::Random& r, std::int64_t i, std::int64_t) { return i ? r.uniform() : 1e100; }}};
  for (const Shape& shape : shapes) {
    const auto value = [&](std::int64_t i, std::int64_t t) { return shape.value(random, i, t); };
    const Prepared rows(make_rows(shape.name, n, shape.d, value), find_metric("euclidean", 2));
    const Found found = search_with(*tree_targets().front(), rows, rows, true, nullptr, k);
    if (found.keys > n * shape.most)
      print_error("%s: %.0f keys a row\n", shape.name, static_cast<double>(found.keys) / static_cast<double>(n));
    assert_true(found.keys <= n * shape.most);
  }
}

void what_it_can_run(void**) {
  for (const Metric& m : metrics()) {
    const Metric metric = find_metric(m.name, 3);
    const bool grows = metric.term == Term::squared_difference || metric.term == Term::absolute_difference ||
                       metric.term == Term::largest_difference || metric.term == Term::power_difference;
    assert_true(tree_can_run(metric, 1) == grows && tree_can_run(metric, 16) == grows);
    assert_false(tree_can_run(metric, 17));
    for (const TreeTarget* target : tree_targets())
      assert_true((target->kernels(metric.term, 5).search != nullptr) == grows);
  }
}

}  // namespace

int main() {
  const CMUnitTest tests[] = {
      cmocka_unit_test(short_keys_are_canonical),      cmocka_unit_test(no_key_is_below_the_bound),
      cmocka_unit_test(powers_that_fall_are_no_bound), cmocka_unit_test(trees_hold_every_point_in_its_boxes),
      cmocka_unit_test(short_lists_keep_the_smallest), cmocka_unit_test(every_target_finds_the_nearest),
      cmocka_unit_test(few_keys_are_evaluated),        cmocka_unit_test(what_it_can_run),
  };
  return cmocka_run_group_tests(tests, nullptr, nullptr);
}

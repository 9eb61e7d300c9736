// Few dimensions, on the host: short keys are canonical keys, no pair's key is below that of the gaps between boxes,
// boxes hold their points, successive cells of the Hilbert curve touch, lists keep the nearest.
#include <algorithm>
#include <cfloat>
#include <cmath>
#include <numeric>
#include <span>
#include <utility>
#include <vector>

#include "backend/cuda/tree/boxes.cuh"
#include "backend/cuda/tree/hilbert.cuh"
#include "backend/cuda/tree/nearest_heap.cuh"
#include "metric/canonical.h"
#include "values.h"

#include "harness/cmocka.h"

using namespace libknng;
using namespace libknng::cuda;

namespace {

constexpr const char* kMetrics[] = {"sqeuclidean", "cosine", "manhattan", "chebyshev"};

template <class F>
void with_dim(int dim, F&& f) {
  const auto call = [&]<int... kDims>(std::integer_sequence<int, kDims...>) {
    ((dim == kDims + 1 ? f(std::integral_constant<int, kDims + 1>()) : void()), ...);
  };
  call(std::make_integer_sequence<int, kShortDim>());
}

double key_of(const Metric& metric, int padded, const double* u, const double* v) {
  double key = NAN;
  visit_growing_term(metric.term, [&](auto term) {
    with_dim(padded, [&](auto dim) { key = short_key<decltype(term), dim()>(u, v, metric.scale); });
  });
  return key;
}

double bound_of(const Metric& metric, int padded, const double* low, const double* high, const double* other_low,
                const double* other_high) {
  double key = NAN;
  visit_growing_term(metric.term, [&](auto term) {
    with_dim(padded, [&](auto dim) {
      double gaps[dim()];
      for (int t = 0; t < dim(); ++t) gaps[t] = gap(low[t], high[t], other_low[t], other_high[t]);
      key = gap_key<decltype(term), dim()>(gaps, metric.scale);
    });
  });
  return key;
}

void short_keys_are_canonical(void**) {
  values::Random random(501);
  for (const char* name : kMetrics)
    for (int dim = 1; dim <= kShortDim; ++dim)
      for (int i = 0; i < 400; ++i) {
        const Metric metric = find_metric(name, 2);
        const double limit = largest_magnitude(metric, dim);
        double u[kShortDim] = {}, v[kShortDim] = {};
        for (int t = 0; t < dim; ++t) {
          u[t] = values::nasty(random, std::min(limit, 0x1p500));
          v[t] = values::nasty(random, std::min(limit, 0x1p500));
        }
        const auto d = static_cast<std::size_t>(dim);
        const double expected = canonical_key(metric, std::span(u, d), std::span(v, d));
        for (int padded = dim; padded <= kShortDim; ++padded)
          assert_true(values::bits(key_of(metric, padded, u, v)) == values::bits(expected));
      }
}

// Two clouds of points and the boxes around them.
struct Cloud {
  static constexpr int kPoints = 6;
  double x[kPoints][kShortDim] = {}, low[kShortDim] = {}, high[kShortDim] = {};

  void enclose(int dim) {
    for (int t = 0; t < dim; ++t) {
      low[t] = high[t] = x[0][t];
      for (const auto& point : x) {
        low[t] = std::min(low[t], point[t]);
        high[t] = std::max(high[t], point[t]);
      }
    }
  }
};

void no_key_is_below_that_of_the_gaps(void**) {
  values::Random random(502);
  std::int64_t apart = 0, tight = 0, pairs = 0;
  for (int i = 0; i < 60'000; ++i) {
    const int dim = 1 + static_cast<int>(random.below(kShortDim));
    const Metric metric = find_metric(kMetrics[random.below(4)], 2);
    const double limit = std::min(largest_magnitude(metric, dim), 1e300);
    Cloud a, b;
    const std::int64_t kind = random.below(4);
    const double apart_by = kind == 3 ? 0x1p-1070 : std::ldexp(1.0, static_cast<int>(random.below(40)) - 20);
    for (int t = 0; t < dim; ++t) {
      const double centre = values::nasty(random, limit / 4);
      for (int p = 0; p < Cloud::kPoints; ++p) {
        double* const to[] = {&a.x[p][t], &b.x[p][t]};
        for (int side = 0; side < 2; ++side) {
          double x = values::nasty(random, limit);                               // anything
          if (kind == 1) x = centre + (random.uniform() + 3 * side) * apart_by;  // beside each other
          if (kind == 2) x = centre * (1 + 0x1p-52 * static_cast<double>(random.below(8 + 8 * side)));  // last bits
          if (kind == 3) x = (random.uniform() + 3 * side) * apart_by;                                  // denormals
          *to[side] = std::clamp(x, -limit, limit);
        }
      }
    }
    a.enclose(dim);
    b.enclose(dim);
    const int padded = dim + static_cast<int>(random.below(kShortDim - dim + 1));
    const double bound = bound_of(metric, padded, a.low, a.high, b.low, b.high);
    assert_true(bound >= 0 && !std::signbit(bound));
    assert_true(values::bits(bound) == values::bits(bound_of(metric, padded, b.low, b.high, a.low, a.high)));
    apart += bound > 0;
    double least = values::kInfinity;
    for (const auto& x : a.x) {
      const double of_row = bound_of(metric, padded, x, x, b.low, b.high);
      assert_true(bound <= of_row);
      for (const auto& y : b.x) {
        const double key = key_of(metric, padded, x, y);
        assert_true(of_row <= key);
        // Between points the gaps are the differences.
        assert_true(values::bits(bound_of(metric, padded, x, x, y, y)) == values::bits(key));
        least = std::min(least, key);
        ++pairs;
      }
    }
    tight += bound > 0.5 * least;
  }
  // Bounds that are 0, or far off, would prove nothing here.
  assert_true(apart > 10'000 && tight > 1000 && pairs > 1'000'000);
}

int bits_of_code(const HilbertGrid& grid) { return std::accumulate(grid.bits, grid.bits + grid.dim, 0); }

void cells_never_fall_as_coordinates_grow(void**) {
  values::Random random(503);
  std::int64_t differ = 0;
  for (int i = 0; i < 3000; ++i) {
    const int dim = 1 + static_cast<int>(random.below(kShortDim));
    const auto d = static_cast<std::size_t>(dim);
    std::vector<double> sample(d * static_cast<std::size_t>(1 + random.below(300)));
    double scale[kShortDim];
    for (double& s : scale) s = std::ldexp(1.0, static_cast<int>(random.below(i % 3 == 0 ? 200 : 4)));
    for (std::size_t at = 0; at < sample.size(); ++at)
      sample[at] = i % 5 == 0 ? values::nasty(random, DBL_MAX / 2) : random.uniform() * scale[at % d];
    if (i % 7 == 0) std::fill(sample.begin(), sample.end(), 0.1);
    const HilbertGrid grid = make_grid(sample, dim);
    const int length = bits_of_code(grid);
    assert_true(length <= kCodeBits);
    for (int t = 0; t < dim; ++t) {
      assert_true(grid.bits[t] <= kMostCellBits && grid.bits[t] <= grid.levels);
      if (t > 0) assert_true(grid.bits[grid.axes[t]] <= grid.bits[grid.axes[t - 1]]);
    }
    for (int j = 0; j < 40; ++j) {
      double u[kShortDim], v[kShortDim];
      for (int t = 0; t < dim; ++t) {
        const auto pick = [&] {
          return random.below(4) == 0
                     ? values::nasty(random, DBL_MAX / 2)
                     : sample[static_cast<std::size_t>(random.below(static_cast<std::int64_t>(sample.size() / d))) * d +
                              static_cast<std::size_t>(t)];
        };
        u[t] = pick();
        v[t] = pick();
        if (u[t] > v[t]) std::swap(u[t], v[t]);
        assert_true(cell_of(grid, t, u[t]) <= cell_of(grid, t, v[t]));
        assert_true(cell_of(grid, t, v[t]) < std::uint64_t{1} << grid.bits[t]);
      }
      assert_true(hilbert_code(grid, u) >> length == 0 && hilbert_code(grid, v) >> length == 0);
      differ += hilbert_code(grid, u) != hilbert_code(grid, v);
    }
  }
  assert_true(differ > 50'000);
}

// The cells in the order of their codes, which are all numbers below their count.
std::vector<std::vector<std::uint32_t>> curve_of(const HilbertGrid& grid) {
  std::vector<std::vector<std::uint32_t>> curve(std::size_t{1} << bits_of_code(grid));
  for (std::size_t i = 0; i < curve.size(); ++i) {
    std::uint32_t cells[kShortDim] = {};
    std::size_t rest = i;
    for (int t = 0; t < grid.dim; ++t) {
      cells[t] = static_cast<std::uint32_t>(rest & ((1u << grid.bits[t]) - 1));
      rest >>= grid.bits[t];
    }
    const std::uint64_t code = hilbert_code(grid, cells);
    assert_true(code < curve.size() && curve[code].empty());
    curve[code].assign(cells, cells + grid.dim);
  }
  return curve;
}

int steps_between(const std::vector<std::uint32_t>& a, const std::vector<std::uint32_t>& b) {
  int steps = 0;
  for (std::size_t t = 0; t < a.size(); ++t) steps += static_cast<int>(std::max(a[t], b[t]) - std::min(a[t], b[t]));
  return steps;
}

// What makes a Hilbert curve of an order: with sides alike, cells of successive codes touch.
void successive_cells_touch(void**) {
  for (int dim = 1; dim <= kShortDim; ++dim)
    for (int bits = 1; bits * dim <= 16; ++bits) {
      const auto curve = curve_of(grid_of_bits(std::vector<int>(static_cast<std::size_t>(dim), bits)));
      for (std::size_t i = 1; i < curve.size(); ++i) assert_int_equal(steps_between(curve[i - 1], curve[i]), 1);
    }
}

// The longest side is halved first, and each half comes before the next: of a beam, whose cubes have curves that go
// along it, all cells of successive codes touch.
void long_sides_are_cut_first(void**) {
  for (int axis = 0; axis < 3; ++axis) {
    std::vector<int> bits(3, 2);
    bits[static_cast<std::size_t>(axis)] = 7;
    const auto curve = curve_of(grid_of_bits(bits));
    for (std::size_t i = 1; i < curve.size(); ++i) {
      const auto at = static_cast<std::size_t>(axis);
      assert_true(curve[i - 1][at] >> 2 <= curve[i][at] >> 2);
      assert_int_equal(steps_between(curve[i - 1], curve[i]), 1);
    }
  }
  values::Random random(505);
  for (int i = 0; i < 200; ++i) {
    std::vector<int> bits;
    for (int left = 15; left > 0 && bits.size() < kShortDim; left -= bits.back())
      bits.push_back(static_cast<int>(random.below(std::min(left, 6) + 1)));
    curve_of(grid_of_bits(bits));
  }
  // And so it is where a side has all bits that it can have.
  for (const double ratio : {1.0, 1000.0, 1e6, 1e9, 1e18})
    for (const int dim : {2, 3, 5}) {
      std::vector<double> sample;
      for (int i = 0; i < 100; ++i)
        for (int t = 0; t < dim; ++t) sample.push_back(i / 99.0 * (t == 1 ? ratio : 1.0));
      const HilbertGrid grid = make_grid(sample, dim);
      const double wanted = std::min(std::log2(ratio), grid.bits[1] * 1.0);
      assert_true(bits_of_code(grid) >= kMostCellBits && std::abs(grid.bits[1] - grid.bits[0] - wanted) <= 1);
    }
  // An outlier takes no cells from the others.
  std::vector<double> sample;
  for (int i = 0; i < 100; ++i)
    for (const double side : {1.0, 100.0, 3.0, 0.0}) sample.push_back(i / 99.0 * side);
  sample[1] = 1e30;
  assert_true(make_grid(sample, 4).extent[1] < 200);
}

void leaves_are_found_by_code(void**) {
  values::Random random(506);
  for (int i = 0; i < 500; ++i) {
    std::vector<std::uint64_t> codes(static_cast<std::size_t>(1 + random.below(200)));
    for (std::uint64_t& code : codes) code = static_cast<std::uint64_t>(random.below(300));
    std::sort(codes.begin(), codes.end());
    BoxTree tree;
    tree.boxes[0].count = static_cast<std::int64_t>(codes.size());
    tree.codes = codes.data();
    for (std::uint64_t code = 0; code < 301; ++code) {
      const auto leaf = static_cast<std::size_t>(leaf_of(tree, code));
      assert_true(leaf < codes.size());
      if (std::binary_search(codes.begin(), codes.end(), code)) {
        assert_true(codes[leaf] == code && (leaf == 0 || codes[leaf - 1] < code));
      } else {
        assert_true(leaf == 0 || codes[leaf] < code);
        assert_true(leaf + 1 == codes.size() || codes[leaf + 1] > code);
      }
    }
    assert_int_equal(leaf_of(tree, kNoCode), codes.size() - 1);
  }
}

void boxes_hold_their_points(void**) {
  values::Random random(504);
  for (const std::int64_t n : {1, 2, 31, 32, 33, 1023, 1024, 1025, 2080, 33'000})
    for (const int dim : {1, 3, 16}) {
      std::vector<double> points(static_cast<std::size_t>(groups_of(n) * kFan * dim), NAN);
      std::vector<std::uint32_t> ids(static_cast<std::size_t>(groups_of(n) * kFan), 0);
      Members members = points_in_groups(points.data(), ids.data(), n, dim);
      for (std::int64_t i = 0; i < n; ++i) {
        for (int t = 0; t < dim; ++t)
          points[static_cast<std::size_t>(members.at(i / kFan, t) + i % kFan)] = values::nasty(random, DBL_MAX / 2);
        ids[static_cast<std::size_t>(i)] = static_cast<std::uint32_t>(1 + random.below(1'000'000'000));
      }
      std::int64_t boxes[kMostLevels] = {};
      const int levels = count_boxes(n, boxes);
      assert_true(levels >= 1 && boxes[0] == groups_of(n) && boxes[levels - 1] <= kFan);
      std::vector<std::vector<double>> bounds(static_cast<std::size_t>(levels));
      std::vector<std::vector<std::uint32_t>> box_ids(bounds.size());
      for (std::size_t level = 0; level < bounds.size(); ++level) {
        const std::int64_t count = boxes[level];
        bounds[level].resize(static_cast<std::size_t>(groups_of(count) * kFan * 2 * dim), NAN);
        box_ids[level].resize(static_cast<std::size_t>(count));
        const Members parents = boxes_in_groups(bounds[level].data(), box_ids[level].data(), count, dim);
        for (std::int64_t box = 0; box < count; ++box) {
          box_ids[level][static_cast<std::size_t>(box)] = smallest_id(members, box);
          for (int t = 0; t < dim; ++t) enclose(members, box, t, dim, bounds[level].data());
        }
        for (std::int64_t i = 0; i < members.count; ++i) {
          const std::int64_t box = i / kFan;
          assert_true(parents.ids[box] <= members.ids[i]);
          for (int t = 0; t < dim; ++t) {
            const std::int64_t from = members.at(i / kFan, t) + i % kFan, to = parents.at(box / kFan, t) + box % kFan;
            assert_true(parents.lows[to] <= members.lows[from] && members.highs[from] <= parents.highs[to]);
          }
        }
        members = parents;
      }
    }
  std::int64_t boxes[kMostLevels] = {};
  assert_int_equal(count_boxes(0, boxes), 0);
  assert_int_equal(count_boxes(std::int64_t{1} << 31, boxes), kMostLevels);
  assert_true(boxes[kMostLevels - 1] <= kFan);
}

void lists_keep_the_nearest(void**) {
  values::Random random(505);
  for (int i = 0; i < 2000; ++i) {
    const std::int64_t slots = 1 + random.below(40), n = random.below(200), levels = 1 + random.below(50);
    std::vector<double> keys(static_cast<std::size_t>(slots), NAN);
    std::vector<std::uint32_t> ids(keys.size(), 77);
    // Now and then some keys are too large from the start.
    const double first_cutoff = i % 4 == 0 ? static_cast<double>(random.below(levels)) : INFINITY;
    NearestHeap list(keys.data(), ids.data(), slots, first_cutoff);
    std::vector<Rank> all;
    std::int64_t admitted = 0;
    for (std::int64_t j = 0; j < n; ++j) {
      const Rank entry{static_cast<double>(random.below(levels)), static_cast<std::uint32_t>((j * 7919) % 200'003)};
      const bool admits = entry.key <= first_cutoff;
      if (!list.full()) assert_true(admits == (entry < list.cut_off()));
      if (admits) all.push_back(entry);
      if (entry < list.cut_off()) list.take(entry);
      assert_int_equal(list.size(), std::min(slots, admitted += admits));
    }
    std::sort(all.begin(), all.end());
    std::vector<Rank> kept;
    for (std::size_t j = 0; j < static_cast<std::size_t>(list.size()); ++j) kept.push_back({keys[j], ids[j]});
    std::sort(kept.begin(), kept.end());
    for (std::size_t j = 0; j < kept.size(); ++j) assert_true(kept[j].key == all[j].key && kept[j].id == all[j].id);
    if (list.full()) assert_true(!(list.cut_off() < kept.back()) && !(kept.back() < list.cut_off()));
  }
  assert_true(no_rank() < Rank({0.0, 0}));
  assert_true(Rank({DBL_MAX, 0xfffffffe}) < last_rank(INFINITY));
  assert_true(Rank({1.0, 0xfffffffe}) < last_rank(1.0) && last_rank(1.0) < Rank({1.5, 0}));
}

}  // namespace

int main() {
  const CMUnitTest tests[] = {
      cmocka_unit_test(short_keys_are_canonical),
      cmocka_unit_test(no_key_is_below_that_of_the_gaps),
      cmocka_unit_test(cells_never_fall_as_coordinates_grow),
      cmocka_unit_test(successive_cells_touch),
      cmocka_unit_test(long_sides_are_cut_first),
      cmocka_unit_test(leaves_are_found_by_code),
      cmocka_unit_test(boxes_hold_their_points),
      cmocka_unit_test(lists_keep_the_nearest),
  };
  return cmocka_run_group_tests(tests, nullptr, nullptr);
}

// Few dimensions, on the host: short keys are canonical keys, no pair's key is below that of the gaps between boxes,
// boxes hold their points, Morton codes never fall as coordinates grow, lists keep the nearest.
#include <algorithm>
#include <cfloat>
#include <cmath>
#include <span>
#include <utility>
#include <vector>

#include "backend/cuda/boxes.cuh"
#include "backend/cuda/morton.cuh"
#include "backend/cuda/near_list.cuh"
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

void codes_never_fall_as_coordinates_grow(void**) {
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
    const MortonGrid grid = make_grid(sample, dim);
    assert_true(grid.length <= kCodeBits);
    for (int t = 0, bits = 0; t < dim; ++t) {
      assert_true(grid.bits[t] <= kMostCellBits);
      bits += grid.bits[t];
      if (t == dim - 1) assert_int_equal(bits, grid.length);
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
      assert_true(morton_code(grid, u) <= morton_code(grid, v));
      assert_true(morton_code(grid, v) >> grid.length == 0);
      differ += morton_code(grid, u) != morton_code(grid, v);
    }
  }
  assert_true(differ > 50'000);
}

// The longest side is halved first: a box twice as long as it is wide gives its first bit to its length.
void long_sides_are_cut_first(void**) {
  std::vector<double> sample;
  for (int i = 0; i < 100; ++i)
    for (const double side : {1.0, 100.0, 3.0, 0.0}) sample.push_back(i / 99.0 * side);
  const MortonGrid grid = make_grid(sample, 4);
  assert_int_equal(grid.axis[0], 1);
  assert_true(grid.bits[1] > grid.bits[2] && grid.bits[2] > grid.bits[0]);
  assert_int_equal(grid.bits[3], 0);
  // An outlier takes no cells from the others.
  sample[1] = 1e30;
  const MortonGrid same = make_grid(sample, 4);
  assert_true(same.extent[1] < 200);
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
    NearList list(keys.data(), ids.data(), slots);
    std::vector<Rank> all;
    for (std::int64_t j = 0; j < n; ++j) {
      const Rank entry{static_cast<double>(random.below(levels)), static_cast<std::uint32_t>((j * 7919) % 200'003)};
      all.push_back(entry);
      if (entry < list.cut_off()) list.take(entry);
      assert_int_equal(list.size(), std::min(slots, j + 1));
      if (!list.full()) assert_true(entry < list.cut_off());
    }
    std::sort(all.begin(), all.end());
    std::vector<Rank> kept;
    for (std::size_t j = 0; j < static_cast<std::size_t>(list.size()); ++j) kept.push_back({keys[j], ids[j]});
    std::sort(kept.begin(), kept.end());
    for (std::size_t j = 0; j < kept.size(); ++j) assert_true(kept[j].key == all[j].key && kept[j].id == all[j].id);
    if (list.full()) assert_true(!(list.cut_off() < kept.back()) && !(kept.back() < list.cut_off()));
  }
  assert_true(no_rank() < Rank({0.0, 0}));
  assert_true(Rank({DBL_MAX, 0xfffffffe}) < last_rank());
}

}  // namespace

int main() {
  const CMUnitTest tests[] = {
      cmocka_unit_test(short_keys_are_canonical),
      cmocka_unit_test(no_key_is_below_that_of_the_gaps),
      cmocka_unit_test(codes_never_fall_as_coordinates_grow),
      cmocka_unit_test(long_sides_are_cut_first),
      cmocka_unit_test(boxes_hold_their_points),
      cmocka_unit_test(lists_keep_the_nearest),
  };
  return cmocka_run_group_tests(tests, nullptr, nullptr);
}

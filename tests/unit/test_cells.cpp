// Cells (prepare/cells.h): a chain goes from each to the nearest of those left; clusters are told from one cloud.
#include "prepare/cells.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "harness/cmocka.h"
#include "tests/unit/values.h"

namespace {

using libknng::CellDistances;
using libknng::far_share;
using libknng::nearest_chain;
using values::Random;

// Squared distances of points that lie about `clusters` middles, `apart` widths from one another.
std::vector<float> distances_of(std::int64_t points, std::int64_t dim, std::int64_t clusters, double apart,
                                double scale, std::uint64_t seed) {
  Random random(seed);
  const auto fill = [&](std::int64_t count) {
    std::vector<double> x(static_cast<std::size_t>(count * dim));
    for (double& value : x) value = random.uniform() + random.uniform() + random.uniform() - 1.5;
    return x;
  };
  const std::vector<double> middles = fill(clusters);
  std::vector<double> x = fill(points);
  for (std::int64_t i = 0; i < points; ++i)
    for (std::int64_t t = 0; t < dim; ++t) {
      double& value = x[static_cast<std::size_t>(i * dim + t)];
      value = scale * (value + apart * middles[static_cast<std::size_t>(i % clusters * dim + t)]);
    }
  std::vector<float> squared(static_cast<std::size_t>(points * points));
  for (std::int64_t a = 0; a < points; ++a)
    for (std::int64_t b = 0; b < points; ++b) {
      double sum = 0;
      for (std::int64_t t = 0; t < dim; ++t) {
        const double d = x[static_cast<std::size_t>(a * dim + t)] - x[static_cast<std::size_t>(b * dim + t)];
        sum += d * d;
      }
      squared[static_cast<std::size_t>(a * points + b)] = static_cast<float>(sum);
    }
  return squared;
}

void chains_go_to_the_nearest(void**) {
  for (const std::int64_t n : {1, 2, 7, 100}) {
    const std::vector<float> squared = distances_of(n, 3, 5, 4, 1, static_cast<std::uint64_t>(n));
    const CellDistances distances{squared, n};
    const std::vector<std::int32_t> chain = nearest_chain(distances);
    assert_int_equal(chain.size(), n);
    assert_int_equal(chain.front(), 0);
    std::vector<std::int32_t> sorted = chain, all(chain.size());
    std::sort(sorted.begin(), sorted.end());
    std::iota(all.begin(), all.end(), 0);
    assert_true(sorted == all);
    for (std::size_t i = 1; i < chain.size(); ++i)
      for (std::size_t j = i; j < chain.size(); ++j)
        assert_true(distances(chain[i - 1], chain[i]) <= distances(chain[i - 1], chain[j]));
  }
}

void clusters_are_far_apart(void**) {
  for (const double scale : {1e-6, 1.0, 1e6}) {
    const std::vector<float> clusters = distances_of(200, 40, 20, 12, scale, 7),
                             cloud = distances_of(200, 40, 1, 0, scale, 8);
    // All but those of a cluster, which are 9 of 199.
    assert_true(far_share({clusters, 200}) > 0.9 && far_share({clusters, 200}) < 1 - 9.0 / 199 + 1e-9);
    assert_true(far_share({cloud, 200}) == 0);
  }
}

void few_cells_and_equal_ones(void**) {
  const std::vector<float> none(16, 0);
  assert_true(far_share({none, 1}) == 0 && far_share({none, 2}) == 0 && far_share({none, 4}) == 0);
  assert_int_equal(nearest_chain({none, 4}).size(), 4);
}

}  // namespace

int main() {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(chains_go_to_the_nearest),
      cmocka_unit_test(clusters_are_far_apart),
      cmocka_unit_test(few_cells_and_equal_ones),
  };
  return cmocka_run_group_tests(tests, nullptr, nullptr);
}

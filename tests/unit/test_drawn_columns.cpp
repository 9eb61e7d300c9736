// Columns drawn at random (prepare/drawn_columns.h): one of each share, and a rank that is above the k nearest but for
// few rows, counted on random keys. An order in which any that come first are as if drawn (prepare/scattered_order.h),
// and how many a row has met of them.
#include <algorithm>
#include <cmath>
#include <vector>

#include "backend/cuda/session/seen_columns.h"

#include "core/random_bits.h"
#include "harness/cmocka.h"
#include "prepare/drawn_columns.h"
#include "prepare/scattered_order.h"

namespace {

using libknng::drawn_point;
using libknng::random_bits;
using libknng::rank_above;
using libknng::scattered_share;

void each_share_has_one(void**) {
  const std::int64_t sizes[][2] = {{1, 1}, {7, 3}, {100, 100}, {1000, 64}, {99991, 4096}, {std::int64_t{1} << 40, 5}};
  for (const auto& [points, drawn] : sizes) {
    std::int64_t last = -1;
    for (std::int64_t s = 0; s < drawn; ++s) {
      const std::int64_t j = drawn_point(points, drawn, s);
      assert_true(j > last && j < points);
      // Shares are as equal as can be.
      assert_true(j >= points / drawn * s && j < (points / drawn + 1) * (s + 1));
      last = j;
    }
  }
}

// Each share once, and any that follow one another lie all over the points: of 64 in a row some in each sixteenth.
void shares_are_scattered(void**) {
  for (std::int64_t count = 1; count <= 8192; count *= 2) {
    std::vector<int> seen(static_cast<std::size_t>(count));
    for (std::int64_t s = 0; s < count; ++s) ++seen[static_cast<std::size_t>(scattered_share(s, count))];
    assert_true(std::all_of(seen.begin(), seen.end(), [](int times) { return times == 1; }));
    for (std::int64_t first = 0; first + 64 <= count; first += 61) {
      unsigned met = 0;
      for (std::int64_t s = first; s < first + 64; ++s) met |= 1U << (scattered_share(s, count) * 16 / count);
      assert_int_equal(met, 0xffff);
    }
  }
}

// Keys of a row: which of the sorted columns are drawn decides whether the k-th is above the guess.
void ranks_are_above(void**) {
  constexpr std::int64_t kRows = 40000;
  const std::int64_t cases[][3] = {{100000, 4096, 100}, {20000, 512, 10}, {50000, 6250, 1000}};
  for (const auto& [points, drawn, k] : cases) {
    const std::int64_t rank = rank_above(points, drawn, k);
    assert_true(rank > k * drawn / points);
    std::int64_t below = 0;
    std::uint64_t next = 0;
    for (std::int64_t row = 0; row < kRows; ++row) {
      // So many of the k nearest are drawn, each by itself.
      std::int64_t hits = 0;
      for (std::int64_t i = 0; i < k; ++i)
        hits += static_cast<std::int64_t>(random_bits(next++) % static_cast<std::uint64_t>(points)) < drawn;
      below += hits >= rank;
    }
    assert_true(below <= 8);  // 2 are expected
  }
}

// More neighbours, or a larger sample, have a higher rank; of all columns it is behind the k-th.
void ranks_are_ordered(void**) {
  for (std::int64_t k = 1; k < 1000; ++k) {
    assert_true(rank_above(50000, 1000, k) <= rank_above(50000, 1000, k + 1));
    assert_true(rank_above(50000, 1000, k) <= rank_above(50000, 2000, k));
    assert_true(rank_above(50000, 50000, k) > k);
  }
}

// The probability that `rank` or more of k neighbours are among the seen, term by term.
double too_low(std::int64_t k, double share, std::int64_t rank) {
  double sum = 0;
  for (std::int64_t i = rank; i <= k; ++i) {
    const auto r = static_cast<double>(i), n = static_cast<double>(k);
    sum += std::exp(std::lgamma(n + 1) - std::lgamma(r + 1) - std::lgamma(n - r + 1) + r * std::log(share) +
                    (n - r) * std::log1p(-share));
  }
  return sum;
}

// The lowest that is too low for no more than one row in 100,000.
void ranks_of_the_seen_are_as_low_as_can_be(void**) {
  constexpr std::int64_t kPoints = 1000000;
  for (const std::int64_t k : {1, 2, 10, 100, 1000, 4096})
    for (const std::int64_t seen : {1, 100, 4608, 37000, 125000, 500000, 750000, 990000, 999999}) {
      const std::int64_t rank = libknng::rank_above_seen(kPoints, seen, k);
      const double share = static_cast<double>(seen) / kPoints;
      assert_true(rank >= 1 && rank <= k);
      if (rank < k) assert_true(too_low(k, share, rank) < 1.0001e-5);
      if (rank > 1) assert_true(too_low(k, share, rank - 1) > 0.9999e-5);
    }
  assert_int_equal(libknng::rank_above_seen(kPoints, kPoints, 10), 10);
  assert_int_equal(libknng::rank_above_seen(10, 20, 3), 3);
}

// Each point once. Those at the first places, and at any that follow one another, lie all over the points, in numbers
// that chance would give.
void a_scattered_order_has_each_once(void**) {
  for (const std::int64_t n : {1, 2, 3, 5, 64, 1000, 131072, 200003}) {
    const libknng::ScatteredOrder order(n);
    std::vector<int> seen(static_cast<std::size_t>(n));
    for (std::int64_t i = 0; i < n; ++i) ++seen[static_cast<std::size_t>(order[i])];
    assert_true(std::all_of(seen.begin(), seen.end(), [](int times) { return times == 1; }));
  }
  constexpr std::int64_t kPoints = 200003, kTogether = 16384, kParts = 64;
  const libknng::ScatteredOrder order(kPoints);
  for (std::int64_t first = 0; first + kTogether <= kPoints; first += 10007) {
    std::vector<int> in_part(kParts);
    for (std::int64_t i = first; i < first + kTogether; ++i)
      ++in_part[static_cast<std::size_t>(order[i] * kParts / kPoints)];
    const double expected = static_cast<double>(kTogether) / kParts;
    for (const int count : in_part) assert_true(std::abs(count - expected) < 6 * std::sqrt(expected));
  }
}

// A number that is too small would make ranks too low; one that is too large costs time.
void the_most_that_were_met_count(void**) {
  libknng::cuda::SeenColumns seen(1000);
  assert_int_equal(seen.meet(0, 256, 100), 100);
  assert_int_equal(seen.meet(256, 744, 50), 50);
  assert_int_equal(seen.meet(128, 872, 50), 150);
  assert_int_equal(seen.meet(0, 128, 7), 107);
  assert_int_equal(seen.meet(100, 100, 1), 151);  // of the 128 points that row 100 is counted with, all
  assert_int_equal(seen.meet(896, 104, 1), 101);
}

}  // namespace

int main() {
  const CMUnitTest tests[] = {
      cmocka_unit_test(each_share_has_one),
      cmocka_unit_test(shares_are_scattered),
      cmocka_unit_test(ranks_are_above),
      cmocka_unit_test(ranks_are_ordered),
      cmocka_unit_test(ranks_of_the_seen_are_as_low_as_can_be),
      cmocka_unit_test(a_scattered_order_has_each_once),
      cmocka_unit_test(the_most_that_were_met_count),
  };
  return cmocka_run_group_tests(tests, nullptr, nullptr);
}

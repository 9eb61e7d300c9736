// Columns drawn at random (prepare/drawn_columns.h): one of each share, and a rank that is above the k nearest but for
// few rows, counted on random keys.
#include <algorithm>
#include <vector>

#include "core/random_bits.h"
#include "harness/cmocka.h"
#include "prepare/drawn_columns.h"

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

}  // namespace

int main() {
  const CMUnitTest tests[] = {
      cmocka_unit_test(each_share_has_one),
      cmocka_unit_test(shares_are_scattered),
      cmocka_unit_test(ranks_are_above),
      cmocka_unit_test(ranks_are_ordered),
  };
  return cmocka_run_group_tests(tests, nullptr, nullptr);
}

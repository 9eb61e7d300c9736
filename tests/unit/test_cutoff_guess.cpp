// Where GPUs guess cut-offs (backend/cuda/engines/cutoff_guess.h): not for few neighbours or few points, and within
// what lists and operands have room for.
#include "backend/cuda/engines/cutoff_guess.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>
#include <vector>

#include "harness/cmocka.h"
#include "metric/metric.h"

namespace {

using libknng::cuda::cutoff_guess;
using libknng::cuda::CutoffGuess;
using libknng::cuda::kPassesOfPart;
using libknng::cuda::passes_under_guess;
using libknng::cuda::room_under_guess;

knng_backend_problem problem_of(std::int64_t n, std::int64_t dim, std::int64_t k) {
  knng_backend_problem p{};
  p.rows.count = p.columns.count = n;
  p.rows.dim = p.columns.dim = dim;
  p.rows.dtype = p.columns.dtype = KNNG_F32;
  p.metric.term = static_cast<std::int32_t>(libknng::Term::squared_difference);
  p.metric.scale = 1;
  p.square = 1;
  p.k = k;
  p.engine = "fused";
  p.selector = "quick";
  p.tile_rows = p.tile_cols = std::min<std::int64_t>(n, 131072);
  p.capacity = 2 * k + 32;
  return p;
}

void many_neighbours_of_many_points(void**) {
  assert_true(cutoff_guess(problem_of(40000, 24, 100)).drawn > 0);  // api/test_device_guesses.c
  assert_true(cutoff_guess(problem_of(1000000, 128, 100)).drawn > 0);
  assert_true(cutoff_guess(problem_of(1000000, 128, 1000)).drawn > 0);
  assert_true(cutoff_guess(problem_of(1000000, 128, 1)).drawn == 0);
  assert_true(cutoff_guess(problem_of(1000000, 128, 10)).drawn == 0);
  assert_true(cutoff_guess(problem_of(20000, 128, 100)).drawn == 0);
}

void other_engines_and_blocks_have_none(void**) {
  knng_backend_problem p = problem_of(1000000, 128, 100);
  p.engine = "tiled";
  assert_true(cutoff_guess(p).drawn == 0);
  p.engine = "fused";
  p.blocks_held = 3;
  assert_true(cutoff_guess(p).drawn == 0);
}

void guesses_have_room(void**) {
  for (std::int64_t n = 30000; n < (std::int64_t{1} << 31); n = n * 5 / 3)
    for (std::int64_t k = 1; k <= 4096; k = k * 3 / 2 + 1)
      for (const std::int64_t dim : {2, 100, 2048}) {
        const knng_backend_problem p = problem_of(n, dim, k);
        const CutoffGuess guess = cutoff_guess(p);
        if (guess.drawn == 0) continue;
        assert_true(guess.drawn <= n / 8 && (guess.drawn & (guess.drawn - 1)) == 0);
        assert_true(n + guess.drawn < (std::int64_t{1} << 32));  // ids of candidates
        assert_true(guess.rank >= 1 && guess.rank <= k);
        assert_true(guess.capacity > guess.rank && guess.capacity <= p.capacity);
        // More than the expected number of the k nearest are at or below that rank.
        assert_true(guess.rank * n > k * guess.drawn);
      }
}

// Passes in which a list finds all pairs below its cut-off, whose distances these are, in the order in which they come.
int passes_of(std::vector<int> pairs, std::int64_t k, std::int64_t room) {
  int passes = 1;
  for (; std::ssize(pairs) > room; ++passes) {
    std::vector<int> found(pairs.begin(), pairs.begin() + room);
    std::nth_element(found.begin(), found.begin() + (k - 1), found.end());
    const int cutoff = found[static_cast<std::size_t>(k - 1)];
    std::erase_if(pairs, [cutoff](int distance) { return distance > cutoff; });
  }
  return passes;
}

// As sessions have it for what a part finds of a list (list_capacity(), found_capacity()).
std::int64_t room_for(std::int64_t n, std::int64_t k, const CutoffGuess& guess) {
  const auto up = [](std::int64_t x, std::int64_t grain) { return (x + grain - 1) / grain * grain; };
  return std::max({up(k + k / 8 + 16, 32),
                   up(k + static_cast<std::int64_t>(6 * std::sqrt(2.0 * static_cast<double>(k))), 16),
                   up(room_under_guess(guess, n, k), 16)});
}

// All that may lie below a row's guess comes at once, as where points of a cluster are stored together.
void parts_find_all_below_guesses(void**) {
  int guessed = 0;
  std::mt19937 random(2);
  for (const std::int64_t n : {40000, 300000, 1000000, 4000000})
    for (const std::int64_t k : {50, 100, 256, 1000}) {
      const CutoffGuess guess = cutoff_guess(problem_of(n, 128, k));
      if (guess.drawn == 0) continue;
      const double rank = static_cast<double>(guess.rank),
                   each = static_cast<double>(n) / static_cast<double>(guess.drawn);
      std::vector<int> pairs(static_cast<std::size_t>((rank + 5 * std::sqrt(rank)) * each));
      std::iota(pairs.begin(), pairs.end(), 1);
      std::shuffle(pairs.begin(), pairs.end(), random);
      assert_true(passes_of(pairs, k, room_for(n, k, guess)) <= kPassesOfPart);
      ++guessed;
    }
  assert_true(guessed > 5);
}

// Neighbours that are stored beside their rows, from the left to the right, or in any order.
void squares_find_all_below_guesses(void**) {
  int trusted = 0;
  for (const std::int64_t n : {40000, 300000, 1000000, 4000000})
    for (const std::int64_t k : {50, 100, 256, 1000})
      for (const std::int64_t dim : {24, 128, 784}) {
        const knng_backend_problem p = problem_of(n, dim, k);
        const CutoffGuess guess = cutoff_guess(p);
        if (guess.drawn == 0) continue;
        const std::int64_t room = room_for(n, k, guess), passes = passes_under_guess(guess, n, k, room);
        assert_true(passes >= 2);
        trusted += passes <= 12;  // fused::kMostPasses
        const double each = static_cast<double>(n) / static_cast<double>(guess.drawn);
        for (const double deviations : {-2.0, 0.0, 3.0}) {  // of how many lie below the guess of a row
          const double rank = static_cast<double>(guess.rank);
          const int side = static_cast<int>((rank + deviations * std::sqrt(rank)) * each / 2);
          std::vector<int> pairs;
          for (int distance = side; distance >= 1; --distance) pairs.push_back(2 * distance);
          for (int distance = 1; distance <= side; ++distance) pairs.push_back(2 * distance + 1);
          assert_true(passes_of(pairs, k, room) <= passes);
          std::shuffle(pairs.begin(), pairs.end(), std::mt19937(1));
          assert_true(passes_of(pairs, k, room) <= passes);
        }
      }
  assert_true(trusted > 5);
}

}  // namespace

int main() {
  const CMUnitTest tests[] = {
      cmocka_unit_test(many_neighbours_of_many_points),
      cmocka_unit_test(other_engines_and_blocks_have_none),
      cmocka_unit_test(guesses_have_room),
      cmocka_unit_test(parts_find_all_below_guesses),
      cmocka_unit_test(squares_find_all_below_guesses),
  };
  return cmocka_run_group_tests(tests, nullptr, nullptr);
}

// Where GPUs guess cut-offs (backend/cuda/engines/cutoff_guess.h): not for few neighbours or few points, and within
// what lists and operands have room for.
#include "backend/cuda/engines/cutoff_guess.h"

#include <algorithm>

#include "harness/cmocka.h"
#include "metric/metric.h"

namespace {

using libknng::cuda::cutoff_guess;
using libknng::cuda::CutoffGuess;

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
        assert_true(guess.drawn <= n / 8);
        assert_true(n + guess.drawn < (std::int64_t{1} << 32));  // ids of candidates
        assert_true(guess.rank >= 1 && guess.rank <= k);
        assert_true(guess.capacity > guess.rank && guess.capacity <= p.capacity);
        // More than the expected number of the k nearest are at or below that rank.
        assert_true(guess.rank * n > k * guess.drawn);
      }
}

}  // namespace

int main() {
  const CMUnitTest tests[] = {
      cmocka_unit_test(many_neighbours_of_many_points),
      cmocka_unit_test(other_engines_and_blocks_have_none),
      cmocka_unit_test(guesses_have_room),
  };
  return cmocka_run_group_tests(tests, nullptr, nullptr);
}

// How tiles on the diagonal are cut (backend/cuda/engines/tile_part.h): every pair of points comes once, whatever the
// number of points; two squares that are together in memory are what selectors take them for.
#include <vector>

#include "backend/cuda/engines/tile_part.h"
#include "harness/cmocka.h"

namespace {

using libknng::cuda::DiagonalCut;
using libknng::cuda::split_diagonal;
using libknng::cuda::TilePart;

std::vector<TilePart> parts_of(std::int64_t first, std::int64_t rows, const DiagonalCut& cut) {
  std::vector<TilePart> parts;
  split_diagonal({first, rows, first, rows}, cut, parts);
  return parts;
}

// Sides of squares of a part on the diagonal.
std::vector<std::int64_t> squares_of(const TilePart& part) {
  if (part.square == 0) return {part.area.rows};
  assert_int_equal(part.area.rows, part.area.columns);
  assert_true(part.opens);
  const std::int64_t rest = part.area.rows - part.square;
  assert_true(rest <= part.square && 2 * rest > part.square);
  return {part.square, rest};
}
bool is_on_diagonal(const TilePart& part) { return part.area.first_row == part.area.first_column; }

// Pair by pair, with windows and squares of a few points.
void every_pair_comes_once(void**) {
  constexpr std::int64_t kFirst = 24;
  for (const std::int64_t longest : {4, 8, 12, 20})
    for (const std::int64_t squares : {0, 1, 2})
      for (std::int64_t n = 1; n <= 150; ++n) {
        std::vector<int> met(static_cast<std::size_t>(n * n));
        const auto meet = [&](std::int64_t i, std::int64_t j) { ++met[static_cast<std::size_t>(i * n + j)]; };
        for (const TilePart& part : parts_of(kFirst, n, {longest, squares * longest, 0, 8, 4})) {
          const std::int64_t row = part.area.first_row - kFirst, column = part.area.first_column - kFirst;
          std::int64_t at = row;
          if (is_on_diagonal(part)) {
            for (const std::int64_t side : squares_of(part)) {
              for (std::int64_t i = at; i < at + side; ++i)
                for (std::int64_t j = at; j <= i; ++j) meet(i, j);
              at += side;
            }
            assert_int_equal(at, row + part.area.rows);
            continue;
          }
          for (std::int64_t i = row; i < row + part.area.rows; ++i)
            for (std::int64_t j = column; j < column + part.area.columns; ++j) meet(std::max(i, j), std::min(i, j));
        }
        for (std::int64_t i = 0; i < n; ++i)
          for (std::int64_t j = 0; j < n; ++j)
            if (met[static_cast<std::size_t>(i * n + j)] != (j <= i ? 1 : 0))
              fail_msg("%d points, squares of %d: pair %d, %d comes %d times", (int)n, (int)longest, (int)i, (int)j,
                       met[static_cast<std::size_t>(i * n + j)]);
      }
}

// In numbers of pairs, as sessions cut.
void no_number_of_points_loses_a_pair(void**) {
  bool has_squares = false, has_registers = false;
  for (const DiagonalCut& cut : {DiagonalCut{4608, 9216, 0, 256, 128}, DiagonalCut{128, 256, 0, 256, 128},
                                 DiagonalCut{16384, 0, 5, 256, 128}, DiagonalCut{1024, 1024, 0, 256, 128}})
    for (std::int64_t n = 1; n <= 40000; ++n) {
      std::int64_t pairs = 0;
      for (const TilePart& part : parts_of(512, n, cut)) {
        if (is_on_diagonal(part))
          for (const std::int64_t side : squares_of(part)) {
            assert_true(side <= cut.longest);
            pairs += side * (side + 1) / 2;
          }
        else
          pairs += part.area.rows * part.area.columns;
        if (part.square > 0) assert_true(part.area.rows <= cut.together);
        has_squares |= part.square > 0;
        has_registers |= part.passes > 0;
      }
      if (pairs != n * (n + 1) / 2)
        fail_msg("%d points in squares of %d: %lld pairs", (int)n, (int)cut.longest, (long long)pairs);
    }
  assert_true(has_squares && has_registers);
}

}  // namespace

int main() {
  const CMUnitTest tests[] = {
      cmocka_unit_test(every_pair_comes_once),
      cmocka_unit_test(no_number_of_points_loses_a_pair),
  };
  return cmocka_run_group_tests(tests, nullptr, nullptr);
}

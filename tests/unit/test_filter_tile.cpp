// The filter tiles, fp32 and bfloat16, against a plain loop on every target: which pairs survive, at thresholds that
// are met exactly or missed by one unit, for blocks anywhere in the panels, across the diagonal and with little room.
#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "backend/cpu/bf16_tile.h"
#include "backend/cpu/filter_tile.h"
#include "bf16_points.h"
#include "core/division.h"
#include "values.h"

#include "harness/cmocka.h"

using namespace libknng;

namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

std::size_t at(std::int64_t i) { return static_cast<std::size_t>(i); }

// Small integers: products are exact on every target, and equal thresholds are common.
struct Points {
  Points(std::int64_t count, std::int64_t d, std::uint64_t seed) : n(count), dim(d) {
    const std::int64_t padded = round_up(n, kFilterPanel);
    values::Random random(seed);
    panels.resize(at(padded * dim));
    halves.assign(at(padded), kInfinity);
    for (std::int64_t i = 0; i < n; ++i) {
      halves[at(i)] = static_cast<float>(random.below(5));
      for (std::int64_t t = 0; t < dim; ++t) value(i, t) = static_cast<float>(random.below(7) - 3);
    }
  }
  float& value(std::int64_t i, std::int64_t t) {
    return panels[at((i / kFilterPanel * dim + t) * kFilterPanel + i % kFilterPanel)];
  }

  // The operands that a tile takes: panels of float, or both sides of bfloat16.
  Bf16Points bf16() {
    std::vector<std::vector<float>> points(at(n), std::vector<float>(at(dim)));
    for (std::int64_t i = 0; i < n; ++i)
      for (std::int64_t t = 0; t < dim; ++t) points[at(i)][at(t)] = value(i, t);
    return Bf16Points(points);
  }

  std::int64_t n, dim;
  std::vector<float> panels, halves;
};

// Thresholds of a block, by place from the start of its first panel; values around those of the pairs, or open, or
// closed.
std::vector<float> thresholds(std::int64_t first, std::int64_t count, values::Random& random) {
  std::vector<float> all(at(round_up(count, kFilterPanel) + kFilterPanel), kInfinity);
  for (std::int64_t i = 0; i < count; ++i) {
    const float level = static_cast<float>(random.below(24) - 4);
    const std::int64_t kind = random.below(20);
    all[at(first % kFilterPanel + i)] = kind == 0   ? kInfinity
                                        : kind == 1 ? -kInfinity
                                        : kind < 8  ? std::nextafter(level, kInfinity)
                                                    : level;
  }
  return all;
}

struct Block {
  std::int64_t first_row, rows, first_column, columns;
};

void check(const FilterTile& tile, bool bf16, Points& a, Points& b, const Block& block, bool square, std::int64_t room,
           values::Random& random) {
  const Bf16Points a16 = a.bf16(), b16 = b.bf16();
  const std::vector<float> of_rows = thresholds(block.first_row, block.rows, random);
  const std::vector<float> of_columns = thresholds(block.first_column, block.columns, random);
  std::vector<FilterSurvivor> survivors(at(room));
  FilterStrip strip;
  strip.rows = bf16 ? static_cast<const void*>(a16.rows.data()) : a.panels.data();
  strip.columns = bf16 ? static_cast<const void*>(b16.panels.data()) : b.panels.data();
  strip.first_row = block.first_row;
  strip.row_count = block.rows;
  strip.first_column = block.first_column;
  strip.column_count = block.columns;
  strip.dim = a.dim;
  strip.row_half = a.halves.data();
  strip.column_half = b.halves.data();
  strip.row_threshold = of_rows.data();
  strip.column_threshold = of_columns.data();
  strip.square = square;
  strip.survivors = survivors.data();
  strip.capacity = room;
  std::vector<int> found(at(block.rows * block.columns));
  std::int64_t panel = 0;
  while (panel * kFilterPanel < block.first_column + block.columns) {
    const FilterProgress done = tile.run(strip, panel);
    assert_true(done.next_column_panel > panel && done.survivors <= room);
    panel = done.next_column_panel;
    for (std::int64_t s = 0; s < done.survivors; ++s) {
      const FilterSurvivor& pair = survivors[at(s)];
      assert_in_range(pair.row, 0, block.rows - 1);
      assert_in_range(pair.column, 0, block.columns - 1);
      float product = 0;
      for (std::int64_t t = 0; t < a.dim; ++t)
        product += a.value(block.first_row + pair.row, t) * b.value(block.first_column + pair.column, t);
      assert_true(pair.product == product);
      ++found[at(pair.row * block.columns + pair.column)];
    }
  }
  for (std::int64_t r = 0; r < block.rows; ++r) {
    for (std::int64_t c = 0; c < block.columns; ++c) {
      const std::int64_t i = block.first_row + r, j = block.first_column + c;
      float product = 0;
      for (std::int64_t t = 0; t < a.dim; ++t) product += a.value(i, t) * b.value(j, t);
      const bool expected =
          (!square || j > i) && (product - b.halves[at(j)] >= of_rows[at(block.first_row % kFilterPanel + r)] ||
                                 product - a.halves[at(i)] >= of_columns[at(block.first_column % kFilterPanel + c)]);
      if (found[at(r * block.columns + c)] != expected)
        print_error("%s, d %lld, pair (%lld, %lld): %d times\n", tile.target, static_cast<long long>(a.dim),
                    static_cast<long long>(i), static_cast<long long>(j), found[at(r * block.columns + c)]);
      assert_int_equal(found[at(r * block.columns + c)], expected);
    }
  }
}

void survivors_are_those_of_a_plain_loop(void**) {
  values::Random random(41);
  const Block blocks[] = {{0, 48, 0, 48},  {0, 1, 0, 1},      {0, 200, 0, 200}, {50, 37, 100, 91},
                          {47, 2, 95, 98}, {13, 150, 29, 40}, {192, 8, 193, 7}, {100, 50, 0, 200}};
  const auto check_all = [&](const FilterTile& tile, bool bf16, const std::vector<std::int64_t>& dims) {
    for (const std::int64_t dim : dims) {
      Points a(200, dim, 3), b(200, dim, 4);
      for (const Block& block : blocks) {
        for (const std::int64_t panels : {1, 2, 6}) {
          const std::int64_t room = panels * block.rows * kFilterPanel;
          check(tile, bf16, a, b, block, false, room, random);
          check(tile, bf16, a, a, block, true, room, random);
        }
      }
    }
  };
  for (const FilterTile* tile : filter_tiles()) check_all(*tile, false, {1, 2, 9});
  for (const FilterTile* tile : bf16_tiles()) {
    print_message("%s\n", tile->target);
    check_all(*tile, true, {1, 9, 32, 35, 65});
  }
}

}  // namespace

int main() {
  ask_for_matrix_tiles();
  const CMUnitTest tests[] = {cmocka_unit_test(survivors_are_those_of_a_plain_loop)};
  return cmocka_run_group_tests(tests, nullptr, nullptr);
}

// The distance tile of every SIMD target that runs here, against canonical_key(): bits of keys, and which pairs come
// out.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <tuple>
#include <utility>
#include <vector>

#include "backend/cpu/direct_tile.h"
#include "backend/cpu/packed.h"
#include "backend/cpu/side_lists.h"
#include "backend/cpu/tree_search.h"
#include "core/division.h"
#include "metric/canonical.h"
#include "metric/metric.h"
#include "values.h"

#include "harness/cmocka.h"

using namespace libknng;
using values::bits;

namespace {

constexpr double kInfinity = values::kInfinity;
constexpr double kUnwritten = -kInfinity;

// One metric for each term, and the two scales and several exponents.
std::vector<Metric> metrics_of_all_terms() {
  std::vector<Metric> list;
  std::vector<bool> seen(kTerms);
  for (const Metric& m : metrics()) {
    seen[static_cast<std::size_t>(m.term)] = true;
    if (m.term != Term::power_difference) {
      list.push_back(m);
      continue;
    }
    for (const double p : {0.5, 1.7, 3.0}) list.push_back(find_metric(m.name, p));
  }
  assert_int_equal(std::count(seen.begin(), seen.end(), true), kTerms);
  return list;
}

// Rows of u, dim values each.
std::vector<double> make_rows(const Metric& metric, std::int64_t count, std::int64_t dim, values::Random& random) {
  std::vector<double> rows;
  for (std::int64_t i = 0; i < count * dim; ++i) {
    switch (metric.transform) {
      case Transform::identity:
        rows.push_back(i % 3 == 0 ? values::nasty(random, largest_magnitude(metric, dim)) : random.uniform());
        break;
      case Transform::square_root:
      case Transform::share: rows.push_back(i % 5 == 0 ? 0 : std::fabs(values::nasty(random, 1))); break;
      default: rows.push_back(values::nasty(random, 1));
    }
  }
  return rows;
}

// A strip and a block, and what comes out of them by the definition.
class Case {
 public:
  Case(const Metric& metric, std::int64_t rows, std::int64_t columns, std::int64_t dim, values::Random& random)
      : metric_(metric),
        dim_(dim),
        rows_(make_rows(metric, rows, dim, random)),
        columns_(make_rows(metric, columns, dim, random)) {
    // Equal rows on both sides: keys of exactly 0.
    for (std::int64_t j = 0; j < columns; j += 3) std::copy_n(row(j % rows), dim, columns_.data() + j * dim);
    strip.row_count = rows;
    strip.column_count = columns;
    strip.dim = dim;
    strip.p = metric.p;
    strip.scale = metric.scale;
    const auto size = static_cast<std::size_t>(dim);
    for (std::int64_t i = 0; i < rows; ++i)
      for (std::int64_t j = 0; j < columns; ++j)
        keys.push_back(canonical_key(metric, {row(i), size}, {column(j), size}));
    set_cutoffs(kInfinity, kInfinity);
    no_flags();
  }

  const double* row(std::int64_t i) const { return rows_.data() + i * dim_; }
  const double* column(std::int64_t j) const { return columns_.data() + j * dim_; }
  double key(std::int64_t i, std::int64_t j) const {
    return keys[static_cast<std::size_t>(i * strip.column_count + j)];
  }

  // Entries past the last row have whatever value: they must not matter.
  void set_cutoffs(double of_rows, double of_columns) {
    row_cutoffs.assign(padded(strip.row_count), of_rows);
    column_cutoffs.assign(padded(strip.column_count), of_columns);
  }
  void no_flags() {
    row_flags.assign(padded(strip.row_count), 0);
    column_flags.assign(padded(strip.column_count), 0);
    strip.row_directionless = strip.column_directionless = nullptr;
  }

  void check(const DirectTile& tile) {
    std::vector<double> packed_rows = pack(tile, rows_, strip.row_count);
    std::vector<double> packed_columns = pack(tile, columns_, strip.column_count);
    const auto room = static_cast<std::size_t>(strip.row_count * strip.column_count);
    const Survivor untouched = {-77, -77, -77};
    std::vector<Survivor> found(room + 1, untouched);
    strip.rows = packed_rows.data();
    strip.columns = packed_columns.data();
    strip.row_cutoffs = row_cutoffs.data();
    strip.column_cutoffs = column_cutoffs.data();
    strip.survivors = found.data();
    const std::int64_t count = tile.run[static_cast<int>(metric_.term)](strip);
    assert_int_equal(found.back().row, untouched.row);
    assert_in_range(count, 0, room);
    found.resize(static_cast<std::size_t>(count));
    std::sort(found.begin(), found.end(), [](const Survivor& a, const Survivor& b) {
      return std::tie(a.row, a.column) < std::tie(b.row, b.column);
    });
    std::size_t next = 0;
    for (std::int64_t i = 0; i < strip.row_count; ++i)
      for (std::int64_t j = 0; j < strip.column_count; ++j) {
        if (strip.diagonal != INT64_MIN && j <= i + strip.diagonal) continue;
        const auto at_row = static_cast<std::size_t>(i), at_column = static_cast<std::size_t>(j);
        const bool directionless = strip.row_directionless && (row_flags[at_row] != 0 || column_flags[at_column] != 0);
        const double expected = directionless ? 1.0 : key(i, j);
        if (!(expected <= row_cutoffs[at_row] || expected <= column_cutoffs[at_column])) continue;
        const bool same = next < found.size() && found[next].row == i && found[next].column == j &&
                          bits(found[next].key) == bits(expected);
        if (!same)
          print_error("%s, %s, p %g, dim %lld, pair %lld %lld: expected %a, found %a of %d %d\n", tile.target,
                      metric_.name, metric_.p, static_cast<long long>(dim_), static_cast<long long>(i),
                      static_cast<long long>(j), expected, next < found.size() ? found[next].key : 0.0,
                      next < found.size() ? found[next].row : -1, next < found.size() ? found[next].column : -1);
        assert_true(same);
        ++next;
      }
    assert_int_equal(next, found.size());
    check_all_keys(tile);
  }

  // Written down by row and by column: keys of pairs, and NaN where there is none.
  void check_all_keys(const DirectTile& tile) {
    write_keys(tile);
    for (std::int64_t i = 0; i < strip.row_count; ++i)
      for (std::int64_t j = 0; j < strip.column_count; ++j) {
        const double by_row_key = by_row[static_cast<std::size_t>(i * row_stride() + j)];
        const double by_column_key = by_column[static_cast<std::size_t>(j * column_stride() + i)];
        const double expected = expected_key(i, j);
        if (std::isnan(expected)) {
          assert_true(std::isnan(by_row_key) && std::isnan(by_column_key));
          continue;
        }
        assert_int_equal(bits(by_row_key), bits(expected));
        assert_int_equal(bits(by_column_key), bits(expected));
      }
    check_keys_by_column_alone(tile);
  }
  // Where columns have no lists.
  void check_keys_by_column_alone(const DirectTile& tile) {
    const std::vector<double> both = by_column;
    write_keys(tile, false);
    assert_memory_equal(both.data(), by_column.data(), both.size() * sizeof both[0]);
    assert_true(std::all_of(by_row.begin(), by_row.end(), [](double key) { return std::isnan(key); }));
  }

  // Lists that start at the cut-offs take what comes first by key and number, one more than k.
  void check_lists(const DirectTile& tile, std::int64_t k) {
    write_keys(tile, true, kUnwritten);
    const auto target = std::find_if(tree_targets().begin(), tree_targets().end(),
                                     [&](const TreeTarget* t) { return std::strcmp(t->target, tile.target) == 0; });
    assert_true(target != tree_targets().end());
    for (const bool of_rows : {true, false}) {
      const std::int64_t lists = of_rows ? strip.row_count : strip.column_count;
      const std::int64_t numbers = of_rows ? strip.column_count : strip.row_count;
      const std::vector<double>& cutoffs = of_rows ? row_cutoffs : column_cutoffs;
      SideLists side(lists, k, nullptr);
      for (std::int64_t i = 0; i < round_up(lists, kListedTogether); ++i) {
        if (i < lists)
          side.clear(i, cutoffs[static_cast<std::size_t>(i)]);
        else
          side.close(i);
      }
      const ListedKeys from = {of_rows ? by_column.data() : by_row.data(),
                               of_rows ? column_stride() : row_stride(),
                               0,
                               lists,
                               numbers,
                               1000,
                               strip.diagonal,
                               of_rows};
      check_looked_at(from);
      tile.select(from, (*target)->insert(side.positions(), false), side);
      for (std::int64_t i = 0; i < lists; ++i) {
        std::vector<std::pair<double, double>> expected;
        for (std::int64_t j = 0; j < numbers; ++j) {
          const double key = of_rows ? expected_key(i, j) : expected_key(j, i);
          if (key <= cutoffs[static_cast<std::size_t>(i)]) expected.emplace_back(key, 1000 + static_cast<double>(j));
        }
        std::sort(expected.begin(), expected.end());
        for (std::int64_t t = 0; t <= k; ++t) {
          const double key = side.keys(i)[t * kTreeLeaf], id = side.ids(i)[t * kTreeLeaf];
          if (static_cast<std::size_t>(t) >= expected.size()) {
            assert_true(id == kInfinity);
            continue;
          }
          assert_int_equal(bits(key), bits(expected[static_cast<std::size_t>(t)].first));
          assert_true(id == expected[static_cast<std::size_t>(t)].second);
        }
      }
    }
  }

  // Keys that any vector of lists looks at are written down: here those of the longest.
  static void check_looked_at(const ListedKeys& from) {
    const bool square = from.diagonal != INT64_MIN;
    for (std::int64_t first = 0; first < from.lists; first += kListedTogether) {
      const std::int64_t last = std::min(first + kListedTogether, from.lists);
      const std::int64_t begin = square && from.of_rows ? std::max<std::int64_t>(0, first + from.diagonal + 1) : 0;
      const std::int64_t end =
          square && !from.of_rows ? std::min(from.count, first + kListedTogether - 1 - from.diagonal) : from.count;
      for (std::int64_t j = begin; j < end; ++j)
        for (std::int64_t list = first; list < last; ++list)
          assert_true(from.keys[j * from.stride + list] != kUnwritten);
    }
  }

  DirectStrip strip{};
  std::vector<double> keys, row_cutoffs, column_cutoffs, row_flags, column_flags;

  std::vector<double> by_row, by_column;  // of write_keys()

 private:
  std::int64_t row_stride() const { return round_up(strip.column_count, kListedTogether); }
  std::int64_t column_stride() const { return round_up(strip.row_count, kListedTogether); }

  // NaN for what is no pair.
  double expected_key(std::int64_t i, std::int64_t j) const {
    if (strip.diagonal != INT64_MIN && j <= i + strip.diagonal) return std::nan("");
    const bool directionless = strip.row_directionless && (row_flags[static_cast<std::size_t>(i)] != 0 ||
                                                           column_flags[static_cast<std::size_t>(j)] != 0);
    return directionless ? 1.0 : key(i, j);
  }
  void write_keys(const DirectTile& tile, bool with_rows = true, double before = std::nan("")) {
    const std::vector<double> packed_rows = pack(tile, rows_, strip.row_count);
    const std::vector<double> packed_columns = pack(tile, columns_, strip.column_count);
    by_row.assign(static_cast<std::size_t>(column_stride() * row_stride()), before);
    by_column = by_row;
    strip.rows = packed_rows.data();
    strip.columns = packed_columns.data();
    tile.keys[static_cast<int>(metric_.term)](strip, with_rows ? by_row.data() : nullptr, row_stride(),
                                              by_column.data(), column_stride());
  }

  static std::size_t padded(std::int64_t points) { return static_cast<std::size_t>(round_up(points, kPanelRows)); }

  // Exactly as large as the engine makes it. What fills the last panel must not matter: large numbers.
  std::vector<double> pack(const DirectTile& tile, const std::vector<double>& rows, std::int64_t count) const {
    const std::int64_t size = panel_size(dim_, tile.lanes);
    std::vector<double> panels(padded(count) / kPanelRows * static_cast<std::size_t>(size), -1e9);
    const std::vector<double> filler(static_cast<std::size_t>(dim_), 1e9);
    for (std::int64_t i = 0; i < static_cast<std::int64_t>(padded(count)); ++i)
      tile.pack(i < count ? rows.data() + i * dim_ : filler.data(), dim_, i % kPanelRows,
                panels.data() + i / kPanelRows * size);
    return panels;
  }

  Metric metric_;
  std::int64_t dim_;
  std::vector<double> rows_, columns_;
};

std::vector<std::int64_t> dims() {
  std::vector<std::int64_t> list;
  for (std::int64_t d = 1; d <= 40; ++d) list.push_back(d);
  for (const std::int64_t d : {63, 64, 65, 66, 96, 100, 785}) list.push_back(d);
  return list;
}

void targets_are_listed_best_first(void**) {
  const auto tiles = direct_tiles();
  assert_true(tiles.size() >= 1);
  for (std::size_t i = 0; i < tiles.size(); ++i) {
    print_message("%s, %d lanes\n", tiles[i]->target, tiles[i]->lanes);
    assert_true(tiles[i]->lanes == 1 || tiles[i]->lanes == 2 || tiles[i]->lanes == 4 || tiles[i]->lanes == 8);
    if (i > 0) assert_true(tiles[i]->lanes < tiles[i - 1]->lanes);
    for (int term = 0; term < kTerms; ++term)
      assert_true(tiles[i]->run[term] && tiles[i]->keys[term] && tiles[i]->pair[term]);
  }
}

void packing_fills_its_panel_exactly(void**) {
  for (const DirectTile* tile : direct_tiles())
    for (const std::int64_t dim : dims()) {
      // Four rows of distinct values, between guards.
      const std::int64_t size = panel_size(dim, tile->lanes);
      std::vector<double> panel(static_cast<std::size_t>(size) + 2, -1), all;
      for (std::int64_t r = 0; r < kPanelRows; ++r) {
        std::vector<double> u;
        for (std::int64_t t = 0; t < dim; ++t) u.push_back(static_cast<double>(1 + r * dim + t));
        tile->pack(u.data(), dim, r, panel.data() + 1);
        all.insert(all.end(), u.begin(), u.end());
      }
      assert_true(panel.front() == -1 && panel.back() == -1);
      std::vector<double> packed(panel.begin() + 1, panel.end() - 1);
      std::sort(packed.begin(), packed.end());
      std::vector<double> expected(static_cast<std::size_t>(size) - all.size(), 0.0);
      expected.insert(expected.end(), all.begin(), all.end());
      assert_true(packed == expected);
    }
}

void all_pairs_have_the_bits_of_the_canonical_key(void**) {
  values::Random random(21);
  for (const Metric& metric : metrics_of_all_terms())
    for (const std::int64_t dim : dims()) {
      const std::int64_t rows = 1 + random.below(9), columns = 1 + random.below(13);
      Case c(metric, rows, columns, dim, random);
      for (const DirectTile* tile : direct_tiles()) c.check(*tile);
    }
}

void single_pairs_have_the_bits_of_the_canonical_key(void**) {
  values::Random random(22);
  for (const Metric& metric : metrics_of_all_terms())
    for (const std::int64_t dim : dims()) {
      const Case c(metric, 3, 4, dim, random);
      for (const DirectTile* tile : direct_tiles())
        for (std::int64_t i = 0; i < 3; ++i)
          for (std::int64_t j = 0; j < 4; ++j) {
            // Copies of exactly dim values, so that reading past them is seen.
            const std::vector<double> u(c.row(i), c.row(i) + dim), v(c.column(j), c.column(j) + dim);
            const double key =
                tile->pair[static_cast<int>(metric.term)](u.data(), v.data(), dim, metric.p, metric.scale);
            assert_int_equal(bits(key), bits(c.key(i, j)));
          }
    }
}

// Cut-offs are taken from the keys themselves, so that equality is met often.
double random_cutoff(const Case& c, values::Random& random) {
  const double key = c.keys[static_cast<std::size_t>(random.below(static_cast<std::int64_t>(c.keys.size())))];
  switch (random.below(6)) {
    case 0: return -kInfinity;
    case 1: return kInfinity;
    case 2: return std::nextafter(key, -kInfinity);
    default: return key;
  }
}

// A row with any number of others, which lie anywhere: from fp64, and from fp32 where values are such.
template <class Value>
void check_row_keys(RowKeysFunction<Value>* run, const Metric& metric, std::int64_t count, std::int64_t dim,
                    values::Random& random) {
  std::vector<std::vector<Value>> rows(static_cast<std::size_t>(count + 1));
  for (auto& row : rows)
    for (const double x : make_rows(metric, 1, dim, random))
      row.push_back(static_cast<Value>(sizeof(Value) == 4 ? std::fmod(x, 1e15) : x));
  std::vector<const Value*> others;
  for (std::int64_t j = 0; j < count; ++j) others.push_back(rows[static_cast<std::size_t>(j + 1)].data());
  std::vector<double> keys(static_cast<std::size_t>(count + 1), -7);
  run(rows[0].data(), others.data(), count, dim, metric.scale, keys.data());
  const std::vector<double> u(rows[0].begin(), rows[0].end());
  for (std::size_t j = 0; j < others.size(); ++j) {
    const std::vector<double> v(rows[j + 1].begin(), rows[j + 1].end());
    assert_int_equal(bits(keys[j]), bits(canonical_key(metric, u, v)));
  }
  assert_true(keys.back() == -7);
}

void a_row_with_others_has_the_bits_of_the_canonical_key(void**) {
  values::Random random(27);
  for (const char* name : {"sqeuclidean", "cosine", "inner_product"}) {
    const Metric metric = find_metric(name, 2);
    const auto term = static_cast<std::size_t>(metric.term);
    for (const DirectTile* tile : direct_tiles())
      for (const std::int64_t dim : {1, 2, 3, 7, 8, 9, 15, 31, 32, 33, 40, 63, 64, 65, 100, 784})
        for (const std::int64_t count : {1, 2, 3, 4, 5, 7, 8, 9, 12, 15, 16, 17, 32}) {
          check_row_keys<double>(tile->row_keys[term], metric, count, dim, random);
          check_row_keys<float>(tile->float_row_keys[term], metric, count, dim, random);
        }
  }
}

void cutoffs_let_through_what_is_not_above_them(void**) {
  values::Random random(23);
  for (const Metric& metric : metrics_of_all_terms())
    for (const std::int64_t dim : {1, 3, 8, 31, 33, 64, 100})
      for (int sample = 0; sample < 3; ++sample) {
        Case c(metric, 1 + random.below(17), 1 + random.below(17), dim, random);
        for (double& cutoff : c.row_cutoffs) cutoff = sample == 1 ? -kInfinity : random_cutoff(c, random);
        for (double& cutoff : c.column_cutoffs) cutoff = sample == 2 ? -kInfinity : random_cutoff(c, random);
        for (const DirectTile* tile : direct_tiles()) c.check(*tile);
      }
  // Nothing passes where nothing is taken.
  Case c(find_metric("euclidean", 2), 9, 9, 5, random);
  c.set_cutoffs(-kInfinity, -kInfinity);
  for (const DirectTile* tile : direct_tiles()) c.check(*tile);
}

void diagonals_leave_out_what_is_below(void**) {
  values::Random random(24);
  for (const char* name : {"euclidean", "braycurtis", "jensenshannon"})
    for (const auto& [rows, columns] : {std::pair{12, 12}, {7, 13}, {13, 6}, {1, 1}, {5, 30}}) {
      Case c(find_metric(name, 2), rows, columns, 9, random);
      for (std::int64_t diagonal = -20; diagonal <= 35; ++diagonal) {
        c.strip.diagonal = diagonal;
        for (const DirectTile* tile : direct_tiles()) c.check(*tile);
      }
      for (const std::int64_t far : {std::int64_t{-1} << 40, std::int64_t{1} << 40, INT64_MIN + 1}) {
        c.strip.diagonal = far;
        for (const DirectTile* tile : direct_tiles()) c.check(*tile);
      }
    }
}

void rows_without_direction_are_at_one(void**) {
  values::Random random(25);
  for (const Metric& metric : metrics_of_all_terms()) {
    if (!has_directions(metric.transform)) continue;
    for (int sample = 0; sample < 30; ++sample) {
      Case c(metric, 1 + random.below(14), 1 + random.below(14), 1 + random.below(40), random);
      for (double& flag : c.row_flags) flag = sample % 3 == 0 ? 0 : static_cast<double>(random.below(2));
      for (double& flag : c.column_flags) flag = sample % 3 == 1 ? 0 : static_cast<double>(random.below(2));
      c.strip.row_directionless = c.row_flags.data();
      c.strip.column_directionless = c.column_flags.data();
      if (sample % 2 == 1) {
        // Cut-offs at and just below their key.
        for (double& cutoff : c.row_cutoffs) cutoff = random.below(2) == 0 ? 1.0 : std::nextafter(1.0, 0.0);
        for (double& cutoff : c.column_cutoffs) cutoff = random.below(2) == 0 ? 1.0 : random_cutoff(c, random);
        c.strip.diagonal = random.below(10) - 5;
      }
      for (const DirectTile* tile : direct_tiles()) c.check(*tile);
    }
  }
}

void large_blocks(void**) {
  values::Random random(26);
  for (const char* name : {"sqeuclidean", "chebyshev"})
    for (const auto& [rows, columns] : {std::pair{101, 135}, {1, 200}, {200, 1}, {64, 64}}) {
      Case c(find_metric(name, 2), rows, columns, 7, random);
      for (double& cutoff : c.row_cutoffs) cutoff = random_cutoff(c, random);
      for (double& cutoff : c.column_cutoffs) cutoff = random_cutoff(c, random);
      for (const std::int64_t diagonal : {INT64_MIN, std::int64_t{0}, std::int64_t{-50}, std::int64_t{33}}) {
        c.strip.diagonal = diagonal;
        for (const DirectTile* tile : direct_tiles()) c.check(*tile);
      }
    }
}

void lists_take_the_first_by_key_and_number(void**) {
  values::Random random(28);
  for (const char* name : {"sqeuclidean", "chebyshev", "cosine"})
    for (const auto& [rows, columns] : {std::pair{1, 1}, {3, 9}, {16, 40}, {16, 64}, {35, 70}, {70, 33}})
      for (const std::int64_t diagonal : {INT64_MIN, std::int64_t{0}, std::int64_t{-7}, std::int64_t{-16},
                                          std::int64_t{5}, std::int64_t{100}, std::int64_t{-100}}) {
        Case c(find_metric(name, 2), rows, columns, 3, random);
        c.strip.diagonal = diagonal;
        for (const bool open : {true, false}) {
          if (!open) {
            for (double& cutoff : c.row_cutoffs) cutoff = random_cutoff(c, random);
            for (double& cutoff : c.column_cutoffs) cutoff = random_cutoff(c, random);
          }
          for (const DirectTile* tile : direct_tiles())
            for (const std::int64_t k : {1, 2, 3, 5, 7, 10, 15, 20, 32}) c.check_lists(*tile, k);
        }
      }
}

}  // namespace

int main() {
  const CMUnitTest tests[] = {
      cmocka_unit_test(targets_are_listed_best_first),
      cmocka_unit_test(packing_fills_its_panel_exactly),
      cmocka_unit_test(all_pairs_have_the_bits_of_the_canonical_key),
      cmocka_unit_test(single_pairs_have_the_bits_of_the_canonical_key),
      cmocka_unit_test(a_row_with_others_has_the_bits_of_the_canonical_key),
      cmocka_unit_test(cutoffs_let_through_what_is_not_above_them),
      cmocka_unit_test(diagonals_leave_out_what_is_below),
      cmocka_unit_test(rows_without_direction_are_at_one),
      cmocka_unit_test(large_blocks),
      cmocka_unit_test(lists_take_the_first_by_key_and_number),
  };
  return cmocka_run_group_tests(tests, nullptr, nullptr);
}

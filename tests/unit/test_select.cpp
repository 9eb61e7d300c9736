// Every selector, and quick on every SIMD target, against sorting a line: which candidates come, in which call, for
// rows and columns, any k, cut-offs that stay, fall or end it, and numbers at which an order could go wrong.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <functional>
#include <limits>
#include <map>
#include <string>
#include <vector>

#include "core/buffer.h"
#include "select/quick.h"
#include "select/selector.h"
#include "values.h"

#include "harness/cmocka.h"
#include "harness/small_run.h"

using namespace libknng;

namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();

std::size_t at(std::int64_t i) { return static_cast<std::size_t>(i); }

struct Numbers {
  std::string name;
  std::int64_t rows, columns;
  std::vector<float> low;
};

// The order that is asked for, written differently: NaN first, then by value, then by place.
bool nearer(const Candidate& a, const Candidate& b) {
  const bool na = std::isnan(a.low), nb = std::isnan(b.low);
  if (na || nb) return na && nb ? a.place < b.place : na;
  return a.low < b.low || (a.low == b.low && a.place < b.place);
}

// Checks each call against the line sorted.
class Expectation final : public Sink {
 public:
  // fall: a full list of candidates lowers the cut-off to the largest of them. end: and the line wants no more.
  enum class Answer { stay, fall, end };

  Expectation(const LowTile& tile, std::int64_t k, Answer answer) : tile_(tile), k_(k), answer_(answer) {
    for (std::int64_t i = 0; i < tile.rows; ++i) {
      for (std::int64_t j = 0; j < tile.columns; ++j) {
        if (tile.diagonal != INT64_MIN && j <= i + tile.diagonal) continue;
        const float low = tile.low[i * tile.stride + j];
        if (!(low > tile.row_cuts[i])) lines_[{false, i}].push_back({low, static_cast<std::int32_t>(j)});
        if (tile.column_cuts && !(low > tile.column_cuts[j]))
          lines_[{true, j}].push_back({low, static_cast<std::int32_t>(i)});
      }
    }
    for (auto& [line, candidates] : lines_) std::sort(candidates.begin(), candidates.end(), nearer);
  }

  float take(bool column, std::int64_t line, std::span<const Candidate> candidates) override {
    std::vector<Candidate>& wanted = lines_[{column, line}];
    const float cut = column ? tile_.column_cuts[line] : tile_.row_cuts[line];
    assert_true(!candidates.empty());
    assert_true(candidates.size() == std::min(wanted.size(), at(k_)));
    std::vector<Candidate> sorted(candidates.begin(), candidates.end());
    std::sort(sorted.begin(), sorted.end(), nearer);
    for (std::size_t c = 0; c < sorted.size(); ++c) {
      assert_int_equal(sorted[c].place, wanted[c].place);
      assert_true(sorted[c].low == wanted[c].low || std::isnan(wanted[c].low));
    }
    wanted.erase(wanted.begin(), wanted.begin() + static_cast<std::ptrdiff_t>(sorted.size()));
    if (answer_ == Answer::stay && cut != kWantsNoMore) return cut;
    const bool full = sorted.size() == at(k_);
    if (answer_ == Answer::end || !full || !(sorted.back().low > kWantsNoMore)) {
      wanted.clear();
      return kWantsNoMore;
    }
    const float now = sorted.back().low;
    std::erase_if(wanted, [&](const Candidate& c) { return c.low > now; });
    return now;
  }

  // Whether everything that was wanted came.
  bool done() const {
    return std::all_of(lines_.begin(), lines_.end(), [](const auto& line) { return line.second.empty(); });
  }

 private:
  const LowTile& tile_;
  std::int64_t k_;
  Answer answer_;
  std::map<std::pair<bool, std::int64_t>, std::vector<Candidate>> lines_;
};

struct Run {
  std::string name;
  std::int64_t (*bytes)(std::int64_t, std::int64_t, std::int64_t, bool);
  std::function<void(const LowTile&, std::int64_t, std::byte*, Sink&)> run;
};

std::vector<Run> every_selector() {
  std::vector<Run> all;
  for (const Selector& s : selectors()) all.push_back({s.name, s.workspace_bytes, s.run});
  for (const QuickPartition* simd : quick_partitions())
    all.push_back({std::string("quick, ") + simd->target, quick_bytes,
                   [simd](const LowTile& tile, std::int64_t k, std::byte* workspace, Sink& sink) {
                     run_quick(*simd, tile, k, workspace, sink);
                   }});
  return all;
}

struct Case {
  std::int64_t k;
  std::int64_t diagonal = INT64_MIN;
  bool both = true;
  bool open = true;  // no cut-offs
};

void check(const Numbers& n, const Case& c, values::Random& random) {
  const std::int64_t stride = n.columns + 3;
  std::vector<float> low(at(n.rows * stride), kNaN);  // what lies outside is never a candidate
  for (std::int64_t i = 0; i < n.rows; ++i)
    for (std::int64_t j = 0; j < n.columns; ++j) low[at(i * stride + j)] = n.low[at(i * n.columns + j)];
  // Cut-offs among the numbers themselves, or that let through all or almost nothing.
  const auto cut = [&] {
    const std::int64_t kind = c.open ? 0 : random.below(12);
    return kind == 0   ? kInfinity
           : kind == 1 ? -kInfinity
           : kind == 2 ? kNaN
                       : n.low[at(random.below(n.rows * n.columns))];
  };
  std::vector<float> row_cuts(at(n.rows)), column_cuts(at(n.columns));
  std::generate(row_cuts.begin(), row_cuts.end(), cut);
  std::generate(column_cuts.begin(), column_cuts.end(), cut);
  LowTile tile;
  tile.low = low.data();
  tile.stride = stride;
  tile.rows = n.rows;
  tile.columns = n.columns;
  tile.diagonal = c.diagonal;
  tile.row_cuts = row_cuts.data();
  tile.column_cuts = c.both ? column_cuts.data() : nullptr;
  static int turn = 0;
  for (const Run& selector : every_selector()) {
    for (const auto answer : {Expectation::Answer::stay, Expectation::Answer::fall, Expectation::Answer::end}) {
      if (!tried(turn++, 3)) continue;
      Expectation expected(tile, std::min(c.k, tile.longest()), answer);
      const std::int64_t bytes = selector.bytes(n.rows, n.columns, c.k, c.both);
      Buffer<std::byte> workspace(bytes + 64, std::byte{0x5a});
      selector.run(tile, c.k, workspace.data(), expected);
      if (!expected.done())
        print_error("%s, %s, k=%lld, diagonal %lld\n", selector.name.c_str(), n.name.c_str(),
                    static_cast<long long>(c.k), static_cast<long long>(c.diagonal));
      assert_true(expected.done());
      for (std::int64_t i = bytes; i < bytes + 64; ++i) assert_true(workspace[i] == std::byte{0x5a});
    }
  }
}

Numbers numbers(const char* name, std::int64_t rows, std::int64_t columns,
                const std::function<float(std::int64_t, std::int64_t)>& value) {
  Numbers n{name, rows, columns, {}};
  for (std::int64_t i = 0; i < rows; ++i)
    for (std::int64_t j = 0; j < columns; ++j) n.low.push_back(value(i, j));
  return n;
}

std::vector<Numbers> every_kind(std::int64_t rows, std::int64_t columns, values::Random& random) {
  const float special[] = {kNaN,   -kNaN,   kInfinity, -kInfinity, 0.0f,  -0.0f,
                           1e-45f, -1e-45f, 1.0f,      -1.0f,      3e38f, -3e38f};
  std::vector<Numbers> all;
  const auto add = [&](const char* name, const std::function<float(std::int64_t, std::int64_t)>& value) {
    all.push_back(numbers(name, rows, columns, value));
  };
  add("uniform", [&](auto, auto) { return static_cast<float>(random.uniform() * 2 - 1); });
  add("tied", [&](auto, auto) { return static_cast<float>(random.below(5) - 2); });
  add("constant", [](auto, auto) { return 0.1f; });
  add("ascending", [&](auto i, auto j) { return static_cast<float>(i * columns + j); });
  add("descending", [&](auto i, auto j) { return static_cast<float>(-i * columns - j); });
  add("special", [&](auto, auto) { return special[random.below(12)]; });
  add("NaN", [](auto, auto) { return kNaN; });
  add("infinite", [](auto, auto) { return kInfinity; });
  add("zeros", [&](auto, auto) { return random.below(2) == 0 ? 0.0f : -0.0f; });
  add("any bits",
      [&](auto, auto) { return std::bit_cast<float>(static_cast<std::uint32_t>(random.below(INT64_MAX))); });
  return all;
}

void candidates_are_those_of_a_sorted_line(void**) {
  values::Random random(3);
  const std::int64_t sizes[][2] = {{1, 1}, {1, 40}, {40, 1}, {7, 33}, {20, 60}, {33, 17}, {3, 300}};
  for (const auto& size : sizes) {
    for (const Numbers& n : every_kind(size[0], size[1], random)) {
      for (const std::int64_t k : {1, 2, 10, 17, 100}) {
        check(n, {k}, random);
        check(n, {k, INT64_MIN, true, false}, random);
        check(n, {k, INT64_MIN, false, false}, random);
        check(n, {k, random.below(size[0] + size[1]) - size[0], true, false}, random);
      }
    }
  }
}

// Every k of a line, and lines around the width of vectors.
void any_k_and_any_length(void**) {
  values::Random random(5);
  for (std::int64_t length = 1; length <= 70; ++length)
    for (const Numbers& n : every_kind(2, length, random))
      for (std::int64_t k = 1; k <= length; k += 1 + length / 8) check(n, {k, INT64_MIN, false}, random);
  for (const Numbers& n : every_kind(1, 90, random))
    for (std::int64_t k = 1; k <= 91; ++k) check(n, {k, INT64_MIN, false}, random);
}

// Samples of a long line mislead when its small numbers stand together.
void long_lines(void**) {
  values::Random random(7);
  const std::int64_t n = small_run() ? 1000 : 5000;
  std::vector<Numbers> all = every_kind(1, n, random);
  all.push_back(numbers("few are small", 1, n, [n](auto, auto j) { return j % (n / 5) == n / 5 - 1 ? 1.0f : 2.0f; }));
  all.push_back(numbers("one is small", 1, n, [n](auto, auto j) { return j == 3 * n / 5 + 1 ? 1.0f : 2.0f; }));
  for (const Numbers& line : all)
    for (const std::int64_t k :
         {std::int64_t{1}, std::int64_t{4}, std::int64_t{5}, std::int64_t{6}, std::int64_t{100}, 3 * n / 10, n - 1}) {
      check(line, {k, INT64_MIN, false}, random);
      if (k > 1) check(line, {k, INT64_MIN, false, false}, random);
    }
}

// Equal numbers are done at once: a constant line must not take a pass for each.
void ties_are_not_quadratic(void**) {
  values::Random random(9);
  class Once final : public Sink {
   public:
    float take(bool, std::int64_t, std::span<const Candidate> candidates) override {
      taken += static_cast<std::int64_t>(candidates.size());
      return kWantsNoMore;
    }
    std::int64_t taken = 0;
  };
  const std::int64_t n = 4 << 20;
  const std::vector<float> low(at(n), 1.0f);
  LowTile tile;
  const float cut = kInfinity;
  tile.low = low.data();
  tile.stride = tile.columns = n;
  tile.rows = 1;
  tile.row_cuts = &cut;
  for (const QuickPartition* simd : quick_partitions()) {
    for (const std::int64_t k : {std::int64_t{1}, n / 2, n}) {
      Buffer<std::byte> workspace(quick_bytes(1, n, k, false));
      Once sink;
      run_quick(*simd, tile, k, workspace.data(), sink);  // quadratic: hours
      assert_true(sink.taken == k);
    }
  }
}

void orders_are_those_of_floats(void**) {
  values::Random random(11);
  for (int i = 0; i < 100000; ++i) {
    const auto a = std::bit_cast<float>(static_cast<std::uint32_t>(random.below(INT64_MAX)));
    const auto b = i % 3 == 0 ? -a : std::bit_cast<float>(static_cast<std::uint32_t>(random.below(INT64_MAX)));
    if (std::isnan(a) || std::isnan(b)) continue;
    assert_int_equal(order_of(a) < order_of(b), a < b);
    assert_true(float_of(order_of(a)) == a);
  }
  assert_true(order_of(0.0f) == order_of(-0.0f));
  for (const float nan : {kNaN, -kNaN}) {
    assert_true(order_of(nan) < order_of(-kInfinity));
    assert_true(order_of_cut(nan) > order_of(kInfinity));
  }
}

void the_table_has_them_by_name(void**) {
  assert_int_equal(selectors().size(), 3);
  for (const char* name : {"insertion", "batch_sort", "quick"}) assert_string_equal(find_selector(name)->name, name);
  assert_null(find_selector("heap"));
}

}  // namespace

int main() {
  const CMUnitTest tests[] = {
      cmocka_unit_test(candidates_are_those_of_a_sorted_line),
      cmocka_unit_test(any_k_and_any_length),
      cmocka_unit_test(long_lines),
      cmocka_unit_test(ties_are_not_quadratic),
      cmocka_unit_test(orders_are_those_of_floats),
      cmocka_unit_test(the_table_has_them_by_name),
  };
  return cmocka_run_group_tests(tests, nullptr, nullptr);
}

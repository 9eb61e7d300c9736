// Neighbour lists under the total order (key, id), against sorting all pairs; the tied flag; groups of rows with locks;
// pairs that are sorted at once.
#include <algorithm>
#include <atomic>
#include <numeric>
#include <thread>
#include <vector>

#include "core/error.h"
#include "merge/neighbour_lists.h"
#include "merge/shared_lists.h"
#include "merge/sort_pairs.h"
#include "values.h"

#include "harness/cmocka.h"

using namespace libknng;
using values::bits;

namespace {

struct Pair {
  double key;
  std::int64_t id;
};

bool before(const Pair& a, const Pair& b) { return a.key < b.key || (a.key == b.key && a.id < b.id); }

// What a list of k must hold after all of `offered`, whatever their order, and whether it is tied.
struct Expected {
  Expected(std::vector<Pair> offered, std::int64_t k) : list(std::move(offered)) {
    std::sort(list.begin(), list.end(), before);
    const auto size = static_cast<std::size_t>(k);
    tied = list.size() > size && list[size].key == list[size - 1].key;
    if (list.size() > size) list.resize(size);
    // Places without a pair.
    while (list.size() < size) list.push_back({kNoNeighbour.key, kNoNeighbour.id});
  }
  std::vector<Pair> list;
  bool tied;
};

void assert_list(NeighbourLists& lists, std::int64_t row, const Expected& expected) {
  const std::int64_t k = lists.k();
  assert_true(lists.cutoff(row) >= expected.list.back().key);
  const Neighbour* list = lists.sort(row);
  assert_int_equal(lists.tied(row), expected.tied);
  for (std::int64_t j = 0; j < k; ++j) {
    const Pair& pair = expected.list[static_cast<std::size_t>(j)];
    assert_int_equal(bits(list[j].key), bits(pair.key));
    assert_int_equal(list[j].id, pair.id);
  }
}

void lists_start_empty(void**) {
  NeighbourLists lists(3, 4, nullptr);
  assert_int_equal(lists.k(), 4);
  for (std::int64_t row = 0; row < 3; ++row) {
    assert_true(lists.cutoff(row) == values::kInfinity);
    assert_list(lists, row, Expected({}, 4));
  }
}

// Every order of up to 7 pairs with at most three different keys.
void every_order_gives_the_same_list(void**) {
  values::Random random(2);
  for (std::size_t pairs = 1; pairs <= 7; ++pairs)
    for (int sample = 0; sample < (pairs < 6 ? 30 : 4); ++sample) {
      std::vector<Pair> offered(pairs);
      for (std::size_t i = 0; i < pairs; ++i)
        offered[i] = {static_cast<double>(random.below(3)) - 1, static_cast<std::int64_t>(i) * 5};
      std::vector<std::size_t> order(pairs);
      std::iota(order.begin(), order.end(), 0);
      do {
        for (std::int64_t k = 1; k <= static_cast<std::int64_t>(pairs) + 1; ++k) {
          NeighbourLists lists(1, k, nullptr);
          std::vector<Pair> so_far;
          double cutoff = values::kInfinity;
          for (const std::size_t i : order) {
            lists.offer(0, offered[i].key, offered[i].id);
            so_far.push_back(offered[i]);
            // At every moment the cut-off is that of a full list, and lets through whatever may belong.
            const Expected now(so_far, k);
            assert_true(lists.cutoff(0) >= now.list.back().key);
            assert_int_equal(lists.cutoff(0) < values::kInfinity, static_cast<std::int64_t>(so_far.size()) >= k);
            assert_true(lists.cutoff(0) <= cutoff);
            cutoff = lists.cutoff(0);
          }
          assert_list(lists, 0, Expected(offered, k));
        }
      } while (std::next_permutation(order.begin(), order.end()));
    }
}

void long_lists_equal_sorting(void**) {
  values::Random random(4);
  for (int sample = 0; sample < 400; ++sample) {
    const std::int64_t pairs = 1 + random.below(600);
    const std::int64_t k = sample % 4 == 0 ? 1 : sample % 4 == 1 ? pairs : 1 + random.below(pairs);
    const std::int64_t different = sample % 3 == 0 ? 1 + random.below(6) : pairs;
    std::vector<Pair> offered;
    for (std::int64_t i = 0; i < pairs; ++i) {
      const double key = static_cast<double>(random.below(different)) / 8;
      offered.push_back({sample % 5 == 0 ? -key : key, i});
    }
    // Random, ascending and descending arrival.
    if (sample % 7 == 1) {
      std::sort(offered.begin(), offered.end(), before);
    } else if (sample % 7 == 2) {
      std::sort(offered.begin(), offered.end(), [](const Pair& a, const Pair& b) { return before(b, a); });
    } else {
      for (std::int64_t i = pairs - 1; i > 0; --i)
        std::swap(offered[static_cast<std::size_t>(i)], offered[static_cast<std::size_t>(random.below(i + 1))]);
    }
    NeighbourLists lists(3, k, nullptr);
    for (const Pair& pair : offered) lists.offer(1, pair.key, pair.id);
    const Expected expected(offered, k);
    assert_list(lists, 1, expected);
    // Its neighbours have not been touched.
    assert_list(lists, 0, Expected({}, k));
    assert_list(lists, 2, Expected({}, k));
    lists.clear(1);
    assert_list(lists, 1, Expected({}, k));
    for (auto pair = offered.rbegin(); pair != offered.rend(); ++pair) lists.offer(1, pair->key, pair->id);
    assert_list(lists, 1, expected);
  }
}

// On every SIMD target that runs here.
void pairs_are_sorted(void**) {
  values::Random random(6);
  const double special[] = {-values::kInfinity, -1, -0.0, 0.0, 0x1p-1074, 1, values::kInfinity};
  for (const PairSort* sort : pair_sorts())
    for (std::int64_t count = 0; count <= 300; ++count)
      for (int kind = 0; kind < 5; ++kind) {
        std::vector<Neighbour> pairs;
        for (std::int64_t i = 0; i < count; ++i) {
          // Few different keys, all equal, ascending, few that are special, and hardly any that are equal.
          const double keys[] = {static_cast<double>(random.below(5)) - 2, -3, static_cast<double>(i) - 100,
                                 special[random.below(std::ssize(special))],
                                 static_cast<double>(random.below(INT64_C(1) << 40)) - 0x1p39};
          pairs.push_back({keys[kind], i * 3});
        }
        if (kind != 2)
          for (std::size_t i = pairs.size(); i > 1; --i)
            std::swap(pairs[i - 1], pairs[static_cast<std::size_t>(random.below(static_cast<std::int64_t>(i)))]);
        std::vector<Neighbour> expected = pairs;
        std::sort(expected.begin(), expected.end());
        sort->run(pairs.data(), count);
        for (std::size_t i = 0; i < pairs.size(); ++i)
          if (bits(pairs[i].key) != bits(expected[i].key) || pairs[i].id != expected[i].id)
            fail_msg("%s: pair %zu of %zu, kind %d", sort->target, i, pairs.size(), kind);
      }
}

// What lists cost.
void memory_is_counted(void**) {
  for (const std::int64_t k : {1, 3, 17})
    for (const std::int64_t rows : {1, 5, 100}) {
      Budget budget;
      {
        NeighbourLists lists(rows, k, &budget);
        assert_int_equal(budget.held(), NeighbourLists::bytes(rows, k));
        lists.offer(rows - 1, 0.5, 3);
        assert_int_equal(budget.held(), NeighbourLists::bytes(rows, k));
      }
      assert_int_equal(budget.held(), 0);
    }
  for (const auto& [rows, k] : {std::pair{INT64_MAX / 2, std::int64_t{3}}, {std::int64_t{1} << 60, std::int64_t{1}}}) {
    knng_status code = KNNG_OK;
    try {
      NeighbourLists::bytes(rows, k);
    } catch (const Error& e) {
      code = e.code();
    }
    assert_int_equal(code, KNNG_ERR_RANGE);
  }
}

// visit() covers its rows once, in order, in pieces that no group is split by.
void visits_cover_their_rows(void**) {
  constexpr std::int64_t kRows = 2000;
  NeighbourLists lists(kRows, 1, nullptr);
  SharedLists shared(lists, kRows);
  values::Random random(9);
  for (int sample = 0; sample < 3000; ++sample) {
    const std::int64_t first = sample == 0       ? 0
                               : sample % 3 == 0 ? random.below(40) * SharedLists::kGroup
                                                 : random.below(kRows);
    const std::int64_t count = sample == 0 ? kRows : random.below(kRows - first + 1);
    std::int64_t next = first, pieces = 0;
    shared.visit(first, count, [&](NeighbourLists& visited, std::int64_t from, std::int64_t to) {
      assert_ptr_equal(&visited, &lists);
      assert_int_equal(from, next);
      assert_true(to > from && to <= first + count);
      next = to;
      ++pieces;
    });
    assert_int_equal(next, first + count);
    assert_int_equal(pieces,
                     count == 0 ? 0 : (first + count - 1) / SharedLists::kGroup - first / SharedLists::kGroup + 1);
  }
}

// Threads that visit overlapping ranges exclude each other row by row, and nothing gets lost.
void threads_share_lists(void**) {
  constexpr std::int64_t kRows = 1500, kPairs = 400, kThreads = 4, k = 5;
  NeighbourLists lists(kRows, k, nullptr);
  SharedLists shared(lists, kRows);
  std::vector<std::atomic<int>> inside(kRows);
  std::atomic<int> collisions{0};
  const auto key_of = [](std::int64_t row, std::int64_t id) { return static_cast<double>((row * 31 + id * 17) % 50); };
  std::vector<std::thread> threads;
  for (std::int64_t t = 0; t < kThreads; ++t)
    threads.emplace_back([&, t] {
      for (std::int64_t id = t; id < kPairs; id += kThreads)
        shared.visit(id % 7, kRows - 7, [&](NeighbourLists& visited, std::int64_t from, std::int64_t to) {
          for (std::int64_t row = from; row < to; ++row) {
            if (inside[static_cast<std::size_t>(row)].fetch_add(1) != 0) ++collisions;
            visited.offer(row, key_of(row, id), id);
            inside[static_cast<std::size_t>(row)].fetch_sub(1);
          }
        });
    });
  for (std::thread& t : threads) t.join();
  assert_int_equal(collisions, 0);
  for (std::int64_t row = 0; row < kRows; ++row) {
    std::vector<Pair> offered;
    for (std::int64_t id = 0; id < kPairs; ++id)
      if (row >= id % 7 && row < id % 7 + kRows - 7) offered.push_back({key_of(row, id), id});
    assert_list(lists, row, Expected(offered, k));
  }
}

// offer() takes pairs in any order, drops those that are not meant, and holds the right groups.
void offers_of_many_threads(void**) {
  constexpr std::int64_t kRows = 500, kIds = 300, kThreads = 4, k = 7;
  NeighbourLists lists(kRows, k, nullptr);
  SharedLists shared(lists, kRows);
  const auto key_of = [](std::int64_t row, std::int64_t id) { return static_cast<double>((row * 31 + id * 17) % 50); };
  const auto left_out = [](std::int64_t row, std::int64_t id) { return (row + id) % 5 == 0; };
  std::vector<std::thread> threads;
  for (std::int64_t t = 0; t < kThreads; ++t)
    threads.emplace_back([&, t] {
      std::vector<Pair> pairs;  // of a row, in `key`, and an id
      for (std::int64_t id = t; id < kIds; id += kThreads)
        for (std::int64_t row = 0; row < kRows; ++row)
          pairs.push_back({static_cast<double>((row * 7 + id) % kRows), id});
      shared.offer(pairs, [&](const Pair& pair) -> SharedLists::Offer {
        const auto row = static_cast<std::int64_t>(pair.key);
        return {left_out(row, pair.id) ? -1 : row, key_of(row, pair.id), pair.id};
      });
    });
  for (std::thread& t : threads) t.join();
  for (std::int64_t row = 0; row < kRows; ++row) {
    std::vector<Pair> offered;
    for (std::int64_t id = 0; id < kIds; ++id)
      if (!left_out(row, id)) offered.push_back({key_of(row, id), id});
    assert_list(lists, row, Expected(offered, k));
  }
}

// A list that starts with a guess holds what an open one would, unless it says that it did not fill.
void guesses_change_nothing(void**) {
  values::Random random(8);
  int filled = 0, unfilled = 0;
  for (int sample = 0; sample < 600; ++sample) {
    const std::int64_t pairs = 1 + random.below(200), k = 1 + random.below(20);
    std::vector<Pair> offered;
    for (std::int64_t i = 0; i < pairs; ++i) offered.push_back({static_cast<double>(random.below(30)), i});
    NeighbourLists lists(2, k, nullptr);
    const auto guess = static_cast<double>(random.below(sample % 2 == 0 ? 4 : 32));
    lists.seed(1, guess);
    assert_true(lists.cutoff(1) == guess);
    for (const Pair& pair : offered) lists.offer(1, pair.key, pair.id);
    const auto below = std::count_if(offered.begin(), offered.end(), [&](const Pair& p) { return p.key <= guess; });
    assert_int_equal(lists.filled(1), below >= k);
    assert_false(lists.filled(0));
    if (lists.filled(1)) {
      assert_list(lists, 1, Expected(offered, k));
      ++filled;
    } else {
      lists.clear(1);
      for (const Pair& pair : offered) lists.offer(1, pair.key, pair.id);
      assert_list(lists, 1, Expected(offered, k));
      ++unfilled;
    }
  }
  assert_true(filled > 100 && unfilled > 100);
}

}  // namespace

int main() {
  const CMUnitTest tests[] = {
      cmocka_unit_test(lists_start_empty),        cmocka_unit_test(every_order_gives_the_same_list),
      cmocka_unit_test(long_lists_equal_sorting), cmocka_unit_test(pairs_are_sorted),
      cmocka_unit_test(memory_is_counted),        cmocka_unit_test(visits_cover_their_rows),
      cmocka_unit_test(threads_share_lists),      cmocka_unit_test(offers_of_many_threads),
      cmocka_unit_test(guesses_change_nothing),
  };
  return cmocka_run_group_tests(tests, nullptr, nullptr);
}

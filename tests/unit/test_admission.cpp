// Who may be a neighbour of whom: ids and rows at the edges, parts of queries, lists of devices, and lists that begin
// with a cut-off.
#include <cstdint>
#include <vector>

#include "backend/cpu/leaf_lists.h"
#include "backend/cuda/select/list_admission.cuh"
#include "core/admission.h"
#include "merge/neighbour_lists.h"

#include "harness/cmocka.h"

using namespace libknng;

namespace {

// Against a loop over all ids.
void assert_counts(const Admission& admission, std::int64_t rows, std::int64_t columns) {
  for (std::int64_t row = 0; row < rows; ++row) {
    std::int64_t count = 0;
    for (std::int64_t id = 0; id < columns; ++id) {
      assert_int_equal(admission.admits(row, id), admission.of(row).admits(id));
      count += admission.admits(row, id);
    }
    assert_int_equal(admission.of(row).count(columns), count);
  }
}

void no_row_of_a_graph_is_its_own(void**) {
  constexpr Admission graph{.square = true};
  for (std::int64_t row = 0; row < 5; ++row)
    for (std::int64_t id = 0; id < 5; ++id) assert_int_equal(graph.admits(row, id), row != id);
  assert_counts(graph, 5, 5);
  assert_counts(graph, 5, 3);  // rows beyond the columns lose none
}

void queries_leave_out_one_id_or_none(void**) {
  const std::vector<std::int64_t> ids = {-1, 0, 6, 7, 3};
  const Admission all, some{.leave_out = ids.data()};
  assert_counts(all, 5, 7);
  assert_counts(some, 5, 7);
  assert_int_equal(all.of(2).count(7), 7);
  assert_int_equal(some.of(0).count(7), 7);
  assert_int_equal(some.of(1).count(7), 6);
  assert_int_equal(some.of(3).count(7), 7);  // 7 is no column
  assert_true(!some.admits(2, 6) && some.admits(2, 2) && some.admits(0, 0));
  for (std::int64_t row = 0; row < 3; ++row) assert_int_equal(some.from(2).of(row).excluded, ids[2 + row]);
  assert_int_equal(all.from(2).of(0).excluded, -1);
}

void some_rows_keep_their_rules(void**) {
  const std::vector<std::int64_t> ids = {-1, 0, 6, 7, 3}, listed = {4, 0, 2};
  const Admission graph{.square = true}, some{.leave_out = ids.data()};
  for (std::int64_t place = 0; place < 3; ++place) {
    assert_int_equal(graph.picked(listed.data()).of(place).excluded, listed[place]);
    assert_int_equal(some.picked(listed.data()).of(place).excluded, ids[listed[place]]);
  }
}

// Two threads take turns at pairs of elements.
template <unsigned kThread>
struct Pairs {
  static constexpr unsigned step = 16;
  static unsigned bit(unsigned place) { return place / 2 % 2 == kThread ? 1U << (place / 4 * 2 + place % 2) : 0; }
  static unsigned place(unsigned j) { return j / 2 * 4 + kThread * 2 + j % 2; }
};

template <class Batches>
void assert_batches(const cuda::ElementAdmission& admission) {
  for (unsigned start = 0; start < 64; start += Batches::step)
    for (const unsigned mask : {0xffU, 0xa5U, 0U}) {
      const unsigned left = admission.admitted<Batches>(mask, start);
      for (unsigned j = 0; j < 8; ++j) {
        const bool there = (mask >> j & 1) != 0;
        assert_int_equal(left >> j & 1, there && admission.admits(start + Batches::place(j)));
      }
    }
}

// Elements of a tile by what their ids are, those before and behind it and wrapped ones among them.
void lists_on_devices_ask_by_element(void**) {
  constexpr std::uint32_t kNobody = ~0U, first_id = 4'000'000'000U;
  const std::vector<std::uint32_t> excluded = {first_id, first_id + 63, first_id - 1, first_id + 64, kNobody, 0};
  const cuda::ListAdmission none, some{excluded.data()};
  assert_true(none.admits_all() && none.from(3).admits_all() && !some.admits_all());
  for (int list = 0; list < 6; ++list)
    for (const int from : {0, list}) {
      const cuda::ElementAdmission admission = some.from(from).of(list - from, first_id);
      const std::uint32_t id = excluded[static_cast<std::size_t>(list)];
      for (std::uint32_t e = 0; e < 64; ++e) {
        assert_int_equal(admission.admits(e), first_id + e != id);
        assert_true(none.of(list, first_id).admits(e) && cuda::ElementAdmission().admits(e));
      }
      assert_batches<Pairs<0>>(admission);
      assert_batches<Pairs<1>>(admission);
      assert_batches<Pairs<0>>(none.of(list, first_id));
    }
}

// Pairs with the cut-off's key still belong, larger ones never do, whether lists are short or long; short lists of
// leaves are in test_tree.cpp.
void lists_begin_with_a_cutoff(void**) {
  for (const std::int64_t k : {1, 20, 40, 100}) {
    NeighbourLists lists(2, k, nullptr, 10.0);
    LeafLists of_leaf(k, nullptr);
    of_leaf.clear(10.0, kTreeLeaf);
    NeighbourLists to(1, k, nullptr);
    for (std::int64_t id = 299; id >= 0; --id) {
      const double key = static_cast<double>(id % 30);
      lists.offer(0, key, id);
      if (!of_leaf.are_short()) of_leaf.offer(0, {key, id});
    }
    of_leaf.hand_over(0, to, 0);
    assert_true(lists.cutoff(1) == 10.0);
    const std::int64_t below = 11 * 10 < k ? 11 * 10 : k;  // keys 0 to 10, ten of each
    for (const Neighbour* list : {lists.sort(0), of_leaf.are_short() ? lists.sort(0) : to.sort(0)})
      for (std::int64_t i = 0; i < k; ++i) {
        const bool there = i < below;
        assert_int_equal(list[i].id, there ? i % 10 * 30 + i / 10 : kNoNeighbour.id);
        assert_true(list[i].key == (there ? static_cast<double>(i / 10) : kNoNeighbour.key));
      }
    lists.clear(1);
    lists.offer(1, 10.5, 0);
    lists.offer(1, 10.0, 1);
    const Neighbour* const list = lists.sort(1);
    assert_true(list[0].id == 1 && list[0].key == 10.0);
  }
  assert_true(Admission().first_cutoff() == kNoNeighbour.key);
}

}  // namespace

int main() {
  const CMUnitTest tests[] = {
      cmocka_unit_test(no_row_of_a_graph_is_its_own), cmocka_unit_test(queries_leave_out_one_id_or_none),
      cmocka_unit_test(some_rows_keep_their_rules),   cmocka_unit_test(lists_on_devices_ask_by_element),
      cmocka_unit_test(lists_begin_with_a_cutoff),
  };
  return cmocka_run_group_tests(tests, nullptr, nullptr);
}

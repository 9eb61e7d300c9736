// Arrays cut from one block (backend/cuda/base/array_block.cuh): none overlaps another, and what is given back in any
// order is room again.
#include "backend/cuda/base/array_block.cuh"

#include <algorithm>
#include <vector>

#include "harness/cmocka.h"
#include "tests/unit/values.h"

namespace {

using libknng::cuda::ArrayBlock;

struct Array {
  std::byte* memory;
  std::int64_t bytes;
};

bool overlap(const Array& a, const Array& b) { return a.memory < b.memory + b.bytes && b.memory < a.memory + a.bytes; }

void arrays_lie_beside_each_other(void**) {
  constexpr std::int64_t all = 100'000;
  std::vector<std::byte> memory(all);
  ArrayBlock block(memory.data(), all);
  std::vector<Array> held;
  std::int64_t bytes_held = 0;
  values::Random random(1);
  for (int step = 0; step < 20'000; ++step) {
    if (random.next() % 5 < 3) {
      const auto bytes = static_cast<std::int64_t>(1 + random.next() % 9'000);
      auto* const array = static_cast<std::byte*>(block.take(bytes));
      if (!array) {
        // No range is that long: there are no more of them than arrays and one.
        assert_true((all - bytes_held) / static_cast<std::int64_t>(held.size() + 1) < bytes);
        continue;
      }
      const Array taken{array, bytes};
      assert_true(array >= memory.data() && array + bytes <= memory.data() + all);
      for (const Array& other : held) assert_false(overlap(taken, other));
      held.push_back(taken);
      bytes_held += bytes;
    } else if (!held.empty()) {
      const auto which = static_cast<std::ptrdiff_t>(random.next() % held.size());
      const Array given = held[static_cast<std::size_t>(which)];
      assert_true(block.give(given.memory, given.bytes));
      bytes_held -= given.bytes;
      held.erase(held.begin() + which);
    }
  }
  while (!held.empty()) {
    assert_true(block.give(held.front().memory, held.front().bytes));
    held.erase(held.begin());
  }
  assert_ptr_equal(block.take(all), memory.data());
  assert_null(block.take(1));
}

void other_arrays_are_not_its_own(void**) {
  std::vector<std::byte> memory(256), other(256);
  ArrayBlock block(memory.data(), 128);
  assert_false(block.give(other.data(), 16));
  assert_false(block.give(memory.data() + 128, 16));
  ArrayBlock none;
  assert_null(none.take(1));
  assert_false(none.give(other.data(), 16));
}

}  // namespace

int main() {
  const CMUnitTest tests[] = {
      cmocka_unit_test(arrays_lie_beside_each_other),
      cmocka_unit_test(other_arrays_are_not_its_own),
  };
  return cmocka_run_group_tests(tests, nullptr, nullptr);
}

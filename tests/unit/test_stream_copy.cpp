// Copies past the caches: short ones of every length, at many places, with every instruction set of this processor;
// nothing beside them is written.
#include <algorithm>
#include <cstddef>
#include <vector>

#include "exec/rows/stream_copy.h"
#include "values.h"

#include "harness/cmocka.h"

using namespace libknng;

namespace {

constexpr std::byte kUntouched{0xA5};

void copies(const StreamCopy& copy, std::size_t ahead_of_to, std::size_t ahead_of_from, std::size_t bytes) {
  values::Random random(static_cast<unsigned>(bytes + 1));
  std::vector<std::byte> from(ahead_of_from + bytes), to(ahead_of_to + bytes + 64, kUntouched);
  for (std::byte& b : from) b = static_cast<std::byte>(random.below(256));
  copy.run(to.data() + ahead_of_to, from.data() + ahead_of_from, static_cast<std::int64_t>(bytes));
  const auto begin = to.begin() + static_cast<std::ptrdiff_t>(ahead_of_to);
  const auto end = begin + static_cast<std::ptrdiff_t>(bytes);
  const auto untouched = [](std::byte b) { return b == kUntouched; };
  assert_true(std::all_of(to.begin(), begin, untouched));
  assert_true(std::equal(begin, end, from.begin() + static_cast<std::ptrdiff_t>(ahead_of_from)));
  assert_true(std::all_of(end, to.end(), untouched));
}

void all_lengths_and_places(void**) {
  for (const StreamCopy* copy : stream_copies()) {
    for (std::size_t bytes = 0; bytes < 300; ++bytes)
      for (std::size_t to = 0; to < 64; to += 1 + bytes % 3) copies(*copy, to, bytes % 7, bytes);
    copies(*copy, 3, 5, (std::size_t{3} << 20) + 17);
  }
}

}  // namespace

int main() {
  const CMUnitTest tests[] = {
      cmocka_unit_test(all_lengths_and_places),
  };
  return cmocka_run_group_tests(tests, nullptr, nullptr);
}

// The hash of a row: that of xxhash.h for the baseline, whatever vectors it is found with; -0 is 0.
#include <cstdint>
#include <vector>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "dataset/fingerprint.h"
#include "values.h"

#include "harness/cmocka.h"

using namespace libknng;

namespace {

void all_lengths_have_the_baseline_hash(void**) {
  values::Random random(31);
  for (std::int64_t dim = 1; dim < 600; ++dim) {
    std::vector<double> row;
    for (std::int64_t t = 0; t < dim; ++t)
      row.push_back(t % 7 == 0 ? 0.0 : static_cast<double>(static_cast<float>(random.uniform() - 0.5)));
    const std::uint64_t expected = XXH3_64bits(row.data(), row.size() * sizeof(double));
    for (std::size_t t = 0; t < row.size(); t += 14) row[t] = -0.0;
    const std::vector<float> stored(row.begin(), row.end());
    std::vector<double> values(row.size());
    assert_int_equal(row_hash(stored.data(), dim, values.data()), expected);
    assert_int_equal(row_hash(row.data(), dim), expected);
  }
}

}  // namespace

int main() {
  const CMUnitTest tests[] = {
      cmocka_unit_test(all_lengths_have_the_baseline_hash),
  };
  return cmocka_run_group_tests(tests, nullptr, nullptr);
}

// The word that somebody may have meant.
#include <string>

#include "core/nearest_word.h"

#include "harness/cmocka.h"

using namespace libknng;

namespace {

constexpr const char* kWords = "euclidean, cosine, inner_product, union:mean, l2";

void expect(const char* given, const char* meant) {
  const std::string expected = *meant ? std::string("; did you mean '") + meant + "'?" : "";
  assert_string_equal(did_you_mean(given, kWords).c_str(), expected.c_str());
}

void words_that_are_near(void**) {
  expect("euclidian", "euclidean");  // another letter
  expect("cosin", "cosine");         // one less
  expect("cossine", "cosine");       // one more
  expect("csoine", "cosine");        // two swapped
  expect("COSIN", "cosine");         // in capitals
  expect("inner-product", "inner_product");
  expect("union:meen", "union:mean");
  expect("euc", "euclidean");  // its beginning
}

void words_that_are_not(void**) {
  expect("", "");
  expect("l3", "");  // every word of two letters is near to it
  expect("frob", "");
  expect("cosinecosine", "");
  expect(std::string(64, 'c').c_str(), "");
  expect(std::string(65, 'c').c_str(), "");
  assert_string_equal(did_you_mean("cosine", "").c_str(), "");
  assert_string_equal(did_you_mean("cosine", std::string(100, 'c')).c_str(), "");
  const std::string longest(64, 'x');
  assert_string_equal(did_you_mean(longest.substr(1), longest).c_str(), ("; did you mean '" + longest + "'?").c_str());
}

}  // namespace

int main() {
  const struct CMUnitTest tests[] = {cmocka_unit_test(words_that_are_near), cmocka_unit_test(words_that_are_not)};
  return cmocka_run_group_tests(tests, nullptr, nullptr);
}

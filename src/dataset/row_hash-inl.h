// The hash of a row, with the instructions of the file that includes this: xxhash.h takes the widest vectors that the
// compiler may use. Every width gives the same hash.
#include <cstddef>
#include <cstdint>

#define XXH_INLINE_ALL  // xxhash.h asks for it: the functions become ours, no library is linked
#include <xxhash.h>

namespace libknng {
namespace {

// values: what is hashed; may be the row itself.
template <class Value>
inline std::uint64_t hash_row(const Value* row, std::int64_t dim, double* values) noexcept {
  for (std::int64_t t = 0; t < dim; ++t) values[t] = row[t] + 0.0;  // -0 + 0 = +0
  return XXH3_64bits(values, static_cast<std::size_t>(dim) * sizeof(double));
}

}  // namespace
}  // namespace libknng

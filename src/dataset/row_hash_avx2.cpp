// Compiled for AVX2 where the processor's family has it (src/CMakeLists.txt): no header with functions that other files
// share may be included here.
#ifdef __x86_64__

#include "dataset/row_hash-inl.h"

namespace libknng {

std::uint64_t row_hash_avx2(const double* row, std::int64_t dim, double* values) noexcept {
  return hash_row(row, dim, values);
}
std::uint64_t row_hash_avx2(const float* row, std::int64_t dim, double* values) noexcept {
  return hash_row(row, dim, values);
}

}  // namespace libknng

#endif

#include "core/hwy_targets.h"
#include "dataset/fingerprint.h"
#include "dataset/row_hash-inl.h"

namespace libknng {

#ifdef __x86_64__
std::uint64_t row_hash_avx2(const double* row, std::int64_t dim, double* values) noexcept;
std::uint64_t row_hash_avx2(const float* row, std::int64_t dim, double* values) noexcept;
#endif

namespace {

template <class Value>
std::uint64_t best_hash(const Value* row, std::int64_t dim, double* values) noexcept {
  static constexpr SimdVariant<std::uint64_t(const Value*, std::int64_t, double*) noexcept> kVariants[] = {
#ifdef __x86_64__
      {SimdTarget::avx2, row_hash_avx2},
#endif
      {SimdTarget::baseline, hash_row<Value>}};
  static auto* const best = best_simd_variant(kVariants);
  return best(row, dim, values);
}

}  // namespace

std::uint64_t row_hash(double* values, std::int64_t dim) noexcept { return best_hash(values, dim, values); }

std::uint64_t row_hash(const float* row, std::int64_t dim, double* values) noexcept {
  return best_hash(row, dim, values);
}

}  // namespace libknng

// The arithmetic of what lists accept: in fp32, as products of fp16 are, or in int32, as those of bytes are. Device
// code alone; knows nothing of lists.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>
#include <limits>

#include "backend/cuda/fused/fused_job.cuh"
#include "backend/cuda/select/integer_terms.h"
#include "backend/cuda/select/key.cuh"
#include "plan/integer_products.h"

namespace libknng::cuda::fused {

// Values beyond all others.
template <class Number>
struct LimitRange;
template <>
struct LimitRange<float> {
  static __device__ float no_term() { return infinity(); }       // of a place without a point
  static __device__ float no_threshold() { return infinity(); }  // no pair reaches it
};
template <>
struct LimitRange<std::int32_t> {
  static constexpr std::int32_t kAnyThreshold = -1'650'000'000;  // every pair reaches it
  static constexpr std::int32_t kNoThreshold = 1'100'000'000;    // no pair reaches it
  static __device__ std::int32_t no_term() { return kNoIntegerTerm; }
  static __device__ std::int32_t no_threshold() { return kNoThreshold; }

  // Terms of bytes are from 0 to T, and products from -T to T. So 2 acc - t_j is from -3 T to 2 T, and no sum of a
  // threshold and a term leaves int32. Lows fit, as keys do (plan/integer_products.h).
  static constexpr std::int64_t kLargestTerm = kIntegerProductsTo * 128 * 128, kMost = (std::int64_t{1} << 31) - 1;
  static_assert(kAnyThreshold < -3 * kLargestTerm && kNoThreshold > 2 * kLargestTerm);
  static_assert(kNoIntegerTerm > kLargestTerm && 2 * kLargestTerm + kNoIntegerTerm < kMost);
  static_assert(std::int64_t{kNoThreshold} + kNoIntegerTerm < kMost);
  // Of rows rounded to bytes (select/integer_terms.h) 2 acc and terms are no larger, but for a term that may be the
  // unknown.
  static_assert(kLargestRoundedTerm - kUnknownIntegerTerm < kNoThreshold);
  static_assert(kAnyThreshold < -kLargestRoundedTerm - kNoIntegerTerm);
  static_assert(std::int64_t{kAnyThreshold} + kUnknownIntegerTerm > -kMost);
};

// A term as jobs have it: integers by their bits.
template <class Number>
__device__ Number term_at(const float* terms, int i);
template <>
__device__ inline float term_at<float>(const float* terms, int i) {
  return terms[i];
}
template <>
__device__ inline std::int32_t term_at<std::int32_t>(const float* terms, int i) {
  return __float_as_int(terms[i]);
}

__device__ inline ListLimit<float> limit_of(float term, float cutoff) { return {term, __fsub_rd(term, cutoff)}; }
// Lows are integers: those that are not above C are not above the integer below it.
__device__ inline ListLimit<std::int32_t> limit_of(std::int32_t term, float cutoff) {
  using Range = LimitRange<std::int32_t>;
  if (term == kNoIntegerTerm) return {term, Range::no_threshold()};
  const std::int64_t difference = std::int64_t{term} - __float2int_rd(cutoff);
  const std::int64_t least = max(difference, std::int64_t{Range::kAnyThreshold});
  return {term, static_cast<std::int32_t>(min(least, std::int64_t{Range::no_threshold()}))};
}

// What is compared with a list's threshold: of a pair's product, and of the term of the other.
__device__ __forceinline__ float excess(float product, float term) { return __fmaf_rn(2.0F, product, -term); }
__device__ __forceinline__ std::int32_t excess(std::int32_t product, std::int32_t term) { return 2 * product - term; }

// Of a pair of which nothing is known the term is -inf, and its excess reaches whatever there is.
template <class Number>
__device__ __forceinline__ bool wants(const ListLimit<Number>& list, Number product, Number other_term) {
  return list.threshold < LimitRange<Number>::no_threshold() && excess(product, other_term) >= list.threshold;
}

// Twice what a product must not be below: RD(threshold + term) <= threshold + term.
__device__ __forceinline__ float twice_needed(float threshold, float term) { return __fadd_rd(threshold, term); }
__device__ __forceinline__ std::int32_t twice_needed(std::int32_t threshold, std::int32_t term) {
  return threshold + term;
}
__device__ __forceinline__ float half_of_needed(float twice) { return __fmul_rd(0.5F, twice); }
__device__ __forceinline__ std::int32_t half_of_needed(std::int32_t twice) { return (twice + 1) >> 1; }  // rounded up

// The low of a pair: of integers rounded down.
__device__ __forceinline__ float pair_low(float product, float term, float other) {
  return __fmaf_rn(-2.0F, product, __fadd_rn(term, other));
}
__device__ __forceinline__ float pair_low(std::int32_t product, std::int32_t term, std::int32_t other) {
  const bool none = max(term, other) == kNoIntegerTerm;
  return none ? infinity() : __int2float_rd(term + other - 2 * product);
}

}  // namespace libknng::cuda::fused

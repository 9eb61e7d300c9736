// A candidate as one integer whose order is that of (low, id). Ids of a list differ, so do its keys: selection among
// keys never meets a tie.
#pragma once

#include <cstdint>

#include "backend/cuda/select/select.cuh"

namespace libknng::cuda {

using Key = unsigned long long;

__device__ inline float infinity() { return __int_as_float(0x7f800000); }

// Floats as integers in the same order; -0 before +0.
__device__ inline std::uint32_t ordered(float x) {
  const std::uint32_t bits = __float_as_uint(x);
  return bits ^ ((bits >> 31) != 0 ? 0xffffffffU : 0x80000000U);
}
__device__ inline float from_ordered(std::uint32_t x) {
  return __uint_as_float(x ^ ((x >> 31) != 0 ? 0x80000000U : 0xffffffffU));
}

// The smallest float above x (not NaN): x <= a is x < next_up(a), but for +inf, which is its own.
__device__ inline float next_up(float x) {
  if (x == 0) return __uint_as_float(1);
  return x == infinity() ? x : from_ordered(ordered(x) + 1);
}

__device__ inline Key make_key(float low, std::uint32_t id) { return Key{ordered(low)} << 32 | id; }
__device__ inline Key make_key(Candidate c) { return make_key(c.low, c.id); }
__device__ inline float low_of(Key key) { return from_ordered(static_cast<std::uint32_t>(key >> 32)); }
__device__ inline Candidate candidate(Key key) { return {low_of(key), static_cast<std::uint32_t>(key)}; }

}  // namespace libknng::cuda

// What the chip approximates for sum terms (refine/sum_terms.h), each one instruction or few. The PTX ISA (sections
// rcp, lg2, ex2) has the errors that refine/sum_bound.h allows for; tests/gpu/test_sum_tile.cu goes through all floats.
// Knows nothing of terms.
#pragma once

namespace libknng::cuda {

struct DeviceUnits {
  // x in [2^-126, 2^125]: |error| <= 2^-22 / x.
  static __device__ inline float reciprocal(float x) {
    float y;
    asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
    return y;
  }
  // x >= 0, denormals as they are: |error| <= 2^-22 (1 + |log2 x|); 0: -inf.
  static __device__ inline float log2(float x) {
    float y;
    asm("lg2.approx.f32 %0, %1;" : "=f"(y) : "f"(x));
    return y;
  }
  // x < 128: |error| <= 2^-22 2^x + 2^-126.
  static __device__ inline float exp2(float x) {
    float y;
    asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
    return y;
  }
};

}  // namespace libknng::cuda

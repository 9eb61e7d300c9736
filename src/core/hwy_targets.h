// Which SIMD targets the CPU kernels are compiled for, and which of them this processor can run.
//
// Include this before any Highway header, in every file that uses Highway: Highway reads its list of targets once.
//   - x86-64: the baseline of the compiler's flags, AVX2 and AVX-512 (Highway's AVX3; not where KNNG_WITHOUT_AVX512 is
//     defined). Without flags the baseline is one lane (HWY_SCALAR; HWY_EMU128 from gcc 12.3 on and with clang).
//   - elsewhere: the static target only, and never one whose vectors have no size at compile time (SVE, RVV), because
//     kernels keep vectors in structs and arrays.
// Highway's own dispatch needs its shared library; this table does not, so libhwy is never linked. Dispatch is one
// table look-up outside all loops. It must not know what the kernels compute.
#ifndef KNNG_CORE_HWY_TARGETS_H
#define KNNG_CORE_HWY_TARGETS_H

#ifdef HIGHWAY_HWY_DETECT_TARGETS_H_
#error "include core/hwy_targets.h before any Highway header"
#endif

#if defined(__x86_64__) && defined(KNNG_WITHOUT_AVX512)
#define HWY_DISABLED_TARGETS (HWY_SSSE3 | HWY_SSE4 | HWY_AVX3 | HWY_AVX3_DL)
#elif defined(__x86_64__)
#define HWY_DISABLED_TARGETS (HWY_SSSE3 | HWY_SSE4 | HWY_AVX3_DL)
#else
#define HWY_COMPILE_ONLY_STATIC
#define HWY_DISABLED_TARGETS (HWY_SVE | HWY_SVE2 | HWY_SVE_256 | HWY_SVE2_128 | HWY_RVV)
#endif

// Its assertions in builds without optimisation would call that library.
#define HWY_IS_DEBUG_BUILD 0

#include <hwy/detect_targets.h>

#include <cstddef>
#include <span>

namespace libknng {

enum class SimdTarget { baseline, avx2, avx512 };

inline const char* simd_target_name(SimdTarget target) {
  switch (target) {
    case SimdTarget::avx512: return "avx512";
    case SimdTarget::avx2: return "avx2";
    case SimdTarget::baseline: break;
  }
  return "baseline";
}

// Whether this processor and its operating system run code of that target. AVX2 and AVX3 mean to Highway everything
// that gcc may emit inside their regions (HWY_TARGET_STR_AVX2 and _AVX3 in hwy/ops/set_macros-inl.h, there since 1.0.5
// with AVX512CD), hence the list; every processor with AVX2 and FMA has F16C.
inline bool simd_target_supported(SimdTarget target) {
  if (target == SimdTarget::baseline) return true;
#ifdef __x86_64__
  __builtin_cpu_init();
  const bool avx2 = __builtin_cpu_supports("sse4.2") && __builtin_cpu_supports("pclmul") &&
                    __builtin_cpu_supports("aes") && __builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi") &&
                    __builtin_cpu_supports("bmi2") && __builtin_cpu_supports("fma");
  if (target == SimdTarget::avx2) return avx2;
  return avx2 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512cd") &&
         __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512bw");
#else
  return false;
#endif
}

// One compiled variant of a kernel. A table of them stands best first and ends with what the flags allow everywhere.
template <class Function>
struct SimdVariant {
  SimdTarget target;
  Function* run;
};

// The best variant that runs here. The last entry is the fallback and is not asked.
template <class Function, std::size_t N>
Function* best_simd_variant(const SimdVariant<Function> (&table)[N]) {
  for (std::size_t i = 0; i + 1 < N; ++i) {
    if (simd_target_supported(table[i].target)) return table[i].run;
  }
  return table[N - 1].run;
}

// The variants that run here, best first, of kernels that are a struct of functions each.
template <class Kernels, std::size_t N>
class SupportedVariants {
 public:
  explicit SupportedVariants(const SimdVariant<const Kernels*()> (&table)[N]) {
    for (const auto& variant : table)
      if (simd_target_supported(variant.target)) kernels_[count_++] = variant.run();
  }
  std::span<const Kernels* const> list() const noexcept { return {kernels_, count_}; }

 private:
  const Kernels* kernels_[N] = {};
  std::size_t count_ = 0;
};

}  // namespace libknng

// The entries of a kernel's table, for a function that was defined in `namespace HWY_NAMESPACE` under foreach_target.h;
// use it in the HWY_ONCE part, inside the namespace that encloses HWY_NAMESPACE. (A macro, because only the
// preprocessor knows the targets' namespaces.)
//   constexpr SimdVariant<void(const double*, double*)> kVariants[] = {KNNG_SIMD_VARIANTS(run_tile)};
#if HWY_TARGETS & HWY_AVX3
#define KNNG_SIMD_AVX512(function) {::libknng::SimdTarget::avx512, &N_AVX3::function},
#else
#define KNNG_SIMD_AVX512(function)
#endif
#if HWY_TARGETS & HWY_AVX2
#define KNNG_SIMD_AVX2(function) {::libknng::SimdTarget::avx2, &N_AVX2::function},
#else
#define KNNG_SIMD_AVX2(function)
#endif
#if HWY_STATIC_TARGET == HWY_AVX3 || HWY_STATIC_TARGET == HWY_AVX2
#define KNNG_SIMD_BASELINE(function)
#else
#define KNNG_SIMD_BASELINE(function) {::libknng::SimdTarget::baseline, &HWY_STATIC_DISPATCH(function)},
#endif
#define KNNG_SIMD_VARIANTS(function) KNNG_SIMD_AVX512(function) KNNG_SIMD_AVX2(function) KNNG_SIMD_BASELINE(function)

#endif  // KNNG_CORE_HWY_TARGETS_H

// Rows in device memory as their metric's canonical rows u: exact conversion of a stored value to fp64 and the
// transform of canonical-key.md, made where a kernel needs it, so that no fp64 copy of the data is held. Types and
// transforms are chosen on the host: kernels take a RowSource. Integers of 16 bits and more are one type to them, so
// that they are compiled for it once. Knows nothing of pairs of rows.
#pragma once

#include <cuda_fp16.h>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "backend/cuda/rows/rows.cuh"
#include "core/dtype.h"
#include "metric/ops.h"

namespace libknng::cuda {

// Integers of 16 bits and more, told apart when they are read. What 64 bits without sign hold beyond those with one is
// read as the largest of these: invalid as well.
struct IntegerPointer {
  const std::byte* data;
  std::int32_t dtype;

  __device__ IntegerPointer operator+(std::int64_t n) const { return {data + n * dtype_bytes(dtype), dtype}; }
  __device__ std::int64_t operator[](std::int64_t i) const {
    switch (dtype) {
      case KNNG_I16: return reinterpret_cast<const std::int16_t*>(data)[i];
      case KNNG_U16: return reinterpret_cast<const std::uint16_t*>(data)[i];
      case KNNG_I32: return reinterpret_cast<const std::int32_t*>(data)[i];
      case KNNG_U32: return reinterpret_cast<const std::uint32_t*>(data)[i];
      case KNNG_I64: return reinterpret_cast<const std::int64_t*>(data)[i];
      default: {
        constexpr std::uint64_t most = std::numeric_limits<std::int64_t>::max();
        const std::uint64_t x = reinterpret_cast<const std::uint64_t*>(data)[i];
        return static_cast<std::int64_t>(x < most ? x : most);
      }
    }
  }
};

// What kernels take elements of type T for: bools, which are valid, for bytes.
template <class T>
using AsRead = std::conditional_t<std::is_same_v<T, Bool>, std::uint8_t,
                                  std::conditional_t<std::is_integral_v<T> && sizeof(T) >= 2, std::int64_t, T>>;

template <class T>
using Elements = std::conditional_t<std::is_same_v<T, std::int64_t>, IntegerPointer, const T*>;
template <class T>
__host__ __device__ inline Elements<T> elements(const void* data, std::int32_t dtype) {
  if constexpr (std::is_same_v<T, std::int64_t>)
    return {static_cast<const std::byte*>(data), dtype};
  else
    return static_cast<const T*>(data);
}

// Calls f with a null pointer of what elements are read as.
template <class F>
void visit_read_type(std::int32_t dtype, F&& f) {
  visit_row_dtype(dtype, [&](auto* tag) {
    using T = std::remove_cv_t<std::remove_pointer_t<decltype(tag)>>;
    f(static_cast<const AsRead<T>*>(nullptr));
  });
}

// Every valid value fits fp64; as floats those are read whose types single precision holds, but for integers of 16
// bits.
__device__ inline double exact(double x) { return x; }
__device__ inline float exact(float x) { return x; }
__device__ inline float exact(Half x) { return __half2float(__ushort_as_half(x.bits)); }
__device__ inline float exact(BFloat x) { return __uint_as_float(static_cast<std::uint32_t>(x.bits) << 16); }
__device__ inline float exact(std::uint8_t x) { return x; }
__device__ inline float exact(std::int8_t x) { return x; }
__device__ inline double exact(std::int64_t x) { return static_cast<double>(x); }
__device__ inline double exact(std::int16_t x) { return x; }  // ranks
__device__ inline double exact(std::int32_t x) { return x; }

// The three transforms to unit vectors are one formula with different constants.
constexpr Transform formula(Transform t) { return has_directions(t) ? Transform::unit : t; }

// sqrt(x) correctly rounded, without the branches of the one for all of fp64, which keep several from being in flight
// at once. From the unit's approximation r (1 + e), which reads the upper half of x and gives that of the result,
// Goldschmidt's step makes root and half of the reciprocal root good to 1.5 e^2, and the first correction a root good
// to its last place: so the second one's remainder is exact, and what it adds is off by some 2^-53 e^2 of the root. The
// root of no x of 24 bits is nearer than 2^-77 of itself to the middle of two numbers (all mantissas were looked at),
// so any unit with e below 2^-14 will do. gpu.canonical compares every float. x is finite and not negative.
__device__ inline double sqrt_of_single(float x) {
  const double exact_x = static_cast<double>(x);
  double r;
  asm("rsqrt.approx.ftz.f64 %0, %1;" : "=d"(r) : "d"(exact_x));
  // Of 0 and -0 the largest finite numbers instead of infinities: times 0 or -0 they are that.
  const int high = static_cast<int>(umin(static_cast<unsigned>(__double2hiint(r)), 0x7fefffffu));
  double h = __hiloint2double(high - (1 << 20), 0), g = ScalarOps::mul(exact_x, __hiloint2double(high, 0));
  const double off = ScalarOps::fma(-g, h, 0.5);
  g = ScalarOps::fma(g, off, g);
  h = ScalarOps::fma(h, off, h);
  g = ScalarOps::fma(ScalarOps::fma(-g, g, exact_x), h, g);
  return ScalarOps::fma(ScalarOps::fma(-g, g, exact_x), h, g);
}

// As apply_transform() of metric/canonical.cpp, for one value.
template <Transform kFormula>
__device__ inline double canonical_value(const RowConstants& c, double x) {
  if constexpr (kFormula == Transform::identity) {
    return x;
  } else if constexpr (kFormula == Transform::square_root) {
    return ScalarOps::sqrt(x);
  } else if constexpr (kFormula == Transform::share) {
    return ScalarOps::div(x, c.factor);
  } else {
    const double scaled = ScalarOps::mul(ScalarOps::mul(ScalarOps::sub(x, c.mean), c.scale_a), c.scale_b);
    return c.factor == 0 ? 0.0 : ScalarOps::mul(scaled, c.factor);
  }
}

// The same for a stored value as it is read.
template <Transform kFormula, class Exact>
__device__ inline double canonical_of_stored(const RowConstants& c, Exact x) {
  if constexpr (kFormula == Transform::square_root && std::is_same_v<Exact, float>)
    return sqrt_of_single(x);
  else
    return canonical_value<kFormula>(c, static_cast<double>(x));
}

// How far apart the elements of a row are; nothing is kept of elements that follow each other.
struct Apart {
  std::int64_t elements;
};
struct Adjacent {
  static constexpr std::int64_t elements = 1;
};

// One row: u[t]. Copied into registers.
template <class T, Transform kFormula, class Stride = Apart>
struct SourceRow {
  Elements<T> x;
  [[no_unique_address]] Stride stride;
  RowConstants constants;

  __device__ double stored(std::int64_t t) const { return static_cast<double>(exact(x[t * stride.elements])); }
  __device__ double operator[](std::int64_t t) const { return value(loaded(t)); }
  // u[t] in two steps: what memory has, and what it means.
  __device__ T loaded(std::int64_t t) const { return x[t * stride.elements]; }
  __device__ double value(T stored) const { return canonical_of_stored<kFormula>(constants, exact(stored)); }
};

// What kernels are instantiated with.
template <class T, Transform kFormula>
struct RowSource {
  static_assert(kFormula == formula(kFormula));
  using Element = T;
  static constexpr Transform kTransform = kFormula;
  static constexpr bool kConstants = has_constants(kFormula), kDirections = has_directions(kFormula);

  Elements<T> data;
  std::int64_t row_stride, col_stride;
  const RowConstants* constants;

  __device__ SourceRow<T, kFormula> row(std::int64_t i) const {
    return {data + i * row_stride, {col_stride}, kConstants ? constants[i] : RowConstants{}};
  }
  // Of rows whose elements are adjacent.
  __device__ SourceRow<T, kFormula, Adjacent> packed_row(std::int64_t i) const {
    return {data + i * row_stride, {}, kConstants ? constants[i] : RowConstants{}};
  }
  // Other rows of the same type and transform.
  void point_at(const CanonicalView& view) {
    const bool ranks = view.transform == Transform::rank_unit;
    const void* const of_ranks = view.short_ranks ? static_cast<const void*>(view.short_ranks) : view.long_ranks;
    data = elements<T>(ranks ? of_ranks : view.rows.data, view.rows.dtype);
    row_stride = ranks ? view.rows.dim : view.rows.row_stride;
    col_stride = ranks ? 1 : view.rows.col_stride;
    constants = view.constants;
  }
  // Whether the row has no direction: its keys are kNoDirectionKey.
  __device__ bool directionless(std::int64_t i) const { return kDirections && constants[i].factor == 0; }
};

// Calls f with the RowSource of the rows as stored, without transform.
template <class F>
void visit_stored(const DeviceRows& rows, F&& f) {
  visit_read_type(rows.dtype, [&]<class T>(const T*) {
    f(RowSource<T, Transform::identity>{elements<T>(rows.data, rows.dtype), rows.row_stride, rows.col_stride, nullptr});
  });
}

// Calls f with the view's RowSource.
template <class F>
void visit_source(const CanonicalView& view, F&& f) {
  const DeviceRows& rows = view.rows;
  if (view.transform == Transform::rank_unit) {
    if (view.short_ranks)
      f(RowSource<std::int16_t, Transform::unit>{view.short_ranks, rows.dim, 1, view.constants});
    else
      f(RowSource<std::int32_t, Transform::unit>{view.long_ranks, rows.dim, 1, view.constants});
    return;
  }
  visit_read_type(rows.dtype, [&]<class T>(const T*) {
    const auto call = [&]<Transform kFormula>(std::integral_constant<Transform, kFormula>) {
      f(RowSource<T, kFormula>{elements<T>(rows.data, rows.dtype), rows.row_stride, rows.col_stride, view.constants});
    };
    switch (formula(view.transform)) {
      case Transform::identity: return call(std::integral_constant<Transform, Transform::identity>());
      case Transform::square_root: return call(std::integral_constant<Transform, Transform::square_root>());
      case Transform::share: return call(std::integral_constant<Transform, Transform::share>());
      default: return call(std::integral_constant<Transform, Transform::unit>());
    }
  });
}

}  // namespace libknng::cuda

// Which types of 8 bits hold the values of rows, and rows packed as them.
#include <cmath>
#include <cstring>
#include <limits>
#include <memory>
#include <vector>

#include "core/byte_types.h"
#include "core/dtype.h"
#include "dataset/dataset.h"

#include "harness/cmocka.h"

using namespace libknng;

namespace {

void single_values(void**) {
  for (int x = -300; x <= 300; ++x) {
    const ByteTypes expected = x < -128 || x > 255 ? kNoByteType
                               : x < 0             ? kSignedByte
                               : x > 127           ? kUnsignedByte
                                                   : kEitherByte;
    assert_int_equal(byte_types_of(static_cast<float>(x)), expected);
    assert_int_equal(byte_types_of(static_cast<double>(x)), expected);
    assert_int_equal(byte_types_of(static_cast<std::int64_t>(x)), expected);
    assert_int_equal(byte_types_of(static_cast<std::int16_t>(x)), expected);
    assert_int_equal(byte_types_of(half_from_double(x)), expected);
    assert_int_equal(byte_types_of(bfloat_from_double(x)), std::abs(x) <= 256 ? expected : kNoByteType);
    assert_int_equal(byte_types_of(x + 0.25), kNoByteType);
    assert_int_equal(byte_types_of(std::nextafter(static_cast<double>(x), 1e9)), kNoByteType);
    assert_int_equal(byte_types_of(std::nextafter(static_cast<float>(x), -1e9F)), kNoByteType);
  }
  assert_int_equal(byte_types_of(-0.0), kEitherByte);
  for (const double x : {1e300, -1e300, 1e10, -1e10, 5e-324, 4294967296.0})
    assert_int_equal(byte_types_of(x), kNoByteType);
  assert_int_equal(byte_types_of(std::numeric_limits<std::int64_t>::min()), kNoByteType);
  assert_int_equal(byte_types_of(std::numeric_limits<std::uint64_t>::max()), kNoByteType);
  assert_int_equal(byte_types_of(std::int64_t{1} << 32), kNoByteType);
  assert_int_equal(byte_dtype(kEitherByte), KNNG_I8);
  assert_int_equal(byte_dtype(kSignedByte), KNNG_I8);
  assert_int_equal(byte_dtype(kUnsignedByte), KNNG_U8);
  assert_int_equal(byte_dtype(kNoByteType), 0);
}

// Values of any type, n x d, in a matrix with these strides.
template <class T>
struct Matrix {
  std::int32_t dtype;
  std::int64_t n, d, row_stride, col_stride;
  std::vector<T> memory;

  Matrix(std::int32_t type, std::int64_t rows, std::int64_t dim, bool packed)
      : dtype(type),
        n(rows),
        d(dim),
        row_stride(packed ? dim : 1),
        col_stride(packed ? 1 : rows + 1),
        memory(static_cast<std::size_t>((rows + 1) * (dim + 1))) {
    for (T& x : memory) x = made(-77);  // what no row has
    for (std::int64_t i = 0; i < n; ++i)
      for (std::int64_t t = 0; t < d; ++t) at(i, t) = made(static_cast<double>((i * 31 + t * 7) % 128));
  }
  static T made(double x) {
    if constexpr (std::is_same_v<T, Half>)
      return half_from_double(x);
    else if constexpr (std::is_same_v<T, BFloat>)
      return bfloat_from_double(x);
    else
      return static_cast<T>(x);
  }
  T& at(std::int64_t i, std::int64_t t) { return memory[static_cast<std::size_t>(i * row_stride + t * col_stride)]; }
  MatrixView view() const {
    return {dtype, n, d, row_stride, col_stride, reinterpret_cast<const std::byte*>(memory.data())};
  }
};

template <class T>
void matrices_of(std::int32_t dtype) {
  for (const bool packed : {true, false})
    for (const std::int64_t d : {1, 3, 255, 256, 257, 700}) {
      Matrix<T> m(dtype, 5, d, packed);
      assert_int_equal(find_byte_types(m.view()), kEitherByte);
      assert_int_equal(find_byte_types(m.view(), kSignedByte), kSignedByte);
      assert_int_equal(find_byte_types(m.view(), kNoByteType), kNoByteType);
      for (const std::int64_t t : {std::int64_t{0}, d / 2, d - 1})
        for (const std::int64_t i : {0, 4}) {
          const T before = m.at(i, t);
          const auto types_with = [&](double x) {
            m.at(i, t) = Matrix<T>::made(x);
            const ByteTypes types = find_byte_types(m.view());
            m.at(i, t) = before;
            return types;
          };
          assert_int_equal(types_with(128), kUnsignedByte);
          assert_int_equal(types_with(255), kUnsignedByte);
          assert_int_equal(types_with(256), kNoByteType);
          if constexpr (!std::is_unsigned_v<T>) {
            assert_int_equal(types_with(-1), kSignedByte);
            assert_int_equal(types_with(-128), kSignedByte);
            assert_int_equal(types_with(-130), kNoByteType);
          }
          if constexpr (!std::is_integral_v<T>) {
            assert_int_equal(types_with(0.5), kNoByteType);
            assert_int_equal(types_with(-0.0), kEitherByte);
          }
        }
      if constexpr (!std::is_unsigned_v<T>) {  // each type holds some
        m.at(0, 0) = Matrix<T>::made(-1);
        m.at(4, d - 1) = Matrix<T>::made(200);
        assert_int_equal(find_byte_types(m.view()), kNoByteType);
      }
    }
}

void matrices(void**) {
  matrices_of<float>(KNNG_F32);
  matrices_of<double>(KNNG_F64);
  matrices_of<Half>(KNNG_F16);
  matrices_of<BFloat>(KNNG_BF16);
  matrices_of<std::uint16_t>(KNNG_U16);
  matrices_of<std::int16_t>(KNNG_I16);
  matrices_of<std::uint32_t>(KNNG_U32);
  matrices_of<std::int32_t>(KNNG_I32);
  matrices_of<std::uint64_t>(KNNG_U64);
  matrices_of<std::int64_t>(KNNG_I64);
}

// Rows of several chunks: what all of them hold counts, and packing makes bytes of it.
void data_sets(void**) {
  for (const bool packed : {true, false}) {
    Matrix<float> a(KNNG_F32, 5, 9, packed), b(KNNG_F32, 3, 9, !packed);
    a.at(2, 3) = -128;
    Dataset data;
    data.borrow(a.view(), {}, find_byte_types(a.view()), nullptr, nullptr);
    assert_int_equal(data.byte_types(), kSignedByte);
    data.borrow(b.view(), {}, find_byte_types(b.view()), nullptr, nullptr);
    assert_int_equal(data.byte_types(), kSignedByte);
    assert_int_equal(data.work_dtype(), KNNG_F32);
    Dataset bytes = data;
    bytes.work_as(KNNG_I8);
    assert_int_equal(bytes.work_dtype(), KNNG_I8);
    assert_int_equal(bytes.dtype(), KNNG_F32);
    std::vector<std::int8_t> out(6 * 9 + 1, 99);
    bytes.pack(1, 6, reinterpret_cast<std::byte*>(out.data()));
    for (std::int64_t i = 0; i < 6; ++i)
      for (std::int64_t t = 0; t < 9; ++t)
        assert_int_equal(out[static_cast<std::size_t>(i * 9 + t)], i + 1 < 5 ? a.at(i + 1, t) : b.at(i - 4, t));
    assert_int_equal(out.back(), 99);
    b.at(0, 0) = 0.5;
    data.borrow(b.view(), {}, find_byte_types(b.view()), nullptr, nullptr);
    assert_int_equal(data.byte_types(), kNoByteType);
  }
}

}  // namespace

int main() {
  const CMUnitTest tests[] = {cmocka_unit_test(single_values), cmocka_unit_test(matrices), cmocka_unit_test(data_sets)};
  return cmocka_run_group_tests(tests, nullptr, nullptr);
}

// Structs that cross the C boundary: sizes of older and newer callers, and matrices checked into views.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstring>
#include <initializer_list>

#include "capi/guard.h"
#include "core/buffer.h"
#include "core/matrix_view.h"
#include "knng/types.h"

namespace libknng {

// No struct will ever be larger: what claims to be is not initialised.
inline constexpr std::size_t kLargestStruct = 4096;

// Size of the struct as the caller knows it; `least` bytes of it must be there.
template <class T>
std::size_t struct_size(const T* in, std::size_t least, const char* argument) {
  const std::size_t size = require(in, argument).struct_size;
  if (size < least)
    fail(KNNG_ERR_ARGUMENT, argument,
         {.given = static_cast<std::int64_t>(size), .limit = static_cast<std::int64_t>(least)},
         "%s: struct_size=%zu, at least %zu is needed: set it to the size of the struct", argument, size, least);
  if (size > kLargestStruct)
    fail(KNNG_ERR_ARGUMENT, argument,
         {.given = static_cast<std::int64_t>(size), .limit = static_cast<std::int64_t>(kLargestStruct)},
         "%s: struct_size=%zu, at most %zu is possible: set it to the size of the struct", argument, size,
         kLargestStruct);
  return size;
}

// Where a struct has texts, which are arrays of characters.
struct TextSpan {
  std::size_t begin, end;
};
template <class T>
inline constexpr std::array<TextSpan, 0> kTexts{};
template <>
inline constexpr std::array kTexts<knng_error> = {
    TextSpan{offsetof(knng_error, argument), offsetof(knng_error, message)},
    TextSpan{offsetof(knng_error, message), offsetof(knng_error, reason)},
    TextSpan{offsetof(knng_error, reason), sizeof(knng_error)}};
template <>
inline constexpr std::array kTexts<knng_device> = {
    TextSpan{offsetof(knng_device, name), offsetof(knng_device, why_not)},
    TextSpan{offsetof(knng_device, why_not), sizeof(knng_device)}};

// Of a struct whose caller knows `size` bytes of it: those of members that it has as a whole. No other member is longer
// than what the struct is aligned to.
template <class T>
std::size_t whole_members(std::size_t size, std::size_t least) noexcept {
  std::size_t known = std::min(size, sizeof(T)) / alignof(T) * alignof(T);
  for (const TextSpan& text : kTexts<T>)
    if (text.begin < known && known < text.end) known = text.begin;
  return std::max(known, least);
}

// The library's copy of an input struct: what an older caller does not have is 0, what a newer caller has beyond it
// must be.
template <class T>
T read_struct(const T* in, std::size_t least, const char* argument) {
  const std::size_t size = struct_size(in, least, argument);
  const auto* bytes = reinterpret_cast<const unsigned char*>(in);
  for (std::size_t i = sizeof(T); i < size; ++i)
    if (bytes[i] != 0)
      fail(KNNG_ERR_UNSUPPORTED, argument,
           {.given = static_cast<std::int64_t>(size), .limit = static_cast<std::int64_t>(sizeof(T))},
           "%s: byte %zu of the struct is set, this library knows %zu bytes of it: use a newer library", argument, i,
           sizeof(T));
  T out{};
  std::memcpy(&out, in, whole_members<T>(size, least));
  out.struct_size = sizeof(T);
  return out;
}

// Fills an output struct as far as both sides know it; its struct_size stays the caller's.
template <class T>
void write_struct(const T& from, T* out, std::size_t least, const char* argument) {
  const std::size_t size = struct_size(out, least, argument);
  const auto callers = out->struct_size;
  std::memcpy(out, &from, whole_members<T>(size, least));
  out->struct_size = callers;
}

// The caller's matrix as a checked view in host memory: shape, strides, alignment. Not its dtype's use. A matrix in
// memory of a device is copied.
class Input {
 public:
  Input(const knng_matrix* m, const char* argument);
  const MatrixView& view() const noexcept { return view_; }

 private:
  MatrixView view_;
  Buffer<std::byte> copy_;
};

// The same to write to, wherever it is. What is written through view() is the caller's after deliver().
class OutputMatrix {
 public:
  OutputMatrix(const knng_matrix* m, const char* argument);
  const MutableMatrixView& target() const noexcept { return target_; }
  const MutableMatrixView& view();
  void deliver() const;

 private:
  MutableMatrixView target_, view_;
  Buffer<std::byte> copy_;
  const char* argument_;
};

// Structs that one call fills in, as far as they are wanted: each is another.
struct ShownMatrix {
  const knng_matrix* out;
  const char* argument;
};
void require_distinct(std::initializer_list<ShownMatrix> shown);

// Two outputs of one call: refused where they share memory for certain.
void require_apart(const MutableMatrixView& a, const char* a_name, const MutableMatrixView& b, const char* b_name);

// Rows of a data set, wherever they are: the dimension is in range.
MatrixView readable_rows(const knng_matrix& m, const char* argument);

// Shows packed row-major memory of ours; nullptr: not wanted.
void show(knng_matrix* out, std::int32_t dtype, std::int64_t rows, std::int64_t cols, const void* data,
          const char* argument);

// The same for packed memory of ours that is on a device.
void show(knng_matrix* out, const MatrixView& view, const char* argument);

// The caller's control, of a call on a handle; nullptr gives one without callbacks. Throws KNNG_ERR_ARGUMENT for a byte
// limit, which such calls have in a setting.
knng_control read_control(const knng_control* c);
// The same of a call on a graph, with its byte limit.
knng_control read_control_with_limit(const knng_control* c);
Budget budget_of(const knng_control& control) noexcept;

// Copies text with its terminating 0 as knng_get() says.
void copy_text(const char* text, char* buf, std::int64_t cap, std::int64_t* needed);

}  // namespace libknng

#include "dataset/dataset.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

#include "core/dtype.h"
#include "core/error.h"
#include "dataset/byte_values.h"
#include "dataset/fingerprint.h"

namespace libknng {
namespace {

template <class T>
const T* element(const MatrixView& m, std::int64_t row) noexcept {
  return reinterpret_cast<const T*>(m.data) + row * m.row_stride;
}

// Those of `known` that hold all of `count` values, a thousand at a time: of most data the first of them tell.
template <class T>
ByteTypes find_byte_types_of(const T* x, std::int64_t count, std::int64_t stride, ByteTypes known) noexcept {
  constexpr std::int64_t kTogether = 1024;
  for (std::int64_t first = 0; first < count && known != kNoByteType; first += kTogether) {
    const std::int64_t end = std::min(first + kTogether, count);
    if constexpr (std::is_floating_point_v<T>)
      if (stride == 1) {
        known = known & byte_types_of_values(x + first, end - first);
        continue;
      }
    if constexpr (std::is_integral_v<T>) {
      T lowest = 0, highest = 0;
      for (std::int64_t t = first; t < end; ++t) {
        lowest = std::min(lowest, x[t * stride]);
        highest = std::max(highest, x[t * stride]);
      }
      known = known & byte_types_of(lowest) & byte_types_of(highest);
    } else {
      for (std::int64_t t = first; t < end; ++t) known = known & byte_types_of(x[t * stride]);
    }
  }
  return known;
}

// Rows [first, first + count), packed row-major.
void pack_rows(const MatrixView& m, std::int64_t first, std::int64_t count, std::byte* out) noexcept {
  visit_width(dtype_bytes(m.dtype), [&]<class T>(T*) {
    T* to = reinterpret_cast<T*>(out);
    if (m.packed()) {
      std::memcpy(to, element<T>(m, first), static_cast<std::size_t>(count * m.cols) * sizeof(T));
      return;
    }
    for (std::int64_t i = first; i < first + count; ++i)
      for (std::int64_t t = 0; t < m.cols; ++t) *to++ = element<T>(m, i)[t * m.col_stride];
  });
}

// The same as bytes, which hold all values.
void pack_as_bytes(const MatrixView& m, std::int64_t first, std::int64_t count, std::byte* out) noexcept {
  visit_row_dtype(m.dtype, [&]<class T>(const T*) {
    auto* to = reinterpret_cast<std::uint8_t*>(out);
    for (std::int64_t i = first; i < first + count; ++i, to += m.cols) {
      const T* const x = element<T>(m, i);
      if (m.col_stride == 1)
        for (std::int64_t t = 0; t < m.cols; ++t) to[t] = to_byte(x[t]);
      else
        for (std::int64_t t = 0; t < m.cols; ++t) to[t] = to_byte(x[t * m.col_stride]);
    }
  });
}

// Of a file, some at a time.
void pack_as_bytes(const Chunk& chunk, std::int64_t first, std::int64_t count, std::byte* out) {
  const MatrixView& m = chunk.view();
  if (!chunk.file()) return pack_as_bytes(m, first, count, out);
  const std::int64_t row_bytes = m.cols * dtype_bytes(m.dtype);
  constexpr std::int64_t kBytesTogether = 1 << 16;
  const std::int64_t together = std::clamp<std::int64_t>(kBytesTogether / row_bytes, 1, count);
  Buffer<std::byte> stored(together * row_bytes);
  for (std::int64_t done = 0; done < count; done += together) {
    const std::int64_t here = std::min(together, count - done);
    chunk.read(first + done, here, stored.data());
    pack_as_bytes({m.dtype, here, m.cols, m.cols, 1, stored.data()}, 0, here, out + done * m.cols);
  }
}

}  // namespace

std::int64_t find_invalid(const MatrixView& m, std::int64_t row) noexcept {
  return visit_row_dtype(m.dtype, [&]<class T>(const T*) -> std::int64_t {
    if constexpr (!kAlwaysValid<T>) {
      const T* x = element<T>(m, row);
      // Nearly all rows are valid: one test a row.
      int invalid = 0;
      if (m.col_stride == 1)
        for (std::int64_t t = 0; t < m.cols; ++t) invalid |= !is_valid(x[t]);
      else
        for (std::int64_t t = 0; t < m.cols; ++t) invalid |= !is_valid(x[t * m.col_stride]);
      if (!invalid) return -1;
      for (std::int64_t t = 0; t < m.cols; ++t)
        if (!is_valid(x[t * m.col_stride])) return t;
    }
    return -1;
  });
}

ByteTypes find_byte_types(const MatrixView& m, ByteTypes known) noexcept {
  if (dtype_bytes(m.dtype) == 1) return known & byte_types_of_dtype(m.dtype);
  return visit_row_dtype(m.dtype, [&]<class T>(const T*) {
    if (m.packed()) return find_byte_types_of(element<T>(m, 0), m.rows * m.cols, 1, known);
    for (std::int64_t i = 0; i < m.rows && known != kNoByteType; ++i)
      known = find_byte_types_of(element<T>(m, i), m.cols, m.col_stride, known);
    return known;
  });
}

void require_valid(const MatrixView& m, const char* argument, std::int64_t number) {
  // Rows that follow each other are looked at as one.
  const std::int64_t values = m.rows * m.cols;
  if (m.packed() && find_invalid({m.dtype, 1, values, values, 1, m.data}, 0) < 0) return;
  for (std::int64_t i = 0; i < m.rows; ++i)
    if (const std::int64_t t = find_invalid(m, i); t >= 0) {
      const std::int64_t at = (i * m.row_stride + t * m.col_stride) * dtype_bytes(m.dtype);
      refuse_invalid(m.dtype, m.data + at, number + i, t, argument);
    }
}

void refuse_invalid(std::int32_t dtype, const std::byte* stored, std::int64_t row, std::int64_t col,
                    const char* argument) {
  visit_row_dtype(dtype, [&]<class T>(const T*) {
    T x;
    std::memcpy(&x, stored, sizeof x);
    if constexpr (std::is_same_v<T, Bool>) {
      fail(KNNG_ERR_DATA, argument, {.row = row, .col = col, .given = x.byte, .limit = 1},
           "%s: a bool is stored as %d; its byte must be 0 or 1", argument, x.byte);
    } else if constexpr (std::is_integral_v<T>) {
      const std::int64_t limit = std::cmp_less(x, 0) ? -kLargestInteger : kLargestInteger;
      const std::int64_t given = std::in_range<std::int64_t>(x) ? static_cast<std::int64_t>(x) : -1;
      fail(KNNG_ERR_DATA, argument, {.row = row, .col = col, .given = given, .limit = limit},
           "%s: %s is beyond %lld (%s2^53), up to which fp64 holds all integers", argument, std::to_string(x).c_str(),
           static_cast<long long>(limit), limit < 0 ? "-" : "");
    } else {
      fail(KNNG_ERR_DATA, argument, {.row = row, .col = col}, "%s: a value is %s; every value must be finite", argument,
           std::isnan(to_double(x)) ? "NaN" : "infinite");
    }
  });
  __builtin_unreachable();
}

void load_row(const MatrixView& m, std::int64_t row, double* out) noexcept {
  visit_row_dtype(m.dtype, [&](auto* tag) {
    using T = std::remove_cv_t<std::remove_pointer_t<decltype(tag)>>;
    const T* x = element<T>(m, row);
    if (m.col_stride == 1)
      for (std::int64_t t = 0; t < m.cols; ++t) out[t] = to_double(x[t]);
    else
      for (std::int64_t t = 0; t < m.cols; ++t) out[t] = to_double(x[t * m.col_stride]);
  });
}

void Chunk::read(std::int64_t first, std::int64_t count, std::byte* out) const {
  file_->read(first, count, out);
  const std::int64_t dim = view_.cols;
  Buffer<double> x(dim);
  for (std::int64_t i = 0; i < count; ++i) {
    load_row({view_.dtype, count, dim, dim, 1, out}, i, x.data());
    if (row_hash(x.data(), dim) != hashes_[first + i]) file_->fail_changed();
  }
}

ByteTypes Dataset::byte_types() const noexcept {
  ByteTypes types = kEitherByte;
  for (const auto& chunk : chunks_) types = types & chunk->byte_types();
  return types;
}

std::int64_t Dataset::held_bytes() const noexcept {
  std::int64_t bytes = 0;
  for (const auto& chunk : chunks_) bytes += chunk->held_bytes();
  return bytes;
}

bool Dataset::on_host() const noexcept {
  return std::all_of(chunks_.begin(), chunks_.end(), [](const auto& chunk) { return chunk->view().on_host(); });
}

bool Dataset::on_devices() const noexcept {
  return std::any_of(chunks_.begin(), chunks_.end(), [](const auto& chunk) { return chunk->view().on_device(); });
}

bool Dataset::in_files() const noexcept {
  return std::any_of(chunks_.begin(), chunks_.end(), [](const auto& chunk) { return chunk->file() != nullptr; });
}

std::int64_t Dataset::absent_bytes() const noexcept {
  std::int64_t bytes = 0;
  for (const auto& chunk : chunks_)
    if (!chunk->view().on_host()) bytes += chunk->view().rows * dim_ * find_dtype(dtype_)->bytes;
  return bytes;
}

void Dataset::require_unchanged() const {
  for (const auto& chunk : chunks_)
    if (chunk->file()) chunk->file()->require_unchanged();
}

void Dataset::require_fits(std::int32_t dtype, std::int64_t cols, std::int64_t rows, const char* argument) const {
  if (dtype_ != 0 && dtype != dtype_)
    fail(KNNG_ERR_ARGUMENT, argument, {.given = dtype, .limit = dtype_}, "%s: rows are %s, the data set has %s",
         argument, dtype_name(dtype), dtype_name(dtype_));
  if (dim_ != 0 && cols != dim_)
    fail(KNNG_ERR_ARGUMENT, argument, {.given = cols, .limit = dim_},
         "%s: rows have %lld columns, the data set has dimension %lld", argument, static_cast<long long>(cols),
         static_cast<long long>(dim_));
  checked_add(this->rows(), rows, argument);
}

void Dataset::append(std::shared_ptr<const Chunk> chunk) {
  const MatrixView& v = chunk->view();
  chunks_.reserve(chunks_.size() + 1);
  firsts_.reserve(firsts_.size() + 1);
  const std::int64_t first = rows();
  dim_ = v.cols;
  dtype_ = v.dtype;
  firsts_.push_back(first);
  chunks_.push_back(std::move(chunk));
}

void Dataset::borrow(const MatrixView& view, Buffer<std::uint64_t> hashes, ByteTypes types, void (*release)(void*),
                     void* owner) {
  const auto chunk = std::make_shared<Chunk>(view, std::move(hashes));
  chunk->set_byte_types(types);
  append(chunk);
  chunk->set_release(release, owner);
}

std::int64_t Dataset::run_of(std::int64_t first, std::int64_t count) const noexcept {
  const std::int64_t row = original(first);
  const std::size_t c = chunk_of(row);
  const std::int64_t most = std::min(count, firsts_[c] + chunks_[c]->view().rows - row);
  if (!picked_.data()) return most;
  std::int64_t run = 1;
  while (run < most && original(first + run) == row + run) ++run;
  return run;
}

void Dataset::load_from_file(const Chunk& chunk, std::int64_t row, double* out) const {
  Buffer<std::byte> stored(dim_ * find_dtype(dtype_)->bytes);
  chunk.read(row, 1, stored.data());
  load_row({dtype_, 1, dim_, dim_, 1, stored.data()}, 0, out);
}

void Dataset::pack(std::int64_t first, std::int64_t count, std::byte* out) const {
  const std::int64_t row_bytes = dim_ * find_dtype(work_dtype())->bytes;
  while (count > 0) {
    const std::int64_t row = original(first);
    const std::size_t c = chunk_of(row);
    const std::int64_t here = run_of(first, count);
    if (work_dtype() != dtype_)
      pack_as_bytes(*chunks_[c], row - firsts_[c], here, out);
    else if (chunks_[c]->file())
      chunks_[c]->read(row - firsts_[c], here, out);
    else
      pack_rows(chunks_[c]->view(), row - firsts_[c], here, out);
    out += here * row_bytes;
    first += here;
    count -= here;
  }
}

std::shared_ptr<const Chunk> copy_rows(const MatrixView& m, Budget& budget, const char* argument, Monitor* monitor) {
  const std::int64_t row_bytes = checked_mul(m.cols, checked_dtype_bytes(m.dtype, argument), argument);
  Buffer<std::byte> data(checked_mul(m.rows, row_bytes, argument), &budget);
  ByteTypes types = kEitherByte;
  in_blocks(m.rows, row_bytes, monitor, [&](std::int64_t first, std::int64_t count) {
    std::byte* const to = data.data() + first * row_bytes;
    pack_rows(m, first, count, to);
    const MatrixView block{m.dtype, count, m.cols, m.cols, 1, to};
    require_valid(block, argument, first);
    types = find_byte_types(block, types);
  });
  data.release_from_budget();  // counted by Dataset::held_bytes() from now on
  auto chunk = std::make_shared<Chunk>(std::move(data), m.dtype, m.rows, m.cols);
  chunk->set_byte_types(types);
  return chunk;
}

}  // namespace libknng

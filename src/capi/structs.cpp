#include "capi/structs.h"

#include <algorithm>
#include <cstdlib>
#include <limits>
#include <utility>

#include "backend/memory.h"
#include "core/checked.h"
#include "core/dtype.h"

namespace libknng {
namespace {

constexpr std::size_t kMatrixLeast = offsetof(knng_matrix, release);

void require_known_space(const knng_matrix& m, const char* argument) {
  switch (m.space) {
    case KNNG_ANY:
    case KNNG_HOST:
    case KNNG_PINNED:
    case KNNG_CUDA:
    case KNNG_MANAGED: return;
    default:
      fail(KNNG_ERR_ARGUMENT, argument, {.given = m.space},
           "%s: space=%d is none of KNNG_ANY, KNNG_HOST, KNNG_CUDA, "
           "KNNG_PINNED and KNNG_MANAGED",
           argument, m.space);
  }
}

template <class Byte>
BasicMatrixView<Byte> checked_view(const knng_matrix& m, const char* argument) {
  require_known_space(m, argument);
  const std::int32_t bytes = checked_dtype_bytes(m.dtype, argument);
  if (m.rows < 1)
    fail(KNNG_ERR_RANGE, argument, {.given = m.rows, .limit = 1}, "%s: rows=%lld must be at least 1", argument,
         static_cast<long long>(m.rows));
  if (m.cols < 1)
    fail(KNNG_ERR_RANGE, argument, {.given = m.cols, .limit = 1}, "%s: cols=%lld must be at least 1", argument,
         static_cast<long long>(m.cols));
  if (!m.data) fail(KNNG_ERR_ARGUMENT, argument, "%s: data is NULL", argument);
  if (reinterpret_cast<std::uintptr_t>(m.data) % static_cast<std::uintptr_t>(bytes) != 0)
    fail(KNNG_ERR_ARGUMENT, argument, "%s: data is not aligned to its %d-byte elements", argument, bytes);
  BasicMatrixView<Byte> view{m.dtype, m.rows, m.cols, m.row_stride, m.col_stride, static_cast<Byte*>(m.data)};
  if (m.row_stride == 0 && m.col_stride == 0) {
    view.row_stride = m.cols;
    view.col_stride = 1;
  } else if ((m.row_stride == 0 && m.rows > 1) || (m.col_stride == 0 && m.cols > 1)) {
    fail(KNNG_ERR_ARGUMENT, argument, {.given = m.row_stride},
         "%s: row_stride=%lld and col_stride=%lld: both are 0 for packed rows, or none of them is", argument,
         static_cast<long long>(m.row_stride), static_cast<long long>(m.col_stride));
  }
  // Bytes that so many elements so far apart reach over.
  const auto reach_over = [&](const char* count_name, std::int64_t count, const char* stride_name,
                              std::int64_t stride) {
    std::int64_t size, reach;
    if (stride == std::numeric_limits<std::int64_t>::min() ||
        __builtin_mul_overflow(count, std::int64_t{bytes}, &size) ||
        __builtin_mul_overflow(size, std::abs(stride), &reach))
      fail(KNNG_ERR_RANGE, argument, {.given = stride}, "%s: %s=%lld with %s=%lld: more bytes than fit 63 bits",
           argument, count_name, static_cast<long long>(count), stride_name, static_cast<long long>(stride));
    return reach;
  };
  checked_add(reach_over("rows", m.rows, "row_stride", view.row_stride),
              reach_over("cols", m.cols, "col_stride", view.col_stride), argument);
  const auto reach = [&](std::int64_t count, std::int64_t stride) { return (count - 1) * stride * bytes; };
  const std::int64_t rows_reach = reach(m.rows, view.row_stride), cols_reach = reach(m.cols, view.col_stride);
  const auto* const data = static_cast<const std::byte*>(m.data);
  view.device =
      find_memory(m, data + std::min<std::int64_t>(rows_reach, 0) + std::min<std::int64_t>(cols_reach, 0),
                  data + std::max<std::int64_t>(rows_reach, 0) + std::max<std::int64_t>(cols_reach, 0), argument);
  return view;
}

MatrixView readable(const knng_matrix* m, const char* argument) {
  return checked_view<const std::byte>(read_struct(m, kMatrixLeast, argument), argument);
}

MutableMatrixView writable(const knng_matrix* m, const char* argument) {
  const auto view = checked_view<std::byte>(read_struct(m, kMatrixLeast, argument), argument);
  // Elements are apart if one stride steps over everything that the other reaches.
  const std::int64_t row = std::abs(view.row_stride), col = std::abs(view.col_stride);
  const bool apart = (view.cols == 1 || col > 0) && (view.rows == 1 || row > 0) &&
                     (view.rows == 1 || view.cols == 1 || row > col * (view.cols - 1) || col > row * (view.rows - 1));
  if (!apart)
    fail(KNNG_ERR_ARGUMENT, argument, {.given = view.row_stride},
         "%s: row_stride=%lld and col_stride=%lld would write elements over each other in a matrix of %lld x %lld",
         argument, static_cast<long long>(view.row_stride), static_cast<long long>(view.col_stride),
         static_cast<long long>(view.rows), static_cast<long long>(view.cols));
  return view;
}

// Lowest byte, and the one behind the highest.
std::pair<const std::byte*, const std::byte*> range_of(const MutableMatrixView& m) {
  const std::int64_t bytes = find_dtype(m.dtype)->bytes;
  const std::int64_t rows = (m.rows - 1) * m.row_stride * bytes, cols = (m.cols - 1) * m.col_stride * bytes;
  return {m.data + std::min<std::int64_t>(rows, 0) + std::min<std::int64_t>(cols, 0),
          m.data + std::max<std::int64_t>(rows, 0) + std::max<std::int64_t>(cols, 0) + bytes};
}

// Packed host memory for what a matrix in memory of a device has in it; none for the host's.
template <class View>
Buffer<std::byte> host_memory_for(const View& m, const char* argument) {
  if (m.on_host()) return {};
  return Buffer<std::byte>(checked_mul(checked_mul(m.rows, m.cols, argument), find_dtype(m.dtype)->bytes, argument));
}

}  // namespace

void require_distinct(std::initializer_list<ShownMatrix> shown) {
  for (const ShownMatrix* b = shown.begin(); b != shown.end(); ++b)
    for (const ShownMatrix* a = shown.begin(); a != b; ++a)
      if (b->out && a->out == b->out)
        fail(KNNG_ERR_ARGUMENT, b->argument, "%s: it is the struct that %s is, and can show one of them", b->argument,
             a->argument);
}

void require_apart(const MutableMatrixView& a, const char* a_name, const MutableMatrixView& b, const char* b_name) {
  const auto [a_first, a_end] = range_of(a);
  const auto [b_first, b_end] = range_of(b);
  const auto fills = [](const MutableMatrixView& m, const std::byte* first, const std::byte* end) {
    return end - first == m.rows * m.cols * find_dtype(m.dtype)->bytes;
  };
  // Matrices with gaps may lie in each other's, as the members of records do.
  const bool both_fill = fills(a, a_first, a_end) && fills(b, b_first, b_end);
  if (a.data == b.data || (both_fill && a_first < b_end && b_first < a_end))
    fail(KNNG_ERR_ARGUMENT, b_name, "%s: it shares memory with %s, and both are written", b_name, a_name);
}

Input::Input(const knng_matrix* m, const char* argument)
    : view_(readable(m, argument)), copy_(host_memory_for(view_, argument)) {
  if (view_.on_host()) return;
  copy_from_device(view_, 0, view_.rows, copy_.data(), argument);
  view_ = {view_.dtype, view_.rows, view_.cols, view_.cols, 1, copy_.data()};
}

OutputMatrix::OutputMatrix(const knng_matrix* m, const char* argument)
    : target_(writable(m, argument)), argument_(argument) {}

const MutableMatrixView& OutputMatrix::view() {
  if (!view_.data && target_.on_host()) view_ = target_;
  if (!view_.data) {
    copy_ = host_memory_for(target_, argument_);
    view_ = {target_.dtype, target_.rows, target_.cols, target_.cols, 1, copy_.data()};
  }
  return view_;
}

void OutputMatrix::deliver() const {
  if (!target_.on_host()) copy_to_device(target_, copy_.data(), argument_);
}

MatrixView readable_rows(const knng_matrix& m, const char* argument) {
  const MatrixView view = checked_view<const std::byte>(m, argument);
  constexpr std::int64_t most = std::numeric_limits<std::int32_t>::max();
  if (view.cols > most)
    fail(KNNG_ERR_RANGE, argument, {.given = view.cols, .limit = most},
         "%s: cols=%lld is above the largest dimension %lld", argument, static_cast<long long>(view.cols),
         static_cast<long long>(most));
  return view;
}

void show(knng_matrix* out, std::int32_t dtype, std::int64_t rows, std::int64_t cols, const void* data,
          const char* argument) {
  if (!out) return;
  knng_matrix m = knng_packed(dtype, rows, cols, data);
  m.row_stride = cols;
  m.col_stride = 1;
  write_struct(m, out, kMatrixLeast, argument);
}

void show(knng_matrix* out, const MatrixView& view, const char* argument) {
  if (!out) return;
  knng_matrix m = knng_packed(view.dtype, view.rows, view.cols, view.data);
  m.space = KNNG_CUDA;
  m.device = view.device;
  m.row_stride = view.row_stride;
  m.col_stride = view.col_stride;
  write_struct(m, out, kMatrixLeast, argument);
}

knng_control read_control_with_limit(const knng_control* c) {
  constexpr knng_control none = {sizeof(knng_control), 0, nullptr, nullptr, nullptr, nullptr, 0};
  if (!c) return none;
  const knng_control control = read_struct(c, offsetof(knng_control, max_bytes), "control");
  if (control.max_bytes < 0)
    fail(KNNG_ERR_RANGE, "control", {.given = control.max_bytes, .limit = 0},
         "control: max_bytes=%lld must not be negative", static_cast<long long>(control.max_bytes));
  return control;
}

knng_control read_control(const knng_control* c) {
  const knng_control control = read_control_with_limit(c);
  if (control.max_bytes != 0)
    fail(KNNG_ERR_ARGUMENT, "control", {.given = control.max_bytes, .limit = 0},
         "control: max_bytes=%lld is for calls without a handle; this one has the setting max_host_bytes",
         static_cast<long long>(control.max_bytes));
  return control;
}

Budget budget_of(const knng_control& control) noexcept {
  return control.max_bytes > 0 ? Budget(control.max_bytes, 0, "control", "max_bytes") : Budget();
}

void copy_text(const char* text, char* buf, std::int64_t cap, std::int64_t* needed) {
  const auto size = static_cast<std::int64_t>(std::strlen(text)) + 1;
  if (needed) *needed = size;
  if (cap < size)
    fail(KNNG_ERR_RANGE, "cap", {.given = cap, .limit = size}, "cap=%lld is too small: %lld bytes are needed",
         static_cast<long long>(cap), static_cast<long long>(size));
  std::memcpy(&require(buf, "buf"), text, static_cast<std::size_t>(size));
}

}  // namespace libknng

#include "capi/left_out.h"

#include "capi/structs.h"
#include "core/dtype.h"

namespace libknng {
namespace {

std::int64_t id_at(const MatrixView& m, std::int64_t i) noexcept {
  const auto* const at = m.data + i * m.row_stride * find_dtype(m.dtype)->bytes;
  return m.dtype == KNNG_I32 ? std::int64_t{*reinterpret_cast<const std::int32_t*>(at)}
                             : *reinterpret_cast<const std::int64_t*>(at);
}

void require_shape(const MatrixView& m, std::int32_t base, std::int64_t queries) {
  if (m.dtype != KNNG_I32 && m.dtype != KNNG_I64)
    fail(KNNG_ERR_ARGUMENT, "leave_out", {.given = m.dtype},
         "leave_out: dtype 0x%03x (%s) is no type for ids here: int32 and int64 are", static_cast<unsigned>(m.dtype),
         dtype_name(m.dtype));
  if (m.rows != queries || m.cols != 1)
    fail(KNNG_ERR_ARGUMENT, "leave_out", {.given = m.cols == 1 ? m.rows : m.cols, .limit = m.cols == 1 ? queries : 1},
         "leave_out: %lld x %lld, but there are %lld queries: %lld x 1 is needed", static_cast<long long>(m.rows),
         static_cast<long long>(m.cols), static_cast<long long>(queries), static_cast<long long>(queries));
  if (base != 0 && base != 1)
    fail(KNNG_ERR_RANGE, "base", {.given = base, .limit = 1}, "base=%d: ids count from 0 or 1", base);
}

}  // namespace

LeftOut::LeftOut(const knng_matrix* m, std::int32_t base, std::int64_t queries, std::int64_t rows) {
  if (!m) return;
  const Input input(m, "leave_out");
  const MatrixView& view = input.view();
  require_shape(view, base, queries);
  for (std::int64_t i = 0; i < queries; ++i) {
    const std::int64_t id = id_at(view, i), last = rows - 1 + base;
    if (id < base - 1 || id > last)
      fail(KNNG_ERR_RANGE, "leave_out", {.row = i, .given = id, .limit = id < base ? base - 1 : last},
           "leave_out: %lld is not in %d to %lld; %d leaves out none", static_cast<long long>(id), base - 1,
           static_cast<long long>(last), base - 1);
  }
  const bool as_it_is = view.dtype == KNNG_I64 && base == 0 && view.row_stride == 1;
  if (as_it_is && static_cast<const void*>(view.data) == m->data) {
    ids_ = static_cast<const std::int64_t*>(m->data);
    return;
  }
  copy_ = Buffer<std::int64_t>(queries);
  for (std::int64_t i = 0; i < queries; ++i) copy_[i] = id_at(view, i) - base;
  ids_ = copy_.data();
}

}  // namespace libknng

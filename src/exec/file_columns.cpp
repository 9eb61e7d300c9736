#include "exec/file_columns.h"

#include <algorithm>

#include "core/dtype.h"
#include "core/error.h"

namespace libknng {
namespace {

// block: count x n items, to coordinates [first, first + count) of n points of `dim`.
template <class Item>
void scatter(const Item* block, std::int64_t count, std::int64_t n, Item* points, std::int64_t first,
             std::int64_t dim) {
  constexpr std::int64_t kSquare = 32;  // both sides stay in cache
  for (std::int64_t point0 = 0; point0 < n; point0 += kSquare)
    for (std::int64_t row0 = 0; row0 < count; row0 += kSquare)
      for (std::int64_t point = point0; point < std::min(point0 + kSquare, n); ++point)
        for (std::int64_t row = row0; row < std::min(row0 + kSquare, count); ++row)
          points[point * dim + first + row] = block[row * n + point];
}

}  // namespace

FileColumns::FileColumns(RowReader& reader, std::int64_t together, Budget* budget)
    : reader_(reader),
      item_bytes_(dtype_bytes(reader.dtype())),
      block_(together * reader.cols() * item_bytes_, budget) {}

void FileColumns::read(std::int64_t count, std::byte* points) {
  try {
    reader_.read(count, block_.data());
  } catch (const Error& e) {
    const knng_error& info = e.info();
    fail(info.code, info.argument, {.row = info.col, .col = info.row, .given = info.given, .limit = info.limit}, "%s",
         info.reason);
  }
  visit_width(item_bytes_, [&]<class Item>(Item*) {
    scatter(reinterpret_cast<const Item*>(block_.data()), count, reader_.cols(), reinterpret_cast<Item*>(points),
            first_, reader_.rows());
  });
  first_ += count;
}

}  // namespace libknng

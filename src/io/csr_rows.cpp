#include "io/csr_rows.h"

#include <algorithm>
#include <cstring>
#include <string>
#include <utility>

#include "core/checked.h"
#include "core/dtype.h"
#include "core/error.h"
#include "io/file.h"

namespace libknng {
namespace {

// Stored values that are brought in together.
constexpr std::int64_t kTogether = std::int64_t{1} << 16;

std::string text(std::int64_t number) { return std::to_string(number); }

class CsrReader final : public RowReader {
 public:
  explicit CsrReader(std::unique_ptr<Hdf5Matrix> matrix)
      : matrix_(std::move(matrix)),
        values_(*matrix_, KNNG_HDF5_VALUES),
        columns_(*matrix_, KNNG_HDF5_COLUMNS),
        firsts_(*matrix_, KNNG_HDF5_FIRSTS),
        stored_(values_.left()) {
    dtype_ = matrix_->shape().array[KNNG_HDF5_VALUES].dtype;
    rows_ = matrix_->shape().rows;
    cols_ = matrix_->shape().cols;
    turned_ = matrix_->shape().form == KNNG_HDF5_CSC;
  }

  void read(std::int64_t count, std::byte* dst) override;
  void finish() override;
  RowsTaken taken() const override { return matrix_->taken(); }
  std::int64_t bytes_beside() const override {
    const std::int64_t piece = piece_values() * (dtype_bytes(dtype_) + kIndex) + piece_rows() * kIndex;
    std::int64_t all = checked_add(piece, checked_mul(cols_, kIndex, "path"), "path");
    for (const Hdf5Stream* stream : {&values_, &columns_, &firsts_})
      all = checked_add(all, stream->bytes_beside(), "path");
    return all;
  }

 private:
  static constexpr std::int64_t kIndex = sizeof(std::int64_t);
  std::int64_t piece_values() const noexcept { return std::min(stored_, kTogether); }
  std::int64_t piece_rows() const noexcept { return std::min(rows_, kTogether); }

  void begin();
  std::int64_t next_first();
  void fetch();
  template <class Item>
  void read_row(std::byte* row, std::int64_t count);
  // For messages: what a row has one value of at most, as the file has it.
  std::string place(std::int64_t number) const { return (turned_ ? "row " : "column ") + text(number); }
  // number: as place() has it. A file by columns has columns where others have rows.
  [[noreturn]] void fail_value(const std::string& what, std::int64_t number, std::int64_t limit);
  [[noreturn]] void fail_format(const std::string& what, std::int64_t given, std::int64_t limit);
  [[noreturn]] void fail_at(std::int64_t row, std::int64_t col, const std::string& what, std::int64_t given,
                            std::int64_t limit);

  const std::unique_ptr<Hdf5Matrix> matrix_;
  Hdf5Stream values_, columns_, firsts_;
  const std::int64_t stored_;      // values
  Buffer<std::byte> value_piece_;  // held_ of each
  Buffer<std::int64_t> column_piece_;
  Buffer<std::int64_t> first_piece_;  // first_held_
  Buffer<std::int64_t> last_row_;     // of each column: the row, counted from 1, that had a value there last
  std::int64_t held_ = 0, served_ = 0;
  std::int64_t first_held_ = 0, first_served_ = 0;
  std::int64_t row_ = 0;    // that is read next
  std::int64_t first_ = 0;  // its first value
};

void CsrReader::begin() {
  value_piece_ = Buffer<std::byte>(piece_values() * dtype_bytes(dtype_));
  column_piece_ = Buffer<std::int64_t>(piece_values());
  first_piece_ = Buffer<std::int64_t>(piece_rows());
  last_row_ = Buffer<std::int64_t>(cols_, 0, nullptr);
  std::int64_t zero = 0;
  firsts_.read(1, reinterpret_cast<std::byte*>(&zero));
  if (zero != 0) fail_format("indptr begins with " + text(zero) + ", not with 0", zero, 0);
}

std::int64_t CsrReader::next_first() {
  if (first_served_ == first_held_) {
    first_held_ = std::min(piece_rows(), firsts_.left());
    firsts_.read(first_held_, reinterpret_cast<std::byte*>(first_piece_.data()));
    first_served_ = 0;
  }
  return first_piece_[first_served_++];
}

void CsrReader::fetch() {
  held_ = std::min(piece_values(), values_.left());
  served_ = 0;
  values_.read(held_, value_piece_.data());
  columns_.read(held_, reinterpret_cast<std::byte*>(column_piece_.data()));
}

template <class Item>
void CsrReader::read_row(std::byte* row, std::int64_t count) {
  while (count > 0) {
    if (served_ == held_) fetch();
    const std::int64_t now = std::min(count, held_ - served_);
    const std::byte* value = value_piece_.data() + served_ * static_cast<std::int64_t>(sizeof(Item));
    for (std::int64_t i = 0; i < now; ++i, value += sizeof(Item)) {
      const std::int64_t column = column_piece_[served_ + i];
      if (column < 0 || column >= cols_)
        fail_value("a value is in " + place(column) + " of " + text(cols_), column, cols_);
      if (last_row_[column] == row_ + 1) fail_value("two values are in " + place(column), column, 1);
      last_row_[column] = row_ + 1;
      std::memcpy(row + column * static_cast<std::int64_t>(sizeof(Item)), value, sizeof(Item));
    }
    served_ += now;
    count -= now;
  }
}

void CsrReader::read(std::int64_t count, std::byte* dst) {
  if (last_row_.empty()) begin();
  const std::int64_t row_bytes = cols_ * dtype_bytes(dtype_);
  std::memset(dst, 0, static_cast<std::size_t>(count * row_bytes));
  for (; count > 0; --count, ++row_, dst += row_bytes) {
    const std::int64_t end = next_first();
    if (end < first_) fail_format("indptr falls from " + text(first_) + " to " + text(end), end, first_);
    if (end > stored_)
      fail_format("indptr has " + text(end) + ", there are " + text(stored_) + " values", end, stored_);
    visit_width(dtype_bytes(dtype_), [&]<class Item>(Item*) { read_row<Item>(dst, end - first_); });
    first_ = end;
  }
}

void CsrReader::finish() {
  if (first_ != stored_)
    fail_format("indptr ends with " + text(first_) + ", there are " + text(stored_) + " values", first_, stored_);
  matrix_->require_unchanged();
}

void CsrReader::fail_value(const std::string& what, std::int64_t number, std::int64_t limit) {
  turned_ ? fail_at(number, row_, what, number, limit) : fail_at(row_, number, what, number, limit);
}

void CsrReader::fail_format(const std::string& what, std::int64_t given, std::int64_t limit) {
  turned_ ? fail_at(-1, row_, what, given, limit) : fail_at(row_, -1, what, given, limit);
}

void CsrReader::fail_at(std::int64_t row, std::int64_t col, const std::string& what, std::int64_t given,
                        std::int64_t limit) {
  matrix_->require_unchanged();
  fail(KNNG_ERR_FORMAT, "path", {.row = row, .col = col, .given = given, .limit = limit}, "%s: %s",
       shown(matrix_->name()).c_str(), what.c_str());
}

}  // namespace

std::unique_ptr<RowReader> csr_rows(std::unique_ptr<Hdf5Matrix> matrix) {
  return std::make_unique<CsrReader>(std::move(matrix));
}

}  // namespace libknng

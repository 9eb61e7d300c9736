#include "io/npy.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "core/buffer.h"
#include "core/dtype.h"
#include "core/error.h"
#include "io/file.h"
#include "io/packed_rows.h"

namespace libknng {
namespace {

constexpr NpyType kRowTypes[] = {
    {4, KNNG_F32, 'f'}, {8, KNNG_F64, 'f'}, {2, KNNG_F16, 'f'}, {1, KNNG_U8, 'u'},
    {1, KNNG_I8, 'i'},  {2, KNNG_U16, 'u'}, {2, KNNG_I16, 'i'}, {4, KNNG_U32, 'u'},
    {4, KNNG_I32, 'i'}, {8, KNNG_U64, 'u'}, {8, KNNG_I64, 'i'}, {1, KNNG_BOOL, 'b'},
};
// Memory for columns of a file in Fortran order.
constexpr std::int64_t kColumnBytes = std::int64_t{8} << 20;

void swap_items(std::byte* data, std::int64_t count, std::int64_t item_bytes) {
  for (std::int64_t i = 0; i < count; ++i, data += item_bytes) std::reverse(data, data + item_bytes);
}

class NpyReader : public RowReader {
 public:
  NpyReader(std::unique_ptr<Source> source, const NpyHeader& header, std::int32_t dtype)
      : source_(std::move(source)), item_bytes_(header.item_bytes), swapped_(header.swapped && item_bytes_ > 1) {
    dtype_ = dtype;
    rows_ = header.shape[0];
    cols_ = header.shape[1];
  }
  void finish() override { source_->finish(); }

 protected:
  std::int64_t row_bytes() const noexcept { return cols_ * item_bytes_; }
  bool swapped() const noexcept { return swapped_; }
  void to_native(std::byte* dst, std::int64_t count) const {
    if (swapped_) swap_items(dst, count * cols_, item_bytes_);
  }

  const std::unique_ptr<Source> source_;
  const std::int64_t item_bytes_;

 private:
  const bool swapped_;
};

class COrderReader final : public NpyReader {
 public:
  COrderReader(std::unique_ptr<Source> source, const NpyHeader& header, std::int32_t dtype)
      : NpyReader(std::move(source), header, dtype), first_byte_(source_->position()) {}
  void read(std::int64_t count, std::byte* dst) override {
    source_->read(dst, count * row_bytes());
    to_native(dst, count);
  }
  std::unique_ptr<const RowFile> stay() const override {
    return swapped() ? nullptr : packed_rows(*source_, first_byte_, row_bytes());
  }

 private:
  const std::int64_t first_byte_;
};

// Column after column in the file. A block of rows is brought in with one read per column; where the source cannot go
// back, the block is the whole matrix.
class FortranOrderReader final : public NpyReader {
 public:
  FortranOrderReader(std::unique_ptr<Source> source, const NpyHeader& header, std::int32_t dtype, Budget* budget)
      : NpyReader(std::move(source), header, dtype), first_item_(source_->position()), budget_(budget) {
    capacity_ = rows_;
    if (source_->plain() && row_bytes() > 0)
      capacity_ = std::clamp<std::int64_t>(kColumnBytes / row_bytes(), 1, std::max<std::int64_t>(rows_, 1));
  }

  void read(std::int64_t count, std::byte* dst) override {
    for (std::int64_t done = 0; done < count;) {
      if (served_ == held_) fetch();
      const std::int64_t now = std::min(count - done, held_ - served_);
      visit_width(item_bytes_, [&]<class Item>(Item*) { gather<Item>(dst + done * row_bytes(), now); });
      served_ += now;
      done += now;
    }
    to_native(dst, count);
  }
  std::int64_t bytes_beside() const override { return capacity_ * row_bytes(); }
  void finish() override {
    if (source_->plain()) source_->seek(source_->most());
    NpyReader::finish();
  }

 private:
  void fetch() {
    if (block_.empty()) block_ = Buffer<std::byte>(capacity_ * row_bytes(), budget_);
    first_row_ += held_;
    held_ = std::min(capacity_, rows_ - first_row_);
    served_ = 0;
    if (held_ == 0) fail(KNNG_ERR_INTERNAL, "count", "%s: read past its last row", shown(source_->name()).c_str());
    for (std::int64_t column = 0; column < cols_; ++column) {
      if (source_->plain()) source_->seek(first_item_ + (column * rows_ + first_row_) * item_bytes_);
      source_->read(block_.data() + column * held_ * item_bytes_, held_ * item_bytes_);
    }
  }
  // Transposes in small squares, so that both sides stay in cache. dst need not be aligned.
  template <class Item>
  void gather(std::byte* dst, std::int64_t count) const {
    constexpr std::int64_t kSquare = 32;
    const auto* columns = reinterpret_cast<const Item*>(block_.data());
    for (std::int64_t row0 = 0; row0 < count; row0 += kSquare)
      for (std::int64_t column0 = 0; column0 < cols_; column0 += kSquare)
        for (std::int64_t row = row0; row < std::min(row0 + kSquare, count); ++row)
          for (std::int64_t column = column0; column < std::min(column0 + kSquare, cols_); ++column)
            std::memcpy(dst + (row * cols_ + column) * static_cast<std::int64_t>(sizeof(Item)),
                        columns + column * held_ + served_ + row, sizeof(Item));
  }

  const std::int64_t first_item_;
  Budget* const budget_;
  std::int64_t capacity_;
  Buffer<std::byte> block_;     // held_ items of each column
  std::int64_t first_row_ = 0;  // of block_
  std::int64_t held_ = 0;
  std::int64_t served_ = 0;
};

std::string names_of(std::span<const NpyType> types) {
  std::string names;
  for (const NpyType& t : types) names.append(names.empty() ? "" : ", ").append(dtype_name(t.dtype));
  return names;
}

}  // namespace

std::unique_ptr<RowReader> open_npy(std::unique_ptr<Source> source, std::span<const NpyType> types, Budget* budget) {
  const NpyHeader header = read_npy_header(*source);
  const auto type = std::find_if(types.begin(), types.end(), [&](const NpyType& t) {
    return t.kind == header.kind && t.item_bytes == header.item_bytes;
  });
  if (type == types.end())
    fail(KNNG_ERR_UNSUPPORTED, "path", "%s holds items of NumPy type %s; %s are read", shown(source->name()).c_str(),
         shown(header.descr).c_str(), names_of(types).c_str());
  if (header.shape.size() != 2)
    fail(KNNG_ERR_FORMAT, "path", {.given = static_cast<std::int64_t>(header.shape.size()), .limit = 2},
         "%s holds an array of %zu dimension%s; 2 are needed, rows x columns", shown(source->name()).c_str(),
         header.shape.size(), header.shape.size() == 1 ? "" : "s");
  const std::int64_t items = claimed_product(*source, header.shape[0], header.shape[1], "its shape");
  const std::int64_t data_bytes = claimed_product(*source, items, header.item_bytes, "its shape");
  char claim[96];
  std::snprintf(claim, sizeof claim, "its shape %lld x %lld of %s", static_cast<long long>(header.shape[0]),
                static_cast<long long>(header.shape[1]), dtype_name(type->dtype));
  std::int64_t whole = 0;
  if (__builtin_add_overflow(data_bytes, source->position(), &whole)) whole = INT64_MAX;
  require_size(*source, whole, claim);
  if (header.fortran_order) return std::make_unique<FortranOrderReader>(std::move(source), header, type->dtype, budget);
  return std::make_unique<COrderReader>(std::move(source), header, type->dtype);
}

std::unique_ptr<RowReader> open_npy(std::unique_ptr<Source> source) { return open_npy(std::move(source), kRowTypes); }

}  // namespace libknng

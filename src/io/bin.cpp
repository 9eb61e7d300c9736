#include "io/bin.h"

#include <cstring>
#include <utility>

#include "core/dtype.h"
#include "core/error.h"
#include "io/file.h"
#include "io/packed_rows.h"

namespace libknng {
namespace {

// Bytes of a file with these counts; -1 beyond 63 bits.
std::int64_t file_bytes(std::uint64_t rows, std::uint64_t cols, std::int64_t item_bytes, std::int64_t header_bytes) {
  std::int64_t bytes = 0;
  if (__builtin_mul_overflow(rows, cols, &bytes) || __builtin_mul_overflow(bytes, item_bytes, &bytes) ||
      __builtin_add_overflow(bytes, header_bytes, &bytes))
    return -1;
  return bytes;
}

class BinReader final : public RowReader {
 public:
  BinReader(std::unique_ptr<Source> source, std::int32_t dtype)
      : source_(std::move(source)), row_bytes_(find_dtype(dtype)->bytes) {
    dtype_ = dtype;
    std::uint32_t narrow[2];
    source_->read(reinterpret_cast<std::byte*>(narrow), sizeof narrow);
    std::uint64_t rows = narrow[0], cols = narrow[1];
    if (file_bytes(rows, cols, row_bytes_, sizeof narrow) != source_->most()) {
      std::uint64_t wide[2] = {0, 0};
      if (source_->most() >= static_cast<std::int64_t>(sizeof wide)) {
        source_->seek(0);
        source_->read(reinterpret_cast<std::byte*>(wide), sizeof wide);
      }
      if (file_bytes(wide[0], wide[1], row_bytes_, sizeof wide) != source_->most())
        fail(KNNG_ERR_FORMAT, "path", {.given = source_->most()},
             "%s is truncated, too long or of another format: its %lld bytes do not fit %u rows of %u %s, nor a header "
             "of 64-bit counts",
             shown(source_->name()).c_str(), static_cast<long long>(source_->most()), narrow[0], narrow[1],
             dtype_name(dtype));
      rows = wide[0];
      cols = wide[1];
    }
    if (!std::in_range<std::int64_t>(rows) || !std::in_range<std::int64_t>(cols))
      fail(KNNG_ERR_FORMAT, "path", "%s: a count is beyond 63 bits", shown(source_->name()).c_str());
    rows_ = static_cast<std::int64_t>(rows);
    cols_ = static_cast<std::int64_t>(cols);
    // An empty matrix may claim any dimension; open_reader() refuses it, so that the product is never used then.
    if (rows_ > 0) row_bytes_ *= cols_;
    first_byte_ = source_->position();
  }

  void read(std::int64_t count, std::byte* dst) override { source_->read(dst, count * row_bytes_); }
  void finish() override { source_->finish(); }
  std::unique_ptr<const RowFile> stay() const override { return packed_rows(*source_, first_byte_, row_bytes_); }

 private:
  const std::unique_ptr<Source> source_;
  std::int64_t row_bytes_;
  std::int64_t first_byte_ = 0;
};

}  // namespace

std::unique_ptr<RowReader> open_fbin(std::unique_ptr<Source> source) {
  return std::make_unique<BinReader>(std::move(source), KNNG_F32);
}

std::unique_ptr<RowReader> open_u8bin(std::unique_ptr<Source> source) {
  return std::make_unique<BinReader>(std::move(source), KNNG_U8);
}

std::unique_ptr<RowReader> open_i8bin(std::unique_ptr<Source> source) {
  return std::make_unique<BinReader>(std::move(source), KNNG_I8);
}

std::unique_ptr<RowReader> open_ibin(std::unique_ptr<Source> source) {
  return std::make_unique<BinReader>(std::move(source), KNNG_I32);
}

}  // namespace libknng

#include "io/vecs.h"

#include <algorithm>
#include <cstring>

#include "core/buffer.h"
#include "core/dtype.h"
#include "core/error.h"
#include "io/file.h"

namespace libknng {
namespace {

constexpr std::int64_t kPrefixBytes = 4;
constexpr std::int64_t kBlockBytes = std::int64_t{1} << 20;

class VecsReader final : public RowReader {
 public:
  VecsReader(std::unique_ptr<Source> source, std::int32_t dtype)
      : source_(std::move(source)), item_bytes_(find_dtype(dtype)->bytes) {
    std::int32_t dim = 0;
    source_->read(reinterpret_cast<std::byte*>(&dim), kPrefixBytes);
    source_->seek(0);
    if (dim < 1)
      fail(KNNG_ERR_FORMAT, "path", {.given = dim, .limit = 1}, "%s: its first row has dimension %d",
           shown(source_->name()).c_str(), dim);
    dtype_ = dtype;
    cols_ = dim;
    record_bytes_ = kPrefixBytes + cols_ * item_bytes_;
    if (source_->most() % record_bytes_ != 0)
      fail(KNNG_ERR_FORMAT, "path", {.given = source_->most(), .limit = record_bytes_},
           "%s is truncated or no such file: its %lld bytes are no multiple of the %lld of a row of dimension %d",
           shown(source_->name()).c_str(), static_cast<long long>(source_->most()),
           static_cast<long long>(record_bytes_), dim);
    rows_ = source_->most() / record_bytes_;
  }

  void read(std::int64_t count, std::byte* dst) override {
    const std::int64_t block_rows = std::max<std::int64_t>(kBlockBytes / record_bytes_, 1);
    if (block_.empty()) block_ = Buffer<std::byte>(block_rows * record_bytes_);
    for (std::int64_t done = 0; done < count;) {
      const std::int64_t now = std::min(block_rows, count - done);
      const std::int64_t row0 = source_->position() / record_bytes_;
      source_->read(block_.data(), now * record_bytes_);
      for (std::int64_t i = 0; i < now; ++i) {
        const std::byte* const record = block_.data() + i * record_bytes_;
        std::int32_t dim = 0;
        std::memcpy(&dim, record, kPrefixBytes);
        const std::int64_t row = row0 + i;
        if (dim != cols_)
          fail(KNNG_ERR_FORMAT, "path", {.row = row, .given = dim, .limit = cols_},
               "%s: row %lld has dimension %d, the first has %lld", shown(source_->name()).c_str(),
               static_cast<long long>(row), dim, static_cast<long long>(cols_));
        std::memcpy(dst + (done + i) * cols_ * item_bytes_, record + kPrefixBytes,
                    static_cast<std::size_t>(cols_ * item_bytes_));
      }
      done += now;
    }
  }
  void finish() override { source_->finish(); }

 private:
  const std::unique_ptr<Source> source_;
  const std::int64_t item_bytes_;
  std::int64_t record_bytes_ = 0;
  Buffer<std::byte> block_;
};

}  // namespace

std::unique_ptr<RowReader> open_fvecs(std::unique_ptr<Source> source) {
  return std::make_unique<VecsReader>(std::move(source), KNNG_F32);
}

std::unique_ptr<RowReader> open_bvecs(std::unique_ptr<Source> source) {
  return std::make_unique<VecsReader>(std::move(source), KNNG_U8);
}

}  // namespace libknng

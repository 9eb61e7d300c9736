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
// Through which rows lose their dimensions.
constexpr std::int64_t kBlockBytes = std::int64_t{1} << 16;

// Records of a dimension and a row.
class VecsRows final : public RowFile {
 public:
  VecsRows(std::shared_ptr<const File> file, std::int64_t cols, std::int64_t record_bytes)
      : file_(std::move(file)), cols_(cols), record_bytes_(record_bytes) {}

  void read(std::int64_t first, std::int64_t count, std::byte* out) const override {
    const std::int64_t row_bytes = record_bytes_ - kPrefixBytes;
    const std::int64_t together = std::clamp<std::int64_t>(kBlockBytes / record_bytes_, 1, count);
    Buffer<std::byte> block(together * record_bytes_);
    for (const std::int64_t end = first + count; first < end;) {
      const std::int64_t now = std::min(together, end - first);
      file_->read(first * record_bytes_, block.data(), now * record_bytes_);
      for (std::int64_t i = 0; i < now; ++i, ++first, out += row_bytes) {
        const std::byte* const record = block.data() + i * record_bytes_;
        std::int32_t dim = 0;
        std::memcpy(&dim, record, kPrefixBytes);
        if (dim != cols_)
          fail(KNNG_ERR_FORMAT, "path", {.row = first, .given = dim, .limit = cols_},
               "%s: a row has dimension %d, the first has %lld", shown(file_->path()).c_str(), dim,
               static_cast<long long>(cols_));
        std::memcpy(out, record + kPrefixBytes, static_cast<std::size_t>(row_bytes));
      }
    }
  }
  void require_unchanged() const override { file_->require_not_written(); }
  void require_untouched() const override { file_->require_unchanged(); }
  [[noreturn]] void fail_changed() const override { file_->fail_changed(); }

 private:
  std::shared_ptr<const File> file_;
  std::int64_t cols_, record_bytes_;
};

class VecsReader final : public RowReader {
 public:
  VecsReader(std::unique_ptr<Source> source, std::int32_t dtype) : source_(std::move(source)) {
    std::int32_t dim = 0;
    source_->read(reinterpret_cast<std::byte*>(&dim), kPrefixBytes);
    if (dim < 1)
      fail(KNNG_ERR_FORMAT, "path", {.given = dim, .limit = 1}, "%s: its first row has dimension %d",
           shown(source_->name()).c_str(), dim);
    dtype_ = dtype;
    cols_ = dim;
    const std::int64_t record_bytes = kPrefixBytes + cols_ * find_dtype(dtype)->bytes;
    if (source_->most() % record_bytes != 0)
      fail(KNNG_ERR_FORMAT, "path", {.given = source_->most(), .limit = record_bytes},
           "%s is truncated, too long or of another format: its %lld bytes are no multiple of the %lld of a row of "
           "dimension %d",
           shown(source_->name()).c_str(), static_cast<long long>(source_->most()),
           static_cast<long long>(record_bytes), dim);
    rows_ = source_->most() / record_bytes;
    stored_ = std::make_unique<VecsRows>(source_->file(), cols_, record_bytes);
  }

  void read(std::int64_t count, std::byte* dst) override {
    stored_->read(next_, count, dst);
    next_ += count;
  }
  void finish() override {
    source_->seek(next_ * (source_->most() / rows_));
    source_->finish();
  }
  std::unique_ptr<const RowFile> stay() const override {
    return std::make_unique<VecsRows>(source_->file(), cols_, source_->most() / rows_);
  }

 private:
  const std::unique_ptr<Source> source_;  // a plain file
  std::unique_ptr<const RowFile> stored_;
  std::int64_t next_ = 0;
};

}  // namespace

std::unique_ptr<RowReader> open_fvecs(std::unique_ptr<Source> source) {
  return std::make_unique<VecsReader>(std::move(source), KNNG_F32);
}

std::unique_ptr<RowReader> open_bvecs(std::unique_ptr<Source> source) {
  return std::make_unique<VecsReader>(std::move(source), KNNG_U8);
}

std::unique_ptr<RowReader> open_ivecs(std::unique_ptr<Source> source) {
  return std::make_unique<VecsReader>(std::move(source), KNNG_I32);
}

}  // namespace libknng

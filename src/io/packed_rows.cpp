#include "io/packed_rows.h"

#include <utility>

#include "io/file.h"

namespace libknng {
namespace {

class PackedRows final : public RowFile {
 public:
  PackedRows(std::shared_ptr<const File> file, std::int64_t first_byte, std::int64_t row_bytes)
      : file_(std::move(file)), first_byte_(first_byte), row_bytes_(row_bytes) {}

  void read(std::int64_t first, std::int64_t count, std::byte* out) const override {
    file_->read(first_byte_ + first * row_bytes_, out, count * row_bytes_);
  }
  void require_unchanged() const override { file_->require_not_written(); }
  void require_untouched() const override { file_->require_unchanged(); }
  [[noreturn]] void fail_changed() const override { file_->fail_changed(); }

 private:
  std::shared_ptr<const File> file_;
  std::int64_t first_byte_, row_bytes_;
};

}  // namespace

std::unique_ptr<const RowFile> packed_rows(const Source& source, std::int64_t first_byte, std::int64_t row_bytes) {
  std::shared_ptr<const File> file = source.file();
  return file ? std::make_unique<PackedRows>(std::move(file), first_byte, row_bytes) : nullptr;
}

}  // namespace libknng

#include "io/source.h"

#include "core/error.h"
#include "io/file.h"

namespace libknng {
namespace {

class PlainSource final : public Source {
 public:
  explicit PlainSource(std::shared_ptr<const File> file)
      : Source(file->path(), file->size(), true), file_(std::move(file)) {}
  std::shared_ptr<const File> file() const noexcept override { return file_; }
  void require_unchanged() const override { file_->require_unchanged(); }

 private:
  std::int64_t read_some(std::byte* dst, std::int64_t bytes) override {
    return file_->read_some(position(), dst, bytes);
  }

  std::shared_ptr<const File> file_;
};

}  // namespace

std::int64_t Source::read_at_most(std::byte* dst, std::int64_t bytes) {
  const std::int64_t got = read_some(dst, bytes);
  position_ += got;
  return got;
}

void Source::read(std::byte* dst, std::int64_t bytes) {
  const std::int64_t got = read_at_most(dst, bytes);
  if (got == bytes) return;
  require_unchanged();
  const std::int64_t needed = position_ - got + bytes;
  fail(KNNG_ERR_FORMAT, "path", {.given = position_, .limit = needed},
       "%s is truncated: its data end after %lld bytes, at least %lld were expected", shown(name_).c_str(),
       static_cast<long long>(position_), static_cast<long long>(needed));
}

void Source::seek(std::int64_t position) {
  if (!plain_) fail(KNNG_ERR_INTERNAL, "path", "%s can only be read from front to back", shown(name_).c_str());
  position_ = position;
}

void Source::restart() {
  unwind();
  position_ = 0;
}

void Source::finish() {
  std::byte extra;
  if (read_some(&extra, 1) != 0)
    fail(KNNG_ERR_FORMAT, "path", {.limit = position_}, "%s has more data than the %lld bytes that its header tells",
         shown(name_).c_str(), static_cast<long long>(position_));
  require_unchanged();
}

std::unique_ptr<Source> open_plain(const std::string& path, Young young, Monitor* monitor) {
  auto file = std::make_shared<File>(path);
  if (young == Young::wait) file->wait_while_young(monitor);
  return std::make_unique<PlainSource>(std::move(file));
}

void require_size(const Source& source, std::int64_t claimed, const char* claim) {
  if (source.plain() ? claimed == source.most() : claimed <= source.most()) return;
  if (claimed < source.most())
    fail(KNNG_ERR_FORMAT, "path", {.given = source.most(), .limit = claimed},
         "%s has %lld bytes, more than the %lld of %s", shown(source.name()).c_str(),
         static_cast<long long>(source.most()), static_cast<long long>(claimed), claim);
  fail(KNNG_ERR_FORMAT, "path", {.given = source.most(), .limit = claimed},
       "%s is truncated: %s needs %lld bytes, %s%lld are there", shown(source.name()).c_str(), claim,
       static_cast<long long>(claimed), source.plain() ? "" : "at most ", static_cast<long long>(source.most()));
}

std::int64_t claimed_product(const Source& source, std::int64_t a, std::int64_t b, const char* claim) {
  std::int64_t product = 0;
  if (__builtin_mul_overflow(a, b, &product))
    fail(KNNG_ERR_FORMAT, "path", {.given = a}, "%s: %s is beyond 63 bits (%lld x %lld)", shown(source.name()).c_str(),
         claim, static_cast<long long>(a), static_cast<long long>(b));
  return product;
}

}  // namespace libknng

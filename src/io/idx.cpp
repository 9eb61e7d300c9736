#include "io/idx.h"

#include <string>

#include "core/error.h"
#include "io/file.h"
#include "io/packed_rows.h"

namespace libknng {
namespace {

constexpr int kUnsignedByte = 0x08;

// Third byte of the magic number: http://yann.lecun.com/exdb/mnist
const char* type_name(int code) noexcept {
  switch (code) {
    case 0x09: return "signed byte";
    case 0x0b: return "short";
    case 0x0c: return "int";
    case 0x0d: return "float";
    case 0x0e: return "double";
    default: return nullptr;
  }
}

std::int64_t big_endian_32(const std::byte* p) {
  std::int64_t value = 0;
  for (int i = 0; i < 4; ++i) value = value << 8 | static_cast<std::int64_t>(p[i]);
  return value;
}

class IdxReader final : public RowReader {
 public:
  explicit IdxReader(std::unique_ptr<Source> source) : source_(std::move(source)) {
    const std::string name = shown(source_->name());
    std::byte field[4];
    source_->read(field, 4);
    const int type = static_cast<int>(field[2]), dimensions = static_cast<int>(field[3]);
    const char* other = type_name(type);
    if (field[0] != std::byte{0} || field[1] != std::byte{0} || (type != kUnsignedByte && !other) || dimensions == 0)
      fail(KNNG_ERR_FORMAT, "path", "%s is no IDX file: it starts with %02x %02x %02x %02x", name.c_str(),
           static_cast<unsigned>(field[0]), static_cast<unsigned>(field[1]), static_cast<unsigned>(type),
           static_cast<unsigned>(dimensions));
    if (other)
      fail(KNNG_ERR_UNSUPPORTED, "path", {.given = type, .limit = kUnsignedByte},
           "%s is an IDX file of %ss (type 0x%02x); IDX files of unsigned bytes (0x08) are read", name.c_str(), other,
           static_cast<unsigned>(type));
    std::string claim = "its size ";
    dtype_ = KNNG_U8;
    cols_ = 1;
    for (int i = 0; i < dimensions; ++i) {
      source_->read(field, 4);
      const std::int64_t count = big_endian_32(field);
      if (i == 0)
        rows_ = count;
      else
        cols_ = claimed_product(*source_, cols_, count, "its size");
      if (i < 4) claim.append(i ? " x " : "").append(std::to_string(count));
      if (i == 4) claim += " x ...";
    }
    const std::int64_t items = claimed_product(*source_, rows_, cols_, "its size");
    std::int64_t whole = 0;
    if (__builtin_add_overflow(items, source_->position(), &whole)) whole = INT64_MAX;
    require_size(*source_, whole, claim.c_str());
    first_byte_ = source_->position();
  }

  void read(std::int64_t count, std::byte* dst) override { source_->read(dst, count * cols_); }
  void finish() override { source_->finish(); }
  std::unique_ptr<const RowFile> stay() const override { return packed_rows(*source_, first_byte_, cols_); }

 private:
  const std::unique_ptr<Source> source_;
  std::int64_t first_byte_ = 0;
};

}  // namespace

std::unique_ptr<RowReader> open_idx(std::unique_ptr<Source> source) {
  return std::make_unique<IdxReader>(std::move(source));
}

}  // namespace libknng

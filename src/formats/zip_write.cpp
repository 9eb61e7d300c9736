// Writing an archive: two sources of libzip, one that brings a member's pieces and one that takes the finished bytes.
#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>
#include <vector>

#include "formats/failure.h"
#include "formats/zip.h"

namespace knng_formats {
namespace {

// A member's memory as a source; it cannot fail.
struct Pieces {
  const knng_formats_new_member& member;
  std::int64_t piece = 0;
  std::int64_t at = 0;  // within the piece

  std::int64_t bytes() const noexcept {
    std::int64_t sum = 0;
    for (std::int64_t i = 0; i < member.piece_count; ++i) sum += member.pieces[i].bytes;
    return sum;
  }
  std::int64_t read(char* dst, std::int64_t wanted) noexcept {
    std::int64_t done = 0;
    while (done < wanted && piece < member.piece_count) {
      const knng_formats_piece& from = member.pieces[piece];
      const std::int64_t now = std::min(wanted - done, from.bytes - at);
      if (now > 0) std::memcpy(dst + done, static_cast<const char*>(from.data) + at, static_cast<std::size_t>(now));
      done += now;
      at += now;
      if (at == from.bytes) {
        ++piece;
        at = 0;
      }
    }
    return done;
  }
};

zip_int64_t pieces_call(void* user, void* data, zip_uint64_t bytes, zip_source_cmd_t command) {
  auto& self = *static_cast<Pieces*>(user);
  switch (command) {
    case ZIP_SOURCE_OPEN: self.piece = self.at = 0; return 0;
    case ZIP_SOURCE_READ: return self.read(static_cast<char*>(data), static_cast<std::int64_t>(bytes));
    case ZIP_SOURCE_CLOSE: return 0;
    case ZIP_SOURCE_STAT: {
      auto* const stat = static_cast<zip_stat_t*>(data);
      zip_stat_init(stat);
      stat->valid = ZIP_STAT_SIZE;
      stat->size = static_cast<zip_uint64_t>(self.bytes());
      return sizeof *stat;
    }
    case ZIP_SOURCE_ERROR: {
      ZipError none;
      return zip_error_to_data(&none, data, bytes);
    }
    case ZIP_SOURCE_FREE: delete &self; return 0;
    case ZIP_SOURCE_SUPPORTS:
      return zip_source_make_command_bitmap(ZIP_SOURCE_OPEN, ZIP_SOURCE_READ, ZIP_SOURCE_CLOSE, ZIP_SOURCE_STAT,
                                            ZIP_SOURCE_ERROR, ZIP_SOURCE_FREE, ZIP_SOURCE_SUPPORTS, -1);
    default: return -1;
  }
}

// The archive as it is written. To libzip it is an empty file that can be rewritten. libzip writes 8 KiB at a time;
// here they become large writes.
class Output {
 public:
  explicit Output(const knng_formats_output& to) : file_(to), block_(kBlock) {}

  bool write(const void* src, std::int64_t bytes) {
    const auto* from = static_cast<const char*>(src);
    for (std::int64_t done = 0; done < bytes;) {
      if ((at != first_ + filled_ || filled_ == kBlock) && !flush()) return false;
      const std::int64_t now = std::min(bytes - done, kBlock - filled_);
      std::memcpy(block_.data() + filled_, from + done, static_cast<std::size_t>(now));
      filled_ += now;
      done += now;
      at += now;
    }
    size = std::max(size, at);
    return true;
  }
  bool flush() {
    if (filled_ > 0 && file_.write_at(file_.user, first_, block_.data(), filled_) != 0) {
      zip_error_set(&error, ZIP_ER_WRITE, EIO);
      return false;
    }
    first_ = at;
    filled_ = 0;
    return true;
  }

  std::int64_t at = 0;
  std::int64_t size = 0;
  ZipError error;

 private:
  static constexpr std::int64_t kBlock = std::int64_t{1} << 17;

  const knng_formats_output& file_;
  std::vector<char> block_;
  std::int64_t first_ = 0;  // where block_ belongs
  std::int64_t filled_ = 0;
};

zip_int64_t output_call(void* user, void* data, zip_uint64_t bytes, zip_source_cmd_t command) {
  auto& self = *static_cast<Output*>(user);
  switch (command) {
    case ZIP_SOURCE_STAT: {
      auto* const stat = static_cast<zip_stat_t*>(data);
      zip_stat_init(stat);
      stat->valid = ZIP_STAT_SIZE;
      return sizeof *stat;
    }
    case ZIP_SOURCE_BEGIN_WRITE: self.at = self.size = 0; return 0;
    case ZIP_SOURCE_WRITE:
      return self.write(data, static_cast<std::int64_t>(bytes)) ? static_cast<zip_int64_t>(bytes) : -1;
    case ZIP_SOURCE_COMMIT_WRITE: return self.flush() ? 0 : -1;
    case ZIP_SOURCE_SEEK_WRITE: {
      const zip_int64_t to = zip_source_seek_compute_offset(
          static_cast<zip_uint64_t>(self.at), static_cast<zip_uint64_t>(self.size), data, bytes, &self.error);
      if (to < 0) return -1;
      self.at = to;
      return 0;
    }
    case ZIP_SOURCE_TELL_WRITE: return self.at;
    case ZIP_SOURCE_OPEN:
    case ZIP_SOURCE_READ:
    case ZIP_SOURCE_CLOSE:
    case ZIP_SOURCE_SEEK:
    case ZIP_SOURCE_TELL:
    case ZIP_SOURCE_ROLLBACK_WRITE:
    case ZIP_SOURCE_REMOVE: return 0;
    case ZIP_SOURCE_ERROR: return zip_error_to_data(&self.error, data, bytes);
    case ZIP_SOURCE_FREE: delete &self; return 0;
    case ZIP_SOURCE_SUPPORTS:
      return zip_source_make_command_bitmap(ZIP_SOURCE_OPEN, ZIP_SOURCE_READ, ZIP_SOURCE_CLOSE, ZIP_SOURCE_STAT,
                                            ZIP_SOURCE_ERROR, ZIP_SOURCE_FREE, ZIP_SOURCE_SEEK, ZIP_SOURCE_TELL,
                                            ZIP_SOURCE_SUPPORTS, ZIP_SOURCE_BEGIN_WRITE, ZIP_SOURCE_WRITE,
                                            ZIP_SOURCE_SEEK_WRITE, ZIP_SOURCE_TELL_WRITE, ZIP_SOURCE_COMMIT_WRITE,
                                            ZIP_SOURCE_ROLLBACK_WRITE, ZIP_SOURCE_REMOVE, -1);
    default: zip_error_set(&self.error, ZIP_ER_OPNOTSUPP, 0); return -1;
  }
}

template <class State>
ZipSource source_of(std::unique_ptr<State> state, zip_source_callback call) {
  ZipError error;
  zip_source_t* const source = zip_source_function_create(call, state.get(), &error);
  if (!source) fail_zip(&error, KNNG_ERR_INTERNAL);
  static_cast<void>(state.release());  // libzip's now
  return ZipSource(source, &zip_source_free);
}

void add_member(zip_t* zip, const knng_formats_new_member& member) {
  ZipSource pieces = source_of(std::unique_ptr<Pieces>(new Pieces{member}), &pieces_call);
  const zip_int64_t index = zip_file_add(zip, member.name, pieces.get(), ZIP_FL_ENC_UTF_8);
  if (index < 0) fail_zip(zip_get_error(zip), KNNG_ERR_INTERNAL);
  static_cast<void>(pieces.release());            // the archive's now
  constexpr zip_uint16_t kFirstDay = 1 << 5 | 1;  // 1980-01-01
  if (zip_set_file_compression(zip, static_cast<zip_uint64_t>(index), ZIP_CM_STORE, 0) != 0 ||
      zip_file_set_dostime(zip, static_cast<zip_uint64_t>(index), 0, kFirstDay, 0) != 0)
    fail_zip(zip_get_error(zip), KNNG_ERR_INTERNAL);
}

}  // namespace

std::int32_t zip_write(const knng_formats_output* output, const knng_formats_new_member* members,
                       std::int64_t member_count, knng_formats_error* error) {
  return at_seam(error, [&] {
    ZipSource sink = source_of(std::make_unique<Output>(*output), &output_call);
    ZipError why;
    ZipArchive zip(zip_open_from_source(sink.get(), ZIP_CREATE | ZIP_TRUNCATE, &why), &zip_discard);
    if (!zip) fail_zip(&why, KNNG_ERR_INTERNAL);
    static_cast<void>(sink.release());  // the archive's now
    for (std::int64_t i = 0; i < member_count; ++i) add_member(zip.get(), members[i]);
    if (zip_close(zip.get()) != 0) fail_zip(zip_get_error(zip.get()), KNNG_ERR_INTERNAL);
    static_cast<void>(zip.release());
  });
}

}  // namespace knng_formats

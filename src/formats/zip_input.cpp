// A file of the seam as libzip sees it, and libzip's errors as the seam sees them.
#include <cerrno>

#include "formats/failure.h"
#include "formats/zip.h"

namespace knng_formats {
namespace {

std::int32_t status_of(int code, std::int32_t otherwise) noexcept {
  switch (code) {
    case ZIP_ER_MEMORY: return KNNG_ERR_MEMORY;
    case ZIP_ER_READ:
    case ZIP_ER_WRITE:
    case ZIP_ER_SEEK:
    case ZIP_ER_TELL:
    case ZIP_ER_OPEN:
    case ZIP_ER_CLOSE: return KNNG_ERR_IO;
    case ZIP_ER_COMPNOTSUPP:
    case ZIP_ER_ENCRNOTSUPP:
    case ZIP_ER_NOPASSWD:
    case ZIP_ER_MULTIDISK: return KNNG_ERR_UNSUPPORTED;
    default: return otherwise;
  }
}

// State of an input source; owned by libzip, which frees it with ZIP_SOURCE_FREE.
struct Input {
  explicit Input(const knng_formats_input& from) : file(from) {}

  const knng_formats_input& file;
  std::int64_t at = 0;
  ZipError error;
};

zip_int64_t input_call(void* user, void* data, zip_uint64_t bytes, zip_source_cmd_t command) {
  auto& self = *static_cast<Input*>(user);
  switch (command) {
    case ZIP_SOURCE_OPEN: self.at = 0; return 0;
    case ZIP_SOURCE_READ: {
      const std::int64_t got = self.file.read_at(self.file.user, self.at, data, static_cast<std::int64_t>(bytes));
      if (got < 0) {
        zip_error_set(&self.error, ZIP_ER_READ, EIO);
        return -1;
      }
      self.at += got;
      return got;
    }
    case ZIP_SOURCE_CLOSE: return 0;
    case ZIP_SOURCE_STAT: {
      auto* const stat = static_cast<zip_stat_t*>(data);
      zip_stat_init(stat);
      stat->valid = ZIP_STAT_SIZE;
      stat->size = static_cast<zip_uint64_t>(self.file.size);
      return sizeof *stat;
    }
    case ZIP_SOURCE_ERROR: return zip_error_to_data(&self.error, data, bytes);
    case ZIP_SOURCE_FREE: delete &self; return 0;
    case ZIP_SOURCE_SEEK: {
      const zip_int64_t to = zip_source_seek_compute_offset(
          static_cast<zip_uint64_t>(self.at), static_cast<zip_uint64_t>(self.file.size), data, bytes, &self.error);
      if (to < 0) return -1;
      self.at = to;
      return 0;
    }
    case ZIP_SOURCE_TELL: return self.at;
    case ZIP_SOURCE_SUPPORTS:
      return zip_source_make_command_bitmap(ZIP_SOURCE_OPEN, ZIP_SOURCE_READ, ZIP_SOURCE_CLOSE, ZIP_SOURCE_STAT,
                                            ZIP_SOURCE_ERROR, ZIP_SOURCE_FREE, ZIP_SOURCE_SEEK, ZIP_SOURCE_TELL,
                                            ZIP_SOURCE_SUPPORTS, -1);
    default: zip_error_set(&self.error, ZIP_ER_OPNOTSUPP, 0); return -1;
  }
}

}  // namespace

void fail_zip(zip_error_t* error, std::int32_t otherwise) {
  if (out_of_memory()) throw std::bad_alloc();
  fail(status_of(zip_error_code_zip(error), otherwise), "zip archive: %s", zip_error_strerror(error));
}

ZipSource input_source(const knng_formats_input& input) {
  auto state = std::make_unique<Input>(input);
  ZipError error;
  zip_source_t* const source = zip_source_function_create(&input_call, state.get(), &error);
  if (!source) fail_zip(&error, KNNG_ERR_INTERNAL);
  static_cast<void>(state.release());  // libzip's now
  return ZipSource(source, &zip_source_free);
}

}  // namespace knng_formats

#include "io/formats.h"

#include <cstddef>
#include <utility>

#include "core/error.h"
#include "io/plugin.h"

namespace libknng {
namespace {

Plugin plugin(KNNG_FORMATS_FILE, KNNG_FORMATS_ENTRY, &call_entry<knng_formats_seam>, &seam_objection);

}  // namespace

std::string seam_objection(const void* table) {
  static_assert(offsetof(knng_formats_seam, version) == offsetof(PluginSeam, version) &&
                offsetof(knng_formats_seam, build_id) == offsetof(PluginSeam, build_id));
  return build_objection(table, {sizeof(knng_formats_seam), KNNG_FORMATS_SEAM_VERSION, KNNG_FORMATS_BUILD_ID});
}

const knng_formats_seam& formats_seam(const std::string& path) {
  std::string why_not;
  bool no_memory = false;
  if (const void* table = plugin.load(why_not, &no_memory)) return *static_cast<const knng_formats_seam*>(table);
  if (no_memory)
    fail(KNNG_ERR_MEMORY, "path", "%s needs the formats library, for which there is no memory (%s)",
         shown(path).c_str(), why_not.c_str());
  fail(KNNG_ERR_UNSUPPORTED, "path",
       "%s needs the formats library: install the package that has " KNNG_FORMATS_FILE ", e.g. libknng-formats (%s)",
       shown(path).c_str(), why_not.c_str());
}

void fail_at_seam(const std::string& name, const knng_formats_error& error, const std::exception_ptr& pending) {
  if (pending) std::rethrow_exception(pending);
  fail(error.status, "path", "%s: %s", shown(name).c_str(), error.text);
}

LentFile::LentFile(const std::string& path) : LentFile(std::make_shared<const File>(path)) {}

LentFile::LentFile(std::shared_ptr<const File> file)
    : file_(std::move(file)), input_{this, file_->size(), &LentFile::read_at} {}

std::int64_t LentFile::read_at(void* user, std::int64_t offset, void* dst, std::int64_t bytes) noexcept {
  auto& self = *static_cast<LentFile*>(user);
  try {
    return self.file_->read_some(offset, static_cast<std::byte*>(dst), bytes);
  } catch (...) {
    self.failure_ = std::current_exception();
    return -1;
  }
}

SeamSource::SeamSource(std::string name, std::int64_t most, const knng_formats_seam& seam,
                       std::shared_ptr<LentFile> file, Open open)
    : Source(std::move(name), most, false),
      seam_(seam),
      file_(std::move(file)),
      open_(std::move(open)),
      stream_(nullptr, seam.stream->close) {
  unwind();
}

void SeamSource::unwind() {
  stream_.reset();
  knng_formats_stream* stream = nullptr;
  knng_formats_error error = {};
  if (open_(&stream, &error) != KNNG_OK) fail_at_seam(name(), error, file_->take_failure());
  stream_.reset(stream);
}

std::int64_t SeamSource::read_some(std::byte* dst, std::int64_t bytes) {
  knng_formats_error error = {};
  const std::int64_t got = seam_.stream->read(stream_.get(), dst, bytes, &error);
  if (got < 0) fail_at_seam(name(), error, file_->take_failure());
  return got;
}

std::int64_t most_unpacked(std::int64_t packed) noexcept {
  std::int64_t most = 0;
  return __builtin_mul_overflow(packed, std::int64_t{1032}, &most) ? INT64_MAX : most;
}

}  // namespace libknng

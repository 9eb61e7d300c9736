#include "io/gz.h"

#include "core/error.h"
#include "io/formats.h"

namespace libknng {

std::unique_ptr<Source> open_gz(const std::string& path) {
  // The file first: that it is missing is worth more to know than that a library is.
  auto file = std::make_shared<LentFile>(path);
  const knng_formats_seam& seam = formats_seam(path);
  if (!seam.gz) fail(KNNG_ERR_UNSUPPORTED, "path", "%s: this formats library reads no gzip", shown(path).c_str());
  knng_formats_stream* stream = nullptr;
  knng_formats_error error = {};
  if (seam.gz->open(&stream, &file->input(), &error) != KNNG_OK) fail_at_seam(path, error, file->take_failure());
  SeamStream owned(stream, seam.stream->close);
  const std::int64_t most = most_unpacked(file->file().size());
  return std::make_unique<SeamSource>(path, most, seam, std::move(file), nullptr, std::move(owned));
}

}  // namespace libknng

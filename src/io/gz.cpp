#include "io/gz.h"

#include "core/error.h"
#include "io/formats.h"

namespace libknng {

std::unique_ptr<Source> open_gz(const std::string& path) {
  // The file first: that it is missing is worth more to know than that a library is.
  auto file = std::make_shared<LentFile>(path);
  const knng_formats_seam& seam = formats_seam(path);
  if (!seam.gz) fail(KNNG_ERR_UNSUPPORTED, "path", "%s: this formats library reads no gzip", shown(path).c_str());
  const std::int64_t most = most_unpacked(file->file().size());
  const knng_formats_input* const input = &file->input();
  auto open = [&seam, input](knng_formats_stream** stream, knng_formats_error* error) {
    return seam.gz->open(stream, input, error);
  };
  return std::make_unique<SeamSource>(path, most, seam, std::move(file), std::move(open));
}

}  // namespace libknng

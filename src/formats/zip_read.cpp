#include <limits>
#include <utility>

#include "formats/failure.h"
#include "formats/stream.h"
#include "formats/zip.h"

struct knng_formats_archive {
  knng_formats::ZipArchive zip;
};

namespace knng_formats {
namespace {

class MemberStream final : public knng_formats_stream {
 public:
  explicit MemberStream(zip_file_t* file) noexcept : file_(file) {}
  ~MemberStream() override { zip_fclose(file_); }
  MemberStream(const MemberStream&) = delete;
  MemberStream& operator=(const MemberStream&) = delete;

  std::int64_t read(void* dst, std::int64_t bytes) override {
    std::int64_t done = 0;
    while (done < bytes) {
      const zip_int64_t got = zip_fread(file_, static_cast<char*>(dst) + done, static_cast<zip_uint64_t>(bytes - done));
      if (got < 0) fail_zip(zip_file_get_error(file_), KNNG_ERR_FORMAT);
      if (got == 0) break;
      done += got;
    }
    return done;
  }

 private:
  zip_file_t* const file_;
};

zip_stat_t stat_of(zip_t* zip, std::int64_t i) {
  zip_stat_t stat;
  zip_stat_init(&stat);
  if (zip_stat_index(zip, static_cast<zip_uint64_t>(i), 0, &stat) != 0) fail_zip(zip_get_error(zip), KNNG_ERR_FORMAT);
  constexpr zip_uint64_t kNeeded = ZIP_STAT_NAME | ZIP_STAT_SIZE | ZIP_STAT_COMP_SIZE | ZIP_STAT_COMP_METHOD;
  if ((stat.valid & kNeeded) != kNeeded || stat.size > std::numeric_limits<std::int64_t>::max() ||
      stat.comp_size > std::numeric_limits<std::int64_t>::max())
    fail(KNNG_ERR_FORMAT, "zip archive: member %lld has no usable name or size", static_cast<long long>(i));
  return stat;
}

}  // namespace

std::int32_t zip_open_archive(knng_formats_archive** out, const knng_formats_input* input, knng_formats_error* error) {
  return at_seam(error, [&] {
    ZipSource source = input_source(*input);
    ZipError why;
    ZipArchive zip(zip_open_from_source(source.get(), ZIP_RDONLY, &why), &zip_discard);
    if (!zip) fail_zip(&why, KNNG_ERR_FORMAT);
    static_cast<void>(source.release());  // the archive's now
    *out = new knng_formats_archive{std::move(zip)};
  });
}

std::int64_t zip_member_count(const knng_formats_archive* archive) {
  return zip_get_num_entries(archive->zip.get(), 0);
}

std::int32_t zip_member(const knng_formats_archive* archive, std::int64_t i, knng_formats_member* out,
                        knng_formats_error* error) {
  return at_seam(error, [&] {
    const zip_stat_t stat = stat_of(archive->zip.get(), i);
    *out = {stat.name, static_cast<std::int64_t>(stat.size), static_cast<std::int64_t>(stat.comp_size)};
  });
}

std::int32_t zip_member_open(knng_formats_stream** out, knng_formats_archive* archive, std::int64_t i,
                             knng_formats_error* error) {
  return at_seam(error, [&] {
    zip_t* const zip = archive->zip.get();
    const zip_stat_t stat = stat_of(zip, i);
    // Others may be built into libzip, but their unpacked size has no bound that could be checked beforehand.
    if (stat.comp_method != ZIP_CM_STORE && stat.comp_method != ZIP_CM_DEFLATE)
      fail(KNNG_ERR_UNSUPPORTED, "packed by zip's method %d; stored and deflated members are read",
           static_cast<int>(stat.comp_method));
    zip_file_t* const file = zip_fopen_index(zip, static_cast<zip_uint64_t>(i), 0);
    if (!file) fail_zip(zip_get_error(zip), KNNG_ERR_FORMAT);
    try {
      *out = new MemberStream(file);
    } catch (...) {
      zip_fclose(file);
      throw;
    }
  });
}

void zip_close_archive(knng_formats_archive* archive) { delete archive; }

const knng_formats_zip_calls zip_calls = {
    .open = &zip_open_archive,
    .member_count = &zip_member_count,
    .member = &zip_member,
    .member_open = &zip_member_open,
    .close = &zip_close_archive,
    .write = &zip_write,
};

}  // namespace knng_formats

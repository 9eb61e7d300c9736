// zip archives through libzip. Files are reached through the seam's callbacks only.
#pragma once

#include <zip.h>

#include <cstdint>
#include <memory>

#include "io/formats_seam.h"

namespace knng_formats {

extern const knng_formats_zip_calls zip_calls;

// zip_read.cpp
std::int32_t zip_open_archive(knng_formats_archive** out, const knng_formats_input* input, knng_formats_error* error);
std::int64_t zip_member_count(const knng_formats_archive* archive);
std::int32_t zip_member(const knng_formats_archive* archive, std::int64_t i, knng_formats_member* out,
                        knng_formats_error* error);
std::int32_t zip_member_open(knng_formats_stream** out, knng_formats_archive* archive, std::int64_t i,
                             knng_formats_error* error);
void zip_close_archive(knng_formats_archive* archive);
// zip_write.cpp
std::int32_t zip_write(const knng_formats_output* output, const knng_formats_new_member* members,
                       std::int64_t member_count, knng_formats_error* error);

// An error of libzip outside an archive; it may own text.
struct ZipError : zip_error_t {
  ZipError() noexcept { zip_error_init(this); }
  ~ZipError() { zip_error_fini(this); }
  ZipError(const ZipError&) = delete;
  ZipError& operator=(const ZipError&) = delete;
};

// Throws Failure with libzip's words and the status that its code stands for. `otherwise`: for all codes that say no
// more than that an archive is damaged, if one is read (KNNG_ERR_FORMAT), or that we are wrong, if one is written
// (KNNG_ERR_INTERNAL).
[[noreturn]] void fail_zip(zip_error_t* error, std::int32_t otherwise);

// A source of libzip that has not been given away yet.
using ZipSource = std::unique_ptr<zip_source_t, void (*)(zip_source_t*)>;
// An archive being read or written; what was not closed is discarded.
using ZipArchive = std::unique_ptr<zip_t, void (*)(zip_t*)>;

// zip_input.cpp: the file of `input` as a source that can be read from anywhere. `input` outlives it.
ZipSource input_source(const knng_formats_input& input);

}  // namespace knng_formats

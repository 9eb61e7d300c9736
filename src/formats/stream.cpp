#include "formats/stream.h"

#include "formats/failure.h"

namespace knng_formats {
namespace {

std::int64_t read(knng_formats_stream* stream, void* dst, std::int64_t bytes, knng_formats_error* error) {
  std::int64_t got = 0;
  return at_seam(error, [&] { got = stream->read(dst, bytes); }) == KNNG_OK ? got : -1;
}

void close(knng_formats_stream* stream) { delete stream; }

}  // namespace

const knng_formats_stream_calls stream_calls = {.read = &read, .close = &close};

}  // namespace knng_formats

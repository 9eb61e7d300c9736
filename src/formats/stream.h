// What stands behind a knng_formats_stream. One file per format implements it.
#pragma once

#include <cstdint>

#include "io/formats_seam.h"

// The type that the seam names; destroyed by stream_calls.close.
struct knng_formats_stream {
  virtual ~knng_formats_stream() = default;
  // Fewer bytes than wanted only at the checked end; throws knng_formats::Failure.
  virtual std::int64_t read(void* dst, std::int64_t bytes) = 0;
};

namespace knng_formats {

extern const knng_formats_stream_calls stream_calls;

}  // namespace knng_formats

// gzip streams through zlib.
#pragma once

#include "io/formats_seam.h"

namespace knng_formats {

extern const knng_formats_gz_calls gz_calls;

}  // namespace knng_formats

// gzip files, unpacked as they are read.
#pragma once

#include <memory>
#include <string>

#include "io/source.h"

namespace libknng {

// Throws KNNG_ERR_IO, KNNG_ERR_UNSUPPORTED without the formats library; damage shows while reading.
std::unique_ptr<Source> open_gz(const std::string& path);

}  // namespace libknng

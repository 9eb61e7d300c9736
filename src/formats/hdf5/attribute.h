// Attributes of groups: a text, and a few integers. Knows nothing of what they say.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "formats/hdf5/library.h"
#include "io/formats_seam.h"

namespace knng_hdf5 {

// "" where there is none, or it is no single text of up to 1,024 bytes.
std::string text_attribute(const Id& object, const char* name, const knng_formats_input& input);
// Empty where there is none, or it is no list of up to 16 integers.
std::vector<std::int64_t> integers_attribute(const Id& object, const char* name);

}  // namespace knng_hdf5

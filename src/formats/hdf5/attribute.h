// Attributes of groups, a text or a few integers, read from the file without libhdf5: of what it finds in their
// messages, and in the heap where texts of variable length lie, it believes what the file says, and a damaged one makes
// it read elsewhere, crash or never end (seen with 1.10.8). Knows nothing of what attributes say. (HDF5 File Format
// Specification 3.0, sections III.E, IV.A.1, IV.A.2.b, d and m.)
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "formats/hdf5/library.h"
#include "io/formats_seam.h"

namespace knng_hdf5 {

// "" where there is none, or it is no single text; at most 1,024 bytes. Not found are attributes that do not stand in
// the object's header, as of an object with very many.
std::string text_attribute(const Id& object, const char* name, const knng_formats_input& input);
// Empty where there is none, or it is no list of up to 16 integers.
std::vector<std::int64_t> integers_attribute(const Id& object, const char* name, const knng_formats_input& input);

}  // namespace knng_hdf5

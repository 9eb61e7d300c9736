// Texts of variable length that attributes have, read from the file without libhdf5: of the heap in which they lie it
// believes what the file says, and a damaged one makes it crash or never end (seen with 1.10.8). Knows nothing of other
// attributes. (HDF5 File Format Specification 3.0, sections III.E, IV.A.1, IV.A.2.m.)
#pragma once

#include <string>

#include "formats/hdf5/library.h"
#include "io/formats_seam.h"

namespace knng_hdf5 {

// Of an attribute that is one text; at most 1,024 bytes. "" where it is not found in the object's header, as an
// attribute of an object with very many.
std::string variable_text(const Id& object, const char* name, const knng_formats_input& input);

}  // namespace knng_hdf5

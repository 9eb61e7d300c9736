// What libhdf5 believes without a look when it opens an object: sizes of a data set's type and chunks, by which it
// divides, and of the heap that has a group's names, to the end of which it reads (seen with 1.10.8). Knows nothing of
// what comes after. (HDF5 File Format Specification 3.0, sections III.D, IV.A.2.b, d, i and r.)
#pragma once

#include <string>

#include "formats/hdf5/library.h"
#include "io/formats_seam.h"

namespace knng_hdf5 {

// Throws KNNG_ERR_FORMAT if the object at this path, which is there, has a size that none can have.
void require_sound(hid_t file, const std::string& path, const knng_formats_input& input);

}  // namespace knng_hdf5

// Groups and data sets by name: one is opened, or those that could be meant are listed. Knows nothing of rows.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "formats/hdf5/library.h"
#include "io/formats_seam.h"

namespace knng_hdf5 {

// Whether there is something of this name, which may have slashes in it. Throws KNNG_ERR_UNSUPPORTED where the way
// leads into another file.
bool is_there(hid_t file, const std::string& path, const knng_formats_input& input);
// Throws what is_there() throws, and KNNG_ERR_FORMAT where it cannot be opened.
Id open_object(hid_t file, const std::string& path, const knng_formats_input& input);

// Paths of the groups and data sets in `file` that `fits` is true of, in order of their names. Links to elsewhere are
// not followed. Throws KNNG_ERR_UNSUPPORTED if there are more objects than anybody would look through.
std::vector<std::string> find_objects(hid_t file, const knng_formats_input& input,
                                      const std::function<bool(const Id&)>& fits);

// Names for a message that has not room for many: "a, b/c, and 3 more"; "none" if there are none.
std::string listed(const std::vector<std::string>& names);

}  // namespace knng_hdf5

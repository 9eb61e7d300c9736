// HDF5 and AnnData files: the door to libknng_hdf5.so, and rows that come through it. Knows nothing of libhdf5.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "io/reader.h"
#include "io/source.h"

namespace libknng {

// A name such as FILE.h5:PATH in its parts.
struct Hdf5Name {
  std::string file;
  std::optional<std::string> path;  // in the file
  bool anndata = false;
};
inline constexpr char kHdf5Suffixes[] = ".h5 .hdf5 .h5ad .h5mu .loom";
// Nothing if the name is none of such a file. The first suffix with a colon behind it ends the file's name.
std::optional<Hdf5Name> hdf5_name(std::string_view name);

// Throws KNNG_ERR_IO, KNNG_ERR_FORMAT, KNNG_ERR_UNSUPPORTED (also without the HDF5 library, with what to install).
// young, monitor: as open_reader().
std::unique_ptr<RowReader> open_hdf5(const Hdf5Name& name, Young young, Monitor* monitor);

}  // namespace libknng

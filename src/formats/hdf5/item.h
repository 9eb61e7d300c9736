// Element types of HDF5 as ours: which are read, and what the others are called. Knows nothing of data sets.
#pragma once

#include <cstdint>
#include <string>

#include "formats/hdf5/library.h"

namespace knng_hdf5 {

struct Item {
  std::int32_t dtype = 0;  // 0: rows cannot be of this type
  std::int64_t bytes = 0;
  bool swapped = false;  // big-endian
  bool integer = false;  // of 8 to 64 bits, no bool
};

Item item_of(const Id& type);
// For messages: "text", "floats of 16 bits that are not IEEE 754's", ...
std::string type_name(const Id& type);
// Throws KNNG_ERR_UNSUPPORTED for what rows cannot be of. name: of the data set.
[[noreturn]] void refuse_type(const std::string& name, const Id& type);

// In place.
void to_native(void* items, std::int64_t count, const Item& item) noexcept;
// Integers as int64, which is negative for those that it cannot hold. items: `count` of them, at the end of a place for
// as many int64; they begin at its beginning afterwards.
void widen(void* place, std::int64_t count, const Item& item) noexcept;

}  // namespace knng_hdf5

// The messages in the header of an object, read from the file without libhdf5, which believes what they say. Knows
// nothing of what is in them. (HDF5 File Format Specification 3.0, section IV.A.)
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "formats/hdf5/library.h"
#include "io/formats_seam.h"

namespace knng_hdf5 {

// The file from its superblock on.
class Bytes {
 public:
  Bytes(const knng_formats_input& input, std::uint64_t base) : input_(input), base_(base) {}

  // Whether all of them are there.
  bool read(std::uint64_t at, void* dst, std::uint64_t count) const;
  template <class Number>
  std::optional<Number> number(std::uint64_t at) const {
    Number value;
    if (!read(at, &value, sizeof value)) return std::nullopt;
    return value;
  }

 private:
  const knng_formats_input& input_;
  std::uint64_t base_;
};

struct Message {
  unsigned type = 0;
  bool shared = false;  // it lies elsewhere
  std::uint64_t at = 0, size = 0;
};

// A file whose addresses and sizes have 8 bytes; nothing for another. Throws where libhdf5 does not know its own file.
std::optional<Bytes> bytes_of(hid_t file, const knng_formats_input& input);
// Of the header at this address; as far as they can be read, and no more than any file has.
std::vector<Message> messages_at(const Bytes& file, std::uint64_t address);

}  // namespace knng_hdf5

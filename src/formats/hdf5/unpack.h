// Chunks, packed or not, made what they are in memory without libhdf5, which takes for granted that a chunk has its
// size then (1.10.8: what is shorter is read beyond its end). Knows nothing of where chunks come from.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "formats/hdf5/library.h"

namespace knng_hdf5 {

class Unpacker {
 public:
  // The filters of a data set. name: for messages.
  Unpacker(const Id& creation, std::int64_t chunk_bytes, std::string name);

  // Whether all filters are known here, if there are any: deflate (gzip), shuffle, fletcher32 and h5py's lzf.
  bool knows() const noexcept { return knows_; }
  // One of those that are not and that libhdf5 does not have either; nullptr if there is none.
  const char* missing() const noexcept { return missing_.empty() ? nullptr : missing_.c_str(); }
  bool any() const noexcept { return !steps_.empty(); }

  // The place for a chunk as it is stored. Throws KNNG_ERR_FORMAT for a size that none can have.
  std::byte* packed(std::uint64_t bytes);
  // Unpacks it; chunk_bytes of it, until the next call. left_out: a bit for each filter that was not applied.
  const std::byte* unpack(std::uint32_t left_out);
  // Memory that it takes, in chunks.
  int chunks() const noexcept { return any() ? 3 : 1; }

 private:
  struct Step {
    H5Z_filter_t filter;
    std::size_t item_bytes;  // of shuffle
  };
  void inflate(std::size_t bytes);
  void decode_lzf(std::size_t bytes);
  void unshuffle(std::size_t item_bytes);
  void check_sum();
  [[noreturn]] void fail_damaged(const char* how) const;

  std::vector<Step> steps_;  // as they were applied
  std::int64_t chunk_bytes_;
  std::string name_, missing_;
  bool knows_ = false;
  std::vector<std::byte> data_, other_;
};

}  // namespace knng_hdf5

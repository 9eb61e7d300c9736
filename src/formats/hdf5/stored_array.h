// A data set of one or two dimensions: what it is, and its rows as they are stored. Knows nothing of what they mean.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "formats/hdf5/driver.h"
#include "formats/hdf5/item.h"
#include "formats/hdf5/library.h"
#include "formats/hdf5/unpack.h"
#include "io/hdf5_seam.h"

namespace knng_hdf5 {

class StoredArray {
 public:
  // How items are delivered: as they are stored, integers as int64, or records (compound types), bytes of any kind, as
  // they are stored; of these facts().dtype is 0.
  enum class Deliver { items, int64, records };
  // Throws KNNG_ERR_UNSUPPORTED or KNNG_ERR_FORMAT with `name` where it is not read. dimensions: that it must have.
  // file: lives longer.
  StoredArray(Id dataset, const std::string& name, int dimensions, Access& file, Deliver deliver = Deliver::items);

  const knng_hdf5_array& facts() const noexcept { return facts_; }
  void read(std::int64_t first, std::int64_t count, void* dst) const;

 private:
  void find_shape(int dimensions);
  void find_storage();
  void find_chunks(const Id& creation);
  void read_chunks(std::int64_t first, std::int64_t count, std::byte* dst) const;
  void read_by_library(std::int64_t first, std::int64_t count, std::byte* dst) const;
  void read_in_one_piece(std::int64_t first, std::int64_t count, std::byte* dst) const;
  const std::byte* read_chunk(std::int64_t row, std::int64_t column) const;
  void require_written(bool all, std::int64_t stored) const;

  Access& file_;
  std::string name_;
  Id dataset_, type_, space_;
  Item item_;
  Deliver deliver_;
  std::int64_t bytes_ = 0;  // of all items
  knng_hdf5_array facts_ = {};
  std::int64_t chunk_rows_ = 0, chunk_cols_ = 0;
  mutable std::optional<Unpacker> unpacker_;  // of chunks, where it is not libhdf5 that unpacks them; holds one
};

// Whether a data set of this type and these dimensions could be one that is read.
bool is_array(const Id& dataset, int dimensions);

}  // namespace knng_hdf5

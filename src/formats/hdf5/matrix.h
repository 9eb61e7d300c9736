// What stands behind a knng_hdf5_matrix: the data set, the member of records or the sparse group of a file that has the
// rows.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "formats/hdf5/driver.h"
#include "formats/hdf5/record_member.h"
#include "formats/hdf5/stored_array.h"
#include "io/hdf5_seam.h"

// The type that the seam names; destroyed by the table's close.
struct knng_hdf5_matrix {
 public:
  // input: lives longer. path: in the file, or nullptr for what `otherwise` says.
  knng_hdf5_matrix(const knng_formats_input& input, const char* path, std::int32_t otherwise);

  // As long as this lives.
  const knng_hdf5_shape& shape() const noexcept { return shape_; }
  void read(std::int32_t array, std::int64_t first, std::int64_t count, void* dst) const;

 private:
  void open_dense(knng_hdf5::Id dataset);
  void open_member();
  void open_group(const knng_hdf5::Id& group);
  void open_sparse(std::int32_t form, const std::vector<std::int64_t>& shape);
  void add_array(std::int32_t which, const char* member);

  const knng_formats_input& input_;
  knng_hdf5::InputFile file_;
  std::string path_;
  std::optional<knng_hdf5::StoredArray> arrays_[3];
  std::optional<knng_hdf5::RecordMember> member_;  // in place of the first of them
  knng_hdf5_shape shape_ = {};
};

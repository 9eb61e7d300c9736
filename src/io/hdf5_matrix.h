// A matrix in an HDF5 file, opened through the seam: its shape, and its arrays from the first row to the last. Rows
// that are unpacked together are read together. Knows nothing of sparse forms.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "core/buffer.h"
#include "io/formats.h"
#include "io/hdf5_seam.h"
#include "io/rows_taken.h"

namespace libknng {

class Hdf5Matrix {
 public:
  // path: in the file, or nullptr for what `otherwise` says (KNNG_HDF5_ONLY, KNNG_HDF5_ANNDATA). Throws as open_hdf5().
  Hdf5Matrix(std::shared_ptr<const File> file, const char* path, std::int32_t otherwise);
  Hdf5Matrix(const Hdf5Matrix&) = delete;
  Hdf5Matrix& operator=(const Hdf5Matrix&) = delete;

  const knng_hdf5_shape& shape() const noexcept { return shape_; }
  // For messages: file and path.
  const std::string& name() const noexcept { return name_; }
  RowsTaken taken() const;
  void read(std::int32_t array, std::int64_t first, std::int64_t count, std::byte* dst);
  void require_unchanged() const { file_.file().require_unchanged(); }

 private:
  [[noreturn]] void fail_with(const std::string& name, const knng_formats_error& error);

  LentFile file_;
  const knng_hdf5_seam& seam_;
  std::unique_ptr<knng_hdf5_matrix, void (*)(knng_hdf5_matrix*)> matrix_;  // goes first
  knng_hdf5_shape shape_ = {};
  std::string name_;
};

// An array of a matrix from front to back.
class Hdf5Stream {
 public:
  // matrix: lives longer. array: one that it has.
  Hdf5Stream(Hdf5Matrix& matrix, std::int32_t array);

  std::int64_t row_bytes() const noexcept { return row_bytes_; }
  std::int64_t left() const noexcept { return facts_.rows - next_ + held_ - served_; }
  // Rows as they are stored, in native byte order.
  void read(std::int64_t count, std::byte* dst);
  // Memory that it takes, libhdf5's included.
  std::int64_t bytes_beside() const;

 private:
  Hdf5Matrix& matrix_;
  const std::int32_t array_;
  const knng_hdf5_array& facts_;
  const std::int64_t row_bytes_;
  Buffer<std::byte> block_;             // rows_at_once, if fewer were wanted of some
  std::int64_t next_ = 0;               // row of the array that is read next
  std::int64_t held_ = 0, served_ = 0;  // of block_
};

}  // namespace libknng

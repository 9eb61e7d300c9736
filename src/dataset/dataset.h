// Rows wherever they live: copied, or borrowed from the caller. A Dataset is a list of immutable chunks, so that
// handles share rows without sharing later additions; or some rows of another. Rows that stay in files are read when
// they are wanted. Rows in memory of devices are only kept here: who wants to read them has them brought to the host
// (exec/rows/host_rows.h). Knows nothing of metrics or of where rows came from.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "core/buffer.h"
#include "core/byte_types.h"
#include "core/matrix_view.h"
#include "core/monitor.h"
#include "dataset/row_file.h"
#include "knng/types.h"

namespace libknng {

// The first column in which a row has what rows may not have (is_valid() of core/dtype.h); -1: there is none. Host
// memory.
std::int64_t find_invalid(const MatrixView& m, std::int64_t row) noexcept;
// Throws KNNG_ERR_DATA naming row and column if some row has such a value. Host memory. number: the first row's.
void require_valid(const MatrixView& m, const char* argument, std::int64_t number = 0);
// Which of `known` hold all values, which are valid. Host memory.
ByteTypes find_byte_types(const MatrixView& m, ByteTypes known = kEitherByte) noexcept;
// stored: the value, of type dtype.
[[noreturn]] void refuse_invalid(std::int32_t dtype, const std::byte* stored, std::int64_t row, std::int64_t col,
                                 const char* argument);

// Work on rows on the calling thread, in blocks of some MiB: work(first, count). monitor, if there is one, is informed
// and may stop it between them. Blocks of a device's memory are larger: each costs a call, and takes no millisecond.
inline constexpr std::int64_t kHostBlock = std::int64_t{4} << 20, kDeviceBlock = std::int64_t{128} << 20;
template <class F>
void in_blocks(std::int64_t rows, std::int64_t row_bytes, Monitor* monitor, F&& work,
               std::int64_t block_bytes = kHostBlock) {
  const std::int64_t together = std::max<std::int64_t>(1, block_bytes / row_bytes);
  for (std::int64_t first = 0; first < rows; first += together) {
    if (monitor) monitor->poll();
    const std::int64_t count = std::min(together, rows - first);
    work(first, count);
    if (monitor) monitor->advance(static_cast<double>(count));
  }
}

// Row `row` as fp64, exactly if it is valid. out: m.cols values.
void load_row(const MatrixView& m, std::int64_t row, double* out) noexcept;

// Rows that stay as they are for as long as the chunk lives.
class Chunk {
 public:
  // The caller's rows. `release(owner)`, once it is set, is called when the chunk ends. hashes: as below, of rows that
  // the host does not read; or none.
  explicit Chunk(const MatrixView& view, Buffer<std::uint64_t> hashes = {}) noexcept
      : hashes_(std::move(hashes)), view_(view) {}
  void set_release(void (*release)(void*), void* owner) noexcept {
    release_ = release;
    owner_ = owner;
  }
  // Rows of our own, packed row-major.
  Chunk(Buffer<std::byte> data, std::int32_t dtype, std::int64_t rows, std::int64_t cols) noexcept
      : owned_(std::move(data)), view_{dtype, rows, cols, cols, 1, owned_.data()} {}
  // Rows that stay in a file. hashes: row_hash() of each (fingerprint.h), so that it need not be read for them again.
  Chunk(std::unique_ptr<const RowFile> file, Buffer<std::uint64_t> hashes, std::int32_t dtype, std::int64_t rows,
        std::int64_t cols) noexcept
      : file_(std::move(file)), hashes_(std::move(hashes)), view_{dtype, rows, cols, cols, 1, nullptr, kInFile} {}
  ~Chunk() {
    if (release_) release_(owner_);
  }
  Chunk(const Chunk&) = delete;
  Chunk& operator=(const Chunk&) = delete;

  const MatrixView& view() const noexcept { return view_; }
  std::int64_t held_bytes() const noexcept { return owned_.bytes() + hashes_.bytes(); }
  // Of rows that stay in a file; else nullptr.
  const RowFile* file() const noexcept { return file_.get(); }
  // Rows of the file as they are stored, packed row-major. Throws KNNG_ERR_IO, also for a row whose hash is not what it
  // was: no time of a file tells everything that is written to it.
  void read(std::int64_t first, std::int64_t count, std::byte* out) const;
  const std::uint64_t* hashes() const noexcept { return hashes_.data(); }
  // Types of 8 bits that hold all values, as far as is known.
  void set_byte_types(ByteTypes types) noexcept { byte_types_ = types; }
  ByteTypes byte_types() const noexcept { return byte_types_ ? byte_types_ : byte_types_of_dtype(view_.dtype); }

 private:
  Buffer<std::byte> owned_;
  std::unique_ptr<const RowFile> file_;
  Buffer<std::uint64_t> hashes_;
  MatrixView view_;
  ByteTypes byte_types_ = kNoByteType;
  void (*release_)(void*) = nullptr;
  void* owner_ = nullptr;
};

class Dataset {
 public:
  Dataset() = default;
  // dim, dtype: 0 leaves them to the first rows.
  Dataset(std::int64_t dim, std::int32_t dtype) : dim_(dim), dtype_(dtype) {}

  // Some rows of `whole`, which need not outlive this, ascending; `rows` does.
  Dataset(const Dataset& whole, std::span<const std::int64_t> rows) : Dataset(whole) { picked_ = rows; }

  std::int64_t rows() const noexcept {
    if (picked_.data()) return static_cast<std::int64_t>(picked_.size());
    return firsts_.empty() ? 0 : firsts_.back() + chunks_.back()->view().rows;
  }
  // The row's number in the data set that it was picked from.
  std::int64_t original(std::int64_t row) const noexcept {
    return picked_.data() ? picked_[static_cast<std::size_t>(row)] : row;
  }
  std::int64_t dim() const noexcept { return dim_; }
  std::int32_t dtype() const noexcept { return dtype_; }
  std::int64_t held_bytes() const noexcept;

  // Types of 8 bits that hold all values of all rows.
  ByteTypes byte_types() const noexcept;
  // The type that engines work with: dtype(), or another that holds all values.
  std::int32_t work_dtype() const noexcept { return work_dtype_ ? work_dtype_ : dtype_; }
  void work_as(std::int32_t dtype) noexcept { work_dtype_ = dtype; }

  // Numbers of rows that were picked from another data set, ascending; none: all rows.
  std::span<const std::int64_t> picked() const noexcept { return picked_; }
  // In order. Of a data set from which rows were picked, all of them.
  std::span<const std::shared_ptr<const Chunk>> chunks() const noexcept { return chunks_; }
  // Whether all rows are in memory of the host: then load() and pack() cannot fail.
  bool on_host() const noexcept;
  // Whether some are in memory of devices: load() and pack() are not for them.
  bool on_devices() const noexcept;
  bool in_files() const noexcept;
  // What a copy of all rows that are not in memory of the host would take.
  std::int64_t absent_bytes() const noexcept;
  // Throws KNNG_ERR_IO if a file in which rows stay is not as it was when they were added.
  void require_unchanged() const;

  // Throws KNNG_ERR_ARGUMENT if a matrix of this type and width cannot be appended.
  void require_fits(std::int32_t dtype, std::int64_t cols, std::int64_t rows, const char* argument) const;
  // All or nothing.
  void append(std::shared_ptr<const Chunk> chunk);
  // Appends rows without copying; `release(owner)`, if any, is called by whoever lets go of them last, and not if this
  // throws.
  void borrow(const MatrixView& view, Buffer<std::uint64_t> hashes, ByteTypes types, void (*release)(void*),
              void* owner);

  // Where a row is, 0 <= row < rows(): row `row` of chunks()[chunk].
  struct Place {
    std::size_t chunk;
    std::int64_t row;
  };
  Place place(std::int64_t row) const noexcept {
    row = original(row);
    const std::size_t c = chunk_of(row);
    return {c, row - firsts_[c]};
  }

  // Row `row` as fp64, exactly, `dim()` values. Throws KNNG_ERR_IO if it is in a file.
  void load(std::int64_t row, double* out) const {
    const Place at = place(row);
    const Chunk& chunk = *chunks_[at.chunk];
    const MatrixView& m = chunk.view();
    if (chunk.file()) {
      load_from_file(chunk, at.row, out);
    } else if (m.dtype == KNNG_F32 && m.col_stride == 1) {  // the most frequent: what follows takes as long as a row
      const float* const x = reinterpret_cast<const float*>(m.data) + at.row * m.row_stride;
      for (std::int64_t t = 0; t < m.cols; ++t) out[t] = x[t];
    } else {
      load_row(m, at.row, out);
    }
  }

  // Rows [first, first + count) in work_dtype(), packed row-major. Throws KNNG_ERR_IO if some are in files.
  void pack(std::int64_t first, std::int64_t count, std::byte* out) const;

  // The row's hash if it is known, else nullptr.
  const std::uint64_t* hash(std::int64_t row) const noexcept {
    const Place at = place(row);
    const std::uint64_t* hashes = chunks_[at.chunk]->hashes();
    return hashes ? hashes + at.row : nullptr;
  }

  // The row's values where they lie in memory of the host, if they are floats that follow each other; else nullptr.
  const float* floats(std::int64_t row) const noexcept {
    if (dtype_ != KNNG_F32) return nullptr;
    const Place at = place(row);
    const MatrixView& m = chunks_[at.chunk]->view();
    return m.on_host() && m.col_stride == 1 ? reinterpret_cast<const float*>(m.data) + at.row * m.row_stride : nullptr;
  }

 private:
  std::size_t chunk_of(std::int64_t row) const noexcept {  // of an original row
    if (firsts_.size() == 1) return 0;
    return static_cast<std::size_t>(std::upper_bound(firsts_.begin(), firsts_.end(), row) - firsts_.begin()) - 1;
  }
  void load_from_file(const Chunk& chunk, std::int64_t row, double* out) const;
  // How many of the rows from `first` on, at most `count`, lie one after the other in one chunk.
  std::int64_t run_of(std::int64_t first, std::int64_t count) const noexcept;

  std::int64_t dim_ = 0;
  std::int32_t dtype_ = 0;
  std::int32_t work_dtype_ = 0;  // 0: dtype_
  std::vector<std::shared_ptr<const Chunk>> chunks_;
  std::vector<std::int64_t> firsts_;      // id of each chunk's first row
  std::span<const std::int64_t> picked_;  // without data: all rows
};

// A packed copy, checked for NaN and infinity. Charged to `budget`. monitor: as in_blocks().
std::shared_ptr<const Chunk> copy_rows(const MatrixView& m, Budget& budget, const char* argument,
                                       Monitor* monitor = nullptr);

}  // namespace libknng

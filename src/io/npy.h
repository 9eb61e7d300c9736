// NumPy's .npy: header and rows of a two-dimensional array, in C or Fortran order, either byte order; and the header of
// an array that we write. Layout: numpy.lib.format, versions 1.0, 2.0 and 3.0. Knows nothing of archives.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "core/buffer.h"
#include "io/reader.h"
#include "io/source.h"

namespace libknng {

struct NpyHeader {
  std::string descr;  // as written: "<f4"
  char kind = 0;      // 'f', 'u', 'i', ...
  std::int64_t item_bytes = 0;
  bool swapped = false;  // items are big-endian
  bool fortran_order = false;
  std::vector<std::int64_t> shape;
};

// An element type that a reader takes.
struct NpyType {
  std::int64_t item_bytes;
  std::int32_t dtype;
  char kind;
};

// Reads up to the first item. Throws KNNG_ERR_FORMAT.
NpyHeader read_npy_header(Source& source);
// Rows of a two-dimensional array of one of `types`: KNNG_ERR_UNSUPPORTED for another type, KNNG_ERR_FORMAT for another
// number of dimensions or a size that does not fit the data. budget: of what is held beside the rows.
std::unique_ptr<RowReader> open_npy(std::unique_ptr<Source> source, std::span<const NpyType> types,
                                    Budget* budget = nullptr);
// Data sets: f4 f8 f2, u1 i1 to u8 i8, b1.
std::unique_ptr<RowReader> open_npy(std::unique_ptr<Source> source);

// Magic, version and header of an array in C order, padded so that the items start at a multiple of 64 bytes.
std::string make_npy_header(const char* descr, std::span<const std::int64_t> shape);

}  // namespace libknng

// A hash of every row, and from them the data set's fingerprint and its duplicates. Rows are hashed as fp64 values with
// -0 made +0, so that equal values give equal fingerprints whatever their element type.
#pragma once

#include <cstdint>
#include <string>

#include "core/buffer.h"
#include "core/monitor.h"
#include "core/thread_team.h"
#include "dataset/dataset.h"
#include "dataset/row_loader.h"

namespace libknng {

struct Fingerprint {
  std::string text;             // 32 hexadecimal digits
  std::int64_t duplicates = 0;  // rows equal to an earlier row
  Buffer<std::int64_t> first;   // of each row the first that equals it; empty without duplicates
};

// Of a row's values as fp64, which are made what is hashed.
std::uint64_t row_hash(double* values, std::int64_t dim) noexcept;
// The same of a row that is stored as fp32. values: room for as many.
std::uint64_t row_hash(const float* row, std::int64_t dim, double* values) noexcept;

// loader: of the data's rows; those whose hash is known are looked at only to be compared. Throws KNNG_ERR_IO if rows
// that stay in files cannot be read.
Fingerprint fingerprint(const Dataset& data, const RowLoader& loader, ThreadTeam& team, Budget* budget,
                        Monitor& monitor);

// The most memory that fingerprint() holds, with a loader of so many rows together.
std::int64_t fingerprint_bytes(std::int64_t rows, std::int64_t dim, int threads, std::int64_t together);

}  // namespace libknng

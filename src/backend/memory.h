// Memory of the caller that the host neither reads nor writes: whose it is, and the work on it that its backend does.
// Knows nothing of what is in it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "backend/seam.h"
#include "core/byte_types.h"
#include "core/matrix_view.h"
#include "knng/types.h"
#include "metric/metric.h"

namespace libknng {

// Device of the matrix's memory, or kHostMemory; lowest and highest: addresses of elements. Returns when what is in its
// stream is done, so that from then on nobody has to know the stream. Throws KNNG_ERR_UNSUPPORTED where no backend can
// be asked, KNNG_ERR_ARGUMENT for memory that is not where it is said to be.
std::int32_t find_memory(const knng_matrix& m, const std::byte* lowest, const std::byte* highest, const char* argument);

// Memory of our own on a device; its first byte.
struct DeviceMemory {
  std::shared_ptr<const void> owner;
  std::byte* data = nullptr;
};
DeviceMemory allocate_on_device(const knng_backend_seam& backend, std::int32_t device, std::int64_t bytes,
                                const char* argument);

// For matrices in memory of devices. Rows [first, first + count) to the host, packed.
void copy_from_device(const MatrixView& m, std::int64_t first, std::int64_t count, std::byte* to, const char* argument);
// Listed rows of it, in that order.
void copy_listed_from_device(const MatrixView& m, std::span<const std::int64_t> rows, std::byte* to,
                             const char* argument);
// Whether both rows of each pair are equal, -0 being 0. All matrices, one or more, are in memory of one device.
void compare_on_device(std::span<const MatrixView> matrices, std::span<const knng_backend_pair> pairs,
                       std::uint8_t* same, const char* argument);
// has_no_direction() of metric/ of listed rows.
void find_directionless_on_device(const MatrixView& m, Transform transform, std::span<const std::int64_t> rows,
                                  std::uint8_t* without, const char* argument);
// All rows from where they are packed, on the host or on a device.
void copy_to_device(const MutableMatrixView& m, const std::byte* from, const char* argument);
// The same of ids (KNNG_I64), `base` added, or of values (KNNG_F32, KNNG_F64), converted. Returns the first element, by
// rows, that m's type cannot hold; -1: none.
std::int64_t convert_to_device(const MutableMatrixView& m, std::int32_t dtype, const std::byte* from, std::int64_t base,
                               const char* argument);
// As require_valid() of dataset/. first: the number of row 0, for messages. hashes: null, or where row_hash() of
// dataset/ of each row goes. Returns the types of 8 bits that hold all values.
ByteTypes inspect_on_device(const MatrixView& m, const char* argument, std::int64_t first, std::uint64_t* hashes);

knng_backend_matrix describe_matrix(const MatrixView& m) noexcept;

}  // namespace libknng

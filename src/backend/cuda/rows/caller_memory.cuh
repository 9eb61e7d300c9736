// The caller's own device and managed memory: where it is, whether its values are valid, copies between it and the
// host, and from it into a session. Everything runs in streams of our own. The caller's stream is waited for
// beforehand, never a device as a whole. Knows nothing of pairs' keys.
#pragma once

#include <cstdint>
#include <span>

#include "backend/cuda/base/memory.cuh"
#include "backend/cuda/base/staging.cuh"
#include "backend/seam.h"
#include "core/byte_types.h"
#include "metric/metric.h"

namespace libknng::cuda {

struct MemoryLocation {
  std::int32_t space;  // KNNG_CUDA, KNNG_MANAGED, KNNG_PINNED or KNNG_HOST
  std::int32_t device;
};
MemoryLocation location_of(const void* address);

// Memory that is not where it is said to be; perhaps it was freed.
struct NotThere {
  std::int32_t device;
};

// Of the following the matrix's device is current; they return when all is done and throw NotThere.

struct Inspected {
  // The first value, by rows, that is not valid (core/dtype.h); -1: there is none.
  std::int64_t invalid_row = -1, invalid_column = -1;
  // Of 8 bits, which hold all values if these are valid.
  ByteTypes byte_types = kNoByteType;
};
// hashes: null, or where the hash of each row goes (of no meaning where a value is not valid).
Inspected inspect(const knng_backend_matrix& m, std::uint64_t* hashes);
void fetch(const knng_backend_piece& piece, std::int64_t first, std::int64_t count, void* to);
void compare(std::span<const knng_backend_matrix> matrices, std::span<const knng_backend_pair> pairs,
             std::uint8_t* same);
void without_direction(const knng_backend_matrix& m, Transform transform, std::span<const std::int64_t> rows,
                       std::uint8_t* without);
// from: host memory or a device's. Returns the first element that m's type cannot hold, -1: none.
std::int64_t store(const knng_backend_matrix& m, std::int32_t dtype, const void* from, std::int64_t base);

// Points [first, first + count), packed, from wherever they are to memory of `device`, which is current, in the order
// of its stream. Throws NotThere.
void bring_points(const knng_backend_rows& rows, std::int64_t first, std::int64_t count, std::byte* to, int device,
                  Staging& staging, const Stream& stream);

// The points where they are, if that is one packed matrix in memory of `device`; else null. Throws NotThere.
const void* points_in_place(const knng_backend_rows& rows, int device);

// Between memory of devices, perhaps the same. Asynchronous.
void copy_between(void* to, int to_device, const void* from, int from_device, std::int64_t bytes, const Stream& stream);

}  // namespace libknng::cuda

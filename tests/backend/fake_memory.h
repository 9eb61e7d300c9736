// Memory of simulated devices: at the addresses that it has nobody can read or write it, and whoever tries ends the
// program; this library reaches the same pages elsewhere. And streams, whose work is done when somebody waits for it.
// Tests make both through the functions that fake_memory.cpp exports.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "backend/seam.h"
#include "core/matrix_view.h"

namespace libknng::fake {

// How often was asked where memory is; how many rows were brought to the host; how many pairs of rows were compared,
// and how many rows were asked for a direction; memory that outlives sessions.
extern std::atomic<std::int64_t> located, rows_fetched, pairs_compared, rows_judged, kept_bytes;

// Calls of the seam.
std::int32_t locate(const void* address, std::int32_t* space, std::int32_t* device, knng_backend_error* error);
std::int32_t wait(std::uint64_t stream, std::int32_t device, knng_backend_error* error);
std::int32_t inspect(const knng_backend_matrix* matrix, std::int64_t* row, std::int64_t* column,
                     std::uint32_t* byte_types, std::uint64_t* hashes, knng_backend_error* error);
std::int32_t fetch(const knng_backend_piece* piece, std::int64_t first, std::int64_t count, void* to,
                   knng_backend_error* error);
std::int32_t compare(const knng_backend_matrix* matrices, std::int64_t matrix_count, const knng_backend_pair* pairs,
                     std::int64_t count, std::uint8_t* same, knng_backend_error* error);
std::int32_t without_direction(const knng_backend_matrix* matrix, std::int32_t transform, const std::int64_t* rows,
                               std::int64_t count, std::uint8_t* without, knng_backend_error* error);
std::int32_t store(const knng_backend_matrix* matrix, std::int32_t dtype, const void* from, std::int64_t base,
                   std::int64_t* unfit, knng_backend_error* error);
std::int32_t allocate(knng_backend_memory** out, std::int32_t device, std::int64_t bytes, void** address,
                      knng_backend_error* error);
void release(knng_backend_memory* memory);

// The row of the matrix that point i of a piece is.
inline std::int64_t row_of(const knng_backend_piece& piece, std::int64_t i) {
  return piece.listed ? piece.listed[i] - piece.origin : i;
}

// The matrix where it can be reached, as host memory. Throws NoMemory unless all of it is in one block.
MutableMatrixView reach(const knng_backend_matrix& m);
// An address of ours or of the host's.
std::byte* reach(const void* address);

}  // namespace libknng::fake

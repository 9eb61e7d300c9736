#include "backend/memory.h"

#include <array>
#include <string>
#include <vector>

#include "backend/registry.h"
#include "core/dtype.h"
#include "core/error.h"
#include "dataset/dataset.h"

namespace libknng {
namespace {

struct Location {
  std::int32_t space = KNNG_HOST;
  std::int32_t device = 0;
  bool on_device() const noexcept { return space == KNNG_CUDA || space == KNNG_MANAGED; }
  friend bool operator==(const Location&, const Location&) = default;
};

void require(const knng_backend_seam& backend, std::int32_t status, const knng_backend_error& error,
             const char* argument) {
  if (status == KNNG_OK) return;
  fail(static_cast<knng_status>(status), argument, {.given = error.given, .limit = error.limit}, "%s: %s: %s", argument,
       backend.name, error.text);
}

// asked: whether the caller says that it is a device's; otherwise a backend that cannot tell, in a forked child say,
// does not stand in the way of host memory.
Location locate(const knng_backend_seam& backend, const std::byte* address, bool asked, const char* argument) {
  Location place;
  knng_backend_error error{};
  const std::int32_t status = backend.locate(address, &place.space, &place.device, &error);
  if (status == KNNG_OK) return place;
  if (asked) require(backend, status, error, argument);
  return {};
}

// The backend, with a device, that memory or a stream of the caller's needs.
const knng_backend_seam& needed_backend(const knng_matrix& m, const char* argument) {
  std::string why_not;
  if (const knng_backend_seam* backend = cuda_backend(why_not)) {
    std::array<char, 200> reason{};
    if (backend->device_count(reason.data(), reason.size()) > 0) return *backend;
    why_not = reason.data();
  }
  const bool memory = m.space == KNNG_CUDA || m.space == KNNG_MANAGED;
  fail(KNNG_ERR_UNSUPPORTED, argument, {.given = m.space}, "%s: %s is CUDA's, and there is no CUDA device: %s",
       argument, memory ? "memory of this space" : "the stream", why_not.c_str());
}

// Who found the memory is still loaded.
const knng_backend_seam& its_backend() { return *loaded_cuda_backend(); }

}  // namespace

std::int32_t find_memory(const knng_matrix& m, const std::byte* lowest, const std::byte* highest,
                         const char* argument) {
  const bool said_to_be_theirs = m.space == KNNG_CUDA || m.space == KNNG_MANAGED;
  const knng_backend_seam* backend =
      said_to_be_theirs || m.stream != 0 ? &needed_backend(m, argument) : loaded_cuda_backend();
  Location place, end;
  if (backend && (m.space == KNNG_ANY || said_to_be_theirs)) {
    place = locate(*backend, lowest, said_to_be_theirs, argument);
    end = locate(*backend, highest, said_to_be_theirs, argument);
  }
  if (place.on_device() != end.on_device() || (place.on_device() && !(place == end)))
    fail(KNNG_ERR_ARGUMENT, argument, "%s: its rows and strides reach beyond the device memory that data is in",
         argument);
  if (said_to_be_theirs && !place.on_device())
    fail(KNNG_ERR_ARGUMENT, argument, {.given = m.space}, "%s: space=%d, but CUDA has no device memory at data",
         argument, m.space);
  if (said_to_be_theirs && place.space == KNNG_CUDA && place.device != m.device)
    fail(KNNG_ERR_ARGUMENT, argument, {.given = m.device, .limit = place.device},
         "%s: device=%d, but the memory is that of device %d", argument, m.device, place.device);
  const std::int32_t device = place.on_device() ? place.device : kHostMemory;
  if (m.stream != 0) {
    knng_backend_error error{};
    require(*backend, backend->wait(m.stream, m.space == KNNG_MANAGED ? m.device : device, &error), error, argument);
  }
  return device;
}

DeviceMemory allocate_on_device(const knng_backend_seam& backend, std::int32_t device, std::int64_t bytes,
                                const char* argument) {
  knng_backend_memory* memory = nullptr;
  void* address = nullptr;
  knng_backend_error error{};
  require(backend, backend.allocate(&memory, device, bytes, &address, &error), error, argument);
  return {std::shared_ptr<const void>(memory, [release = backend.release](knng_backend_memory* m) { release(m); }),
          static_cast<std::byte*>(address)};
}

knng_backend_matrix describe_matrix(const MatrixView& m) noexcept {
  // One description serves reading and writing.
  return {const_cast<std::byte*>(m.data), m.rows, m.cols, m.row_stride, m.col_stride, m.dtype, m.device};
}

void copy_from_device(const MatrixView& m, std::int64_t first, std::int64_t count, std::byte* to,
                      const char* argument) {
  const knng_backend_seam& backend = its_backend();
  const knng_backend_piece piece{0, m.rows, describe_matrix(m), nullptr, 0};
  knng_backend_error error{};
  require(backend, backend.fetch(&piece, first, count, to, &error), error, argument);
}

void copy_listed_from_device(const MatrixView& m, std::span<const std::int64_t> rows, std::byte* to,
                             const char* argument) {
  const knng_backend_seam& backend = its_backend();
  const knng_backend_piece piece{0, std::ssize(rows), describe_matrix(m), rows.data(), 0};
  knng_backend_error error{};
  require(backend, backend.fetch(&piece, 0, piece.count, to, &error), error, argument);
}

void compare_on_device(std::span<const MatrixView> matrices, std::span<const knng_backend_pair> pairs,
                       std::uint8_t* same, const char* argument) {
  const knng_backend_seam& backend = its_backend();
  std::vector<knng_backend_matrix> described;
  described.reserve(matrices.size());
  for (const MatrixView& m : matrices) described.push_back(describe_matrix(m));
  knng_backend_error error{};
  require(backend,
          backend.compare(described.data(), std::ssize(described), pairs.data(), std::ssize(pairs), same, &error),
          error, argument);
}

void find_directionless_on_device(const MatrixView& m, Transform transform, std::span<const std::int64_t> rows,
                                  std::uint8_t* without, const char* argument) {
  const knng_backend_seam& backend = its_backend();
  const knng_backend_matrix matrix = describe_matrix(m);
  knng_backend_error error{};
  require(backend,
          backend.without_direction(&matrix, static_cast<std::int32_t>(transform), rows.data(), std::ssize(rows),
                                    without, &error),
          error, argument);
}

void copy_to_device(const MutableMatrixView& m, const std::byte* from, const char* argument) {
  convert_to_device(m, m.dtype, from, 0, argument);
}

std::int64_t convert_to_device(const MutableMatrixView& m, std::int32_t dtype, const std::byte* from, std::int64_t base,
                               const char* argument) {
  const MatrixView view{m.dtype, m.rows, m.cols, m.row_stride, m.col_stride, m.data, m.device};
  const knng_backend_seam& backend = its_backend();
  const knng_backend_matrix matrix = describe_matrix(view);
  std::int64_t unfit = -1;
  knng_backend_error error{};
  require(backend, backend.store(&matrix, dtype, from, base, &unfit, &error), error, argument);
  return unfit;
}

ByteTypes inspect_on_device(const MatrixView& m, const char* argument, std::int64_t first, std::uint64_t* hashes) {
  const knng_backend_seam& backend = its_backend();
  const knng_backend_matrix matrix = describe_matrix(m);
  std::int64_t row = -1, column = -1;
  std::uint32_t types = kNoByteType;
  knng_backend_error error{};
  require(backend, backend.inspect(&matrix, &row, &column, &types, hashes, &error), error, argument);
  if (row < 0) return static_cast<ByteTypes>(types);
  const std::byte* const at = m.data + (row * m.row_stride + column * m.col_stride) * dtype_bytes(m.dtype);
  std::array<std::byte, sizeof(double)> stored{};
  copy_from_device({m.dtype, 1, 1, 1, 1, at, m.device}, 0, 1, stored.data(), argument);
  refuse_invalid(m.dtype, stored.data(), first + row, column, argument);
}

}  // namespace libknng

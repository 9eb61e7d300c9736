#include <algorithm>
#include <array>
#include <cstring>
#include <limits>
#include <optional>
#include <vector>

#include "backend/cuda/base/current_device.cuh"
#include "backend/cuda/base/driver.cuh"
#include "backend/cuda/base/relay.cuh"
#include "backend/cuda/base/workspace.cuh"
#include "backend/cuda/rows/caller_memory.cuh"
#include "backend/cuda/rows/find_byte_types.cuh"
#include "backend/cuda/rows/narrow.cuh"
#include "backend/cuda/rows/prepare.cuh"
#include "backend/cuda/rows/row_compare.cuh"
#include "backend/cuda/rows/row_hash.cuh"
#include "backend/cuda/rows/strided.cuh"

namespace libknng::cuda {
namespace {

// Of packed rows on their way to or from a matrix that is not.
constexpr std::int64_t kBlockBytes = std::int64_t{8} << 20;
constexpr std::int64_t kNoLimit = std::numeric_limits<std::int64_t>::max();

std::int64_t row_bytes(const knng_backend_matrix& m) { return m.cols * dtype_bytes(m.dtype); }
std::size_t bytes_of(const knng_backend_matrix& m, std::int64_t rows) {
  return static_cast<std::size_t>(rows * row_bytes(m));
}

// Before a kernel reads what was freed meanwhile, which would end the caller's context. Both ends are looked at.
MemoryLocation require_there(const knng_backend_matrix& m) {
  const bool up = m.row_stride < 0, left = m.col_stride < 0;
  const MemoryLocation lowest = location_of(element(m, up ? m.rows - 1 : 0, left ? m.cols - 1 : 0));
  const MemoryLocation highest = location_of(element(m, up ? 0 : m.rows - 1, left ? 0 : m.cols - 1));
  const bool device = lowest.space == KNNG_CUDA && lowest.device == m.device && highest.device == m.device;
  if (highest.space != lowest.space || !(device || lowest.space == KNNG_MANAGED)) throw NotThere{m.device};
  return lowest;
}

// Whether the points of a piece lie one after the other.
bool lies_packed(const knng_backend_piece& piece) { return !piece.listed && is_packed(piece.rows); }

// Points [first, first + count) of a piece, of type `dtype`.
void bring_piece(const knng_backend_piece& piece, std::int32_t dtype, std::int64_t first, std::int64_t count,
                 std::byte* to, int device, Staging& staging, const Stream& stream) {
  const knng_backend_matrix& m = piece.rows;
  const MemoryLocation place = require_there(m);
  const bool as_it_lies = lies_packed(piece) && dtype == m.dtype;
  if (place.space == KNNG_MANAGED || m.device == device) {
    if (as_it_lies)
      check(cudaMemcpyAsync(to, element(m, first, 0), bytes_of(m, count), cudaMemcpyDefault, stream));
    else
      pack(piece, dtype, first, count, to, stream);
    return;
  }
  if (as_it_lies) {
    relay(to, device, element(m, first, 0), m.device, static_cast<std::int64_t>(bytes_of(m, count)), stream);
    return;
  }
  // Kernels of one device do not read another's memory: those of that device pack rows into host memory, which takes
  // nothing there that nobody has counted.
  std::optional<const Stream> there;
  staging.upload(
      count, m.cols * dtype_bytes(dtype),
      [&](std::int64_t row, std::int64_t rows, std::byte* buffer) {
        const CurrentDevice current(m.device);
        if (!there) there.emplace();
        pack(piece, dtype, first + row, rows, buffer, *there);
        there->wait();
        return true;
      },
      to, stream);
}

// `count` items of `item_bytes` to host memory, by a block of the device's: write(first, count, block, stream) puts
// what makes them on the stream, for consecutive parts. No page-locked memory: to make it waits for all streams.
template <class Write>
void by_blocks(int device, std::int64_t count, std::int64_t item_bytes, Write&& write, void* to) {
  DeviceContext context(device, kNoLimit);
  const std::int64_t together = std::clamp<std::int64_t>(kBlockBytes / item_bytes, 1, count);
  const DeviceArray<std::byte> block(together * item_bytes, context);
  for (std::int64_t done = 0; done < count; done += together) {
    const std::int64_t part = std::min(together, count - done);
    write(done, part, block.data(), context.stream);
    check(cudaMemcpyAsync(static_cast<std::byte*>(to) + done * item_bytes, block.data(),
                          static_cast<std::size_t>(part * item_bytes), cudaMemcpyDeviceToHost, context.stream));
  }
  context.stream.wait();
}

DeviceRows device_rows(const knng_backend_matrix& m) {
  return {m.data, m.dtype, m.rows, m.cols, m.row_stride, m.col_stride};
}

// A byte about each of `count` rows or pairs of them, to host memory; ask(context, answers) puts on the context's
// stream what finds them.
template <class Ask>
void about_rows(int device, std::int64_t count, std::uint8_t* to, Ask&& ask) {
  if (count == 0) return;
  DeviceContext context(device, kNoLimit);
  const DeviceArray<std::uint8_t> answers(count, context);
  ask(context, answers.data());
  check(cudaMemcpyAsync(to, answers.data(), static_cast<std::size_t>(count), cudaMemcpyDeviceToHost, context.stream));
  context.stream.wait();
}

}  // namespace

// By the driver: asked by a thread without a context, the runtime would make one on device 0.
MemoryLocation location_of(const void* address) {
  static const auto ask = driver_function<PFN_cuPointerGetAttributes_v7000>("cuPointerGetAttributes", 7000);
  std::array attributes{CU_POINTER_ATTRIBUTE_MEMORY_TYPE, CU_POINTER_ATTRIBUTE_IS_MANAGED,
                        CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL};
  std::uint32_t type = 0, managed = 0;
  std::int32_t device = 0;
  std::array<void*, 3> answers{&type, &managed, &device};
  const CUresult result = ask ? ask(static_cast<unsigned>(answers.size()), attributes.data(), answers.data(),
                                    reinterpret_cast<CUdeviceptr>(address))
                              : CUDA_ERROR_NOT_INITIALIZED;
  if (result == CUDA_ERROR_NOT_INITIALIZED) return {KNNG_HOST, 0};  // nobody has memory of a driver that is not in use
  check(result);
  if (managed != 0) return {KNNG_MANAGED, device};
  switch (type) {  // 0: the driver does not know it
    case CU_MEMORYTYPE_DEVICE: return {KNNG_CUDA, device};
    case CU_MEMORYTYPE_HOST: return {KNNG_PINNED, 0};
    default: return {KNNG_HOST, 0};
  }
}

namespace {

// What is found of values; nothing is found where all bits are set.
struct Findings {
  PrepareFindings rows;
  std::uint32_t byte_types;
};
static_assert(PrepareFindings::kNothing == ~0ull);

// What inspect() works in: hashes go to the host by blocks.
struct InspectSpace {
  InspectSpace(std::int64_t rows, bool hashes, void* memory)
      : together(std::min(kBlockBytes / std::int64_t{sizeof *block}, rows)) {
    Workspace space(memory);
    findings = space.take<Findings>(1);
    block = space.take<std::uint64_t>(hashes ? together : 0);
    used = space.used();
  }

  const std::int64_t together;
  Findings* findings;
  std::uint64_t* block;
  std::int64_t used;
};

}  // namespace

Inspected inspect(const knng_backend_matrix& m, std::uint64_t* hashes) {
  require_there(m);
  const bool always_valid = visit_row_dtype(m.dtype, []<class T>(const T*) { return kAlwaysValid<T>; });
  const bool bytes = dtype_bytes(m.dtype) == 1;
  if (always_valid && bytes && !hashes) return {.byte_types = byte_types_of_dtype(m.dtype)};
  DeviceContext context(m.device, kNoLimit);
  const bool hashed = hashes != nullptr && m.rows > 0;
  const DeviceArray<std::byte> memory(InspectSpace(m.rows, hashed, nullptr).used, context);
  const InspectSpace space(m.rows, hashed, memory.data());
  check(cudaMemsetAsync(space.findings, 0xff, sizeof *space.findings, context.stream));
  const DeviceRows rows = device_rows(m);
  if (!always_valid) {
    PrepareJob job;
    job.rows = rows;
    job.limit = m.dtype == KNNG_BOOL ? 1 : std::numeric_limits<double>::infinity();
    job.count = m.rows;
    job.findings = &space.findings->rows;
    prepare_rows(job, context.stream);
  }
  if (!bytes) find_byte_types(rows, &space.findings->byte_types, context.stream);
  for (std::int64_t done = 0; hashed && done < m.rows; done += space.together) {
    const std::int64_t part = std::min(space.together, m.rows - done);
    hash_rows({element(m, done, 0), m.dtype, part, m.cols, m.row_stride, m.col_stride}, space.block, context.stream);
    check(cudaMemcpyAsync(hashes + done, space.block, static_cast<std::size_t>(part) * sizeof *hashes,
                          cudaMemcpyDeviceToHost, context.stream));
  }
  Findings found{};
  check(cudaMemcpyAsync(&found, space.findings, sizeof found, cudaMemcpyDeviceToHost, context.stream));
  context.stream.wait();
  const ByteTypes types = bytes ? byte_types_of_dtype(m.dtype) : kEitherByte & static_cast<ByteTypes>(found.byte_types);
  const unsigned long long first = std::min(found.rows.first_invalid, found.rows.first_refused);
  if (first == PrepareFindings::kNothing) return {.byte_types = types};
  const auto place = static_cast<std::int64_t>(first);
  return {place / (m.cols + 1), place % (m.cols + 1)};
}

void fetch(const knng_backend_piece& piece, std::int64_t first, std::int64_t count, void* to) {
  const knng_backend_matrix& m = piece.rows;
  require_there(m);
  if (count == 0) return;
  if (lies_packed(piece)) {
    const Stream stream;
    check(cudaMemcpyAsync(to, element(m, first, 0), bytes_of(m, count), cudaMemcpyDefault, stream));
    stream.wait();
    return;
  }
  by_blocks(
      m.device, count, row_bytes(m),
      [&](std::int64_t done, std::int64_t part, std::byte* block, const Stream& stream) {
        pack(piece, m.dtype, first + done, part, block, stream);
      },
      to);
}

void copy_between(void* to, int to_device, const void* from, int from_device, std::int64_t bytes,
                  const Stream& stream) {
  const auto size = static_cast<std::size_t>(bytes);
  if (to_device == from_device)
    check(cudaMemcpyAsync(to, from, size, cudaMemcpyDeviceToDevice, stream));
  else
    check(cudaMemcpyPeerAsync(to, to_device, from, from_device, size, stream));
}

void compare(std::span<const knng_backend_matrix> matrices, std::span<const knng_backend_pair> pairs,
             std::uint8_t* same) {
  for (const knng_backend_matrix& m : matrices) require_there(m);
  const knng_backend_matrix& any = matrices.front();
  const auto at = [&](std::int64_t matrix) -> const knng_backend_matrix& {
    return matrices[static_cast<std::size_t>(matrix)];
  };
  std::vector<RowPair> rows;
  rows.reserve(pairs.size());
  for (const knng_backend_pair& p : pairs) {
    const knng_backend_matrix &a = at(p.matrix), &b = at(p.other_matrix);
    rows.push_back({element(a, p.row, 0), element(b, p.other_row, 0), a.col_stride, b.col_stride});
  }
  about_rows(any.device, std::ssize(pairs), same, [&](DeviceContext& context, std::uint8_t* answers) {
    const DeviceArray<RowPair> there = uploaded<RowPair>(rows, context);
    compare_rows(any.dtype, any.cols, there.data(), there.size(), answers, context.stream);
  });
}

void without_direction(const knng_backend_matrix& m, Transform transform, std::span<const std::int64_t> rows,
                       std::uint8_t* without) {
  require_there(m);
  about_rows(m.device, std::ssize(rows), without, [&](DeviceContext& context, std::uint8_t* answers) {
    const DeviceArray<std::int64_t> listed = uploaded(rows, context);
    find_directionless(device_rows(m), transform, listed.data(), listed.size(), answers, context.stream);
  });
}

std::int64_t store(const knng_backend_matrix& m, std::int32_t dtype, const void* from, std::int64_t base) {
  const bool managed = require_there(m).space == KNNG_MANAGED;
  const bool as_it_is = dtype == m.dtype && base == 0;
  const MemoryLocation source = location_of(from);
  const std::int64_t bytes = m.cols * dtype_bytes(dtype);  // of a row there
  const auto there = [&](std::int64_t row) { return static_cast<const std::byte*>(from) + row * bytes; };
  const auto bring = [&](void* to, std::int64_t first, std::int64_t count, const Stream& stream) {
    if (source.space == KNNG_CUDA && !managed)
      copy_between(to, m.device, there(first), source.device, count * bytes, stream);
    else
      check(cudaMemcpyAsync(to, there(first), static_cast<std::size_t>(count * bytes), cudaMemcpyDefault, stream));
  };
  if (as_it_is && is_packed(m)) {
    const Stream stream;
    bring(m.data, 0, m.rows, stream);
    stream.wait();
    return -1;
  }
  DeviceContext context(m.device, kNoLimit);
  const bool here = source.space == KNNG_CUDA && source.device == m.device;
  const std::int64_t together = here ? m.rows : std::clamp<std::int64_t>(kBlockBytes / bytes, 1, m.rows);
  const DeviceArray<std::byte> block(here ? 0 : together * bytes, context);
  unsigned long long first_unfit = kAllFit;
  const DeviceArray<unsigned long long> found = uploaded(std::span<const unsigned long long>(&first_unfit, 1), context);
  for (std::int64_t done = 0; done < m.rows; done += together) {
    const std::int64_t part = std::min(together, m.rows - done);
    if (!here) bring(block.data(), done, part, context.stream);
    const void* const packed = here ? there(done) : block.data();
    if (as_it_is)
      unpack(packed, m, done, part, context.stream);
    else
      narrow(packed, dtype, base, m, done, part, found.data(), context.stream);
  }
  check(cudaMemcpyAsync(&first_unfit, found.data(), sizeof first_unfit, cudaMemcpyDeviceToHost, context.stream));
  context.stream.wait();
  return first_unfit == kAllFit ? -1 : static_cast<std::int64_t>(first_unfit);
}

const void* points_in_place(const knng_backend_rows& rows, int device) {
  if (rows.piece_count != 1) return nullptr;
  const knng_backend_piece& piece = rows.pieces[0];
  if (piece.count != rows.count || piece.rows.device != device || !lies_packed(piece)) return nullptr;
  if (piece.rows.dtype != rows.dtype) return nullptr;
  return require_there(piece.rows).space == KNNG_CUDA ? piece.rows.data : nullptr;
}

void bring_points(const knng_backend_rows& rows, std::int64_t first, std::int64_t count, std::byte* to, int device,
                  Staging& staging, const Stream& stream) {
  const std::int64_t end = first + count, point_bytes = rows.dim * dtype_bytes(rows.dtype);
  std::int64_t at = first;
  const auto from_host = [&](std::int64_t until) {
    if (until <= at) return;
    staging.upload(
        until - at, point_bytes,
        [&](std::int64_t i, std::int64_t points, std::byte* dst) {
          return rows.read(rows.user, at + i, points, dst) != 0;
        },
        to + (at - first) * point_bytes, stream);
    at = until;
  };
  for (std::int64_t p = 0; p < rows.piece_count; ++p) {
    const knng_backend_piece& piece = rows.pieces[p];
    const std::int64_t begin = std::max(at, piece.first), until = std::min(end, piece.first + piece.count);
    if (begin >= until) continue;
    from_host(begin);
    bring_piece(piece, rows.dtype, begin - piece.first, until - begin, to + (begin - first) * point_bytes, device,
                staging, stream);
    at = until;
  }
  from_host(end);
}

}  // namespace libknng::cuda

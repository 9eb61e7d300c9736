#include "tests/backend/fake_memory.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "core/dtype.h"
#include "dataset/dataset.h"
#include "dataset/fingerprint.h"
#include "graph/narrow.h"
#include "metric/canonical.h"
#include "tests/backend/fake_behaviour.h"

namespace libknng::fake {
namespace {

struct Block {
  std::byte* address;  // nobody can touch it there
  std::byte* pages;    // here it can be
  std::int64_t bytes;
  std::int32_t space, device;
};

struct Copy {
  void* to;
  std::vector<std::byte> what;
};

std::mutex mutex;
std::vector<Block> blocks;
std::map<std::uint64_t, std::vector<Copy>> streams;

const Block* find(const void* address) {
  const auto* const at = static_cast<const std::byte*>(address);
  for (const Block& b : blocks)
    if (at >= b.address && at < b.address + b.bytes) return &b;
  return nullptr;
}

// Where memory can be reached, ours or the host's.
std::byte* reachable(const void* address) {
  const auto* const at = static_cast<const std::byte*>(address);
  const Block* const b = find(address);
  return b ? b->pages + (at - b->address) : const_cast<std::byte*>(at);
}

// nullptr without memory.
void* make_block(std::int32_t space, std::int32_t device, std::int64_t bytes) {
  const int file = memfd_create("fake device", MFD_CLOEXEC);
  const auto size = static_cast<std::size_t>(bytes);
  if (file < 0 || ftruncate(file, bytes) != 0) return nullptr;
  void* const address = mmap(nullptr, size, PROT_NONE, MAP_SHARED, file, 0);
  void* const pages = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  close(file);
  if (address == MAP_FAILED || pages == MAP_FAILED) return nullptr;
  const std::lock_guard lock(mutex);
  blocks.push_back({static_cast<std::byte*>(address), static_cast<std::byte*>(pages), bytes, space, device});
  return address;
}

void end_block(void* address) {
  const std::lock_guard lock(mutex);
  const Block* const b = find(address);
  munmap(b->address, static_cast<std::size_t>(b->bytes));
  munmap(b->pages, static_cast<std::size_t>(b->bytes));
  blocks.erase(blocks.begin() + (b - blocks.data()));
}

}  // namespace

std::atomic<std::int64_t> located{0}, rows_fetched{0}, pairs_compared{0}, rows_judged{0}, kept_bytes{0};

}  // namespace libknng::fake

struct knng_backend_memory {
  knng_backend_memory(std::int32_t device, std::int64_t count)
      : address(libknng::fake::make_block(KNNG_CUDA, device, count)), bytes(count) {
    if (!address) throw std::bad_alloc();
    libknng::fake::kept_bytes += bytes;
  }
  ~knng_backend_memory() {
    libknng::fake::end_block(address);
    libknng::fake::kept_bytes -= bytes;
  }
  knng_backend_memory(const knng_backend_memory&) = delete;
  knng_backend_memory& operator=(const knng_backend_memory&) = delete;

  void* const address;
  const std::int64_t bytes;
};

namespace libknng::fake {

MutableMatrixView reach(const knng_backend_matrix& m) {
  const std::int64_t bytes = find_dtype(m.dtype)->bytes;
  const std::int64_t rows = (m.rows - 1) * m.row_stride * bytes, cols = (m.cols - 1) * m.col_stride * bytes;
  auto* const data = static_cast<std::byte*>(m.data);
  const std::byte* const lowest = data + std::min<std::int64_t>(rows, 0) + std::min<std::int64_t>(cols, 0);
  const std::byte* const highest = data + std::max<std::int64_t>(rows, 0) + std::max<std::int64_t>(cols, 0);
  const std::lock_guard lock(mutex);
  const Block* const b = find(lowest);
  if (!b || b != find(highest) || b->device != m.device) throw NoMemory{"there is no memory of this device any more"};
  return {m.dtype, m.rows, m.cols, m.row_stride, m.col_stride, b->pages + (data - b->address)};
}

std::byte* reach(const void* address) {
  const std::lock_guard lock(mutex);
  return reachable(address);
}

std::int32_t locate(const void* address, std::int32_t* space, std::int32_t* device, knng_backend_error* error) {
  ++located;
  return guard(error, [&] {
    const std::lock_guard lock(mutex);
    const Block* const b = find(address);
    *space = b ? b->space : KNNG_HOST;
    *device = b ? b->device : 0;
  });
}

std::int32_t wait(std::uint64_t stream, std::int32_t, knng_backend_error* error) {
  return guard(error, [&] {
    const std::lock_guard lock(mutex);
    const auto found = streams.find(stream);
    if (found == streams.end()) throw NoMemory{"there is no such stream"};
    for (const Copy& c : found->second) std::memcpy(reachable(c.to), c.what.data(), c.what.size());
    found->second.clear();
  });
}

std::int32_t inspect(const knng_backend_matrix* matrix, std::int64_t* row, std::int64_t* column,
                     std::uint32_t* byte_types, std::uint64_t* hashes, knng_backend_error* error) {
  return guard(error, [&] {
    const MutableMatrixView m = reach(*matrix);
    *column = -1;
    for (*row = 0; *row < m.rows; ++*row) {
      *column = libknng::find_invalid({m.dtype, m.rows, m.cols, m.row_stride, m.col_stride, m.data}, *row);
      if (*column >= 0) return;
    }
    *row = -1;
    *byte_types = find_byte_types({m.dtype, m.rows, m.cols, m.row_stride, m.col_stride, m.data});
    if (!hashes) return;
    const std::uint64_t kept =
        behaviour(matrix->device, "coarse_hashes") >= 0 ? std::uint64_t{3} << 62 : ~std::uint64_t{0};
    std::vector<double> x(static_cast<std::size_t>(m.cols));
    for (std::int64_t i = 0; i < m.rows; ++i) {
      load_row({m.dtype, m.rows, m.cols, m.row_stride, m.col_stride, m.data}, i, x.data());
      hashes[i] = row_hash(x.data(), m.cols) & kept;
    }
  });
}

namespace {

// Copies elements of points [first, first + count), whose packed place is `packed`.
template <class Copy>
void each_element(const knng_backend_piece& piece, std::int64_t first, std::int64_t count, Copy&& copy) {
  const MutableMatrixView m = reach(piece.rows);
  const std::int64_t bytes = find_dtype(m.dtype)->bytes;
  for (std::int64_t i = 0; i < count; ++i)
    for (std::int64_t t = 0; t < m.cols; ++t)
      copy(m.data + (row_of(piece, first + i) * m.row_stride + t * m.col_stride) * bytes, (i * m.cols + t) * bytes,
           bytes);
}

}  // namespace

std::int32_t fetch(const knng_backend_piece* piece, std::int64_t first, std::int64_t count, void* to,
                   knng_backend_error* error) {
  return guard(error, [&] {
    if (behaviour(piece->rows.device, "fails_to_fetch") >= 0) throw Failure{KNNG_ERR_DEVICE, "injected failure"};
    rows_fetched += count;
    each_element(*piece, first, count, [&](const std::byte* element, std::int64_t at, std::int64_t bytes) {
      std::memcpy(static_cast<std::byte*>(to) + at, element, static_cast<std::size_t>(bytes));
    });
  });
}

namespace {

// A row of a matrix where it can be reached.
std::vector<double> row_values(const MutableMatrixView& m, std::int64_t row) {
  std::vector<double> x(static_cast<std::size_t>(m.cols));
  load_row({m.dtype, m.rows, m.cols, m.row_stride, m.col_stride, m.data}, row, x.data());
  return x;
}

}  // namespace

std::int32_t compare(const knng_backend_matrix* matrices, std::int64_t matrix_count, const knng_backend_pair* pairs,
                     std::int64_t count, std::uint8_t* same, knng_backend_error* error) {
  return guard(error, [&] {
    const std::span<const knng_backend_matrix> all(matrices, static_cast<std::size_t>(matrix_count));
    const knng_backend_matrix& any = all.front();
    if (behaviour(any.device, "fails_to_compare") >= 0) throw Failure{KNNG_ERR_DEVICE, "injected failure"};
    if (behaviour(any.device, "no_memory_to_compare") >= 0) throw Failure{KNNG_ERR_MEMORY, "injected lack of memory"};
    for (const knng_backend_matrix& m : all)
      if (m.device != any.device || m.dtype != any.dtype || m.cols != any.cols)
        throw Failure{KNNG_ERR_INTERNAL, "a comparison that the seam does not allow"};
    const auto row = [&](std::int64_t matrix, std::int64_t i) {
      return row_values(reach(all[static_cast<std::size_t>(matrix)]), i);
    };
    pairs_compared += count;
    for (std::int64_t i = 0; i < count; ++i)
      same[i] = row(pairs[i].matrix, pairs[i].row) == row(pairs[i].other_matrix, pairs[i].other_row);
  });
}

std::int32_t without_direction(const knng_backend_matrix* matrix, std::int32_t transform, const std::int64_t* rows,
                               std::int64_t count, std::uint8_t* without, knng_backend_error* error) {
  return guard(error, [&] {
    const MutableMatrixView m = reach(*matrix);
    rows_judged += count;
    for (std::int64_t i = 0; i < count; ++i)
      without[i] = has_no_direction(static_cast<Transform>(transform), row_values(m, rows[i]));
  });
}

namespace {

// Writes elements of type From that are packed as the matrix's type has them, those that it can hold.
template <class From, class Visit, class Narrow>
std::int64_t store_as(const knng_backend_matrix& matrix, const std::byte* packed, Visit&& visit, Narrow&& narrow) {
  const MutableMatrixView m = reach(matrix);
  std::int64_t unfit = -1;
  visit(m.dtype, [&]<class T>(T*) {
    for (std::int64_t i = 0; i < m.rows; ++i)
      for (std::int64_t t = 0; t < m.cols; ++t) {
        const std::int64_t at = i * m.cols + t;
        T element{};
        if (narrow(reinterpret_cast<const From*>(packed)[at], element))
          reinterpret_cast<T*>(m.data)[i * m.row_stride + t * m.col_stride] = element;
        else if (unfit < 0)
          unfit = at;
      }
  });
  return unfit;
}

}  // namespace

std::int32_t store(const knng_backend_matrix* matrix, std::int32_t dtype, const void* from, std::int64_t base,
                   std::int64_t* unfit, knng_backend_error* error) {
  return guard(error, [&] {
    const std::byte* const packed = reach(from);
    const auto ids = [](std::int32_t of, auto&& f) { visit_id_dtype(of, f); };
    const auto values = [](std::int32_t of, auto&& f) { visit_value_dtype(of, f); };
    const auto narrow = [](double x, auto& element) { return narrow_value(x, element); };
    *unfit = -1;
    if (dtype == matrix->dtype && base == 0) {
      const knng_backend_piece all{0, matrix->rows, *matrix, nullptr, 0};
      each_element(all, 0, matrix->rows, [&](std::byte* element, std::int64_t at, std::int64_t bytes) {
        std::memcpy(element, packed + at, static_cast<std::size_t>(bytes));
      });
    } else if (dtype == KNNG_I64) {
      *unfit = store_as<std::int64_t>(*matrix, packed, ids,
                                      [&](std::int64_t id, auto& element) { return narrow_id(id + base, element); });
    } else if (dtype == KNNG_F64) {
      *unfit = store_as<double>(*matrix, packed, values, narrow);
    } else {
      *unfit = store_as<float>(*matrix, packed, values, narrow);
    }
  });
}

std::int32_t allocate(knng_backend_memory** out, std::int32_t device, std::int64_t bytes, void** address,
                      knng_backend_error* error) {
  return guard(error, [&] {
    if (behaviour(device, "no_memory_for_lists") >= 0) throw Failure{KNNG_ERR_MEMORY, "injected lack of memory"};
    auto memory = std::make_unique<knng_backend_memory>(device, bytes);
    *address = memory->address;
    *out = memory.release();
  });
}

void release(knng_backend_memory* memory) { delete memory; }

}  // namespace libknng::fake

#define KNNG_FAKE_EXPORT extern "C" __attribute__((visibility("default")))

using namespace libknng::fake;

KNNG_FAKE_EXPORT void* knng_fake_allocate(std::int32_t space, std::int32_t device, std::int64_t bytes) {
  return make_block(space, device, bytes);
}

KNNG_FAKE_EXPORT void knng_fake_release(void* address) { end_block(address); }

// From and to memory of both kinds; in a stream (not 0) when somebody waits for it, with what is there now.
KNNG_FAKE_EXPORT void knng_fake_copy(void* to, const void* from, std::int64_t bytes, std::uint64_t stream) {
  const std::lock_guard lock(mutex);
  const std::byte* const source = reachable(from);
  if (stream != 0)
    streams[stream].push_back({to, {source, source + bytes}});
  else
    std::memcpy(reachable(to), source, static_cast<std::size_t>(bytes));
}

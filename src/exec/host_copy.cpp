#include "exec/host_copy.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstddef>
#include <cstring>

#include "core/dtype.h"
#include "core/first_failure.h"

namespace libknng {
namespace {

// What a thread should have to do for its start to pay: rows to pack, bytes to copy, or to have found.
constexpr std::int64_t kPacked = std::int64_t{1} << 19, kCopied = std::int64_t{1} << 20, kFound = std::int64_t{8} << 20;

int threads_for(std::int64_t bytes, std::int64_t by_one, int threads) noexcept {
  return static_cast<int>(std::clamp<std::int64_t>(bytes / by_one, 1, threads));
}

}  // namespace

void pack_rows(const Dataset& data, std::int64_t first, std::int64_t count, std::byte* out, int threads) {
  const std::int64_t row_bytes = data.dim() * find_dtype(data.dtype())->bytes;
  const int parts = threads_for(count * row_bytes, kPacked, threads);
  FirstFailure failure;
#pragma omp parallel for schedule(static, 1) num_threads(parts)
  for (int part = 0; part < parts; ++part) {
    const std::int64_t begin = count * part / parts, end = count * (part + 1) / parts;
    try {
      data.pack(first + begin, end - begin, out + begin * row_bytes);
    } catch (...) {
      failure.note();
    }
  }
  failure.rethrow();
}

void copy_bytes(void* to, const void* from, std::int64_t bytes, int threads) noexcept {
  const int parts = threads_for(bytes, kCopied, threads);
#pragma omp parallel for schedule(static, 1) num_threads(parts)
  for (int part = 0; part < parts; ++part) {
    const std::int64_t begin = bytes * part / parts, end = bytes * (part + 1) / parts;
    std::memcpy(static_cast<std::byte*>(to) + begin, static_cast<const std::byte*>(from) + begin,
                static_cast<std::size_t>(end - begin));
  }
}

void touch_bytes(void* memory, std::int64_t bytes, int threads) noexcept {
  constexpr std::int64_t page = 4096, large_page = std::int64_t{2} << 20;
  auto* const first = static_cast<std::byte*>(memory);
  // What are whole large pages, in one fault each where the system has some; others hold somebody else's data too.
  const std::int64_t ahead = -reinterpret_cast<std::intptr_t>(memory) & (large_page - 1);
  const std::int64_t whole = (bytes - ahead) / large_page * large_page;
  if (whole > 0) madvise(first + ahead, static_cast<std::size_t>(whole), MADV_HUGEPAGE);
#pragma omp parallel for schedule(static) num_threads(threads_for(bytes, kFound, threads))
  for (std::int64_t at = 0; at < bytes; at += page) first[at] = std::byte{};
}

}  // namespace libknng

#include "exec/rows/host_copy.h"

#include <algorithm>
#include <cstddef>
#include <cstring>

#include "core/dtype.h"
#include "exec/rows/stream_copy.h"

namespace libknng {
namespace {

// What a thread should have to do for waking it up to pay: bytes to pack, to copy, or to have found.
constexpr std::int64_t kPacked = std::int64_t{1} << 19, kCopied = std::int64_t{1} << 20, kFound = std::int64_t{8} << 20;
constexpr std::int64_t kPage = 4096;

}  // namespace

void pack_rows(const Dataset& data, std::int64_t first, std::int64_t count, std::byte* out, ThreadTeam& team,
               int members) {
  const std::int64_t row_bytes = data.dim() * find_dtype(data.work_dtype())->bytes;
  const auto pack = [&](int, std::int64_t begin, std::int64_t end) {
    data.pack(first + begin, end - begin, out + begin * row_bytes);
  };
  team.for_each(count, std::max<std::int64_t>(1, kPacked / row_bytes), pack, members);
}

void copy_bytes(void* to, const void* from, std::int64_t bytes, ThreadTeam& team, int members) noexcept {
  auto* const there = static_cast<std::byte*>(to);
  const auto* const here = static_cast<const std::byte*>(from);
  if (bytes < kCopied) {
    std::copy_n(here, bytes, there);
    return;
  }
  const StreamCopy& stream = *stream_copies().front();
  const auto copy = [&](int, std::int64_t begin, std::int64_t end) {
    stream.run(there + begin, here + begin, end - begin);
  };
  team.for_each(bytes, kCopied, copy, members);
}

void touch_bytes(void* memory, std::int64_t bytes, ThreadTeam& team) noexcept {
  auto* const first = static_cast<std::byte*>(memory);
  team.for_each(bytes, kFound, [&](int, std::int64_t begin, std::int64_t end) {
    for (std::int64_t at = begin; at < end; at += kPage) first[at] = std::byte{};
  });
}

}  // namespace libknng

#include "formats/hdf5/object_header.h"

#include <cstddef>
#include <cstring>

namespace knng_hdf5 {
namespace {

// More than any file has; a damaged one may go round in circles.
constexpr int kMostBlocks = 64, kMostMessages = 4096;

// Messages from `begin` to `end`, their headers included.
struct Block {
  std::uint64_t begin, end;
};

// The parts of an object's header, of version 1 or 2.
struct Header {
  bool second = false;            // version 2
  std::uint64_t order_bytes = 0;  // of a message's number
  std::vector<Block> blocks;
};

std::optional<Header> header_at(const Bytes& file, std::uint64_t at) {
  constexpr unsigned kTimes = 0x20, kPhases = 0x10, kOrder = 0x04;
  unsigned char start[6];
  if (!file.read(at, start, sizeof start)) return std::nullopt;
  Header header;
  if (std::memcmp(start, "OHDR", 4) != 0) {
    const auto size = file.number<std::uint32_t>(at + 8);
    if (start[0] != 1 || !size) return std::nullopt;
    header.blocks.push_back({at + 16, at + 16 + *size});
    return header;
  }
  const unsigned flags = start[5];
  header.second = true;
  header.order_bytes = flags & kOrder ? 2 : 0;
  at += 6 + (flags & kTimes ? 16 : 0) + (flags & kPhases ? 4 : 0);
  const std::uint64_t width = std::uint64_t{1} << (flags & 3);
  std::uint64_t size = 0;
  if (!file.read(at, &size, width) || size > INT64_MAX) return std::nullopt;
  header.blocks.push_back({at + width, at + width + size});
  return header;
}

}  // namespace

bool Bytes::read(std::uint64_t at, void* dst, std::uint64_t count) const {
  const auto size = static_cast<std::uint64_t>(input_.size);
  if (base_ > size || at > size - base_ || count > size - base_ - at) return false;
  const auto wanted = static_cast<std::int64_t>(count);
  return input_.read_at(input_.user, static_cast<std::int64_t>(base_ + at), dst, wanted) == wanted;
}

std::optional<Bytes> bytes_of(hid_t file, const knng_formats_input& input) {
  constexpr const char* kWhat = "is damaged: its superblock cannot be read";
  const Id creation = owned(::H5Fget_create_plist(file), kWhat);
  hsize_t base = 0;
  std::size_t address_bytes = 0, size_bytes = 0;
  checked(::H5Pget_userblock(creation.get(), &base), kWhat);
  checked(::H5Pget_sizes(creation.get(), &address_bytes, &size_bytes), kWhat);
  if (address_bytes != 8 || size_bytes != 8) return std::nullopt;
  return Bytes(input, base);
}

std::vector<Message> messages_at(const Bytes& file, std::uint64_t address) {
  constexpr unsigned kContinuation = 0x10, kShared = 0x02;
  std::vector<Message> messages;
  if (address > INT64_MAX) return messages;
  std::optional<Header> header = header_at(file, address);
  if (!header) return messages;
  int seen = 0;
  for (std::size_t b = 0; b < header->blocks.size() && b < kMostBlocks; ++b) {
    const Block block = header->blocks[b];
    const std::uint64_t head = header->second ? 4 + header->order_bytes : 8;
    for (std::uint64_t at = block.begin; at < block.end && block.end - at >= head && seen < kMostMessages; ++seen) {
      unsigned char start[5];
      if (!file.read(at, start, sizeof start)) return messages;
      const std::size_t rest = header->second ? 1 : 2;  // behind the type
      const std::uint64_t size = start[rest] | static_cast<std::uint64_t>(start[rest + 1]) << 8;
      const unsigned type = header->second ? start[0] : start[0] | static_cast<unsigned>(start[1]) << 8;
      at += head;
      if (type == kContinuation && size >= 16) {
        const auto to = file.number<std::uint64_t>(at), length = file.number<std::uint64_t>(at + 8);
        if (!to || !length || *to > INT64_MAX || *length > INT64_MAX) return messages;
        // Version 2 has a signature before the messages and a checksum behind them.
        if (!header->second)
          header->blocks.push_back({*to, *to + *length});
        else if (*length > 8)
          header->blocks.push_back({*to + 4, *to + *length - 4});
      } else {
        messages.push_back({type, (start[rest + 2] & kShared) != 0, at, size});
      }
      at += size;
    }
  }
  return messages;
}

}  // namespace knng_hdf5

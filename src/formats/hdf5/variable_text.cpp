#include "formats/hdf5/variable_text.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string_view>
#include <vector>

namespace knng_hdf5 {
namespace {

constexpr std::uint64_t kLongest = 1024;
// More than any file has; a damaged one may go round in circles.
constexpr int kMostBlocks = 64, kMostMessages = 4096, kMostTexts = 65536;

constexpr std::uint64_t padded(std::uint64_t bytes) noexcept { return (bytes + 7) / 8 * 8; }

// The file from its superblock on.
class Bytes {
 public:
  Bytes(const knng_formats_input& input, std::uint64_t base) : input_(input), base_(base) {}

  // Whether all of them are there.
  bool read(std::uint64_t at, void* dst, std::uint64_t count) const {
    const auto size = static_cast<std::uint64_t>(input_.size);
    if (base_ > size || at > size - base_ || count > size - base_ - at) return false;
    const auto wanted = static_cast<std::int64_t>(count);
    return input_.read_at(input_.user, static_cast<std::int64_t>(base_ + at), dst, wanted) == wanted;
  }
  template <class Number>
  std::optional<Number> number(std::uint64_t at) const {
    Number value;
    if (!read(at, &value, sizeof value)) return std::nullopt;
    return value;
  }

 private:
  const knng_formats_input& input_;
  std::uint64_t base_;
};

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

// What a variable text is stored as: where it lies.
struct Place {
  std::uint32_t length;
  std::uint64_t heap;
  std::uint32_t number;
};

// The value of an attribute's message if it has this name.
std::optional<Place> value_of(const std::vector<unsigned char>& message, std::string_view name) {
  if (message.size() < 8 || message[0] < 1 || message[0] > 3) return std::nullopt;
  const bool first = message[0] == 1;
  const auto size = [&](std::size_t at) -> std::uint64_t {
    return message[at] | static_cast<std::uint64_t>(message[at + 1]) << 8;
  };
  const auto room = [&](std::uint64_t bytes) { return first ? padded(bytes) : bytes; };
  const std::uint64_t name_at = message[0] == 3 ? 9 : 8;
  const std::uint64_t value_at = name_at + room(size(2)) + room(size(4)) + room(size(6));
  constexpr std::uint64_t kValue = 16;
  if (size(2) != name.size() + 1 || value_at + kValue > message.size() ||
      std::memcmp(message.data() + name_at, name.data(), name.size()) != 0)
    return std::nullopt;
  Place place{};
  std::memcpy(&place.length, message.data() + value_at, 4);
  std::memcpy(&place.heap, message.data() + value_at + 4, 8);
  std::memcpy(&place.number, message.data() + value_at + 12, 4);
  return place;
}

std::optional<Place> find_attribute(const Bytes& file, Header header, std::string_view name) {
  constexpr unsigned kAttribute = 0x0c, kContinuation = 0x10, kShared = 0x02;
  int messages = 0;
  for (std::size_t b = 0; b < header.blocks.size() && b < kMostBlocks; ++b) {
    const Block block = header.blocks[b];
    const std::uint64_t head = header.second ? 4 + header.order_bytes : 8;
    for (std::uint64_t at = block.begin; at < block.end && block.end - at >= head && messages < kMostMessages;
         ++messages) {
      unsigned char start[5];
      if (!file.read(at, start, sizeof start)) return std::nullopt;
      const std::size_t rest = header.second ? 1 : 2;  // behind the type
      const std::uint64_t size = start[rest] | static_cast<std::uint64_t>(start[rest + 1]) << 8;
      const unsigned type = header.second ? start[0] : start[0] | static_cast<unsigned>(start[1]) << 8;
      const unsigned flags = start[rest + 2];
      at += head;
      if (type == kAttribute && !(flags & kShared)) {
        std::vector<unsigned char> message(size);
        if (!file.read(at, message.data(), size)) return std::nullopt;
        if (const auto place = value_of(message, name)) return place;
      } else if (type == kContinuation && size >= 16) {
        const auto to = file.number<std::uint64_t>(at), length = file.number<std::uint64_t>(at + 8);
        if (!to || !length || *to > INT64_MAX || *length > INT64_MAX) return std::nullopt;
        // Version 2 has a signature before the messages and a checksum behind them.
        if (!header.second)
          header.blocks.push_back({*to, *to + *length});
        else if (*length > 8)
          header.blocks.push_back({*to + 4, *to + *length - 4});
      }
      at += size;
    }
  }
  return std::nullopt;
}

std::string text_at(const Bytes& file, const Place& place) {
  char signature[4];
  const auto size = file.number<std::uint64_t>(place.heap + 8);
  if (place.heap > INT64_MAX || !file.read(place.heap, signature, 4) || std::memcmp(signature, "GCOL", 4) != 0 ||
      !size || *size > INT64_MAX)
    return "";
  const std::uint64_t end = place.heap + *size;
  std::uint64_t at = place.heap + 16;
  for (int i = 0; i < kMostTexts && at < end; ++i) {
    const auto number = file.number<std::uint16_t>(at);
    const auto bytes = file.number<std::uint64_t>(at + 8);
    if (!number || !bytes || *number == 0 || *bytes > INT64_MAX - 8) return "";
    if (*number == place.number) {
      std::string text(std::min({static_cast<std::uint64_t>(place.length), *bytes, kLongest}), '\0');
      return file.read(at + 16, text.data(), text.size()) ? text.substr(0, text.find('\0')) : "";
    }
    if (padded(*bytes) > end - at) return "";
    at += 16 + padded(*bytes);
  }
  return "";
}

}  // namespace

std::string variable_text(const Id& object, const char* name, const knng_formats_input& input) {
  const std::string what = std::string("attribute ") + name + " cannot be read";
  const Id file = owned(::H5Iget_file_id(object.get()), what);
  const Id creation = owned(::H5Fget_create_plist(file.get()), what);
  hsize_t base = 0;
  std::size_t address_bytes = 0, size_bytes = 0;
  checked(::H5Pget_userblock(creation.get(), &base), what);
  checked(::H5Pget_sizes(creation.get(), &address_bytes, &size_bytes), what);
  if (address_bytes != 8 || size_bytes != 8) return "";
  H5O_info_t info;
  checked(::H5Oget_info(object.get(), &info), what);
  if (info.addr > INT64_MAX) return "";
  const Bytes bytes(input, base);
  const auto header = header_at(bytes, info.addr);
  if (!header) return "";
  const auto place = find_attribute(bytes, *header, name);
  return place ? text_at(bytes, *place) : "";
}

}  // namespace knng_hdf5

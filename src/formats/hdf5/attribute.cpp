#include "formats/hdf5/attribute.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string_view>
#include <vector>

#include "formats/hdf5/object_header.h"

namespace knng_hdf5 {
namespace {

constexpr std::uint64_t kLongest = 1024;
// More than any file has; a damaged one may go round in circles.
constexpr int kMostTexts = 65536;

constexpr std::uint64_t padded(std::uint64_t bytes) noexcept { return (bytes + 7) / 8 * 8; }

// An attribute's message in its parts.
struct Attribute {
  std::vector<unsigned char> message;
  std::uint64_t type = 0, space = 0, value = 0;  // where they begin; the value goes up to the end

  template <class Number>
  Number number(std::uint64_t at) const {
    Number n{};
    if (at <= message.size() && sizeof n <= message.size() - at) std::memcpy(&n, message.data() + at, sizeof n);
    return n;
  }
};

// Whether the message is whole and has this name.
bool take_apart(Attribute& a, std::string_view name) {
  const auto version = a.number<std::uint8_t>(0);
  if (version < 1 || version > 3) return false;
  const std::uint64_t name_bytes = a.number<std::uint16_t>(2), name_at = version == 3 ? 9 : 8;
  const auto room = [&](std::uint64_t bytes) { return version == 1 ? padded(bytes) : bytes; };
  a.type = name_at + room(name_bytes);
  a.space = a.type + room(a.number<std::uint16_t>(4));
  a.value = a.space + room(a.number<std::uint16_t>(6));
  return a.value <= a.message.size() && name_bytes == name.size() + 1 && name_bytes <= a.type - name_at &&
         std::memcmp(a.message.data() + name_at, name.data(), name.size()) == 0;
}

enum Class { kInteger = 0, kText = 3, kVariable = 9 };
int class_of(const Attribute& a) { return a.number<std::uint8_t>(a.type) & 15; }
std::uint64_t item_bytes(const Attribute& a) { return a.number<std::uint32_t>(a.type + 4); }

// 0 where it is more than one dimension, or more than anybody asks for.
std::uint64_t value_count(const Attribute& a) {
  constexpr std::uint64_t kMost = 16;
  const auto version = a.number<std::uint8_t>(a.space), rank = a.number<std::uint8_t>(a.space + 1);
  if (version < 1 || version > 2 || rank > 1) return 0;
  if (rank == 0) return version == 2 && a.number<std::uint8_t>(a.space + 3) != 0 ? 0 : 1;
  const auto count = a.number<std::uint64_t>(a.space + (version == 1 ? 8 : 4));
  return count <= kMost ? count : 0;
}

std::optional<Attribute> find_attribute(const Bytes& file, std::uint64_t address, std::string_view name) {
  constexpr unsigned kAttribute = 0x0c;
  for (const Message& message : messages_at(file, address)) {
    if (message.type != kAttribute || message.shared) continue;
    Attribute attribute;
    attribute.message.resize(message.size);
    if (!file.read(message.at, attribute.message.data(), message.size)) return std::nullopt;
    if (take_apart(attribute, name)) return attribute;
  }
  return std::nullopt;
}

// A text of variable length is a length, the place of a heap, and a number there.
std::string text_in_heap(const Bytes& file, const Attribute& a) {
  const auto length = a.number<std::uint32_t>(a.value), wanted = a.number<std::uint32_t>(a.value + 12);
  const auto heap = a.number<std::uint64_t>(a.value + 4);
  char signature[4];
  if (heap > INT64_MAX || !file.read(heap, signature, 4) || std::memcmp(signature, "GCOL", 4) != 0) return "";
  const auto size = file.number<std::uint64_t>(heap + 8);
  if (!size || *size > INT64_MAX) return "";
  const std::uint64_t end = heap + *size;
  std::uint64_t at = heap + 16;
  for (int i = 0; i < kMostTexts && at < end; ++i) {
    const auto number = file.number<std::uint16_t>(at);
    const auto bytes = file.number<std::uint64_t>(at + 8);
    if (!number || !bytes || *number == 0 || *bytes > INT64_MAX - 8) return "";
    if (*number == wanted) {
      std::string text(std::min({std::uint64_t{length}, *bytes, kLongest}), '\0');
      return file.read(at + 16, text.data(), text.size()) ? text : "";
    }
    if (padded(*bytes) > end - at) return "";
    at += 16 + padded(*bytes);
  }
  return "";
}

// Of the object, and the file that it is in.
struct Found {
  std::optional<Bytes> file;
  std::optional<Attribute> attribute;
};

Found find(const Id& object, const char* name, const knng_formats_input& input) {
  const std::string what = std::string("attribute ") + name + " cannot be read";
  const Id file = owned(::H5Iget_file_id(object.get()), what);
  Found found{bytes_of(file.get(), input), std::nullopt};
  if (!found.file) return found;
  H5O_info_t info;
  // Not all of it: sizes of a group's index are found by reading it, damaged ones too.
  checked(::H5Oget_info2(object.get(), &info, H5O_INFO_BASIC), what);
  found.attribute = find_attribute(*found.file, info.addr, name);
  return found;
}

}  // namespace

std::string text_attribute(const Id& object, const char* name, const knng_formats_input& input) {
  constexpr unsigned kString = 1;  // of variable types
  const Found found = find(object, name, input);
  if (!found.attribute || value_count(*found.attribute) != 1) return "";
  const Attribute& a = *found.attribute;
  std::string text;
  if (class_of(a) == kVariable && (a.number<std::uint8_t>(a.type + 1) & 15) == kString)
    text = text_in_heap(*found.file, a);
  else if (class_of(a) == kText && item_bytes(a) <= std::min<std::uint64_t>(kLongest, a.message.size() - a.value))
    text.assign(reinterpret_cast<const char*>(a.message.data() + a.value), item_bytes(a));
  text.resize(std::min(text.size(), text.find('\0')));
  while (!text.empty() && text.back() == ' ') text.pop_back();  // as Fortran pads
  return text;
}

std::vector<std::int64_t> integers_attribute(const Id& object, const char* name, const knng_formats_input& input) {
  constexpr unsigned kBigEndian = 1, kSigned = 8;
  const Found found = find(object, name, input);
  if (!found.attribute || class_of(*found.attribute) != kInteger) return {};
  const Attribute& a = *found.attribute;
  const std::uint64_t bytes = item_bytes(a), count = value_count(a);
  const unsigned flags = a.number<std::uint8_t>(a.type + 1);
  if (bytes < 1 || bytes > 8 || bytes * count > a.message.size() - a.value) return {};
  std::vector<std::int64_t> values;
  for (std::uint64_t i = 0; i < count; ++i) {
    std::uint64_t value = 0;
    for (std::uint64_t b = 0; b < bytes; ++b) {
      const std::uint64_t place = a.value + i * bytes + (flags & kBigEndian ? b : bytes - 1 - b);
      value = value << 8 | a.message[place];
    }
    const std::uint64_t sign = std::uint64_t{1} << (8 * bytes - 1);
    // Without a sign, beyond int64: negative, as nobody's count is.
    values.push_back(static_cast<std::int64_t>(flags & kSigned ? (value ^ sign) - sign : value));
  }
  return values;
}

}  // namespace knng_hdf5

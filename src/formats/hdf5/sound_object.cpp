#include "formats/hdf5/sound_object.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

#include "formats/hdf5/object_header.h"

namespace knng_hdf5 {
namespace {

using Content = std::vector<unsigned char>;

// Numbers of a message, from front to back; 0 and not good() beyond its end.
class Reader {
 public:
  explicit Reader(const Content& content) : content_(content) {}

  bool good() const noexcept { return good_; }
  void give_up() noexcept { good_ = false; }
  std::uint64_t number(std::size_t bytes) noexcept {
    std::uint64_t value = 0;
    if (!has(bytes)) return 0;
    for (std::size_t b = 0; b < bytes; ++b) value |= std::uint64_t{content_[at_ + b]} << (8 * b);
    at_ += bytes;
    return value;
  }
  void skip(std::size_t bytes) noexcept {
    if (has(bytes)) at_ += bytes;
  }
  // With its 0, and up to a multiple of so many bytes.
  void skip_name(std::size_t multiple) noexcept {
    const std::size_t begin = at_;
    while (has(1) && content_[at_] != 0) ++at_;
    skip(1);
    skip((multiple - (at_ - begin) % multiple) % multiple);
  }

 private:
  bool has(std::size_t bytes) noexcept {
    good_ = good_ && bytes <= content_.size() - at_;
    return good_;
  }
  const Content& content_;
  std::size_t at_ = 0;
  bool good_ = true;
};

enum Class { kInteger, kFloat, kTime, kText, kBits, kOpaque, kRecord, kReference, kNames, kList, kArray };
constexpr int kDeepest = 64;

// Whether there is a type of size 0 in the type that comes next. What cannot be understood is left to libhdf5.
bool has_empty_type(Reader& r, int depth = 0) {
  const auto first = static_cast<unsigned>(r.number(1)), version = first >> 4;
  const std::uint64_t bits = r.number(3), size = r.number(4);
  if (!r.good() || depth > kDeepest) return false;
  if (size == 0) return true;
  const std::size_t name_multiple = version < 3 ? 8 : 1;
  switch (first & 15) {
    case kInteger:
    case kBits: r.skip(4); return false;
    case kFloat: r.skip(12); return false;
    case kTime: r.skip(2); return false;
    case kOpaque: r.skip(bits & 255); return false;
    case kList: return has_empty_type(r, depth + 1);
    case kNames: {
      const std::uint64_t members = bits & 0xffff;
      if (has_empty_type(r, depth + 1)) return true;
      for (std::uint64_t m = 0; m < members && r.good(); ++m) r.skip_name(name_multiple);
      r.skip(members * size);
      return false;
    }
    case kArray: {
      const std::uint64_t dimensions = r.number(1);
      if (version < 3) r.skip(3);
      for (std::uint64_t d = 0; d < dimensions && r.good(); ++d)
        if (r.number(4) == 0 && r.good()) return true;
      if (version < 3) r.skip(4 * dimensions);
      return has_empty_type(r, depth + 1);
    }
    case kRecord: {
      const std::uint64_t members = bits & 0xffff;
      if (members == 0) return true;
      std::size_t offset_bytes = 4;
      if (version >= 3)
        for (offset_bytes = 1; offset_bytes < 4 && size >> (8 * offset_bytes) != 0;) ++offset_bytes;
      for (std::uint64_t m = 0; m < members && r.good(); ++m) {
        r.skip_name(name_multiple);
        r.skip(offset_bytes);
        if (version == 1) r.skip(28);  // dimensions, from before there were arrays
        if (has_empty_type(r, depth + 1)) return true;
      }
      return false;
    }
    case kText:
    case kReference: return false;
    default: r.give_up(); return false;
  }
}

// rank: of the data set, of which chunks have a dimension more, the size of an item.
bool has_empty_chunks(Reader& r, std::uint64_t rank) {
  constexpr std::uint64_t kChunked = 2;
  const std::uint64_t version = r.number(1);
  std::uint64_t dimensions = 0, kind = 0;
  std::size_t bytes = 4;  // of a dimension
  if (version < 3) {
    dimensions = r.number(1);
    kind = r.number(1);
    r.skip(5 + 8);
  } else {
    kind = r.number(1);
    if (version > 3) r.skip(1);
    dimensions = r.number(1);
    if (version > 3)
      bytes = std::min<std::size_t>(8, r.number(1));
    else
      r.skip(8);
  }
  if (kind != kChunked || version > 4) return false;
  if (dimensions != rank + 1 && r.good()) return true;
  for (std::uint64_t d = 0; d < dimensions && r.good(); ++d)
    if (r.number(bytes) == 0 && r.good()) return true;
  return false;
}

// Names of a group's members, and a list of the gaps between them.
bool is_heap_broken(const Bytes& file, std::uint64_t at) {
  constexpr std::uint64_t kNoGap = 1, kGap = 16;
  constexpr int kMostGaps = 65536;
  struct {
    char signature[4];
    unsigned char version[4];
    std::uint64_t size, gap, names;
  } heap;
  static_assert(sizeof heap == 32);
  unsigned char last = 0;
  if (at > INT64_MAX || !file.read(at, &heap, sizeof heap) || std::memcmp(heap.signature, "HEAP", 4) != 0) return true;
  if (heap.size == 0) return heap.gap != kNoGap;
  if (heap.size > INT64_MAX || heap.names > INT64_MAX || !file.read(heap.names + heap.size - 1, &last, 1)) return true;
  for (int i = 0; heap.gap != kNoGap; ++i) {
    if (i == kMostGaps || heap.gap > heap.size || heap.size - heap.gap < kGap) return true;
    const auto next = file.number<std::uint64_t>(heap.names + heap.gap);
    if (!next) return true;
    heap.gap = *next;
  }
  return false;
}

}  // namespace

void require_sound(hid_t file, const std::string& path, const knng_formats_input& input) {
  constexpr unsigned kSpace = 0x01, kType = 0x03, kLayout = 0x08, kGroup = 0x11;
  const auto bytes = bytes_of(file, input);
  if (!bytes) return;
  H5O_info_t info;
  checked(::H5Oget_info_by_name2(file, path.c_str(), &info, H5O_INFO_BASIC, H5P_DEFAULT),
          quoted(path) + " cannot be opened");
  const std::vector<Message> messages = messages_at(*bytes, info.addr);
  const auto find = [&](unsigned type) {
    const auto at = std::find_if(messages.begin(), messages.end(), [&](const Message& m) { return m.type == type; });
    Content content(at == messages.end() || at->shared ? 0 : at->size);
    if (!bytes->read(at == messages.end() ? 0 : at->at, content.data(), content.size())) content.clear();
    return content;
  };
  const Content space = find(kSpace), type = find(kType), layout = find(kLayout), group = find(kGroup);
  Reader type_reader(type), layout_reader(layout), group_reader(group);
  const auto refuse = [&](const char* what) { fail(KNNG_ERR_FORMAT, "%s is damaged: %s", quoted(path).c_str(), what); };
  if (has_empty_type(type_reader)) refuse("its type has no size");
  if (space.size() > 1 && has_empty_chunks(layout_reader, space[1])) refuse("its chunks are not of its shape");
  group_reader.skip(8);
  const std::uint64_t heap = group_reader.number(8);
  if (!group.empty() && group_reader.good() && is_heap_broken(*bytes, heap)) refuse("its names cannot be read");
}

}  // namespace knng_hdf5

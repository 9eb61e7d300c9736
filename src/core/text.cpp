#include "core/text.h"

#include <cstring>

namespace libknng {
namespace {

struct Character {
  int bytes;  // 0: none begins here; -1: one begins, and the text ends in it
  char32_t code;
};

Character decode(const char* at) noexcept {
  const auto byte = [at](int i) { return static_cast<unsigned char>(at[i]); };
  const unsigned first = byte(0);
  if (first < 0x80) return {1, first};
  const int bytes = first >= 0xf0 && first < 0xf5   ? 4
                    : first >= 0xe0 && first < 0xf0 ? 3
                    : first >= 0xc2 && first < 0xe0 ? 2
                                                    : 0;
  if (bytes == 0) return {0, 0};
  char32_t code = first & (0x7fu >> bytes);
  for (int i = 1; i < bytes; ++i) {
    if (byte(i) == 0) return {-1, 0};
    if ((byte(i) & 0xc0u) != 0x80) return {0, 0};
    code = code << 6 | (byte(i) & 0x3fu);
  }
  constexpr char32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
  if (code < least[bytes] || code > 0x10ffff || (code >= 0xd800 && code < 0xe000)) return {0, 0};
  return {bytes, code};
}

bool obeyed(char32_t c) noexcept {
  return c < 0x20 || (c >= 0x7f && c < 0xa0) ||         // C0, DEL, C1
         c == 0x61c || (c >= 0x200e && c <= 0x200f) ||  // marks of direction
         (c >= 0x2028 && c <= 0x202e) ||                // line separators, embedding and override
         (c >= 0x2066 && c <= 0x2069);                  // isolation
}

}  // namespace

std::size_t keep_plain(char* text) noexcept {
  char* to = text;
  for (const char* from = text; *from;) {
    const Character c = decode(from);
    if (c.bytes < 0) break;
    if (c.bytes == 0 || obeyed(c.code)) {
      *to++ = '?';
      from += c.bytes == 0 ? 1 : c.bytes;
      continue;
    }
    std::memmove(to, from, static_cast<std::size_t>(c.bytes));
    to += c.bytes;
    from += c.bytes;
  }
  *to = 0;
  return static_cast<std::size_t>(to - text);
}

std::string plain_text(std::string text) {
  for (char& c : text)
    if (c == 0) c = '?';
  text.resize(keep_plain(text.data()));
  return text;
}

}  // namespace libknng

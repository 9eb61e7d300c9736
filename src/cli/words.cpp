#include "words.h"

#include <strings.h>

#include <algorithm>
#include <cmath>
#include <cstdarg>
#include <cstdio>
#include <iterator>
#include <string_view>

namespace cli {
namespace {

// Three digits; whole numbers of the first unit unless `fractions`.
std::string scaled(double value, double step, const char* const* units, int last, bool fractions) {
  int u = 0;
  while (u < last && value >= 0.9995 * step) {
    value /= step;
    ++u;
  }
  const int digits = u == 0 && !fractions ? 0 : value < 9.995 ? 2 : value < 99.95 ? 1 : 0;
  return print("%.*f%s", digits, value, units[u]);
}

// Bytes of the UTF-8 character that the text begins with, as Unicode's table 3-7 has them; 0: it begins with none, and
// a terminal of another encoding may obey the byte.
std::size_t character_length(std::string_view text) {
  const auto byte = [&](std::size_t i) { return i < text.size() ? static_cast<unsigned char>(text[i]) : 0U; };
  const unsigned first = byte(0), second = byte(1);
  const std::size_t length = first < 0x80 ? 1 : first < 0xc2 ? 0 : first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;
  if (length < 2) return length;
  const unsigned least = first == 0xe0   ? 0xa0
                         : first == 0xf0 ? 0x90
                                         : 0x80,
                 most = first == 0xed   ? 0x9f
                        : first == 0xf4 ? 0x8f
                                        : 0xbf;
  if (first > 0xf4 || second < least || second > most) return 0;
  for (std::size_t i = 2; i < length; ++i)
    if (byte(i) < 0x80 || byte(i) > 0xbf) return 0;
  return length;
}

}  // namespace

std::string print(const char* format, ...) {
  std::va_list args;
  va_start(args, format);
  const int length = std::vsnprintf(nullptr, 0, format, args);
  va_end(args);
  std::string text(static_cast<std::size_t>(std::max(length, 0)) + 1, '\0');
  va_start(args, format);
  std::vsnprintf(text.data(), text.size(), format, args);
  va_end(args);
  text.pop_back();
  return text;
}

std::string count(std::int64_t n) {
  std::string digits = std::to_string(n);
  const std::int64_t first = n < 0 ? 1 : 0;
  for (std::int64_t at = static_cast<std::int64_t>(digits.size()) - 3; at > first; at -= 3)
    digits.insert(static_cast<std::size_t>(at), 1, ',');
  return digits;
}

std::string bytes(double n) {
  static constexpr const char* kUnits[] = {" B", " KiB", " MiB", " GiB", " TiB", " PiB"};
  return scaled(n, 1024, kUnits, 5, false);
}

std::string rate(double per_second) {
  static constexpr const char* kUnits[] = {"", "k", "M", "G", "T"};
  return scaled(per_second, 1000, kUnits, 4, true);
}

std::string seconds(double s) {
  if (s < 9.995) return print("%.2f s", s);
  if (s < 59.95) return print("%.1f s", s);
  const auto whole = static_cast<std::int64_t>(std::llround(s));
  if (whole < 3600)
    return print("%lld min %02lld s", static_cast<long long>(whole / 60), static_cast<long long>(whole % 60));
  return print("%lld h %02lld min", static_cast<long long>(whole / 3600), static_cast<long long>(whole / 60 % 60));
}

std::string number(double value) {
  constexpr double kExact = 9007199254740992.0;  // 2^53
  return print(value == std::floor(value) && std::fabs(value) < kExact ? "%.0f" : "%.6g", value);
}

std::string plain(const std::string& text) {
  // In UTF-8; the last byte of each is one of a range. C1, then marks of direction and line separators.
  struct Obeyed {
    std::string_view begin;
    char first, last;
  };
  static constexpr Obeyed kObeyed[] = {{"\xc2", '\x80', '\x9f'},
                                       {"\xd8", '\x9c', '\x9c'},
                                       {"\xe2\x80", '\x8e', '\x8f'},
                                       {"\xe2\x80", '\xa8', '\xae'},
                                       {"\xe2\x81", '\xa6', '\xa9'}};
  std::string out;
  for (std::size_t at = 0; at < text.size();) {
    const std::string_view rest = std::string_view(text).substr(at);
    const std::size_t length = character_length(rest);
    const auto* const found = std::find_if(std::begin(kObeyed), std::end(kObeyed), [&](const Obeyed& o) {
      return rest.size() > o.begin.size() && rest.starts_with(o.begin) && rest[o.begin.size()] >= o.first &&
             rest[o.begin.size()] <= o.last;
    });
    const bool control = static_cast<unsigned char>(rest[0]) < 0x20 || rest[0] == 0x7f;
    if (control || length == 0 || found != std::end(kObeyed))
      out += '?';
    else
      out += rest.substr(0, length);
    at += std::max<std::size_t>(length, 1);
  }
  return out;
}

bool has_suffix(std::string_view name, std::string_view suffix) {
  return name.size() >= suffix.size() &&
         strncasecmp(name.data() + name.size() - suffix.size(), suffix.data(), suffix.size()) == 0;
}

std::string percent(double part, double of) { return print("%.1f %%", of > 0 ? 100 * part / of : 0.0); }

}  // namespace cli

// Text compared without regard to the case of ASCII letters, whatever the locale: names that people type, suffixes of
// files.
#pragma once

#include <algorithm>
#include <string_view>

namespace libknng {

inline bool same_word(std::string_view a, std::string_view b) noexcept {
  const auto lower = [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; };
  return a.size() == b.size() &&
         std::equal(a.begin(), a.end(), b.begin(), [&](char x, char y) { return lower(x) == lower(y); });
}

// Whether a file's name ends in the suffix, such as ".npy" or "-ubyte".
inline bool has_suffix(std::string_view name, std::string_view suffix) noexcept {
  return name.size() >= suffix.size() && same_word(name.substr(name.size() - suffix.size()), suffix);
}

}  // namespace libknng

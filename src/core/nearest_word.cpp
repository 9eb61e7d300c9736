#include "core/nearest_word.h"

#include <algorithm>
#include <array>
#include <cstddef>

namespace libknng {
namespace {

constexpr std::size_t kLongest = 64;  // no word of ours is as long

std::string plain(std::string_view word) {
  std::string text(word);
  for (char& c : text) c = c == '-' ? '_' : c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  return text;
}

}  // namespace

// Optimal string alignment: of the table of edits between all beginnings three rows are kept.
std::size_t edits(std::string_view a, std::string_view b) {
  if (std::max(a.size(), b.size()) > kLongest) return std::max(a.size(), b.size());
  std::array<std::array<std::size_t, kLongest + 1>, 3> rows{};
  for (std::size_t j = 0; j <= b.size(); ++j) rows[0][j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    auto &now = rows[i % 3], &above = rows[(i + 2) % 3], &higher = rows[(i + 1) % 3];
    now[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      now[j] = std::min({above[j] + 1, now[j - 1] + 1, above[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1)});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) now[j] = std::min(now[j], higher[j - 2] + 1);
    }
  }
  return rows[a.size() % 3][b.size()];
}

std::string did_you_mean(std::string_view given, std::string_view list) {
  constexpr std::size_t kEnough = 3;  // letters by which a word, or its beginning, is known
  if (given.size() < kEnough || given.size() > kLongest) return "";
  const std::string wanted = plain(given);
  std::size_t fewest = (wanted.size() + 1) / 3 + 1;  // more are another word
  std::string_view found, begun;
  while (!list.empty()) {
    const std::size_t end = std::min(list.find(", "), list.size());
    const std::string_view word = list.substr(0, end);
    list.remove_prefix(std::min(end + 2, list.size()));
    if (word.size() > kLongest) continue;
    const std::string candidate = plain(word);
    if (begun.empty() && candidate.starts_with(wanted)) begun = word;
    const std::size_t distance = edits(wanted, candidate);
    if (distance >= fewest) continue;
    fewest = distance;
    found = word;
  }
  if (found.empty()) found = begun;
  return found.empty() ? "" : "; did you mean '" + std::string(found) + "'?";
}

}  // namespace libknng

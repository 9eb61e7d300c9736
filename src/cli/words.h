// Numbers and names as people read them. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace cli {

std::string count(std::int64_t n);            // 70,000
std::string bytes(double n);                  // 52.3 MiB
std::string seconds(double s);                // 0.42 s, 12.3 s, 3 min 05 s, 2 h 07 min
std::string rate(double per_second);          // 3.21, 950, 12.3k, 4.56M
std::string number(double value);             // whole numbers in full, others with 6 digits
std::string percent(double part, double of);  // 12.3 %

// Names of files, as a line of a terminal: what would be obeyed there, or would turn the direction of text, becomes
// '?'. Texts of the library come like this already.
std::string plain(const std::string& text);

// Whether a file's name ends in the suffix, in small letters or capitals, as the library tells formats.
bool has_suffix(std::string_view name, std::string_view suffix);

[[gnu::format(printf, 1, 2)]] std::string print(const char* format, ...);

}  // namespace cli

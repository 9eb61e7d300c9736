// One cell of a line of text: where it ends, and which number it holds or why it holds none. Numbers are read the same
// way in every locale. Knows nothing of files and of what a cell is for.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace libknng {

// Longer cells are refused, names as well as numbers.
inline constexpr std::ptrdiff_t kLongestCell = 1 << 16;

// Spaces, and tabs where they separate nothing, do not count around a cell.
inline bool is_blank(char c, char separator) noexcept { return c == ' ' || (c == '\t' && separator != '\t'); }

struct Cell {
  enum class Form { plain, quoted, unclosed, trailed };  // unclosed: no second quote; trailed: text behind it
  std::string_view text;                                 // without quotes and blanks; quotes inside are still doubled
  Form form = Form::plain;
  bool last = false;  // of its line
};

// The cell that begins at `at`, which is moved behind the separator that ends it (RFC 4180 quotes). end: of the line.
Cell next_cell(const char*& at, const char* end, char separator) noexcept;

struct CellValue {
  enum class Kind {
    number,
    missing,     // empty, or NA and its relatives
    not_finite,  // NaN or an infinity
    too_large,   // for a double
    comma,       // a number but for commas in it
    text,
  };
  Kind kind = Kind::text;
  double number = 0;  // the double nearest to the decimal number
};

CellValue value_of(const Cell& cell) noexcept;

// The number that begins at `at`, and where it ends; nullptr where there is none. Wants rounding to nearest.
const char* read_number(const char* at, const char* end, double& number) noexcept;

// For a message: in quotes, on one line, cut where it is long.
std::string shown_cell(std::string_view text);

}  // namespace libknng

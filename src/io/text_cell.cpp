#include "io/text_cell.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstring>
#include <system_error>

#include "core/letter_case.h"
#include "core/text.h"

namespace libknng {
namespace {

bool is_digit(char c) noexcept { return c >= '0' && c <= '9'; }

// Of a number that from_chars found beyond a double: whether it is too large, not too small. Its first digit that is
// no 0 stands at 10^place; the exponent, which may have any length, moves it.
bool is_too_large(std::string_view text) noexcept {
  std::int64_t place = 0;
  bool found = false, fraction = false;
  std::size_t i = text.front() == '-' ? 1 : 0;
  for (; i < text.size() && (is_digit(text[i]) || text[i] == '.'); ++i) {
    if (text[i] == '.') {
      fraction = true;
    } else if (!found) {
      found = text[i] != '0';
      if (fraction) --place;
    } else if (!fraction) {
      ++place;
    }
  }
  if (i >= text.size()) return place > 0;
  const char* const exponent = text.data() + i + (text[i + 1] == '+' ? 2 : 1);
  std::int64_t shift = 0;
  const std::errc error = std::from_chars(exponent, text.data() + text.size(), shift).ec;
  if (error == std::errc::result_out_of_range) return *exponent != '-';
  return shift > -place;
}

bool is_missing(std::string_view text) noexcept {
  constexpr std::string_view kWords[] = {"", "na", "n/a", "#n/a", "<na>", "null", "none"};
  return std::any_of(std::begin(kWords), std::end(kWords),
                     [&](std::string_view word) { return same_word(text, word); });
}

// Digits, commas and what else numbers have: "1,5", "-1.234,5e3".
bool is_number_with_commas(std::string_view text) noexcept {
  const auto of_number = [](char c) {
    return is_digit(c) || std::string_view("+-.,eE").find(c) != std::string_view::npos;
  };
  return text.find(',') != std::string_view::npos && std::all_of(text.begin(), text.end(), of_number) &&
         text.find_first_of("0123456789") <= 2 && is_digit(text.back());
}

// A number of few digits and no exponent: an integer and a power of ten that are exact as doubles, so that one division
// rounds as the decimal number does (Clinger, How to read floating point numbers accurately, 1990). nullptr for others;
// an exponent may follow.
const char* read_short_number(const char* at, const char* end, double& number) noexcept {
  constexpr std::ptrdiff_t kDigits = 15;  // 10^15 < 2^53
  static constexpr double kPowers[kDigits + 1] = {1e0, 1e1, 1e2,  1e3,  1e4,  1e5,  1e6,  1e7,
                                                  1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15};
  const bool negative = at < end && *at == '-';
  const char* p = at + (negative ? 1 : 0);
  const char* const first = p;
  std::int64_t digits = 0;
  for (; p < end && is_digit(*p) && p - first <= kDigits; ++p) digits = 10 * digits + (*p - '0');
  std::ptrdiff_t count = p - first, behind = 0;
  if (p < end && *p == '.') {
    const char* const point = p++;
    for (; p < end && is_digit(*p) && p - first <= kDigits + 1; ++p) digits = 10 * digits + (*p - '0');
    behind = p - point - 1;
    count += behind;
  }
  if (count == 0 || count > kDigits) return nullptr;
  number = static_cast<double>(digits) / kPowers[behind];
  if (negative) number = -number;
  return p;
}

// Whether 16 digits are likely. A guess for speed: read_short_number() would read them all and then give up.
bool looks_long(const char* at, const char* end) noexcept {
  return end - at > 16 && is_digit(at[7]) && is_digit(at[8]) && is_digit(at[11]) && is_digit(at[12]) &&
         is_digit(at[15]) && is_digit(at[16]);
}

}  // namespace

const char* read_number(const char* at, const char* end, double& number) noexcept {
  const char* const stop = looks_long(at, end) ? nullptr : read_short_number(at, end, number);
  if (stop && (stop == end || (*stop != 'e' && *stop != 'E'))) return stop;
  const auto [last, error] = std::from_chars(at, end, number);
  return error == std::errc() ? last : nullptr;
}

Cell next_cell(const char*& at, const char* end, char separator) noexcept {
  const char* first = at;
  while (first < end && is_blank(*first, separator)) ++first;
  Cell cell;
  const char *last = first, *stop = first;
  if (first < end && *first == '"') {
    cell.form = Cell::Form::quoted;
    ++first;
    for (last = first; last < end; ++last) {
      if (*last != '"') continue;
      if (last + 1 >= end || last[1] != '"') break;
      ++last;
    }
    if (last >= end) {
      cell.form = Cell::Form::unclosed;
      last = stop = end;
    } else {
      stop = last + 1;
      while (stop < end && is_blank(*stop, separator)) ++stop;
      if (stop < end && *stop != separator) cell.form = Cell::Form::trailed;
    }
  }
  if (cell.form == Cell::Form::plain || cell.form == Cell::Form::trailed) {
    const void* const found = stop < end ? std::memchr(stop, separator, static_cast<std::size_t>(end - stop)) : nullptr;
    stop = found ? static_cast<const char*>(found) : end;
    if (cell.form == Cell::Form::trailed) --first;  // all of it is shown
    last = stop;
    while (last > first && is_blank(last[-1], separator)) --last;
  }
  cell.text = std::string_view(first, static_cast<std::size_t>(last - first));
  cell.last = stop >= end;
  at = cell.last ? end : stop + 1;
  return cell;
}

CellValue value_of(const Cell& cell) noexcept {
  std::string_view text = cell.text;
  if (cell.form == Cell::Form::unclosed || cell.form == Cell::Form::trailed) return {};
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);  // in quotes
  while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
  if (is_missing(text)) return {CellValue::Kind::missing};
  if (text.size() > 1 && text[0] == '+' && text[1] != '-') text.remove_prefix(1);  // from_chars takes no plus
  CellValue value;
  const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), value.number);
  if (stop != text.data() + text.size() || error == std::errc::invalid_argument)
    return {is_number_with_commas(text) ? CellValue::Kind::comma : CellValue::Kind::text};
  if (error == std::errc::result_out_of_range) {
    if (is_too_large(text)) return {CellValue::Kind::too_large};
    value.number = text.front() == '-' ? -0.0 : 0.0;  // the nearest double
  }
  value.kind = std::isfinite(value.number) ? CellValue::Kind::number : CellValue::Kind::not_finite;
  return value;
}

std::string shown_cell(std::string_view text) {
  constexpr std::size_t kMost = 40;
  const bool cut = text.size() > kMost;
  return std::string("'").append(plain_text(std::string(text.substr(0, kMost)))).append(cut ? "...'" : "'");
}

}  // namespace libknng

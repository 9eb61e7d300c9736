#include "io/text_layout.h"

#include <algorithm>
#include <charconv>

#include "core/error.h"
#include "io/text_cell.h"

namespace libknng {
namespace {

// What the layout follows from.
struct LineFacts {
  std::int64_t cells = 0;
  bool first_is_empty = false;
  bool first_is_text = false;
  bool first_is_quoted = false;
  bool others_have_text = false;
  bool has_measures = false;                         // numbers that are no whole ones from 0 on
  bool has_counts = false;                           // whole numbers from 0 on
  bool has_scrawls = false;                          // text that begins like no name, as ? and 4O do
  std::int64_t first_count = -1, second_count = -1;  // cells that are whole numbers
  bool others_count_on = true;                       // from the second cell on each is one more than the one before
};

// -1: it is no whole number.
std::int64_t count_of(std::string_view text) noexcept {
  std::int64_t count = -1;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), count);
  return error == std::errc() && end == text.data() + text.size() && count >= 0 ? count : -1;
}

// With a letter of any alphabet, or as names of a program do.
bool begins_name(std::string_view text) noexcept {
  const auto c = static_cast<unsigned char>(text.front());
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c >= 0x80 || c == '_' || c == '#';
}

LineFacts facts_of(std::string_view line, char separator) noexcept {
  LineFacts facts;
  const char* at = line.data();
  const char* const end = at + line.size();
  for (Cell cell; !cell.last; ++facts.cells) {
    cell = next_cell(at, end, separator);
    const CellValue::Kind kind = value_of(cell).kind;
    const bool text = kind == CellValue::Kind::text;
    const std::int64_t count = count_of(cell.text);
    facts.has_measures = facts.has_measures || (kind == CellValue::Kind::number && count < 0);
    facts.has_counts = facts.has_counts || count >= 0;
    facts.has_scrawls = facts.has_scrawls || (text && cell.form == Cell::Form::plain && !begins_name(cell.text));
    if (facts.cells == 0) {
      facts.first_is_empty = cell.text.empty();
      facts.first_is_text = text;
      facts.first_is_quoted = cell.form == Cell::Form::quoted;
      facts.first_count = count;
    } else {
      if (facts.cells == 1) facts.second_count = count;
      facts.others_have_text = facts.others_have_text || text;
      facts.others_count_on = facts.others_count_on && count >= 0 && count - (facts.cells - 1) == facts.second_count;
    }
  }
  return facts;
}

bool has_outside_quotes(std::string_view line, char wanted) noexcept {
  bool inside = false;
  for (const char c : line) {
    if (c == '"') inside = !inside;
    if (c == wanted && !inside) return true;
  }
  return false;
}

// A comma may be a decimal one where semicolons separate, and a semicolon may stand in a header: one that both lines
// have separates.
char separator_of(std::string_view first, const std::string_view* second, bool tabs) noexcept {
  if (tabs) return '\t';
  for (const char c : {';', '\t'})
    if (has_outside_quotes(first, c) && (!second || has_outside_quotes(*second, c))) return c;
  return ',';
}

[[noreturn]] void fail_ragged(std::string_view first, const LineFacts& a, const LineFacts& b, char separator,
                              const std::string& name) {
  if (first.starts_with('#'))
    fail(
        KNNG_ERR_FORMAT, "path", {.given = a.cells, .limit = b.cells},
        "%s: line 1 begins with '#' and is no header of the %lld cells of line 2: comments are not read, take them out",
        name.c_str(), static_cast<long long>(b.cells));
  fail(KNNG_ERR_FORMAT, "path", {.given = b.cells, .limit = a.cells},
       "%s: line 2 has %lld cells, line 1 has %lld; %s separate them", name.c_str(), static_cast<long long>(b.cells),
       static_cast<long long>(a.cells), separator_name(separator));
}

}  // namespace

std::string TextLayout::column_name(std::int64_t column) const {
  std::int64_t skip = column + (row_names && header_cells == cells ? 1 : 0);
  const char* at = header_line.data();
  const char* const end = at + header_line.size();
  for (Cell cell; !cell.last; --skip) {
    cell = next_cell(at, end, separator);
    if (skip == 0) return std::string(cell.text);
  }
  return "";
}

TextLayout layout_of(std::string_view first, const std::string_view* second, bool tabs, const std::string& name) {
  TextLayout layout;
  layout.separator = separator_of(first, second, tabs);
  const LineFacts a = facts_of(first, layout.separator);
  const LineFacts b = second ? facts_of(*second, layout.separator) : a;
  layout.cells = b.cells;
  layout.header_cells = a.cells;
  // A single cell may be a title, or a comment, over numbers.
  const bool named =
      a.cells > 1 ? a.first_is_text || a.others_have_text : a.first_is_text && (b.first_is_text || b.first_is_quoted);
  const bool one_less = a.cells == b.cells - 1 && named && !first.starts_with('#');
  const bool corner = a.cells == b.cells && a.cells > 1 && a.first_is_empty;
  if (a.cells != b.cells && !one_less) fail_ragged(first, a, b, layout.separator, name);
  if (one_less || corner) {
    layout.header = layout.row_names = true;
  } else {
    layout.row_names = layout.names_by_text = b.cells > 1 && b.first_is_text;
    layout.header = a.others_have_text || (a.first_is_text && !layout.row_names);
    // Numbers of columns, and years.
    const bool names_count = layout.row_names && a.cells > 2;
    const bool all_count = a.cells > 1 && a.first_count == 0 && a.second_count == 1;
    if (a.others_count_on && (names_count || all_count) && !layout.header)
      fail(KNNG_ERR_FORMAT, "path",
           "%s: line 1 may be a row or a header, as each of its numbers is one more than the one before: put a line of "
           "names before it or in its place",
           name.c_str());
    if (layout.header && (a.has_measures || (a.has_counts && a.has_scrawls)))
      fail(KNNG_ERR_FORMAT, "path",
           "%s: line 1 may be a row or a header, as it has text and numbers such as rows have: mend its text or its "
           "numbers",
           name.c_str());
  }
  if (layout.header) layout.header_line = first;
  return layout;
}

std::int64_t count_cells(std::string_view line, char separator) noexcept {
  std::int64_t cells = 0;
  const char* at = line.data();
  for (Cell cell; !cell.last; ++cells) cell = next_cell(at, line.data() + line.size(), separator);
  return cells;
}

const char* separator_name(char separator) noexcept {
  return separator == ',' ? "commas" : separator == ';' ? "semicolons" : "tabs";
}

}  // namespace libknng

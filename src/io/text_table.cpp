#include "io/text_table.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <string>
#include <utility>

#include "core/error.h"
#include "core/monitor.h"
#include "io/file.h"
#include "io/text_cell.h"
#include "io/text_layout.h"

namespace libknng {
namespace {

// In small or large letters, or both.
bool is_truth_value(std::string_view text) {
  if (text.size() != 4 && text.size() != 5) return false;
  std::string small(text);
  for (char& c : small) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  return small == "true" || small == "false";
}

class TextTable final : public RowReader {
 public:
  TextTable(std::unique_ptr<Source> source, bool tabs, Monitor* monitor, std::int64_t block)
      : lines_(std::move(source), block), name_(shown(lines_.source().name())) {
    dtype_ = KNNG_F64;
    find_layout(tabs);
    count_rows(monitor);
    cols_ = layout_.columns();
    lines_.restart();
    std::string_view header;
    if (layout_.header) next_line(header);
  }

  void read(std::int64_t count, std::byte* dst) override {
    const auto row_bytes = cols_ * static_cast<std::int64_t>(sizeof(double));
    for (; count > 0; --count, ++row_, dst += row_bytes) {
      std::string_view line;
      next_line(line);
      read_row(line, dst);
      double first = 0;
      std::memcpy(&first, dst, sizeof first);
      if (row_ == 0) first_ = first;
      counts_ = counts_ && first == first_ + static_cast<double>(row_);
    }
  }
  std::string doubt() const override;
  void finish() override {
    std::string_view line;
    while (lines_.next(line))
      if (!line.empty()) fail_changed();
    lines_.source().finish();
  }
  RowsTaken taken() const override {
    const auto word = [](bool taken) { return taken ? "yes" : "no"; };
    return {.header = word(layout_.header),
            .row_names = word(layout_.row_names),
            .separator = separator_name(layout_.separator)};
  }
  std::int64_t bytes_beside() const override {
    return lines_.buffer_bytes() + static_cast<std::int64_t>(layout_.header_line.size());
  }

 private:
  void find_layout(bool tabs);
  void count_rows(Monitor* monitor);
  void next_line(std::string_view& line);
  void read_row(std::string_view line, std::byte* dst) const;
  const char* read_cell(std::string_view line, const char* at, std::int64_t column, double& value) const;
  void pass_name(std::string_view line, const char*& at) const;

  void require_whole(const Cell& cell, std::int64_t column) const;
  [[noreturn]] void fail_value(std::string_view line, const Cell& cell, CellValue::Kind kind,
                               std::int64_t column) const;
  [[noreturn]] void fail_name(const Cell& cell) const;
  [[noreturn]] void fail_truth_value(const Cell& cell) const;
  [[noreturn]] void fail_ragged(std::string_view line) const;
  [[noreturn]] void fail_changed() const;
  std::string place(std::int64_t column) const;  // for messages
  long long line_number() const noexcept { return static_cast<long long>(lines_.number()); }

  TextLines lines_;
  const std::string name_;  // as shown
  TextLayout layout_;
  std::int64_t row_ = 0;  // that is read next
  double first_ = 0;      // value of the first row and column
  bool counts_ = true;    // whether each value of the first column is one more than the one before
};

void TextTable::find_layout(bool tabs) {
  std::string_view line, next;
  if (!lines_.next(line)) fail(KNNG_ERR_RANGE, "path", {.given = 0, .limit = 1}, "%s is empty: no rows", name_.c_str());
  if (line.empty()) fail(KNNG_ERR_FORMAT, "path", "%s: line 1 is empty", name_.c_str());
  if (line.find('\r') != std::string_view::npos)
    fail(KNNG_ERR_FORMAT, "path", "%s: line 1 has a carriage return; lines end in LF or CRLF", name_.c_str());
  const std::string first(line);
  const bool two = lines_.next(next) && !next.empty();
  layout_ = layout_of(first, two ? &next : nullptr, tabs, name_);
}

// Empty lines behind the last row do not count.
void TextTable::count_rows(Monitor* monitor) {
  lines_.restart();
  if (monitor) monitor->stage("count", lines_.source().plain() ? static_cast<double>(lines_.source().most()) : 0);
  std::int64_t blocks = 0, bytes = 0, last = 0;
  std::string_view line;
  while (lines_.next(line)) {
    if (!line.empty()) last = lines_.number();
    if (!monitor || blocks == lines_.blocks()) continue;
    blocks = lines_.blocks();
    if (lines_.source().plain()) monitor->advance(static_cast<double>(lines_.source().position() - bytes));
    bytes = lines_.source().position();
    monitor->poll();
  }
  rows_ = last - (layout_.header ? 1 : 0);
  if (rows_ < 1) fail(KNNG_ERR_RANGE, "path", {.given = 0, .limit = 1}, "%s has a header and no rows", name_.c_str());
}

void TextTable::next_line(std::string_view& line) {
  if (!lines_.next(line)) fail_changed();
}

void TextTable::read_row(std::string_view line, std::byte* dst) const {
  const char* at = line.data();
  const char* const end = at + line.size();
  if (line.empty()) {
    lines_.source().require_unchanged();
    fail(KNNG_ERR_FORMAT, "path", {.row = row_}, "%s: line %lld is empty", name_.c_str(), line_number());
  }
  if (layout_.row_names) pass_name(line, at);
  for (std::int64_t column = 0; column < cols_; ++column, dst += sizeof(double)) {
    if (!at) fail_ragged(line);
    while (at < end && *at == ' ') ++at;
    double value = 0;
    // Nearly all cells are a number and nothing else.
    const char* const stop = read_number(at, end, value);
    const bool plain =
        stop && (stop == end || *stop == layout_.separator) && std::isfinite(value) && stop - at <= kLongestCell;
    at = plain ? (stop == end ? nullptr : stop + 1) : read_cell(line, at, column, value);
    std::memcpy(dst, &value, sizeof value);
  }
  if (at) fail_ragged(line);
}

// Numbers of rows under a name, as of a frame's index, are a column like others.
std::string TextTable::doubt() const {
  constexpr std::int64_t kFewest = 10;
  constexpr double kLargest = 0x1p53;  // beyond, one more may be the same number
  const bool whole = first_ == std::floor(first_) && std::abs(first_) + static_cast<double>(row_) < kLargest;
  if (!counts_ || !whole || layout_.row_names || cols_ < 2 || row_ < kFewest) return {};
  const auto from = static_cast<long long>(first_);
  return name_ + ": " + (layout_.header ? "column " + shown_cell(layout_.column_name(0)) : "the first column") +
         " counts " + std::to_string(from) + ", " + std::to_string(from + 1) +
         ", ..., and is taken for data; if these are names of rows, " +
         (layout_.header ? "make the first cell of the header empty" : "leave them out");
}

// Any other cell. Returns where the next one begins, nullptr if there is none.
const char* TextTable::read_cell(std::string_view line, const char* at, std::int64_t column, double& value) const {
  const Cell cell = next_cell(at, line.data() + line.size(), layout_.separator);
  require_whole(cell, column);
  const CellValue found = value_of(cell);
  if (found.kind != CellValue::Kind::number) fail_value(line, cell, found.kind, column);
  value = found.number;
  return cell.last ? nullptr : at;
}

void TextTable::pass_name(std::string_view line, const char*& at) const {
  const Cell cell = next_cell(at, line.data() + line.size(), layout_.separator);
  require_whole(cell, -1);
  if (layout_.names_by_text && value_of(cell).kind == CellValue::Kind::number) fail_name(cell);
  if (layout_.names_by_text && is_truth_value(cell.text)) fail_truth_value(cell);
  if (cell.last) at = nullptr;
}

// column: -1 for the row's name.
void TextTable::require_whole(const Cell& cell, std::int64_t column) const {
  const bool too_long = static_cast<std::ptrdiff_t>(cell.text.size()) > kLongestCell;
  if (cell.form != Cell::Form::unclosed && cell.form != Cell::Form::trailed && !too_long) return;
  lines_.source().require_unchanged();
  const Where where{.row = row_, .col = column};
  const std::string at = place(column), text = shown_cell(cell.text);
  if (cell.form == Cell::Form::unclosed)
    fail(KNNG_ERR_FORMAT, "path", where, "%s: %s: a quote has no second one in the line; no cell may go over lines",
         name_.c_str(), at.c_str());
  if (cell.form == Cell::Form::trailed)
    fail(KNNG_ERR_FORMAT, "path", where, "%s: %s: there is text behind a closing quote: %s", name_.c_str(), at.c_str(),
         text.c_str());
  fail(KNNG_ERR_FORMAT, "path",
       {.row = row_, .col = column, .given = static_cast<std::int64_t>(cell.text.size()), .limit = kLongestCell},
       "%s: %s: a cell of %zu bytes, more than %lld: %s", name_.c_str(), at.c_str(), cell.text.size(),
       static_cast<long long>(kLongestCell), text.c_str());
}

void TextTable::fail_value(std::string_view line, const Cell& cell, CellValue::Kind kind, std::int64_t column) const {
  using Kind = CellValue::Kind;
  lines_.source().require_unchanged();
  const Where where{.row = row_, .col = column};
  const std::string at = place(column), text = shown_cell(cell.text);
  if (kind == Kind::text && line.find('\r') != std::string_view::npos)
    fail(KNNG_ERR_FORMAT, "path", where, "%s: %s has a carriage return; lines end in LF or CRLF", name_.c_str(),
         at.c_str());
  if (kind == Kind::missing && count_cells(line, layout_.separator) != layout_.cells) fail_ragged(line);
  if (kind == Kind::missing && cell.text.empty())
    fail(KNNG_ERR_DATA, "path", where, "%s: %s: the cell is empty", name_.c_str(), at.c_str());
  if (kind == Kind::missing || kind == Kind::not_finite)
    fail(KNNG_ERR_DATA, "path", where, "%s: %s: %s is no finite number", name_.c_str(), at.c_str(), text.c_str());
  if (kind == Kind::too_large)
    fail(KNNG_ERR_DATA, "path", where, "%s: %s: %s is beyond float64", name_.c_str(), at.c_str(), text.c_str());
  if (kind == Kind::comma)
    fail(KNNG_ERR_FORMAT, "path", where,
         "%s: %s: %s has a comma: numbers are read with a decimal point, without separators of thousands",
         name_.c_str(), at.c_str(), text.c_str());
  const bool spaced = cell.text.find(' ') != std::string_view::npos;
  fail(KNNG_ERR_FORMAT, "path", where, "%s: %s: %s is no number; %s separate cells%s", name_.c_str(), at.c_str(),
       text.c_str(), separator_name(layout_.separator), spaced ? ", spaces do not" : "");
}

// A column of numbers with one that could not be read in line 2, say "-", looks like names as well.
void TextTable::fail_name(const Cell& cell) const {
  lines_.source().require_unchanged();
  fail(KNNG_ERR_FORMAT, "path", {.row = row_, .col = -1},
       "%s: line %lld begins with the number %s, line 2 with none: the first column may be numbers or names of rows; "
       "mend line 2, or make the first cell of a header empty if they are names",
       name_.c_str(), line_number(), shown_cell(cell.text).c_str());
}

// Elsewhere such a cell is no number; here it would pass for a name.
void TextTable::fail_truth_value(const Cell& cell) const {
  lines_.source().require_unchanged();
  fail(KNNG_ERR_FORMAT, "path", {.row = row_, .col = -1},
       "%s: line %lld begins with %s: truth values are not read, and hardly a name; write 0 and 1, or make the first "
       "cell of a header empty if they are names of rows",
       name_.c_str(), line_number(), shown_cell(cell.text).c_str());
}

void TextTable::fail_ragged(std::string_view line) const {
  lines_.source().require_unchanged();
  const std::int64_t cells = count_cells(line, layout_.separator);
  fail(KNNG_ERR_FORMAT, "path", {.row = row_, .given = cells, .limit = layout_.cells},
       "%s: line %lld has %lld cell%s, the first row has %lld; %s separate them", name_.c_str(), line_number(),
       static_cast<long long>(cells), cells == 1 ? "" : "s", static_cast<long long>(layout_.cells),
       separator_name(layout_.separator));
}

void TextTable::fail_changed() const {
  lines_.source().require_unchanged();
  fail(KNNG_ERR_IO, "path", "%s changed while it was read", name_.c_str());
}

std::string TextTable::place(std::int64_t column) const {
  std::string text = "line " + std::to_string(lines_.number());
  if (column < 0) return text + ", name of the row";
  const std::string name = layout_.column_name(column);
  return name.empty() ? text : text + ", column " + shown_cell(name);
}

}  // namespace

std::unique_ptr<RowReader> open_csv(std::unique_ptr<Source> source, Monitor* monitor, std::int64_t block) {
  return std::make_unique<TextTable>(std::move(source), false, monitor, block);
}

std::unique_ptr<RowReader> open_tsv(std::unique_ptr<Source> source, Monitor* monitor, std::int64_t block) {
  return std::make_unique<TextTable>(std::move(source), true, monitor, block);
}

}  // namespace libknng

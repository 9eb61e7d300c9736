// How a text table is laid out, told by its first two lines: what separates its cells, whether the first line is a
// header, and whether the first column has names of rows (docs/guide/files.md has the rule). Knows nothing of files but
// their names for messages.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace libknng {

struct TextLayout {
  char separator = ',';
  bool header = false;
  bool row_names = false;
  bool names_by_text = false;  // the header does not tell of names: a cell of the second line, which is no number, does
  std::int64_t cells = 0;      // of each line of rows, names included
  std::string header_line;
  std::int64_t header_cells = 0;

  std::int64_t columns() const noexcept { return cells - (row_names ? 1 : 0); }
  // What the header calls a column, for messages; "" where it tells nothing.
  std::string column_name(std::int64_t column) const;
};

// first: the first line; second: of the second one, nullptr where there is none. tabs: the name of the file says that
// tabs separate, else commas, semicolons or tabs do. name: of the file, as shown. Throws KNNG_ERR_FORMAT if they do not
// belong together, or if nobody can tell whether the first line is a header.
TextLayout layout_of(std::string_view first, const std::string_view* second, bool tabs, const std::string& name);

// Cells of a line.
std::int64_t count_cells(std::string_view line, char separator) noexcept;
// "commas"
const char* separator_name(char separator) noexcept;

}  // namespace libknng

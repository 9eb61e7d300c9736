// Text tables: which number a cell is, how two lines tell the layout, every refusal and where it points, and that no
// border of a block shows.
#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <bit>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <string>
#include <system_error>
#include <vector>

#include "core/float_env.h"
#include "core/monitor.h"
#include "io/gz.h"
#include "io/reader.h"
#include "io/text_cell.h"
#include "io/text_layout.h"
#include "io/text_table.h"
#include "scratch.h"

#include "harness/cmocka.h"

using namespace libknng;
using scratch::Outcome;
using scratch::outcome;

namespace {

struct Table {
  std::int64_t rows = 0, cols = 0;
  std::vector<double> values;
};

Table all_of(RowReader& reader, std::int64_t step) {
  Table table{reader.rows(), reader.cols(), {}};
  assert_int_equal(reader.dtype(), KNNG_F64);
  table.values.resize(static_cast<std::size_t>(table.rows * table.cols));
  for (std::int64_t row = 0; row < table.rows; row += step) {
    const std::int64_t count = std::min(step, table.rows - row);
    reader.read(count, reinterpret_cast<std::byte*>(table.values.data() + row * table.cols));
  }
  reader.finish();
  return table;
}

Table read_table(const std::string& path, std::int64_t step = 1) { return all_of(*open_reader(path), step); }

bool same(const Table& a, const Table& b) {
  if (a.rows != b.rows || a.cols != b.cols) return false;
  for (std::size_t i = 0; i < a.values.size(); ++i)
    if (std::bit_cast<std::uint64_t>(a.values[i]) != std::bit_cast<std::uint64_t>(b.values[i])) return false;
  return true;
}

CellValue value_in(const std::string& text, char separator = '|') {
  const char* at = text.data();
  const Cell cell = next_cell(at, text.data() + text.size(), separator);
  assert_true(cell.last && at == text.data() + text.size());
  return value_of(cell);
}

void numbers(void**) {
  struct Case {
    const char* text;
    double value;
  };
  const Case cases[] = {
      {"0", 0},
      {"-0", -0.0},
      {"7", 7},
      {"+7", 7},
      {"-12.5", -12.5},
      {".5", .5},
      {"+.5", .5},
      {"1.", 1},
      {"0007", 7},
      {"1e5", 1e5},
      {"1E+05", 1e5},
      {"-1.5e-3", -1.5e-3},
      {"0.1", 0.1},
      {"  3 ", 3},
      {"\t3\t", 3},
      {"\"3.5\"", 3.5},
      {"\" -3.5 \"", -3.5},
      {" \"4\" ", 4},
      {"9007199254740993", 9007199254740992.0},
      {"123456789012345678901234567890", 123456789012345678901234567890.0},
      {"2.2250738585072011e-308", 2.2250738585072011e-308},
      {"4.9e-324", std::numeric_limits<double>::denorm_min()},
      {"1e-330", 0},
      {"-1e-330", -0.0},
      {"0.000001e-320", 0},
      {"1e-99999999999999999999", 0},
      {"0e99999999999999999999", 0},
      {"1.7976931348623157e308", std::numeric_limits<double>::max()},
      {"17976931348623157e292", std::numeric_limits<double>::max()},
  };
  for (const Case& c : cases) {
    const CellValue found = value_in(c.text);
    if (found.kind != CellValue::Kind::number ||
        std::bit_cast<std::uint64_t>(found.number) != std::bit_cast<std::uint64_t>(c.value))
      fail_msg("'%s': kind %d, %a", c.text, static_cast<int>(found.kind), found.number);
  }
}

// What is read without from_chars: the same bits, and no digit more or less.
void short_numbers(void**) {
  std::mt19937_64 random(1);
  for (int i = 0; i < 2000000; ++i) {
    char text[64] = "";
    std::size_t size = 0;
    if (random() % 3 == 0) text[size++] = '-';
    const std::uint64_t before = random() % 10 > 7 ? random() % 20 : random() % 4;
    for (std::uint64_t d = 0; d < before; ++d) text[size++] = static_cast<char>('0' + random() % 10);
    if (random() % 4 != 0) text[size++] = '.';
    const std::uint64_t behind = random() % 18;
    for (std::uint64_t d = 0; d < behind; ++d) text[size++] = static_cast<char>('0' + random() % 10);
    size += static_cast<std::size_t>(
        std::snprintf(text + size, sizeof text - size, "%s",
                      (const char*[]){"", ",1", "e5", "e-3,", "E", "E4,", "-1", ".5"}[random() % 8]));
    double expected = 7, found = 7;
    const auto [stop, error] = std::from_chars(text, text + size, expected);
    const char* const end = read_number(text, text + size, found);
    if (end != (error == std::errc() ? stop : nullptr) ||
        std::bit_cast<std::uint64_t>(found) != std::bit_cast<std::uint64_t>(expected))
      fail_msg("'%s': %a", text, found);
  }
}

void cells_that_are_no_numbers(void**) {
  using Kind = CellValue::Kind;
  struct Case {
    const char* text;
    Kind kind;
  };
  const Case cases[] = {
      {"", Kind::missing},
      {"  ", Kind::missing},
      {"\"\"", Kind::missing},
      {"\" \"", Kind::missing},
      {"NA", Kind::missing},
      {"na", Kind::missing},
      {"N/A", Kind::missing},
      {"NULL", Kind::missing},
      {"None", Kind::missing},
      {"<NA>", Kind::missing},
      {"#N/A", Kind::missing},
      {"nan", Kind::not_finite},
      {"-NaN", Kind::not_finite},
      {"inf", Kind::not_finite},
      {"-Inf", Kind::not_finite},
      {"+inf", Kind::not_finite},
      {"Infinity", Kind::not_finite},
      {"1e999", Kind::too_large},
      {"-1e309", Kind::too_large},
      {"1e99999999999999999999", Kind::too_large},
      {"0.0000001e330", Kind::too_large},
      {"1,5", Kind::comma},
      {"-1,5e3", Kind::comma},
      {"1.234,5", Kind::comma},
      {"1,234.5", Kind::comma},
      {",5", Kind::comma},
      {"x", Kind::text},
      {"1x", Kind::text},
      {"1 2", Kind::text},
      {"0x10", Kind::text},
      {"1e", Kind::text},
      {"--1", Kind::text},
      {"+-1", Kind::text},
      {"++1", Kind::text},
      {"+", Kind::text},
      {"-", Kind::text},
      {".", Kind::text},
      {",", Kind::text},
      {"e5", Kind::text},
      {"1_000", Kind::text},
      {"\"1", Kind::text},
      {"\"1\"2", Kind::text},
      {"1\"", Kind::text},
      {"TRUE", Kind::text},
      {"\xc3\xa4", Kind::text},
  };
  for (const Case& c : cases) {
    const CellValue found = value_in(c.text);
    if (found.kind != c.kind)
      fail_msg("'%s': kind %d, not %d", c.text, static_cast<int>(found.kind), static_cast<int>(c.kind));
  }
  // Digits before a number's first one that counts, and as many behind the point.
  const std::string zeros(400, '0');
  const auto is = [](const std::string& text, double value) {
    const CellValue found = value_in(text);
    return found.kind == Kind::number && found.number == value;
  };
  assert_true(is("0." + zeros + "1e401", 1));
  assert_true(is("0." + zeros + "1e10", 0));
  assert_true(is("1" + zeros + "e-400", 1));
  assert_true(is("1" + zeros + "e-800", 0));
  assert_true(value_in("1" + zeros).kind == Kind::too_large);
  assert_true(value_in("1" + zeros + "e-10").kind == Kind::too_large);
}

void cells_of_a_line(void**) {
  struct Case {
    const char* line;
    std::vector<std::string> cells;
  };
  const Case cases[] = {
      {"", {""}},
      {"a", {"a"}},
      {"a,b", {"a", "b"}},
      {"a,b,", {"a", "b", ""}},
      {",", {"", ""}},
      {" a , b c ", {"a", "b c"}},
      {"\"a,b\",c", {"a,b", "c"}},
      {"\"a\"\"b\" ,c", {"a\"\"b", "c"}},
      {"a\"b,c\"", {"a\"b", "c\""}},
      {"\"\",\"\"", {"", ""}},
      {"\"a\"x,b", {"\"a\"x", "b"}},
      {"b,\"a,c", {"b", "a,c"}},
  };
  for (const Case& c : cases) {
    const std::string line = c.line;
    const char* at = line.data();
    std::vector<std::string> found;
    for (Cell cell; !cell.last;) {
      cell = next_cell(at, line.data() + line.size(), ',');
      found.emplace_back(cell.text);
    }
    if (found != c.cells) fail_msg("%s: %zu cells", c.line, found.size());
    assert_int_equal(count_cells(line, ','), c.cells.size());
  }
}

// What is read of whole files: .csv, or .tsv where tabs are.
void layouts(void**) {
  struct Case {
    const char* file;
    std::int64_t rows, cols;
    std::vector<double> values;
  };
  const Case cases[] = {
      {"1,2\n3,4\n", 2, 2, {1, 2, 3, 4}},
      {"1,2\n3,4", 2, 2, {1, 2, 3, 4}},
      {"1,2\r\n3,4\r\n", 2, 2, {1, 2, 3, 4}},
      {"1,2\n3,4\n\n\r\n\n", 2, 2, {1, 2, 3, 4}},
      {"\xef\xbb\xbf"
       "1,2\n3,4\n",
       2,
       2,
       {1, 2, 3, 4}},
      {"\xef\xbb\xbf"
       "a,b\n3,4\n",
       1,
       2,
       {3, 4}},
      {"5\n6\n7\n", 3, 1, {5, 6, 7}},
      {"x\n6\n7\n", 2, 1, {6, 7}},
      {"5", 1, 1, {5}},
      {" 1 , 2\n3 ,4 \n", 2, 2, {1, 2, 3, 4}},
      {"\"1\",\"2\"\n3,\"4\"\n", 2, 2, {1, 2, 3, 4}},
      {"1;2\n3;4\n", 2, 2, {1, 2, 3, 4}},
      {"1\t2\n3\t4\n", 2, 2, {1, 2, 3, 4}},
      {"a,x;b;y\n1,2\n", 1, 2, {1, 2}},      // the second line has no semicolon
      {"a, mg;b, ml\n1;2\n", 1, 2, {1, 2}},  // it has no comma
      {"\"a;b\",c\n\"1;\",2\n3;,4\n", 2, 1, {2, 4}},
      {"a,b\n1,2\n3,4\n", 2, 2, {1, 2, 3, 4}},
      {"id,2\n1,2\n3,4\n", 2, 2, {1, 2, 3, 4}},                             // one name makes a header
      {",.5,b\n1,1,2\n", 1, 2, {1, 2}},                                     // an empty cell makes it anyway
      {"g1,1,3\ng2,3,4\n", 2, 2, {1, 3, 3, 4}},                             // names, no header
      {"gene,a,b\ng1,1,2\ng2,3,4\n", 2, 2, {1, 2, 3, 4}},                   // both
      {"\"\",\"a\",\"b\"\n\"g1\",1,2\n\"g,2\",3,4\n", 2, 2, {1, 2, 3, 4}},  // R: write.csv
      {",0,1\n0,1,2\n1,3,4\n", 2, 2, {1, 2, 3, 4}},                         // pandas: to_csv
      {",a\n0,1\n1,3\n", 2, 1, {1, 3}},
      {"a,b\ng1,1,2\ng2,3,4\n", 2, 2, {1, 2, 3, 4}},  // R: write.table
      {"\"a\",\"b\"\n\"1\",1,2\n\"2\",3,4\n", 2, 2, {1, 2, 3, 4}},
      {"a,b\n1,1,2\n2,3,4\n", 2, 2, {1, 2, 3, 4}},
      {"\"a\"\n\"1\",1\n\"2\",3\n", 2, 1, {1, 3}},
      {"a\ng1,1\ng2,3\n", 2, 1, {1, 3}},
      {"# a,b\n1,2\n", 1, 2, {1, 2}},                         // numpy: savetxt(header=...)
      {"gene,a\n,1\nNA,2\n7,3\n", 3, 2, {}},                  // refused: no names in line 2
      {"gene,a\ng,1\nNA,2\n7g,3\n,4\n", 4, 1, {1, 2, 3, 4}},  // names from line 3 on may be anything but numbers,
      {",a\ng,1\nNA,2\n7,3\n,4\n", 4, 1, {1, 2, 3, 4}},       // and numbers where the header tells of names
      {"g1,1,3", 1, 2, {1, 3}},
      {"1,2,3\n1,2,3\n", 2, 3, {1, 2, 3, 1, 2, 3}},  // only 0, 1, 2, ... may be a header
      {"0,1\n0,0\n", 1, 2, {}},                      // which is refused
      {"7,1\n1,2\n", 2, 2, {7, 1, 1, 2}},
      {"0\n1\n", 2, 1, {0, 1}},
      {"x,y\n0,1\n0,0\n", 2, 2, {0, 1, 0, 0}},
      {"a,0\nb,1\n", 2, 1, {0, 1}},
      {"+1,-2e1\n.5,1.\n", 2, 2, {1, -20, .5, 1}},
  };
  const scratch::Directory dir;
  for (const Case& c : cases) {
    const std::string file = c.file;
    for (const char* name : {"x.csv", "x.tsv", "x.TAB", "x.csv.gz"}) {
      std::string text = file;
      if (std::string(name) != "x.csv" && std::string(name) != "x.csv.gz") {
        if (file.find_first_of(";\t\"") != std::string::npos) continue;
        std::replace(text.begin(), text.end(), ',', '\t');
      }
      scratch::write(dir / name, std::string(name).ends_with("gz") ? scratch::gzip(text) : text);
      for (const std::int64_t step : {std::int64_t{1}, std::int64_t{100}}) {
        Table found;
        const Outcome o = outcome([&] { found = read_table(dir / name, step); });
        if (c.values.empty() ? o.code == KNNG_OK : o.code != KNNG_OK || !same(found, {c.rows, c.cols, c.values}))
          fail_msg("%s of %s: %s, %d x %d", name, c.file, o.message.c_str(), static_cast<int>(found.rows),
                   static_cast<int>(found.cols));
      }
    }
  }
}

struct Refusal {
  const char* name;
  std::string file;
  std::int32_t code;
  std::int64_t row, col;
  std::vector<const char*> says;
};

void expect_refusal(const Refusal& r) {
  const scratch::Directory dir;
  scratch::write(dir / r.name, std::string(r.name).ends_with(".gz") ? scratch::gzip(r.file) : r.file);
  const Outcome o = outcome([&] { read_table(dir / r.name); });
  bool right = o.code == r.code && o.row == r.row && o.col == r.col && o.says(r.name);
  for (const char* part : r.says) right = right && o.says(part);
  if (!right)
    fail_msg("%s: code %d, row %d, column %d: %s", r.file.substr(0, 60).c_str(), o.code, static_cast<int>(o.row),
             static_cast<int>(o.col), o.message.c_str());
}

void refused_values(void**) {
  const Refusal cases[] = {
      {"x.csv", "1,2\n3,nan\n", KNNG_ERR_DATA, 1, 1, {"line 2: 'nan' is no finite number (row 1, column 1)"}},
      {"x.csv", "a,b\n1,2\n-inf,4\n", KNNG_ERR_DATA, 1, 0, {"line 3, column 'a': '-inf' is no finite"}},
      {"x.csv", "a,b\n1,NA\n", KNNG_ERR_DATA, 0, 1, {"line 2, column 'b': 'NA'"}},
      {"x.csv", "NA,2\n3,4\n", KNNG_ERR_DATA, 0, 0, {"line 1: 'NA'"}},
      {"x.csv", "1,2\n3,\n", KNNG_ERR_DATA, 1, 1, {"line 2: the cell is empty"}},
      {"x.csv", "1,2\n,4\n", KNNG_ERR_DATA, 1, 0, {"the cell is empty"}},
      {"x.csv", "1,2\n\"\",4\n", KNNG_ERR_DATA, 1, 0, {"the cell is empty"}},
      {"x.csv", "g,a,b\ng1,1,2\ng2,,4\n", KNNG_ERR_DATA, 1, 0, {"line 3, column 'a': the cell is empty"}},
      {"x.csv", "a,b\ng1,1,2\ng2,3,NaN\n", KNNG_ERR_DATA, 1, 1, {"line 3, column 'b': 'NaN'"}},
      {"x.csv", "1,1e999\n", KNNG_ERR_DATA, 0, 1, {"'1e999' is beyond float64"}},
      {"x.csv", "1,?\n3,4\n", KNNG_ERR_FORMAT, -1, -1, {"line 1 may be a row or a header"}},
      {"x.csv", "12,4O\n3,4\n", KNNG_ERR_FORMAT, -1, -1, {"line 1 may be a row or a header"}},
      {"x.csv", "-,2,3\n3,4,5\n", KNNG_ERR_FORMAT, -1, -1, {"line 1 may be a row or a header"}},
      {"x.csv", "1,x\n2,3\n4,y\n", KNNG_ERR_FORMAT, 1, 1, {"line 3, column 'x': 'y' is no number", "commas"}},
      {"x.tsv", "1\t2\n3\t4,5\n", KNNG_ERR_FORMAT, 1, 1, {"'4,5' has a comma", "decimal point"}},
      {"x.csv", "1,5;2,5\n3,5;4,5\n", KNNG_ERR_FORMAT, 0, 0, {"'1,5' has a comma"}},
      {"x.csv", "a;b\n3,5;4,5\n", KNNG_ERR_FORMAT, 0, 0, {"column 'a': '3,5' has a comma"}},
      {"x.csv", "\"1,234.5\",2\n", KNNG_ERR_FORMAT, 0, 0, {"has a comma", "thousands"}},
      {"x.csv", "1 2\n3 4\n", KNNG_ERR_FORMAT, 0, 0, {"'3 4' is no number; commas separate cells, spaces do not"}},
      {"x.tsv", "1\t2\n3\t4;\n", KNNG_ERR_FORMAT, 1, 1, {"tabs separate cells"}},
      {"x.csv", "1\n2\nx\x1b[31m\xff\n", KNNG_ERR_FORMAT, 2, 0, {"'x?[31m?' is no number"}},
      {"x.csv", "1\n2\n" + std::string(5000, 'x') + "\n", KNNG_ERR_FORMAT, 2, 0, {"xxxxxxxx...' is no number"}},
      {"x.csv", std::string(5000, 'x') + "\n2\ny\n", KNNG_ERR_FORMAT, 1, 0, {"column 'xxxx", "xxx...': 'y'"}},
      {"x.csv", "a,b\n1,# two\n", KNNG_ERR_FORMAT, 0, 1, {"'# two' is no number"}},
      {"x.csv.gz", "1,2\n3,x\n", KNNG_ERR_FORMAT, 1, 1, {"'x' is no number"}},
  };
  for (const Refusal& r : cases) expect_refusal(r);
}

void refused_forms(void**) {
  const std::string long_name(static_cast<std::size_t>(kLongestCell) + 1, 'n'), longest = long_name.substr(1);
  const std::string zeros(static_cast<std::size_t>(kLongestCell), '0');
  const Refusal cases[] = {
      {"x.csv", "", KNNG_ERR_RANGE, -1, -1, {"is empty"}},
      {"x.csv", "\xef\xbb\xbf", KNNG_ERR_RANGE, -1, -1, {"is empty"}},
      {"x.csv", "\n", KNNG_ERR_FORMAT, -1, -1, {"line 1 is empty"}},
      {"x.csv", "\n1,2\n", KNNG_ERR_FORMAT, -1, -1, {"line 1 is empty"}},
      {"x.csv", "a,b\n", KNNG_ERR_RANGE, -1, -1, {"a header and no rows"}},
      {"x.csv", "a,b\n\n\n", KNNG_ERR_RANGE, -1, -1, {"a header and no rows"}},
      {"x.csv", "1,2\n\n3,4\n", KNNG_ERR_FORMAT, 1, -1, {"line 2 is empty"}},
      {"x.csv", "a,b\n\n3,4\n", KNNG_ERR_FORMAT, 0, -1, {"line 2 is empty"}},
      {"x.csv", "1,2\n3,4,5\n", KNNG_ERR_FORMAT, -1, -1, {"line 2 has 3 cells, line 1 has 2", "commas"}},
      {"x.csv", "a,b,c\n3,4\n", KNNG_ERR_FORMAT, -1, -1, {"line 2 has 2 cells, line 1 has 3"}},
      {"x.csv", "# made today\n1,2\n3,4\n", KNNG_ERR_FORMAT, -1, -1, {"begins with '#'", "comments are not read"}},
      {"x.csv", "# a,b\n1,2,3\n", KNNG_ERR_FORMAT, -1, -1, {"begins with '#'"}},
      {"x.csv", "1,2\n3,+4,\n5,6\n", KNNG_ERR_FORMAT, -1, -1, {"line 2 has 3 cells"}},
      {"x.csv", "1,2\n3,4\n5,+6,\n", KNNG_ERR_FORMAT, 2, -1, {"line 3 has 3 cells"}},
      {"x.csv", "a title\n1,2\n3,4\n", KNNG_ERR_FORMAT, -1, -1, {"line 2 has 2 cells, line 1 has 1"}},
      {"x.csv", "1,2\n3,4\n5,6,7\n", KNNG_ERR_FORMAT, 2, -1, {"line 3 has 3 cells, the first row has 2"}},
      {"x.csv", "1,2\n3,4\n5\n", KNNG_ERR_FORMAT, 2, -1, {"line 3 has 1 cell, the first row has 2"}},
      {"x.csv", "1,2\n3,4\n5,6,\n", KNNG_ERR_FORMAT, 2, -1, {"line 3 has 3 cells, the first row has 2"}},
      {"x.csv", "1,2,3\n3,4,5\n5,\n", KNNG_ERR_FORMAT, 2, -1, {"line 3 has 2 cells, the first row has 3"}},
      {"x.csv", "g,a\ng1,1\ng2\n", KNNG_ERR_FORMAT, 1, -1, {"line 3 has 1 cell, the first row has 2"}},
      {"x.csv", "a,b\n-,1\n4.9,2\n", KNNG_ERR_FORMAT, 1, -1, {"line 3 begins with the number '4.9'", "first cell"}},
      {"x.csv", "5.1,1\n-,2\n4.9,2\n", KNNG_ERR_FORMAT, 0, -1, {"line 1 begins with the number '5.1', line 2"}},
      {"x.csv", "a,b\nTrue,1\nFalse,2\n", KNNG_ERR_FORMAT, 0, -1, {"line 2 begins with 'True'", "0 and 1"}},
      {"x.csv", "a,b\ng,1\nFALSE,2\n", KNNG_ERR_FORMAT, 1, -1, {"line 3 begins with 'FALSE'"}},
      {"x.csv", "gene,a\ng,1\nNA,2\n\"7\",3\n", KNNG_ERR_FORMAT, 2, -1, {"line 4 begins with the number '7'"}},
      {"x.csv", "0,1,2\n1,2,3\n", KNNG_ERR_FORMAT, -1, -1, {"line 1 may be a row or a header"}},
      {"x.csv", "-,1.5,2\n3,4,5\n", KNNG_ERR_FORMAT, -1, -1, {"line 1 may be a row or a header", "text and numbers"}},
      {"x.csv", "1,-2,<3\n3,4,5\n", KNNG_ERR_FORMAT, -1, -1, {"line 1 may be a row or a header", "text and numbers"}},
      {"x.csv", "g,0,1,2\nh,1,2,3\n", KNNG_ERR_FORMAT, -1, -1, {"line 1 may be a row or a header"}},
      {"x.csv", "country,1999,2000\nA,1.5,2\n", KNNG_ERR_FORMAT, -1, -1, {"line 1 may be a row or a header"}},
      {"x.csv", "1,2\n3,\"4\n5\"\n", KNNG_ERR_FORMAT, 1, 1, {"line 2: a quote has no second one", "over lines"}},
      {"x.csv", "g,a\n\"g1\",1\n\"g\n2\",1\n", KNNG_ERR_FORMAT, 1, -1, {"line 3, name of the row: a quote"}},
      {"x.csv", "1,2\n3,\"4\"x\n", KNNG_ERR_FORMAT, 1, 1, {"text behind a closing quote: '\"4\"x'"}},
      {"x.csv", "a,b\r1,2\r", KNNG_ERR_FORMAT, -1, -1, {"line 1 has a carriage return"}},
      {"x.csv", "a,b\n1,2\n1,2\r3,4\n", KNNG_ERR_FORMAT, 1, 1, {"line 3, column 'b' has a carriage return"}},
      {"x.csv", std::string("1,2\n3,4\n5,6\0\n", 13), KNNG_ERR_FORMAT, -1, -1, {"no text: line 3 has a NUL byte"}},
      {"x.csv",
       std::string("\xff\xfe"
                   "1\0,\0",
                   6),
       KNNG_ERR_FORMAT,
       -1,
       -1,
       {"UTF-16", "UTF-8"}},
      {"x.csv",
       "g,a\n" + longest + ",1\n" + long_name + ",2\n",
       KNNG_ERR_FORMAT,
       1,
       -1,
       {"line 3, name of the row: a cell of 65537 bytes, more than 65536: 'nnn"}},
      {"x.csv",
       zeros.substr(1) + "1\n" + zeros + "1\n",
       KNNG_ERR_FORMAT,
       1,
       0,
       {"line 2: a cell of 65537 bytes, more than 65536"}},
  };
  for (const Refusal& r : cases) expect_refusal(r);
}

void longest_line(void**) {
  const scratch::Directory dir;
  for (const bool ends : {true, false})
    for (const std::int64_t more : {0, 1}) {
      scratch::write(dir / "x.csv",
                     "a\n" + std::string(static_cast<std::size_t>(kLongestLine + more), 'x') + (ends ? "\r\n" : ""));
      TextLines lines(open_plain(dir / "x.csv"), 16);
      std::string_view line;
      assert_true(lines.next(line));
      const Outcome o = outcome([&] { assert_true(lines.next(line)); });
      assert_int_equal(o.code, more ? KNNG_ERR_FORMAT : KNNG_OK);
      assert_true(more ? o.says("line 2 has more than 67108864 bytes") : std::ssize(line) == kLongestLine);
      assert_true(lines.buffer_bytes() < kLongestLine + 8);
    }
}

// Every cell, quote, line end and mark lies across the border of blocks once.
void blocks_of_every_size(void**) {
  const scratch::Directory dir;
  const std::string files[] = {
      "\xef\xbb\xbf\"\",\"a \"\"b\"\", c\",d\r\n\"r,1\",1.25,-2e-3\r\nrow2, +3 ,\"4\"\r\n\"\",5,6\r\n\r\n\n",
      "1,2\n3,4",
      "\xef\xbb\xbf"
      "1,2\r\n3,4\r",
      "g1,10000000,2\nanother gene,3,4\n",
  };
  const Table expected[] = {
      {3, 2, {1.25, -2e-3, 3, 4, 5, 6}}, {2, 2, {1, 2, 3, 4}}, {2, 2, {1, 2, 3, 4}}, {2, 2, {10000000, 2, 3, 4}}};
  for (std::size_t f = 0; f < std::size(files); ++f)
    for (std::int64_t block = 1; block <= std::ssize(files[f]) + 2; ++block)
      for (const bool packed : {false, true}) {
        const std::string path = dir / (packed ? "x.csv.gz" : "x.csv");
        scratch::write(path, packed ? scratch::gzip(files[f]) : files[f]);
        const auto reader = open_csv(packed ? open_gz(path) : open_plain(path), nullptr, block);
        if (!same(all_of(*reader, 2), expected[f])) fail_msg("file %zu in blocks of %d", f, static_cast<int>(block));
      }
}

// More than one block of the usual size; rows are not where blocks are.
void many_blocks(void**) {
  const scratch::Directory dir;
  std::string text = "name\tx\ty\n";
  std::vector<double> values;
  for (int i = 0; i < 40000; ++i) {
    values.push_back(i / 7.0);
    values.push_back(-i);
    char line[100];
    std::snprintf(line, sizeof line, "row %d\t%.17g\t%d\n", i, i / 7.0, -i);
    text += line;
  }
  assert_true(std::ssize(text) > 4 * kTextBlock);
  scratch::write(dir / "x.tsv", text);
  assert_true(same(read_table(dir / "x.tsv", 999), {40000, 2, values}));
}

void memory_beside_rows(void**) {
  const scratch::Directory dir;
  scratch::write(dir / "x.csv", "a,b\n1,2\n");
  const auto small = open_reader(dir / "x.csv");
  assert_int_equal(small->bytes_beside(), 8 + 3);
  assert_true(small->stay() == nullptr);  // text is not how rows lie in memory
  scratch::write(dir / "x.csv", "a\n" + std::string(1000000, ' ') + "1\n");
  const std::int64_t beside = open_reader(dir / "x.csv")->bytes_beside();
  assert_true(beside > 1000000 && beside < 3 * 1000000);
}

void changed_meanwhile(void**) {
  const scratch::Directory dir;
  const std::string path = dir / "x.csv";
  std::vector<double> values(4);
  auto* const out = reinterpret_cast<std::byte*>(values.data());
  // With other rows after it was opened, and read in blocks so small that they are met.
  for (const char* other :
       {"1,2\n", "1,2\n3,4\n5,6\n", "1,2\n3,x\n", "1,2\n3,\n", "1,2\n3\n", "1,2\n3,4,5\n", "1,2\n\n"}) {
    scratch::write(path, "1,2\n3,4\n");
    const auto reader = open_csv(open_plain(path), nullptr, 4);
    scratch::write(path, other);
    const timespec times[2] = {{1, 0}, {1, 0}};
    assert_int_equal(::utimensat(AT_FDCWD, path.c_str(), times, 0), 0);
    const Outcome o = outcome([&] {
      reader->read(2, out);
      reader->finish();
    });
    assert_int_equal(o.code, KNNG_ERR_IO);
    assert_true(o.says("changed since it was opened"));
  }
}

void stopped_while_counting(void**) {
  const scratch::Directory dir;
  scratch::write(dir / "x.csv", "1,2\n3,4\n");
  const volatile std::int32_t stop = 1;
  knng_control control{};
  control.struct_size = sizeof control;
  control.stop = &stop;
  const FloatEnv env;
  Monitor monitor(control, env);
  assert_int_equal(outcome([&] { open_reader(dir / "x.csv", Young::read, &monitor); }).code, KNNG_ERR_CANCELLED);
}

void damaged_gz(void**) {
  const scratch::Directory dir;
  const std::string whole = scratch::gzip("a,b\n1,2\n3,4\n");
  for (std::size_t size = 0; size < whole.size(); ++size) {
    scratch::write(dir / "x.csv.gz", whole.substr(0, size));
    assert_int_equal(outcome([&] { read_table(dir / "x.csv.gz"); }).code, KNNG_ERR_FORMAT);
  }
  std::string other = whole;
  other[whole.size() - 12] = '5';  // of the text: the checksum is another's
  scratch::write(dir / "x.csv.gz", other);
  assert_true(outcome([&] { open_reader(dir / "x.csv.gz"); }).says("damaged"));
}

// A first column that counts rows may be their names.
void columns_that_count(void**) {
  const scratch::Directory dir;
  const std::string path = dir / "x.csv";
  const auto doubt = [&](const std::string& header, int rows, auto&& first) {
    std::string text = header;
    for (int i = 0; i < rows; ++i) text += first(i) + ",0.5\n";
    scratch::write(path, text);
    const auto reader = open_reader(path);
    all_of(*reader, 3);
    return reader->doubt();
  };
  const auto from = [](int begin) { return [begin](int i) { return std::to_string(begin + i); }; };
  const auto has = [](const std::string& text, const char* words) { return text.find(words) != std::string::npos; };
  const std::string named = doubt("gene\x1b[31mid,x\n", 10, from(1000)), plain = doubt("", 12, from(-3));
  assert_true(has(named, "column 'gene?[31mid' counts 1000, 1001, ...") && has(named, "the header empty"));
  assert_true(has(plain, "the first column counts -3, -2, ...") && has(plain, "leave them out"));
  assert_string_equal(doubt("id,x\n", 9, from(0)).c_str(), "");
  assert_string_equal(doubt(",x\n", 20, from(0)).c_str(), "");
  assert_string_equal(doubt("id,x\n", 20, [](int i) { return std::to_string(i + (i == 19)); }).c_str(), "");
  assert_string_equal(doubt("id,x\n", 20, [](int i) { return std::to_string(i) + ".25"; }).c_str(), "");
  // One more is the same number.
  for (const char* large : {"1e300", "-1e300", "9007199254740992"})
    assert_string_equal(doubt("id,x\n", 20, [&](int) { return std::string(large); }).c_str(), "");
}

}  // namespace

int main() {
  const CMUnitTest tests[] = {
      cmocka_unit_test(numbers),
      cmocka_unit_test(short_numbers),
      cmocka_unit_test(cells_that_are_no_numbers),
      cmocka_unit_test(cells_of_a_line),
      cmocka_unit_test(layouts),
      cmocka_unit_test(refused_values),
      cmocka_unit_test(refused_forms),
      cmocka_unit_test(longest_line),
      cmocka_unit_test(blocks_of_every_size),
      cmocka_unit_test(many_blocks),
      cmocka_unit_test(memory_beside_rows),
      cmocka_unit_test(changed_meanwhile),
      cmocka_unit_test(stopped_while_counting),
      cmocka_unit_test(damaged_gz),
      cmocka_unit_test(columns_that_count),
  };
  return cmocka_run_group_tests(tests, nullptr, nullptr);
}

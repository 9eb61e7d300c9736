// Readers of row files, on files made byte by byte: every type and order of .npy, IDX, .gz, the vecs and bin formats;
// files cut at every byte; hostile headers; names.
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "core/dtype.h"
#include "io/npy.h"
#include "io/reader.h"
#include "scratch.h"

#include "harness/cmocka.h"

using namespace libknng;
using scratch::bytes_of;
using scratch::Outcome;
using scratch::outcome;

namespace {

struct Rows {
  std::int32_t dtype;
  std::int64_t rows, cols;
  std::string items;
};

// The whole file, `step` rows at a time.
Rows read_rows(const std::string& path, std::int64_t step = INT64_MAX) {
  const auto reader = open_reader(path);
  const std::int64_t row_bytes = reader->cols() * checked_dtype_bytes(reader->dtype(), "dtype");
  Rows found{reader->dtype(), reader->rows(), reader->cols(), {}};
  found.items.resize(static_cast<std::size_t>(reader->rows() * row_bytes));
  for (std::int64_t row = 0; row < found.rows;) {
    const std::int64_t count = std::min(step, found.rows - row);
    reader->read(count, reinterpret_cast<std::byte*>(found.items.data()) + row * row_bytes);
    row += count;
  }
  reader->finish();
  // Those that stay are the same, read in any order.
  if (const auto rows = reader->stay()) {
    std::string back(found.items.size(), 0);
    auto* const to = reinterpret_cast<std::byte*>(back.data());
    rows->read(0, found.rows, to);
    assert_true(back == found.items);
    for (std::int64_t row = found.rows; row-- > 0;) {
      std::fill_n(to + row * row_bytes, row_bytes, std::byte{0xee});
      rows->read(row, 1, to + row * row_bytes);
    }
    assert_true(back == found.items);
    rows->require_unchanged();
  }
  return found;
}

// Packed row-major items x(i, j) in the order that is asked for.
template <class Item>
std::string items(std::int64_t rows, std::int64_t cols, bool fortran, bool big_endian) {
  std::string out;
  for (std::int64_t a = 0; a < (fortran ? cols : rows); ++a)
    for (std::int64_t b = 0; b < (fortran ? rows : cols); ++b) {
      const std::int64_t i = fortran ? b : a, j = fortran ? a : b;
      out += bytes_of(static_cast<Item>(i * 10 + j), big_endian);
    }
  return out;
}

template <class Item>
void check_npy_type(const char* type, std::int32_t dtype) {
  const scratch::Directory dir;
  const std::string expected = items<Item>(5, 3, false, false);
  for (const char order : {'<', '>', '|', '='})
    for (const bool fortran : {false, true})
      for (const bool packed : {false, true}) {
        const std::string descr = order + std::string(type);
        const std::string file =
            scratch::npy(descr.c_str(), fortran, "(5, 3)", items<Item>(5, 3, fortran, order == '>'));
        const std::string path = dir / (packed ? "x.npy.gz" : "x.npy");
        scratch::write(path, packed ? scratch::gzip(file) : file);
        for (const std::int64_t step : {1, 2, 3, 5}) {
          const Rows found = read_rows(path, step);
          assert_int_equal(found.dtype, dtype);
          assert_int_equal(found.rows, 5);
          assert_int_equal(found.cols, 3);
          assert_true(found.items == expected);
        }
      }
}

void npy_types_and_orders(void**) {
  check_npy_type<float>("f4", KNNG_F32);
  check_npy_type<double>("f8", KNNG_F64);
  check_npy_type<std::uint16_t>("f2", KNNG_F16);  // any 16 bits do: only their order matters here
  check_npy_type<std::uint8_t>("u1", KNNG_U8);
  check_npy_type<std::int8_t>("i1", KNNG_I8);
  check_npy_type<std::uint16_t>("u2", KNNG_U16);
  check_npy_type<std::int16_t>("i2", KNNG_I16);
  check_npy_type<std::uint32_t>("u4", KNNG_U32);
  check_npy_type<std::int32_t>("i4", KNNG_I32);
  check_npy_type<std::uint64_t>("u8", KNNG_U64);
  check_npy_type<std::int64_t>("i8", KNNG_I64);
  check_npy_type<std::uint8_t>("b1", KNNG_BOOL);
}

// More than one block of columns is needed.
void npy_large_fortran(void**) {
  const scratch::Directory dir;
  const std::int64_t rows = 3001, cols = 1000;
  std::string file;
  file.reserve(static_cast<std::size_t>(rows * cols * 4));
  for (std::int64_t j = 0; j < cols; ++j)
    for (std::int64_t i = 0; i < rows; ++i) file += bytes_of(static_cast<std::uint32_t>(i * cols + j));
  scratch::write(dir / "x.npy", scratch::npy("<f4", true, "(3001, 1000)", file));
  for (const std::int64_t step : {rows, std::int64_t{700}, std::int64_t{2100}}) {
    const Rows found = read_rows(dir / "x.npy", step);
    for (std::int64_t e = 0; e < rows * cols; ++e) {
      std::uint32_t item;
      std::memcpy(&item, found.items.data() + e * 4, 4);
      if (item != static_cast<std::uint32_t>(e)) assert_int_equal(item, e);
    }
  }
}

// What a reader holds beside rows: of columns that come one after the other all that it cannot go back for.
void memory_beside_rows(void**) {
  const scratch::Directory dir;
  const std::string items(6000, 'x');
  for (const bool fortran : {false, true})
    for (const bool packed : {false, true}) {
      const std::string file = scratch::npy("|u1", fortran, "(2000, 3)", items);
      const std::string path = dir / (packed ? "x.npy.gz" : "x.npy");
      scratch::write(path, packed ? scratch::gzip(file) : file);
      assert_int_equal(open_reader(path)->bytes_beside(), fortran ? 6000 : 0);
    }
  const std::string large(40'000'000, 'x');
  scratch::write(dir / "x.npy", scratch::npy("|u1", true, "(40000, 1000)", large));
  assert_int_equal(open_reader(dir / "x.npy")->bytes_beside(), (8 << 20) / 1000 * 1000);
}

void npy_header_forms(void**) {
  const scratch::Directory dir;
  const std::string items = "abcdef";
  for (const char* dictionary : {
           "{'descr': '|u1', 'fortran_order': False, 'shape': (2, 3)}",
           "{'shape': (2, 3), 'fortran_order': False, 'descr': '|u1', }",
           "{ \"descr\" : \"u1\",'fortran_order':False ,'shape':( 2 ,3 , )}   \n ",
           "{'descr': '|u1', 'fortran_order': False, 'shape': (2L, 3L), }",
       })
    for (const int major : {1, 2, 3}) {
      scratch::write(dir / "x.npy", scratch::npy(dictionary, items, major));
      const Rows found = read_rows(dir / "x.npy");
      assert_int_equal(found.rows, 2);
      assert_int_equal(found.cols, 3);
      assert_true(found.items == items);
    }
}

void npy_own_header(void**) {
  const scratch::Directory dir;
  for (const std::int64_t rows : {1, 10, 100000}) {
    const std::int64_t shape[] = {rows, 1};
    const std::string header = make_npy_header("|u1", shape);
    assert_int_equal(header.size() % 64, 0);
    scratch::write(dir / "x.npy", header + std::string(static_cast<std::size_t>(rows), 'x'));
    assert_int_equal(read_rows(dir / "x.npy").rows, rows);
  }
}

void npy_refused(void**) {
  const scratch::Directory dir;
  struct Case {
    const char* dictionary;
    std::int32_t code;
    const char* says;
  };
  const Case cases[] = {
      {"{'descr': '<f16', 'fortran_order': False, 'shape': (2, 3)}", KNNG_ERR_UNSUPPORTED, "'<f16'"},
      {"{'descr': '|b2', 'fortran_order': False, 'shape': (2, 3)}", KNNG_ERR_UNSUPPORTED, "bool"},
      {"{'descr': '<c8', 'fortran_order': False, 'shape': (2, 3)}", KNNG_ERR_UNSUPPORTED, "'<c8'"},
      {"{'descr': '|O', 'fortran_order': False, 'shape': (2, 3)}", KNNG_ERR_UNSUPPORTED, "'|O'"},
      {"{'descr': '<M8[ns]', 'fortran_order': False, 'shape': (2, 3)}", KNNG_ERR_UNSUPPORTED, "M8"},
      {"{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (2, 3)}", KNNG_ERR_UNSUPPORTED, "records"},
      {"{'descr': '<f99999999999999999999', 'fortran_order': False, 'shape': (2, 3)}", KNNG_ERR_UNSUPPORTED, "f9"},
      {"{'descr': '|u1', 'fortran_order': False, 'shape': (6,)}", KNNG_ERR_FORMAT, "1 dimension;"},
      {"{'descr': '|u1', 'fortran_order': False, 'shape': ()}", KNNG_ERR_FORMAT, "0 dimensions"},
      {"{'descr': '|u1', 'fortran_order': False, 'shape': (1, 2, 3)}", KNNG_ERR_FORMAT, "3 dimensions"},
      {"{'descr': '|u1', 'fortran_order': False, 'shape': (2, 4)}", KNNG_ERR_FORMAT, "truncated"},
      {"{'descr': '|u1', 'fortran_order': False, 'shape': (2, 2)}", KNNG_ERR_FORMAT, "more than"},
      {"{'descr': '|u1', 'fortran_order': True, 'shape': (2, 2)}", KNNG_ERR_FORMAT, "more than"},
      {"{'descr': '|u1', 'fortran_order': False, 'shape': (-2, -3)}", KNNG_ERR_FORMAT, "negative"},
      {"{'descr': '<f8', 'fortran_order': False, 'shape': (4611686018427387904, 4)}", KNNG_ERR_FORMAT, "63 bits"},
      {"{'descr': '<f8', 'fortran_order': False, 'shape': (1152921504606846976, 1)}", KNNG_ERR_FORMAT, "63 bits"},
      {"{'descr': '|u1', 'fortran_order': False, 'shape': (9223372036854775807, 1)}", KNNG_ERR_FORMAT, "truncated"},
      {"{'descr': '|u1', 'fortran_order': False, 'shape': (9223372036854775808, 1)}", KNNG_ERR_FORMAT, "63 bits"},
      {"{'descr': '|u1', 'fortran_order': False, 'shape': (2, 3)", KNNG_ERR_FORMAT, "missing"},
      {"{'descr': '|u1', 'fortran_order': False, 'shape': (2, 3)}}", KNNG_ERR_FORMAT, "follows"},
      {"{'descr': '|u1', 'fortran_order': False, 'shape': (2, 3}", KNNG_ERR_FORMAT, "shape"},
      {"{'descr': '|u1', 'fortran_order': False, 'shape': [2, 3]}", KNNG_ERR_FORMAT, "'('"},
      {"{'descr': '|u1', 'fortran_order': False, 'shape': 6}", KNNG_ERR_FORMAT, "'('"},
      {"{'descr': '|u1', 'fortran_order': False, 'shape': (6)}", KNNG_ERR_FORMAT, "tuple"},
      {"{'descr': '|u1', 'fortran_order': False}", KNNG_ERR_FORMAT, "shape is missing"},
      {"{'descr': '|u1', 'shape': (2, 3)}", KNNG_ERR_FORMAT, "fortran_order is missing"},
      {"{'fortran_order': False, 'shape': (2, 3)}", KNNG_ERR_FORMAT, "descr is missing"},
      {"{'descr': '|u1', 'fortran_order': 0, 'shape': (2, 3)}", KNNG_ERR_FORMAT, "True"},
      {"{'descr': '|u1', 'descr': '|u1', 'fortran_order': False, 'shape': (2, 3)}", KNNG_ERR_FORMAT, "twice"},
      {"{'descr': '|u1', 'fortran_order': False, 'shape': (2, 3), 'x': 1}", KNNG_ERR_FORMAT, "unknown key"},
      {"{'descr': '', 'fortran_order': False, 'shape': (2, 3)}", KNNG_ERR_FORMAT, "empty"},
      {"{'descr': '<', 'fortran_order': False, 'shape': (2, 3)}", KNNG_ERR_FORMAT, "no type"},
      {"{'descr': '\\x7cu1', 'fortran_order': False, 'shape': (2, 3)}", KNNG_ERR_FORMAT, "backslash"},
      {"{'descr': '|u1", KNNG_ERR_FORMAT, "does not end"},
      {"", KNNG_ERR_FORMAT, "'{'"},
      {"{}", KNNG_ERR_FORMAT, "missing"},
      {"__import__('os').abort()", KNNG_ERR_FORMAT, "'{'"},
      {"{'descr': '|u1', 'fortran_order': False, 'shape': (0, 3)}", KNNG_ERR_FORMAT, "more than"},
  };
  for (const Case& c : cases) {
    scratch::write(dir / "x.npy", scratch::npy(c.dictionary, "abcdef"));
    const Outcome o = outcome([&] { read_rows(dir / "x.npy"); });
    if (o.code != c.code || !o.says(c.says)) fail_msg("%s: %d %s", c.dictionary, o.code, o.message.c_str());
  }
  std::string long_header = scratch::npy("{}", "", 2);
  long_header.replace(8, 4, bytes_of(std::uint32_t{0xffffffffu}));
  scratch::write(dir / "x.npy", long_header);
  assert_true(outcome([&] { read_rows(dir / "x.npy"); }).says("4294967295"));
  std::string version = scratch::npy("{}", "");
  version[6] = 4;
  scratch::write(dir / "x.npy", version);
  assert_int_equal(outcome([&] { read_rows(dir / "x.npy"); }).code, KNNG_ERR_UNSUPPORTED);
  scratch::write(dir / "x.npy", std::string(200, 'x'));
  assert_true(outcome([&] { read_rows(dir / "x.npy"); }).says("x93NUMPY"));
}

std::string idx(int type, const std::vector<std::uint32_t>& sizes, const std::string& data) {
  std::string file{0, 0, static_cast<char>(type), static_cast<char>(sizes.size())};
  for (const std::uint32_t size : sizes) file += bytes_of(size, true);
  return file + data;
}

void idx_sizes(void**) {
  const scratch::Directory dir;
  const std::string data = "abcdefghijkl";
  struct Case {
    std::vector<std::uint32_t> sizes;
    std::int64_t rows, cols;
  };
  for (const Case& c : {Case{{12}, 12, 1}, Case{{3, 4}, 3, 4}, Case{{2, 3, 2}, 2, 6}, Case{{2, 1, 3, 2}, 2, 6},
                        Case{{1, 1, 3, 2, 2, 1}, 1, 12}})
    for (const char* name : {"x.idx", "x-idx3-ubyte", "x.idx3-ubyte.gz"}) {
      const std::string file = idx(8, c.sizes, data);
      scratch::write(dir / name, std::string(name).ends_with("gz") ? scratch::gzip(file) : file);
      const Rows found = read_rows(dir / name, 1);
      assert_int_equal(found.dtype, KNNG_U8);
      assert_int_equal(found.rows, c.rows);
      assert_int_equal(found.cols, c.cols);
      assert_true(found.items == data);
    }
}

void idx_refused(void**) {
  const scratch::Directory dir;
  struct Case {
    std::string file;
    std::int32_t code;
    const char* says;
  };
  const Case cases[] = {
      {idx(0x09, {2, 3}, "abcdef"), KNNG_ERR_UNSUPPORTED, "signed byte"},
      {idx(0x0d, {2, 3}, "abcdef"), KNNG_ERR_UNSUPPORTED, "float"},
      {idx(0x07, {2, 3}, "abcdef"), KNNG_ERR_FORMAT, "no IDX file"},
      {idx(0x08, {}, "abcdef"), KNNG_ERR_FORMAT, "no IDX file"},
      {"\x01" + idx(0x08, {2, 3}, "abcdef"), KNNG_ERR_FORMAT, "no IDX file"},
      {idx(0x08, {2, 3}, "abcde"), KNNG_ERR_FORMAT, "truncated"},
      {idx(0x08, {2, 3}, "abcdefg"), KNNG_ERR_FORMAT, "more than"},
      {idx(0x08, {0xffffffffu, 0xffffffffu, 0xffffffffu}, "abcdef"), KNNG_ERR_FORMAT, "63 bits"},
      {idx(0x08, {0x7fffffffu, 0x7fffffffu}, "abcdef"), KNNG_ERR_FORMAT, "truncated"},
      {idx(0x08, {0, 3}, ""), KNNG_ERR_RANGE, "0 rows"},
      {idx(0x08, {3, 0}, ""), KNNG_ERR_RANGE, "0 columns"},
  };
  for (const Case& c : cases) {
    scratch::write(dir / "x.idx", c.file);
    const Outcome o = outcome([&] { read_rows(dir / "x.idx"); });
    if (o.code != c.code || !o.says(c.says)) fail_msg("%s: %d %s", c.says, o.code, o.message.c_str());
  }
  // Packed, a size can be wrong in ways that only show at the end.
  scratch::write(dir / "x.idx.gz", scratch::gzip(idx(8, {2, 3}, "abcdefg")));
  assert_true(outcome([&] { read_rows(dir / "x.idx.gz"); }).says("more data"));
  scratch::write(dir / "x.idx.gz", scratch::gzip(idx(8, {2, 3}, "abcde")));
  assert_true(outcome([&] { read_rows(dir / "x.idx.gz"); }).says("truncated"));
  scratch::write(dir / "x.idx.gz", scratch::gzip(idx(8, {0x7fffffffu, 0x7fffffffu}, "abcde")));
  assert_true(outcome([&] { open_reader(dir / "x.idx.gz"); }).says("at most"));
}

void gz_members_and_damage(void**) {
  const scratch::Directory dir;
  const std::string plain = idx(8, {4, 3}, "abcdefghijkl");
  const std::string whole = scratch::gzip(plain.substr(0, 7)) + scratch::gzip("") + scratch::gzip(plain.substr(7));
  scratch::write(dir / "x.idx.gz", whole);
  assert_true(read_rows(dir / "x.idx.gz", 1).items == "abcdefghijkl");
  for (const char* extra : {"x", "extra bytes that are no gzip data", "\x1f\x8b"}) {
    scratch::write(dir / "x.idx.gz", whole + extra);
    assert_int_equal(outcome([&] { read_rows(dir / "x.idx.gz"); }).code, KNNG_ERR_FORMAT);
  }
  // Some bits of a gzip header mean nothing for the content; all others must show.
  const std::string one = scratch::gzip(plain);
  int refused = 0;
  for (std::size_t bit = 0; bit < one.size() * 8; ++bit) {
    std::string damaged = one;
    damaged[bit / 8] = static_cast<char>(damaged[bit / 8] ^ 1 << bit % 8);
    scratch::write(dir / "x.idx.gz", damaged);
    std::string found;
    const Outcome o = outcome([&] { found = read_rows(dir / "x.idx.gz").items; });
    if (o.code == KNNG_OK)
      assert_true(found == "abcdefghijkl");
    else  // the sizes of IDX are believed before the checksum at the end is seen: RANGE if they are 0
      assert_true(o.code == KNNG_ERR_FORMAT || o.code == KNNG_ERR_UNSUPPORTED || o.code == KNNG_ERR_RANGE);
    refused += o.code != KNNG_OK;
  }
  assert_true(refused >= static_cast<int>((one.size() - 10) * 8));
}

std::string vecs(const std::string& item, std::int32_t dim, int rows) {
  std::string row = bytes_of(dim), file;
  for (std::int32_t i = 0; i < dim; ++i) row += item;
  for (int i = 0; i < rows; ++i) file += row;
  return file;
}

void vecs_files(void**) {
  const scratch::Directory dir;
  scratch::write(dir / "x.fvecs", vecs(bytes_of(1.5f), 3, 4));
  Rows found = read_rows(dir / "x.fvecs", 3);
  assert_true(found.dtype == KNNG_F32 && found.rows == 4 && found.cols == 3);
  for (int i = 0; i < 12; ++i) assert_true(found.items.substr(static_cast<std::size_t>(i) * 4, 4) == bytes_of(1.5f));
  scratch::write(dir / "x.bvecs", vecs("q", 5, 2));
  found = read_rows(dir / "x.bvecs");
  assert_true(found.dtype == KNNG_U8 && found.rows == 2 && found.cols == 5 && found.items == "qqqqqqqqqq");
  scratch::write(dir / "x.ivecs", vecs(bytes_of(std::int32_t{-70000}), 2, 1));
  found = read_rows(dir / "x.ivecs");
  assert_true(found.dtype == KNNG_I32 && found.rows == 1 && found.cols == 2);
  assert_true(found.items == bytes_of(std::int32_t{-70000}) + bytes_of(std::int32_t{-70000}));

  std::string other = vecs("q", 5, 2);
  other[9] = 4;  // dimension of the second row
  scratch::write(dir / "x.bvecs", other);
  Outcome o = outcome([&] { read_rows(dir / "x.bvecs"); });
  assert_true(o.code == KNNG_ERR_FORMAT && o.says("a row has dimension 4, the first has 5 (row 1)"));
  scratch::write(dir / "x.bvecs", vecs("q", 5, 2) + "x");
  assert_true(outcome([&] { read_rows(dir / "x.bvecs"); }).says("no multiple"));
  scratch::write(dir / "x.bvecs", bytes_of(std::int32_t{-1}));
  assert_true(outcome([&] { read_rows(dir / "x.bvecs"); }).says("dimension -1"));
}

void bin_files(void**) {
  const scratch::Directory dir;
  struct Case {
    const char* name;
    std::int32_t dtype;
    std::string item;
  };
  for (const Case& c : {Case{"x.fbin", KNNG_F32, bytes_of(2.5f)}, Case{"x.u8bin", KNNG_U8, "\xff"},
                        Case{"x.i8bin", KNNG_I8, "\xff"}, Case{"x.ibin", KNNG_I32, bytes_of(std::int32_t{-70000})}}) {
    std::string data;
    for (int i = 0; i < 6; ++i) data += c.item;
    for (const bool wide : {false, true}) {
      const std::string header = wide ? bytes_of(std::uint64_t{2}) + bytes_of(std::uint64_t{3})
                                      : bytes_of(std::uint32_t{2}) + bytes_of(std::uint32_t{3});
      scratch::write(dir / c.name, header + data);
      const Rows found = read_rows(dir / c.name, 1);
      assert_true(found.dtype == c.dtype && found.rows == 2 && found.cols == 3 && found.items == data);
    }
    scratch::write(dir / c.name, bytes_of(std::uint32_t{2}) + bytes_of(std::uint32_t{3}) + data + "x");
    assert_int_equal(outcome([&] { read_rows(dir / c.name); }).code, KNNG_ERR_FORMAT);
    // 2^63 x 2 wraps to 0 in 64 bits.
    scratch::write(dir / c.name, bytes_of(std::uint64_t{1} << 63) + bytes_of(std::uint64_t{2}));
    assert_int_equal(outcome([&] { read_rows(dir / c.name); }).code, KNNG_ERR_FORMAT);
    scratch::write(dir / c.name, bytes_of(std::uint64_t{0}) + bytes_of(~std::uint64_t{0}));
    assert_true(outcome([&] { read_rows(dir / c.name); }).code != KNNG_OK);
  }
}

// Every format, cut after every byte and with one byte too many.
void cut_everywhere(void**) {
  const scratch::Directory dir;
  const std::string npy = scratch::npy("<f4", false, "(3, 2)", std::string(24, 'x'));
  const std::string npy_fortran = scratch::npy("<f4", true, "(3, 2)", std::string(24, 'x'));
  const std::string digits = idx(8, {2, 3, 2}, "abcdefghijkl");
  const std::pair<const char*, std::string> files[] = {
      {"x.npy", npy},
      {"y.npy", npy_fortran},
      {"x.npy.gz", scratch::gzip(npy)},
      {"y.npy.gz", scratch::gzip(npy_fortran)},
      {"x.idx", digits},
      {"x.idx.gz", scratch::gzip(digits)},
      {"x.fbin", bytes_of(std::uint32_t{2}) + bytes_of(std::uint32_t{3}) + std::string(24, 'x')},
      {"y.fbin", bytes_of(std::uint64_t{2}) + bytes_of(std::uint64_t{3}) + std::string(24, 'x')},
  };
  for (const auto& [name, whole] : files) {
    const auto path = dir / name;
    for (std::size_t size = 0; size < whole.size(); ++size) {
      scratch::write(path, whole.substr(0, size));
      const Outcome o = outcome([&] { read_rows(path); });
      // The first half of a header of 64-bit counts is a whole header of 32-bit counts, without columns.
      if (o.code != (name == std::string("y.fbin") && size == 8 ? KNNG_ERR_RANGE : KNNG_ERR_FORMAT))
        fail_msg("%s at %zu: %d %s", name, size, o.code, o.message.c_str());
    }
    scratch::write(path, whole + "x");
    assert_int_equal(outcome([&] { read_rows(path); }).code, KNNG_ERR_FORMAT);
    scratch::write(path, whole);
    assert_int_equal(outcome([&] { read_rows(path); }).code, KNNG_OK);
  }
  // Rows of .fvecs are complete by themselves: cut between two, the file is a shorter one.
  const std::string three = vecs(bytes_of(1.0f), 2, 3);
  for (std::size_t size = 0; size < three.size(); ++size) {
    scratch::write(dir / "x.fvecs", three.substr(0, size));
    const Outcome o = outcome([&] { read_rows(dir / "x.fvecs"); });
    assert_int_equal(o.code, size > 0 && size % 12 == 0 ? KNNG_OK : KNNG_ERR_FORMAT);
  }
}

void names(void**) {
  const scratch::Directory dir;
  for (const char* name : {"x.txt", "x.mtx", "x.npz", "X.TXT.GZ"}) {
    const Outcome o = outcome([&] { open_reader(dir / name); });
    assert_int_equal(o.code, KNNG_ERR_UNSUPPORTED);
    assert_true(o.says("this version does not read") && o.says(".npy"));
  }
  assert_true(outcome([&] { open_reader(dir / "x.txt"); }).says("call it .csv or .tsv"));
  for (const char* name : {"x", "x.gz", "npy", "NPY", "x.npy.bz2", "x:npy"}) {
    assert_true(outcome([&] { open_reader(dir / name); }).code == KNNG_ERR_IO);  // it is not there
    scratch::write(dir / name, "");
    const Outcome o = outcome([&] { open_reader(dir / name); });
    assert_int_equal(o.code, KNNG_ERR_UNSUPPORTED);
    assert_true(o.says("tells no format") && o.says(".idx"));
  }
  for (const char* name : {"x.fbin.gz", "X.FBIN.GZ"})
    assert_true(outcome([&] { open_reader(dir / name); }).says("unpack"));
  for (const char* name : {"x.npy", "x.npy.gz", "x-ubyte", "x-ubyte.gz", "x.csv", "x.tsv.gz"}) {
    const Outcome o = outcome([&] { open_reader(dir / name); });
    assert_int_equal(o.code, KNNG_ERR_IO);
    assert_true(o.says("No such file") && o.says(name));
  }
}

void names_in_capitals(void**) {
  const scratch::Directory dir;
  const std::string npy = scratch::npy("<f4", false, "(3, 2)", std::string(24, 'x'));
  const std::string digits = idx(8, {2, 3, 2}, "abcdefghijkl");
  const std::pair<const char*, std::string> files[] = {
      {"DATA.NPY", npy},
      {"x.Npy.GZ", scratch::gzip(npy)},
      {"train-images.IDX3-UBYTE.GZ", scratch::gzip(digits)},
      {"x.FVECS", vecs(bytes_of(1.0f), 2, 3)},
      {"X.FBIN", bytes_of(std::uint32_t{3}) + bytes_of(std::uint32_t{2}) + std::string(24, 'x')},
  };
  for (const auto& file : files) {
    scratch::write(dir / file.first, file.second);
    const Outcome o = outcome([&] { read_rows(dir / file.first); });
    if (o.code != KNNG_OK) fail_msg("%s: %d %s", file.first, o.code, o.message.c_str());
  }
}

// Which rows can stay in their file; the reader need not stay with them.
void rows_that_stay(void**) {
  const scratch::Directory dir;
  struct Case {
    const char* name;
    std::string file;
    bool stay;
  };
  const std::string idx(
      "\0\0\x08\x02\0\0\0\x02\0\0\0\x03"
      "abcdef",
      18),
      four = bytes_of(1.0f) + bytes_of(2.0f);
  const std::string bin = bytes_of(std::uint32_t{2}) + bytes_of(std::uint32_t{1});
  const Case cases[] = {
      {"x.npy", scratch::npy("|u1", false, "(3, 2)", "abcdef"), true},
      {"x.npy", scratch::npy("<f4", false, "(1, 2)", four), true},
      {"x.npy", scratch::npy(">f4", false, "(1, 2)", four), false},
      {"x.npy", scratch::npy("<f4", true, "(1, 2)", four), false},
      {"x.npy.gz", scratch::gzip(scratch::npy("|u1", false, "(3, 2)", "abcdef")), false},
      {"x.idx", idx, true},
      {"x.idx.gz", scratch::gzip(idx), false},
      {"x.fvecs", vecs(bytes_of(1.5f), 3, 4), true},
      {"x.bvecs", vecs("q", 5, 2), true},
      {"x.fbin", bin + four, true},
      {"x.u8bin", bin + "ab", true},
      {"x.i8bin", bin + "ab", true},
      {"x.ibin", bin + four, true},
      {"x.ivecs", vecs(bytes_of(std::int32_t{7}), 3, 4), true},
      {"x.npy", scratch::npy("|b1", false, "(3, 2)", std::string("\0\1\1\0\0\1", 6)), true},
      {"x.npy", scratch::npy(">i4", false, "(1, 2)", four), false},
  };
  for (const Case& c : cases) {
    scratch::write(dir / c.name, c.file);
    auto reader = open_reader(dir / c.name);
    const auto rows = reader->stay();
    assert_int_equal(rows != nullptr, c.stay);
    std::vector<std::byte> first(static_cast<std::size_t>(reader->cols() * 8)), again = first;
    reader->read(1, first.data());
    reader.reset();
    if (!rows) continue;
    rows->read(0, 1, again.data());
    assert_true(first == again);
    rows->require_unchanged();
    assert_int_equal(::truncate((dir / c.name).c_str(), static_cast<off_t>(c.file.size()) - 1), 0);
    for (const auto& read : {outcome([&] { rows->require_unchanged(); }),
                             outcome([&] { rows->read(0, 1, again.data()), rows->read(1, 3, again.data()); })}) {
      assert_int_equal(read.code, KNNG_ERR_IO);
      assert_true(read.says("changed since it was opened") && read.says(c.name));
    }
  }
}

void changed_meanwhile(void**) {
  const scratch::Directory dir;
  for (const char* name : {"x.npy", "y.npy", "x.npy.gz"}) {
    const std::string file = scratch::npy("|u1", name[0] == 'y', "(3, 2)", "abcdef");
    const std::string whole = std::string(name).ends_with("gz") ? scratch::gzip(file) : file;
    scratch::write(dir / name, whole);
    const auto reader = open_reader(dir / name);
    std::byte rows[6];
    reader->read(3, rows);
    timespec times[2] = {{1, 0}, {1, 0}};
    assert_int_equal(::utimensat(AT_FDCWD, (dir / name).c_str(), times, 0), 0);
    const Outcome o = outcome([&] { reader->finish(); });
    assert_int_equal(o.code, KNNG_ERR_IO);
    assert_true(o.says("changed since it was opened"));
  }
  scratch::write(dir / "x.npy", scratch::npy("|u1", false, "(3, 2)", "abcdef"));
  const auto reader = open_reader(dir / "x.npy");
  assert_int_equal(::truncate((dir / "x.npy").c_str(), 20), 0);
  std::byte rows[6];
  assert_int_equal(outcome([&] { reader->read(3, rows); }).code, KNNG_ERR_IO);
}

// The time of the last write can be put back; that of the last change cannot.
void changed_and_dated_back(void**) {
  const scratch::Directory dir;
  const std::string path = dir / "x.npy";
  scratch::write(path, scratch::npy("|u1", false, "(3, 2)", "abcdef"));
  const auto reader = open_reader(path, Young::wait);
  struct stat before {};
  assert_int_equal(::stat(path.c_str(), &before), 0);
  scratch::write(path, scratch::npy("|u1", false, "(3, 2)", "ABCDEF"));
  const timespec times[2] = {before.st_atim, before.st_mtim};
  assert_int_equal(::utimensat(AT_FDCWD, path.c_str(), times, 0), 0);
  std::byte rows[6];
  reader->read(3, rows);
  assert_int_equal(outcome([&] { reader->finish(); }).code, KNNG_ERR_IO);
}

// A file that is opened is older than a step of its times, and than a write of all of it takes.
void young_files_are_waited_for(void**) {
  const scratch::Directory dir;
  for (const std::uint32_t rows : {1u, 100u}) {
    constexpr std::uint32_t cols = 1u << 20;
    const std::string path = dir / "x.u8bin";
    scratch::write(path, bytes_of(rows) + bytes_of(cols));
    const std::int64_t size = 8 + std::int64_t{rows} * cols;
    assert_int_equal(::truncate(path.c_str(), size), 0);
    const auto reader = open_reader(path, Young::wait);
    timespec now{};
    ::clock_gettime(CLOCK_REALTIME_COARSE, &now);
    struct stat file {};
    assert_int_equal(::stat(path.c_str(), &file), 0);
    const std::int64_t age =
        (now.tv_sec - file.st_ctim.tv_sec) * std::int64_t{1000000000} + now.tv_nsec - file.st_ctim.tv_nsec;
    assert_true(age > size / 2);
  }
}

}  // namespace

int main() {
  const CMUnitTest tests[] = {
      cmocka_unit_test(npy_types_and_orders),
      cmocka_unit_test(npy_large_fortran),
      cmocka_unit_test(npy_header_forms),
      cmocka_unit_test(memory_beside_rows),
      cmocka_unit_test(npy_own_header),
      cmocka_unit_test(npy_refused),
      cmocka_unit_test(idx_sizes),
      cmocka_unit_test(idx_refused),
      cmocka_unit_test(gz_members_and_damage),
      cmocka_unit_test(rows_that_stay),
      cmocka_unit_test(vecs_files),
      cmocka_unit_test(bin_files),
      cmocka_unit_test(cut_everywhere),
      cmocka_unit_test(names),
      cmocka_unit_test(names_in_capitals),
      cmocka_unit_test(changed_meanwhile),
      cmocka_unit_test(changed_and_dated_back),
      cmocka_unit_test(young_files_are_waited_for),
  };
  return cmocka_run_group_tests(tests, nullptr, nullptr);
}

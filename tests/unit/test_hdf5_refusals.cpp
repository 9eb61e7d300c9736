// HDF5 files that are not read: types and storage that rows cannot have, sparse rows that do not hold together, values
// that were never written, files cut at every byte or changed. Each says what is wrong, with file and path.
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "hdf5_rows.h"

using namespace libknng;
using hdf5::good;
using hdf5::must;
using hdf5::read_rows;
using hdf5::Storage;
using hdf5::Writer;
using scratch::bytes_of;
using scratch::Outcome;
using scratch::outcome;

namespace {

const std::string kItems(1024, '\0');

void require_refused(const std::string& path, std::int32_t code, const char* in_file, const char* why) {
  const Outcome o = outcome([&] { read_rows(path); });
  const std::string name = path.substr(path.rfind('/') + 1);
  if (o.code != code || !o.says(name.substr(0, name.find(':')).c_str()) || !o.says(in_file) || !o.says(why))
    fail_msg("%s: %d %s, not %d with %s and %s", path.c_str(), o.code, o.message.c_str(), code, in_file, why);
}

void types(void**) {
  const scratch::Directory dir;
  const hid_t text = good(H5Tcopy(H5T_C_S1)), list = good(H5Tvlen_create(H5T_IEEE_F32LE));
  must(H5Tset_size(text, 4));
  const hsize_t two = 2;
  const hid_t array = good(H5Tarray_create2(H5T_IEEE_F32LE, 1, &two));
  const hid_t complex = good(H5Tcreate(H5T_COMPOUND, 8));
  must(H5Tinsert(complex, "r", 0, H5T_IEEE_F32LE));
  must(H5Tinsert(complex, "i", 4, H5T_IEEE_F32LE));
  const hid_t opaque = good(H5Tcreate(H5T_OPAQUE, 4)), narrow = good(H5Tcopy(H5T_STD_I32LE)),
              three = good(H5Tcopy(H5T_STD_U32LE)), brain = good(H5Tcopy(H5T_IEEE_F32LE));
  must(H5Tset_precision(narrow, 24));
  must(H5Tset_size(three, 3));
  must(H5Tset_fields(brain, 15, 7, 8, 0, 7));  // bfloat16
  must(H5Tset_size(brain, 2));
  struct Case {
    hid_t type;
    const char* said;
  };
  const Case cases[] = {
      {text, "text"},
      {list, "lists of various lengths"},
      {array, "arrays in each element"},
      {complex, "complex numbers"},
      {opaque, "opaque bytes"},
      {H5T_STD_REF_OBJ, "references"},
      {H5T_STD_B8LE, "bit fields"},
      {H5T_UNIX_D32LE, "times"},
      {narrow, "integers of 32 bits that are none of"},
      {three, "integers of 24 bits"},
      {brain, "floats of 16 bits that are none of"},
      {H5T_NATIVE_LDOUBLE, "floats of 128 bits"},
      {hdf5::enumeration("NO", "YES"), "an enumeration that is no bool"},
      {hdf5::enumeration("TRUE", "FALSE"), "an enumeration that is no bool"},
      {hdf5::enumeration("FALSE", "TRUE", H5T_STD_I32LE), "an enumeration that is no bool"},
  };
  for (const Case& c : cases) {
    {
      const Writer file(dir / "x.h5");
      file.add("a/x", {3, 2}, c.type, "");
    }
    require_refused(dir / "x.h5:a/x", KNNG_ERR_UNSUPPORTED, "'a/x' holds", c.said);
    require_refused(dir / "x.h5", KNNG_ERR_FORMAT, "x.h5", "no data set of two dimensions with numbers");
  }
}

void shapes(void**) {
  const scratch::Directory dir;
  {
    const Writer file(dir / "x.h5");
    file.add("one", {6}, H5T_IEEE_F32LE, kItems);
    file.add("three", {1, 3, 2}, H5T_IEEE_F32LE, kItems);
    file.add("no rows", {0, 2}, H5T_IEEE_F32LE, "");
    file.add("no columns", {2, 0}, H5T_IEEE_F32LE, "");
    const hid_t scalar = good(H5Screate(H5S_SCALAR)), null = good(H5Screate(H5S_NULL));
    file.add("single", scalar, H5T_IEEE_F32LE, H5P_DEFAULT, kItems);
    file.add("nothing", null, H5T_IEEE_F32LE, H5P_DEFAULT, "");
    file.group("group");
    const hid_t type = good(H5Tcopy(H5T_IEEE_F32LE));
    must(H5Tcommit2(file.file(), "type", type, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT));
    H5Tclose(type);
    must(H5Lcreate_external("y.h5", "/x", file.file(), "outside", H5P_DEFAULT, H5P_DEFAULT));
    must(H5Lcreate_soft("/outside", file.file(), "to outside", H5P_DEFAULT, H5P_DEFAULT));
    must(H5Lcreate_soft("/nowhere", file.file(), "to nothing", H5P_DEFAULT, H5P_DEFAULT));
    must(H5Lcreate_soft("/to itself", file.file(), "to itself", H5P_DEFAULT, H5P_DEFAULT));
    file.group("frame");
    file.text("frame", "encoding-type", "dataframe");
  }
  {
    const Writer file(dir / "y.h5");
    file.add("x", {2, 2}, H5T_IEEE_F32LE, kItems);
  }
  const std::string x = dir / "x.h5:";
  require_refused(x + "one", KNNG_ERR_FORMAT, "'one'", "an array of 1 dimension; 2 are needed");
  require_refused(x + "three", KNNG_ERR_FORMAT, "'three'", "an array of 3 dimensions; 2 are needed");
  require_refused(x + "single", KNNG_ERR_FORMAT, "'single'", "a single value");
  require_refused(x + "nothing", KNNG_ERR_FORMAT, "'nothing'", "holds nothing");
  require_refused(x + "no rows", KNNG_ERR_RANGE, "no rows", "0 rows of 2 columns");
  require_refused(x + "no columns", KNNG_ERR_RANGE, "no columns", "2 rows of 0 columns");
  require_refused(x + "type", KNNG_ERR_FORMAT, "'type'", "is a type, and no data set");
  require_refused(x + "group", KNNG_ERR_FORMAT, "'group'", "is a group, and no sparse matrix");
  require_refused(x + "frame", KNNG_ERR_UNSUPPORTED, "'frame'", "encoding-type 'dataframe'");
  require_refused(x + "outside", KNNG_ERR_UNSUPPORTED, "'outside'", "a link into another file");
  require_refused(x + "outside/x", KNNG_ERR_UNSUPPORTED, "'outside'", "a link into another file");
  require_refused(x + "to outside", KNNG_ERR_UNSUPPORTED, "'/outside'", "is a link into another file");
  require_refused(x + "to nothing", KNNG_ERR_FORMAT, "'to nothing'", "has no");
  require_refused(x + "to itself", KNNG_ERR_FORMAT, "'to itself'", "has no");
  require_refused(x + "one/x", KNNG_ERR_FORMAT, "'one/x'", "has no");
  require_refused(x + std::string("\x1b[1m"), KNNG_ERR_FORMAT, "'?[1m'", "has no");
}

void storages(void**) {
  const scratch::Directory dir;
  const hsize_t shape[] = {10, 4}, chunk[] = {5, 4};
  const hid_t space = good(H5Screate_simple(2, shape, nullptr)), outside = good(H5Pcreate(H5P_DATASET_CREATE)),
              packed = good(H5Pcreate(H5P_DATASET_CREATE)), part = good(H5Pcreate(H5P_DATASET_CREATE)),
              elsewhere = good(H5Pcreate(H5P_DATASET_CREATE));
  scratch::write(dir / "raw", kItems);
  must(H5Pset_external(outside, (dir / "raw").c_str(), 0, 160));
  must(H5Pset_chunk(packed, 2, chunk));
  // Blosc, which libhdf5 has not: optional, so that it can be written without.
  const unsigned none = 0;
  must(H5Pset_filter(packed, 32001, H5Z_FLAG_OPTIONAL, 1, &none));
  must(H5Pset_chunk(part, 2, chunk));
  must(H5Pset_virtual(elsewhere, space, (dir / "y.h5").c_str(), "x", space));
  {
    const Writer file(dir / "x.h5");
    file.add("outside", space, H5T_IEEE_F32LE, outside, kItems);
    file.add("packed", space, H5T_IEEE_F32LE, packed, kItems);
    file.add("unwritten", space, H5T_IEEE_F32LE, H5P_DEFAULT, "");
    file.add("part", space, H5T_IEEE_F32LE, part, "");
    file.add("elsewhere", space, H5T_IEEE_F32LE, elsewhere, "");
    const hid_t set = good(H5Dopen2(file.file(), "part", H5P_DEFAULT)),
                half = good(H5Screate_simple(2, chunk, nullptr)), first = good(H5Scopy(space));
    const hsize_t zero[] = {0, 0};
    must(H5Sselect_hyperslab(first, H5S_SELECT_SET, zero, nullptr, chunk, nullptr));
    must(H5Dwrite(set, H5T_IEEE_F32LE, half, first, H5P_DEFAULT, kItems.data()));
    H5Dclose(set);
    H5Sclose(half);
    H5Sclose(first);
    // A small file that claims what nobody has memory for.
    file.add("large", {hsize_t{1} << 40, 1 << 20}, H5T_IEEE_F64LE, "", {.chunk = {1 << 10, 1 << 10}, .gzip = 1});
  }
  const std::string x = dir / "x.h5:";
  require_refused(x + "outside", KNNG_ERR_UNSUPPORTED, "'outside'", "external storage");
  require_refused(x + "packed", KNNG_ERR_UNSUPPORTED, "'packed'", "packed by filter 32001");
  require_refused(x + "elsewhere", KNNG_ERR_UNSUPPORTED, "'elsewhere'", "virtual data set");
  require_refused(x + "unwritten", KNNG_ERR_FORMAT, "'unwritten'",
                  "values that were never written: its shape needs 160");
  require_refused(x + "part", KNNG_ERR_FORMAT, "'part'", "needs 160 bytes, 80 are stored");
  require_refused(x + "large", KNNG_ERR_FORMAT, "'large'", "beyond 63 bits");
  for (const hid_t list : {outside, packed, part, elsewhere}) H5Pclose(list);
  H5Sclose(space);
}

// A chunk of ten float32 as it is stored: what comes of it, or why it is refused.
void packed_chunks(void**) {
  const scratch::Directory dir;
  const hsize_t shape[] = {5, 2}, small[] = {3, 2}, zero[] = {0, 0};
  const auto creation = [](const hsize_t* chunk, std::initializer_list<H5Z_filter_t> filters) {
    const hid_t list = good(H5Pcreate(H5P_DATASET_CREATE));
    const unsigned none = 0;
    must(H5Pset_chunk(list, 2, chunk));
    for (const H5Z_filter_t filter : filters) {
      if (filter == H5Z_FILTER_DEFLATE) must(H5Pset_deflate(list, 6));
      if (filter == H5Z_FILTER_SHUFFLE) must(H5Pset_shuffle(list));
      if (filter == H5Z_FILTER_FLETCHER32) must(H5Pset_fletcher32(list));
      if (filter == 32000) must(H5Pset_filter(list, filter, H5Z_FLAG_OPTIONAL, 1, &none));
    }
    return list;
  };
  const hid_t space = good(H5Screate_simple(2, shape, nullptr)),
              small_space = good(H5Screate_simple(2, small, nullptr));
  std::string items;
  for (int i = 0; i < 10; ++i) items += bytes_of(1.5f * static_cast<float>(i));
  // What libhdf5 makes of the first rows of them.
  const auto stored = [&](const hsize_t* chunk, hid_t of, std::initializer_list<H5Z_filter_t> filters) {
    const Writer file(dir / "y.h5");
    const hid_t list = creation(chunk, filters);
    file.add("x", of, H5T_IEEE_F32LE, list, items);
    const hid_t set = good(H5Dopen2(file.file(), "x", H5P_DEFAULT));
    must(H5Dflush(set));
    hsize_t size = 0;
    must(H5Dget_chunk_storage_size(set, zero, &size));
    std::string bytes(size, 0);
    std::uint32_t mask = 0;
    must(H5Dread_chunk(set, H5P_DEFAULT, zero, &mask, bytes.data()));
    H5Dclose(set);
    H5Pclose(list);
    return bytes;
  };
  const auto check = [&](std::initializer_list<H5Z_filter_t> filters, const std::string& chunk, std::uint32_t left_out,
                         const std::string& expected, const char* why) {
    {
      const Writer file(dir / "x.h5");
      const hid_t list = creation(shape, filters);
      file.add("x", space, H5T_IEEE_F32LE, list, "");
      const hid_t set = good(H5Dopen2(file.file(), "x", H5P_DEFAULT));
      must(H5Dwrite_chunk(set, H5P_DEFAULT, left_out, zero, chunk.size(), chunk.data()));
      H5Dclose(set);
      H5Pclose(list);
    }
    if (why)
      require_refused(dir / "x.h5", KNNG_ERR_FORMAT, "'x' is damaged: a chunk cannot be unpacked", why);
    else
      assert_true(read_rows(dir / "x.h5").items == expected);
  };
  constexpr H5Z_filter_t kGzip = H5Z_FILTER_DEFLATE, kShuffle = H5Z_FILTER_SHUFFLE, kSum = H5Z_FILTER_FLETCHER32,
                         kLzf = 32000;
  for (const auto& filters : std::initializer_list<std::initializer_list<H5Z_filter_t>>{
           {kGzip}, {kShuffle, kGzip}, {kSum, kGzip}, {kGzip, kSum}, {kShuffle, kSum}, {kSum, kSum}, {kGzip, kGzip}}) {
    const std::string whole = stored(shape, space, filters), less = stored(small, small_space, filters);
    check(filters, whole, 0, items, nullptr);
    check(filters, less, 0, "", "when it is unpacked");
    check(filters, whole.substr(0, whole.size() - 1), 0, "", "");
    check(filters, whole + "more", 0, items, filters.begin()[filters.size() - 1] == kGzip ? nullptr : "");
    check(filters, std::string(1, '\0'), 0, "", "");
  }
  check({}, items, 0, items, nullptr);
  check({}, items + "more", 0, "", "another size");
  // Filters that were left out of one chunk.
  check({kShuffle, kGzip}, items, 3, items, nullptr);
  check({kGzip}, items.substr(1), 1, "", "another size");
  check({kGzip}, std::string(2000, 'x'), 1, "", "its size is none");
  std::string wrong = items + bytes_of(std::uint32_t{0});
  check({kSum}, wrong, 0, "", "its checksum is wrong");
  // LZF: literals; and four bytes that are copied nine times over themselves.
  check({kLzf}, "\x1f" + items.substr(0, 32) + "\x07" + items.substr(32), 0, items, nullptr);
  const std::string one = bytes_of(2.5f);
  std::string ten;
  for (int i = 0; i < 10; ++i) ten += one;
  check({kLzf}, "\x03" + one + std::string("\xe0\x1b\x03", 3), 0, ten, nullptr);
  check({kLzf}, items, 1, items, nullptr);
  check({kLzf}, "\x03" + one + std::string("\xe0\x1b\x04", 3), 0, "", "no lzf data");  // before the beginning
  check({kLzf}, "\x03" + one + std::string("\xe0\x1c\x03", 3), 0, "", "no lzf data");  // beyond the end
  check({kLzf}, "\x03" + one + std::string("\xe0\x1a\x03", 3), 0, "", "another size");
  check({kLzf}, "\x03" + one + "\xe0\x1b", 0, "", "no lzf data");
  check({kLzf}, "\x1f" + items.substr(0, 31), 0, "", "no lzf data");
  H5Sclose(space);
  H5Sclose(small_space);
}

struct Sparse {
  std::vector<std::int64_t> shape = {3, 4};
  std::string data = std::string(16, '?');
  std::vector<std::int64_t> columns = {0, 3, 1, 2};
  std::vector<std::int64_t> firsts = {0, 2, 3, 4};
};

std::string raw(const std::vector<std::int64_t>& values) {
  return std::string(reinterpret_cast<const char*>(values.data()), 8 * values.size());
}

void sparse(void**) {
  const scratch::Directory dir;
  const auto check = [&](const Sparse& m, std::int64_t row, const char* where, const char* why) {
    {
      const Writer file(dir / "x.h5ad");
      file.group("X");
      file.text("X", "encoding-type", "csr_matrix");
      if (!m.shape.empty()) file.integers("X", "shape", m.shape);
      file.add("X/data", {m.data.size() / 4}, H5T_IEEE_F32LE, m.data);
      file.add("X/indices", {m.columns.size()}, H5T_STD_I64LE, raw(m.columns));
      file.add("X/indptr", {m.firsts.size()}, H5T_STD_I64LE, raw(m.firsts));
    }
    if (!why) {
      assert_int_equal(outcome([&] { read_rows(dir / "x.h5ad"); }).code, KNNG_OK);
      return;
    }
    require_refused(dir / "x.h5ad", KNNG_ERR_FORMAT, where, why);
    assert_int_equal(outcome([&] { read_rows(dir / "x.h5ad", 1); }).row, row);
  };
  check({}, -1, "", nullptr);
  Sparse m;
  m.shape = {};
  check(m, -1, "'X'", "attribute shape is not two counts");
  m.shape = {3, 4, 5};
  check(m, -1, "'X'", "attribute shape is not two counts");
  m.shape = {-3, 4};
  check(m, -1, "'X'", "attribute shape is not two counts");
  m.shape = {4, 4};
  check(m, -1, "'X'", "shape has 4 rows, its indptr 4 values");
  m.shape = {INT64_MAX, 4};
  check(m, -1, "'X'", "its indptr 4 values");
  m.shape = {3, 3};
  check(m, 0, "x.h5ad:X'", "a value is in column 3 of 3 (row 0, column 3)");
  m = Sparse();
  m.columns = {0, 3, -1, 2};
  check(m, 1, "x.h5ad:X'", "a value is in column -1 of 4 (row 1)");
  m.columns = {2, 2, 1, 2};
  check(m, 0, "x.h5ad:X'", "two values are in column 2 (row 0, column 2)");
  m.columns = {0, 3, 1};
  check(m, -1, "'X'", "it has 4 data and 3 indices");
  m = Sparse();
  m.firsts = {1, 2, 3, 4};
  check(m, 0, "x.h5ad:X'", "indptr begins with 1, not with 0");
  m.firsts = {0, 3, 2, 4};
  check(m, 1, "x.h5ad:X'", "indptr falls from 3 to 2");
  m.firsts = {0, 2, INT64_MAX, 4};
  check(m, 1, "x.h5ad:X'", "there are 4 values");
  m.firsts = {0, 1, 2, 3};
  check(m, 3, "x.h5ad:X'", "indptr ends with 3, there are 4 values");
  m.firsts = {0, INT64_MIN, 2, 4};
  check(m, 0, "x.h5ad:X'", "indptr falls from 0");

  // Parts that are missing, or none.
  for (const char* missing : {"data", "indices", "indptr"}) {
    {
      const Writer file(dir / "x.h5ad");
      file.group("X");
      file.text("X", "encoding-type", "csr_matrix");
      file.integers("X", "shape", {3, 4});
      for (const char* name : {"data", "indices", "indptr"})
        if (std::strcmp(name, missing) != 0) file.add(std::string("X/") + name, {4}, H5T_STD_I64LE, kItems);
    }
    require_refused(dir / "x.h5ad", KNNG_ERR_FORMAT, (std::string("'X/") + missing + "'").c_str(), "has no");
    {
      const Writer file(dir / "x.h5ad");
      file.group("X");
      file.text("X", "encoding-type", "csr_matrix");
      file.integers("X", "shape", {3, 4});
      for (const char* name : {"data", "indices", "indptr"})
        file.add(std::string("X/") + name, {4}, std::strcmp(name, missing) == 0 ? H5T_STD_B8LE : H5T_STD_I64LE, kItems);
    }
    require_refused(dir / "x.h5ad", KNNG_ERR_UNSUPPORTED, (std::string("'X/") + missing + "'").c_str(), "bit fields");
  }
}

// Nothing of a shorter file is taken for rows. One that is damaged elsewhere is read right, or refused.
void cut_files(void**) {
  const scratch::Directory dir;
  std::string items;
  for (int i = 0; i < 60; ++i) items += bytes_of(static_cast<float>(i));
  {
    const Writer file(dir / "whole.h5");
    file.add("a/x", {20, 3}, H5T_IEEE_F32LE, items, {.chunk = {6, 2}, .gzip = 6, .checksum = true});
  }
  const std::string whole = scratch::read(dir / "whole.h5");
  for (std::size_t size = 0; size < whole.size(); size += size < 256 ? 1 : 13) {
    scratch::write(dir / "x.h5", whole.substr(0, size));
    const Outcome o = outcome([&] { read_rows(dir / "x.h5"); });
    if (o.code != KNNG_ERR_FORMAT || !o.says("x.h5'")) fail_msg("at %zu: %d %s", size, o.code, o.message.c_str());
  }
  scratch::write(dir / "x.h5", whole);
  assert_true(read_rows(dir / "x.h5").items == items);
  // What is packed has checksums here.
  for (std::size_t at = whole.size() - 300; at < whole.size(); ++at) {
    std::string damaged = whole;
    damaged[at] = static_cast<char>(damaged[at] ^ 0x10);
    scratch::write(dir / "x.h5", damaged);
    hdf5::Rows found;
    const Outcome o = outcome([&] { found = read_rows(dir / "x.h5"); });
    assert_true(o.code == KNNG_OK ? found.items == items : o.code == KNNG_ERR_FORMAT);
  }
  for (const char* text : {"", "no HDF5", "\x89HDF\r\n\x1a\n"}) {
    scratch::write(dir / "x.h5", text);
    require_refused(dir / "x.h5", KNNG_ERR_FORMAT, "x.h5", "is no HDF5 file, or damaged");
  }
}

void changed_files(void**) {
  const scratch::Directory dir;
  const std::string path = dir / "x.h5";
  for (const bool sparse : {false, true}) {
    {
      const Writer file(path);
      if (sparse) {
        file.group("x");
        file.text("x", "encoding-type", "csr_matrix");
        file.integers("x", "shape", {4, 1});
        file.add("x/data", {4}, H5T_STD_I64LE, kItems);
        file.add("x/indices", {4}, H5T_STD_I64LE, raw({0, 0, 0, 0}));
        file.add("x/indptr", {5}, H5T_STD_I64LE, raw({0, 1, 2, 3, 4}));
      } else {
        file.add("x", {4, 1}, H5T_STD_I64LE, kItems);
      }
    }
    const std::string whole = scratch::read(path);
    for (const bool shorter : {false, true}) {
      scratch::write(path, whole);
      const auto reader = open_reader(path + ":x");
      std::byte rows[32];
      reader->read(2, rows);
      ::usleep(20000);  // a step of the file's times
      scratch::write(path, shorter ? "" : whole);
      const Outcome o = outcome([&] {
        reader->read(2, rows + 16);
        reader->finish();
      });
      assert_int_equal(o.code, KNNG_ERR_IO);
      assert_true(o.says("changed since it was opened"));
    }
  }
}

}  // namespace

int main() {
  const CMUnitTest tests[] = {
      cmocka_unit_test(types),         cmocka_unit_test(shapes), cmocka_unit_test(storages),
      cmocka_unit_test(packed_chunks), cmocka_unit_test(sparse), cmocka_unit_test(cut_files),
      cmocka_unit_test(changed_files),
  };
  return cmocka_run_group_tests(tests, nullptr, nullptr);
}

// HDF5 files as the programs for cells and genes write them: AnnData before 0.7, with records where there are groups
// now; sparse matrices by columns; 10x Genomics, MuData, Loom. Which matrix is taken, and what is said where none is.
#include <array>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "hdf5_rows.h"

using namespace libknng;
using hdf5::good;
using hdf5::must;
using hdf5::read_rows;
using hdf5::Rows;
using hdf5::Storage;
using hdf5::Writer;
using scratch::bytes_of;
using scratch::Outcome;
using scratch::outcome;

namespace {

void require_refused(const std::string& path, std::int32_t code, const char* why) {
  const Outcome o = outcome([&] { read_rows(path); });
  const std::string name = path.substr(path.rfind('/', path.find(".h5")) + 1);
  if (o.code != code || !o.says(name.substr(0, name.find(':')).c_str()) || !o.says(why))
    fail_msg("%s: %d %s, not %d with %s", path.c_str(), o.code, o.message.c_str(), code, why);
}

hid_t array_of(hid_t item, std::initializer_list<hsize_t> shape) {
  return good(H5Tarray_create2(item, static_cast<unsigned>(shape.size()), shape.begin()));
}

struct Member {
  const char* name;
  hid_t type;
};

hid_t records_of(std::initializer_list<Member> members) {
  std::size_t bytes = 1;  // one that belongs to nobody, so that numbers lie anywhere
  for (const Member& m : members) bytes += H5Tget_size(m.type);
  const hid_t type = good(H5Tcreate(H5T_COMPOUND, bytes));
  std::size_t at = 1;
  for (const Member& m : members) {
    must(H5Tinsert(type, m.name, at, m.type));
    at += H5Tget_size(m.type);
  }
  return type;
}

template <class Item>
std::string numbers(std::int64_t first, std::int64_t count, bool big_endian = false) {
  std::string items;
  for (std::int64_t i = 0; i < count; ++i)
    items += bytes_of(static_cast<Item>(1.25 * static_cast<double>(first + i)), big_endian);
  return items;
}

// AnnData before 0.7: records of a name, X_tsne of big-endian doubles, X_pca, a count, and a matrix.
constexpr std::int64_t kCells = 11;
constexpr hsize_t kPca = 3, kTsne = 2;

void add_old(const Writer& file, const char* pca_name = "X_pca", const Storage& storage = {}) {
  const hid_t text = good(H5Tcopy(H5T_C_S1));
  must(H5Tset_size(text, 4));
  const hid_t type = records_of({{"index", text},
                                 {"X_tsne", array_of(H5T_IEEE_F64BE, {kTsne})},
                                 {pca_name, array_of(H5T_IEEE_F32LE, {kPca})},
                                 {"count", H5T_STD_I16LE},
                                 {"square", array_of(H5T_STD_I8LE, {2, 2})}});
  std::string items;
  for (std::int64_t cell = 0; cell < kCells; ++cell)
    items += "-name" + numbers<double>(cell * 2, 2, true) + numbers<float>(cell * 3, 3) +
             bytes_of(static_cast<std::int16_t>(cell - 5)) + "1234";
  file.add("obsm", {kCells}, type, items, storage);
  file.add("X", {kCells, 2}, H5T_IEEE_F32LE, numbers<float>(0, 2 * kCells));
}

void records(void**) {
  const scratch::Directory dir;
  std::string counts;
  for (std::int64_t cell = 0; cell < kCells; ++cell) counts += bytes_of(static_cast<std::int16_t>(cell - 5));
  const Storage all[] = {{},
                         {.chunk = {1}},
                         {.chunk = {4}},
                         {.chunk = {4}, .gzip = 6, .shuffle = true},
                         {.chunk = {11}, .gzip = 1, .checksum = true}};
  for (const Storage& storage : all)
    for (const auto version : {Writer::Version::earliest, Writer::Version::latest})
      for (const hsize_t user_block : {hsize_t{0}, hsize_t{512}}) {
        {
          const Writer file(dir / "x.h5ad", version, user_block);
          add_old(file, "X_pca", storage);
        }
        for (const std::int64_t step : {1, 3, 100}) {
          const Rows pca = read_rows(dir / "x.h5ad", step);
          assert_true(pca.dtype == KNNG_F32 && pca.rows == kCells && pca.cols == 3 && !pca.stays);
          assert_true(pca.items == numbers<float>(0, 3 * kCells));
          assert_true(pca.beside >= kCells * 35);
          const Rows tsne = read_rows(dir / "x.h5ad:/obsm/X_tsne", step);
          assert_true(tsne.dtype == KNNG_F64 && tsne.cols == 2);
          assert_true(tsne.items == numbers<double>(0, 2 * kCells));
          const Rows count = read_rows(dir / "x.h5ad:obsm/count", step);
          assert_true(count.dtype == KNNG_I16 && count.cols == 1 && count.items == counts);
        }
        assert_true(read_rows(dir / "x.h5ad:X").items == numbers<float>(0, 2 * kCells));
      }
  assert_string_equal(open_reader(dir / "x.h5ad")->taken().matrix.c_str(), "obsm/X_pca");
  assert_string_equal(open_reader(dir / "x.h5ad")->taken().form.c_str(), "records");
  // Longer than what is brought in at a time.
  constexpr hsize_t kLong = 300000;
  const hid_t long_type = records_of({{"a", H5T_STD_I8LE}, {"X_pca", array_of(H5T_STD_U64LE, {kLong})}});
  {
    const Writer file(dir / "x.h5ad");
    std::string items;
    for (std::int64_t row = 0; row < 3; ++row) items += "-a" + numbers<std::uint64_t>(row * 7, kLong);
    file.add("obsm", {3}, long_type, items);
  }
  const Rows found = read_rows(dir / "x.h5ad", 2);
  assert_true(found.items ==
              numbers<std::uint64_t>(0, kLong) + numbers<std::uint64_t>(7, kLong) + numbers<std::uint64_t>(14, kLong));
}

void records_that_are_refused(void**) {
  const scratch::Directory dir;
  {
    const Writer file(dir / "x.h5ad");
    add_old(file);
  }
  const std::string x = dir / "x.h5ad:";
  require_refused(x + "obsm/index", KNNG_ERR_UNSUPPORTED, "'obsm/index' holds text");
  require_refused(x + "obsm/square", KNNG_ERR_UNSUPPORTED, "'obsm/square' has a matrix in each record");
  require_refused(x + "obsm", KNNG_ERR_UNSUPPORTED, "'obsm' holds records");
  require_refused(x + "obsm/none", KNNG_ERR_FORMAT, "has no 'obsm/none'");
  require_refused(x + "obsm/", KNNG_ERR_UNSUPPORTED, "'obsm/' holds records");
  // Among records without X_pca there is none to take, and X is what is left.
  {
    const Writer file(dir / "x.h5ad");
    add_old(file, "X_umap");
  }
  assert_true(read_rows(dir / "x.h5ad").items == numbers<float>(0, 2 * kCells));
  // Stored in the header of the object, and never written.
  {
    const Writer file(dir / "x.h5ad");
    add_old(file, "X_pca", {.compact = true});
  }
  require_refused(dir / "x.h5ad", KNNG_ERR_UNSUPPORTED, "'obsm/X_pca': its records are stored in a way");
  {
    const Writer file(dir / "x.h5ad");
    file.add("obsm", {3}, records_of({{"X_pca", array_of(H5T_IEEE_F32LE, {2})}}), "");
    file.add("two", {3, 1}, records_of({{"X_pca", array_of(H5T_IEEE_F32LE, {2})}}), "");
  }
  require_refused(dir / "x.h5ad", KNNG_ERR_FORMAT, "'obsm/X_pca' has values that were never written");
  require_refused(x + "two/X_pca", KNNG_ERR_FORMAT, "an array of 2 dimensions; 1 is needed");
  // These are longer in the file than in memory, and so are the records that they are in, or arrays of them.
  const hid_t variable = good(H5Tcopy(H5T_C_S1));
  must(H5Tset_size(variable, H5T_VARIABLE));
  const hid_t pca = array_of(H5T_IEEE_F32LE, {2}), list = good(H5Tvlen_create(H5T_STD_I8LE));
  for (const hid_t other : {variable, list, array_of(variable, {2}), records_of({{"in", variable}})}) {
    {
      const Writer file(dir / "x.h5ad");
      const hid_t type = records_of({{"other", other}, {"X_pca", pca}});
      file.add("obsm", {3}, type, std::string(3 * H5Tget_size(type), '\0'));
    }
    require_refused(dir / "x.h5ad", KNNG_ERR_UNSUPPORTED, "'obsm/X_pca' is in records with texts or lists of variable");
  }
  // Cut: none of it is taken for rows.
  for (const Storage& storage : {Storage{}, Storage{.chunk = {4}, .gzip = 6, .checksum = true}}) {
    {
      const Writer file(dir / "whole.h5ad");
      add_old(file, "X_pca", storage);
    }
    const std::string whole = scratch::read(dir / "whole.h5ad");
    for (std::size_t size = 0; size < whole.size(); size += 7) {
      scratch::write(dir / "x.h5ad", whole.substr(0, size));
      require_refused(dir / "x.h5ad", KNNG_ERR_FORMAT, "");
    }
  }
}

// The size of a record, the length and the place of an array in it, as a damaged file may have them.
void members_beyond_their_records(void**) {
  const scratch::Directory dir;
  {
    const Writer file(dir / "x.h5ad");
    add_old(file);
  }
  std::string whole = scratch::read(dir / "x.h5ad");
  const std::size_t first = whole.find("index"), name = whole.find("X_pca");
  int refused = 0;
  for (std::size_t at = first - 8; at < name + 80; at == first ? at = name : ++at)
    for (const char value : {'\x40', '\x7f', '\xff'}) {
      std::string damaged = whole;
      damaged[at] = value;
      scratch::write(dir / "x.h5ad", damaged);
      Rows found;
      const Outcome o = outcome([&] { found = read_rows(dir / "x.h5ad:obsm/X_pca"); });
      refused += o.code == KNNG_ERR_FORMAT || o.code == KNNG_ERR_UNSUPPORTED;
      assert_true(o.code == KNNG_OK ? found.rows == kCells && found.cols * 4 <= 51 : o.code != KNNG_ERR_INTERNAL);
    }
  assert_true(refused > 100);
}

struct Sparse {
  std::vector<std::int64_t> shape;
  std::vector<std::int32_t> data, indices;
  std::vector<std::int64_t> firsts;
};

template <class T>
std::string raw(const std::vector<T>& values) {
  return std::string(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T));
}

// Of 3 x 4: 1 at (0, 1), 2 at (2, 1), 3 at (1, 0), 4 at (2, 3), in columns whose rows come in any order.
Sparse by_columns() { return {{3, 4}, {3, 2, 1, 4}, {1, 2, 0, 2}, {0, 1, 3, 3, 4}}; }
const std::vector<std::int32_t> kTurned = {0, 3, 0, 1, 0, 2, 0, 0, 0, 0, 0, 4};  // 4 x 3

void add_arrays(const Writer& file, const std::string& path, const Sparse& m) {
  file.group(path);
  file.add(path + "/data", {m.data.size()}, H5T_STD_I32LE, raw(m.data));
  file.add(path + "/indices", {m.indices.size()}, H5T_STD_I32LE, raw(m.indices));
  file.add(path + "/indptr", {m.firsts.size()}, H5T_STD_I64LE, raw(m.firsts));
}

void sparse_by_columns(void**) {
  const scratch::Directory dir;
  const auto write = [&](const Sparse& m) {
    const Writer file(dir / "x.h5ad");
    add_arrays(file, "X", m);
    file.text("X", "encoding-type", "csc_matrix");
    file.integers("X", "shape", m.shape);
  };
  write(by_columns());
  for (const std::int64_t step : {1, 3, 100}) {
    const Rows found = read_rows(dir / "x.h5ad", step);
    assert_true(found.rows == 4 && found.cols == 3 && found.items == raw(kTurned));
  }
  assert_true(open_reader(dir / "x.h5ad")->turned());
  assert_string_equal(open_reader(dir / "x.h5ad")->taken().form.c_str(), "csc");
  Sparse m = by_columns();
  m.indices[3] = 3;
  write(m);
  require_refused(dir / "x.h5ad", KNNG_ERR_FORMAT, "a value is in row 3 of 3");
  m.indices = {1, 2, 2, 2};
  write(m);
  require_refused(dir / "x.h5ad", KNNG_ERR_FORMAT, "two values are in row 2");
  const Outcome twice = outcome([&] { read_rows(dir / "x.h5ad"); });
  assert_true(twice.row == 2 && twice.col == 1);
  m.shape = {3, 5};
  write(m);
  require_refused(dir / "x.h5ad", KNNG_ERR_FORMAT, "shape has 5 columns, its indptr 5 values; one more than columns");
  m = by_columns();
  m.shape = {0, 4};
  write(m);
  require_refused(dir / "x.h5ad", KNNG_ERR_RANGE, "0 rows of 4 columns");
}

// Genes x barcodes by columns: the rows are the barcodes.
void add_10x(const Writer& file, const std::string& path, const Sparse& m) {
  add_arrays(file, path, m);
  std::string shape;
  for (const std::int64_t count : m.shape) shape += bytes_of(static_cast<std::int32_t>(count));
  file.add(path + "/shape", {m.shape.size()}, H5T_STD_I32LE, shape);
  file.add(path + "/barcodes", {4}, H5T_STD_I8LE, "ABCD");
}

void of_10x_genomics(void**) {
  const scratch::Directory dir;
  {
    const Writer file(dir / "x.h5");
    add_10x(file, "matrix", by_columns());
    file.add("matrix/features/id", {3}, H5T_STD_I8LE, "abc");
  }
  for (const char* path : {"", ":matrix"}) {
    const Rows found = read_rows((dir / "x.h5") + path, 3);
    assert_true(found.dtype == KNNG_I32 && found.rows == 4 && found.cols == 3 && found.items == raw(kTurned));
    assert_false(open_reader((dir / "x.h5") + path)->turned());
  }
  assert_string_equal(open_reader(dir / "x.h5")->taken().matrix.c_str(), "matrix");
  assert_string_equal(open_reader(dir / "x.h5")->taken().form.c_str(), "10x");
  require_refused(dir / "x.h5:matrix/features", KNNG_ERR_FORMAT, "is a group, and no sparse matrix");
  {
    const Writer file(dir / "x.h5");
    add_10x(file, "hg19", by_columns());
    add_10x(file, "mm10", by_columns());
  }
  require_refused(dir / "x.h5", KNNG_ERR_FORMAT,
                  "has 2 matrices; name one of them, as in FILE.h5:PATH: 'hg19', 'mm10'");
  assert_true(read_rows(dir / "x.h5:mm10").items == raw(kTurned));
  for (const std::vector<std::int64_t>& shape : {std::vector<std::int64_t>{3}, {3, 4, 1}, {-3, 4}}) {
    const Writer file(dir / "x.h5");
    Sparse m = by_columns();
    m.shape = shape;
    add_10x(file, "matrix", m);
    must(H5Fflush(file.file(), H5F_SCOPE_GLOBAL));
    require_refused(dir / "x.h5:matrix", KNNG_ERR_FORMAT, "'matrix/shape' is not two counts, genes and barcodes");
  }
  {
    const Writer file(dir / "x.h5");
    Sparse m = by_columns();
    m.shape = {4, 3};
    add_10x(file, "matrix", m);
  }
  require_refused(dir / "x.h5", KNNG_ERR_FORMAT, "shape has 3 rows, its indptr 5 values");
}

void add_anndata(const Writer& file, const std::string& place, bool pca) {
  file.add(place + "X", {3, 2}, H5T_IEEE_F32LE, numbers<float>(0, 6));
  file.group(place + "obs");
  file.group(place + "var");
  if (pca) file.add(place + "obsm/X_pca", {3, 1}, H5T_IEEE_F32LE, numbers<float>(20, 3));
}

void mudata(void**) {
  const scratch::Directory dir;
  {
    const Writer file(dir / "x.h5mu");
    add_anndata(file, "mod/prot/", false);
    add_anndata(file, "mod/rna/", true);
    file.add("obsm/prot", {3, 1}, H5T_STD_I8LE, "\1\1\1");
    file.group("obs");
    file.group("var");
  }
  require_refused(dir / "x.h5mu", KNNG_ERR_UNSUPPORTED,
                  "is a MuData file, of AnnData objects: give one of them, as in FILE:PATH: 'mod/prot', "
                  "'mod/rna'");
  assert_true(read_rows(dir / "x.h5mu:mod/rna").items == numbers<float>(20, 3));
  assert_true(read_rows(dir / "x.h5mu:mod/rna/").items == numbers<float>(20, 3));
  assert_true(read_rows(dir / "x.h5mu:mod/prot").items == numbers<float>(0, 6));
  assert_true(read_rows(dir / "x.h5mu:mod/rna/X").items == numbers<float>(0, 6));
  assert_string_equal(open_reader(dir / "x.h5mu:mod/rna")->taken().matrix.c_str(), "mod/rna/obsm/X_pca");
  // The same under a name that promises one object.
  scratch::write(dir / "x.h5ad", scratch::read(dir / "x.h5mu"));
  require_refused(dir / "x.h5ad", KNNG_ERR_UNSUPPORTED, "is a MuData file");
}

void loom(void**) {
  const scratch::Directory dir;
  for (const char* name : {"x.loom", "x.h5"}) {
    {
      const Writer file(dir / name);
      file.add("matrix", {2, 3}, H5T_IEEE_F32LE, numbers<float>(0, 6));
      for (const char* group : {"layers", "row_attrs", "col_attrs"}) file.group(group);
    }
    const Outcome o = outcome([&] { open_reader(dir / name); });
    assert_int_equal(o.code, KNNG_ERR_UNSUPPORTED);
    assert_true(o.says(name) && o.says("is a Loom file, with genes as rows") && o.says("FILE:matrix") &&
                o.says("--transpose") && o.says("file_points=columns"));
    const Rows found = read_rows((dir / name) + ":matrix");
    assert_true(found.rows == 2 && found.cols == 3 && found.items == numbers<float>(0, 6));
  }
}

void anndata_without_the_usual(void**) {
  const scratch::Directory dir;
  {
    const Writer file(dir / "x.h5ad");
    file.group("obs");
    file.group("var");
  }
  require_refused(dir / "x.h5ad", KNNG_ERR_FORMAT, "has neither 'obsm/X_pca' nor 'X', and no other matrix");
  {
    const Writer file(dir / "x.h5ad");
    file.add("layers/counts", {3, 2}, H5T_IEEE_F32LE, numbers<float>(0, 6));
  }
  require_refused(dir / "x.h5ad", KNNG_ERR_FORMAT, "name another matrix, as in FILE.h5ad:PATH: 'layers/counts'");
  // X_pca is there, and cannot be read: X is not taken for it.
  {
    const Writer file(dir / "x.h5ad");
    add_anndata(file, "", false);
    file.group("obsm");
    must(H5Lcreate_soft("/nowhere", file.file(), "obsm/X_pca", H5P_DEFAULT, H5P_DEFAULT));
  }
  require_refused(dir / "x.h5ad", KNNG_ERR_FORMAT, "'obsm/X_pca' is a link that leads nowhere");
  {
    const Writer file(dir / "x.h5ad");
    add_anndata(file, "", false);
    file.group("obsm/X_pca");
    file.text("obsm/X_pca", "encoding-type", "dataframe");
  }
  require_refused(dir / "x.h5ad", KNNG_ERR_UNSUPPORTED, "'obsm/X_pca' is of encoding-type 'dataframe'");
  const hid_t text = good(H5Tcopy(H5T_C_S1));
  must(H5Tset_size(text, 4));
  {
    const Writer file(dir / "x.h5ad");
    add_arrays(file, "X", {{}, {}, {0}, {0, 1}});
    H5Ldelete(file.file(), "X/data", H5P_DEFAULT);
    file.add("X/data", {1}, text, "1.25");
    file.text("X", "encoding-type", "csr_matrix");
    file.integers("X", "shape", {1, 1});
  }
  require_refused(dir / "x.h5ad", KNNG_ERR_UNSUPPORTED, "'X/data' holds text; floats of 16 to 64 bits");
}

}  // namespace

int main() {
  const CMUnitTest tests[] = {
      cmocka_unit_test(records),
      cmocka_unit_test(records_that_are_refused),
      cmocka_unit_test(members_beyond_their_records),
      cmocka_unit_test(sparse_by_columns),
      cmocka_unit_test(of_10x_genomics),
      cmocka_unit_test(mudata),
      cmocka_unit_test(loom),
      cmocka_unit_test(anndata_without_the_usual),
  };
  return cmocka_run_group_tests(tests, nullptr, nullptr);
}

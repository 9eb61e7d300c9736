// Rows of HDF5 and AnnData files: every type in both orders, every way of storing, names, what is taken where no name
// is given, sparse rows, and that libhdf5 is left as the host has it.
#include <unistd.h>

#include <bit>
#include <cstdint>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include "hdf5_rows.h"
#include "io/hdf5.h"
#include "io/hdf5_seam.h"
#include "io/plugin.h"

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

template <class Item>
std::string numbers(std::int64_t count, bool big_endian = false) {
  std::string items;
  for (std::int64_t i = 0; i < count; ++i)
    items +=
        bytes_of(static_cast<Item>(static_cast<double>(i * 37 % 101) - (std::is_signed_v<Item> ? 50 : 0)), big_endian);
  return items;
}

// First of all tests: what is loaded once stays.
void library_missing(void**) {
  const scratch::Directory dir;
  const char* const chosen = std::getenv("KNNG_BACKEND_DIR");
  const std::string real = chosen ? chosen : "";
  ::setenv("KNNG_BACKEND_DIR", dir.path().c_str(), 1);
  bool installed = false;
  for (const std::string& directory : plugin_directories())
    installed = installed || ::access((directory + "/" KNNG_HDF5_FILE).c_str(), F_OK) == 0;
  scratch::write(dir / "x.h5", "x");
  const Outcome o = outcome([&] { open_reader(dir / "x.h5"); });
  const Outcome none = outcome([&] { open_reader(dir / "y.h5:x"); });
  ::setenv("KNNG_BACKEND_DIR", real.c_str(), 1);
  if (installed) skip();
  assert_int_equal(o.code, KNNG_ERR_UNSUPPORTED);
  assert_true(o.says("install the package") && o.says("libknng-hdf5") && o.says("is not there"));
  assert_int_equal(none.code, KNNG_ERR_IO);
  assert_true(none.says("y.h5': No such file"));
}

struct Type {
  hid_t type;
  std::int32_t dtype;
  std::string stored, read;
};

template <class Item>
void add_types(std::vector<Type>& types, std::int32_t dtype, hid_t little, hid_t big) {
  types.push_back({little, dtype, numbers<Item>(35), numbers<Item>(35)});
  types.push_back({big, dtype, numbers<Item>(35, true), numbers<Item>(35)});
}

void types(void**) {
  const scratch::Directory dir;
  std::vector<Type> all;
  add_types<float>(all, KNNG_F32, H5T_IEEE_F32LE, H5T_IEEE_F32BE);
  add_types<double>(all, KNNG_F64, H5T_IEEE_F64LE, H5T_IEEE_F64BE);
  add_types<std::uint16_t>(all, KNNG_F16, hdf5::half(false), hdf5::half(true));
  add_types<std::int8_t>(all, KNNG_I8, H5T_STD_I8LE, H5T_STD_I8BE);
  add_types<std::uint8_t>(all, KNNG_U8, H5T_STD_U8LE, H5T_STD_U8BE);
  add_types<std::int16_t>(all, KNNG_I16, H5T_STD_I16LE, H5T_STD_I16BE);
  add_types<std::uint16_t>(all, KNNG_U16, H5T_STD_U16LE, H5T_STD_U16BE);
  add_types<std::int32_t>(all, KNNG_I32, H5T_STD_I32LE, H5T_STD_I32BE);
  add_types<std::uint32_t>(all, KNNG_U32, H5T_STD_U32LE, H5T_STD_U32BE);
  add_types<std::int64_t>(all, KNNG_I64, H5T_STD_I64LE, H5T_STD_I64BE);
  add_types<std::uint64_t>(all, KNNG_U64, H5T_STD_U64LE, H5T_STD_U64BE);
  std::string flags;
  for (int i = 0; i < 35; ++i) flags.push_back(static_cast<char>(i % 3 == 0));
  all.push_back({hdf5::enumeration("FALSE", "TRUE"), KNNG_BOOL, flags, flags});
  all.push_back({hdf5::enumeration("FALSE", "TRUE", H5T_STD_U8LE), KNNG_BOOL, flags, flags});
  // Bits that a conversion could change: signalling NaNs, -0, denormals; and a byte that is no bool.
  const std::string odd = bytes_of(0x7f800001u) + bytes_of(0xffc12345u) + bytes_of(0x80000000u) + bytes_of(1u);
  all.push_back({H5T_IEEE_F32LE, KNNG_F32, odd + numbers<float>(31), odd + numbers<float>(31)});
  all.push_back({hdf5::enumeration("FALSE", "TRUE"), KNNG_BOOL, "\x02" + flags.substr(1), "\x02" + flags.substr(1)});
  for (const Type& t : all)
    for (const Storage& storage : {Storage{}, Storage{.chunk = {2, 3}, .gzip = 4, .shuffle = true}}) {
      {
        const Writer file(dir / "x.h5");
        file.add("x", {7, 5}, t.type, t.stored, storage);
      }
      const Rows found = read_rows(dir / "x.h5:x", 3);
      assert_int_equal(found.dtype, t.dtype);
      assert_true(found.rows == 7 && found.cols == 5);
      assert_true(found.items == t.read);
      const bool native = H5Tget_size(t.type) == 1 || H5Tget_order(t.type) == H5T_ORDER_LE;
      assert_int_equal(found.stays, storage.chunk.empty() && native);
    }
}

void storages(void**) {
  const scratch::Directory dir;
  constexpr hsize_t kRows = 103, kCols = 11;
  const std::string items = numbers<float>(kRows * kCols);
  const Storage all[] = {
      {},
      {.compact = true},
      {.chunk = {1, 1}},
      {.chunk = {1, kCols}},
      {.chunk = {10, kCols}},
      {.chunk = {10, 4}, .gzip = 1},
      {.chunk = {kRows, 1}, .gzip = 9, .shuffle = true},
      {.chunk = {kRows, kCols}, .gzip = 6, .checksum = true},
      {.chunk = {64, 64}, .shuffle = true, .checksum = true},
      {.chunk = {1000, 3}, .gzip = 2},
  };
  for (const Storage& storage : all)
    for (const auto version : {Writer::Version::earliest, Writer::Version::latest})
      for (const hsize_t user_block : {hsize_t{0}, hsize_t{512}}) {
        {
          const Writer file(dir / "x.h5", version, user_block);
          if (storage.chunk.size() == 2 && (storage.chunk[0] > kRows || storage.chunk[1] > kCols)) {
            // Chunks larger than the rows are for those that may grow.
            const hsize_t shape[] = {kRows, kCols}, most[] = {H5S_UNLIMITED, H5S_UNLIMITED};
            const hid_t space = good(H5Screate_simple(2, shape, most)), creation = good(H5Pcreate(H5P_DATASET_CREATE));
            must(H5Pset_chunk(creation, 2, storage.chunk.data()));
            if (storage.shuffle) must(H5Pset_shuffle(creation));
            if (storage.gzip) must(H5Pset_deflate(creation, 2));
            if (storage.checksum) must(H5Pset_fletcher32(creation));
            file.add("x", space, H5T_IEEE_F32LE, creation, items);
            H5Pclose(creation);
            H5Sclose(space);
          } else {
            file.add("x", {kRows, kCols}, H5T_IEEE_F32LE, items, storage);
          }
        }
        for (const std::int64_t step : {1, 7, 10, 25, 1000}) {
          const Rows found = read_rows(dir / "x.h5", step);
          assert_true(found.items == items);
          assert_int_equal(found.stays, storage.chunk.empty() && !storage.compact);
          // Chunks that lie beside each other, and one of them packed and unpacked.
          const bool chunks = !storage.chunk.empty() && storage.chunk[0] > 1;
          const std::int64_t block =
              chunks ? static_cast<std::int64_t>(std::min(storage.chunk[0], kRows) * kCols * 4) : 0;
          const std::int64_t packed = storage.gzip || storage.shuffle || storage.checksum ? 3 : 1;
          assert_int_equal(found.beside,
                           storage.chunk.empty()
                               ? 0
                               : block + static_cast<std::int64_t>(storage.chunk[0] * storage.chunk[1] * 4) * packed);
        }
      }
}

// Of which the last ones are not filled, and so not packed.
void chunks_that_are_left_as_they_are(void**) {
  const scratch::Directory dir;
  const std::string items = numbers<float>(7 * 5);
  const hsize_t shape[] = {7, 5}, chunk[] = {4, 3};
  for (const bool gzip : {false, true}) {
    const hid_t space = good(H5Screate_simple(2, shape, nullptr)), creation = good(H5Pcreate(H5P_DATASET_CREATE));
    must(H5Pset_chunk(creation, 2, chunk));
    must(H5Pset_shuffle(creation));
    if (gzip) must(H5Pset_deflate(creation, 6));
    must(H5Pset_chunk_opts(creation, H5D_CHUNK_DONT_FILTER_PARTIAL_CHUNKS));
    {
      const Writer file(dir / "x.h5", Writer::Version::latest);
      file.add("x", space, H5T_IEEE_F32LE, creation, items);
    }
    H5Pclose(creation);
    H5Sclose(space);
    for (const std::int64_t step : {1, 3, 7}) assert_true(read_rows(dir / "x.h5", step).items == items);
  }
}

void names(void**) {
  struct Case {
    const char *name, *file, *path;
    bool anndata;
  };
  for (const Case& c : std::initializer_list<Case>{{"x.h5", "x.h5", nullptr, false},
                                                   {"X.HDF5", "X.HDF5", nullptr, false},
                                                   {"a:b.h5ad", "a:b.h5ad", nullptr, true},
                                                   {"a:b.h5:c:d.h5:e", "a:b.h5", "c:d.h5:e", false},
                                                   {"x.H5AD:obsm/X_pca", "x.H5AD", "obsm/X_pca", true},
                                                   {"x.h5:t.npy", "x.h5", "t.npy", false},
                                                   {"x.h5:", "x.h5", "", false}}) {
    const auto name = hdf5_name(c.name);
    assert_true(name.has_value());
    assert_string_equal(name->file.c_str(), c.file);
    assert_int_equal(name->path.has_value(), c.path != nullptr);
    if (c.path) assert_string_equal(name->path->c_str(), c.path);
    assert_int_equal(name->anndata, c.anndata);
  }
  for (const char* none : {"", "x", "h5", "x.h5.gz", "x:h5", "x.h5x:y", "x.npy", "x.h5/y"})
    assert_false(hdf5_name(none).has_value());

  const scratch::Directory dir;
  const std::string one = numbers<float>(6), other = numbers<double>(6);
  {
    const Writer file(dir / "x:y.h5");
    file.add("a/b/c", {3, 2}, H5T_IEEE_F32LE, one);
    file.add("a/line", {6}, H5T_IEEE_F32LE, one);
    must(H5Lcreate_soft("/a/b", file.file(), "link", H5P_DEFAULT, H5P_DEFAULT));
    file.add(std::string("caf\xc3\xa9 .npy"), {2, 3}, H5T_IEEE_F64LE, other);
  }
  for (const char* path : {":a/b/c", ":/a/b/c", "://a//b/c", ":link/c"})
    assert_true(read_rows((dir / "x:y.h5") + path).items == one);
  assert_true(read_rows(dir / "x:y.h5:caf\xc3\xa9 .npy").items == other);
  const Outcome empty = outcome([&] { open_reader(dir / "x:y.h5:"); });
  assert_true(empty.code == KNNG_ERR_ARGUMENT && empty.says("no data set is named"));
  const Outcome packed = outcome([&] { open_reader(dir / "x.h5.gz"); });
  assert_true(packed.code == KNNG_ERR_UNSUPPORTED && packed.says("unpack it first") && packed.says(".h5ad"));
}

// A matrix as AnnData writes it.
struct Sparse {
  std::vector<std::int64_t> shape = {4, 5};
  std::vector<float> data = {1.5f, -0.0f, 3, 4, 5};
  std::vector<std::int32_t> columns = {4, 0, 2, 0, 3};
  std::vector<std::int64_t> firsts = {0, 2, 2, 4, 5};
  Storage storage = {};
  std::string encoding = "csr_matrix";
};

Sparse without_values(std::int64_t rows, std::int64_t cols) {
  Sparse m;
  m.shape = {rows, cols};
  m.data.clear();
  m.columns.clear();
  m.firsts = {0};
  return m;
}

template <class T>
std::string raw(const std::vector<T>& values) {
  return std::string(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T));
}

void add_sparse(const Writer& file, const std::string& path, const Sparse& m) {
  file.group(path);
  if (!m.encoding.empty()) file.text(path, "encoding-type", m.encoding);
  if (!m.shape.empty()) file.integers(path, "shape", m.shape);
  const auto add = [&](const char* name, std::size_t count, hid_t type, const std::string& items) {
    Storage storage = m.storage;
    if (!storage.chunk.empty()) storage.chunk[0] = std::min<hsize_t>(storage.chunk[0], count);
    file.add(path + name, {count}, type, items, storage);
  };
  add("/data", m.data.size(), H5T_IEEE_F32LE, raw(m.data));
  add("/indices", m.columns.size(), H5T_STD_I32LE, raw(m.columns));
  add("/indptr", m.firsts.size(), H5T_STD_I64LE, raw(m.firsts));
}

std::string dense(const Sparse& m) {
  const auto cols = static_cast<std::size_t>(m.shape[1]);
  std::vector<float> values(static_cast<std::size_t>(m.shape[0]) * cols, 0.0f);
  for (std::size_t row = 0; row + 1 < m.firsts.size(); ++row)
    for (auto i = static_cast<std::size_t>(m.firsts[row]); i < static_cast<std::size_t>(m.firsts[row + 1]); ++i)
      values[row * cols + static_cast<std::size_t>(m.columns[i])] = m.data[i];
  return raw(values);
}

void what_is_taken(void**) {
  const scratch::Directory dir;
  const std::string x = numbers<float>(6), pca = numbers<double>(4);
  // The only matrix, however deep, among what is none.
  {
    const Writer file(dir / "x.h5");
    file.add("a/b/x", {3, 2}, H5T_IEEE_F32LE, x);
    file.add("cube", {1, 3, 2}, H5T_IEEE_F32LE, x);
    file.add("line", {6}, H5T_IEEE_F32LE, x);
    file.group("empty");
    must(H5Lcreate_external("elsewhere.h5", "/x", file.file(), "link", H5P_DEFAULT, H5P_DEFAULT));
    must(H5Lcreate_hard(file.file(), "a", file.file(), "a/again", H5P_DEFAULT, H5P_DEFAULT));
    H5Ldelete(file.file(), "a/again", H5P_DEFAULT);
  }
  assert_true(read_rows(dir / "x.h5").items == x);
  {
    const Writer file(dir / "two.hdf5");
    file.add("a", {3, 2}, H5T_IEEE_F32LE, x);
    add_sparse(file, "b", Sparse());
  }
  Outcome o = outcome([&] { open_reader(dir / "two.hdf5"); });
  assert_int_equal(o.code, KNNG_ERR_FORMAT);
  assert_true(o.says("two.hdf5': has 2 matrices") && o.says("'a', 'b'"));
  o = outcome([&] { open_reader(dir / "two.hdf5:c"); });
  assert_true(o.code == KNNG_ERR_FORMAT && o.says("has no 'c'; matrices in it: 'a', 'b'"));
  { const Writer file(dir / "none.h5"); }
  o = outcome([&] { open_reader(dir / "none.h5"); });
  assert_true(o.code == KNNG_ERR_FORMAT && o.says("no data set of two dimensions with numbers"));
  // Two groups that hold each other are gone through for a while, and no longer.
  {
    const Writer file(dir / "ring.h5");
    file.group("a");
    for (const char* name : {"a/a", "a/b", "a/c", "a/d"})
      must(H5Lcreate_hard(file.file(), "a", file.file(), name, H5P_DEFAULT, H5P_DEFAULT));
  }
  o = outcome([&] { open_reader(dir / "ring.h5"); });
  assert_true(o.code == KNNG_ERR_UNSUPPORTED && o.says("more than 10000 objects"));

  { const Writer file(dir / "x.h5ad"); }
  o = outcome([&] { open_reader(dir / "x.h5ad"); });
  assert_true(o.code == KNNG_ERR_FORMAT && o.says("neither 'obsm/X_pca' nor 'X'"));
  Sparse m;
  {
    const Writer file(dir / "x.h5ad");
    add_sparse(file, "X", m);
    file.add("layers/counts", {3, 2}, H5T_IEEE_F32LE, x);
  }
  assert_true(read_rows(dir / "x.h5ad").items == dense(m));
  assert_true(read_rows(dir / "x.h5ad:layers/counts").items == x);
  {
    const Writer file(dir / "x.h5ad");
    file.add("X", {3, 2}, H5T_IEEE_F32LE, x);
    file.add("obsm/X_pca", {2, 2}, H5T_IEEE_F64LE, pca);
  }
  assert_true(read_rows(dir / "x.h5ad").items == pca);
  assert_true(read_rows(dir / "x.h5ad:X").items == x);
}

void sparse_rows(void**) {
  const scratch::Directory dir;
  std::vector<Sparse> all(6);
  all[1].storage = {.chunk = {2}, .gzip = 3, .shuffle = true};
  all[2] = without_values(300, 70);
  for (std::int64_t row = 0; row < 300; ++row) {
    for (std::int64_t i = 0; i < row % 9; ++i) {
      all[2].data.push_back(static_cast<float>(row - 3 * i));
      all[2].columns.push_back(static_cast<std::int32_t>((row * 13 + i * 29) % 70));
    }
    all[2].firsts.push_back(static_cast<std::int64_t>(all[2].data.size()));
  }
  all[3] = all[2];
  all[3].storage = {.chunk = {100}, .gzip = 1};
  all[4] = without_values(3, 2);
  all[4].firsts.resize(4);
  // More values than are brought in at a time.
  all[5] = without_values(50, 3000);
  all[5].storage.chunk = {1000};
  all[5].storage.gzip = 1;
  for (std::int32_t row = 0; row < 50; ++row) {
    for (std::int32_t column = 0; column < 3000; column += 1 + row % 2) {
      all[5].data.push_back(static_cast<float>(row * 3000 + column));
      all[5].columns.push_back(column);
    }
    all[5].firsts.push_back(static_cast<std::int64_t>(all[5].data.size()));
  }
  int turn = 0;
  for (const Sparse& m : all) {
    ++turn;
    {
      const Writer file(dir / "x.h5ad", turn % 2 ? Writer::Version::latest : Writer::Version::earliest,
                        turn % 4 < 2 ? 0 : 1024);
      add_sparse(file, "X", m);
      // In the header's second part.
      for (int i = 0; i < 6; ++i) file.text("X", ("more " + std::to_string(i)).c_str(), std::string(100, 'x'), false);
    }
    for (const std::int64_t step : {1, 7, 1000}) {
      const Rows found = read_rows(dir / "x.h5ad", step);
      assert_true(found.dtype == KNNG_F32 && found.rows == m.shape[0] && found.cols == m.shape[1]);
      assert_true(found.items == dense(m));
      assert_true(!found.stays && found.beside >= m.shape[1] * 8);
    }
  }
  // Other types; attributes as AnnData before 0.7 had them, and of fixed length.
  {
    const Writer file(dir / "x.h5");
    file.group("/old");
    file.text("/old", "h5sparse_format", "csr", false);
    file.integers("/old", "h5sparse_shape", {2, 3});
    file.add("old/data", {3}, H5T_STD_I16BE,
             bytes_of(std::int16_t{-7}, true) + bytes_of(std::int16_t{300}, true) + bytes_of(std::int16_t{1}, true));
    file.add("old/indices", {3}, H5T_STD_U8LE, std::string("\2\0\1", 3));
    file.add("old/indptr", {3}, H5T_STD_U16BE, std::string("\0\0\0\1\0\3", 6));
  }
  const Rows old = read_rows(dir / "x.h5");
  assert_int_equal(old.dtype, KNNG_I16);
  assert_true(old.items == raw(std::vector<std::int16_t>{0, 0, -7, 300, 1, 0}));
}

void library_of_the_host(void**) {
  const scratch::Directory dir;
  {
    const Writer file(dir / "x.h5");
    file.add("x", {3, 2}, H5T_IEEE_F32LE, numbers<float>(6));
  }
  scratch::write(dir / "no.h5", "this is none");
  const auto both = [&] {
    assert_int_equal(outcome([&] { read_rows(dir / "x.h5"); }).code, KNNG_OK);
    assert_int_equal(outcome([&] { read_rows(dir / "no.h5"); }).code, KNNG_ERR_FORMAT);
  };
  const ssize_t open_before = hdf5::open_objects();
  int mark = 0;
  static int printed;
  const auto handler = [](hid_t, void*) -> herr_t { return ++printed, 0; };
  must(H5Eset_auto2(H5E_DEFAULT, handler, &mark));
  both();
  H5E_auto2_t now = nullptr;
  void* data = nullptr;
  must(H5Eget_auto2(H5E_DEFAULT, &now, &data));
  assert_true(now == static_cast<H5E_auto2_t>(handler) && data == &mark);
  assert_int_equal(printed, 0);
  assert_true(H5Fopen((dir / "no.h5").c_str(), H5F_ACC_RDONLY, H5P_DEFAULT) < 0 && printed > 0);

  static int printed_before;
  const auto old_handler = [](void*) -> herr_t { return ++printed_before, 0; };
  must(H5Eset_auto1(old_handler, &mark));
  both();
  H5E_auto1_t old = nullptr;
  must(H5Eget_auto1(&old, &data));
  assert_true(old == static_cast<H5E_auto1_t>(old_handler) && data == &mark && printed_before == 0);
  must(H5Eset_auto2(H5E_DEFAULT, nullptr, nullptr));

  // The host's own files stay open, of the same file as well.
  const hid_t file = good(H5Fopen((dir / "x.h5").c_str(), H5F_ACC_RDONLY, H5P_DEFAULT));
  const hid_t set = good(H5Dopen2(file, "x", H5P_DEFAULT));
  both();
  float values[6];
  must(H5Dread(set, H5T_NATIVE_FLOAT, H5S_ALL, H5S_ALL, H5P_DEFAULT, values));
  assert_int_equal(H5Fget_obj_count(file, H5F_OBJ_ALL), 2);
  H5Dclose(set);
  H5Fclose(file);
  assert_int_equal(hdf5::open_objects(), open_before);
  // One that the host closed down begins anew.
  must(H5close());
  both();
}

void many_threads(void**) {
  const scratch::Directory dir;
  const std::string items = numbers<float>(20000);
  {
    const Writer file(dir / "x.h5");
    file.add("x", {200, 100}, H5T_IEEE_F32LE, items, {.chunk = {16, 100}, .gzip = 1});
  }
  std::vector<std::thread> threads;
  std::vector<int> right(4, 0);
  for (int& r : right)
    threads.emplace_back([&] {
      for (int turn = 0; turn < 10; ++turn) r += read_rows(dir / "x.h5", 5).items == items;
    });
  for (std::thread& t : threads) t.join();
  for (const int r : right) assert_int_equal(r, 10);
}

}  // namespace

int main() {
  const CMUnitTest tests[] = {
      cmocka_unit_test(library_missing), cmocka_unit_test(types),
      cmocka_unit_test(storages),        cmocka_unit_test(chunks_that_are_left_as_they_are),
      cmocka_unit_test(names),           cmocka_unit_test(what_is_taken),
      cmocka_unit_test(sparse_rows),     cmocka_unit_test(library_of_the_host),
      cmocka_unit_test(many_threads),
  };
  return cmocka_run_group_tests(tests, nullptr, nullptr);
}

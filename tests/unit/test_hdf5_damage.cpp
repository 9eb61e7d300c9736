// Damaged HDF5 files over which libhdf5 itself crashes: each is refused before it sees them. Found by fuzzing.
#include <cstdint>
#include <string>

#include "hdf5_rows.h"

using namespace libknng;
using hdf5::good;
using hdf5::must;
using hdf5::read_rows;
using hdf5::Writer;
using scratch::bytes_of;
using scratch::Outcome;
using scratch::outcome;

namespace {

const std::string kItems(240, '\x3f');

std::string file_with(const scratch::Directory& dir, Writer::Version version, auto&& fill) {
  {
    const Writer file(dir / "whole.h5ad", version);
    fill(file);
  }
  return scratch::read(dir / "whole.h5ad");
}

// The file with other bytes `behind` places behind the only place, or each place, of some.
void require_refused(const scratch::Directory& dir, const std::string& whole, const std::string& place,
                     std::size_t behind, const std::string& other, const char* why) {
  assert_true(whole.find(place) != std::string::npos);
  for (std::size_t at = whole.find(place); at != std::string::npos; at = whole.find(place, at + 1)) {
    std::string damaged = whole;
    damaged.replace(at + behind, other.size(), other);
    scratch::write(dir / "x.h5ad", damaged);
    const Outcome o = outcome([&] { read_rows(dir / "x.h5ad"); });
    if (o.code != KNNG_ERR_FORMAT || !o.says("x.h5ad'") || !o.says(why))
      fail_msg("at %zu: %d %s", at, o.code, o.message.c_str());
  }
}

// By which it divides.
void sizes_of_chunks(void**) {
  const scratch::Directory dir;
  constexpr std::uint32_t kRows = 6, kCols = 2, kItem = 4;
  const std::string shape = bytes_of(kRows) + bytes_of(kCols) + bytes_of(kItem), zero = bytes_of(std::uint32_t{0});
  const std::string whole = file_with(dir, Writer::Version::earliest, [](const Writer& file) {
    file.add("X", {20, 3}, H5T_IEEE_F32LE, kItems, {.chunk = {kRows, kCols}});
  });
  scratch::write(dir / "x.h5ad", whole);
  assert_true(read_rows(dir / "x.h5ad").items == kItems);
  for (const std::size_t dimension : {0, 1, 2})
    require_refused(dir, whole, shape, 4 * dimension, zero, "'X' is damaged: its chunks are not of its shape");
  // Their number of dimensions, before the address that is before them.
  for (const char count : {'\0', '\1', '\2', '\4'})
    require_refused(dir, whole, shape, std::size_t{0} - 9, std::string(1, count), "its chunks are not of its shape");
}

void sizes_of_types(void**) {
  const scratch::Directory dir;
  const std::string single("\x11\x20\x1f\0\4\0\0\0", 8), zero = bytes_of(std::uint32_t{0});
  for (const auto version : {Writer::Version::earliest, Writer::Version::latest}) {
    const std::string whole = file_with(dir, version, [](const Writer& file) {
      // Behind types of every kind, each of which must be passed over.
      const hsize_t three = 3;
      const hid_t type = good(H5Tcreate(H5T_COMPOUND, 64)), text = good(H5Tcopy(H5T_C_S1)),
                  opaque = good(H5Tcreate(H5T_OPAQUE, 3));
      must(H5Tset_size(text, 5));
      must(H5Tset_tag(opaque, "a tag"));
      must(H5Tinsert(type, "a text", 0, text));
      must(H5Tinsert(type, "bool", 5, hdf5::enumeration("FALSE", "TRUE")));
      must(H5Tinsert(type, "opaque", 6, opaque));
      must(H5Tinsert(type, "n", 9, H5T_STD_I16BE));
      must(H5Tinsert(type, "bits", 11, H5T_STD_B8LE));
      must(H5Tinsert(type, "time", 12, H5T_UNIX_D32LE));
      must(H5Tinsert(type, "X_pca", 16, good(H5Tarray_create2(H5T_IEEE_F32LE, 1, &three))));
      must(H5Tinsert(type, "after", 40, H5T_STD_I64LE));
      file.add("obsm", {3}, type, kItems.substr(0, 192));
    });
    scratch::write(dir / "x.h5ad", whole);
    assert_true(read_rows(dir / "x.h5ad").items == kItems.substr(0, 36));
    if (version == Writer::Version::earliest)  // the other has a checksum
      require_refused(dir, whole, single, 4, zero, "'obsm' is damaged: its type has no size");
  }
}

// To the end of which it reads.
void heaps_of_names(void**) {
  const scratch::Directory dir;
  const std::string whole = file_with(dir, Writer::Version::earliest, [](const Writer& file) {
    file.add("obsm/X_pca", {20, 3}, H5T_IEEE_F32LE, kItems);
  });
  scratch::write(dir / "x.h5ad", whole);
  assert_true(read_rows(dir / "x.h5ad").items == kItems);
  for (const std::uint64_t size : {UINT64_MAX, std::uint64_t{1} << 62, std::uint64_t{1} << 20, std::uint64_t{8}})
    require_refused(dir, whole, "HEAP", 8, bytes_of(size), "is damaged: its names cannot be read");
  for (const std::uint64_t gap : {UINT64_MAX, std::uint64_t{1} << 62, std::uint64_t{0x50}})
    require_refused(dir, whole, "HEAP", 16, bytes_of(gap), "is damaged: its names cannot be read");
}

}  // namespace

int main() {
  const CMUnitTest tests[] = {
      cmocka_unit_test(sizes_of_chunks),
      cmocka_unit_test(sizes_of_types),
      cmocka_unit_test(heaps_of_names),
  };
  return cmocka_run_group_tests(tests, nullptr, nullptr);
}

// For tests: HDF5 files made with libhdf5, as a host program uses it. Knows nothing of how they are read.
#pragma once

#include <hdf5.h>

#include <cstdint>
#include <cstdlib>
#include <string>
#include <vector>

#if defined __SANITIZE_ADDRESS__
// libhdf5 loses memory over files that are damaged. (Of a program's files, one includes this.)
extern "C" __attribute__((used, visibility("default"))) const char* __lsan_default_suppressions();
extern "C" const char* __lsan_default_suppressions() { return "leak:libhdf5"; }
#endif

namespace hdf5 {

inline hid_t good(hid_t id) {
  if (id < 0) std::abort();
  return id;
}
inline void must(herr_t result) { good(result); }

using Shape = std::vector<hsize_t>;

// A data set's storage: contiguous without chunks.
struct Storage {
  Shape chunk = {};
  int gzip = 0;
  bool shuffle = false;
  bool checksum = false;
  bool compact = false;
};

class Writer {
 public:
  enum class Version { earliest, latest };
  explicit Writer(const std::string& path, Version version = Version::earliest, hsize_t user_block = 0) {
    const hid_t creation = good(H5Pcreate(H5P_FILE_CREATE)), access = good(H5Pcreate(H5P_FILE_ACCESS));
    must(H5Pset_userblock(creation, user_block));
    if (version == Version::latest) must(H5Pset_libver_bounds(access, H5F_LIBVER_LATEST, H5F_LIBVER_LATEST));
    file_ = good(H5Fcreate(path.c_str(), H5F_ACC_TRUNC, creation, access));
    links_ = good(H5Pcreate(H5P_LINK_CREATE));
    must(H5Pset_create_intermediate_group(links_, 1));
    H5Pclose(creation);
    H5Pclose(access);
  }
  ~Writer() {
    H5Pclose(links_);
    H5Fclose(file_);
  }
  Writer(const Writer&) = delete;
  Writer& operator=(const Writer&) = delete;

  hid_t file() const { return file_; }
  // Items of the type's own form, as they are to be in the file; none: nothing is written.
  void add(const std::string& path, const Shape& shape, hid_t type, const std::string& items,
           const Storage& storage = {}) const {
    const hid_t space = good(H5Screate_simple(static_cast<int>(shape.size()), shape.data(), nullptr));
    const hid_t creation = good(H5Pcreate(H5P_DATASET_CREATE));
    if (!storage.chunk.empty())
      must(H5Pset_chunk(creation, static_cast<int>(storage.chunk.size()), storage.chunk.data()));
    if (storage.compact) must(H5Pset_layout(creation, H5D_COMPACT));
    if (storage.shuffle) must(H5Pset_shuffle(creation));
    if (storage.gzip) must(H5Pset_deflate(creation, static_cast<unsigned>(storage.gzip)));
    if (storage.checksum) must(H5Pset_fletcher32(creation));
    add(path, space, type, creation, items);
    H5Pclose(creation);
    H5Sclose(space);
  }
  void add(const std::string& path, hid_t space, hid_t type, hid_t creation, const std::string& items) const {
    const hid_t set = good(H5Dcreate2(file_, path.c_str(), type, space, links_, creation, H5P_DEFAULT));
    if (!items.empty()) must(H5Dwrite(set, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, items.data()));
    H5Dclose(set);
  }
  void group(const std::string& path) const {
    H5Gclose(good(H5Gcreate2(file_, path.c_str(), links_, H5P_DEFAULT, H5P_DEFAULT)));
  }
  void text(const std::string& object, const char* name, const std::string& value, bool variable = true) const {
    const hid_t type = good(H5Tcopy(H5T_C_S1)), space = good(H5Screate(H5S_SCALAR));
    must(H5Tset_size(type, variable ? H5T_VARIABLE : value.size()));
    const hid_t a =
        good(H5Acreate_by_name(file_, object.c_str(), name, type, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT));
    const char* const pointer = value.c_str();
    must(H5Awrite(a, type, variable ? static_cast<const void*>(&pointer) : value.data()));
    H5Aclose(a);
    H5Sclose(space);
    H5Tclose(type);
  }
  void integers(const std::string& object, const char* name, const std::vector<std::int64_t>& values) const {
    const hsize_t count = values.size();
    const hid_t space = good(H5Screate_simple(1, &count, nullptr));
    const hid_t a = good(
        H5Acreate_by_name(file_, object.c_str(), name, H5T_STD_I64LE, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT));
    must(H5Awrite(a, H5T_NATIVE_INT64, values.data()));
    H5Aclose(a);
    H5Sclose(space);
  }

 private:
  hid_t file_ = -1, links_ = -1;
};

// h5py's float16, and the like of other makers.
inline hid_t half(bool big_endian) {
  const hid_t type = good(H5Tcopy(big_endian ? H5T_IEEE_F32BE : H5T_IEEE_F32LE));
  must(H5Tset_fields(type, 15, 10, 5, 0, 10));
  must(H5Tset_size(type, 2));
  must(H5Tset_ebias(type, 15));
  return type;
}

inline hid_t enumeration(const char* zero, const char* one, hid_t base = H5T_STD_I8LE) {
  const hid_t type = good(H5Tenum_create(base));
  const std::int32_t values[] = {0, 1};  // or their first bytes
  must(H5Tenum_insert(type, zero, &values[0]));
  must(H5Tenum_insert(type, one, &values[1]));
  return type;
}

inline ssize_t open_objects() { return H5Fget_obj_count(H5F_OBJ_ALL, H5F_OBJ_ALL); }

}  // namespace hdf5

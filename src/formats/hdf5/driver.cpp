#include "formats/hdf5/driver.h"

#if __has_include(<H5FDdevelop.h>)
#include <H5FDdevelop.h>  // from 1.14 on
#endif

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <new>

namespace knng_hdf5 {
namespace {

// A name that no link to another file can have, so that open() knows whom it is asked for.
struct Name {
  explicit Name(const Access* access) {
    std::snprintf(text, sizeof text, "libknng %p", static_cast<const void*>(access));
  }
  char text[48];
};

// What libhdf5 copies with a list of properties of files' access.
struct Info {
  const Access* access;
};

struct Handle {
  H5FD_t base;  // libhdf5's part; first
  const Access* access;
  haddr_t end_of_allocation;
};

Handle* of(H5FD_t* file) noexcept { return reinterpret_cast<Handle*>(file); }
const Handle* of(const H5FD_t* file) noexcept { return reinterpret_cast<const Handle*>(file); }

H5FD_t* open(const char* name, unsigned flags, hid_t list, haddr_t) {
  const void* const info = ::H5Pget_driver_info(list);
  if (!info || flags != 0) return nullptr;
  const Access* const access = static_cast<const Info*>(info)->access;
  if (std::strcmp(name, Name(access).text) != 0) return nullptr;
  Handle* const handle = new (std::nothrow) Handle{};
  if (!handle) {
    errno = ENOMEM;  // what is asked for the reason
    return nullptr;
  }
  handle->access = access;
  return &handle->base;
}

herr_t close(H5FD_t* file) {
  delete of(file);
  return 0;
}

herr_t query(const H5FD_t*, unsigned long* flags) {
  if (flags) *flags = H5FD_FEAT_DATA_SIEVE;
  return 0;
}

haddr_t get_end_of_allocation(const H5FD_t* file, H5FD_mem_t) { return of(file)->end_of_allocation; }
herr_t set_end_of_allocation(H5FD_t* file, H5FD_mem_t, haddr_t end) {
  of(file)->end_of_allocation = end;
  return 0;
}
haddr_t get_end_of_file(const H5FD_t* file, H5FD_mem_t) { return static_cast<haddr_t>(of(file)->access->input->size); }

herr_t read(H5FD_t* file, H5FD_mem_t type, hid_t, haddr_t at, size_t size, void* dst) {
  const Access& access = *of(file)->access;
  const knng_formats_input& input = *access.input;
  if (type == H5FD_MEM_DRAW && size > access.most) return -1;
  const auto end = static_cast<haddr_t>(input.size);
  if (at > end || size > end - at) return -1;
  const auto bytes = static_cast<std::int64_t>(size);
  return input.read_at(input.user, static_cast<std::int64_t>(at), dst, bytes) == bytes ? 0 : -1;
}

herr_t write(H5FD_t*, H5FD_mem_t, hid_t, haddr_t, size_t, const void*) { return -1; }

// The layout of the table differs between versions of libhdf5, so that it is filled in by names.
const H5FD_class_t& driver_class() {
  static const H5FD_class_t table = [] {
    H5FD_class_t c{};
#ifdef H5FD_CLASS_VERSION
    c.version = H5FD_CLASS_VERSION;
    c.value = static_cast<H5FD_class_value_t>(511);  // of those for tests and private use
#endif
    c.name = "libknng";
    c.maxaddr = static_cast<haddr_t>(INT64_MAX);
    c.fc_degree = H5F_CLOSE_STRONG;
    c.fapl_size = sizeof(Info);
    c.open = &open;
    c.close = &close;
    c.query = &query;
    c.get_eoa = &get_end_of_allocation;
    c.set_eoa = &set_end_of_allocation;
    c.get_eof = &get_end_of_file;
    c.read = &read;
    c.write = &write;
    return c;  // fl_map: all of them H5FD_MEM_DEFAULT, which is 0
  }();
  return table;
}

}  // namespace

InputFile::InputFile(const knng_formats_input& input) : access_{&input} {
  constexpr unsigned kReadOnly = 0;  // H5F_ACC_RDONLY calls H5check()
  driver_ = checked(::H5FDregister(&driver_class()), "cannot be read");
  try {
    const Info info{&access_};
    const Id list = owned(::H5Pcreate(H5P_FILE_ACCESS), "cannot be read");
    checked(::H5Pset_driver(list.get(), driver_, &info), "cannot be read");
    checked(::H5Pset_fclose_degree(list.get(), H5F_CLOSE_STRONG), "cannot be read");
    file_ = checked(::H5Fopen(Name(info.access).text, kReadOnly, list.get()), "is no HDF5 file, or damaged");
  } catch (...) {
    ::H5FDunregister(driver_);
    throw;
  }
}

// libhdf5 keeps memory for files to come; the host has more use for it.
InputFile::~InputFile() {
  ::H5Fclose(file_);
  ::H5FDunregister(driver_);
  ::H5garbage_collect();
}

}  // namespace knng_hdf5

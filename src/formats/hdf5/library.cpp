#include "formats/hdf5/library.h"

#include <cstddef>

namespace knng_hdf5 {
namespace {

std::mutex& only_one() {
  static std::mutex mutex;
  return mutex;
}

// The first entry of the error stack is where it went wrong; what stands above tells who had called.
struct Reason {
  std::string text;
  bool no_memory = false;
};

herr_t note(unsigned n, const H5E_error2_t* entry, void* data) {
  try {
    auto& reason = *static_cast<Reason*>(data);
    if (n == 0 && entry->desc) reason.text = entry->desc;
    reason.no_memory = reason.no_memory || (entry->maj_num == H5E_RESOURCE && entry->min_num == H5E_NOSPACE);
    return 0;
  } catch (...) {
    return -1;
  }
}

}  // namespace

Turn::Turn() : lock_(only_one()) {
#ifndef H5_NO_DEPRECATED_SYMBOLS
  ::H5Eauto_is_v2(H5E_DEFAULT, &version_);
  if (version_ == 0) {
    ::H5Eget_auto1(&old_handler_, &data_);
    ::H5Eset_auto1(nullptr, nullptr);
    return;
  }
#endif
  ::H5Eget_auto2(H5E_DEFAULT, &handler_, &data_);
  ::H5Eset_auto2(H5E_DEFAULT, nullptr, nullptr);
}

Turn::~Turn() {
  ::H5Eclear2(H5E_DEFAULT);
#ifndef H5_NO_DEPRECATED_SYMBOLS
  if (version_ == 0) {
    ::H5Eset_auto1(old_handler_, data_);
    return;
  }
#endif
  ::H5Eset_auto2(H5E_DEFAULT, handler_, data_);
}

// Before anything of which the layout could differ is handed over. (What the headers do of themselves, H5check(), ends
// the process; no macro that calls it is used here.)
void require_version() {
  unsigned major = 0, minor = 0, release = 0;
  ::H5get_libversion(&major, &minor, &release);
  if (major == H5_VERS_MAJOR && minor == H5_VERS_MINOR) return;
  fail(KNNG_ERR_UNSUPPORTED, "the HDF5 library of this process has version %u.%u.%u, and libknng_hdf5.so is for %d.%d",
       major, minor, release, H5_VERS_MAJOR, H5_VERS_MINOR);
}

void fail_in_library(const std::string& what) {
  const bool failed_malloc = knng_formats::out_of_memory();
  Reason reason;
  ::H5Ewalk2(H5E_DEFAULT, H5E_WALK_UPWARD, &note, &reason);
  if (failed_malloc || reason.no_memory) throw std::bad_alloc();
  const char* const text = reason.text.empty() ? "no reason given" : reason.text.c_str();
  fail(KNNG_ERR_FORMAT, "%s (libhdf5: %.100s)", what.c_str(), text);
}

std::string quoted(const std::string& name) {
  constexpr std::size_t kMost = 60;
  if (name.size() <= kMost) return "'" + name + "'";
  return "'..." + name.substr(name.size() - kMost + 3) + "'";
}

}  // namespace knng_hdf5

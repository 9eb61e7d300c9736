// libhdf5 as a guest may use it: one call at a time, nothing printed, its error handler put back, its failures as ours.
// Knows nothing of what is in files. Never H5close(): the host may use the library as well.
#pragma once

#include <hdf5.h>

#include <cstdint>
#include <mutex>
#include <string>
#include <utility>

#include "formats/failure.h"

namespace knng_hdf5 {

using knng_formats::fail;

// While it lives, this thread alone is in libhdf5 for us, and libhdf5 prints no errors.
class Turn {
 public:
  Turn();
  ~Turn();
  Turn(const Turn&) = delete;
  Turn& operator=(const Turn&) = delete;

 private:
  std::lock_guard<std::mutex> lock_;
  unsigned version_ = 2;  // of the handler
  H5E_auto2_t handler_ = nullptr;
#ifndef H5_NO_DEPRECATED_SYMBOLS
  H5E_auto1_t old_handler_ = nullptr;
#endif
  void* data_ = nullptr;
};

// Throws KNNG_ERR_UNSUPPORTED unless the library that was loaded is of the version that this was compiled with.
void require_version();

// Owns an identifier of libhdf5, of whatever kind.
class Id {
 public:
  Id() noexcept = default;
  explicit Id(hid_t id) noexcept : id_(id) {}
  Id(Id&& other) noexcept : id_(std::exchange(other.id_, H5I_INVALID_HID)) {}
  Id& operator=(Id&& other) noexcept {
    std::swap(id_, other.id_);
    return *this;
  }
  ~Id() {
    if (id_ >= 0) ::H5Idec_ref(id_);
  }
  hid_t get() const noexcept { return id_; }
  bool valid() const noexcept { return id_ >= 0; }

 private:
  hid_t id_ = H5I_INVALID_HID;
};

// Throws what libhdf5 could not do, with its own reason: KNNG_ERR_FORMAT, or KNNG_ERR_MEMORY where it had none.
[[noreturn]] void fail_in_library(const std::string& what);

// The same for a result below 0.
template <class Result>
Result checked(Result result, const std::string& what) {
  if (result < 0) fail_in_library(what);
  return result;
}
inline Id owned(hid_t id, const std::string& what) { return Id(checked(id, what)); }

// A name of the file for a message: quoted, and short.
std::string quoted(const std::string& name);

}  // namespace knng_hdf5

// The file as libhdf5 sees it: a driver that reads through the seam and writes nothing. So the file is opened once, is
// neither locked nor looked for by name, and links to other files lead nowhere.
#pragma once

#include <cstdint>

#include "formats/hdf5/library.h"
#include "io/formats_seam.h"

namespace knng_hdf5 {

// What the driver reads from.
struct Access {
  const knng_formats_input* input;
  std::uint64_t most = UINT64_MAX;  // bytes of data that are read at once; more is refused
};

// Opens the file, closes it and all that was opened in it.
class InputFile {
 public:
  // input: lives longer.
  explicit InputFile(const knng_formats_input& input);
  ~InputFile();
  InputFile(const InputFile&) = delete;
  InputFile& operator=(const InputFile&) = delete;
  hid_t get() const noexcept { return file_; }
  // Of it as of its owner: shared by what is opened in it.
  Access& access() noexcept { return access_; }

 private:
  Access access_;
  hid_t driver_ = H5I_INVALID_HID;
  hid_t file_ = H5I_INVALID_HID;
};

}  // namespace knng_hdf5

// For tests of files: a directory that goes away, files of given bytes, and what a call throws. Knows nothing of
// formats.
#pragma once

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "core/error.h"

namespace scratch {

// A directory of its own for each test.
class Directory {
 public:
  Directory() {
    // In memory where there is such a place: files cut at every byte are thousands of small files.
    const char* const chosen = std::getenv("TMPDIR");
    path_ = chosen && *chosen ? chosen : ::access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp";
    path_ += "/knng-test-XXXXXX";
    if (!::mkdtemp(path_.data())) std::abort();
  }
  ~Directory() {
    for (const std::string& name : names()) ::remove((path_ + "/" + name).c_str());
    ::rmdir(path_.c_str());
  }
  Directory(const Directory&) = delete;
  Directory& operator=(const Directory&) = delete;

  std::string operator/(const std::string& name) const { return path_ + "/" + name; }
  const std::string& path() const { return path_; }
  std::vector<std::string> names() const {
    std::vector<std::string> found;
    if (DIR* const dir = ::opendir(path_.c_str())) {
      while (const dirent* entry = ::readdir(dir))
        if (std::strcmp(entry->d_name, ".") != 0 && std::strcmp(entry->d_name, "..") != 0)
          found.emplace_back(entry->d_name);
      ::closedir(dir);
    }
    return found;
  }

 private:
  std::string path_;
};

inline void write(const std::string& path, const std::string& bytes) {
  std::FILE* const file = std::fopen(path.c_str(), "wb");
  if (!file || std::fwrite(bytes.data(), 1, bytes.size(), file) != bytes.size() || std::fclose(file) != 0) std::abort();
}

inline std::string read(const std::string& path) {
  std::string bytes;
  std::FILE* const file = std::fopen(path.c_str(), "rb");
  if (!file) std::abort();
  char block[4096];
  for (std::size_t got; (got = std::fread(block, 1, sizeof block, file)) > 0;) bytes.append(block, got);
  std::fclose(file);
  return bytes;
}

struct Outcome {
  std::int32_t code = KNNG_OK;
  std::string message;
  std::string reason;  // the message without row and column
  std::int64_t limit = -1, row = -1, col = -1;
  bool says(const char* part) const { return message.find(part) != std::string::npos; }
};

// What `call` throws; KNNG_OK if nothing.
template <class Call>
Outcome outcome(Call&& call) {
  try {
    call();
    return {};
  } catch (const libknng::Error& e) {
    const knng_error& info = e.info();
    return {e.code(), e.what(), info.reason, info.limit, info.row, info.col};
  }
}

template <class Item>
std::string bytes_of(Item x, bool big_endian = false) {
  char raw[sizeof x];
  std::memcpy(raw, &x, sizeof x);
  if (big_endian)
    for (std::size_t i = 0; i < sizeof x / 2; ++i) std::swap(raw[i], raw[sizeof x - 1 - i]);
  return std::string(raw, sizeof x);
}

// gzip (RFC 1952) of one stored block, made by hand: at most 65,535 bytes.
inline std::string gzip(const std::string& plain) {
  std::uint32_t crc = 0xffffffffu;
  for (const char c : plain) {
    crc ^= static_cast<unsigned char>(c);
    for (int bit = 0; bit < 8; ++bit) crc = crc >> 1 ^ (crc & 1 ? 0xedb88320u : 0u);
  }
  const auto size = static_cast<std::uint16_t>(plain.size());
  return std::string("\x1f\x8b\x08\0\0\0\0\0\0\x03\x01", 11) + bytes_of(size) +
         bytes_of(static_cast<std::uint16_t>(~size)) + plain + bytes_of(~crc) +
         bytes_of(static_cast<std::uint32_t>(plain.size()));
}

// .npy, version 1.0, with this dictionary and these items.
inline std::string npy(const std::string& dictionary, const std::string& items, int major = 1) {
  const std::string text = dictionary + "\n";
  return std::string("\x93NUMPY") + static_cast<char>(major) + '\0' +
         (major == 1 ? bytes_of(static_cast<std::uint16_t>(text.size()))
                     : bytes_of(static_cast<std::uint32_t>(text.size()))) +
         text + items;
}

inline std::string npy(const char* descr, bool fortran, const std::string& shape, const std::string& items) {
  return npy(std::string("{'descr': '") + descr + "', 'fortran_order': " + (fortran ? "True" : "False") +
                 ", 'shape': " + shape + ", }",
             items);
}

}  // namespace scratch

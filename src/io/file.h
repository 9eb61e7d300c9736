// Files as the operating system has them: a regular file that is read with pread and must not change meanwhile, and a
// file that appears under its name only when it is complete. Knows nothing of formats.
#pragma once

#include <sys/stat.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>

namespace libknng {

class Monitor;

// A path for a message: quoted, on one line, and short enough to leave room for the reason.
std::string shown(const std::string& path);
// What errno means, in words. Thread-safe, unlike strerror.
std::string system_text(int error);

// Owns a file descriptor.
class Descriptor {
 public:
  Descriptor() noexcept = default;
  explicit Descriptor(int fd) noexcept : fd_(fd) {}
  Descriptor(Descriptor&& other) noexcept : fd_(other.release()) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  ~Descriptor();

  int get() const noexcept { return fd_; }
  int release() noexcept {
    const int fd = fd_;
    fd_ = -1;
    return fd;
  }

 private:
  int fd_ = -1;
};

// A regular file open for reading. Reads at different offsets may run at the same time.
class File {
 public:
  // Throws KNNG_ERR_IO if there is no such file, it cannot be read, or it is a directory, a pipe or a device.
  explicit File(std::string path);

  // For who has nothing but its times to tell that a file changes, no checksum: of one that was written just now, waits
  // until they would tell it (docs/guide/files.md). monitor: may stop it; or nullptr.
  void wait_while_young(Monitor* monitor = nullptr);

  const std::string& path() const noexcept { return path_; }
  std::int64_t size() const noexcept { return static_cast<std::int64_t>(opened_.st_size); }

  // Fewer bytes than wanted only at the end of the file.
  std::int64_t read_some(std::int64_t offset, std::byte* dst, std::int64_t bytes) const;
  // All of them: KNNG_ERR_FORMAT where the file ends too early.
  void read(std::int64_t offset, std::byte* dst, std::int64_t bytes) const;
  // Throws KNNG_ERR_IO if size or times are not those at opening; the time of the last change of any kind is one of
  // them, unless the file has another number of names, mode or owner, as when another takes its place.
  void require_unchanged() const;
  // The same without that time, for who can tell otherwise that bytes are the same: the file may have got another name.
  void require_not_written() const;
  [[noreturn]] void fail_changed() const;

 private:
  std::string path_;
  Descriptor fd_;
  struct stat opened_ {};
};

// A file that is written beside its target and renamed by commit(); without commit() nothing of it stays. A symbolic
// link stays one, what it points to is written; what is replaced keeps its mode, and its owner where that is allowed.
class OutputFile {
 public:
  // Throws KNNG_ERR_IO if the directory cannot be written or the target is there and is no writable regular file, or
  // one that this user may not replace; KNNG_ERR_ARGUMENT for an empty path.
  explicit OutputFile(std::string path);
  ~OutputFile();
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;

  const std::string& path() const noexcept { return path_; }
  // Whether there is a file in its place.
  bool replaces() const noexcept { return replaces_; }
  // Whether both go to one place, as through symbolic links.
  bool shares_place(const OutputFile& other) const noexcept { return target_ == other.target_; }
  void write(const void* src, std::int64_t bytes);
  void write_at(std::int64_t offset, const void* src, std::int64_t bytes);
  void commit();

 private:
  friend void commit_together(OutputFile& first, OutputFile& second);

  // Everything but the name.
  void complete();
  void take_name();
  void bring_name_to_disk() const noexcept;
  [[noreturn]] void fail_with(int error) const;

  std::string path_;       // as the caller names it
  std::string target_;     // where it goes: path_, or what the symbolic link path_ points to
  std::string directory_;  // of the target, with the slash; "": the working directory
  bool replaces_ = false;  // a file with this mode, owner and group
  mode_t mode_ = 0;
  uid_t owner_ = 0;
  gid_t group_ = 0;
  std::string temporary_;  // "" once there is none
  Descriptor fd_;
  std::int64_t end_ = 0;
};

// commit() of two files that belong together. Both are complete and on the disk before the first gets its name; where
// the second cannot have its own then, there is in place of the first what was there before.
void commit_together(OutputFile& first, OutputFile& second);

}  // namespace libknng

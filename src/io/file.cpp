#include "io/file.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <thread>

#include "core/error.h"
#include "core/monitor.h"
#include "core/text.h"

namespace libknng {
namespace {

// Linux moves at most 2^31 - 4096 bytes a call; smaller blocks also let signals through sooner.
constexpr std::int64_t kLargestCall = std::int64_t{1} << 28;

const char* kind_of(mode_t mode) noexcept {
  if (S_ISDIR(mode)) return "a directory";
  if (S_ISFIFO(mode)) return "a pipe";
  if (S_ISSOCK(mode)) return "a socket";
  return "a device";
}

bool same_time(const timespec& a, const timespec& b) noexcept { return a.tv_sec == b.tv_sec && a.tv_nsec == b.tv_nsec; }

// Whether nothing says that the bytes are others.
bool same_content(const struct stat& a, const struct stat& b) noexcept {
  return a.st_size == b.st_size && same_time(a.st_mtim, b.st_mtim);
}

// Whether another number of names, another mode or another owner explains that the file was touched. One that is
// replaced by rename loses its name.
bool has_other_names(const struct stat& a, const struct stat& b) noexcept {
  return a.st_nlink != b.st_nlink || a.st_mode != b.st_mode || a.st_uid != b.st_uid || a.st_gid != b.st_gid;
}

// Whether nobody touched the file at all, but for that: nobody can put that time back.
bool same_state(const struct stat& a, const struct stat& b) noexcept {
  return same_content(a, b) && (same_time(a.st_ctim, b.st_ctim) || has_other_names(a, b));
}

// Another name for every call of every process that writes here.
std::string temporary_name() {
  static std::atomic<unsigned> calls{0};
  const auto now = std::chrono::steady_clock::now().time_since_epoch().count();
  char name[64];
  std::snprintf(name, sizeof name, ".knng-%lx-%x-%llx.part", static_cast<unsigned long>(getpid()), calls.fetch_add(1),
                static_cast<unsigned long long>(now));
  return name;
}

std::string directory_of(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  return slash == std::string::npos ? "" : path.substr(0, slash + 1);
}

// What is at the end of symbolic links, whether it is there or not.
std::string end_of_links(std::string path) {
  constexpr int kMostLinks = 40;  // as the kernel
  for (int links = 0; links < kMostLinks; ++links) {
    std::error_code none;
    const std::string to = std::filesystem::read_symlink(path, none);
    if (none) return path;
    path = to.starts_with('/') ? to : directory_of(path).append(to);
  }
  return path;  // a ring of links, which cannot be opened
}

// Whether rename() may put a file in place of this one: of a directory with the sticky bit only its owner may.
bool may_replace(const struct stat& file, const std::string& directory) {
  struct stat in {};
  if (::stat(directory.empty() ? "." : directory.c_str(), &in) != 0 || (in.st_mode & S_ISVTX) == 0) return true;
  const uid_t self = ::geteuid();
  return self == 0 || self == file.st_uid || self == in.st_uid;
}

// So that a file whose name is there after a crash has its bytes. Some file systems have no such call.
bool brought_to_disk(int fd) noexcept {
  while (::fsync(fd) != 0) {
    if (errno == EINTR) continue;
    return errno == EINVAL || errno == ENOSYS || errno == ENOTSUP || errno == EROFS;
  }
  return true;
}

}  // namespace

std::string shown(const std::string& path) {
  constexpr std::size_t kMost = 160;
  std::size_t begin = path.size() <= kMost ? 0 : path.size() - kMost + 3;
  // Not in the middle of a character.
  while (begin > 0 && begin < path.size() && (static_cast<unsigned char>(path[begin]) & 0xc0) == 0x80) ++begin;
  std::string text(begin > 0 ? "'..." : "'");
  text.append(plain_text(path.substr(begin))).append("'");
  return text;
}

std::string system_text(int error) {
  char buffer[128];
  return strerror_r(error, buffer, sizeof buffer);
}

Descriptor::~Descriptor() {
  if (fd_ >= 0) ::close(fd_);
}

// O_NONBLOCK: opening a pipe must not wait for its writer; it changes nothing for regular files.
File::File(std::string path)
    : path_(std::move(path)), fd_(::open(path_.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY)) {
  if (fd_.get() < 0 || ::fstat(fd_.get(), &opened_) != 0) {
    const int error = errno;
    fail(KNNG_ERR_IO, "path", "cannot open %s: %s", shown(path_).c_str(), system_text(error).c_str());
  }
  if (!S_ISREG(opened_.st_mode))
    fail(KNNG_ERR_IO, "path", "cannot read %s: it is %s, only regular files are read", shown(path_).c_str(),
         kind_of(opened_.st_mode));
}

// A file's times move in steps, and a write sets them when it begins. So a file that was written a moment ago can be
// written again, or still, without another time. Once it is older than a step, and than a write of all of it takes,
// every later write moves them.
void File::wait_while_young(Monitor* monitor) {
  constexpr std::int64_t kSecond = 1'000'000'000, kPatience = 5 * kSecond, kNap = kSecond / 1000;
  constexpr std::int64_t kLongestWrite = std::int64_t{1} << 31;  // bytes that a call moves at most; 2 GB/s
  // In ns. Whole seconds are those of a file system that has no others.
  const auto enough = [&] {
    return std::min(size(), kLongestWrite) / 2 + (opened_.st_ctim.tv_nsec == 0 ? kSecond : 0);
  };
  // By the clock that files get their times of: it moves when a step is over.
  const auto age = [&] {
    timespec now{};
    ::clock_gettime(CLOCK_REALTIME_COARSE, &now);
    return (now.tv_sec - opened_.st_ctim.tv_sec) * kSecond + now.tv_nsec - opened_.st_ctim.tv_nsec;
  };
  const auto steady = [] { return std::chrono::steady_clock::now(); };
  const auto begun = steady();
  for (auto seen = begun;;) {
    const std::int64_t old = age();
    const std::int64_t watched = (steady() - seen) / std::chrono::nanoseconds(1);
    if (old > enough() || watched > enough() + kSecond / 50) return;  // watched: where the times are another clock's
    if (steady() > begun + std::chrono::nanoseconds(kPatience))
      fail(KNNG_ERR_IO, "path", "%s is being written", shown(path_).c_str());
    if (monitor) monitor->poll();
    std::this_thread::sleep_for(std::chrono::nanoseconds(std::clamp(enough() - old, kNap, 20 * kNap)));
    struct stat now {};
    if (::fstat(fd_.get(), &now) != 0) fail_changed();
    if (same_state(now, opened_)) continue;
    opened_ = now;
    seen = steady();
  }
}

std::int64_t File::read_some(std::int64_t offset, std::byte* dst, std::int64_t bytes) const {
  std::int64_t done = 0;
  while (done < bytes) {
    const auto want = static_cast<std::size_t>(std::min(bytes - done, kLargestCall));
    const ssize_t got = ::pread(fd_.get(), dst + done, want, static_cast<off_t>(offset + done));
    if (got == 0) break;
    if (got < 0) {
      const int error = errno;
      if (error == EINTR) continue;
      const std::int64_t at = offset + done;
      fail(KNNG_ERR_IO, "path", "cannot read %s at byte %lld: %s", shown(path_).c_str(), static_cast<long long>(at),
           system_text(error).c_str());
    }
    done += got;
  }
  return done;
}

void File::read(std::int64_t offset, std::byte* dst, std::int64_t bytes) const {
  const std::int64_t got = read_some(offset, dst, bytes);
  if (got == bytes) return;
  if (offset + got < size()) fail_changed();
  const std::int64_t needed = offset + bytes;
  fail(KNNG_ERR_FORMAT, "path", {.given = size(), .limit = needed},
       "%s is truncated: it has %lld bytes and should have at least %lld", shown(path_).c_str(),
       static_cast<long long>(size()), static_cast<long long>(needed));
}

void File::require_unchanged() const {
  struct stat now {};
  if (::fstat(fd_.get(), &now) != 0 || !same_state(now, opened_)) fail_changed();
}

void File::require_not_written() const {
  struct stat now {};
  if (::fstat(fd_.get(), &now) != 0 || !same_content(now, opened_)) fail_changed();
}

void File::fail_changed() const { fail(KNNG_ERR_IO, "path", "%s changed since it was opened", shown(path_).c_str()); }

OutputFile::OutputFile(std::string path) : path_(std::move(path)) {
  if (path_.empty()) fail(KNNG_ERR_ARGUMENT, "path", "path is empty: it names no file");
  target_ = end_of_links(path_);
  directory_ = directory_of(target_);
  struct stat there {};
  replaces_ = ::stat(target_.c_str(), &there) == 0;
  if (!replaces_ && errno != ENOENT) fail_with(errno);
  if (replaces_) {
    // rename() would put a file in place of /dev/null as readily as in place of an old result.
    if (!S_ISREG(there.st_mode))
      fail(KNNG_ERR_IO, "path", "cannot write %s: it is %s", shown(path_).c_str(), kind_of(there.st_mode));
    if (::access(target_.c_str(), W_OK) != 0) fail_with(errno);
    if (!may_replace(there, directory_))
      fail(KNNG_ERR_IO, "path", "cannot write %s: it is another user's, in a directory whose files only owners replace",
           shown(path_).c_str());
    mode_ = there.st_mode & 0777;
    owner_ = there.st_uid;
    group_ = there.st_gid;
  }
  const mode_t mode = replaces_ ? 0600 : 0666;  // nobody reads it who may not read what it replaces
  for (int attempt = 0; fd_.get() < 0; ++attempt) {
    std::string name = directory_ + temporary_name();
    const int fd = ::open(name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, mode);
    if (fd >= 0) {
      fd_ = Descriptor(fd);
      temporary_ = std::move(name);
    } else if (errno != EINTR && (errno != EEXIST || attempt > 100)) {
      fail_with(errno);
    }
  }
}

OutputFile::~OutputFile() {
  if (!temporary_.empty()) ::unlink(temporary_.c_str());
}

void OutputFile::write(const void* src, std::int64_t bytes) { write_at(end_, src, bytes); }

void OutputFile::write_at(std::int64_t offset, const void* src, std::int64_t bytes) {
  const auto* from = static_cast<const std::byte*>(src);
  std::int64_t done = 0;
  while (done < bytes) {
    const auto want = static_cast<std::size_t>(std::min(bytes - done, kLargestCall));
    const ssize_t put = ::pwrite(fd_.get(), from + done, want, static_cast<off_t>(offset + done));
    if (put < 0) {
      if (errno == EINTR) continue;
      fail_with(errno);
    }
    done += put;
  }
  end_ = std::max(end_, offset + bytes);
}

void OutputFile::commit() {
  complete();
  take_name();
  bring_name_to_disk();
}

void OutputFile::complete() {
  if (replaces_) {
    // Only root gives files away; members of a group may give theirs to it.
    if (::fchown(fd_.get(), owner_, group_) != 0)
      static_cast<void>(::fchown(fd_.get(), static_cast<uid_t>(-1), group_) == 0);
    if (::fchmod(fd_.get(), mode_) != 0) fail_with(errno);
  }
  if (!brought_to_disk(fd_.get())) fail_with(errno);
  // Network file systems report a full disk only here. After EINTR the descriptor is gone all the same.
  if (::close(fd_.release()) != 0 && errno != EINTR) fail_with(errno);
}

void OutputFile::take_name() {
  if (::rename(temporary_.c_str(), target_.c_str()) != 0) fail_with(errno);
  temporary_.clear();
}

// The file is there and whole, whatever comes of it.
void OutputFile::bring_name_to_disk() const noexcept {
  const Descriptor at(::open(directory_.empty() ? "." : directory_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (at.get() >= 0) brought_to_disk(at.get());
}

void commit_together(OutputFile& first, OutputFile& second) {
  first.complete();
  second.complete();
  // The old file under another name, where the file system has such.
  const std::string old = first.directory_ + temporary_name();
  const bool kept = first.replaces_ && ::link(first.target_.c_str(), old.c_str()) == 0;
  try {
    first.take_name();
  } catch (...) {
    if (kept) ::unlink(old.c_str());
    throw;
  }
  try {
    second.take_name();
  } catch (...) {
    if (kept)
      ::rename(old.c_str(), first.target_.c_str());
    else if (!first.replaces_)
      ::unlink(first.target_.c_str());
    throw;
  }
  if (kept) ::unlink(old.c_str());
  first.bring_name_to_disk();
  if (second.directory_ != first.directory_) second.bring_name_to_disk();
}

void OutputFile::fail_with(int error) const {
  fail(KNNG_ERR_IO, "path", "cannot write %s: %s", shown(path_).c_str(), system_text(error).c_str());
}

}  // namespace libknng

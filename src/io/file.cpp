#include "io/file.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>

#include "core/error.h"

namespace libknng {
namespace {

// Linux moves at most 2^31 - 4096 bytes a call; smaller blocks also let signals through sooner.
constexpr std::int64_t kBlock = std::int64_t{1} << 28;

const char* kind_of(mode_t mode) noexcept {
  if (S_ISDIR(mode)) return "a directory";
  if (S_ISFIFO(mode)) return "a pipe";
  if (S_ISSOCK(mode)) return "a socket";
  return "a device";
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

}  // namespace

std::string shown(const std::string& path) {
  constexpr std::size_t kMost = 160;
  std::string text = path.size() <= kMost ? path : "..." + path.substr(path.size() - kMost + 3);
  for (char& c : text)
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) c = '?';
  return "'" + text + "'";
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

std::int64_t File::read_some(std::int64_t offset, std::byte* dst, std::int64_t bytes) const {
  std::int64_t done = 0;
  while (done < bytes) {
    const auto want = static_cast<std::size_t>(std::min(bytes - done, kBlock));
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
  if (::fstat(fd_.get(), &now) != 0 || now.st_size != opened_.st_size || now.st_mtim.tv_sec != opened_.st_mtim.tv_sec ||
      now.st_mtim.tv_nsec != opened_.st_mtim.tv_nsec)
    fail_changed();
}

void File::fail_changed() const { fail(KNNG_ERR_IO, "path", "%s changed since it was opened", shown(path_).c_str()); }

OutputFile::OutputFile(std::string path) : path_(std::move(path)), target_(path_) {
  struct stat there {};
  if (::stat(path_.c_str(), &there) == 0) {
    // rename() would put a file in place of /dev/null as readily as in place of an old result.
    if (!S_ISREG(there.st_mode))
      fail(KNNG_ERR_IO, "path", "cannot write %s: it is %s", shown(path_).c_str(), kind_of(there.st_mode));
    if (::access(path_.c_str(), W_OK) != 0) fail_with(errno);
    const std::unique_ptr<char, decltype(&std::free)> resolved(::realpath(path_.c_str(), nullptr), &std::free);
    if (resolved) target_ = resolved.get();
  }
  const std::string directory = directory_of(target_);
  for (int attempt = 0; fd_.get() < 0; ++attempt) {
    std::string name = directory + temporary_name();
    const int fd = ::open(name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0666);
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
    const auto want = static_cast<std::size_t>(std::min(bytes - done, kBlock));
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
  // Network file systems report a full disk only here. After EINTR the descriptor is gone all the same.
  if (::close(fd_.release()) != 0 && errno != EINTR) fail_with(errno);
  if (::rename(temporary_.c_str(), target_.c_str()) != 0) fail_with(errno);
  temporary_.clear();
}

void OutputFile::fail_with(int error) const {
  fail(KNNG_ERR_IO, "path", "cannot write %s: %s", shown(path_).c_str(), system_text(error).c_str());
}

}  // namespace libknng

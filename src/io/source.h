// Bytes that a format reads from front to back: a plain file, an unpacked .gz, a member of a zip archive. Knows nothing
// of what the bytes mean.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

namespace libknng {

class File;
class Monitor;

class Source {
 public:
  virtual ~Source() = default;

  // For messages.
  const std::string& name() const noexcept { return name_; }
  // No more bytes than this can come. Sizes that a header claims are held against it before memory is asked for.
  std::int64_t most() const noexcept { return most_; }
  // most() is the exact size, and seek() works.
  bool plain() const noexcept { return plain_; }
  std::int64_t position() const noexcept { return position_; }
  // What a plain source reads from; else nullptr.
  virtual std::shared_ptr<const File> file() const noexcept { return nullptr; }

  // The next bytes, all of them: KNNG_ERR_FORMAT ("truncated") where fewer come.
  void read(std::byte* dst, std::int64_t bytes);
  // The next bytes; fewer than wanted only at the end.
  std::int64_t read_at_most(std::byte* dst, std::int64_t bytes);
  // What is read next; only for plain sources.
  void seek(std::int64_t position);
  // The first byte is read next, of any source.
  void restart();
  // Throws KNNG_ERR_FORMAT if bytes are left over and KNNG_ERR_IO if the file changed since it was opened.
  void finish();
  // Throws KNNG_ERR_IO if it did.
  virtual void require_unchanged() const = 0;

 protected:
  Source(std::string name, std::int64_t most, bool plain) : name_(std::move(name)), most_(most), plain_(plain) {}

 private:
  // Fewer bytes than wanted only at the end.
  virtual std::int64_t read_some(std::byte* dst, std::int64_t bytes) = 0;
  // What follows is read from the first byte on; nothing to do where position() is all that counts.
  virtual void unwind() {}

  std::string name_;
  std::int64_t most_;
  bool plain_;
  std::int64_t position_ = 0;
};

// Of a file that was written a moment ago: whether to read it at once, or when its times would tell that it is written
// again (File::wait_while_young).
enum class Young { read, wait };

// Throws KNNG_ERR_IO. monitor: may stop the waiting; or nullptr.
std::unique_ptr<Source> open_plain(const std::string& path, Young young = Young::read, Monitor* monitor = nullptr);

// Throws KNNG_ERR_FORMAT unless `claimed` bytes (header included) can come, or, of a plain source, are exactly there.
void require_size(const Source& source, std::int64_t claimed, const char* claim);

// Product of counts that a file claims; KNNG_ERR_FORMAT where it leaves int64_t.
std::int64_t claimed_product(const Source& source, std::int64_t a, std::int64_t b, const char* claim);

}  // namespace libknng

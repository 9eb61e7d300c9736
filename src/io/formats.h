// The door to libknng_formats.so: its table, and the C++ side of the callbacks and streams of the seam. gz.h and zip.h
// stand on it. Knows nothing of rows or graphs.
#pragma once

#include <exception>
#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "io/file.h"
#include "io/formats_seam.h"
#include "io/source.h"

namespace libknng {

// "" if this table is of the build that the library was made with, else what differs.
std::string seam_objection(const void* table);

// The table; KNNG_ERR_UNSUPPORTED with what to install if there is none. `path`: the file that needs it.
const knng_formats_seam& formats_seam(const std::string& path);

// Throws what went wrong on the other side; `pending` (a failure of our own callbacks) stands first.
[[noreturn]] void fail_at_seam(const std::string& name, const knng_formats_error& error,
                               const std::exception_ptr& pending);

// A file lent to a library behind a seam.
class LentFile {
 public:
  explicit LentFile(const std::string& path);
  explicit LentFile(std::shared_ptr<const File> file);
  LentFile(const LentFile&) = delete;
  LentFile& operator=(const LentFile&) = delete;

  const File& file() const noexcept { return *file_; }
  const knng_formats_input& input() const noexcept { return input_; }
  // The failure of the last read, if any; forgotten by asking.
  std::exception_ptr take_failure() noexcept { return std::exchange(failure_, nullptr); }

 private:
  static std::int64_t read_at(void* user, std::int64_t offset, void* dst, std::int64_t bytes) noexcept;

  std::shared_ptr<const File> file_;
  knng_formats_input input_;
  std::exception_ptr failure_;
};

using SeamStream = std::unique_ptr<knng_formats_stream, void (*)(knng_formats_stream*)>;

// Unpacked bytes that come from the formats library.
class SeamSource final : public Source {
 public:
  // Opens the stream at its first byte; a status and an error as at the seam. Keeps alive what the stream reads from.
  using Open = std::function<std::int32_t(knng_formats_stream**, knng_formats_error*)>;

  SeamSource(std::string name, std::int64_t most, const knng_formats_seam& seam, std::shared_ptr<LentFile> file,
             Open open);
  void require_unchanged() const override { file_->file().require_unchanged(); }

 private:
  std::int64_t read_some(std::byte* dst, std::int64_t bytes) override;
  void unwind() override;

  const knng_formats_seam& seam_;
  std::shared_ptr<LentFile> file_;
  Open open_;
  SeamStream stream_;  // goes first
};

// Deflate makes 258 bytes of 2 bits at best: no more can come out of so many packed bytes.
std::int64_t most_unpacked(std::int64_t packed) noexcept;

}  // namespace libknng

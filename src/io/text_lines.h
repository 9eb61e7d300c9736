// Lines of a text, one after the other, through a buffer that holds any one of them whole. Lines end in LF or CRLF, the
// last one perhaps in neither; a byte order mark of UTF-8 is passed over. Knows nothing of what is in a line.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>

#include "core/buffer.h"
#include "io/source.h"

namespace libknng {

inline constexpr std::int64_t kTextBlock = std::int64_t{1} << 18;    // bytes that are read at a time
inline constexpr std::int64_t kLongestLine = std::int64_t{1} << 26;  // bytes

class TextLines {
 public:
  explicit TextLines(std::unique_ptr<Source> source, std::int64_t block = kTextBlock);

  // The next line without its end; it lasts until the next call. false: there is none. Throws KNNG_ERR_FORMAT for a
  // line that is longer than kLongestLine, for UTF-16 and for a NUL byte, which no text has.
  bool next(std::string_view& line);
  // The first line comes next.
  void restart();

  std::int64_t number() const noexcept { return number_; }  // of the line that next() gave last, from 1
  std::int64_t blocks() const noexcept { return blocks_; }  // read so far
  std::int64_t buffer_bytes() const noexcept { return buffer_.bytes(); }
  Source& source() const noexcept { return *source_; }

 private:
  void fill();
  void make_room();
  void check_start();
  void check(std::string_view line) const;

  const std::unique_ptr<Source> source_;
  Buffer<char> buffer_;  // [next_, end_) is still to be given
  std::int64_t next_ = 0;
  std::int64_t end_ = 0;
  bool at_end_ = false;  // of the source
  std::int64_t number_ = 0;
  std::int64_t blocks_ = 0;
};

}  // namespace libknng

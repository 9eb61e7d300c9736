#include "io/text_lines.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "core/error.h"
#include "io/file.h"

namespace libknng {
namespace {

// A line, its end, and one byte by which a longer one shows.
constexpr std::int64_t kLargestBuffer = kLongestLine + 3;
constexpr std::int64_t kSmallestBuffer = 4;  // for a byte order mark

}  // namespace

TextLines::TextLines(std::unique_ptr<Source> source, std::int64_t block)
    : source_(std::move(source)), buffer_(std::max(kSmallestBuffer, std::min(source_->most(), block))) {}

bool TextLines::next(std::string_view& line) {
  std::int64_t seen = next_;  // no line end before it
  const char* stop = nullptr;
  for (;;) {
    if (seen < end_)
      stop = static_cast<const char*>(std::memchr(buffer_.data() + seen, '\n', static_cast<std::size_t>(end_ - seen)));
    if (stop || at_end_) break;
    seen = end_ - next_;
    fill();
  }
  if (!stop && next_ == end_) return false;
  const char* const first = buffer_.data() + next_;
  const char* last = stop ? stop : buffer_.data() + end_;
  next_ = stop ? stop + 1 - buffer_.data() : end_;
  ++number_;
  if (last > first && last[-1] == '\r') --last;
  line = std::string_view(first, static_cast<std::size_t>(last - first));
  check(line);
  return true;
}

void TextLines::restart() {
  source_->restart();
  next_ = end_ = number_ = 0;
  at_end_ = false;
}

// What is left goes to the buffer's beginning, and as much as it has room for comes behind it.
void TextLines::fill() {
  const bool first = end_ == 0 && number_ == 0;
  std::memmove(buffer_.data(), buffer_.data() + next_, static_cast<std::size_t>(end_ - next_));
  end_ -= std::exchange(next_, 0);
  if (end_ == buffer_.size()) make_room();
  const std::int64_t room = buffer_.size() - end_;
  const std::int64_t got = source_->read_at_most(reinterpret_cast<std::byte*>(buffer_.data() + end_), room);
  end_ += got;
  at_end_ = got < room;
  ++blocks_;
  if (first) check_start();
}

void TextLines::make_room() {
  if (buffer_.size() >= kLargestBuffer) {
    ++number_;
    check(std::string_view(buffer_.data(), static_cast<std::size_t>(end_)));
  }
  Buffer<char> larger(std::min(2 * buffer_.size(), kLargestBuffer));
  std::memcpy(larger.data(), buffer_.data(), static_cast<std::size_t>(end_));
  buffer_ = std::move(larger);
}

void TextLines::check_start() {
  const auto starts = [&](std::string_view mark) {
    return std::string_view(buffer_.data(), static_cast<std::size_t>(end_)).starts_with(mark);
  };
  if (starts("\xff\xfe") || starts("\xfe\xff"))
    fail(KNNG_ERR_FORMAT, "path", "%s is UTF-16 text: save it as UTF-8", shown(source_->name()).c_str());
  if (starts("\xef\xbb\xbf")) next_ = 3;
}

// Line number_; or as much of it as there is room for.
void TextLines::check(std::string_view line) const {
  if (line.find('\0') != std::string_view::npos)
    fail(KNNG_ERR_FORMAT, "path", "%s is no text: line %lld has a NUL byte", shown(source_->name()).c_str(),
         static_cast<long long>(number_));
  if (std::ssize(line) > kLongestLine)
    fail(KNNG_ERR_FORMAT, "path", {.limit = kLongestLine}, "%s: line %lld has more than %lld bytes",
         shown(source_->name()).c_str(), static_cast<long long>(number_), static_cast<long long>(kLongestLine));
}

}  // namespace libknng

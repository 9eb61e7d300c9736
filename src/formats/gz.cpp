#include "formats/gz.h"

#include <zlib.h>

#include <algorithm>
#include <array>

#include "formats/failure.h"
#include "formats/stream.h"

namespace knng_formats {
namespace {

class GzStream final : public knng_formats_stream {
 public:
  explicit GzStream(const knng_formats_input& input) : input_(input) {
    // 15 + 16: the largest window, gzip header and trailer with its checksum, no raw zlib data.
    if (::inflateInit2(&state_, 15 + 16) != Z_OK) throw std::bad_alloc();
  }
  ~GzStream() override { ::inflateEnd(&state_); }
  GzStream(const GzStream&) = delete;
  GzStream& operator=(const GzStream&) = delete;

  std::int64_t read(void* dst, std::int64_t bytes) override {
    auto* const to = static_cast<Bytef*>(dst);
    std::int64_t done = 0;
    while (done < bytes) {
      if (state_.avail_in == 0) fill();
      if (member_ended_) {
        if (state_.avail_in == 0) break;
        ::inflateReset(&state_);
        member_ended_ = false;
      }
      if (state_.avail_in == 0) fail(KNNG_ERR_FORMAT, "truncated: the gzip data end in the middle");
      const auto room = static_cast<uInt>(std::min(bytes - done, kMostAtOnce));
      state_.next_out = to + done;
      state_.avail_out = room;
      const int status = ::inflate(&state_, Z_NO_FLUSH);
      done += room - state_.avail_out;
      if (status == Z_STREAM_END)
        member_ended_ = true;
      else if (status == Z_MEM_ERROR)
        throw std::bad_alloc();
      else if (status != Z_OK && status != Z_BUF_ERROR)
        fail(KNNG_ERR_FORMAT, "damaged gzip data (%s) before its byte %lld",
             state_.msg ? state_.msg : "no reason given", static_cast<long long>(next_));
    }
    return done;
  }

 private:
  static constexpr std::int64_t kMostAtOnce = std::int64_t{1} << 30;

  void fill() {
    const std::int64_t got =
        input_.read_at(input_.user, next_, packed_.data(), static_cast<std::int64_t>(packed_.size()));
    if (got < 0) fail(KNNG_ERR_IO, "cannot be read");
    next_ += got;
    state_.next_in = packed_.data();
    state_.avail_in = static_cast<uInt>(got);
  }

  const knng_formats_input& input_;
  z_stream state_ = {};
  std::int64_t next_ = 0;  // byte of the file that comes after packed_
  bool member_ended_ = false;
  std::array<Bytef, 256 * 1024> packed_;
};

std::int32_t open(knng_formats_stream** out, const knng_formats_input* input, knng_formats_error* error) {
  return at_seam(error, [&] { *out = new GzStream(*input); });
}

}  // namespace

const knng_formats_gz_calls gz_calls = {.open = &open};

}  // namespace knng_formats

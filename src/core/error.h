// What a failure is inside the library: an exception that carries the public knng_error, and the thread's last failure.
// Knows nothing of where failures come from. The C boundary (capi/guard.h) turns exceptions into status codes.
#pragma once

#include <cstdint>
#include <exception>

#include "knng/types.h"

namespace libknng {

// Numbers that go with a message, so that languages that count from 1 can word their own.
struct Where {
  std::int64_t row = -1;
  std::int64_t col = -1;
  std::int64_t given = -1;
  std::int64_t limit = -1;
};

class Error : public std::exception {
 public:
  explicit Error(const knng_error& what) noexcept : what_(what) {}
  const char* what() const noexcept override { return what_.message; }
  const knng_error& info() const noexcept { return what_; }
  knng_status code() const noexcept { return what_.code; }

 private:
  knng_error what_;
};

// Throws an Error. `argument` names the argument, setting or member at fault ("" if none). The printf text is the
// reason: it does not tell row and column, since the message appends them and languages that count from 1 word their
// own.
[[noreturn, gnu::format(printf, 3, 4)]] void fail(knng_status code, const char* argument, const char* format, ...);
[[noreturn, gnu::format(printf, 4, 5)]] void fail(knng_status code, const char* argument, const Where& where,
                                                  const char* format, ...);

// A failure without positions, made without allocating.
knng_error plain_error(knng_status code, const char* argument, const char* reason) noexcept;

// The thread's last failure; plain memory, so that it can be set when there is none left.
const knng_error& last_error() noexcept;
void set_last_error(const knng_error& what) noexcept;

}  // namespace libknng

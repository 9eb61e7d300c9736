// How the command ends: the exit codes of the manual page, and the exception that carries one with its line of text.
// Knows nothing of commands.
#pragma once

#include <knng.h>

#include <cstdint>
#include <stdexcept>
#include <string>
#include <utility>

namespace cli {

// 1 is left to what is not the command itself, such as the shell.
enum Exit : int {
  kDone = 0,
  kUsage = 2,         // arguments that make no sense, alone or for this data
  kData = 3,          // values or files that are not what they should be
  kIo = 4,            // a file could not be opened, read or written
  kMemory = 5,        // not enough, or not enough allowed
  kUnavailable = 6,   // not in this build, or no such device
  kDefect = 7,        // a defect of the library
  kUnchecked = 8,     // a list that the library made is not what it checked it against
  kDiffers = 9,       // check: a row differs
  kInterrupted = 128  // and the number of the signal
};

class Failure : public std::runtime_error {
 public:
  // `setting`: the argument of the library at fault, such as the name of a setting; "" if there is none. `limit`: what
  // it would have to be at least or at most; -1 if there is no such number.
  Failure(int exit_code, const std::string& line, std::string setting = "", std::int64_t limit = -1)
      : std::runtime_error(line), exit_code_(exit_code), setting_(std::move(setting)), limit_(limit) {}
  int exit_code() const noexcept { return exit_code_; }
  const std::string& setting() const noexcept { return setting_; }
  std::int64_t limit() const noexcept { return limit_; }

 private:
  int exit_code_;
  std::string setting_;
  std::int64_t limit_;
};

constexpr int exit_code(knng_status status) {
  switch (status) {
    case KNNG_OK: return kDone;
    case KNNG_ERR_ARGUMENT:
    case KNNG_ERR_RANGE:
    case KNNG_ERR_OPTION:
    case KNNG_ERR_STATE: return kUsage;
    case KNNG_ERR_DATA:
    case KNNG_ERR_FORMAT: return kData;
    case KNNG_ERR_IO: return kIo;
    case KNNG_ERR_MEMORY:
    case KNNG_ERR_BUDGET: return kMemory;
    case KNNG_ERR_UNSUPPORTED:
    case KNNG_ERR_DEVICE: return kUnavailable;
    case KNNG_ERR_CANCELLED: return kInterrupted;
    case KNNG_ERR_CHECK: return kUnchecked;
    default: return kDefect;
  }
}

// For calls of the library to fill in; the command makes one after the other.
inline knng_error* error() {
  static knng_error last = knng_no_error();
  return &last;
}

// A failure of the library, which has filled in error(), with the library's own line.
inline Failure last_failure(knng_status status) {
  if (status == KNNG_ERR_CANCELLED) return {kInterrupted, "interrupted"};
  return {exit_code(status), error()->message, error()->argument, error()->limit};
}

// Passes success.
inline void check(knng_status status) {
  if (status != KNNG_OK) throw last_failure(status);
}

}  // namespace cli

#include "core/error.h"

#include <cstdarg>
#include <cstdio>
#include <cstring>

namespace libknng {
namespace {

thread_local knng_error last = {sizeof(knng_error), KNNG_OK, -1, -1, -1, -1, "", "", ""};

knng_error make(knng_status code, const char* argument, const Where& where) noexcept {
  knng_error e = {sizeof(knng_error), code, where.row, where.col, where.given, where.limit, "", "", ""};
  std::snprintf(e.argument, sizeof e.argument, "%s", argument);
  return e;
}

// What callers gave may hold line ends and escapes.
void keep_one_line(char* text) noexcept {
  for (; *text; ++text)
    if ((*text > 0 && *text < ' ') || *text == 127) *text = '?';
}

// The message is the reason with its position, which counts from 0 like everything in C.
void word(knng_error& e, const char* format, std::va_list args) noexcept {
  std::vsnprintf(e.reason, sizeof e.reason, format, args);
  keep_one_line(e.reason);
  const auto row = static_cast<long long>(e.row), col = static_cast<long long>(e.col);
  if (e.row >= 0 && e.col >= 0)
    std::snprintf(e.message, sizeof e.message, "%s (row %lld, column %lld)", e.reason, row, col);
  else if (e.row >= 0)
    std::snprintf(e.message, sizeof e.message, "%s (row %lld)", e.reason, row);
  else
    std::snprintf(e.message, sizeof e.message, "%s", e.reason);
}

}  // namespace

void fail(knng_status code, const char* argument, const char* format, ...) {
  knng_error e = make(code, argument, {});
  std::va_list args;
  va_start(args, format);
  word(e, format, args);
  va_end(args);
  throw Error(e);
}

void fail(knng_status code, const char* argument, const Where& where, const char* format, ...) {
  knng_error e = make(code, argument, where);
  std::va_list args;
  va_start(args, format);
  word(e, format, args);
  va_end(args);
  throw Error(e);
}

const knng_error& last_error() noexcept { return last; }

void set_last_error(const knng_error& what) noexcept { last = what; }

knng_error plain_error(knng_status code, const char* argument, const char* reason) noexcept {
  knng_error e = make(code, argument, {});
  std::snprintf(e.reason, sizeof e.reason, "%s", reason);
  std::snprintf(e.message, sizeof e.message, "%s", reason);
  return e;
}

}  // namespace libknng

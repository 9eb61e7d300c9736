#include "core/error.h"

#include <cstdarg>
#include <cstdio>
#include <cstring>

namespace libknng {
namespace {

thread_local knng_error last = {sizeof(knng_error), KNNG_OK, -1, -1, -1, -1, "", ""};

knng_error make(knng_status code, const char* argument, const Where& where) noexcept {
  knng_error e = {sizeof(knng_error), code, where.row, where.col, where.given, where.limit, "", ""};
  std::snprintf(e.argument, sizeof e.argument, "%s", argument);
  return e;
}

// What callers gave may hold line ends and escapes.
void keep_one_line(char* text) noexcept {
  for (; *text; ++text)
    if ((*text > 0 && *text < ' ') || *text == 127) *text = '?';
}

}  // namespace

void fail(knng_status code, const char* argument, const char* format, ...) {
  knng_error e = make(code, argument, {});
  std::va_list args;
  va_start(args, format);
  std::vsnprintf(e.message, sizeof e.message, format, args);
  va_end(args);
  keep_one_line(e.message);
  throw Error(e);
}

void fail(knng_status code, const char* argument, const Where& where, const char* format, ...) {
  knng_error e = make(code, argument, where);
  std::va_list args;
  va_start(args, format);
  std::vsnprintf(e.message, sizeof e.message, format, args);
  va_end(args);
  keep_one_line(e.message);
  throw Error(e);
}

const knng_error& last_error() noexcept { return last; }

void set_last_error(const knng_error& what) noexcept { last = what; }

void set_last_error(knng_status code, const char* argument, const char* message) noexcept {
  last = make(code, argument, {});
  std::snprintf(last.message, sizeof last.message, "%s", message);
}

}  // namespace libknng

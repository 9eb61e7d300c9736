// How the libraries of this room report: an exception inside, status and text at the seam. Knows nothing of formats.
#pragma once

#include <cerrno>
#include <cstdarg>
#include <cstdint>
#include <cstdio>
#include <new>

#include "io/formats_seam.h"
#include "knng/types.h"

namespace knng_formats {

struct Failure {
  knng_formats_error error = {};
};

[[noreturn, gnu::format(printf, 2, 3)]] inline void fail(std::int32_t status, const char* format, ...) {
  Failure failure;
  failure.error.status = status;
  std::va_list args;
  va_start(args, format);
  std::vsnprintf(failure.error.text, sizeof failure.error.text, format, args);
  va_end(args);
  throw failure;
}

// Whether malloc failed since the call came through the seam. libzip forgets it: of an archive whose directory it has
// no memory for it says that it is none, and of others nothing at all.
inline bool out_of_memory() noexcept { return errno == ENOMEM; }

// Runs `work` and turns what it throws into a status: nothing else leaves through the seam.
template <class Work>
std::int32_t at_seam(knng_formats_error* error, Work&& work) noexcept {
  errno = 0;  // out_of_memory() looks at it
  try {
    work();
    return KNNG_OK;
  } catch (const Failure& failure) {
    *error = failure.error;
  } catch (const std::bad_alloc&) {
    error->status = KNNG_ERR_MEMORY;
    std::snprintf(error->text, sizeof error->text, "out of memory");
  } catch (...) {
    error->status = KNNG_ERR_INTERNAL;
    std::snprintf(error->text, sizeof error->text, "an unexpected failure behind the seam");
  }
  return error->status;
}

}  // namespace knng_formats

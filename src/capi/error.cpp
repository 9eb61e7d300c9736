// knng/error.h
#include "knng/error.h"

#include <algorithm>
#include <cstddef>
#include <cstring>

#include "core/error.h"

using namespace libknng;

int32_t knng_version(void) { return KNNG_VERSION; }

const char* knng_last_error(void) { return last_error().message; }

// Not through the guard: a failure here must not replace the one that is asked for.
knng_status knng_last_error_get(knng_error* out) {
  constexpr std::size_t least = offsetof(knng_error, row);
  if (!out || out->struct_size < least) return KNNG_ERR_ARGUMENT;
  const auto size = out->struct_size;
  std::memcpy(out, &last_error(), std::min<std::size_t>(size, sizeof(knng_error)));
  out->struct_size = size;
  return KNNG_OK;
}

#include "capi/guard.h"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <string>

#include "capi/objects.h"
#include "capi/structs.h"
#include "core/buffer.h"

namespace libknng {
bool can_fill_in(const knng_error* error) noexcept {
  return !error || (error->struct_size >= offsetof(knng_error, row) && error->struct_size <= kLargestStruct);
}

void fill_in(knng_error* error, const knng_error& from) noexcept {
  if (!error) return;
  const auto size = error->struct_size;
  std::memcpy(error, &from, whole_members<knng_error>(size, offsetof(knng_error, row)));
  error->struct_size = size;
}

void throw_naming_variables(const Error& e, const knng* h) {
  const knng_error& info = e.info();
  const std::string reason = h ? h->settings.name_variables(info.reason) : "";
  if (reason.empty() || reason == info.reason) throw;
  fail(info.code, info.argument, {.row = info.row, .col = info.col, .given = info.given, .limit = info.limit}, "%s",
       reason.c_str());
}

knng_error failure_at_hand() noexcept {
  try {
    throw;
  } catch (const Error& e) {
    return e.info();
  } catch (const NoMemory& e) {
    char text[80];
    std::snprintf(text, sizeof text, "out of memory: the system has none for an array of %lld bytes",
                  static_cast<long long>(e.bytes()));
    return plain_error(KNNG_ERR_MEMORY, "", text);
  } catch (const std::bad_alloc&) {
    return plain_error(KNNG_ERR_MEMORY, "", "out of memory");
  } catch (const std::system_error&) {
    return plain_error(KNNG_ERR_MEMORY, "", "the system has no thread left");
  } catch (const std::exception& e) {
    return plain_error(KNNG_ERR_INTERNAL, "", e.what());
  } catch (...) {
    return plain_error(KNNG_ERR_INTERNAL, "", "an unknown exception");
  }
}

}  // namespace libknng

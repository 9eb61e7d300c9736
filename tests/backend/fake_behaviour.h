// How devices that are none are told to behave (fake_cuda.cpp has the words), and the guard around their calls.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <new>
#include <string>
#include <string_view>

#include "backend/seam.h"

namespace libknng::fake {

// Thrown where an address is not of a device's memory.
struct NoMemory {
  const char* text;
};

// The value of a behaviour's word for a device: -1 without it, 0 for a word without a number.
inline std::int64_t behaviour(std::int32_t device, std::string_view word) {
  const char* const text = std::getenv("KNNG_FAKE_BEHAVIOUR");
  for (std::string_view rest = text ? text : ""; !rest.empty();) {
    const std::string_view one = rest.substr(0, rest.find(';'));
    rest.remove_prefix(std::min(one.size() + 1, rest.size()));
    const std::string start = std::to_string(device) + ":" + std::string(word);
    if (!one.starts_with(start)) continue;
    if (one.size() == start.size()) return 0;
    if (one[start.size()] == '=') return std::atoll(one.data() + start.size() + 1);
  }
  return -1;
}

// What a call throws to end with that status.
struct Failure {
  std::int32_t status;
  const char* text;
  std::int32_t of_rows = 0;
  std::int64_t row = -1;
};

template <class F>
std::int32_t guard(knng_backend_error* error, F&& f) noexcept {
  *error = {KNNG_OK, 0, -1, -1, -1, "", ""};
  try {
    f();
    return KNNG_OK;
  } catch (const Failure& failure) {
    error->status = failure.status;
    error->of_rows = failure.of_rows;
    error->row = failure.row;
    std::snprintf(error->argument, sizeof error->argument, "%s",
                  failure.status == KNNG_ERR_MEMORY ? "max_device_bytes" : "device");
    std::snprintf(error->text, sizeof error->text, "%s", failure.text);
  } catch (const NoMemory& failure) {
    error->status = KNNG_ERR_ARGUMENT;
    std::snprintf(error->argument, sizeof error->argument, "rows");
    std::snprintf(error->text, sizeof error->text, "%s", failure.text);
  } catch (const std::bad_alloc&) {
    error->status = KNNG_ERR_MEMORY;
    std::snprintf(error->text, sizeof error->text, "no memory left");
  } catch (const std::exception& failure) {
    error->status = KNNG_ERR_INTERNAL;
    std::snprintf(error->text, sizeof error->text, "%s", failure.what());
  }
  return error->status;
}

}  // namespace libknng::fake

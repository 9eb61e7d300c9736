// The one wall between C++ and C: runs a call, maps what it throws to a status, and fills in the caller's knng_error
// and this thread's last failure. Around it the thread's floating-point state is ours.
#pragma once

#include <cstddef>
#include <new>
#include <system_error>

#include "core/error.h"
#include "core/float_env.h"

namespace libknng {

// Writes `from` as far as the caller knows the struct. NULL does nothing.
void fill_in(knng_error* error, const knng_error& from) noexcept;

// Whether a knng_error can be filled in: NULL, or as large as its first two members at least.
bool can_fill_in(const knng_error* error) noexcept;

// What is being thrown, as a failure. Only in a catch block.
knng_error failure_at_hand() noexcept;

// f takes the FloatEnv, which knows the host's state.
template <class F>
knng_status guard(knng_error* error, F&& f) noexcept {
  if (!can_fill_in(error)) {
    set_last_error(plain_error(KNNG_ERR_ARGUMENT, "error", "error: struct_size is not set to the size of the struct"));
    return KNNG_ERR_ARGUMENT;
  }
  const FloatEnv env;
  try {
    f(env);
  } catch (...) {
    const knng_error failure = failure_at_hand();
    set_last_error(failure);
    fill_in(error, failure);
    return failure.code;
  }
  if (error) fill_in(error, plain_error(KNNG_OK, "", ""));
  return KNNG_OK;
}

// In a catch block: throws e again, with the environment variable behind each value that it shows and that a variable
// gave to a setting of h.
[[noreturn]] void throw_naming_variables(const Error& e, const knng* h);

// For calls that go by the settings of h, which may be NULL.
template <class F>
knng_status guard(knng_error* error, const knng* h, F&& f) noexcept {
  return guard(error, [&](const FloatEnv& env) {
    try {
      f(env);
    } catch (const Error& e) {
      throw_naming_variables(e, h);
    }
  });
}

// A pointer that must not be NULL.
template <class T>
T& require(T* pointer, const char* argument) {
  if (!pointer) fail(KNNG_ERR_ARGUMENT, argument, "%s is NULL", argument);
  return *pointer;
}

// For calls that make an object: *out is set to NULL first, so that it is NULL whenever the call fails.
template <class T, class F>
knng_status guard(knng_error* error, const knng* h, T** out, F&& f) noexcept {
  if (out) *out = nullptr;
  return guard(error, h, [&](const FloatEnv& env) {
    require(out, "out");
    f(env);
  });
}
template <class T, class F>
knng_status guard(knng_error* error, T** out, F&& f) noexcept {
  return guard(error, nullptr, out, f);
}

}  // namespace libknng

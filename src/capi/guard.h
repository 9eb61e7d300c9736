// The one wall between C++ and C: runs a call, maps what it throws to a status and this thread's last failure. Around
// it the thread's floating-point state is ours.
#pragma once

#include <new>
#include <system_error>

#include "core/error.h"
#include "core/float_env.h"

namespace libknng {

// f takes the FloatEnv, which knows the host's state.
template <class F>
knng_status guard(F&& f) noexcept {
  const FloatEnv env;
  try {
    f(env);
    return KNNG_OK;
  } catch (const Error& e) {
    set_last_error(e.info());
    return e.code();
  } catch (const std::bad_alloc&) {
    set_last_error(KNNG_ERR_MEMORY, "", "out of memory");
    return KNNG_ERR_MEMORY;
  } catch (const std::system_error&) {
    set_last_error(KNNG_ERR_MEMORY, "", "the system has no thread left");
    return KNNG_ERR_MEMORY;
  } catch (const std::exception& e) {
    set_last_error(KNNG_ERR_INTERNAL, "", e.what());
    return KNNG_ERR_INTERNAL;
  } catch (...) {
    set_last_error(KNNG_ERR_INTERNAL, "", "an unknown exception");
    return KNNG_ERR_INTERNAL;
  }
}

// A pointer that must not be NULL.
template <class T>
T& require(T* pointer, const char* argument) {
  if (!pointer) fail(KNNG_ERR_ARGUMENT, argument, "%s is NULL", argument);
  return *pointer;
}

}  // namespace libknng

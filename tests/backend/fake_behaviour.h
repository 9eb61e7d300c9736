// How simulated devices behave, and GPUs that fault_injection.cpp stands in front of (fake_cuda.cpp has
// the words); and the guard around their calls.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <new>
#include <string>
#include <string_view>
#include <thread>

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

inline constexpr std::array<const char*, 16> kCalls = {
    "open",        "order_points", "begin", "sample", "first_cutoffs", "tile",   "adopt_cutoffs", "settle",
    "merge_lists", "begin_keys",   "keys",  "refine", "redo",          "answer", "check",         "expand"};
enum Call : std::size_t {
  kOpen,
  kOrderPoints,
  kBegin,
  kSample,
  kFirstCutoffs,
  kTile,
  kAdoptCutoffs,
  kSettle,
  kMergeLists,
  kBeginKeys,
  kKeys,
  kRefine,
  kRedo,
  kAnswer,
  kCheck,
  kExpand
};

inline std::atomic<std::int64_t> calls_failed{0};
inline std::atomic<volatile std::int32_t*> stop_flag{nullptr};

// Or stops the caller, if the test asks for it.
inline void inject_fault(std::int32_t device, Call call, std::int64_t number) {
  const std::string name = kCalls[call];
  const auto asked_for = [&](const char* what) { return behaviour(device, what + name) == number; };
  if (volatile std::int32_t* const flag = stop_flag.load(); flag && asked_for("stop_comes_at_"))
    __atomic_store_n(flag, 1, __ATOMIC_RELAXED);
  const bool fails = asked_for("fails_at_");
  if (!fails && !asked_for("out_of_memory_at_")) return;
  ++calls_failed;
  throw fails ? Failure{KNNG_ERR_DEVICE, "injected failure"} : Failure{KNNG_ERR_MEMORY, "injected lack of memory"};
}

// What a slow device does besides.
inline void linger(std::int32_t device) {
  const char* const ms = std::getenv("KNNG_FAKE_TILE_MS");
  if (behaviour(device, "slow") >= 0) std::this_thread::sleep_for(std::chrono::milliseconds(ms ? atoi(ms) : 5));
}

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

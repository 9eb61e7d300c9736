// Page-locked memory of the caller's, a device on which others have taken nearly all memory, and what builds that do
// not end leave on a device, through the public API: the bits of a build that has all for itself, and nothing.
#include <algorithm>
#include <chrono>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include "backend/cuda/base/memory_pool.cuh"
#include "backend/cuda/base/stream.cuh"
#include "knng.h"
#include "tests/gpu/gpu.cuh"
#include "tests/gpu/graphs.cuh"
#include "tests/gpu/spin.cuh"

using gpu::built;
using gpu::check;
using gpu::expect;
using gpu::handle;
using gpu::kSecond;
using gpu::Result;
using gpu::spin;
using gpu::taken;

namespace {

constexpr std::int64_t kK = 10;

// Coordinates in [0, 1): no two rows are equal.
std::vector<float> uniform_rows(std::int64_t n, std::int64_t d, std::uint32_t seed) {
  std::vector<float> x(static_cast<std::size_t>(n * d));
  for (float& value : x) {
    seed = seed * 1664525u + 1013904223u;
    value = static_cast<float>(seed >> 8) * 0x1p-24f;
  }
  return x;
}

knng* lent(const char* metric, const std::vector<float>& x, std::int64_t n, std::int64_t d) {
  knng* h = handle("cuda:0", metric);
  const knng_matrix m = knng_packed(KNNG_F32, n, d, x.data());
  expect(knng_borrow(h, &m, nullptr, nullptr) == KNNG_OK, "%s: %s", metric, knng_last_error());
  return h;
}

// Page-locked host memory, by one of the two ways there are.
class PageLocked {
 public:
  PageLocked(std::size_t bytes, bool registered) : registered_(registered) {
    if (registered_) {
      pages_.resize(bytes);
      data_ = pages_.data();
      check(cudaHostRegister(data_, bytes, cudaHostRegisterDefault));
    } else {
      check(cudaHostAlloc(&data_, bytes, cudaHostAllocDefault));
    }
  }
  ~PageLocked() { registered_ ? cudaHostUnregister(data_) : cudaFreeHost(data_); }
  PageLocked(const PageLocked&) = delete;
  PageLocked& operator=(const PageLocked&) = delete;
  void* get() const { return data_; }

 private:
  bool registered_;
  std::vector<std::byte> pages_;
  void* data_ = nullptr;
};

void page_locked_memory() {
  const std::int64_t n = small_run() ? 300 : 6000, d = 48;
  const std::vector<float> x = uniform_rows(n, d, 41u);
  const std::size_t row_bytes = x.size() * sizeof(float);
  const auto entries = static_cast<std::size_t>(n * kK);
  for (const char* metric : {"euclidean", "manhattan"}) {
    knng* pageable = lent(metric, x, n, d);
    const Result expected = built(pageable, kK, metric);
    knng_destroy(pageable);
    for (const bool registered : {false, true})
      for (const std::int32_t space : {KNNG_PINNED, KNNG_HOST, KNNG_ANY}) {
        const std::string what = std::string(metric) + ", space " + std::to_string(space) +
                                 (registered ? ", registered" : ", of cudaHostAlloc()");
        const PageLocked rows(row_bytes, registered);
        std::memcpy(rows.get(), x.data(), row_bytes);
        knng_matrix m = knng_packed(KNNG_F32, n, d, rows.get());
        m.space = space;
        knng* h = handle("cuda:0", metric);
        expect(knng_borrow(h, &m, nullptr, nullptr) == KNNG_OK, "%s: %s", what.c_str(), knng_last_error());
        knng_graph* g = nullptr;
        expect(knng_build(h, kK, nullptr, &g, nullptr) == KNNG_OK, "%s: %s", what.c_str(), knng_last_error());
        knng_destroy(h);
        expect(std::memcmp(rows.get(), x.data(), row_bytes) == 0, "%s: other rows", what.c_str());
        if (!g) continue;
        // And a copy of the result to such memory.
        const PageLocked ids(entries * sizeof(std::int64_t), registered), values(entries * sizeof(float), registered);
        knng_matrix to_ids = knng_packed(KNNG_I64, n, kK, ids.get()),
                    to_values = knng_packed(KNNG_F32, n, kK, values.get());
        to_ids.space = to_values.space = space;
        expect(knng_graph_copy(g, 0, &to_ids, &to_values, nullptr) == KNNG_OK, "%s: %s", what.c_str(),
               knng_last_error());
        expect(std::memcmp(ids.get(), expected.ids.data(), expected.ids.size()) == 0 &&
                   std::memcmp(values.get(), expected.values.data(), expected.values.size()) == 0,
               "%s: another copy", what.c_str());
        expect(expected.ids.size() == entries * sizeof(std::int64_t) && taken(g) == expected, "%s: another graph",
               what.c_str());
      }
  }
}

std::size_t free_bytes() {
  std::size_t free = 0, total = 0;
  check(cudaMemGetInfo(&free, &total));
  return free;
}

// When nothing comes back any more: memory is freed in the order of streams.
std::size_t settled_free_bytes() {
  check(cudaDeviceSynchronize());
  std::size_t before = 0, now = free_bytes();
  for (int tries = 0; tries < 100 && now != before; ++tries) {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    before = now;
    now = free_bytes();
  }
  return now;
}

// All but so many bytes of a device's free memory.
class AllBut {
 public:
  explicit AllBut(std::size_t left) {
    constexpr std::size_t largest = std::size_t{4} << 30, smallest = std::size_t{2} << 20;
    for (std::size_t free = free_bytes(); free > left + smallest; free = free_bytes()) {
      void* block = nullptr;
      if (cudaMalloc(&block, std::min(free - left, largest)) != cudaSuccess) {
        cudaGetLastError();
        break;
      }
      blocks_.push_back(block);
    }
  }
  ~AllBut() {
    for (void* const block : blocks_) cudaFree(block);
  }
  AllBut(const AllBut&) = delete;
  AllBut& operator=(const AllBut&) = delete;

 private:
  std::vector<void*> blocks_;
};

knng_plan planned(const knng* h, const char* what) {
  knng_plan plan{};
  plan.struct_size = sizeof plan;
  expect(knng_estimate(h, 0, kK, &plan, nullptr) == KNNG_OK, "%s: %s", what, knng_last_error());
  return plan;
}

// What the library keeps for the next call, which it counts as free.
std::size_t kept_bytes(int device) {
  const auto with_kept = static_cast<std::size_t>(gpu::free_for_library(device));
  const std::size_t free = settled_free_bytes();
  return std::max(with_kept, free) - free;
}

// Half of what a build would take, or as little as it could do with, and some for the driver, less what the library
// keeps on that device, the current one.
std::size_t too_little_for(const knng* h, const char* what, int device) {
  constexpr std::int64_t for_the_driver = std::int64_t{64} << 20;
  const knng_plan plan = planned(h, what);
  const std::int64_t half = std::max(plan.smallest_device, plan.device_bytes / 2);
  expect(half + for_the_driver < plan.device_bytes, "%s: half of %lld bytes is not less", what,
         static_cast<long long>(plan.device_bytes));
  const auto kept = static_cast<std::int64_t>(kept_bytes(device));
  return static_cast<std::size_t>(std::max(half + for_the_driver - kept, for_the_driver));
}

// Rows whose plan is of more than the library keeps, on a device with enough memory for one.
struct Large {
  std::int64_t n, d;
  std::vector<float> x;
};
Large large_rows(const char* metric, std::uint32_t seed) {
  constexpr std::int64_t beyond = std::int64_t{256} << 20, most = 100'000;
  constexpr std::int64_t d = 32'768;  // much memory for few pairs
  for (std::int64_t n = 20'000;; n += 10'000) {
    Large rows{n, d, uniform_rows(n, d, seed)};  // equal ones would be planned once
    knng* h = lent(metric, rows.x, n, d);
    const bool is_large = planned(h, metric).device_bytes > libknng::cuda::MemoryPool::most_kept(0) + beyond;
    knng_destroy(h);
    if (is_large || !expect(n < most, "%s: no plan is larger than what is kept", metric)) return rows;
  }
}

void a_device_nearly_full() {
  if (small_run()) return;
  for (const char* metric : {"euclidean", "manhattan"}) {
    const Large rows = large_rows(metric, 42u);
    knng* h = lent(metric, rows.x, rows.n, rows.d);
    const Result expected = built(h, kK, metric);
    const knng_plan with_room = planned(h, metric);
    {
      const AllBut full(too_little_for(h, metric, 0));
      const auto free = static_cast<std::int64_t>(settled_free_bytes() + kept_bytes(0));
      expect(free < with_room.device_bytes, "%s: %lld bytes are still free", metric, static_cast<long long>(free));
      const knng_plan plan = planned(h, metric);
      // Smaller tiles, or points in blocks: what is planned fits.
      expect(plan.device_bytes > 0 && plan.device_bytes <= free, "%s: %lld bytes are planned, %lld are free", metric,
             static_cast<long long>(plan.device_bytes), static_cast<long long>(free));
      expect(built(h, kK, metric) == expected, "%s: another graph on a full device", metric);
    }
    expect(built(h, kK, metric) == expected, "%s: another graph when there is room again", metric);
    knng_destroy(h);
  }
}

// Two devices, of which others have nearly all memory, or all multiprocessors, of the second.
void a_device_beside_one_that_is_not_free() {
  int devices = 0;
  check(cudaGetDeviceCount(&devices));
  if (small_run() || devices < 2) return;
  for (const char* metric : {"euclidean", "manhattan"}) {
    const Large rows = large_rows(metric, 44u);
    knng* h = lent(metric, rows.x, rows.n, rows.d);
    const Result expected = built(h, kK, metric);
    for (const char* set : {"cuda:0,1", "cuda:1,0"}) {
      expect(knng_set(h, "device", set, nullptr) == KNNG_OK, "%s", knng_last_error());
      expect(built(h, kK, set) == expected, "%s, %s: another graph", metric, set);
      const libknng::cuda::CurrentDevice second(1);
      {
        const knng_plan with_room = planned(h, set);
        const AllBut full(too_little_for(h, set, 1));
        const knng_plan plan = planned(h, set);
        expect(plan.device_bytes < with_room.device_bytes, "%s, %s: nothing less is planned", metric, set);
        expect(built(h, kK, set) == expected, "%s, %s: another graph where the second is full", metric, set);
      }
      // For half a second, or as long as the build takes, whose kernels come between these.
      const libknng::cuda::Stream stream;
      int multiprocessors = 0;
      check(cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount, 1));
      for (int i = 0; i < 20; ++i) spin<<<static_cast<unsigned>(2 * multiprocessors), 1024, 0, stream>>>(kSecond / 30);
      check(cudaGetLastError());
      expect(built(h, kK, set) == expected, "%s, %s: another graph where the second is busy", metric, set);
      stream.wait();
    }
    knng_destroy(h);
  }
}

// Stops at the first report, or at the first of a later stage.
struct Stop {
  bool later;
  int calls = 0;
};
std::int32_t stop_now(void* user, const char* stage, double, double) {
  auto& stop = *static_cast<Stop*>(user);
  ++stop.calls;
  return !stop.later || std::strcmp(stage, "prepare") != 0;
}

void cancel(const knng* h, bool later) {
  Stop stop{later};
  knng_control c{};
  c.struct_size = sizeof c;
  c.interval_ms = 1;
  c.progress = stop_now;
  c.user = &stop;
  knng_graph* g = nullptr;
  const knng_status status = knng_build(h, kK, &c, &g, nullptr);
  expect(status == KNNG_ERR_CANCELLED && !g && stop.calls > 0, "stopped: status %d, %s", status, knng_last_error());
}

void refuse(const knng* h, knng_status expected) {
  knng_graph* g = nullptr;
  const knng_status status = knng_build(h, kK, nullptr, &g, nullptr);
  expect(status == expected && !g, "refused: status %d instead of %d, %s", status, expected, knng_last_error());
}

// Five of every kind of build that does not end, after one of each and one that does: what is kept for later ones,
// kernels and a library's workspace, is there by then.
void builds_that_do_not_end_leave_nothing() {
  const std::int64_t n = small_run() ? 300 : 30'000, d = 64;
  std::vector<float> x = uniform_rows(n, d, 43u);
  knng* whole = lent("euclidean", x, n, d);
  knng* little = lent("euclidean", x, n, d);
  std::vector<float> negative = x;
  negative[static_cast<std::size_t>((n - 1) * d + 5)] = -1;  // what a device finds when it has read the rows
  knng* wrong = lent("hellinger", negative, n, d);
  knng_plan plan{};
  plan.struct_size = sizeof plan;
  expect(knng_estimate(little, 0, kK, &plan, nullptr) == KNNG_OK && plan.smallest_device > 1, "%s", knng_last_error());
  const std::string too_few = std::to_string(plan.smallest_device - 1);
  expect(knng_set(little, "max_device_bytes", too_few.c_str(), nullptr) == KNNG_OK, "%s", knng_last_error());
  const auto once = [&] {
    cancel(whole, false);
    cancel(whole, true);
    refuse(little, KNNG_ERR_BUDGET);
    refuse(wrong, KNNG_ERR_DATA);
  };
  const Result expected = built(whole, kK, "before");
  knng* right = lent("hellinger", x, n, d);
  built(right, kK, "hellinger");
  once();
  const std::size_t before = settled_free_bytes();
  for (int i = 0; i < (small_run() ? 1 : 5); ++i) once();
  const std::size_t after = settled_free_bytes();
  // What compute-sanitizer itself has on the device grows.
  if (!small_run()) expect(after >= before, "%zu of %zu free bytes are gone", before - after, before);
  expect(built(whole, kK, "after") == expected, "another graph after builds that did not end");
  for (knng* h : {whole, little, wrong, right}) knng_destroy(h);
}

}  // namespace

int main() {
  gpu::need_device();
  knng_device first{};
  first.struct_size = sizeof first;
  knng_device_get(1, &first, nullptr);  // from now on the library is loaded that knows memory whose space nobody names
  page_locked_memory();
  a_device_nearly_full();
  a_device_beside_one_that_is_not_free();
  builds_that_do_not_end_leave_nothing();
  return gpu::result();
}

// Host memory that is counted: every large array of the library is a Buffer charged to a Budget, which knows the limit
// (setting max_host_bytes), what is held and the most that was held. Knows nothing of what the memory is for.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <new>
#include <type_traits>
#include <utility>

#include "core/checked.h"
#include "core/error.h"
#include "core/large_pages.h"

namespace libknng {

class Budget {
 public:
  static constexpr std::int64_t kUnlimited = INT64_MAX;

  // argument, name: of whoever set the limit, as failures tell.
  explicit Budget(std::int64_t limit = kUnlimited, std::int64_t held = 0, const char* argument = "max_host_bytes",
                  const char* name = "max_host_bytes") noexcept
      : argument_(argument), name_(name), limit_(limit), held_(held), peak_(held) {}

  // Throws KNNG_ERR_BUDGET when the limit would be passed. Plans are made to fit, so this is the second line.
  void take(std::int64_t bytes) {
    const std::int64_t now = held_.fetch_add(bytes) + bytes;
    if (now > limit_) {
      held_.fetch_sub(bytes);
      fail(KNNG_ERR_BUDGET, argument_, {.given = limit_, .limit = now},
           "%s=%lld is too small: at least %lld bytes are needed", name_, static_cast<long long>(limit_),
           static_cast<long long>(now));
    }
    std::int64_t peak = peak_.load();
    while (peak < now && !peak_.compare_exchange_weak(peak, now)) {
    }
  }
  void give(std::int64_t bytes) noexcept { held_.fetch_sub(bytes); }

  std::int64_t limit() const noexcept { return limit_; }
  std::int64_t held() const noexcept { return held_.load(); }
  std::int64_t peak() const noexcept { return peak_.load(); }

 private:
  const char* argument_;
  const char* name_;
  std::int64_t limit_;
  std::atomic<std::int64_t> held_;
  std::atomic<std::int64_t> peak_;
};

// Memory that somebody else holds for us, counted for as long as this lives. A null budget counts nothing.
class Charge {
 public:
  Charge(Budget* budget, std::int64_t bytes) : budget_(budget), bytes_(bytes) {
    if (budget_) budget_->take(bytes_);
  }
  ~Charge() {
    if (budget_) budget_->give(bytes_);
  }
  Charge(const Charge&) = delete;
  Charge& operator=(const Charge&) = delete;

 private:
  Budget* budget_;
  std::int64_t bytes_;
};

// The system had no memory for an array of so many bytes.
class NoMemory : public std::bad_alloc {
 public:
  explicit NoMemory(std::int64_t bytes) noexcept : bytes_(bytes) {}
  std::int64_t bytes() const noexcept { return bytes_; }

 private:
  std::int64_t bytes_;
};

// An array of trivial elements, 64-byte aligned, uninitialised, owned; a large one in large pages. A null budget counts
// nothing.
template <class T>
class Buffer {
  static_assert(std::is_trivially_copyable_v<T> && std::is_trivially_destructible_v<T>);

 public:
  static constexpr std::size_t kAlignment = 64;

  Buffer() noexcept = default;
  explicit Buffer(std::int64_t count, Budget* budget = nullptr) : budget_(budget), count_(count) {
    bytes_ = checked_mul(count, static_cast<std::int64_t>(sizeof(T)), "memory");
    if (budget_) budget_->take(bytes_);
    try {
      memory_ = take(static_cast<std::size_t>(bytes_));
    } catch (const std::bad_alloc&) {
      if (budget_) budget_->give(bytes_);
      throw NoMemory(bytes_);
    }
    const std::size_t alignment = alignment_of(static_cast<std::size_t>(bytes_));
    const auto address = reinterpret_cast<std::uintptr_t>(memory_);
    data_ = reinterpret_cast<T*>(static_cast<std::byte*>(memory_) + (alignment - address % alignment) % alignment);
    if (alignment == kLargePage) advise_large_pages(data_, static_cast<std::size_t>(bytes_));
  }
  Buffer(std::int64_t count, T fill, Budget* budget = nullptr) : Buffer(count, budget) {
    for (std::int64_t i = 0; i < count_; ++i) data_[i] = fill;
  }
  Buffer(Buffer&& other) noexcept { swap(other); }
  Buffer& operator=(Buffer&& other) noexcept {
    Buffer(std::move(other)).swap(*this);
    return *this;
  }
  ~Buffer() { reset(); }

  void reset() noexcept {
    if (!data_) return;
    give(memory_);
    if (budget_) budget_->give(bytes_);
    memory_ = data_ = nullptr;
    budget_ = nullptr;
    count_ = bytes_ = 0;
  }
  // The memory stays, but no longer counts: for results that outlive the budget of the call that made them.
  void release_from_budget() noexcept {
    if (budget_) budget_->give(bytes_);
    budget_ = nullptr;
  }
  void swap(Buffer& other) noexcept {
    std::swap(memory_, other.memory_);
    std::swap(data_, other.data_);
    std::swap(budget_, other.budget_);
    std::swap(count_, other.count_);
    std::swap(bytes_, other.bytes_);
  }

  T* data() noexcept { return data_; }
  const T* data() const noexcept { return data_; }
  std::int64_t size() const noexcept { return count_; }
  std::int64_t bytes() const noexcept { return bytes_; }
  bool empty() const noexcept { return count_ == 0; }
  T* begin() noexcept { return data_; }
  T* end() noexcept { return data_ + count_; }
  const T* begin() const noexcept { return data_; }
  const T* end() const noexcept { return data_ + count_; }
  T& operator[](std::int64_t i) noexcept { return data_[i]; }
  const T& operator[](std::int64_t i) const noexcept { return data_[i]; }

 private:
  // Aligned by hand: the system keeps pieces that were freed for who asks next, but not for who asks for aligned ones.
  // g++'s address sanitizer sees the array's end.
#ifdef __SANITIZE_ADDRESS__
  static void* take(std::size_t size) { return ::operator new (size, std::align_val_t{kAlignment}); }
  static void give(void* memory) noexcept { ::operator delete (memory, std::align_val_t{kAlignment}); }
  static constexpr std::size_t alignment_of(std::size_t /*size*/) { return kAlignment; }
#else
  // What lies before an array in large pages is not touched: of new memory it takes none.
  static constexpr std::size_t alignment_of(std::size_t size) {
    return size < kFewestInLargePages ? kAlignment : kLargePage;
  }
  static void* take(std::size_t size) { return ::operator new(size + alignment_of(size)); }
  static void give(void* memory) noexcept { ::operator delete(memory); }
#endif

  void* memory_ = nullptr;
  T* data_ = nullptr;
  Budget* budget_ = nullptr;
  std::int64_t count_ = 0;
  std::int64_t bytes_ = 0;
};

}  // namespace libknng

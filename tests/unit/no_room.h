// A process without room for the stack of another thread.
#pragma once

#include <sys/resource.h>

#include <cstdint>
#include <fstream>

#include "harness/cmocka.h"

// While it lives. A test with it is the first of its program: the stack of a thread that ended would be used again.
class NoRoomForThreads {
 public:
  NoRoomForThreads() {
    std::int64_t pages = 0;
    std::ifstream("/proc/self/statm") >> pages;
    assert_int_equal(getrlimit(RLIMIT_AS, &before_), 0);
    rlimit narrow = before_;
    narrow.rlim_cur = static_cast<rlim_t>(pages) * 4096 + (rlim_t{1} << 20);
    assert_int_equal(setrlimit(RLIMIT_AS, &narrow), 0);
  }
  ~NoRoomForThreads() { setrlimit(RLIMIT_AS, &before_); }
  NoRoomForThreads(const NoRoomForThreads&) = delete;
  NoRoomForThreads& operator=(const NoRoomForThreads&) = delete;

  // Skips a test under sanitizers, which need addresses without number.
  static void skip_where_impossible() {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    skip();
#endif
  }

 private:
  rlimit before_{};
};

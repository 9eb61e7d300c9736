// A kernel that keeps multiprocessors busy, as other programs' work does.
#pragma once

namespace gpu {

// For so many clocks from a block's start; about 1.5 thousand million are a second.
static __global__ void spin(long long clocks) {
  const long long start = clock64();
  while (clock64() - start < clocks) {
  }
}

constexpr long long kSecond = 1'500'000'000;  // in clocks, roughly

}  // namespace gpu

// Exact sums of doubles, for tests of bounds. Knows nothing of the library.
#pragma once

#include <cmath>
#include <cstddef>
#include <utility>
#include <vector>

// A sum of doubles without rounding, as doubles that do not overlap (Shewchuk 1997).
class ExactSum {
 public:
  void add(double x) {
    std::size_t kept = 0;
    for (double y : parts_) {
      if (std::fabs(x) < std::fabs(y)) std::swap(x, y);
      const double sum = x + y;
      const double lost = y - (sum - x);
      if (lost != 0) parts_[kept++] = lost;
      x = sum;
    }
    parts_.resize(kept);
    parts_.push_back(x);
  }
  // Rounded.
  long double value() const {
    long double sum = 0;
    for (const double part : parts_) sum += part;
    return sum;
  }

 private:
  std::vector<double> parts_;
};

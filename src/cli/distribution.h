// Quantiles, and histograms in bins that double: how hubs and distances are shown. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace cli {

// The value below which a share q of the sorted values lies (the lower one, no interpolation). values: not empty,
// sorted.
template <class T>
T quantile(const std::vector<T>& values, double q) {
  return values[static_cast<std::size_t>(q * static_cast<double>(values.size() - 1))];
}

struct Bin {
  std::int64_t low, high;  // both included
  std::int64_t count;
};

// Bins 0, 1, 2-3, 4-7, ... up to the largest value; empty ones between are kept. Values are not negative.
std::vector<Bin> log2_bins(const std::vector<std::int64_t>& values);

// "     2-3     1,234  #####", one line for each bin. `indent` stands before each.
std::string histogram(const std::vector<Bin>& bins, const std::string& indent);

}  // namespace cli

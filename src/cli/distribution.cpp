#include "distribution.h"

#include <algorithm>
#include <bit>

#include "words.h"

namespace cli {

std::vector<Bin> log2_bins(const std::vector<std::int64_t>& values) {
  std::vector<Bin> bins;
  for (const std::int64_t value : values) {
    const auto bin = static_cast<std::size_t>(std::bit_width(static_cast<std::uint64_t>(value)));
    while (bins.size() <= bin) {
      const std::size_t b = bins.size();
      const std::int64_t low = b == 0 ? 0 : std::int64_t{1} << (b - 1);
      bins.push_back({low, b == 0 ? 0 : 2 * low - 1, 0});
    }
    ++bins[bin].count;
  }
  return bins;
}

std::string histogram(const std::vector<Bin>& bins, const std::string& indent) {
  constexpr std::int64_t kLongest = 40;
  std::int64_t most = 1;
  for (const Bin& bin : bins) most = std::max(most, bin.count);
  std::string text;
  for (const Bin& bin : bins) {
    const std::string label = bin.low == bin.high ? count(bin.low) : count(bin.low) + "-" + count(bin.high);
    const auto length = static_cast<std::size_t>((bin.count * kLongest + most - 1) / most);
    text += indent + print("%15s %12s  ", label.c_str(), count(bin.count).c_str()) + std::string(length, '#') + "\n";
  }
  return text;
}

}  // namespace cli

// The one table of statistics of a build: name and documentation. Values are doubles; what nobody counted is NaN.
#pragma once

#include <array>
#include <cmath>
#include <limits>
#include <string_view>

namespace libknng {

enum class Stat : int {
  rows,
  columns,
  pairs,
  tiles,
  keys,
  candidates_max,
  proved,
  refined,
  redone_fp32,
  redone_fp64,
  bound_violations,
  checked,
  ties_at_k,
  duplicates,
  bytes_host_peak,
  bytes_device_peak,
  seconds_copy,
  seconds_prepare,
  seconds_tile,
  seconds_merge,
  seconds_refine,
  seconds_emit,
  seconds_check,
  seconds_total,
  count_
};
inline constexpr int kStats = static_cast<int>(Stat::count_);

// Bounds of what engines count. None evaluates the key of a pair more often than this: on each rung once in a list and,
// where its row is redone by that, as one of the list, of the drawn and of the contenders; and once with all keys.
inline constexpr int kMostPasses = 17;
// Some take columns in groups, of which the last has empty places: their keys count, too. No group is larger.
inline constexpr int kMostInGroup = 32;

struct StatInfo {
  const char* name;
  const char* doc;
};

// The table, in the order of Stat.
const std::array<StatInfo, kStats>& stat_table() noexcept;
// Throws KNNG_ERR_OPTION with the known names.
Stat find_stat(std::string_view name);

class Stats {
 public:
  // Of a graph that was not made here: none is known.
  static Stats unknown() noexcept {
    Stats s;
    s.values_.fill(kUnknown);
    return s;
  }
  void forget(Stat s) noexcept { (*this)[s] = kUnknown; }
  bool knows(Stat s) const noexcept { return !std::isnan((*this)[s]); }

  double& operator[](Stat s) noexcept { return values_[static_cast<std::size_t>(s)]; }
  double operator[](Stat s) const noexcept { return values_[static_cast<std::size_t>(s)]; }

 private:
  static constexpr double kUnknown = std::numeric_limits<double>::quiet_NaN();
  std::array<double, kStats> values_{};  // a build counts from 0
};

}  // namespace libknng

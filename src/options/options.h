// The one table of settings: name, type, default, range, documentation; and the settings of a handle, which hold one
// checked text for each row of the table. Knows nothing of what a setting does.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "knng/types.h"

namespace libknng {

// In the order of the table.
enum class Setting : int {
  metric,
  p,
  selector,
  engine,
  device,
  precision,
  self,
  value,
  value_type,
  graph,
  threads,
  max_host_bytes,
  max_device_bytes,
  tile_rows,
  tile_cols,
  check_rows,
  file_points,
  count_
};
inline constexpr int kSettings = static_cast<int>(Setting::count_);

struct Option {
  enum class Kind { word, metric, device, integer, integer_or_auto, bytes, exponent };
  Setting setting;
  const char* name;
  Kind kind;
  const char* fallback;
  const char* range;  // words, separated by ", "; see option_range()
  double low, high;   // numbers: both included
  const char* doc;
  const char* environment = nullptr;  // variable that replaces the fallback; nullptr: none may
};

const Option& option(Setting s) noexcept;
// The values that it takes, for people.
const char* option_range(Setting s);

class Settings {
 public:
  // Defaults, environment variables first. Throws KNNG_ERR_OPTION if a variable holds nonsense.
  Settings();

  void set(std::string_view key, std::string_view value);
  const std::string& get(std::string_view key) const;

  const std::string& text(Setting s) const noexcept { return values_[static_cast<std::size_t>(s)]; }
  bool is(Setting s, std::string_view word) const noexcept { return text(s) == word; }
  std::int64_t integer(Setting s) const;
  double real(Setting s) const;

  // A message in which a variable stands behind the value that came from it, where the message shows one: "engine=tree
  // (environment variable KNNG_ENGINE) cannot do dimension 300". "" if no value came from a variable.
  std::string name_variables(std::string_view message) const;

 private:
  std::array<std::string, kSettings> values_;
  std::array<bool, kSettings> from_environment_{};
};

}  // namespace libknng

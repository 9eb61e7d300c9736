#include "options/options.h"

#include <cctype>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <mutex>
#include <vector>

#include "core/error.h"
#include "core/letter_case.h"
#include "core/nearest_word.h"
#include "metric/metric.h"

namespace libknng {
namespace {

using Kind = Option::Kind;

constexpr double kMaxInteger = 9007199254740992.0;  // 2^53: exact as a double

constexpr Option kOptions[kSettings] = {
    {Setting::metric, "metric", Kind::metric, "euclidean", nullptr, 0, 0, "what is small between near rows"},
    {Setting::p, "p", Kind::exponent, "auto", "auto, 0.01 to 1000", 0.01, 1000,
     "exponent of metric=minkowski, auto: 2; other metrics have none and refuse one"},
    {Setting::selector, "selector", Kind::word, "auto", "auto, insertion, batch_sort, quick", 0, 0,
     "how the tiled engine picks the k smallest; other engines of the CPU have none and refuse one", "KNNG_SELECTOR"},
    {Setting::engine, "engine", Kind::word, "auto", "auto, direct, tiled, fused, tree", 0, 0,
     "how pairs are evaluated; direct computes the canonical keys of all pairs", "KNNG_ENGINE"},
    {Setting::device, "device", Kind::device, "auto", "auto, cpu, cuda, cuda:N,M,...", 0, 0, "where the work is done",
     "KNNG_DEVICE"},
    {Setting::precision, "precision", Kind::word, "exact", "exact, fast", 0, 0,
     "exact: proved; fast is refused by this version"},
    {Setting::self, "self", Kind::word, "exclude", "exclude, first", 0, 0,
     "first: a build puts each row itself before its k neighbours, as one more column"},
    {Setting::value, "value", Kind::word, "distance", "distance, similarity", 0, 0,
     "what is reported; similarity (1 - distance, or the product itself) for cosine, correlation, spearman, "
     "inner_product"},
    {Setting::value_type, "value_type", Kind::word, "auto", "auto, f32, f64", 0, 0,
     "type of the reported values; auto: f64 for float64 rows, else f32"},
    {Setting::graph, "graph", Kind::word, "host", "host, device", 0, 0,
     "where the lists of a graph are kept; device: in the memory of the first device that makes it"},
    {Setting::threads, "threads", Kind::integer, "0", "0 to 4096", 0, 4096,
     "CPU threads; 0: as many as there are processors, or OMP_NUM_THREADS", "KNNG_THREADS"},
    {Setting::max_host_bytes, "max_host_bytes", Kind::bytes, "0",
     "0 to 9007199254740992 bytes, or with a unit such as 4GiB or 500MB", 0, kMaxInteger,
     "most host memory the library may hold, rows it copied included; 0: no limit. Rows of files stay there if they "
     "would fill more than three quarters of it (0: of the machine's memory)",
     "KNNG_MAX_HOST_BYTES"},
    {Setting::max_device_bytes, "max_device_bytes", Kind::bytes, "0",
     "0 to 9007199254740992 bytes, or with a unit such as 4GiB or 500MB", 0, kMaxInteger,
     "most memory of one device; 0: what is free", "KNNG_MAX_DEVICE_BYTES"},
    {Setting::tile_rows, "tile_rows", Kind::integer, "0", "0 to 1048576", 0, 1048576, "most rows of a tile; 0: planned",
     "KNNG_TILE_ROWS"},
    {Setting::tile_cols, "tile_cols", Kind::integer, "0", "0 to 1048576", 0, 1048576,
     "most columns of a tile; 0: planned", "KNNG_TILE_COLS"},
    {Setting::check_rows, "check_rows", Kind::integer_or_auto, "auto", "auto, 0 to 9007199254740992", 0, kMaxInteger,
     "rows whose lists a build or query compares with all of their canonical keys before it ends; auto: as many as "
     "cost about 1 % of the time, 4 at least; 4 with a tree, or where points come to devices in blocks"},
    {Setting::file_points, "file_points", Kind::word, "rows", "rows, columns", 0, 0,
     "which of a file are the points, its rows or its columns; with columns all of it has to fit into memory"},
};

constexpr bool in_order() {
  for (int i = 0; i < kSettings; ++i)
    if (static_cast<int>(kOptions[i].setting) != i) return false;
  return true;
}
static_assert(in_order());

const Option& find(std::string_view key) {
  for (const Option& o : kOptions)
    if (key == o.name) return o;
  std::string known;
  for (const Option& o : kOptions) known.append(known.empty() ? "" : ", ").append(o.name);
  fail(KNNG_ERR_OPTION, "key", "unknown setting '%.*s'; the settings are %s%s", static_cast<int>(key.size()),
       key.data(), known.c_str(), did_you_mean(key, known).c_str());
}

// The metric table has the metrics' names.
const char* range_of(const Option& o) { return o.range ? o.range : metric_names(); }

// For %.*s.
int shown_length(std::string_view value) { return static_cast<int>(std::min<std::size_t>(value.size(), 80)); }

// Of a setting that takes words.
std::string word_near(const Option& o, std::string_view value) {
  if (o.kind == Kind::device && value.starts_with("cuda:")) return ", no number above 1023 and each once";
  if (o.kind == Kind::device)
    return did_you_mean(same_word(value.substr(0, 3), "gpu") ? "cuda" : value, "auto, cpu, cuda");
  return o.kind == Kind::word ? did_you_mean(value, o.range) : "";
}

// source: what stands behind the value, where it came from; or "".
[[noreturn]] void refuse(const Option& o, std::string_view value, const std::string& source, const Where& where = {}) {
  const char* const takes = o.kind == Kind::integer ? "it takes whole numbers, " : "it takes ";
  const std::string wanted = o.range ? std::string(takes) + o.range + word_near(o, value) : unknown_metric(value);
  fail(KNNG_ERR_OPTION, o.name, where, "%s=%.*s%s: %s", o.name, shown_length(value), value.data(), source.c_str(),
       wanted.c_str());
}

bool is_word_of(std::string_view words, std::string_view value) {
  while (!words.empty()) {
    const std::size_t end = std::min(words.find(", "), words.size());
    if (words.substr(0, end) == value) return true;
    words.remove_prefix(std::min(end + 2, words.size()));
  }
  return false;
}

// auto, cpu, cuda, or cuda: with device numbers, each once.
bool is_device(std::string_view value) {
  if (value == "auto" || value == "cpu" || value == "cuda") return true;
  if (!value.starts_with("cuda:")) return false;
  value.remove_prefix(5);
  std::vector<int> seen;
  while (true) {
    int number = -1;
    const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), number);
    if (error != std::errc() || number < 0 || number > 1023) return false;
    for (const int other : seen)
      if (other == number) return false;
    seen.push_back(number);
    value.remove_prefix(static_cast<std::size_t>(end - value.data()));
    if (value.empty()) return true;
    if (value.front() != ',') return false;
    value.remove_prefix(1);
  }
}

struct Unit {
  std::string_view name;
  double bytes;
};
constexpr Unit kUnits[] = {{"", 1},         {"B", 1},      {"KiB", 0x1p10}, {"MiB", 0x1p20}, {"GiB", 0x1p30},
                           {"TiB", 0x1p40}, {"KB", 1e3},   {"MB", 1e6},     {"GB", 1e9},     {"TB", 1e12},
                           {"K", 0x1p10},   {"M", 0x1p20}, {"G", 0x1p30},   {"T", 0x1p40}};

// The text as it is kept, or refused with its source.
std::string normalise(const Option& o, std::string_view value, const std::string& source) {
  char buf[64];
  switch (o.kind) {
    case Kind::word:
      if (!is_word_of(range_of(o), value)) refuse(o, value, source);
      return std::string(value);
    case Kind::metric:
      if (const char* name = metric_named(value)) return name;
      refuse(o, value, source);
    case Kind::device:
      if (!is_device(value)) refuse(o, value, source);
      return std::string(value);
    case Kind::integer_or_auto:
      if (value == "auto") return std::string(value);
      [[fallthrough]];
    case Kind::integer: {
      std::int64_t number = 0;
      const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), number);
      if (error != std::errc() || end != value.data() + value.size()) refuse(o, value, source);
      if (static_cast<double>(number) < o.low || static_cast<double>(number) > o.high)
        refuse(o, value, source, {.given = number, .limit = static_cast<std::int64_t>(number > 0 ? o.high : o.low)});
      return {buf, std::to_chars(buf, buf + sizeof buf, number).ptr};
    }
    case Kind::exponent: {
      if (value == o.fallback) return o.fallback;
      double number = 0;
      const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), number);
      if (error != std::errc() || end != value.data() + value.size()) refuse(o, value, source);
      if (!(number >= o.low && number <= o.high)) refuse(o, value, source);
      return {buf, std::to_chars(buf, buf + sizeof buf, number).ptr};
    }
    case Kind::bytes: {
      double number = 0;
      const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), number);
      if (error != std::errc()) refuse(o, value, source);
      std::string_view unit(end, static_cast<std::size_t>(value.data() + value.size() - end));
      while (!unit.empty() && unit.front() == ' ') unit.remove_prefix(1);
      for (const Unit& u : kUnits) {
        if (!same_word(u.name, unit)) continue;
        const double bytes = std::floor(number * u.bytes);
        if (!(number >= 0 && bytes <= o.high)) refuse(o, value, source);
        if (number > 0 && bytes == 0)  // 0 has a meaning of its own
          fail(KNNG_ERR_OPTION, o.name, "%s=%.*s%s is less than 1 byte: it takes %s", o.name, shown_length(value),
               value.data(), source.c_str(), range_of(o));
        return {buf, std::to_chars(buf, buf + sizeof buf, static_cast<std::int64_t>(bytes)).ptr};
      }
      refuse(o, value, source);
    }
  }
  refuse(o, value, source);
}

// Environment variables are read once, when the first handle is made, and kept as text. Only settings that say where
// and how fast work is done have one: a variable never changes what a correct program's results mean or look like.
const std::array<std::string, kSettings>& environment() {
  static const std::array<std::string, kSettings> read = [] {
    std::array<std::string, kSettings> found;
    for (const Option& o : kOptions) {
      const char* const value = o.environment ? secure_getenv(o.environment) : nullptr;
      if (value) found[static_cast<std::size_t>(o.setting)] = value;
    }
    return found;
  }();
  return read;
}

// Where the text stands by itself: not in a longer word or number.
std::size_t find_whole(std::string_view message, std::string_view text) {
  const auto goes_on = [&](std::size_t at) {
    return at < message.size() && (std::isalnum(static_cast<unsigned char>(message[at])) != 0 || message[at] == '_');
  };
  std::size_t at = message.find(text);
  while (at != std::string_view::npos && ((at > 0 && goes_on(at - 1)) || goes_on(at + text.size())))
    at = message.find(text, at + 1);
  return at;
}

std::string variable_of(const Option& o) { return std::string(" (environment variable ") + o.environment + ")"; }

}  // namespace

const Option& option(Setting s) noexcept { return kOptions[static_cast<int>(s)]; }

const char* option_range(Setting s) { return range_of(option(s)); }

Settings::Settings() {
  const auto& env = environment();
  for (const Option& o : kOptions) {
    const auto i = static_cast<std::size_t>(o.setting);
    from_environment_[i] = !env[i].empty();
    values_[i] = from_environment_[i] ? normalise(o, env[i], variable_of(o)) : o.fallback;
  }
}

void Settings::set(std::string_view key, std::string_view value) {
  const Option& o = find(key);
  const auto i = static_cast<std::size_t>(o.setting);
  values_[i] = normalise(o, value, "");
  from_environment_[i] = false;
}

std::string Settings::name_variables(std::string_view message) const {
  std::string named;
  for (const Option& o : kOptions) {
    if (!from_environment_[static_cast<std::size_t>(o.setting)]) continue;
    if (named.empty()) named = message;
    const std::string shown = std::string(o.name) + "=" + text(o.setting);
    if (const std::size_t at = find_whole(named, shown); at != std::string::npos)
      named.insert(at + shown.size(), variable_of(o));
  }
  return named;
}

const std::string& Settings::get(std::string_view key) const { return text(find(key).setting); }

std::int64_t Settings::integer(Setting s) const {
  const std::string& value = text(s);
  std::int64_t number = 0;
  std::from_chars(value.data(), value.data() + value.size(), number);
  return number;
}

double Settings::real(Setting s) const {
  const std::string& value = text(s);
  double number = 0;
  std::from_chars(value.data(), value.data() + value.size(), number);
  return number;
}

}  // namespace libknng

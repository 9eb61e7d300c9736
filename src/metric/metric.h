// The one table of metrics. A metric is a transform of rows, a term that is summed over coordinates, and how the sum
// becomes a key and a reported value (docs/internals/canonical-key.md). Knows nothing of how rows are stored or
// compared.
#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <string_view>

#include "knng.h"

namespace libknng {

// How a row x becomes the row u that terms are evaluated on.
enum class Transform : std::uint8_t {
  identity,      // u = x
  square_root,   // u = sqrt(x), x >= 0
  unit,          // u = x / |x|
  centred_unit,  // u = (x - mean) / |x - mean|
  rank_unit,     // as centred_unit, of the average ranks
  share          // u = x / sum(x), x >= 0
};

// What is accumulated for a pair (u, v); metric/terms-inl.h has the arithmetic.
enum class Term : std::uint8_t {
  squared_difference,
  product,
  absolute_difference,
  largest_difference,
  power_difference,
  canberra,
  bray_curtis,
  jensen_shannon
};
inline constexpr int kTerms = 8;

// Whether keys follow from inner products of rows.
constexpr bool has_product_form(Term t) noexcept { return t == Term::squared_difference || t == Term::product; }

// How a key becomes the value that is reported as a distance.
enum class Report : std::uint8_t { key, root, half_root, p_root };

struct Metric {
  const char* name;
  Transform transform;
  Term term;
  double scale;  // key = scale x sum, for the terms that are plain sums; 1 or 0.5
  Report report;
  bool similarity;           // may be reported as a similarity
  double p;                  // exponent of power_difference; else unused
  const char* aliases = "";  // other names that are taken for it, separated by ", "
};

// In the order in which they are documented.
std::span<const Metric> metrics() noexcept;
// Their names, separated by ", ".
const char* metric_names();
// The name of the metric that goes by `name`, itself or an alias, in any case of letters; nullptr: none does.
const char* metric_named(std::string_view name) noexcept;

// What a message says behind a name that is none: the names, and how else to have what is meant, if that is known.
std::string unknown_metric(std::string_view name);

// The metric of that name with its exponent: minkowski with p = 1 and p = 2 is summed as manhattan and euclidean.
// Throws KNNG_ERR_OPTION for an unknown name.
Metric find_metric(std::string_view name, double p);

// The largest |x| for which no key of rows of this dimension can overflow fp64 (docs/internals/canonical-key.md).
double largest_magnitude(const Metric& metric, std::int64_t dim) noexcept;

// What is reported for a key, in fp64.
double reported_value(const Metric& metric, double key, bool similarity) noexcept;

// Rows of which all values are 0 (unit), or all equal (centred_unit, rank_unit), have no direction: they are at key 1
// from every other row.
constexpr bool has_directions(Transform t) noexcept {
  return t == Transform::unit || t == Transform::centred_unit || t == Transform::rank_unit;
}
constexpr bool refuses_negative(Transform t) noexcept { return t == Transform::square_root || t == Transform::share; }
// Whether a row of valid values of that type may be refused: all but doubles are small beside what most metrics take.
// limit: of largest_magnitude().
constexpr bool may_refuse(Transform t, double limit, std::int32_t dtype) noexcept {
  return refuses_negative(t) || dtype == KNNG_F64 || limit <= std::numeric_limits<float>::max();
}

}  // namespace libknng

#include "refine/sum_bound.h"

#include "metric/elementary.h"
#include "refine/bound.h"

namespace libknng {
namespace {

constexpr double kHalfUlp = 0x1p-24;  // of fp32: one rounding
constexpr double kNoClaim = std::numeric_limits<double>::infinity();
// Beyond it the bound is no help, and its derivation ends.
constexpr double kMostGamma = 1.0 / 7;
// Sums and quotients of sums stay finite below this, whatever rounding adds.
constexpr double kRoomForSums = 0x1p126;
// minkowski: roundings that log2, the product with p and exp2 count as, for each unit of p.
constexpr double kPower = 624;
// What relative errors count as, in roundings: an approximation's 2^-22, and the key's own error. That is a canonical
// sum's (two of them and a quotient at most), pow's, and what p makes of the rounding of a difference; p beyond
// 1 / (kPower f) gets no claim.
constexpr double kApproximation = 5, kKey = 1;
constexpr double kKeyError =
    (2 * (kLargestFilterDim / 32.0 + 9) + 1) * 0x1p-52 + kPowError + 2 * 0x1p-53 / (kPower * kHalfUlp);
static_assert(kKeyError < kHalfUlp / 2);

// How many roundings of fp32, each a factor 1 + delta or its inverse, lie between the sum and the key.
double roundings(const Metric& metric, double dim) {
  switch (metric.term) {
    case Term::largest_difference: return 1 + kKey;
    case Term::power_difference: return dim + (kPower + 1) * metric.p + kApproximation + 1 + kKey;
    case Term::canberra: return dim + 2 + kApproximation + kKey;
    case Term::bray_curtis: return 2 * dim + 1 + kKey;
    default: return dim + kKey;
  }
}

// What underflow adds or takes.
double floor_of(Term term, double dim) {
  switch (term) {
    case Term::power_difference: return dim * 0x1p-125;
    case Term::bray_curtis: return 0x1p-149;
    default: return 0;
  }
}

bool stays_in_range(const Metric& metric, double dim, const ValueRange& range) {
  const double difference = 2 * static_cast<double>(range.largest);
  switch (metric.term) {
    case Term::power_difference:
      return difference < kRoomForSums && (difference == 0 || metric.p * std::log2(difference) + std::log2(dim) < 125);
    // Every sum of two magnitudes, but 0, has a reciprocal that is neither denormal nor infinite.
    case Term::canberra: return range.smallest >= 0x1p-126F && range.largest <= 0x1p124F;
    default: return difference * dim < kRoomForSums;
  }
}

}  // namespace

SumError sum_error(const Metric& metric, std::int64_t dim, const ValueRange& range) noexcept {
  const auto d = static_cast<double>(dim);
  const double rounding = roundings(metric, d) * kHalfUlp;
  if (!(rounding < 1) || !stays_in_range(metric, d, range)) return {kNoClaim, 0};
  return {rounding / (1 - rounding) * (1 + 0x1p-49), floor_of(metric.term, d)};
}

SumBound::SumBound(const SumError& error) noexcept {
  if (!(error.gamma <= kMostGamma)) return;
  down_ = round_down((1 - 4 * kHalfUlp) / (1 + error.gamma));
  floor_ = round_up(error.eta + 0x1p-148);
  growth_ = round_up((1 + 8 * kHalfUlp) / (static_cast<double>(down_) * (1 - error.gamma)));
  ceiling_ = 16 * floor_;
}

}  // namespace libknng

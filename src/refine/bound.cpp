#include "refine/bound.h"

#include <algorithm>
#include <cfloat>
#include <cmath>
#include <limits>

namespace libknng {
namespace {

// Room for up to eight roundings of fp64 in an expression without cancellation: (1 + 2^-49) (1 - 2^-53)^8 > 1.
constexpr double kUp = 1 + 0x1p-49;
constexpr double kDown = 1 - 0x1p-49;

// Below every underflow error of fp64 sums of fewer than 2^31 terms, and of their square roots.
constexpr double kSumFloor = 0x1p-1040;
constexpr double kRootFloor = 0x1p-500;

// Higham, Accuracy and Stability of Numerical Algorithms, 2nd ed., section 3.1: gamma of so many roundings.
double sum_gamma(std::int64_t roundings) {
  const double rounding = static_cast<double>(roundings) * 0x1p-24;
  return rounding / (1 - rounding) * kUp;
}

}  // namespace

// Relative error of a canonical sum: ceil(d / 32) additions in a lane, 5 to fold the lanes, 2 for the difference
// squared; twice for 1 / (1 - x).
double key_error(std::int64_t dim) noexcept {
  const std::int64_t roundings = dim / 32 + 9;
  return static_cast<double>(roundings) * 0x1p-52;
}

double key_floor() noexcept { return kSumFloor; }

float round_down(double x) noexcept {
  if (x > FLT_MAX) return FLT_MAX;
  if (!(x >= -FLT_MAX)) return -std::numeric_limits<float>::infinity();
  const auto f = static_cast<float>(x);
  return static_cast<double>(f) > x ? std::nextafter(f, -std::numeric_limits<float>::infinity()) : f;
}

OperandNorms operand_norms(double square_sum, double residual_sum, double row_sum, std::int64_t dim) noexcept {
  // A sum of d non-negative terms, each rounded once, is wrong by a factor within (1 - 2^-53)^+-(d + 1).
  const double sum_error = static_cast<double>(dim + 4) * 0x1p-52;
  OperandNorms n;
  n.lower = square_sum * (1 - sum_error) * kDown;
  n.upper = square_sum * (1 + sum_error) * kUp + kSumFloor;
  // u - c is rounded once: by 2^-53 of itself.
  n.residual =
      (std::sqrt(residual_sum * (1 + sum_error)) + 0x1p-52 * std::sqrt(row_sum * (1 + sum_error))) * kUp + kRootFloor;
  return n;
}

ProductUnit fp32_unit(std::int64_t dim) noexcept {
  // Every operation may also lose half of the smallest subnormal.
  return {sum_gamma(dim), static_cast<double>(dim) * 0x1p-149};
}

// A product of two operands is exact. What flushing takes: less than 2^-126 from each operation, which later ones make
// less than 1.25 times as much.
ProductUnit bf16_vector_unit(std::int64_t dim) noexcept {
  return {sum_gamma(dim - 1), static_cast<double>(dim) * 0x1.4p-126};
}

ProductUnit bf16_tile_unit(std::int64_t dim) noexcept {
  const std::int64_t steps = (dim + 31) / 32;
  return {sum_gamma(std::min(dim - 1, steps + 15)),
          static_cast<double>(dim + std::min(dim - 1, 2 * steps)) * 0x1.4p-126};
}

KeyBound::KeyBound(const Metric& metric, std::int64_t dim, int exponent, const ProductUnit& unit) noexcept
    : product_(metric.term == Term::product),
      scale_(metric.scale),
      unit_gamma_(unit.gamma),
      unit_eta_(unit.eta),
      key_error_(libknng::key_error(dim)),
      key_floor_(key_floor()),
      exponent_(exponent),
      power_(std::ldexp(1.0, exponent)),
      normal_(std::isnormal(power_)) {}

// As std::ldexp(x, exponent_): a product by a power of two is rounded once, like it, and only where that underflows.
double KeyBound::times_power(double x) const noexcept { return normal_ ? x * power_ : std::ldexp(x, exponent_); }

// Bounds of |x_i - x_j| for a pair with this key: above for sign = 1, below for sign = -1.
double KeyBound::distance(double key, double sign) const noexcept {
  const double sum = std::max(0.0, key / scale_ + sign * key_floor_);
  const double root = std::sqrt(sum * (1 + sign * key_error_)) * (sign > 0 ? kUp : kDown);
  return std::max(0.0, times_power(root) + sign * kRootFloor);
}

// What underflow may take from a canonical sum of products, in units of x_i.x_j, and from 4^s C.
double KeyBound::product_floor() const noexcept { return std::ldexp(key_floor_, 2 * exponent_) + kSumFloor; }

float KeyBound::half(const OperandNorms& j) const noexcept {
  return product_ ? 0.0f : round_down(0.5 * (1 - unit_gamma_) * j.lower * kDown);
}

float KeyBound::threshold(const OperandNorms& i, double cutoff, const Others& others) const noexcept {
  if (!(cutoff < std::numeric_limits<double>::infinity())) return -std::numeric_limits<float>::infinity();
  double positive, negative;  // apart, without cancellation
  if (product_) {
    const double a = std::sqrt(i.upper), b = std::sqrt(others.upper);
    const double error = unit_gamma_ * a * b + a * others.residual + b * i.residual + i.residual * others.residual +
                         key_error_ * (a + i.residual) * (b + others.residual);
    const double least = std::ldexp(-cutoff, 2 * exponent_);
    positive = std::max(0.0, least);
    negative = error * kUp + std::max(0.0, -least) + product_floor();
  } else {
    const double apart = distance(cutoff, 1) + i.residual + others.residual;
    positive = 0.5 * (1 - unit_gamma_) * i.lower;
    negative = 0.5 * apart * apart * kUp;
  }
  // kDown and kUp have room for the roundings of this sum too, which are relative to all of its parts.
  return round_down(positive * kDown - negative * kUp - unit_eta_ * kUp);
}

bool KeyBound::holds(const OperandNorms& i, const OperandNorms& j, float acc, double key) const noexcept {
  const double a = std::sqrt(i.upper), b = std::sqrt(j.upper);
  const double rounding = (unit_gamma_ * a * b + unit_eta_) * kUp;
  if (product_) {
    const double error = rounding + a * j.residual + b * i.residual + i.residual * j.residual +
                         key_error_ * (a + i.residual) * (b + j.residual) + product_floor();
    return std::fabs(std::ldexp(key, 2 * exponent_) + static_cast<double>(acc)) <= error * kUp;
  }
  // | |x_i - x_j| - |a_i - a_j| | <= r_i + r_j, and |a_i - a_j|^2 = |a_i|^2 + |a_j|^2 - 2 a_i.a_j.
  const double residual = i.residual + j.residual;
  const double sum = (i.upper + j.upper) * kUp;  // the three roundings below are of numbers below 2.2 sum
  const double least = (i.lower + j.lower) * kDown - 2 * static_cast<double>(acc) - 2 * rounding - sum * 0x1p-50;
  const double most = sum - 2 * static_cast<double>(acc) + 2 * rounding + sum * 0x1p-50;
  const double above = (distance(key, 1) + residual) * kUp;
  const double below = std::max(0.0, distance(key, -1) - residual * kUp) * kDown;
  return least <= above * above * kUp && most >= below * below * kDown;
}

}  // namespace libknng

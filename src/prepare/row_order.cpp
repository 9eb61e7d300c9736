#include "prepare/row_order.h"

#include <utility>

#include "core/random_bits.h"

namespace libknng {
namespace {

// Apart from where others begin.
constexpr std::uint64_t kFirst = std::uint64_t{1} << 32;

// One of 0 .. count - 1. Their chances differ by less than count / 2^64 of themselves.
std::int64_t drawn(std::int64_t count) noexcept {
  const auto wide = static_cast<unsigned __int128>(random_bits(kFirst + static_cast<std::uint64_t>(count)));
  return static_cast<std::int64_t>(wide * static_cast<std::uint64_t>(count) >> 64);
}

}  // namespace

// R. Durstenfeld, "Algorithm 235: Random permutation", Communications of the ACM 7(7), 1964.
RowOrder::RowOrder(std::int64_t rows, Budget* budget) : runs_(rows / kRun, budget) {
  for (std::int64_t r = 0; r < runs_.size(); ++r) runs_[r] = r * kRun;
  for (std::int64_t left = runs_.size(); left > 1; --left) std::swap(runs_[left - 1], runs_[drawn(left)]);
}

}  // namespace libknng

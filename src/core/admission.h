// Who may be a neighbour of whom, keys aside: no row of a graph is its own neighbour, and a query can leave out one id.
// Engines, results and checks take this object whole and ask it, on the host and on devices. A further rule is a member
// here and a line of admits().
#pragma once

#include <cstdint>
#include <limits>

namespace libknng {

// The rule of one row, for many ids.
struct RowAdmission {
  std::int64_t excluded = -1;  // the id that the row must not get, -1: none

  constexpr bool admits(std::int64_t id) const noexcept { return id != excluded; }
  // Calls f with those of the ids from `first` to end - 1 that it does not admit.
  template <class F>
  constexpr void each_refused(std::int64_t first, std::int64_t end, F&& f) const {
    if (excluded >= first && excluded < end) f(excluded);
  }
  // How many of the ids 0 to columns - 1 it admits.
  constexpr std::int64_t count(std::int64_t columns) const noexcept {
    return columns - (excluded >= 0 && excluded < columns ? 1 : 0);
  }
};

struct Admission {
  bool square = false;                      // row i is id i
  const std::int64_t* leave_out = nullptr;  // else, by row: the id that it must not get, -1: none; null: none of any
  const std::int64_t* rows = nullptr;       // which rows are meant, if these are some of all: by place; null: all

  constexpr RowAdmission of(std::int64_t row) const noexcept {
    const std::int64_t number = rows ? rows[row] : row;
    return {square ? number : leave_out ? leave_out[number] : -1};
  }
  constexpr bool admits(std::int64_t row, std::int64_t id) const noexcept { return of(row).admits(id); }
  // Of queries: the rule for rows from `first` on, counted from there.
  constexpr Admission from(std::int64_t first) const noexcept {
    return {square, leave_out ? leave_out + first : nullptr};
  }
  // For some of the rows, counted by their place in the list, which outlives it.
  constexpr Admission picked(const std::int64_t* list) const noexcept { return {square, leave_out, list}; }
  // How many ids a row is refused at most.
  constexpr std::int64_t most_refused() const noexcept { return square || leave_out ? 1 : 0; }
  // Lists begin with this cut-off: no larger key may be in one.
  constexpr double first_cutoff() const noexcept { return std::numeric_limits<double>::infinity(); }
};

}  // namespace libknng

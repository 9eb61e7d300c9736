// The order in which rows are worked on: as they come, or drawn at random, the same in every run and on every machine.
// Sorted rows may show every list nearer and nearer ones, so that its cut-off falls late; at random that does not
// happen, whatever order they came in. Knows nothing of the rows.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "core/buffer.h"

namespace libknng {

class RowOrder {
 public:
  // Runs of so many rows are shuffled: a tile's rows all over memory would cost more where rows are short
  // (docs/internals/benchmarks.md).
  static constexpr std::int64_t kRun = 16;

  // As they come, in any number.
  RowOrder() noexcept = default;
  // At random. Rows past the last whole run stay behind it.
  RowOrder(std::int64_t rows, Budget* budget);

  // Bytes of a random order.
  static constexpr std::int64_t bytes(std::int64_t rows) {
    return rows / kRun * static_cast<std::int64_t>(sizeof(std::int64_t));
  }

  // The first row of each run, by position.
  std::span<const std::int64_t> runs() const noexcept { return {runs_.data(), static_cast<std::size_t>(runs_.size())}; }
  // The row at a position.
  std::int64_t id(std::int64_t position) const noexcept {
    const std::int64_t run = position / kRun;
    return run < runs_.size() ? runs_[run] + position % kRun : position;
  }

 private:
  Buffer<std::int64_t> runs_;  // the first row of each
};

}  // namespace libknng

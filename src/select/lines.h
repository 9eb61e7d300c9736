// For selectors that look at one line after the other: the rows of a tile, and its columns, which are copied a few at a
// time so that each lies in one piece.
#pragma once

#include <algorithm>
#include <cstdint>

#include "select/low_tile.h"
#include "select/workspace.h"

namespace libknng {

struct Line {
  const float* low;                 // by place
  std::int64_t first = 0, end = 0;  // places of its pairs
  std::int32_t cut = INT32_MAX;     // order of its cut-off
};

class Lines {
 public:
  Lines(std::int64_t rows, std::int64_t columns, std::int64_t k, bool both, Workspace& space)
      : k_(std::min(k, both ? std::max(rows, columns) : columns)),
        stride_(rows + kStrip),
        strip_(both ? space.array<float>(kStrip * stride_) : nullptr),
        candidates_(space.array<Candidate>(k_ + kSlack)) {}

  // select(line, k, after, out) puts at most k pairs of the line, the smallest that come after `after` and are not
  // above its cut-off, to out, and returns how many.
  template <class Select>
  void run(const LowTile& tile, Sink& sink, Select&& select) {
    for (std::int64_t i = 0; i < tile.rows; ++i)
      drain({tile.low + i * tile.stride, tile.first_column(i), tile.columns, order_of_cut(tile.row_cuts[i])}, false, i,
            sink, select);
    if (!tile.column_cuts) return;
    for (std::int64_t first = 0; first < tile.columns; first += kStrip) {
      const std::int64_t count = std::min(kStrip, tile.columns - first);
      const std::int64_t rows = tile.end_row(first + count - 1);
      for (std::int64_t i = 0; i < rows; ++i)
        for (std::int64_t c = 0; c < count; ++c) strip_[c * stride_ + i] = tile.low[i * tile.stride + first + c];
      for (std::int64_t c = 0; c < count; ++c)
        drain({strip_ + c * stride_, 0, tile.end_row(first + c), order_of_cut(tile.column_cuts[first + c])}, true,
              first + c, sink, select);
    }
  }

 private:
  static constexpr std::int64_t kStrip = 16;  // columns that share a cache line
  static constexpr std::int64_t kSlack = 16;  // candidates that vectors may write too many

  template <class Select>
  void drain(Line line, bool column, std::int64_t index, Sink& sink, Select&& select) {
    Standing after = kBeforeAll;
    while (line.first < line.end) {
      const std::int64_t found = select(line, k_, after, candidates_);
      if (found == 0) return;
      const float cut = sink.take(column, index, {candidates_, static_cast<std::size_t>(found)});
      // What was not selected comes after the last of k, and can only matter if that one still does.
      if (found < k_ || cut == kWantsNoMore) return;
      line.cut = std::min(line.cut, order_of_cut(cut));
      for (std::int64_t c = 0; c < found; ++c)
        after = std::max(after, Standing{order_of(candidates_[c].low), candidates_[c].place});
      if (after.order > line.cut) return;
    }
  }

  std::int64_t k_;
  std::int64_t stride_;
  float* strip_;  // kStrip columns
  Candidate* candidates_;
};

}  // namespace libknng

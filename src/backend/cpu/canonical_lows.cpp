#include <algorithm>
#include <cfloat>
#include <limits>

#include "backend/cpu/direct_strip.h"
#include "backend/cpu/tile_lows.h"
#include "refine/bound.h"

namespace libknng {
namespace {

class CanonicalLows final : public TileLows {
 public:
  explicit CanonicalLows(const CpuProblem& problem) : problem_(problem), tile_(*direct_tiles().front()) {}

  const float* write(const Tile& t, DirectWorkspace& space, float* buffer, std::int64_t stride) const override {
    pack_points(tile_, problem_.rows, t.first_row, t.rows, space.row.data(), space.rows.data());
    pack_points(tile_, problem_.columns, t.first_column, t.columns, space.row.data(), space.columns.data());
    for (std::int64_t first = 0; first < t.rows; first += space.strip_rows) {
      // Pairs without direction are somebody else's.
      const DirectStrip strip = make_strip(problem_, tile_, t, first, std::min(space.strip_rows, t.rows - first),
                                           std::numeric_limits<double>::infinity(), space);
      const std::int64_t count = tile_.run[static_cast<int>(problem_.metric.term)](strip);
      for (const Survivor* s = strip.survivors; s < strip.survivors + count; ++s)
        buffer[(first + s->row) * stride + s->column] = round_down(s->key);
    }
    return buffer;
  }

  // round_down() is monotone. -inf would refuse keys below the range of fp32.
  float cut(double cutoff) const override { return std::max(round_down(cutoff), -FLT_MAX); }

  bool holds(std::int64_t, std::int64_t, float low, double key) const override { return low == round_down(key); }

  bool inexact() const noexcept override { return false; }
  double keys(double pairs) const noexcept override { return pairs; }

 private:
  const CpuProblem& problem_;
  const DirectTile& tile_;
};

}  // namespace

std::unique_ptr<TileLows> make_canonical_lows(const CpuProblem& problem) {
  return std::make_unique<CanonicalLows>(problem);
}

}  // namespace libknng

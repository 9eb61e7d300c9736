// What the tiled engine asks of whoever writes its tiles: a number for each pair that is not above its canonical key,
// in units of its own, and the translation of cut-offs into these units. Made once for all threads, with a worker for
// each.
#pragma once

#include <memory>

#include "backend/cpu/direct_workspace.h"
#include "backend/cpu/engine.h"
#include "core/division.h"
#include "plan/tile_grid.h"
#include "prepare/filter_panel.h"

namespace libknng {

class TileLows {
 public:
  virtual ~TileLows() = default;

  // The number of the pair at places (r, c) of the tile goes to the returned array at [r stride + c]; pairs on and
  // below the diagonal of a square grid may be left out. buffer: size() floats. Threads bring a buffer and a workspace
  // each.
  virtual const float* write(const Tile& t, DirectWorkspace& space, float* buffer, std::int64_t stride) const = 0;
  // A pair whose number is above cut(C) has a key above C. Above -inf for every key.
  virtual float cut(double cutoff) const = 0;
  // Whether a pair's number and its key agree; false means that a constant is wrong.
  virtual bool holds(std::int64_t row, std::int64_t column, float low, double key) const = 0;
  // Whether the numbers come from other arithmetic than that of keys.
  virtual bool inexact() const noexcept = 0;
  // Keys evaluated for the numbers of that many pairs.
  virtual double keys(double pairs) const noexcept = 0;

  // A buffer's row, and the buffer: blocks begin and end within panels.
  static std::int64_t stride(std::int64_t tile_cols) { return round_up(tile_cols, kFilterPanel) + kFilterPanel; }
  static std::int64_t size(std::int64_t tile_rows, std::int64_t tile_cols) {
    return checked_mul(stride(tile_rows), stride(tile_cols), "tile_rows");
  }
};

// fp32 products with a proved bound, of tiles that lie wholly below the diagonal, too. nullptr if the data's scale is
// beyond what the bound covers.
std::unique_ptr<TileLows> make_product_lows(const CpuProblem& problem, Budget* budget, Monitor& monitor);
bool product_lows_can_run(const Metric& metric, std::int64_t dim);
// Canonical keys, rounded down to fp32.
std::unique_ptr<TileLows> make_canonical_lows(const CpuProblem& problem);

}  // namespace libknng

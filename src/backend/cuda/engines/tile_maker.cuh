// How an engine finds the candidates of a tile, and what lists have to know of these. Most fill a tile with lower
// bounds of keys, from which a selector takes candidates. One of these for a session; which, the table of engines says
// (engine_kernels.cuh).
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "backend/cuda/base/handle_cache.cuh"
#include "backend/cuda/base/memory.cuh"
#include "backend/cuda/base/staging.cuh"
#include "backend/cuda/base/workspace.cuh"
#include "backend/cuda/engines/cutoff_guess.h"
#include "backend/cuda/engines/tile_part.h"
#include "backend/cuda/keys/contending_rows.cuh"
#include "backend/cuda/keys/direct.cuh"
#include "backend/cuda/rows/point_store.cuh"
#include "backend/cuda/select/merge.cuh"
#include "backend/cuda/select/select.cuh"
#include "backend/seam.h"
#include "metric/metric.h"
#include "refine/sum_bound.h"

namespace libknng::cuda {

// What makers work with, which outlives them.
struct TileInputs {
  const knng_backend_problem& problem;
  const Metric& metric;
  PointStore& points;
  HandleCache& handles;
  Staging& staging;
  DeviceContext& context;
  const DirectParts& key_parts;
};

// What is searched for, and where it goes.
struct TileSearch {
  TilePart part;
  bool both;  // a pair serves its column as well, which is another point. Else its row
  // All but what the maker knows: the tile, and terms.
  SelectJob rows, columns;
  CandidateLists row_lists, column_lists;
  Bounds row_bounds, column_bounds;
  const Selector& selector;
  float* tile;           // EngineKernels::buffer()
  std::byte* workspace;  // of the engine's line and the selector
};

// Where a tile's operands are made, by side; without memory it counts.
struct OperandSides {
  OperandSides(std::int64_t row_bytes, std::int64_t column_bytes, std::byte* memory) {
    Workspace space(memory);
    rows = space.take<std::byte>(row_bytes);
    columns = space.take<std::byte>(column_bytes);
    used = space.used();
  }

  std::byte *rows, *columns;
  std::int64_t used;
};

// What a tile's values are on a rung: how a low follows from one (SelectJob), and how far below its key it may be
// (Bounds, FilterBounds). By point, in device memory; null: there are none.
struct TileMeaning {
  bool integers = false;
  double scale = 1;  // key x scale is in the units of lows
  const float *row_terms = nullptr, *row_bounds = nullptr, *column_terms = nullptr, *column_bounds = nullptr;
  std::optional<SumBound> sums;
  float widths = 2;  // of Bounds
};

class TileMaker {
 public:
  explicit TileMaker(const TileInputs& inputs) : in_(inputs) {}
  virtual ~TileMaker() = default;
  TileMaker(const TileMaker&) = delete;
  TileMaker& operator=(const TileMaker&) = delete;

  // Of a graph's points, before the first begin(): the point at each place of an order in which whole tiles can be left
  // out. Empty: none is worth while.
  virtual DeviceArray<std::int64_t> find_order() { return {}; }
  // Whether cut-offs of a graph fall sooner where points are in no such order, but scattered (PointStore).
  virtual bool scatters() const noexcept { return false; }
  // Tiles that follow are of this rung; what was held for the rung before goes first. crowded: of the seam's begin().
  virtual void begin(int rung, bool crowded) = 0;
  // The parts of a tile of the plan, in the order in which they are searched, each merged into lists before the next.
  // Of a graph's tile on the diagonal (`square`, first_row == first_column) parts beside it have the columns behind
  // their rows only. Not `square`: some rows as if they were queries.
  virtual std::vector<TilePart> parts(const TileArea& area, bool square);
  // The same of some rows of a graph, as if they were queries, whose cut-offs are those of so many columns.
  virtual std::vector<TilePart> parts_of_sample(const TileArea& area, std::int64_t seen);
  // From which columns cut-offs should be guessed before the first tile: copies of columns drawn at random, which are
  // numbered behind all columns.
  virtual CutoffGuess guess() const { return {}; }
  // Every list has a cut-off that was guessed, by whichever device. room: for what a part finds of a list.
  virtual void trust_guesses(std::int64_t /*room*/) {}
  // No list has a cut-off.
  virtual void lists_cleared() {}
  // Whether it leaves out tiles of a graph's points, which are in an order of find_order() then.
  virtual bool leaves_out() const noexcept { return false; }
  // search.rows and search.columns get what their lists accept. Asynchronous.
  virtual void find(TileSearch& search);
  const TileMeaning& meaning() const noexcept { return meaning_; }
  // What operands are differences from, in device memory; null: they are no differences.
  virtual const double* centre() const noexcept { return nullptr; }
  // Lows of any rows on the rung, where EngineKernels::row_operand_bytes() says that it has them.
  virtual RowFilter* row_filter() { return nullptr; }

  // Where points come in blocks: whether blocks are held as the maker needs them, rather than as they are stored; so
  // many of them, from begin() until release().
  virtual bool holds_blocks() const noexcept { return false; }
  virtual void hold(std::int64_t /*blocks*/) {}
  virtual void release() {}
  virtual std::int64_t held() const noexcept { return 0; }
  // What was put on the stream uses blocks no more than until it is done.
  virtual void used() {}
  // What another device's maker of the same rung knows of points whose blocks have not come here.
  virtual void learn(const TileMaker& /*from*/, int /*device*/, int /*device_of_from*/) {}

 protected:
  // tile[r ld + c] for each pair. `workspace` is that of the engine's line. Asynchronous.
  virtual void fill(const TileArea& area, float* tile, std::int64_t ld, std::byte* workspace) = 0;
  // Of the part's points, from meaning().
  void set_terms(TileSearch& search) const;

  const TileInputs in_;
  TileMeaning meaning_;
};

}  // namespace libknng::cuda

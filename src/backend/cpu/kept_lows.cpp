#include "backend/cpu/kept_lows.h"

#include <algorithm>
#include <limits>
#include <memory>
#include <numeric>
#include <span>
#include <vector>

#include "backend/cpu/direct_tile.h"
#include "backend/cpu/directionless.h"
#include "backend/cpu/integer_filter.h"
#include "backend/cpu/low_rows.h"
#include "backend/cpu/side_lists.h"
#include "backend/cpu/tile_lows.h"
#include "core/division.h"
#include "prepare/low_operands.h"

namespace libknng {
namespace {

constexpr float kAnyLow = std::numeric_limits<float>::infinity();
static_assert(kLowBlock == kFilterPanel && kLowBlock % kLowPadding == 0);

std::int64_t whole_blocks(std::int64_t points) { return round_up(points, kLowBlock); }

std::int64_t low_bytes(const TileGrid& grid) {
  return 4 * checked_mul(whole_blocks(grid.rows), whole_blocks(grid.columns), "rows");
}

// Canonical columns are kept where they are not stored as such, as long as there are few.
constexpr std::int64_t kMostKept = 8 << 20;
bool stored_as_such(const Metric& metric, std::int32_t dtype) {
  return metric.transform == Transform::identity && dtype == KNNG_F32;
}
std::int64_t canonical_values(const Metric& metric, std::int32_t dtype, std::int64_t columns, std::int64_t dim) {
  const std::int64_t values = checked_mul(columns, dim, "rows");
  return stored_as_such(metric, dtype) || values > kMostKept / 8 ? 0 : values;
}

std::int32_t common_dtype(const CpuProblem& problem) {
  return problem.rows.dtype() == problem.columns.dtype() ? problem.columns.dtype() : 0;
}

// Lower bounds of all pairs, row by row. Without the filter's bounds, which do not cover every scale, there are none.
class LowMatrix {
 public:
  LowMatrix(const CpuProblem& problem, Budget* budget, Monitor& monitor)
      : problem_(problem),
        lows_(make_product_lows(problem, budget, monitor)),
        low_(lows_ ? low_bytes(problem.grid) / 4 : 0, budget),
        canonical_(canonical_values(problem.metric, common_dtype(problem), problem.grid.columns, problem.columns.dim()),
                   budget) {
    if (canonical_.empty()) return;
    constexpr std::int64_t together = 16;
    problem.team.for_each(problem.grid.columns, together, [&](int, std::int64_t begin, std::int64_t end) {
      for (std::int64_t j = begin; j < end; ++j) problem.columns.load(j, canonical_.data() + j * problem.columns.dim());
    });
  }

  const TileLows* lows() const noexcept { return lows_.get(); }
  float* row(std::int64_t i) noexcept { return low_.data() + i * stride(); }
  // Columns as canonical rows, or nullptr.
  const double* column(std::int64_t j) const noexcept {
    return canonical_.empty() ? nullptr : canonical_.data() + j * problem_.columns.dim();
  }

  void write(Monitor& monitor) {
    const TileGrid& grid = problem_.grid;
    const std::int64_t row_blocks = ceil_div(grid.rows, kLowBlock), column_blocks = ceil_div(grid.columns, kLowBlock);
    DirectWorkspace unused(kPanelRows, kPanelRows, 1, nullptr);  // others' lows need one
    monitor.stage("distances",
                  static_cast<double>(row_blocks * (grid.square ? row_blocks + 1 : 2 * column_blocks)) / 2);
    problem_.team.for_each(row_blocks * column_blocks, 1, [&](int, std::int64_t block, std::int64_t) {
      const std::int64_t r = block / column_blocks, c = block % column_blocks;
      if (monitor.stopped() || (grid.square && c > r)) return;
      // Below the diagonal: the last block has few rows, most often, and columns are multiplied by the panel.
      const std::int64_t first_row = r * kLowBlock, first_column = c * kLowBlock;
      const Tile tile{r,
                      c,
                      first_row,
                      std::min(kLowBlock, grid.rows - first_row),
                      first_column,
                      std::min(kLowBlock, grid.columns - first_column)};
      float* const at = row(first_row) + first_column;
      lows_->write(tile, unused, at, stride());
      if (grid.square && c < r) low_rows().front()->mirror(at, stride(), row(first_column) + first_row);
      monitor.advance(1);
    });
    monitor.check();
  }

 private:
  std::int64_t stride() const noexcept { return whole_blocks(problem_.grid.columns); }

  const CpuProblem& problem_;
  std::unique_ptr<TileLows> lows_;
  Buffer<float> low_;
  Buffer<double> canonical_;
};

// One thread's walk through rows.
class RowWorker {
 public:
  RowWorker(const CpuProblem& problem, LowMatrix& matrix, std::int64_t k, Budget* budget)
      : problem_(problem),
        matrix_(matrix),
        k_(k),
        tile_(*direct_tiles().front()),
        term_(static_cast<int>(problem.metric.term)),
        places_(whole_blocks(problem.columns.rows()), budget),
        keys_(problem.columns.rows(), budget),
        row_(problem.rows.dim(), budget),
        columns_(kBatch * problem.rows.dim(), budget) {}

  static std::int64_t bytes(std::int64_t columns, std::int64_t dim) {
    return checked_add(4 * whole_blocks(columns) + 8 * columns, checked_mul(8 * (1 + kBatch), dim, "dim"), "rows");
  }

  // All pairs of the row whose keys may belong are offered.
  void fill(std::int64_t row, NeighbourLists& lists) {
    if (problem_.rows.directionless(row)) return;
    const std::int64_t n = problem_.columns.rows();
    float guess = kAnyLow;
    float* const low = matrix_.lows() ? matrix_.row(row) : nullptr;
    if (low) {
      std::fill(low + n, low + round_up(n, kLowPadding), kAnyLow);
      problem_.admission.of(problem_.rows.id(row)).each_refused(0, n, [&](std::int64_t id) { low[id] = kAnyLow; });
      guess = low_rows().front()->guess(low, n, k_);
    }
    if (guess == kAnyLow) {  // all of them
      std::iota(places_.begin(), places_.begin() + n, 0);
      offer(row, n, low, lists);
      return;
    }
    const std::int64_t found = low_rows().front()->collect(low, n, guess, places_.data());
    const float cut = matrix_.lows()->cut(offer(row, found, low, lists));
    if (cut > guess) offer(row, low_rows().front()->collect_more(low, n, guess, cut, places_.data()), low, lists);
  }

  const CpuCounts& counts() const noexcept { return counts_; }

 private:
  // Offers those of the first `count` of places_ that may be neighbours. Returns the list's cut-off.
  double offer(std::int64_t row, std::int64_t count, const float* low, NeighbourLists& lists) {
    const RowAdmission admission = problem_.admission.of(problem_.rows.id(row));
    std::int64_t kept = 0;
    for (std::int64_t c = 0; c < count; ++c)
      if (!problem_.columns.directionless(places_[c]) && admission.admits(problem_.columns.id(places_[c])))
        places_[kept++] = places_[c];
    find_keys(row, kept);
    for (std::int64_t c = 0; c < kept; ++c) {
      if (low && !matrix_.lows()->holds(row, places_[c], low[places_[c]], keys_[c])) ++counts_.violations;
      lists.offer(row, keys_[c], problem_.columns.id(places_[c]));
    }
    counts_.keys += kept;
    return lists.cutoff(row);
  }

  // keys_: of the row with the first `count` of places_.
  void find_keys(std::int64_t row, std::int64_t count) {
    const std::int64_t dim = problem_.rows.dim();
    const float* const u = problem_.rows.floats(row);
    bool loaded = false;
    for (std::int64_t first = 0; first < count; first += kBatch) {
      const std::int64_t some = std::min(kBatch, count - first);
      const float* stored[kBatch];
      bool as_stored = u != nullptr;
      for (std::int64_t c = 0; c < some; ++c) {
        stored[c] = problem_.columns.floats(places_[first + c]);
        as_stored = as_stored && stored[c] != nullptr;
      }
      if (as_stored) {
        tile_.float_row_keys[term_](u, stored, some, dim, problem_.metric.scale, keys_.data() + first);
        continue;
      }
      if (!loaded) problem_.rows.load(row, row_.data());
      loaded = true;
      const double* canonical[kBatch];
      for (std::int64_t c = 0; c < some; ++c) {
        canonical[c] = matrix_.column(places_[first + c]);
        if (canonical[c]) continue;
        double* const v = columns_.data() + c * dim;
        problem_.columns.load(places_[first + c], v);
        canonical[c] = v;
      }
      tile_.row_keys[term_](row_.data(), canonical, some, dim, problem_.metric.scale, keys_.data() + first);
    }
  }

  static constexpr std::int64_t kBatch = 32;

  const CpuProblem& problem_;
  LowMatrix& matrix_;
  std::int64_t k_;
  const DirectTile& tile_;
  int term_;
  Buffer<std::int32_t> places_;
  Buffer<double> keys_;
  Buffer<double> row_, columns_;
  CpuCounts counts_;
};

// Bytes have exact products in tiles. Two threads, AVX-512, ms of tiles, or of the direct engine where they do not pay,
// and of this, at k = 10: 1,000 x 32 2.1, 1.1, 2,000 x 32 5.6, 3.5; 300 x 128 0.5, 1.0, 1,000 x 128 3.0, 1.7, 1,500 x
// 128 4.8, 4.5; 1,000 x 512 at k = 1 4.1, 8.7, at k = 100 17, 15.
bool bounds_pay_for_bytes(const TileGrid& grid, std::int64_t dim, std::int64_t k) {
  const std::int64_t points = std::max(grid.rows, grid.columns);
  if (dim > 256) return k > 1 && (points <= 1200 || (points <= 2048 && k > points / 16));
  return dim < 128 ? points <= 2048 : points >= 400 && points <= 1600;
}

}  // namespace

bool keeps_lows(const Metric& metric, std::int32_t dtype, const TileGrid& grid, std::int64_t dim, std::int64_t k) {
  return grid.tile_rows >= grid.rows && grid.tile_cols >= grid.columns && k <= kMostGuessed &&
         product_lows_can_run(metric, dim) &&
         (!integer_filter_can_run(metric, dtype, dim) || bounds_pay_for_bytes(grid, dim, k));
}

bool vectors_are_short() { return direct_tiles().front()->lanes <= 4; }

// AVX-512, one thread, ms of direct / this: 200 x 32 at k = 1 0.188 / 0.155, at k = 10 0.190 / 0.220, 200 x 512 at k =
// 10 1.10 / 0.82; 300 x 16 at k = 10 0.51 / 0.41; 400 x 64 at k = 100 4.65 / 2.58. And of tiles, two threads: 2,000 x
// 16 at k = 10 6.8 / 4.1; 3,000 x 16 at k = 1 5.2 / 16.5, as the matrix leaves the caches.
bool kept_lows_pay(const Metric& metric, std::int32_t dtype, std::int64_t dim, std::int64_t rows, std::int64_t columns,
                   std::int64_t k) {
  constexpr std::int64_t kFewest = 144, kMost = 2048, kMany = 240;
  if (!keeps_lows(metric, dtype, {rows, columns, rows, columns}, dim, k)) return false;
  if (std::min(rows, columns) < kFewest || std::max(rows, columns) > kMost) return false;
  // Rows that have to be converted cost more on their way to operands: cosine of 500 x 512 at k = 10 4.3 / 5.3, of
  // 1,000 x 256 6.8 / 5.7, x 512 at k = 100 21.7 / 15.6 (two threads).
  constexpr std::int64_t kLongRow = 256, kWithoutOthers = 1200;
  const bool listed = k > 1 && k <= SideLists::kMostListed && columns < kWithoutOthers;
  if (listed && dim > kLongRow && !stored_as_such(metric, dtype)) return false;
  if (k > columns / 3) return false;
  if (columns >= kMany) return true;
  if (!vectors_are_short()) return dim >= 24 * k;
  // AVX2, one thread, ms of direct / this: 150 x 8 at k = 1 0.074 / 0.068, at k = 4 0.084 / 0.093; 200 x 16 at k = 10
  // 0.252 / 0.208, 200 x 128 0.499 / 0.349.
  return dim >= 4 * k || (dim >= 16 && columns >= 190);
}

std::int64_t kept_lows_bytes(const Metric& metric, std::int32_t dtype, const TileGrid& grid, std::int64_t dim) {
  const std::int64_t operands =
      of_both_sides(grid, [dim](std::int64_t points) { return LowOperands::bytes(points, dim); });
  return checked_add(
      operands, checked_add(low_bytes(grid), 8 * canonical_values(metric, dtype, grid.columns, dim), "rows"), "rows");
}

std::int64_t kept_lows_workspace_bytes(const TileGrid& grid, std::int64_t dim) {
  return RowWorker::bytes(grid.columns, dim);
}

CpuCounts run_with_kept_lows(const CpuProblem& problem, NeighbourLists& lists, Budget* budget, Monitor& monitor) {
  LowMatrix matrix(problem, budget, monitor);
  std::vector<RowWorker> workers;
  workers.reserve(static_cast<std::size_t>(problem.team.size()));
  for (int i = 0; i < problem.team.size(); ++i) workers.emplace_back(problem, matrix, lists.k(), budget);
  offer_directionless(problem, lists, monitor);
  if (matrix.lows()) matrix.write(monitor);
  constexpr std::int64_t together = 16;
  monitor.stage("lists", static_cast<double>(problem.rows.rows()));
  problem.team.for_each(monitor, problem.rows.rows(), together, [&](int member, std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) workers[static_cast<std::size_t>(member)].fill(i, lists);
  });
  CpuCounts counts;
  for (const RowWorker& worker : workers) {
    counts.keys += worker.counts().keys;
    counts.violations += worker.counts().violations;
  }
  counts.inexact = matrix.lows() != nullptr;
  return counts;
}

}  // namespace libknng

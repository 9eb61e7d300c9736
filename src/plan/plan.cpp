#include "plan/plan.h"

#include <algorithm>

#include "core/checked.h"
#include "core/division.h"
#include "dataset/fingerprint.h"
#include "merge/neighbour_lists.h"

namespace libknng {
namespace {

constexpr std::int64_t kFewestTile = 64, kMostTile = 512;
constexpr std::int64_t kBlocksPerThread = 4, kMostInOne = 256;
// Seconds of work that are worth a thread. To start one and to wait for its end takes some 50 us, and where others want
// its processor milliseconds, a whole slice of theirs: of the few processors of a small machine one is often wanted.
constexpr double kWorthThread = 200e-6, kWorthOneOfFew = 500e-6;
constexpr int kFewThreads = 3;
// What takes less needs nobody who looks after it.
constexpr double kBrief = 1e-3;
constexpr int kBriefTogether = 16;  // threads at most, as some of them may not come

// Roughly, of all pairs and lists on one thread: 200 x 2 take 0.06 ms at k = 1 and 0.93 at k = 100, 1,000 x 2 at k = 10
// take 0.57 and 5,000 x 8 at k = 1 16 (AVX2).
double estimated_seconds(const Problem& p) {
  const auto rows = static_cast<double>(p.rows);
  const double pairs = rows * static_cast<double>(p.columns) * (p.square ? 0.5 : 1) * p.share;
  const double lists = 40e-9 * rows * static_cast<double>(p.k);
  // 400 x 32 at k = 10 take 0.48 ms, 1,000 x 128 2.9 and 1,000 x 2,048 at k = 1 30 (AVX-512); 1,000 x 8 at k = 1 0.85,
  // 1,000 x 32 1.16 (AVX2).
  if (p.one_tile) return pairs * (1.4e-9 + 0.034e-9 * static_cast<double>(p.dim)) + lists;
  return pairs * (5e-9 + 0.05e-9 * static_cast<double>(p.dim)) + lists;
}

std::int64_t comfortable_tile(const Problem& p) {
  std::int64_t tile = p.block_bytes / (8 * p.dim);
  // Enough tiles to keep all threads busy to the end; one thread takes few points in one.
  const std::int64_t points = std::max(p.rows, p.columns);
  const bool in_one = p.threads == 1 && points <= kMostInOne;
  const std::int64_t of_many = in_one ? points : round_up(ceil_div(points, kBlocksPerThread * p.threads), p.panel);
  tile = std::min(tile, std::max(kFewestTile, of_many));
  return std::clamp(tile / p.panel * p.panel, p.panel, kMostTile / p.panel * p.panel);
}

std::int64_t peak_bytes(const Problem& p, std::int64_t tile_rows, std::int64_t tile_cols, int threads) {
  const std::int64_t width = p.k + (p.self_first ? 1 : 0);
  const std::int64_t entries = checked_mul(p.rows, width, "k");
  const std::int64_t points = p.columns + (p.square ? 0 : p.rows);
  const std::int64_t prepared = checked_add(checked_mul(points, p.prepared_bytes, "rows"), p.order_bytes, "rows");
  const std::int64_t lists = NeighbourLists::bytes(p.rows, p.k);
  // The engine's operands end with its tiles, before the result is made.
  const std::int64_t operands = p.operand_bytes ? p.operand_bytes(tile_rows, tile_cols) : 0;
  const std::int64_t tiling =
      checked_add(operands, checked_mul(p.workspace_bytes(tile_rows, tile_cols), threads, "threads"), "rows");
  // Ids, values, ties and proof.
  const std::int64_t result = checked_add(checked_mul(entries, 8 + p.value_bytes, "k"), 2 * p.rows, "k");
  const std::int64_t emitting =
      p.self_first ? checked_add(result, checked_mul(p.dim, 8 * threads, "threads"), "k") : result;
  // Rows are looked at again when the result is there and the lists are gone.
  const std::int64_t of_threads =
      p.check_bytes > 0 ? checked_mul(p.check_thread_bytes(tile_rows, tile_cols), threads, "threads") : 0;
  const std::int64_t checking = checked_add(result, checked_add(p.check_bytes, of_threads, "check_rows"), "k");
  const std::int64_t listing = checked_add(lists, std::max(tiling, emitting), "k");
  const std::int64_t working = checked_add(prepared, std::max(listing, checking), "k");
  const std::int64_t fingerprint = p.square ? fingerprint_bytes(p.rows, p.dim, threads, RowLoader::kTogether) : 0;
  return checked_add(p.held_bytes, std::max(working, fingerprint), "rows");
}

}  // namespace

int threads_worth(const Problem& problem, int (*allowed)() noexcept) noexcept {
  const double seconds = estimated_seconds(problem);
  if (seconds < 2 * kWorthThread) return 1;
  const int most = allowed();
  return static_cast<int>(std::clamp<double>(seconds / (most > kFewThreads ? kWorthThread : kWorthOneOfFew), 1, most));
}

Plan make_plan(const Problem& problem) {
  Problem p = problem;
  // No tile is larger than the matrix, in whole panels.
  const std::int64_t most_rows = round_up(p.rows, p.panel), most_cols = round_up(p.columns, p.panel);
  p.tile_rows = std::min(p.tile_rows, most_rows);
  p.tile_cols = std::min(p.tile_cols, most_cols);
  int threads = p.threads;
  std::int64_t tile_rows = 0, tile_cols = 0;
  const auto take_tile = [&](std::int64_t tile) {
    tile_rows = p.tile_rows ? p.tile_rows : std::min(tile, most_rows);
    tile_cols = p.tile_cols ? p.tile_cols : std::min(tile, most_cols);
  };
  const auto fits = [&] { return peak_bytes(p, tile_rows, tile_cols, threads) <= p.max_host_bytes; };
  take_tile(p.one_tile ? std::max(most_rows, most_cols) : comfortable_tile(p));
  if (p.one_tile && !fits()) take_tile(comfortable_tile(p));
  while (!fits()) {
    if (!p.tile_rows && tile_rows > p.panel) {
      tile_rows = std::max(p.panel, tile_rows / 2 / p.panel * p.panel);
    } else if (!p.tile_cols && tile_cols > p.panel) {
      tile_cols = std::max(p.panel, tile_cols / 2 / p.panel * p.panel);
    } else if (!p.threads_fixed && threads > 1) {
      threads /= 2;
    } else {
      break;
    }
    if (!p.tile_cols && tile_cols > 2 * tile_rows) tile_cols = std::max(p.panel, tile_cols / 2 / p.panel * p.panel);
  }
  Plan plan;
  plan.grid = {p.rows, p.columns, tile_rows, tile_cols, p.square};
  plan.threads = threads;
  plan.brief = estimated_seconds(p) < kBrief * std::min(threads, kBriefTogether);
  plan.host_bytes = peak_bytes(p, tile_rows, tile_cols, threads);
  plan.smallest_host = peak_bytes(p, p.tile_rows ? p.tile_rows : p.panel, p.tile_cols ? p.tile_cols : p.panel,
                                  p.threads_fixed ? p.threads : 1);
  return plan;
}

}  // namespace libknng

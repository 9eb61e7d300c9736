#include "backend/cpu/tree_engine.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <vector>

#include "backend/cpu/directionless.h"
#include "backend/cpu/kept_lows.h"
#include "backend/cpu/point_tree.h"
#include "backend/cpu/side_lists.h"
#include "backend/cpu/tree_search.h"
#include "core/division.h"

namespace libknng {

bool tree_can_run(const Metric& metric, std::int64_t dim) {
  return grows_with_differences(metric.term) && dim <= kMostTreeDim;
}

namespace {

// Whether bounds that are kept leave the tree behind, in eight dimensions or more. Where they are, a long list costs a
// row of comparisons.
bool bounds_are_faster(std::int64_t dim, std::int64_t columns, std::int64_t k) {
  constexpr std::int64_t kLongList = SideLists::kMostListed + 1, kEnough = 400, kMany = 1300;
  if (k >= kLongList) return true;
  if (!vectors_are_short()) return dim > 8 && columns > kEnough;
  return dim > 8 || (columns < kMany && (k <= 2 || columns > kEnough));
}

}  // namespace

// Measured in low-dimensions.md. For few queries it is faster to evaluate all keys than to make a tree of the columns.
// In more dimensions boxes leave out little: among few rows the tree still wins where lists are long, or sums as long
// as its kernels are (13 to 16). A graph's short lists take all keys at once in the direct engine, if rows are few.
bool tree_pays(const Metric& metric, std::int32_t dtype, std::int64_t dim, std::int64_t rows, std::int64_t columns,
               std::int64_t k) {
  constexpr std::int64_t kVeryFewDims = 4, kFewDims = 8, kFewRows = 1000, kVeryFewRows = 300, kMoreDims = 12;
  constexpr std::int64_t kSomeNeighbours = 8, kLongList = SideLists::kMostListed + 1;
  const std::int64_t fewest_queries = dim <= kVeryFewDims ? 96 : 256;
  if (rows < std::min(columns, fewest_queries)) return false;
  if (dim >= kFewDims && bounds_are_faster(dim, columns, k) && kept_lows_pay(metric, dtype, dim, rows, columns, k))
    return false;
  const bool listed = rows == columns && k < kLongList;
  if (dim <= kFewDims) return dim < kFewDims || columns > kVeryFewRows || !listed;
  return columns <= kFewRows && k >= (dim > kMoreDims || !listed ? kSomeNeighbours : kLongList);
}

// Leaves that a row meets, of uniform points: 2.4 of 1,000 in two dimensions, 23 of 5,000 in eight, at k = 1. Each half
// of the pairs that a graph has evaluates both ways.
double tree_share(std::int64_t dim, std::int64_t columns, std::int64_t k) {
  const double all = static_cast<double>(ceil_div(columns, kTreeLeaf));
  const double met = 1.25 * std::exp2(0.5 * static_cast<double>(dim)) * (1 + static_cast<double>(k) / 40);
  return 1.5 * std::min(met, all) / all;
}

std::int64_t tree_operand_bytes(const Metric&, std::int32_t, std::int64_t, const TileGrid& grid, std::int64_t dim) {
  return of_both_sides(grid, [dim](std::int64_t points) { return PointTree::bytes(points, dim); });
}

std::int64_t tree_workspace_bytes(const Metric&, std::int32_t, const Selector*, std::int64_t k, const TileGrid&,
                                  std::int64_t) {
  return LeafLists::bytes(k);
}

CpuCounts run_tree(const CpuProblem& problem, NeighbourLists& lists, Budget* budget, Monitor& monitor) {
  const PointTree columns(problem.columns, problem.team, budget, monitor);
  // Rows that lie near each other go through the tree together.
  std::optional<PointTree> queries;
  if (!problem.grid.square) queries.emplace(problem.rows, problem.team, budget, monitor);
  TreeSearch search;
  search.columns = columns.view();
  search.rows = queries ? queries->view() : search.columns;
  search.p = problem.metric.p;
  search.scale = problem.metric.scale;
  search.admission = problem.admission;
  search.monitor = &monitor;
  const TreeKernels kernels = tree_targets().front()->kernels(problem.metric.term, problem.rows.dim());
  offer_directionless(problem, lists, monitor);
  monitor.stage("distances", static_cast<double>(search.rows.leaves));
  std::vector<LeafLists> found;
  found.reserve(static_cast<std::size_t>(problem.team.size()));
  for (int i = 0; i < problem.team.size(); ++i) found.emplace_back(lists.k(), budget);
  std::atomic<std::int64_t> keys{0};
  problem.team.for_each(monitor, search.rows.leaves, 1, [&](int member, std::int64_t leaf, std::int64_t) {
    LeafLists& of_leaf = found[static_cast<std::size_t>(member)];
    keys.fetch_add(kernels.search(search, leaf, of_leaf), std::memory_order_relaxed);
    const double* const rows = search.rows.leaf(leaf) + search.rows.dim * kTreeLeaf;
    for (int i = 0; i < kTreeLeaf && rows[i] >= 0; ++i) of_leaf.hand_over(i, lists, static_cast<std::int64_t>(rows[i]));
  });
  return {keys.load(), 0, 0, false};
}

}  // namespace libknng

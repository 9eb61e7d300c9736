// Points in few dimensions as a k-d tree (J. L. Bentley, "Multidimensional Binary Search Trees Used for Associative
// Searching", Communications of the ACM 18, 1975): canonical rows in leaves of kTreeLeaf that lie near each other, and
// the box around those of every node. Points without direction are not among them. How points are divided decides how
// fast neighbours are found, never which. Knows nothing of who looks for them.
#pragma once

#include <cstdint>

#include "core/buffer.h"
#include "core/monitor.h"
#include "core/thread_team.h"
#include "prepare/canonical_rows.h"

namespace libknng {

inline constexpr int kTreeLeaf = 32;
inline constexpr std::int64_t kMostTreeDim = 16;

// Dimensions that searches are compiled for. Rows of others get zeros behind their last coordinate, which change no
// key.
constexpr int tree_dim(std::int64_t dim) { return dim <= 8 ? static_cast<int>(dim) : dim <= 12 ? 12 : 16; }

// Calls f(std::integral_constant<int, D>()) for D = tree_dim(dim), dim <= kMostTreeDim.
template <class F>
void visit_tree_dim(std::int64_t dim, F&& f);

// Nodes come in preorder: behind a node of `leaves` leaves lie the 2 left_leaves(leaves) - 1 nodes of its left part,
// then those of the right one.
constexpr std::int64_t left_leaves(std::int64_t leaves) { return (leaves + 1) / 2; }

// Numbers of points are fp64 as well, which holds them.
struct TreeView {
  int dim = 0;              // as tree_dim() has it
  std::int64_t leaves = 0;  // 0: there are no points
  // Leaf after leaf, in each coordinate after coordinate: kTreeLeaf values; and at last kTreeLeaf numbers, -1 behind
  // the last point of all.
  const double* points = nullptr;
  const double* boxes = nullptr;  // by node: least coordinates, greatest coordinates, smallest number

  std::int64_t leaf_values() const noexcept { return std::int64_t{kTreeLeaf} * (dim + 1); }
  const double* leaf(std::int64_t i) const noexcept { return points + i * leaf_values(); }
  std::int64_t box_values() const noexcept { return 2 * dim + 1; }
  const double* box(std::int64_t node) const noexcept { return boxes + node * box_values(); }
};

class PointTree {
 public:
  // A point's number is its place in `points`. Throws KNNG_ERR_CANCELLED.
  PointTree(const CanonicalRows& points, ThreadTeam& team, Budget* budget, Monitor& monitor);
  // What it holds of so many points.
  static std::int64_t bytes(std::int64_t count, std::int64_t dim);

  TreeView view() const noexcept { return {dim_, leaves_, points_.data(), boxes_.data()}; }

 private:
  int dim_;
  std::int64_t leaves_ = 0;
  Buffer<double> points_, boxes_;
};

template <class F>
void visit_tree_dim(std::int64_t dim, F&& f) {
#ifdef __clang_analyzer__  // the instance whose loops it follows to their end; the others take it minutes
  return f(std::integral_constant<int, 1>());
#endif
  switch (tree_dim(dim)) {
    case 1: return f(std::integral_constant<int, 1>());
    case 2: return f(std::integral_constant<int, 2>());
    case 3: return f(std::integral_constant<int, 3>());
    case 4: return f(std::integral_constant<int, 4>());
    case 5: return f(std::integral_constant<int, 5>());
    case 6: return f(std::integral_constant<int, 6>());
    case 7: return f(std::integral_constant<int, 7>());
    case 8: return f(std::integral_constant<int, 8>());
    case 12: return f(std::integral_constant<int, 12>());
    default: return f(std::integral_constant<int, 16>());
  }
}

}  // namespace libknng

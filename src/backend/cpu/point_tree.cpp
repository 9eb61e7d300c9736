#include "backend/cpu/point_tree.h"

#include <algorithm>
#include <array>
#include <vector>

#include "core/checked.h"
#include "core/division.h"

namespace libknng {
namespace {

// A point while points are divided: in a leaf's place, its coordinates and its number beside each other.
template <int kDim>
struct Point {
  double x[kDim];
  double number;
};

// Of a node: its leaves are [first, first + leaves).
struct Part {
  std::int64_t node, first, leaves;

  Part left() const noexcept { return {node + 1, first, left_leaves(leaves)}; }
  Part right() const noexcept {
    const std::int64_t before = left_leaves(leaves);
    return {node + 2 * before, first + before, leaves - before};
  }
};

// Points of a part, spread over it, that say which of its sides is longest.
constexpr std::int64_t kLooked = 128;

// Points of few bytes are moved whether they have to be or not: which side one is on is as good as random, and a branch
// on it costs more than the move.
constexpr int kMovedDim = 4;

// Puts those of the points first whose value along an axis belongs to them, and returns how many. In no order.
template <int kDim, class Belongs>
std::int64_t part_points(Point<kDim>* points, std::int64_t count, int axis, Belongs&& belongs) {
  std::int64_t found = 0;
  for (std::int64_t i = 0; i < count; ++i) {
    const double value = points[i].x[axis];
    const Point<kDim> point = points[i];
    points[i] = points[found];
    points[found] = point;
    found += belongs(value);
  }
  return found;
}

// The value that so many of the others come before, without a branch on values.
template <std::size_t kCount>
double value_of_rank(const double (&values)[kCount], std::int64_t rank) {
  double found = values[0];
  for (std::size_t i = 0; i < kCount; ++i) {
    std::int64_t before = 0;
    for (std::size_t j = 0; j < kCount; ++j) before += j < i ? values[j] <= values[i] : values[j] < values[i];
    found = before == rank ? values[i] : found;
  }
  return found;
}

// Puts the `wanted` points that are smallest along an axis first, 0 < wanted < count.
template <int kDim>
void select_points(Point<kDim>* points, std::int64_t count, std::int64_t wanted, int axis) {
  const auto before = [axis](const Point<kDim>& a, const Point<kDim>& b) { return a.x[axis] < b.x[axis]; };
  // Of many points the median of some is a pivot. Who was unlucky too often goes on with the standard library's.
  constexpr std::int64_t kFew = 20, kLookedAt = 9;
  for (int round = 0; kDim <= kMovedDim && count > kFew && round < 40; ++round) {
    double seen[kLookedAt];
    for (std::int64_t s = 0; s < kLookedAt; ++s)
      seen[s] = points[s * count / kLookedAt + count / (2 * kLookedAt)].x[axis];
    const double pivot = value_of_rank(seen, wanted * kLookedAt / count);
    const std::int64_t less = part_points<kDim>(points, count, axis, [&](double x) { return x < pivot; });
    if (less == wanted) return;
    if (less > wanted) {
      count = less;
      continue;
    }
    // None is smaller: those that are equal to it go first.
    const std::int64_t passed =
        less > 0 ? less : part_points<kDim>(points, count, axis, [&](double x) { return x == pivot; });
    if (passed >= wanted) return;
    points += passed;
    count -= passed;
    wanted -= passed;
  }
  std::nth_element(points, points + wanted, points + count, before);
}

template <int kDim>
class Division {
 public:
  Division(std::span<Point<kDim>> points, std::int64_t count) noexcept : points_(points.data()), count_(count) {}

  // Puts the points of the left part first. False if they are in order for all parts below.
  bool split(const Part& part) const {
    if (part.leaves == 1) return false;
    const std::int64_t begin = part.first * kTreeLeaf;
    const std::int64_t size = std::min(part.leaves * kTreeLeaf, count_ - begin);
    Point<kDim>* const first = points_ + begin;
    int axis = longest(first, size, std::max<std::int64_t>(1, size / kLooked));
    if (axis < 0) axis = longest(first, size, 1);
    if (axis < 0) {
      // Equal points by their numbers: a search for the smallest then needs one way down.
      std::sort(first, first + size, [](const auto& a, const auto& b) { return a.number < b.number; });
      return false;
    }
    select_points<kDim>(first, size, left_leaves(part.leaves) * kTreeLeaf, axis);
    return true;
  }
  void split_all(const Part& part, const Monitor& monitor) const {
    if (monitor.stopped() || !split(part)) return;
    split_all(part.left(), monitor);
    split_all(part.right(), monitor);
  }

 private:
  // The side that is longest of every so many points; -1: they are all equal.
  static int longest(const Point<kDim>* points, std::int64_t size, std::int64_t step) noexcept {
    std::array<double, kDim> low, high;
    std::copy_n(points->x, kDim, low.begin());
    high = low;
    for (std::int64_t i = step; i < size; i += step)
      for (std::size_t t = 0; t < kDim; ++t) {
        low[t] = std::min(low[t], points[i].x[t]);
        high[t] = std::max(high[t], points[i].x[t]);
      }
    int axis = -1;
    double extent = 0;
    for (std::size_t t = 0; t < kDim; ++t)
      if (high[t] - low[t] > extent) {
        extent = high[t] - low[t];
        axis = static_cast<int>(t);
      }
    return axis;
  }

  Point<kDim>* points_;
  std::int64_t count_;
};

// Divides parts level by level until there are enough for all members, then each as a whole.
template <int kDim>
void divide(const Division<kDim>& division, std::int64_t leaves, ThreadTeam& team, const Monitor& monitor) {
  std::vector<Part> parts = {{0, 0, leaves}};
  const std::size_t enough = team.size() == 1 ? 1 : 4 * static_cast<std::size_t>(team.size());
  while (!parts.empty() && parts.size() < enough) {
    std::vector<std::uint8_t> goes_on(parts.size());
    team.for_each(std::ssize(parts), 1, [&](int, std::int64_t i, std::int64_t) {
      const auto at = static_cast<std::size_t>(i);
      goes_on[at] = !monitor.stopped() && division.split(parts[at]);
    });
    std::vector<Part> below;
    for (std::size_t i = 0; i < parts.size(); ++i) {
      if (!goes_on[i]) continue;
      below.push_back(parts[i].left());
      below.push_back(parts[i].right());
    }
    parts = std::move(below);
  }
  team.for_each(std::ssize(parts), 1, [&](int, std::int64_t i, std::int64_t) {
    division.split_all(parts[static_cast<std::size_t>(i)], monitor);
  });
}

// Places of points that have a direction: how many come before each run of kRun rows.
class Places {
 public:
  static constexpr std::int64_t kRun = 4096;

  explicit Places(const CanonicalRows& points) {
    for (std::int64_t first = 0; first < points.rows(); first += kRun) {
      before_.push_back(count_);
      const std::int64_t end = std::min(points.rows(), first + kRun);
      count_ += end - first;
      if (!points.any_directionless()) continue;
      for (std::int64_t i = first; i < end; ++i) count_ -= points.directionless(i);
    }
  }
  std::int64_t count() const noexcept { return count_; }
  std::int64_t before(std::int64_t first) const noexcept { return before_[static_cast<std::size_t>(first / kRun)]; }

 private:
  std::int64_t count_ = 0;
  std::vector<std::int64_t> before_;
};

template <int kDim>
void load(const CanonicalRows& rows, const Places& places, Point<kDim>* out, ThreadTeam& team, Monitor& monitor) {
  team.for_each(monitor, rows.rows(), Places::kRun, [&](int, std::int64_t begin, std::int64_t end) {
    Point<kDim>* to = out + places.before(begin);
    for (std::int64_t i = begin; i < end; ++i) {
      if (rows.directionless(i)) continue;
      std::fill_n(to->x, kDim, 0.0);
      if (const float* const stored = rows.floats(i))
        std::copy_n(stored, rows.dim(), to->x);
      else
        rows.load(i, to->x);
      to->number = static_cast<double>(i);
      ++to;
    }
  });
}

// A leaf's points to one coordinate after the other, and the box around them. `size` are points, the others filled.
template <int kDim>
void lay_out(double* leaf, std::int64_t size, double* box) {
  Point<kDim> points[kTreeLeaf];
  std::copy_n(reinterpret_cast<const Point<kDim>*>(leaf), size, points);
  std::fill(points + size, points + kTreeLeaf, points[0]);
  double* const low = box;
  double* const high = box + kDim;
  for (int t = 0; t < kDim; ++t) {
    low[t] = high[t] = points[0].x[t];
    for (int j = 0; j < kTreeLeaf; ++j) {
      const double x = points[j].x[t];
      leaf[t * kTreeLeaf + j] = x;
      low[t] = std::min(low[t], x);
      high[t] = std::max(high[t], x);
    }
  }
  double* const numbers = leaf + kDim * kTreeLeaf;
  box[2 * kDim] = points[0].number;
  for (int j = 0; j < kTreeLeaf; ++j) {
    numbers[j] = j < size ? points[j].number : -1;
    if (j < size) box[2 * kDim] = std::min(box[2 * kDim], numbers[j]);
  }
}

// The boxes of all nodes that are no leaves, from those below them.
void enclose(const Part& part, int dim, double* boxes) {
  if (part.leaves == 1) return;
  enclose(part.left(), dim, boxes);
  enclose(part.right(), dim, boxes);
  const std::int64_t values = 2 * dim + 1;
  double* const box = boxes + part.node * values;
  const double* const a = boxes + part.left().node * values;
  const double* const b = boxes + part.right().node * values;
  for (int t = 0; t < dim; ++t) {
    box[t] = std::min(a[t], b[t]);
    box[dim + t] = std::max(a[dim + t], b[dim + t]);
  }
  box[2 * dim] = std::min(a[2 * dim], b[2 * dim]);
}

// The node of a leaf.
std::int64_t node_of_leaf(std::int64_t leaf, std::int64_t leaves) {
  Part part{0, 0, leaves};
  while (part.leaves > 1) part = leaf < part.right().first ? part.left() : part.right();
  return part.node;
}

}  // namespace

std::int64_t PointTree::bytes(std::int64_t count, std::int64_t dim) {
  const std::int64_t leaves = ceil_div(count, kTreeLeaf), d = tree_dim(dim), box = 8 * (2 * d + 1);
  return checked_mul(leaves, 8 * kTreeLeaf * (d + 1) + 2 * box, "rows") - (leaves > 0 ? box : 0);
}

PointTree::PointTree(const CanonicalRows& points, ThreadTeam& team, Budget* budget, Monitor& monitor)
    : dim_(tree_dim(points.dim())) {
  const Places places(points);
  const std::int64_t count = places.count();
  leaves_ = ceil_div(count, kTreeLeaf);
  if (leaves_ == 0) return;
  points_ = Buffer<double>(leaves_ * kTreeLeaf * (dim_ + 1), budget);
  boxes_ = Buffer<double>((2 * leaves_ - 1) * (2 * dim_ + 1), budget);
  monitor.stage("tree", static_cast<double>(points.rows()));
  visit_tree_dim(points.dim(), [&](auto dim) {
    constexpr int kDim = decltype(dim)::value;
    auto* const all = reinterpret_cast<Point<kDim>*>(points_.data());
    load<kDim>(points, places, all, team, monitor);
    divide(Division<kDim>({all, static_cast<std::size_t>(count)}, count), leaves_, team, monitor);
    monitor.check();
    constexpr std::int64_t together = 64;
    team.for_each(leaves_, together, [&](int, std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i)
        lay_out<kDim>(points_.data() + i * kTreeLeaf * (kDim + 1),
                      std::min<std::int64_t>(kTreeLeaf, count - i * kTreeLeaf),
                      boxes_.data() + node_of_leaf(i, leaves_) * (2 * kDim + 1));
    });
  });
  enclose({0, 0, leaves_}, dim_, boxes_.data());
}

}  // namespace libknng

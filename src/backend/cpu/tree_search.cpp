#include "backend/cpu/tree_search.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backend/cpu/tree_search.cpp"
#include "core/hwy_targets.h"
// After hwy_targets.h, which limits the targets.
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <algorithm>
#include <bit>
#include <limits>
#include <type_traits>

#include "backend/cpu/hwy_elementary-inl.h"
#include "backend/cpu/short_lists-inl.h"
#include "metric/terms.h"

HWY_BEFORE_NAMESPACE();
namespace libknng {
namespace HWY_NAMESPACE {

#include "metric/terms-inl.h"

constexpr int kLanes = static_cast<int>(SimdOps::kLanes);
static_assert(kTreeLeaf % kLanes == 0 && kTreeLeaf <= 32 && kMostTreeDim < kCanonicalLanes);

// Folds by halves as canonical-key.md has it, sums that are term(0), ..., term(kDim - 1): sum kLane, to which those
// kStep, 2 kStep, ... further on have come. A sum is made when it is wanted, so that few are alive at once: all of them
// are more than AVX2 has registers for. Sums of lanes without a coordinate are +0 and change nothing: no sum of these
// terms is -0.
template <class Ops, class T, int kDim, int kLane = 0, int kStep = 1, class F>
HWY_INLINE typename Ops::Real folded(F&& term) {
  if constexpr (kStep == kMostTreeDim) {
    return term(kLane);
  } else if constexpr (kLane + kStep >= kDim) {
    return folded<Ops, T, kDim, kLane, 2 * kStep>(term);
  } else {
    const typename Ops::Real a = folded<Ops, T, kDim, kLane, 2 * kStep>(term);
    return T::template join<Ops>(a, folded<Ops, T, kDim, kLane + kStep, 2 * kStep>(term));
  }
}
template <class Ops, class T, int kDim, class F>
HWY_INLINE typename Ops::Real fold(double scale, F&& term) {
  static_assert(T::kSums == 1);
  const typename Ops::Real sum = folded<Ops, T, kDim>(term);
  return T::template finish<Ops>(&sum, scale);
}

// pow is long: code that needs it of many coordinates is compiled once for all who call it.
template <class T>
constexpr bool kIsLong = std::is_same_v<T, PowerDifference>;

// The key of two rows whose coordinates are u(t) and v(t).
template <class Ops, class T, int kDim, class U, class V>
HWY_INLINE typename Ops::Real key_of_rows(U&& u, V&& v, double p, double scale) {
  return fold<Ops, T, kDim>(scale, [&](int t) {
    typename Ops::Real s = Ops::set(0.0);
    T::template accumulate<Ops>(&s, u(t), v(t), p);
    return s;
  });
}
template <class Ops, class T, int kDim>
HWY_NOINLINE typename Ops::Real long_key_of_rows(const typename Ops::Real* u, const typename Ops::Real* v, double p,
                                                 double scale) {
  return key_of_rows<Ops, T, kDim>([&](int t) { return u[t]; }, [&](int t) { return v[t]; }, p, scale);
}
template <class Ops, class T, int kDim, class U, class V>
HWY_INLINE typename Ops::Real short_key(U&& u, V&& v, double p, double scale) {
  if constexpr (!kIsLong<T>) {
    return key_of_rows<Ops, T, kDim>(u, v, p, scale);
  } else {
    typename Ops::Real x[kDim], y[kDim];
    for (int t = 0; t < kDim; ++t) {
      x[t] = u(t);
      y[t] = v(t);
    }
    return long_key_of_rows<Ops, T, kDim>(x, y, p, scale);
  }
}

// What a coordinate of two points adds at least, if the boxes that they are in have this gap.
template <class T>
struct Least {
  template <class Ops>
  static HWY_INLINE typename Ops::Real of(typename Ops::Real gap, double p) {
    typename Ops::Real s = Ops::set(0.0);
    T::template accumulate<Ops>(&s, gap, Ops::set(0.0), p);
    return s;
  }
};
// pow is not proved monotone: its proved error is taken off, as low-dimensions.md says.
template <>
struct Least<PowerDifference> {
  template <class Ops>
  static HWY_NOINLINE typename Ops::Real of(typename Ops::Real gap, double p) {
    const typename Ops::Real least = Ops::mul(pow<Ops>(gap, Ops::set(p)), Ops::set(kLeastPower));
    return Ops::max(Ops::sub(least, Ops::set(kLeastPowerFloor)), Ops::set(0.0));
  }
};

// The key of the gaps between two boxes, whose coordinates are read by functions of t.
template <class Ops, class T, int kDim, class A, class B, class C, class D>
HWY_INLINE typename Ops::Real box_key(A&& low, B&& high, C&& other_low, D&& other_high, double p, double scale) {
  return fold<Ops, T, kDim>(scale, [&](int t) {
    const typename Ops::Real gap = Ops::max(Ops::sub(low(t), other_high(t)), Ops::sub(other_low(t), high(t)));
    return Least<T>::template of<Ops>(Ops::max(gap, Ops::set(0.0)), p);
  });
}

HWY_INLINE unsigned bits_of(SimdOps::Mask mask) {
  std::uint8_t bits[8] = {};
  hn::StoreMaskBits(SimdOps::Tag(), mask, bits);
  return bits[0] & ((1u << kLanes) - 1);
}

// The lists of a leaf's rows, and who may be in them: what a search needs whatever the metric and the dimension are.
class LeafRows {
 public:
  // by_id: short lists order equal keys. Else they are right where no key comes twice.
  HWY_NOINLINE LeafRows(const Admission& admission, const double* numbers, LeafLists& lists, bool by_id)
      : lists_(lists), by_id_(by_id), insert_(insert_function(lists.positions(), by_id)) {
    int count = 0;
    for (; count < kTreeLeaf && numbers[count] >= 0; ++count) {
      admission_[count] = admission.of(static_cast<std::int64_t>(numbers[count]));
      excluded_[count] = static_cast<double>(admission_[count].excluded);
    }
    std::fill(excluded_ + count, excluded_ + kTreeLeaf, -1);
    lists_.clear(admission.first_cutoff(), count);
    last_keys_ = lists_.last_keys();
    last_ids_ = lists_.last_ids();
    find_greatest();
  }

  // Whether a key comes twice in a short list.
  HWY_NOINLINE bool finds_equal_keys() const {
    const SimdOps::Real none = SimdOps::set(-std::numeric_limits<double>::infinity());
    for (int i = 0; i < kTreeLeaf; i += kLanes)
      for (const double* key = lists_.keys(0) + i; key < last_keys_; key += kTreeLeaf) {
        const SimdOps::Real a = SimdOps::load(key), b = SimdOps::load(key + kTreeLeaf);
        if (!hn::AllFalse(SimdOps::Tag(), SimdOps::mask_and(SimdOps::equal(a, b), SimdOps::less(none, a)))) return true;
      }
    return false;
  }

 protected:
  // Whether no point with keys from `bound` and numbers from `smallest` on can belong to any list.
  bool is_out(double bound, double smallest) const {
    return bound > greatest_ || (bound == greatest_ && (!by_id_ || loses_ties(smallest)));
  }

  HWY_NOINLINE void find_greatest() {
    SimdOps::Real greatest = SimdOps::load(last_keys_);
    for (int i = kLanes; i < kTreeLeaf; i += kLanes) greatest = SimdOps::max(greatest, SimdOps::load(last_keys_ + i));
    greatest_ = hn::GetLane(hn::MaxOfLanes(SimdOps::Tag(), greatest));
  }

  // Puts as many points into the short lists of rows [i, i + kLanes).
  void insert(int i, const double* keys, const double* ids, std::int64_t count) {
    insert_(keys, ids, count, lists_.keys(0) + i, lists_.ids(0) + i);
  }

  // Offers row i those points of a leaf that `near` has a bit for.
  HWY_NOINLINE void offer(int i, const double* keys, const double* numbers, std::uint32_t near) {
    HWY_ALIGN double pair_keys[kTreeLeaf * kLanes], pair_ids[kTreeLeaf];
    const int lane = i % kLanes;
    const SimdOps::Mask of_row = SimdOps::equal(hn::Iota(SimdOps::Tag(), 0), SimdOps::set(lane));
    std::int64_t count = 0;
    for (; near != 0; near &= near - 1) {
      const int j = std::countr_zero(near);
      const auto id = static_cast<std::int64_t>(numbers[j]);
      if (id < 0 || !admission_[i].admits(id)) continue;
      if (!lists_.are_short()) {
        lists_.offer(i, {keys[j], id});
        continue;
      }
      const SimdOps::Real of_lanes = SimdOps::select(of_row, SimdOps::set(keys[j]), SimdOps::set(kNoPair));
      SimdOps::store(of_lanes, pair_keys + count * kLanes);
      pair_ids[count++] = numbers[j];
    }
    if (count > 0) insert(i - lane, pair_keys, pair_ids, count);
  }

  static constexpr double kNoPair = std::numeric_limits<double>::quiet_NaN();

  LeafLists& lists_;
  const double *last_keys_, *last_ids_;  // of the lists
  HWY_ALIGN double excluded_[kTreeLeaf];

 private:
  HWY_NOINLINE bool loses_ties(double smallest) const {
    for (int i = 0; i < kTreeLeaf; ++i)
      if (last_keys_[i] == greatest_ && smallest < last_ids_[i]) return false;
    return true;
  }

  const bool by_id_;
  InsertFunction* const insert_;
  RowAdmission admission_[kTreeLeaf];
  double greatest_ = 0;  // of last_keys_
};

// The rows of a leaf on their way through the tree.
template <class T, int kDim>
class LeafSearch : public LeafRows {
 public:
  LeafSearch(const TreeSearch& job, std::int64_t row_leaf, LeafLists& lists, bool by_id)
      : LeafRows(job.admission, job.rows.leaf(row_leaf) + kDim * kTreeLeaf, lists, by_id),
        job_(job),
        rows_(job.rows.leaf(row_leaf)) {
    for (int t = 0; t < kDim; ++t) {
      const double* const x = rows_ + t * kTreeLeaf;
      low_[t] = *std::min_element(x, x + kTreeLeaf);
      high_[t] = *std::max_element(x, x + kTreeLeaf);
    }
  }

  std::int64_t run() {
    const TreeView& tree = job_.columns;
    // Of each level of the tree the part that is farther away: it has half of the leaves or less.
    Part waiting[64];
    int count = 0;
    if (tree.leaves > 0) waiting[count++] = part(0, 0, tree.leaves);
    for (std::int64_t visited = 0; count > 0;) {
      Part at = waiting[--count];
      while (!is_out(at) && at.leaves > 1) {
        const std::int64_t left = left_leaves(at.leaves);
        const Part a = part(at.node + 1, at.first, left);
        const Part b = part(at.node + 2 * left, at.first + left, at.leaves - left);
        const bool a_is_near = a.bound < b.bound || (a.bound == b.bound && a.smallest <= b.smallest);
        waiting[count] = a_is_near ? b : a;
        if (!is_out(waiting[count])) ++count;
        at = a_is_near ? a : b;
      }
      if (at.leaves > 1 || is_out(at)) continue;
      visit(tree.box(at.node), tree.leaf(at.first));
      if (++visited % kUnstopped == 0 && job_.monitor->stopped()) break;
    }
    return evaluated_;
  }

 private:
  // Leaves that are visited between two looks at the stop flag.
  static constexpr std::int64_t kUnstopped = 256;
  // A node: no key of a row and a point of it is below `bound`, no number of a point below `smallest`.
  struct Part {
    std::int64_t node, first, leaves;
    double bound, smallest;
  };
  HWY_NOINLINE Part part(std::int64_t node, std::int64_t first, std::int64_t leaves) const {
    const double* const box = job_.columns.box(node);
    const double bound = box_key<ScalarOps, T, kDim>([&](int t) { return low_[t]; }, [&](int t) { return high_[t]; },
                                                     [&](int t) { return box[t]; },
                                                     [&](int t) { return box[kDim + t]; }, job_.p, job_.scale);
    return {node, first, leaves, bound, box[2 * kDim]};
  }

  bool is_out(const Part& part) const { return LeafRows::is_out(part.bound, part.smallest); }

  void visit(const double* box, const double* columns) {
    const SimdOps::Real smallest = SimdOps::set(box[2 * kDim]);
    std::uint32_t wanted = 0;
    std::int64_t evaluated = 0;
    for (int i = 0; i < kTreeLeaf; i += kLanes) {
      const auto row = [&](int t) { return SimdOps::load(rows_ + t * kTreeLeaf + i); };
      const SimdOps::Real bound = box_key<SimdOps, T, kDim>(
          row, row, [&](int t) { return SimdOps::set(box[t]); }, [&](int t) { return SimdOps::set(box[kDim + t]); },
          job_.p, job_.scale);
      const SimdOps::Real key = SimdOps::load(last_keys_ + i);
      const SimdOps::Mask wants = SimdOps::mask_or(
          SimdOps::less(bound, key),
          SimdOps::mask_and(SimdOps::equal(bound, key), SimdOps::less(smallest, SimdOps::load(last_ids_ + i))));
      const unsigned bits = bits_of(wants);
      evaluated += std::popcount(bits);
      if (lists_.are_short() && 2 * std::popcount(bits) > kLanes)
        compare_together(i, columns);
      else
        wanted |= bits << i;
    }
    if (evaluated == 0) return;
    evaluated_ += evaluated * kTreeLeaf;
    for (; wanted != 0; wanted &= wanted - 1) compare(std::countr_zero(wanted), columns);
    find_greatest();
  }

  // kLanes rows with all points of a leaf, point by point, for short lists.
  void compare_together(int i, const double* columns) {
    HWY_ALIGN double keys[kTreeLeaf * kLanes], ids[kTreeLeaf];
    SimdOps::Real u[kDim];
    for (int t = 0; t < kDim; ++t) u[t] = SimdOps::load(rows_ + t * kTreeLeaf + i);
    const SimdOps::Real cutoff = SimdOps::load(last_keys_ + i), excluded = SimdOps::load(excluded_ + i);
    const double* const numbers = columns + kDim * kTreeLeaf;
    std::int64_t near = 0;
    for (int j = 0; j < kTreeLeaf && numbers[j] >= 0; ++j) {
      SimdOps::Real key = short_key<SimdOps, T, kDim>([&](int t) { return u[t]; },
                                                      [&](int t) { return SimdOps::set(columns[t * kTreeLeaf + j]); },
                                                      job_.p, job_.scale);
      key = SimdOps::select(SimdOps::equal(excluded, SimdOps::set(numbers[j])), SimdOps::set(kNoPair), key);
      SimdOps::store(key, keys + near * kLanes);
      ids[near] = numbers[j];
      near += !hn::AllFalse(SimdOps::Tag(), hn::Le(key, cutoff));
    }
    insert(i, keys, ids, near);
  }

  // A row with all points of a leaf.
  void compare(int i, const double* columns) {
    HWY_ALIGN double keys[kTreeLeaf];
    SimdOps::Real u[kDim];
    for (int t = 0; t < kDim; ++t) u[t] = SimdOps::set(rows_[t * kTreeLeaf + i]);
    const SimdOps::Real cutoff = SimdOps::set(last_keys_[i]);
    std::uint32_t near = 0;
    for (int j = 0; j < kTreeLeaf; j += kLanes) {
      const SimdOps::Real key = short_key<SimdOps, T, kDim>(
          [&](int t) { return u[t]; }, [&](int t) { return SimdOps::load(columns + t * kTreeLeaf + j); }, job_.p,
          job_.scale);
      SimdOps::store(key, keys + j);
      near |= bits_of(hn::Le(key, cutoff)) << j;
    }
    if (near != 0) offer(i, keys, columns + kDim * kTreeLeaf, near);
  }

  const TreeSearch& job_;
  const double* const rows_;
  std::int64_t evaluated_ = 0;
  double low_[kDim], high_[kDim];  // of the rows
};

// Few rows meet equal keys, or most do: short lists are made without looking at ids as long as that is right.
template <class T, int kDim>
std::int64_t search_leaf(const TreeSearch& job, std::int64_t row_leaf, LeafLists& lists) {
  std::int64_t evaluated = 0;
  if (lists.are_short() && !lists.expects_equal_keys) {
    LeafSearch<T, kDim> search(job, row_leaf, lists, false);
    evaluated = search.run();
    if (!search.finds_equal_keys()) return evaluated;
  }
  LeafSearch<T, kDim> search(job, row_leaf, lists, true);
  evaluated += search.run();
  lists.expects_equal_keys = lists.are_short() && search.finds_equal_keys();
  return evaluated;
}

template <class T, int kDim>
double key_of(const double* u, const double* v, double p, double scale) {
  HWY_ALIGN double lanes[kLanes];
  SimdOps::store(short_key<SimdOps, T, kDim>([&](int t) { return SimdOps::set(u[t]); },
                                             [&](int t) { return SimdOps::set(v[t]); }, p, scale),
                 lanes);
  return lanes[0];
}

template <class T, int kDim>
double bound_of(const double* low, const double* high, const double* other_low, const double* other_high, double p,
                double scale) {
  return box_key<ScalarOps, T, kDim>([&](int t) { return low[t]; }, [&](int t) { return high[t]; },
                                     [&](int t) { return other_low[t]; }, [&](int t) { return other_high[t]; }, p,
                                     scale);
}

TreeKernels tree_kernels(Term term, std::int64_t dim) {
  TreeKernels kernels;
  visit_tree_dim(dim, [&](auto d) {
    constexpr int kDim = decltype(d)::value;
    const auto of = [&](auto t) {
      using T = decltype(t);
      kernels = {search_leaf<T, kDim>, key_of<T, kDim>, bound_of<T, kDim>};
    };
    switch (term) {
      case Term::squared_difference: return of(SquaredDifference());
      case Term::absolute_difference: return of(AbsoluteDifference());
      case Term::largest_difference: return of(LargestDifference());
      case Term::power_difference: return of(PowerDifference());
      default: return;
    }
  });
  return kernels;
}

const TreeTarget* tree_target() {
  static const TreeTarget target = {hwy::TargetName(HWY_TARGET), kLanes, insert_function<>, tree_kernels};
  return &target;
}

}  // namespace HWY_NAMESPACE
}  // namespace libknng
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace libknng {

std::span<const TreeTarget* const> tree_targets() {
  static constexpr SimdVariant<const TreeTarget*()> kVariants[] = {KNNG_SIMD_VARIANTS(tree_target)};
  static const SupportedVariants supported(kVariants);
  return supported.list();
}

}  // namespace libknng
#endif

// Puts pairs into the short lists of as many rows as a vector has lanes (leaf_lists.h), without a branch on what they
// are: a branch would be as good as random. Re-included once per SIMD target by foreach_target.h. Knows nothing of what
// keys mean.
#include "core/hwy_targets.h"

#if defined(KNNG_BACKEND_CPU_SHORT_LISTS_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef KNNG_BACKEND_CPU_SHORT_LISTS_INL_H
#undef KNNG_BACKEND_CPU_SHORT_LISTS_INL_H
#else
#define KNNG_BACKEND_CPU_SHORT_LISTS_INL_H
#endif

#include <cstdint>

#include "backend/cpu/hwy_ops-inl.h"
#include "backend/cpu/tree_search.h"

HWY_BEFORE_NAMESPACE();
namespace libknng {
namespace HWY_NAMESPACE {

// An InsertFunction of tree_search.h.
template <int kPositions, bool kById>
void insert_pairs(const double* pair_keys, const double* pair_ids, std::int64_t count, double* keys, double* ids) {
  using Real = SimdOps::Real;
  using Mask = SimdOps::Mask;
  Real key[kPositions], id[kPositions];
  for (int p = 0; p < kPositions; ++p) {
    key[p] = SimdOps::load(keys + p * kTreeLeaf);
    id[p] = SimdOps::load(ids + p * kTreeLeaf);
  }
  for (std::int64_t c = 0; c < count; ++c) {
    const Real new_key = SimdOps::load(pair_keys + c * static_cast<std::int64_t>(SimdOps::kLanes));
    const Real new_id = SimdOps::set(pair_ids[c]);
    const auto comes_before = [&](int p) {
      const Mask less = SimdOps::less(new_key, key[p]);
      if constexpr (!kById) return less;
      return SimdOps::mask_or(less, SimdOps::mask_and(SimdOps::equal(new_key, key[p]), SimdOps::less(new_id, id[p])));
    };
    Mask moves = comes_before(kPositions - 1);
    for (int p = kPositions - 1; p > 0; --p) {
      const Mask one_before_moves = comes_before(p - 1);
      key[p] = SimdOps::select(moves, SimdOps::select(one_before_moves, key[p - 1], new_key), key[p]);
      id[p] = SimdOps::select(moves, SimdOps::select(one_before_moves, id[p - 1], new_id), id[p]);
      moves = one_before_moves;
    }
    key[0] = SimdOps::select(moves, new_key, key[0]);
    id[0] = SimdOps::select(moves, new_id, id[0]);
  }
  for (int p = 0; p < kPositions; ++p) {
    SimdOps::store(key[p], keys + p * kTreeLeaf);
    SimdOps::store(id[p], ids + p * kTreeLeaf);
  }
}

template <std::size_t kPlace = 0>
InsertFunction* insert_function(int positions, bool by_id) {
  if constexpr (kPlace + 1 < std::size(kShortLists))
    if (positions != kShortLists[kPlace]) return insert_function<kPlace + 1>(positions, by_id);
  return by_id ? insert_pairs<kShortLists[kPlace], true> : insert_pairs<kShortLists[kPlace], false>;
}

}  // namespace HWY_NAMESPACE
}  // namespace libknng
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard

#include "merge/sort_pairs.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "merge/sort_pairs.cpp"
#include "core/hwy_targets.h"
// After hwy_targets.h, which limits the targets.
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <algorithm>

HWY_BEFORE_NAMESPACE();
namespace libknng {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

using Keys = hn::ScalableTag<double>;
using Ids = hn::RebindToSigned<Keys>;
constexpr int kLanes = static_cast<int>(HWY_LANES(double));
constexpr int kBlock = 32;    // pairs that are sorted by counting
constexpr int kTogether = 4;  // vectors of pairs that are compared with one

// Writes how many of the pairs come before each: by their keys alone, or by ids as well where keys are equal.
template <bool kById>
void count_before(const double* keys, const std::int64_t* ids, int count, std::int64_t* before) {
  const Keys k;
  const Ids d;
  for (int first = 0; first < count; first += kTogether * kLanes) {
    hn::Vec<Keys> key[kTogether];
    hn::Vec<Ids> id[kTogether], found[kTogether];
    for (int v = 0; v < kTogether; ++v) {
      key[v] = hn::LoadU(k, keys + first + v * kLanes);
      id[v] = hn::LoadU(d, ids + first + v * kLanes);
      found[v] = hn::Zero(d);
    }
    for (int j = 0; j < count; ++j) {
      const auto other = hn::Set(k, keys[j]);
      for (int v = 0; v < kTogether; ++v) {
        auto is_before = hn::Lt(other, key[v]);
        if (kById) {
          const auto by_id = hn::RebindMask(k, hn::Lt(hn::Set(d, ids[j]), id[v]));
          is_before = hn::Or(is_before, hn::And(hn::Eq(other, key[v]), by_id));
        }
        found[v] = hn::Sub(found[v], hn::BitCast(d, hn::VecFromMask(k, is_before)));
      }
    }
    for (int v = 0; v < kTogether; ++v) hn::StoreU(found[v], d, before + first + v * kLanes);
  }
}

// Up to kBlock pairs, each put where its rank says.
void sort_block(Neighbour* pairs, int count) {
  constexpr int kRoom = kBlock + kTogether * kLanes;
  HWY_ALIGN double keys[kRoom] = {};
  HWY_ALIGN std::int64_t ids[kRoom] = {}, before[kRoom];
  Neighbour unsorted[kBlock];
  for (int i = 0; i < count; ++i) {
    unsorted[i] = pairs[i];
    keys[i] = pairs[i].key;
    ids[i] = pairs[i].id;
  }
  count_before<false>(keys, ids, count, before);
  std::int64_t sum = 0;
  for (int i = 0; i < count; ++i) sum += before[i];
  // Different keys have the ranks 0 to count - 1. Equal keys share a rank: then the sum is less.
  if (sum != std::int64_t{count} * (count - 1) / 2) count_before<true>(keys, ids, count, before);
  for (int i = 0; i < count; ++i) pairs[before[i]] = unsorted[i];
}

void sort_some(Neighbour* pairs, std::int64_t count) {
  if (kLanes == 1 || count > kMostSorted) {
    std::sort(pairs, pairs + count);
    return;
  }
  for (std::int64_t first = 0; first < count; first += kBlock)
    sort_block(pairs + first, static_cast<int>(std::min<std::int64_t>(kBlock, count - first)));
  Neighbour room[kMostSorted];
  Neighbour *from = pairs, *to = room;
  for (std::int64_t width = kBlock; width < count; width *= 2) {
    for (std::int64_t first = 0; first < count; first += 2 * width) {
      const Neighbour *a = from + first, *const a_end = from + std::min(first + width, count);
      const Neighbour *b = a_end, *const b_end = from + std::min(first + 2 * width, count);
      Neighbour* out = to + first;
      while (a < a_end && b < b_end) {
        const bool takes_b = *b < *a;
        *out++ = *(takes_b ? b : a);
        b += takes_b;
        a += !takes_b;
      }
      out = std::copy(a, a_end, out);
      std::copy(b, b_end, out);
    }
    std::swap(from, to);
  }
  if (from != pairs) std::copy(from, from + count, pairs);
}

const PairSort* pair_sort() {
  static const PairSort sort = {hwy::TargetName(HWY_TARGET), sort_some};
  return &sort;
}

}  // namespace HWY_NAMESPACE
}  // namespace libknng
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace libknng {

std::span<const PairSort* const> pair_sorts() {
  static constexpr SimdVariant<const PairSort*()> kVariants[] = {KNNG_SIMD_VARIANTS(pair_sort)};
  static const SupportedVariants supported(kVariants);
  return supported.list();
}

void sort_pairs(Neighbour* pairs, std::int64_t count) noexcept {
  static PairSortFunction* const sort = pair_sorts().front()->run;
  sort(pairs, count);
}

}  // namespace libknng
#endif

#include "select/quick_partition.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "select/quick_partition.cpp"
#include "core/hwy_targets.h"
// After hwy_targets.h, which limits the targets.
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <algorithm>
#include <cstddef>

HWY_BEFORE_NAMESPACE();
namespace libknng {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

using FloatTag = hn::ScalableTag<float>;
using IntTag = hn::RebindToSigned<FloatTag>;
using Floats = hn::Vec<FloatTag>;
using Ints = hn::Vec<IntTag>;
constexpr std::int64_t kLanes = HWY_LANES(float);
static_assert(kLanes <= kPartitionSlack);

// order_of() of each lane.
HWY_INLINE Ints orders_of(Floats low) {
  const IntTag d;
  const Ints bits = hn::BitCast(d, hn::Add(low, hn::Zero(FloatTag())));
  const Ints order = hn::Xor(bits, hn::And(hn::BroadcastSignBit(bits), hn::Set(d, INT32_MAX)));
  return hn::IfThenElse(hn::RebindMask(d, hn::IsNaN(low)), hn::Set(d, kFirstOrder), order);
}

// Lanes whose standing comes after.
HWY_INLINE hn::Mask<IntTag> come_after(Ints orders, Ints places, Standing after) {
  const IntTag d;
  const Ints order = hn::Set(d, after.order);
  return hn::Or(hn::Gt(orders, order), hn::And(hn::Eq(orders, order), hn::Gt(places, hn::Set(d, after.place))));
}

// The largest order below the pivot's that a number can have.
std::int32_t order_below(std::int32_t pivot) { return pivot == 0 ? -2 : pivot - 1; }

std::int64_t gather(const float* low, std::int64_t first, std::int64_t end, Standing after, std::int32_t pivot,
                    std::int64_t wanted, Standings to) {
  const FloatTag df;
  const IntTag d;
  // Most vectors of a long line hold nothing, which one comparison of floats shows; NaN is not above.
  Floats above = hn::Set(df, pivot == kFirstOrder ? kWantsNoMore : float_of(pivot));
  Ints pivots = hn::Set(d, pivot);
  std::int64_t count = 0, place = first;
  const auto store = [&](Floats values, std::int64_t at) {
    const Ints orders = orders_of(values);
    const Ints places = hn::Iota(d, static_cast<std::int32_t>(at));
    const auto kept = hn::AndNot(hn::Gt(orders, pivots), come_after(orders, places, after));
    hn::CompressStore(orders, kept, d, to.orders + count);
    count += static_cast<std::int64_t>(hn::CompressStore(places, kept, d, to.places + count));
  };
  for (; place + 4 * kLanes <= end; place += 4 * kLanes) {
    if (HWY_UNLIKELY(count >= wanted)) {
      if (pivot == kFirstOrder) return count;
      pivot = order_below(pivot);
      above = hn::Set(df, pivot == kFirstOrder ? kWantsNoMore : float_of(pivot));
      pivots = hn::Set(d, pivot);
      wanted = INT64_MAX;
    }
    const Floats v0 = hn::LoadU(df, low + place), v1 = hn::LoadU(df, low + place + kLanes);
    const Floats v2 = hn::LoadU(df, low + place + 2 * kLanes), v3 = hn::LoadU(df, low + place + 3 * kLanes);
    const auto out0 = hn::Gt(v0, above), out1 = hn::Gt(v1, above), out2 = hn::Gt(v2, above), out3 = hn::Gt(v3, above);
    if (hn::AllTrue(df, hn::And(hn::And(out0, out1), hn::And(out2, out3)))) continue;
    if (!hn::AllTrue(df, out0)) store(v0, place);
    if (!hn::AllTrue(df, out1)) store(v1, place + kLanes);
    if (!hn::AllTrue(df, out2)) store(v2, place + 2 * kLanes);
    if (!hn::AllTrue(df, out3)) store(v3, place + 3 * kLanes);
  }
  for (; place + kLanes <= end; place += kLanes) store(hn::LoadU(df, low + place), place);
  for (; place < end; ++place) {
    const Standing pair{order_of(low[place]), static_cast<std::int32_t>(place)};
    if (pair.order > pivot || !(after < pair)) continue;
    to.orders[count] = pair.order;
    to.places[count++] = pair.place;
  }
  return count;
}

// What stays never catches up with what is read, so it may overwrite it.
Split partition(Standings pairs, std::int64_t count, std::int32_t pivot, std::int32_t* equal, Standings greater) {
  const IntTag d;
  const Ints pivots = hn::Set(d, pivot);
  Split split = {0, 0, 0};
  std::int64_t i = 0;
  for (; i + kLanes <= count; i += kLanes) {
    const Ints orders = hn::LoadU(d, pairs.orders + i), places = hn::LoadU(d, pairs.places + i);
    const auto is_less = hn::Lt(orders, pivots), is_greater = hn::Gt(orders, pivots);
    const auto is_equal = hn::Eq(orders, pivots);
    hn::CompressStore(orders, is_less, d, pairs.orders + split.less);
    split.less += static_cast<std::int64_t>(hn::CompressStore(places, is_less, d, pairs.places + split.less));
    split.equal += static_cast<std::int64_t>(hn::CompressStore(places, is_equal, d, equal + split.equal));
    hn::CompressStore(orders, is_greater, d, greater.orders + split.greater);
    split.greater +=
        static_cast<std::int64_t>(hn::CompressStore(places, is_greater, d, greater.places + split.greater));
  }
  for (; i < count; ++i) {
    const std::int32_t order = pairs.orders[i], place = pairs.places[i];
    if (order < pivot) {
      pairs.orders[split.less] = order;
      pairs.places[split.less++] = place;
    } else if (order == pivot) {
      equal[split.equal++] = place;
    } else {
      greater.orders[split.greater] = order;
      greater.places[split.greater++] = place;
    }
  }
  return split;
}

void emit(Standings pairs, std::int64_t count, Candidate* to) {
  static_assert(sizeof(Candidate) == 8 && offsetof(Candidate, place) == 4);
  const IntTag d;
  for (std::int64_t i = 0; i < count; i += kLanes) {
    const Ints orders = hn::LoadU(d, pairs.orders + i);
    const Ints bits = hn::Xor(orders, hn::And(hn::BroadcastSignBit(orders), hn::Set(d, INT32_MAX)));  // float_of()
    hn::StoreInterleaved2(bits, hn::LoadU(d, pairs.places + i), d, reinterpret_cast<std::int32_t*>(to + i));
  }
}

void rank(const std::int32_t* orders, std::int32_t* ranks) {
  const IntTag d;
  static_assert(kFewPairs % kLanes == 0);
  for (std::int64_t from = 0; from < kFewPairs; from += kLanes) {
    const Ints mine = hn::LoadU(d, orders + from);
    const Ints place = hn::Iota(d, static_cast<std::int32_t>(from));
    Ints before = hn::Zero(d);
    for (std::int64_t i = 0; i < kFewPairs; ++i) {
      const Ints other = hn::Set(d, orders[i]);
      const auto first = hn::And(hn::Eq(other, mine), hn::Gt(place, hn::Set(d, static_cast<std::int32_t>(i))));
      before = hn::Sub(before, hn::VecFromMask(d, hn::Or(hn::Lt(other, mine), first)));
    }
    hn::StoreU(before, d, ranks + from);
  }
}

const QuickPartition* quick_partition() {
  static const QuickPartition functions = {hwy::TargetName(HWY_TARGET), gather, partition, emit, rank};
  return &functions;
}

}  // namespace HWY_NAMESPACE
}  // namespace libknng
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace libknng {

std::span<const QuickPartition* const> quick_partitions() {
  static constexpr SimdVariant<const QuickPartition*()> kVariants[] = {KNNG_SIMD_VARIANTS(quick_partition)};
  static const SupportedVariants supported(kVariants);
  return supported.list();
}

}  // namespace libknng
#endif

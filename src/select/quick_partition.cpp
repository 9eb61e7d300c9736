#include "select/quick_partition.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "select/quick_partition.cpp"
#include "core/hwy_targets.h"
// After hwy_targets.h, which limits the targets.
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <algorithm>

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

std::int64_t gather(const float* low, std::int64_t first, std::int64_t end, Standing after, std::int32_t pivot,
                    Standings to) {
  const FloatTag df;
  const IntTag d;
  // Most vectors of a long line hold nothing, which one comparison of floats shows; NaN is not above.
  const Floats above = hn::Set(df, pivot == kFirstOrder ? kWantsNoMore : float_of(pivot));
  const bool all = pivot == INT32_MAX;  // not a float
  const Ints pivots = hn::Set(d, pivot);
  std::int64_t count = 0, place = first;
  const auto store = [&](Floats values, std::int64_t at) {
    const Ints orders = orders_of(values);
    const Ints places = hn::Iota(d, static_cast<std::int32_t>(at));
    const auto kept = hn::AndNot(hn::Gt(orders, pivots), come_after(orders, places, after));
    hn::CompressStore(orders, kept, d, to.orders + count);
    count += static_cast<std::int64_t>(hn::CompressStore(places, kept, d, to.places + count));
  };
  for (; !all && place + 4 * kLanes <= end; place += 4 * kLanes) {
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

const QuickPartition* quick_partition() {
  static const QuickPartition functions = {hwy::TargetName(HWY_TARGET), gather, partition};
  return &functions;
}

}  // namespace HWY_NAMESPACE
}  // namespace libknng
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace libknng {

std::span<const QuickPartition* const> quick_partitions() {
  static constexpr SimdVariant<const QuickPartition*()> kVariants[] = {KNNG_SIMD_VARIANTS(quick_partition)};
  static const QuickPartition* partitions[std::size(kVariants)];
  static const std::size_t count = [] {
    std::size_t supported = 0;
    for (const auto& variant : kVariants)
      if (simd_target_supported(variant.target)) partitions[supported++] = variant.run();
    return supported;
  }();
  return {partitions, count};
}

}  // namespace libknng
#endif

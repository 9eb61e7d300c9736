#include "exec/rows/stream_copy.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "exec/rows/stream_copy.cpp"
#include "core/hwy_targets.h"
// After hwy_targets.h, which limits the targets.
#include <hwy/cache_control.h>
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <algorithm>
#include <cstring>

HWY_BEFORE_NAMESPACE();
namespace libknng {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

void copy_past_caches(std::byte* to, const std::byte* from, std::int64_t bytes) {
  const hn::ScalableTag<std::uint8_t> d;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  if (bytes < lanes || lanes == 1) {
    std::copy_n(from, bytes, to);
    return;
  }
  const auto address = static_cast<std::int64_t>(reinterpret_cast<std::uintptr_t>(to));
  const std::int64_t ahead = (lanes - address % lanes) % lanes;  // streams are aligned
  std::memcpy(to, from, static_cast<std::size_t>(ahead));
  std::int64_t at = ahead;
  for (; at + lanes <= bytes; at += lanes)
    hn::Stream(hn::LoadU(d, reinterpret_cast<const std::uint8_t*>(from + at)), d,
               reinterpret_cast<std::uint8_t*>(to + at));
  std::memcpy(to + at, from + at, static_cast<std::size_t>(bytes - at));
  hwy::FlushStream();
}

const StreamCopy* stream_copy_here() {
  static const StreamCopy copy = {hwy::TargetName(HWY_TARGET), copy_past_caches};
  return &copy;
}

}  // namespace HWY_NAMESPACE
}  // namespace libknng
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace libknng {

std::span<const StreamCopy* const> stream_copies() {
  static constexpr SimdVariant<const StreamCopy*()> kVariants[] = {KNNG_SIMD_VARIANTS(stream_copy_here)};
  static const SupportedVariants supported(kVariants);
  return supported.list();
}

}  // namespace libknng
#endif

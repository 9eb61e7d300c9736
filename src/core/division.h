// Division that rounds up: how many parts of a size hold so many things. Negative counts are not meant.
#pragma once

#include <cstdint>
#include <type_traits>

#include "core/host_device.h"

namespace libknng {

// Two ints stay 32 bits long, as a GPU likes them.
template <class A, class B>
KNNG_HD constexpr auto ceil_div(A things, B of_part) {
  using Count = std::conditional_t<std::is_same_v<A, int> && std::is_same_v<B, int>, int, std::int64_t>;
  const auto all = static_cast<Count>(things), each = static_cast<Count>(of_part);
  return all / each + (all % each != 0);
}

// The smallest multiple of `grain` that is not below `things`.
template <class A, class B>
KNNG_HD constexpr auto round_up(A things, B grain) {
  return ceil_div(things, grain) * grain;
}

}  // namespace libknng

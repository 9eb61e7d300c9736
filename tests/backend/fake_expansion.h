// Equal rows put back by a simulated device: of every row all members of its groups, sorted. Slow and plain.
#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "backend/seam.h"
#include "tests/backend/fake_behaviour.h"
#include "tests/backend/fake_memory.h"
#include "tests/backend/fake_points.h"
#include "tests/backend/fake_session.h"

namespace libknng::fake {

// What says who equals whom lies on the device meanwhile.
inline std::int64_t expansion_bytes(const knng_backend_expansion& e) {
  return DeviceArray<std::int64_t>::bytes(2 * e.rows + e.groups + 1);
}

inline void expand(const knng_backend_expansion& e, knng_backend_result& result) {
  std::int64_t held = 0;
  const DeviceArray<std::int64_t> memory(2 * e.rows + e.groups + 1, held);
  const Metric metric = metric_of(e.metric);
  const auto* const near = reinterpret_cast<const std::int64_t*>(reach(e.ids));
  const auto* const keys = reinterpret_cast<const double*>(reach(e.keys));
  auto* const ids = reinterpret_cast<std::int64_t*>(reach(result.ids));
  std::byte* const values = reach(result.values);
  const auto k = static_cast<std::size_t>(e.k);
  std::int64_t entry = 0;
  for (std::int64_t row = 0; row < e.rows; ++row) {
    if (e.cancelled(e.cancellation)) throw Failure{KNNG_ERR_CANCELLED, "the call was cancelled"};
    std::vector<std::pair<double, std::int64_t>> found;
    const auto add = [&](std::int64_t group, double key) {
      for (std::int64_t at = e.starts[group]; at < e.starts[group + 1]; ++at)
        if (e.members[at] != row) found.emplace_back(key, e.members[at]);
    };
    const std::int64_t own = e.group[row];
    add(own, 0);
    for (std::int64_t at = own * e.listed; at < (own + 1) * e.listed; ++at) add(near[at], keys[at]);
    std::sort(found.begin(), found.end());
    const auto put = [&](std::int64_t id, double key) {
      const double value = reported_value(metric, key, e.metric.similarity != 0);
      const float rounded = static_cast<float>(value);
      const bool wide = e.value_dtype == KNNG_F64;
      if (!std::isfinite(wide ? value : static_cast<double>(rounded)))
        result.too_large = std::min(result.too_large, row);
      ids[entry] = id;
      wide ? reinterpret_cast<double*>(values)[entry] = value : reinterpret_cast<float*>(values)[entry] = rounded;
      ++entry;
    };
    if (e.self_first) put(row, 0);
    for (std::size_t i = 0; i < k; ++i) put(found[i].second, found[i].first);
    result.ties[row] = found.size() > k && found[k].first == found[k - 1].first;
  }
}

}  // namespace libknng::fake

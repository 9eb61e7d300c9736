// What a selector must find in one list, and whether it did. Knows nothing of tiles or devices.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

#include "backend/cuda/select/candidate.cuh"
#include "gpu.cuh"

namespace gpu {

using Entry = std::pair<float, std::uint32_t>;  // low, id

// A selector's answer for one list: out[0, count), and the smallest low that it says to have dropped.
struct Selected {
  const libknng::cuda::Candidate* out;
  std::int32_t count;
  float dropped;
};

// survivors: all of the list, ascending. drops: whether the selector was asked what it dropped; `before` stood there.
inline void expect_selected(const std::vector<Entry>& survivors, int capacity, bool drops, float before,
                            const Selected& got, const char* selector, const char* where, long long list) {
  const auto wanted = std::min(survivors.size(), static_cast<std::size_t>(capacity));
  if (!expect(got.count == static_cast<std::int32_t>(wanted), "%s %s list %lld: %d instead of %zu", selector, where,
              list, got.count, wanted))
    return;
  std::vector<Entry> found;
  for (std::size_t i = 0; i < wanted; ++i) found.emplace_back(got.out[i].low, got.out[i].id);
  std::sort(found.begin(), found.end());
  bool same = true;
  for (std::size_t i = 0; i < wanted; ++i) {
    same = same && found[i].first == survivors[i].first;
    // Among equal lows at the edge any may be there, but it must be there, and once.
    same = same && std::binary_search(survivors.begin(), survivors.end(), found[i]);
    same = same && (i == 0 || found[i] != found[i - 1]);
  }
  expect(same, "%s %s list %lld: other candidates", selector, where, list);
  const float next =
      drops && survivors.size() > wanted ? survivors[wanted].first : std::numeric_limits<float>::infinity();
  const float dropped = std::min(before, next);
  expect(got.dropped == dropped, "%s %s list %lld: dropped %g instead of %g", selector, where, list,
         static_cast<double>(got.dropped), static_cast<double>(dropped));
}

// Memory that a selector works in, filled with what it must not rely on.
template <class Run>
void run_with_workspace(std::size_t bytes, Run&& run) {
  Array<char> workspace(bytes);
  workspace.poison();
  run(workspace.get());
  check(cudaDeviceSynchronize());
}

}  // namespace gpu

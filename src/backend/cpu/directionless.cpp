#include "backend/cpu/directionless.h"

#include <algorithm>
#include <vector>

namespace libknng {
namespace {

// The smallest ids of points without a direction, so many if there are, in any order.
std::vector<std::int64_t> smallest_directionless(const CanonicalRows& points, std::int64_t wanted) {
  std::vector<std::int64_t> ids;
  const auto shorten = [&] {
    if (std::ssize(ids) <= wanted) return;
    std::nth_element(ids.begin(), ids.begin() + wanted, ids.end());
    ids.resize(static_cast<std::size_t>(wanted));
  };
  for (std::int64_t j = 0; j < points.rows(); ++j) {
    if (!points.directionless(j)) continue;
    ids.push_back(points.id(j));
    if (std::ssize(ids) == 2 * wanted) shorten();
  }
  shorten();
  return ids;
}

}  // namespace

void offer_directionless(const CpuProblem& problem, NeighbourLists& lists, Monitor& monitor) {
  const CanonicalRows& rows = problem.rows;
  const CanonicalRows& columns = problem.columns;
  if (!rows.any_directionless() && !columns.any_directionless()) return;
  const std::int64_t wanted = lists.k() + 1 + problem.admission.most_refused();
  const std::vector<std::int64_t> first = smallest_directionless(columns, wanted);
  const auto offer = [&](std::int64_t i, std::int64_t id) {
    if (problem.admission.admits(rows.id(i), id)) lists.offer(i, kNoDirectionKey, id);
  };
  constexpr std::int64_t together = 1024;
  problem.team.for_each(rows.rows(), together, [&](int, std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end && !monitor.stopped(); ++i) {
      if (rows.directionless(i))
        for (std::int64_t id = 0; id < std::min(wanted, columns.rows()); ++id) offer(i, id);
      else
        for (const std::int64_t id : first) offer(i, id);
    }
  });
}

}  // namespace libknng

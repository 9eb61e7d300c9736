#include "backend/cpu/directionless.h"

#include <algorithm>
#include <vector>

namespace libknng {

void offer_directionless(const CpuProblem& problem, NeighbourLists& lists, Monitor& monitor) {
  const CanonicalRows& rows = problem.rows;
  const CanonicalRows& columns = problem.columns;
  if (!rows.any_directionless() && !columns.any_directionless()) return;
  const std::int64_t wanted = lists.k() + 2;  // one may be the row itself, or left out
  std::vector<std::int64_t> first;            // the first ids without direction
  for (std::int64_t j = 0; j < columns.rows() && static_cast<std::int64_t>(first.size()) < wanted; ++j)
    if (columns.directionless(j)) first.push_back(j);
  const auto offer = [&](std::int64_t i, std::int64_t j) {
    if (!(problem.grid.square && i == j) && !(problem.leave_out && problem.leave_out[i] == j))
      lists.offer(i, kNoDirectionKey, j);
  };
#pragma omp parallel for schedule(static) num_threads(problem.threads)
  for (std::int64_t i = 0; i < rows.rows(); ++i) {
    if (monitor.stopped()) continue;
    if (rows.directionless(i))
      for (std::int64_t j = 0; j < std::min(wanted, columns.rows()); ++j) offer(i, j);
    else
      for (const std::int64_t j : first) offer(i, j);
  }
}

}  // namespace libknng

// Rows that equal an earlier row are left out of a build and come back in its result: equal rows are at key 0 from each
// other and at the same keys from all others, so that the graph of the distinct rows has everything. Lists full of
// duplicates would leave a filter nothing to rule out. Knows nothing of engines or devices.
#pragma once

#include <cstdint>
#include <functional>
#include <span>

#include "core/buffer.h"
#include "core/monitor.h"
#include "core/thread_team.h"
#include "dataset/dataset.h"
#include "dataset/row_loader.h"
#include "exec/task.h"
#include "graph/graph.h"

namespace libknng {

// The distinct rows, and which rows equal each of them.
class Groups {
 public:
  // first: of each row the first that equals it, in memory that becomes ours. Rows without a direction are at key 1
  // from their like: each is a group of its own. Throws KNNG_ERR_CANCELLED.
  Groups(const Dataset& data, const RowLoader& loader, const Metric& metric, Buffer<std::int64_t> first, Budget* budget,
         const Monitor& monitor);
  static std::int64_t bytes(std::int64_t rows);  // at most, `first` included, what rows to load take not

  std::int64_t count() const noexcept { return starts_.size() - 1; }
  std::int64_t group(std::int64_t row) const noexcept { return group_[row]; }
  // Ascending; the first stands for all.
  std::span<const std::int64_t> members(std::int64_t group) const noexcept {
    return {members_.data() + starts_[group], static_cast<std::size_t>(starts_[group + 1] - starts_[group])};
  }
  std::span<const std::int64_t> representatives() const noexcept {
    return {representatives_.data(), static_cast<std::size_t>(count())};
  }
  // As they are kept: group(i) of each row; members of all groups one after the other, and where each begins.
  const std::int64_t* of_rows() const noexcept { return group_.data(); }
  const std::int64_t* starts() const noexcept { return starts_.data(); }
  const std::int64_t* members() const noexcept { return members_.data(); }

 private:
  Buffer<std::int64_t> group_, starts_, members_, representatives_;
};

// Whether leaving out so many rows, which equal earlier ones, pays, and whether the metric and the task allow it.
bool distinct_pays(const Task& task, std::int64_t rows, std::int64_t duplicates);

// What is asked about the distinct rows: keys, and one neighbour more, so that ties are seen.
Task task_of_distinct(const Task& task);
std::int64_t k_of_distinct(std::int64_t k, std::int64_t groups);
// Host memory that a graph of the distinct rows of such a task holds, and what expand() takes beside it for k
// neighbours.
std::int64_t graph_bytes_of_distinct(const Task& task, std::int64_t groups, std::int64_t k);
std::int64_t expand_bytes(std::int64_t k, int threads);

// Fills a graph whose shape is set from that of the distinct rows, as task_of_distinct() asks for it; both on the host.
// Throws KNNG_ERR_RANGE as emit() does.
void expand(const Graph& distinct, const Groups& groups, const Task& task, ThreadTeam& team, Budget* budget,
            Monitor& monitor, Graph& graph);

}  // namespace libknng

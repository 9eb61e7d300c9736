// Neighbour lists that several threads fill: one mutex for each group of consecutive rows.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <mutex>

#include "core/checked.h"
#include "merge/neighbour_lists.h"

namespace libknng {

class SharedLists {
 public:
  SharedLists(NeighbourLists& lists, std::int64_t rows)
      : lists_(lists), locks_(new std::mutex[static_cast<std::size_t>(ceil_div(rows, kGroup))]) {}

  // Calls f(lists, from, to) for each group that rows [first, first + count) touch, holding its mutex; from and to
  // limit the rows of the group that are meant.
  template <class F>
  void visit(std::int64_t first, std::int64_t count, F&& f) {
    const std::int64_t end = first + count;
    for (std::int64_t from = first; from < end;) {
      const std::int64_t group = from / kGroup;
      const std::int64_t to = std::min(end, (group + 1) * kGroup);
      const std::lock_guard lock(locks_[static_cast<std::size_t>(group)]);
      f(lists_, from, to);
      from = to;
    }
  }

 private:
  static constexpr std::int64_t kGroup = 512;

  NeighbourLists& lists_;
  std::unique_ptr<std::mutex[]> locks_;
};

}  // namespace libknng

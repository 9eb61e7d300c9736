// Neighbour lists that several threads fill: one mutex for each group of consecutive rows. A group is small, so that
// threads rarely meet, and a panel of the filters' operands, whose survivors come panel by panel.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <mutex>

#include "core/division.h"
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

  // Offers a sequence of pairs: f(pair) gives {row, key, id}, or a row below 0 for a pair that is not meant. Quick
  // where rows of the same group follow each other.
  template <class Pairs, class F>
  void offer(const Pairs& pairs, F&& f) {
    std::unique_lock<std::mutex> lock;
    std::int64_t held = -1;
    for (const auto& pair : pairs) {
      const Offer offered = f(pair);
      if (offered.row < 0) continue;
      if (offered.row / kGroup != held) {
        held = offered.row / kGroup;
        if (lock) lock.unlock();
        lock = std::unique_lock(locks_[static_cast<std::size_t>(held)]);
      }
      lists_.offer(offered.row, offered.key, offered.id);
    }
  }
  struct Offer {
    std::int64_t row;
    double key;
    std::int64_t id;
  };

  static constexpr std::int64_t kGroup = 48;

 private:
  NeighbourLists& lists_;
  std::unique_ptr<std::mutex[]> locks_;
};

}  // namespace libknng

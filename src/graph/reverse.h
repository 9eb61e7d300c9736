// Reverse lists: who lists me. A counting sort in two visits, so that memory is exact and each list ascends by row.
// Knows nothing of what travels with an entry.
#pragma once

#include <cstdint>

#include "core/buffer.h"

namespace libknng {

template <class T>
struct Reverse {
  Buffer<std::int64_t> first;  // points + 1: where each point's list begins
  Buffer<std::int64_t> row;    // the rows that list it, ascending
  Buffer<T> payload;           // what came with each entry
};

// visit(i, emit) calls emit(j, payload) for every point j that row i lists; it is called twice for each row. Memory is
// charged to `budget`.
template <class T, class Visit>
Reverse<T> reverse_lists(std::int64_t points, Budget* budget, const Visit& visit) {
  Reverse<T> r;
  r.first = Buffer<std::int64_t>(points + 1, std::int64_t{0}, budget);
  // While filling, first[j + 1] is where j's next entry goes; when all are in, that is where j's list ends. So the
  // counts stand one place further up until then.
  Buffer<std::int64_t>& first = r.first;
  std::int64_t total = 0;
  for (std::int64_t i = 0; i < points; ++i) visit(i, [&](std::int64_t j, T) { ++first[j + 1]; });
  for (std::int64_t j = 0; j < points; ++j) {
    const std::int64_t count = first[j + 1];
    first[j + 1] = total;
    total += count;
  }
  r.row = Buffer<std::int64_t>(total, budget);
  r.payload = Buffer<T>(total, budget);
  for (std::int64_t i = 0; i < points; ++i)
    visit(i, [&](std::int64_t j, T payload) {
      const std::int64_t at = first[j + 1]++;
      r.row[at] = i;
      r.payload[at] = payload;
    });
  return r;
}

}  // namespace libknng

#include "graph/shared_neighbours.h"

#include <algorithm>
#include <vector>

#include "graph/reverse.h"

namespace libknng {
namespace {

// What one row shares with the row at hand.
struct Meeting {
  std::int64_t shared;    // points in both neighbourhoods; 0: none met yet
  std::int64_t rank_sum;  // the smallest sum of a shared point's two ranks
};

// Calls emit(point, rank) for every member of A(i). Self entries and missing ones have no rank.
template <class Emit>
void visit_neighbourhood(const Graph& g, std::int64_t i, Emit&& emit) {
  emit(i, std::int64_t{0});
  std::int64_t rank = 0;
  for (std::int64_t e = i * g.width; e < (i + 1) * g.width; ++e)
    if (g.ids[e] >= 0 && g.ids[e] != i) emit(g.ids[e], ++rank);
}

// The rows before i whose neighbourhoods meet A(i). Every pair is found once, from its larger row.
class Meetings {
 public:
  Meetings(const Graph& g, Budget* budget)
      : g_(g),
        hosts_(reverse_lists<std::int64_t>(g.rows, budget,
                                           [&g](std::int64_t i, auto&& emit) { visit_neighbourhood(g, i, emit); })),
        with_(g.rows, Meeting{0, 0}, budget) {}

  // Calls met(j, meeting) for each of them, in no particular order.
  template <class Met>
  void visit(std::int64_t i, Met&& met) {
    visit_neighbourhood(g_, i, [&](std::int64_t point, std::int64_t rank) {
      const std::int64_t end = hosts_.first[point + 1];
      for (std::int64_t h = hosts_.first[point]; h < end && hosts_.row[h] < i; ++h) {
        const std::int64_t rank_sum = rank + hosts_.payload[h];
        Meeting& m = with_[hosts_.row[h]];
        if (m.shared++ == 0) {
          touched_.push_back(hosts_.row[h]);
          m.rank_sum = rank_sum;
        } else {
          m.rank_sum = std::min(m.rank_sum, rank_sum);
        }
      }
    });
    for (const std::int64_t j : touched_) {
      met(j, with_[j]);
      with_[j] = {0, 0};
    }
    touched_.clear();
  }

 private:
  const Graph& g_;
  Reverse<std::int64_t> hosts_;  // for each point the rows whose neighbourhood it is in, with its rank there
  Buffer<Meeting> with_;         // dense over the rows, all zero between calls
  std::vector<std::int64_t> touched_;
};

double weigh(SharedWeight weight, const Meeting& m, std::int64_t k, std::int64_t size_i, std::int64_t size_j) noexcept {
  switch (weight) {
    case SharedWeight::number: return static_cast<double>(m.shared);
    case SharedWeight::jaccard: return static_cast<double>(m.shared) / static_cast<double>(size_i + size_j - m.shared);
    case SharedWeight::rank: break;
  }
  return static_cast<double>(k) - 0.5 * static_cast<double>(m.rank_sum);
}

}  // namespace

Sparse shared_neighbours(const Graph& g, SharedWeight weight, const Work& work) {
  work.begin("pairs", 2 * g.rows);
  Meetings meetings(g, work.budget);
  Buffer<std::int64_t> size(g.rows, std::int64_t{0}, work.budget);  // of A(i)
  for (std::int64_t i = 0; i < g.rows; ++i) visit_neighbourhood(g, i, [&](std::int64_t, std::int64_t) { ++size[i]; });

  Sparse s;
  s.rows = s.cols = g.rows;
  s.value_dtype = KNNG_F64;
  s.indptr = Buffer<std::int64_t>(g.rows + 1, std::int64_t{0}, work.budget);
  Buffer<std::int64_t> before(g.rows, std::int64_t{0}, work.budget);  // entries of row i left of the diagonal
  for (std::int64_t i = 0; i < g.rows; ++i) {
    meetings.visit(i, [&](std::int64_t j, const Meeting&) {
      ++before[i];
      ++s.indptr[j + 1];
    });
    s.indptr[i + 1] += before[i];
    work.row_done();
  }
  allocate_entries(s, work);

  // Right of the diagonal: row j gets its columns i in ascending order, as i runs. The left is the mirror of the right,
  // and comes in order likewise as j runs. So nothing has to be sorted.
  double* value = reinterpret_cast<double*>(s.values.data());
  Buffer<std::int64_t> next(g.rows, work.budget);
  for (std::int64_t j = 0; j < g.rows; ++j) next[j] = s.indptr[j] + before[j];
  for (std::int64_t i = 0; i < g.rows; ++i) {
    meetings.visit(i, [&](std::int64_t j, const Meeting& m) {
      s.col[next[j]] = i;
      value[next[j]++] = weigh(weight, m, g.k(), size[i], size[j]);
    });
    work.row_done();
  }
  for (std::int64_t j = 0; j < g.rows; ++j) next[j] = s.indptr[j];
  for (std::int64_t j = 0; j < g.rows; ++j)
    for (std::int64_t e = s.indptr[j] + before[j]; e < s.indptr[j + 1]; ++e) {
      const std::int64_t at = next[s.col[e]]++;
      s.col[at] = j;
      value[at] = value[e];
    }
  return s;
}

}  // namespace libknng

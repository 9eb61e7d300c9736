#include "graph/symmetrise.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "core/dtype.h"
#include "core/error.h"
#include "graph/reverse.h"

namespace libknng {
namespace {

template <class T>
struct Listed {
  std::int64_t col;
  T value;
};

double combined(Combine combine, double a, double b) noexcept {
  switch (combine) {
    case Combine::max: return std::max(a, b);
    case Combine::min: return std::min(a, b);
    case Combine::product: return a * b;
    // a + b - a b, so that memberships stay within 1, and one of 1 gives 1.
    case Combine::probabilistic: return std::max(a, b) + std::min(a, b) * (1 - std::max(a, b));
    case Combine::mean: break;
  }
  const double sum = a + b;
  return std::isfinite(sum) ? 0.5 * sum : 0.5 * a + 0.5 * b;  // the sum may overflow where the mean does not
}

// The value of (i, j), from i's list and from j's. The smaller row's comes first whichever is asked for, so that
// (i, j) and (j, i) have the same bits even where the values are zeros of both signs.
template <class T>
T combine_pair(Combine combine, std::int64_t i, std::int64_t j, T mine, T theirs, std::int32_t dtype) {
  const double a = i < j ? mine : theirs;
  const double b = i < j ? theirs : mine;
  const T result = static_cast<T>(combined(combine, a, b));
  if (std::isnan(result) || (std::isinf(result) && std::isfinite(a) && std::isfinite(b)))
    fail(KNNG_ERR_RANGE, "rule", {.row = i, .col = j}, "%.9g and %.9g combine to a value that %s cannot hold", a, b,
         dtype_name(dtype));
  return result;
}

// What a probability, or a membership of a fuzzy set, can be.
template <class T, class Visit>
void require_memberships(std::int64_t rows, Visit&& visit) {
  for (std::int64_t i = 0; i < rows; ++i)
    visit(i, [i](std::int64_t j, T value) {
      if (!(value >= 0 && value <= 1))
        fail(KNNG_ERR_DATA, "rule", {.row = i, .col = j}, "rule=union:probabilistic takes values from 0 to 1, not %.9g",
             static_cast<double>(value));
    });
}

template <class T>
Sparse symmetrise_as(const Graph& g, Pairs pairs, Combine combine, const Work& work) {
  work.begin("pairs", 2 * g.rows);
  const T* values = reinterpret_cast<const T*>(g.values.data());
  const auto visit = [&](std::int64_t i, auto&& emit) {
    for (std::int64_t e = i * g.width; e < (i + 1) * g.width; ++e)
      if (g.ids[e] >= 0 && g.ids[e] != i) emit(g.ids[e], values[e]);
  };
  if (combine == Combine::probabilistic) require_memberships<T>(g.rows, visit);
  const Reverse<T> listed_by = reverse_lists<T>(g.rows, work.budget, visit);

  Sparse s;
  s.rows = s.cols = g.rows;
  s.value_dtype = g.value_dtype;
  s.indptr = Buffer<std::int64_t>(g.rows + 1, std::int64_t{0}, work.budget);
  {
    Buffer<std::int64_t> last_lister(g.rows, std::int64_t{-1}, work.budget);
    for (std::int64_t i = 0; i < g.rows; ++i) {
      std::int64_t either = listed_by.first[i + 1] - listed_by.first[i], both = 0;
      visit(i, [&](std::int64_t j, T) {
        last_lister[j] = i;
        ++either;
      });
      for (std::int64_t r = listed_by.first[i]; r < listed_by.first[i + 1]; ++r)
        both += last_lister[listed_by.row[r]] == i;
      s.indptr[i + 1] = pairs == Pairs::mutual ? both : either - both;
      work.row_done();
    }
  }
  allocate_entries(s, work);

  // The list in order and the reverse list, which is in order already, are merged.
  T* out = reinterpret_cast<T*>(s.values.data());
  std::int64_t at = 0;
  const auto put = [&](std::int64_t col, T value) {
    s.col[at] = col;
    out[at++] = value;
  };
  std::vector<Listed<T>> list;
  for (std::int64_t i = 0; i < g.rows; ++i) {
    list.clear();
    visit(i, [&](std::int64_t j, T value) { list.push_back({j, value}); });
    std::sort(list.begin(), list.end(), [](const auto& a, const auto& b) { return a.col < b.col; });
    auto own = list.begin();
    std::int64_t r = listed_by.first[i];
    const std::int64_t end = listed_by.first[i + 1];
    while (own != list.end() || r < end) {
      if (own != list.end() && r < end && own->col == listed_by.row[r]) {
        put(own->col, combine_pair(combine, i, own->col, own->value, listed_by.payload[r], s.value_dtype));
        ++own;
        ++r;
      } else if (r == end || (own != list.end() && own->col < listed_by.row[r])) {
        if (pairs == Pairs::any) put(own->col, own->value);
        ++own;
      } else {
        if (pairs == Pairs::any) put(listed_by.row[r], listed_by.payload[r]);
        ++r;
      }
    }
    work.row_done();
  }
  return s;
}

}  // namespace

Sparse symmetrise(const Graph& g, Pairs pairs, Combine combine, const Work& work) {
  return g.value_dtype == KNNG_F32 ? symmetrise_as<float>(g, pairs, combine, work)
                                   : symmetrise_as<double>(g, pairs, combine, work);
}

}  // namespace libknng

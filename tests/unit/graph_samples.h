// Small graphs for the tests of the graph room: from literal lists, and random ones with ties, missing entries and self
// entries. Knows nothing of the code under test but struct Graph.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <random>
#include <vector>

#include "core/error.h"
#include "graph/graph.h"

namespace samples {

using Ids = std::vector<std::vector<std::int64_t>>;
using Values = std::vector<std::vector<double>>;

template <class T>
void store_values(libknng::Graph& g, const Values& values) {
  std::vector<T> flat;
  for (const auto& row : values)
    for (const double x : row) flat.push_back(static_cast<T>(x));
  g.values = libknng::Buffer<std::byte>(static_cast<std::int64_t>(flat.size() * sizeof(T)));
  std::memcpy(g.values.data(), flat.data(), flat.size() * sizeof(T));
}

// columns 0: a graph of the rows among themselves.
inline libknng::Graph make_graph(const Ids& ids, const Values& values, std::int32_t value_dtype, bool self_first,
                                 std::int64_t columns = 0) {
  libknng::Graph g;
  g.rows = static_cast<std::int64_t>(ids.size());
  g.width = static_cast<std::int64_t>(ids.front().size());
  g.square = columns == 0;
  g.columns = g.square ? g.rows : columns;
  g.self_first = self_first;
  g.ids = libknng::Buffer<std::int64_t>(g.rows * g.width);
  std::int64_t at = 0;
  for (const auto& row : ids)
    for (const std::int64_t id : row) g.ids[at++] = id;
  g.value_dtype = value_dtype;
  if (value_dtype == KNNG_F32)
    store_values<float>(g, values);
  else
    store_values<double>(g, values);
  g.ties = libknng::Buffer<std::uint8_t>(g.rows, std::uint8_t{0});
  g.proof = libknng::Buffer<std::uint8_t>(g.rows, std::uint8_t{0});
  return g;
}

struct Shape {
  std::int64_t rows;
  std::int64_t columns;  // 0: square
  std::int64_t k;
  std::int32_t value_dtype;
  bool self_first = false;  // adds a column
  bool stray_self = false;  // self entries anywhere in the list, as other libraries return them
  double missing = 0;       // share of entries that are -1
};

// Values are small multiples of 1/4, so that ties are everywhere, and differ from side to side.
inline libknng::Graph random_graph(const Shape& shape, std::mt19937& random) {
  Ids ids;
  Values values;
  const std::int64_t columns = shape.columns ? shape.columns : shape.rows;
  for (std::int64_t i = 0; i < shape.rows; ++i) {
    std::vector<std::int64_t> points;
    for (std::int64_t j = 0; j < columns; ++j)
      if (shape.columns || shape.stray_self || j != i) points.push_back(j);
    std::shuffle(points.begin(), points.end(), random);
    points.resize(static_cast<std::size_t>(shape.k));
    std::vector<double> row;
    for (std::size_t t = 0; t < points.size(); ++t) row.push_back(0.25 * static_cast<double>(random() % 8));
    std::sort(row.begin(), row.end());
    for (std::size_t t = 0; t < points.size(); ++t) {
      if (static_cast<double>(random() % 1000) >= 1000 * shape.missing) continue;
      points[t] = -1;
      row[t] = HUGE_VAL;
    }
    if (shape.self_first) {
      points.insert(points.begin(), i);
      row.insert(row.begin(), 0.0);
    }
    ids.push_back(points);
    values.push_back(row);
  }
  return make_graph(ids, values, shape.value_dtype, shape.self_first, shape.columns);
}

// The failure that f ends with; code KNNG_OK if it does not fail.
template <class F>
knng_error error_of(F&& f) {
  try {
    f();
  } catch (const libknng::Error& e) {
    return e.info();
  }
  return {};
}

}  // namespace samples

#include "graph/components.h"

#include "core/error.h"

namespace libknng {
namespace {

// Path halving: every second node on the way is hung on its grandparent (Tarjan and van Leeuwen 1984).
std::int64_t find_root(std::int64_t* parent, std::int64_t i) noexcept {
  while (parent[i] != i) {
    parent[i] = parent[parent[i]];
    i = parent[i];
  }
  return i;
}

}  // namespace

Buffer<std::int64_t> in_degree(const Graph& g) {
  Buffer<std::int64_t> degree(g.columns, std::int64_t{0});
  const std::int64_t* id = g.ids.data();
  for (std::int64_t i = 0; i < g.rows; ++i)
    for (std::int64_t t = 0; t < g.width; ++t, ++id)
      if (*id >= 0 && !(g.square && *id == i)) ++degree[*id];
  return degree;
}

Buffer<std::int64_t> components(const Graph& g) {
  if (!g.square)
    fail(KNNG_ERR_STATE, "what",
         "what=component needs a graph of the rows among themselves, this is a graph of queries");
  Buffer<std::int64_t> parent(g.rows);
  for (std::int64_t i = 0; i < g.rows; ++i) parent[i] = i;
  const std::int64_t* id = g.ids.data();
  for (std::int64_t i = 0; i < g.rows; ++i) {
    for (std::int64_t t = 0; t < g.width; ++t, ++id) {
      if (*id < 0) continue;
      const std::int64_t a = find_root(parent.data(), i), b = find_root(parent.data(), *id);
      // The smaller row is the root, so that a root is the smallest row of its component.
      if (a < b)
        parent[b] = a;
      else
        parent[a] = b;
    }
  }
  // A parent is never larger than its child: going up, it has its number already.
  std::int64_t next = 0;
  for (std::int64_t i = 0; i < g.rows; ++i) parent[i] = parent[i] == i ? next++ : parent[parent[i]];
  return parent;
}

}  // namespace libknng

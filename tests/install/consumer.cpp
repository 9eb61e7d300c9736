// The header from C++: owners with the library's destroy functions.
#include <knng.h>

#include <cstdint>
#include <cstdio>
#include <memory>
#include <vector>

struct Destroy {
  void operator()(knng* h) const { knng_destroy(h); }
  void operator()(knng_graph* g) const { knng_graph_destroy(g); }
};

int main() {
  const std::vector<double> x = {0, 1, 3, 7, 15};
  const knng_matrix rows = knng_packed(KNNG_F64, 5, 1, x.data());
  knng* h = nullptr;
  knng_graph* g = nullptr;
  if (knng_create(&h, 0, 0, nullptr) != KNNG_OK) return 1;
  const std::unique_ptr<knng, Destroy> handle(h);
  if (knng_add(h, &rows, nullptr, nullptr) != KNNG_OK || knng_build(h, 2, nullptr, &g, nullptr) != KNNG_OK) {
    std::fprintf(stderr, "%s\n", knng_last_error());
    return 1;
  }
  const std::unique_ptr<knng_graph, Destroy> graph(g);
  knng_matrix values = knng_packed(KNNG_F64, 0, 0, nullptr);
  if (knng_graph_view(g, nullptr, &values, nullptr) != KNNG_OK) return 1;
  return static_cast<const double*>(values.data)[9] == 12 ? 0 : 1;
}

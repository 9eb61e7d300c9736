// libknng's objects with their ends, and its failures as exceptions. Knows nothing of what is timed.
#pragma once

#include <knng.h>

#include <memory>
#include <stdexcept>
#include <string>

namespace bench {

inline void check(knng_status status) {
  if (status != KNNG_OK) throw std::runtime_error(knng_last_error());
}

struct Destroy {
  void operator()(knng* h) const { knng_destroy(h); }
  void operator()(knng_graph* g) const { knng_graph_destroy(g); }
};
using Handle = std::unique_ptr<knng, Destroy>;
using Graph = std::unique_ptr<knng_graph, Destroy>;

inline Handle make_handle() {
  knng* h = nullptr;
  check(knng_create(&h, 0, 0, nullptr));
  return Handle(h);
}

inline double stat(const knng_graph* g, const char* name) {
  double value = 0;
  check(knng_graph_stat(g, name, &value, nullptr));
  return value;
}

inline std::string text(const knng_graph* g, const char* name) {
  char buf[256] = "";
  check(knng_graph_text(g, name, buf, sizeof buf, nullptr, nullptr));
  return buf;
}

inline std::string version_text() {
  const std::int32_t v = knng_version();
  return std::to_string(v >> 16) + "." + std::to_string((v >> 8) & 255) + "." + std::to_string(v & 255);
}

}  // namespace bench

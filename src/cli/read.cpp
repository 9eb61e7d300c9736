#include "read.h"

#include <sys/stat.h>

#include <chrono>

#include "failure.h"
#include "interrupt.h"

namespace cli {
namespace {

// The others may mean nothing before the graph has given its metric.
Settings memory_settings(const Arguments& a) {
  Settings found;
  for (const Given& given : a.settings)
    if (given.key == "max_host_bytes") found.push_back(given);
  return found;
}

}  // namespace

std::int64_t host_limit(const Arguments& a) {
  return limit_of(make_handle(memory_settings(a)).get(), "max_host_bytes");
}

double read_files(knng* h, const std::vector<std::string>& paths, Progress& progress) {
  const auto start = std::chrono::steady_clock::now();
  for (const std::string& path : paths) {
    struct stat file {};
    progress.expect(stat(path.c_str(), &file) == 0 ? static_cast<double>(file.st_size) : 0, "B");
    const knng_control control = progress.control();
    on_signal(OnSignal::stop, [&] { check(knng_add_file(h, path.c_str(), &control, error())); });
  }
  progress.clear();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

Graph read_graph(const Arguments& a, Progress& progress) {
  progress.expect(0, "");
  const std::int64_t limit = host_limit(a);
  Graph g;
  on_signal(OnSignal::stop, [&] { g = load_graph(a.graph, progress.control(), limit); });
  progress.clear();
  return g;
}

}  // namespace cli

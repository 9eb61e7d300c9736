// stop_bench: stops builds of the library in the middle of a stage, and times how long each took to return. A
// benchmark, never a test. Uses the shared library through knng.h alone.
#include <CLI/CLI.hpp>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <exception>
#include <optional>
#include <string>
#include <vector>

#include "device_rows.h"
#include "library.h"
#include "machine.h"
#include "workload_options.h"
#include "workloads.h"

namespace {

using Clock = std::chrono::steady_clock;
using Seconds = std::chrono::duration<double>;

struct Arguments {
  bench::Workload workload;
  std::string named, fashion = bench::kFashion;
  std::vector<std::string> settings;
  std::string stage = "distances";
  std::vector<double> after{0.05, 0.5};
  int runs = 3;
  bool rows_on_device = false;
};

// A stop so long after a stage was first seen.
struct Stop {
  const std::string& stage;
  const Seconds after;
  std::optional<Clock::time_point> begun, told;

  static std::int32_t progress(void* user, const char* stage, double, double) {
    auto& stop = *static_cast<Stop*>(user);
    const Clock::time_point now = Clock::now();
    if (!stop.begun && stage == stop.stage) stop.begun = now;
    if (!stop.begun || now - *stop.begun < stop.after) return 0;
    stop.told = now;
    return 1;
  }
};

// Seconds from the stop to the end of the build; none: it ended by itself before.
std::optional<double> stopped(const knng* h, std::int64_t k, const std::string& stage, double after) {
  Stop stop{stage, Seconds(after), {}, {}};
  const knng_control control = {sizeof control, 1, &Stop::progress, nullptr, &stop, nullptr, 0};
  knng_graph* raw = nullptr;
  const knng_status status = knng_build(h, k, &control, &raw, nullptr);
  const Clock::time_point ended = Clock::now();
  const bench::Graph graph(raw);
  if (status != KNNG_ERR_CANCELLED) bench::check(status);
  if (!stop.told) return {};
  return Seconds(ended - *stop.told).count();
}

void run(const Arguments& a) {
  const bench::Rows rows = bench::make_rows(a.workload, a.fashion);
  std::optional<const bench::DeviceRows> on_device;
  if (a.rows_on_device) on_device.emplace(rows.view);
  const bench::Handle handle = bench::make_handle();
  bench::check(knng_set(handle.get(), "metric", a.workload.metric.c_str(), nullptr));
  for (const auto& [key, value] : bench::settings_of(a.settings))
    bench::check(knng_set(handle.get(), key.c_str(), value.c_str(), nullptr));
  bench::check(knng_borrow(handle.get(), on_device ? &on_device->view : &rows.view, nullptr, nullptr));
  for (const double after : a.after) {
    std::vector<double> seconds;
    for (int i = 0; i < a.runs; ++i)
      if (const auto took = stopped(handle.get(), a.workload.k, a.stage, after)) seconds.push_back(*took);
    std::printf("stopped %.3f s after the begin of %s: ", after, a.stage.c_str());
    if (seconds.empty()) {
      std::printf("builds had ended, or have no such stage\n");
      continue;
    }
    std::sort(seconds.begin(), seconds.end());
    std::printf("returned within %.3f s (%.3f to %.3f, %zu of %d builds)\n", seconds.back(), seconds.front(),
                seconds.back(), seconds.size(), a.runs);
    std::fflush(stdout);
  }
}

}  // namespace

int main(int argc, char** argv) try {
  std::string command = "stop_bench";
  for (int i = 1; i < argc; ++i) command.append(" ").append(argv[i]);
  Arguments a;
  a.workload = bench::workload_of(argc, argv);
  CLI::App app("Times how soon libknng's builds stop. See docs/internals/benchmarks.md.", "stop_bench");
  bench::declare_workload(app, a.workload, a.named, a.fashion);
  app.add_option("--set", a.settings, "KEY=VALUE: any setting");
  app.add_option("--stage", a.stage, "as progress names it: distances, keys, prepare, neighbours, ...")
      ->capture_default_str();
  app.add_option("--after", a.after, "seconds after its begin, one or more")->delimiter(',')->capture_default_str();
  app.add_option("--runs", a.runs, "builds for each of them")->check(CLI::Range(1, 1000))->capture_default_str();
  app.add_flag("--rows-on-device", a.rows_on_device,
               "rows are in the memory of the first CUDA device before a build begins");
  CLI11_PARSE(app, argc, argv);
  const bench::Machine m = bench::this_machine();
  std::printf("hardware  %s, %d cores\n", m.cpu.c_str(), m.cores);
  knng_device d{};
  d.struct_size = sizeof d;
  for (std::int32_t i = 0; knng_device_get(i, &d, nullptr) == KNNG_OK; ++i)
    if (d.usable) std::printf("device    %s\n", d.name);
  std::printf("libknng   %s\ncommand   %s\n", bench::version_text().c_str(), command.c_str());
  run(a);
  return 0;
} catch (const std::exception& e) {
  std::fprintf(stderr, "stop_bench: %s\n", e.what());
  return 2;
}

// knng_bench: times builds of the library on named or generated data, and says on what machine and how. A benchmark,
// never a test: nothing passes or fails by its figures. Uses the shared library through knng.h alone.
#include <CLI/CLI.hpp>

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <exception>
#include <string>
#include <utility>
#include <vector>

#include "fma_peak.h"
#include "library.h"
#include "machine.h"
#include "measure.h"
#include "report.h"
#include "workload_options.h"
#include "workloads.h"

namespace {

constexpr int kPeakRepeats = 30;

struct Arguments {
  bench::Workload workload;
  std::string named;
  std::string engines = "auto";
  std::string selectors = "auto";
  int threads = 0;
  std::vector<std::pair<std::string, std::string>> sweeps;
  std::vector<std::string> settings;
  bench::Protocol protocol;
  std::string fashion = bench::kFashion;
  std::string write_data;
  std::string json;
};

std::vector<std::string> split(const std::string& list) {
  std::vector<std::string> words;
  for (std::size_t start = 0; start <= list.size();) {
    const std::size_t end = std::min(list.find(',', start), list.size());
    words.push_back(list.substr(start, end - start));
    start = end + 1;
  }
  return words;
}

std::int64_t number(const std::string& text) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value < 1)
    throw std::invalid_argument("'" + text + "' is not a positive whole number");
  return value;
}

// One problem: data, and as many threads. The engines and their selectors take turns on it.
struct Problem {
  bench::Workload workload;
  int threads = 1;
};

// Without sweeps the problem that was asked for; each sweep varies one factor of it and leaves the others.
std::vector<Problem> problems_of(const Arguments& a) {
  const Problem base{a.workload, a.threads > 0 ? a.threads : bench::this_machine().cores};
  if (a.sweeps.empty()) return {base};
  std::vector<Problem> problems;
  for (const auto& [factor, list] : a.sweeps) {
    for (const std::string& word : split(list)) {
      Problem p = base;
      const std::int64_t value = number(word);
      if (factor == "n")
        p.workload.n = value;
      else if (factor == "d")
        p.workload.d = value;
      else if (factor == "k")
        p.workload.k = value;
      else if (factor == "threads")
        p.threads = static_cast<int>(std::min<std::int64_t>(value, 4096));
      else
        throw std::invalid_argument("sweep " + factor + ": it takes n, d, k, threads");
      problems.push_back(p);
    }
  }
  return problems;
}

bool same_rows(const bench::Workload& a, const bench::Workload& b) {
  return a.data == b.data && a.n == b.n && a.d == b.d && a.dtype == b.dtype && a.seed == b.seed && a.order == b.order;
}

std::vector<bench::Case> cases_of(const Arguments& a, const Problem& problem) {
  const bench::Settings settings = bench::settings_of(a.settings);
  std::vector<bench::Case> cases;
  for (const std::string& engine : split(a.engines))
    for (const std::string& selector : split(a.selectors))
      cases.push_back({problem.workload, engine, selector, problem.threads, settings});
  return cases;
}

std::vector<bench::Peak> peaks_of(const std::vector<Problem>& problems) {
  std::vector<bench::Peak> peaks;
  for (const Problem& p : problems)
    if (std::none_of(peaks.begin(), peaks.end(), [&](const bench::Peak& peak) { return peak.threads == p.threads; }))
      peaks.push_back(bench::measure_peak(p.threads, kPeakRepeats));
  return peaks;
}

// 0, or 1 if a graph was wrong or a case could not run.
int run(const Arguments& a, const std::string& command) {
  const std::vector<Problem> problems = problems_of(a);
  const bool one_data = std::all_of(problems.begin(), problems.end(),
                                    [&](const Problem& p) { return same_rows(p.workload, problems.front().workload); });
  if (!a.write_data.empty() && !one_data) throw std::invalid_argument("--write-data: a sweep over n or d has several");
  if (!a.protocol.save.empty() && problems.size() > 1)
    throw std::invalid_argument("--save-graph: a sweep has several graphs");

  bench::Context context{command, peaks_of(problems), bench::load_average()};
  bench::print_context(context);
  std::vector<bench::Result> results;
  bench::Rows rows;
  for (std::size_t i = 0; i < problems.size(); ++i) {
    const bench::Workload& w = problems[i].workload;
    std::fprintf(stderr, "[%zu/%zu] %s %s n=%lld d=%lld k=%lld threads=%d\n", i + 1, problems.size(), w.data.c_str(),
                 w.dtype.c_str(), static_cast<long long>(w.n), static_cast<long long>(w.d), static_cast<long long>(w.k),
                 problems[i].threads);
    if (i == 0 || !same_rows(w, problems[i - 1].workload)) {
      rows = {};
      rows = bench::make_rows(w, a.fashion);
    }
    if (i == 0 && !a.write_data.empty()) bench::write_npy(rows, a.write_data);
    if (a.protocol.runs < 1) continue;
    for (bench::Result& r : bench::measure(cases_of(a, problems[i]), rows, a.protocol)) results.push_back(std::move(r));
  }
  if (results.empty()) return 0;
  bench::print_results(context, results);
  if (!a.json.empty()) bench::write_json(context, results, a.json);
  return std::all_of(results.begin(), results.end(),
                     [](const bench::Result& r) { return r.error.empty() && r.first_wrong < 0 && r.as_first; })
             ? 0
             : 1;
}

void declare(CLI::App& app, Arguments& a) {
  bench::declare_workload(app, a.workload, a.named, a.fashion);
  app.add_option("--engine", a.engines, "engines, separated by commas; they take turns")->capture_default_str();
  app.add_option("--selector", a.selectors, "selectors, separated by commas; each engine with each, in turns")
      ->capture_default_str();
  app.add_option("--threads", a.threads, "0: as many as there are cores for this process")->capture_default_str();
  app.add_option("--set", a.settings, "KEY=VALUE: any other setting");
  app.add_option("--sweep", a.sweeps, "n, d, k or threads, and a list: one factor varies, the others stay");
  app.add_option("--runs", a.protocol.runs, "builds that count; their median is shown; 0: only --write-data")
      ->check(CLI::Range(0, 1000))
      ->capture_default_str();
  app.add_option("--warmup", a.protocol.warmups, "builds before them")
      ->check(CLI::Range(0, 1000))
      ->capture_default_str();
  app.add_option("--verify", a.protocol.verify, "rows to compare with the canonical keys; 0: none, -1: all")
      ->capture_default_str();
  app.add_flag("--rows-on-device", a.protocol.rows_on_device,
               "rows are in the memory of the first CUDA device before a build begins");
  app.add_option("--write-data", a.write_data, "write the rows as a .npy file, for other programs");
  app.add_option("--save-graph", a.protocol.save, "write the graph (.npz, .knng)");
  app.add_option("--json", a.json, "write everything as JSON");
}

}  // namespace

int main(int argc, char** argv) try {
  std::string command = "knng_bench";
  for (int i = 1; i < argc; ++i) command.append(" ").append(argv[i]);

  Arguments a;
  a.workload = bench::workload_of(argc, argv);
  CLI::App app("Times libknng's builds. See docs/internals/benchmarks.md.", "knng_bench");
  declare(app, a);
  bool tiles = true;
  app.add_flag("!--no-amx", tiles, "do not ask Linux for the processor's matrix tiles");
  CLI11_PARSE(app, argc, argv);
  if (tiles) bench::ask_for_matrix_tiles();
  return run(a, command);
} catch (const std::exception& e) {
  std::fprintf(stderr, "knng_bench: %s\n", e.what());
  return 2;
}

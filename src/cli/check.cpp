// knng check: a graph from anywhere against the library's plain fp64 evaluation of its data.
#include <algorithm>
#include <cstdio>
#include <string_view>

#include "commands.h"
#include "failure.h"
#include "interrupt.h"
#include "progress.h"
#include "read.h"
#include "words.h"

namespace cli {
namespace {

// What the graph says of itself; graphs from elsewhere say nothing.
Settings graph_settings(const knng_graph* g) {
  Settings all;
  for (const char* name : {"metric", "p", "value", "self"})
    if (const std::string value = text(g, name); !value.empty() && value != "unknown") all.push_back({name, value, ""});
  return all;
}

bool has_metric(const Settings& all) {
  return std::any_of(all.begin(), all.end(), [](const Given& one) { return one.key == "metric"; });
}

// What the graph is held against: metric cosine, value similarity.
std::string measure(const knng* h) {
  std::string words = "metric " + setting(h, "metric");
  if (const std::string exponent = setting(h, "p"); exponent != "auto") words += ", p = " + exponent;
  if (const std::string value = setting(h, "value"); value != "distance") words += ", value " + value;
  return words;
}

// The names of stages are for people: by another name the check would only run to its end.
std::int32_t when_it_compares(void*, const char* stage, double done, double) {
  return std::string_view(stage) == "check" && done > 0 ? 1 : 0;
}

}  // namespace

int run_check(const Arguments& a) {
  Progress progress(a.quiet);
  const Graph g = read_graph(a, progress);
  const Settings said = graph_settings(g.get());
  const Handle h = make_handle(a.settings, said);
  const std::string measured = measure(h.get());
  if (!has_metric(said) && !has_metric(a.settings))
    progress.note("'" + a.graph + "' names no metric: " + setting(h.get(), "metric") +
                  " is assumed; give another with -m NAME");
  read_files(h.get(), a.data, progress);
  const Shape data = shape(h.get());
  const std::int64_t checked = a.sample == 0 || a.sample > data.rows ? data.rows : a.sample;

  progress.expect(static_cast<double>(checked), "rows");
  const knng_control control = progress.control();
  std::int64_t first_wrong = -1;
  on_signal(OnSignal::stop, [&] { check(knng_check(h.get(), g.get(), a.sample, &control, &first_wrong, error())); });
  progress.clear();
  const std::string among = count(checked) + " of " + count(data.rows) + " rows checked, ";
  if (first_wrong < 0) {
    if (!a.quiet) std::printf("right: %snone differs (%s)\n", among.c_str(), measured.c_str());
    return kDone;
  }
  if (!a.quiet)
    std::printf("wrong: %srow %lld is the first that differs (%s)\n", among.c_str(),
                static_cast<long long>(first_wrong), measured.c_str());
  return kDiffers;
}

void rehearse_check(const Arguments& a, Progress& progress) {
  const Graph g = read_graph(a, progress);
  const Handle h = make_handle(a.settings, graph_settings(g.get()));
  read_files(h.get(), a.data, progress);
  knng_control control = progress.control();
  control.interval_ms = 1;
  control.progress = when_it_compares;
  control.log = nullptr;
  std::int64_t first_wrong = -1;
  on_signal(OnSignal::stop, [&] {
    const knng_status status = knng_check(h.get(), g.get(), a.sample, &control, &first_wrong, error());
    if (status != KNNG_ERR_CANCELLED) check(status);
  });
}

}  // namespace cli

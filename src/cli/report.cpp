#include "report.h"

#include <sys/resource.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <string>
#include <vector>

#include "budget.h"
#include "distribution.h"
#include "library.h"
#include "words.h"

namespace cli {
namespace {

constexpr const char* kIndent = "                ";

void line(const char* name, const std::string& value) { std::printf("%-15s %s\n", name, value.c_str()); }

std::string with_share(double part, double of) {
  return count(static_cast<std::int64_t>(part)) + " of " + count(static_cast<std::int64_t>(of)) + " rows (" +
         percent(part, of) + ")";
}

double process_peak() {
  rusage usage{};
  return getrusage(RUSAGE_SELF, &usage) == 0 ? static_cast<double>(usage.ru_maxrss) * 1024 : 0;  // KiB on Linux
}

void report_components(const knng_graph* g) {
  const std::vector<std::int64_t> component = components(g);
  std::vector<std::int64_t> size;
  for (const std::int64_t c : component) {
    if (static_cast<std::size_t>(c) >= size.size()) size.resize(static_cast<std::size_t>(c) + 1, 0);
    ++size[static_cast<std::size_t>(c)];
  }
  if (size.empty()) return;
  const std::int64_t largest = *std::max_element(size.begin(), size.end());
  line("components", count(static_cast<std::int64_t>(size.size())) + ", the largest of " + count(largest) + " rows (" +
                         percent(static_cast<double>(largest), static_cast<double>(component.size())) + ")");
}

void report_hubs(const knng_graph* g) {
  std::vector<std::int64_t> indegree = row_facts(g, "indegree");
  if (indegree.empty()) return;
  const std::vector<Bin> bins = log2_bins(indegree);
  std::sort(indegree.begin(), indegree.end());
  std::string quantiles;
  for (const auto& [name, q] :
       {std::pair{"min", 0.0}, {"25 %", 0.25}, {"median", 0.5}, {"75 %", 0.75}, {"99 %", 0.99}, {"max", 1.0}})
    quantiles += std::string(quantiles.empty() ? "" : ", ") + name + " " + count(quantile(indegree, q));
  line("in-degree", quantiles);
  std::printf("%s%15s %12s\n%s", kIndent, "in lists", "rows", histogram(bins, kIndent).c_str());
}

void report_distances(const knng_graph* g) {
  std::vector<double> kth = kth_values(g);
  if (kth.empty()) return;
  std::sort(kth.begin(), kth.end());
  std::string quantiles;
  for (const auto& [name, q] : {std::pair{"min", 0.0},
                                {"1 %", 0.01},
                                {"25 %", 0.25},
                                {"median", 0.5},
                                {"75 %", 0.75},
                                {"99 %", 0.99},
                                {"max", 1.0}})
    quantiles += std::string(quantiles.empty() ? "" : ", ") + name + " " + number(quantile(kth, q));
  line("k-th value", quantiles);
}

// What the names of files leave open, once for files that follow each other and are alike.
void report_files(const knng* h) {
  const std::vector<Taken> files = taken(h);
  for (std::size_t first = 0, end = 0; first < files.size(); first = end) {
    while (end < files.size() && files[end].facts == files[first].facts) ++end;
    std::string said;
    for (const auto& [name, value] : files[first].facts) said += (said.empty() ? "" : ", ") + name + " " + plain(value);
    if (said.empty()) continue;
    const std::size_t more = end - first - 1;
    line("read", plain(files[first].file) +
                     (more > 0 ? " and " + count(static_cast<std::int64_t>(more)) + " more: " : ": ") + said);
  }
}

}  // namespace

knng_plan report_plan(const knng* h, std::int64_t query_rows, std::int64_t k) {
  const Shape s = shape(h);
  const knng_plan p = plan(h, query_rows, k);
  line("data", count(s.rows) + " rows x " + count(s.dim) + ", " + dtype_name(s.dtype));
  report_files(h);
  if (query_rows > 0) line("queries", count(query_rows) + " rows");
  std::string metric = setting(h, "metric");
  if (const std::string exponent = setting(h, "p"); exponent != "auto") metric += ", p = " + exponent;
  line("graph", "k = " + count(k) + ", " + metric + ", precision " + setting(h, "precision"));
  std::fflush(stdout);
  require_fit(h, p);
  line("plan", count(p.tiles) + (p.tiles == 1 ? " tile of " : " tiles of ") + count(p.tile_rows) + " x " +
                   count(p.tile_cols) + " rows, " + count(p.devices) + (p.devices == 1 ? " device" : " devices"));
  line("memory", bytes(static_cast<double>(p.host_bytes)) + " planned, --max-memory " +
                     std::to_string(p.smallest_host) + " would do" +
                     (query_rows > 0 ? ", beside the queries' own rows" : ""));
  if (p.device_bytes > 0)
    line("device memory", bytes(static_cast<double>(p.device_bytes)) + " planned, --max-device-memory " +
                              std::to_string(p.smallest_device) + " would do");
  if (p.seconds >= 0) line("expected time", seconds(p.seconds));
  std::fflush(stdout);
  return p;
}

void report_work(const knng_graph* g, std::int64_t dim, double read_seconds) {
  const double rows = stat(g, "rows"), total = stat(g, "seconds_total");
  line("ran on", text(g, "device"));
  line("by", "engine " + text(g, "engine") + ", selector " + text(g, "selector") + ", knng " + text(g, "version"));
  std::string split = seconds(total) + " (";
  for (const char* part : {"copy", "prepare", "tile", "merge", "refine", "emit", "check"}) {
    const double s = stat(g, (std::string("seconds_") + part).c_str());
    if (s >= 0.005 * total) split += std::string(split.back() == '(' ? "" : ", ") + part + " " + seconds(s);
  }
  if (split.back() == '(')
    split.resize(split.size() - 2);
  else
    split += ")";
  line("time", split + "; reading " + seconds(read_seconds));
  const double flop = 2 * rows * stat(g, "columns") * static_cast<double>(dim);
  if (total > 0)
    line("speed", print("%.1f equivalent GFLOP/s (2 x rows x columns x dimension / time)", flop / total / 1e9));
  std::string proved = with_share(stat(g, "proved"), rows);
  for (const auto& [name, how] :
       {std::pair{"redone_fp32", " redone in fp32"}, {"redone_fp64", " redone with canonical keys"}})
    if (const double redone = stat(g, name); redone > 0)
      proved += ", " + count(static_cast<std::int64_t>(redone)) + how;
  line("proved", proved);
  std::string peak = bytes(stat(g, "bytes_host_peak")) + " held by the library";
  if (const double device = stat(g, "bytes_device_peak"); device > 0) peak += ", " + bytes(device) + " on a device";
  line("memory peak", peak + ", " + bytes(process_peak()) + " the process");
  if (const std::string print = text(g, "fingerprint"); !print.empty()) line("fingerprint", print);
}

void report_shape(const knng_graph* g) {
  constexpr const char* kNotKnown = "not known";
  const double rows = stat(g, "rows"), ties = stat(g, "ties_at_k"), duplicates = stat(g, "duplicates");
  line("ties at k", std::isnan(ties) ? kNotKnown : with_share(ties, rows));
  line("duplicates", std::isnan(duplicates)
                         ? kNotKnown
                         : count(static_cast<std::int64_t>(duplicates)) + " rows equal to an earlier row");
  report_components(g);
  report_hubs(g);
  report_distances(g);
}

}  // namespace cli

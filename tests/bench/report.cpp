#include "report.h"

#include <algorithm>
#include <cstdarg>
#include <cstdio>
#include <fstream>
#include <set>
#include <stdexcept>

#include "library.h"
#include "machine.h"

namespace bench {
namespace {

[[gnu::format(printf, 1, 2)]] std::string print(const char* format, ...) {
  char buf[512];
  std::va_list args;
  va_start(args, format);
  std::vsnprintf(buf, sizeof buf, format, args);
  va_end(args);
  return buf;
}

std::string seconds(double s) { return print(s < 0.01 ? "%.6f" : s < 10 ? "%.3f" : s < 100 ? "%.2f" : "%.1f", s); }
std::string percent(double part, double whole) { return whole > 0 ? print("%.1f %%", 100 * part / whole) : "-"; }

double stat_of(const Result& r, const char* name) {
  const auto at = r.stats.find(name);
  return at == r.stats.end() ? 0 : at->second;
}

double wall(const Result& r) { return r.wall[static_cast<std::size_t>(r.median)]; }
double cpu(const Result& r) { return r.cpu[static_cast<std::size_t>(r.median)]; }

// 2 n^2 d / time: what a full matrix product would have to reach to be as fast.
double gflops(const Result& r) {
  const Workload& w = r.what.workload;
  return 2e-9 * static_cast<double>(w.n) * static_cast<double>(w.n) * static_cast<double>(w.d) / wall(r);
}

Peak peak_of(const Context& context, const Result& r) {
  for (const Peak& p : context.peaks)
    if (p.threads == r.what.threads) return p;
  return {};
}

std::string checked(const Result& r) {
  if (!r.as_first) return "NOT AS THE FIRST ENGINE";
  if (r.first_wrong >= 0) return "ROW " + std::to_string(r.first_wrong) + " DIFFERS";
  return r.checked > 0 ? print("%lld rows", static_cast<long long>(r.checked)) : "-";
}

struct Column {
  const char* title;
  std::string (*cell)(const Context&, const Result&);
};

std::string asked_and_ran(const std::string& asked, const std::string& ran) {
  return ran == asked || ran.empty() ? asked : asked + ": " + ran;
}

constexpr Column kProblem[] = {
    {"data", [](const Context&, const Result& r) { return r.what.workload.data + " " + r.what.workload.dtype; }},
    {"metric", [](const Context&, const Result& r) { return r.what.workload.metric; }},
    {"n", [](const Context&, const Result& r) { return std::to_string(r.what.workload.n); }},
    {"d", [](const Context&, const Result& r) { return std::to_string(r.what.workload.d); }},
    {"k", [](const Context&, const Result& r) { return std::to_string(r.what.workload.k); }},
    {"threads", [](const Context&, const Result& r) { return std::to_string(r.what.threads); }},
    {"engine", [](const Context&, const Result& r) { return asked_and_ran(r.what.engine, r.engine); }},
};

// What is left out where it says the same of all.
constexpr Column kChoices[] = {
    {"selector", [](const Context&, const Result& r) { return asked_and_ran(r.what.selector, r.selector); }},
};

constexpr Column kTimes[] = {
    {"wall s", [](const Context&, const Result& r) { return seconds(wall(r)); }},
    {"min to max",
     [](const Context&, const Result& r) {
       const auto [low, high] = std::minmax_element(r.wall.begin(), r.wall.end());
       return seconds(*low) + " to " + seconds(*high);
     }},
    {"cpu s", [](const Context&, const Result& r) { return seconds(cpu(r)); }},
    {"busy", [](const Context&, const Result& r) { return percent(cpu(r), wall(r) * r.what.threads); }},
    {"equiv. GFLOP/s", [](const Context&, const Result& r) { return print("%.1f", gflops(r)); }},
    {"of fp32 peak", [](const Context& c, const Result& r) { return percent(gflops(r), peak_of(c, r).fp32); }},
};

constexpr const char* kParts[] = {"seconds_copy",   "seconds_prepare", "seconds_tile", "seconds_merge",
                                  "seconds_refine", "seconds_emit",    "seconds_check"};

constexpr Column kCounts[] = {
    {"keys/pairs", [](const Context&, const Result& r) { return percent(stat_of(r, "keys"), stat_of(r, "pairs")); }},
    {"proved", [](const Context&, const Result& r) { return print("%.0f", stat_of(r, "proved")); }},
    {"duplicates", [](const Context&, const Result& r) { return print("%.0f", stat_of(r, "duplicates")); }},
    {"library MiB",
     [](const Context&, const Result& r) { return print("%.1f", stat_of(r, "bytes_host_peak") * 0x1p-20); }},
    {"process MiB", [](const Context&, const Result& r) { return print("%.1f", r.process_peak * 0x1p-20); }},
    {"checked", [](const Context&, const Result& r) { return checked(r); }},
};

using Line = std::vector<std::string>;

// The first column to the left, the others to the right, as wide as their widest cell.
void print_table(const std::vector<Line>& lines) {
  std::vector<std::size_t> widths(lines.front().size(), 3);
  for (const Line& line : lines)
    for (std::size_t c = 0; c < line.size(); ++c) widths[c] = std::max(widths[c], line[c].size());
  for (std::size_t i = 0; i < lines.size(); ++i) {
    for (std::size_t c = 0; c < lines[i].size(); ++c)
      std::printf(c == 0 ? "| %-*s |" : " %*s |", static_cast<int>(widths[c]), lines[i][c].c_str());
    std::printf("\n");
    if (i > 0) continue;
    for (std::size_t c = 0; c < widths.size(); ++c)
      std::printf(c == 0 ? "| :%s |" : " %s: |", std::string(widths[c] - 1, '-').c_str());
    std::printf("\n");
  }
}

std::string quoted(const std::string& text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\')
      out.append(1, '\\').append(1, c);
    else if (static_cast<unsigned char>(c) < 32)
      out += print("\\u%04x", static_cast<unsigned>(c));
    else
      out += c;
  }
  return out + '"';
}

std::string list(const std::vector<double>& values) {
  std::string out = "[";
  for (const double v : values) out += (out.size() > 1 ? ", " : "") + print("%.9g", v);
  return out + "]";
}

std::string json(const Context& context, const Result& r) {
  const Workload& w = r.what.workload;
  std::string out =
      "{\"data\": " + quoted(w.data) + ", \"dtype\": " + quoted(w.dtype) + ", \"metric\": " + quoted(w.metric) +
      ", \"order\": " + quoted(w.order) +
      print(", \"n\": %lld, \"d\": %lld, \"k\": %lld, \"seed\": %llu", static_cast<long long>(w.n),
            static_cast<long long>(w.d), static_cast<long long>(w.k), static_cast<unsigned long long>(w.seed)) +
      ", \"threads\": " + std::to_string(r.what.threads) + ", \"asked\": " + quoted(r.what.engine) +
      ", \"asked_selector\": " + quoted(r.what.selector);
  if (!r.error.empty()) return out + ", \"error\": " + quoted(r.error) + "}";
  out +=
      ", \"engine\": " + quoted(r.engine) + ", \"selector\": " + quoted(r.selector) +
      ", \"device\": " + quoted(r.device) + ", \"fingerprint\": " + quoted(r.fingerprint) +
      ", \"wall\": " + print("%.9g", wall(r)) + ", \"cpu\": " + print("%.9g", cpu(r)) + ", \"walls\": " + list(r.wall) +
      ", \"cpus\": " + list(r.cpu) + ", \"gflops\": " + print("%.6g", gflops(r)) +
      print(", \"fp32_peak\": %.6g, \"fp64_peak\": %.6g", peak_of(context, r).fp32, peak_of(context, r).fp64) +
      print(", \"process_peak\": %.0f, \"checked\": %lld, \"first_wrong\": %lld, \"as_first\": %s", r.process_peak,
            static_cast<long long>(r.checked), static_cast<long long>(r.first_wrong), r.as_first ? "true" : "false") +
      ", \"stats\": {";
  bool comma = false;
  for (const auto& [name, value] : r.stats) {
    out += (comma ? ", " : "") + quoted(name) + ": " + print("%.17g", value);
    comma = true;
  }
  return out + "}}";
}

std::string device_name() {
  knng_device d{};
  d.struct_size = sizeof d;
  check(knng_device_get(0, &d, nullptr));
  return d.name;
}

}  // namespace

void print_context(const Context& context) {
  const Machine m = this_machine();
  std::printf("hardware  %s, %d cores, %.1f GiB; %s\n", m.cpu.c_str(), m.cores, m.memory * 0x1p-30, m.system.c_str());
  std::printf("device    %s\n", device_name().c_str());
  for (const Peak& p : context.peaks)
    std::printf("peak      %d threads: fp32 %.1f, fp64 %.1f GFLOP/s (multiply-add loop, %s)\n", p.threads, p.fp32,
                p.fp64, p.target);
  std::printf("libknng   %s\n", version_text().c_str());
  std::printf("command   %s\n", context.command.c_str());
  std::printf("load      %s\n\n", context.load_before.c_str());
  std::fflush(stdout);
}

void print_results(const Context& context, const std::vector<Result>& results) {
  std::vector<const char*> parts;
  for (const char* part : kParts)
    if (std::any_of(results.begin(), results.end(), [&](const Result& r) { return stat_of(r, part) >= 0.0005; }))
      parts.push_back(part);
  std::vector<Column> problem(std::begin(kProblem), std::end(kProblem));
  for (const Column& c : kChoices)
    if (std::any_of(results.begin(), results.end(),
                    [&](const Result& r) { return c.cell(context, r) != c.cell(context, results.front()); }))
      problem.push_back(c);
  std::vector<Line> lines(1);
  for (const Column& c : problem) lines[0].emplace_back(c.title);
  for (const Column& c : kTimes) lines[0].emplace_back(c.title);
  for (const char* part : parts) lines[0].emplace_back(part + sizeof "seconds");
  for (const Column& c : kCounts) lines[0].emplace_back(c.title);
  for (const Result& r : results) {
    if (!r.error.empty()) continue;
    Line line;
    for (const Column& c : problem) line.push_back(c.cell(context, r));
    for (const Column& c : kTimes) line.push_back(c.cell(context, r));
    for (const char* part : parts) line.push_back(seconds(stat_of(r, part)));
    for (const Column& c : kCounts) line.push_back(c.cell(context, r));
    lines.push_back(line);
  }
  if (lines.size() > 1) print_table(lines);
  for (const Result& r : results)
    if (!r.error.empty())
      std::printf("not run: n=%lld d=%lld k=%lld engine=%s: %s\n", static_cast<long long>(r.what.workload.n),
                  static_cast<long long>(r.what.workload.d), static_cast<long long>(r.what.workload.k),
                  r.what.engine.c_str(), r.error.c_str());
  std::printf("\n");
  std::set<std::string> devices;
  for (const Result& r : results)
    if (!r.device.empty() && devices.insert(r.device).second) std::printf("ran on    %s\n", r.device.c_str());
  std::printf("load      %s\n", load_average().c_str());
}

void write_json(const Context& context, const std::vector<Result>& results, const std::string& path) {
  const Machine m = this_machine();
  std::ofstream file(path);
  file << "{\"hardware\": {\"cpu\": " << quoted(m.cpu) << ", \"cores\": " << m.cores
       << ", \"system\": " << quoted(m.system) << print(", \"memory\": %.0f", m.memory)
       << ", \"device\": " << quoted(device_name()) << "},\n \"version\": " << quoted(version_text())
       << ", \"command\": " << quoted(context.command) << ",\n \"load_before\": " << quoted(context.load_before)
       << ", \"load_after\": " << quoted(load_average()) << ",\n \"peaks\": [";
  for (std::size_t i = 0; i < context.peaks.size(); ++i) {
    const Peak& p = context.peaks[i];
    file << (i ? ", " : "")
         << print("{\"threads\": %d, \"fp32\": %.6g, \"fp64\": %.6g, \"target\": ", p.threads, p.fp32, p.fp64)
         << quoted(p.target) << "}";
  }
  file << "],\n \"results\": [\n";
  for (std::size_t i = 0; i < results.size(); ++i)
    file << "  " << json(context, results[i]) << (i + 1 < results.size() ? ",\n" : "\n");
  file << "]}\n";
  if (!file.flush()) throw std::runtime_error(path + " cannot be written");
}

}  // namespace bench

// selector_bench: times the selectors of the CPU alone, on one thread, and std::nth_element for each row beside them: a
// number of fp32 keys in rows of 2^10 to 2^20, of which the k smallest are wanted. A benchmark, never a test; but it
// ends with 1 if two selectors do not pick the same.
#include <time.h>
#include <CLI/CLI.hpp>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <fstream>
#include <functional>
#include <iostream>
#include <limits>
#include <string>
#include <vector>

#include "core/buffer.h"
#include "core/float_env.h"
#include "machine.h"
#include "select/quick_partition.h"
#include "select/selector.h"

namespace {

using libknng::Buffer;
using libknng::Candidate;
using libknng::LowTile;
using libknng::Selector;

// Of this thread on its core: the machine may be busy with other things.
double thread_seconds() {
  timespec t{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
}

struct Arguments {
  std::int64_t keys = std::int64_t{1} << 26;
  std::int64_t tile = std::int64_t{1} << 18;  // keys of a tile, or one row
  std::vector<std::int64_t> rows = {1 << 10, 1 << 12, 1 << 14, 1 << 16, 1 << 18, 1 << 20};
  std::vector<std::int64_t> ks = {1, 2, 4, 8, 16, 32, 100, 256, 1024, 4096};
  std::vector<std::string> kinds = {"uniform", "ascending", "descending", "constant", "few"};
  double seconds = 1;
  int runs = 3;
  std::string json;
};

// Keys of a row by their place; `few` has 16 values.
float key_of(const std::string& kind, std::int64_t row, std::int64_t place) {
  std::uint64_t z = static_cast<std::uint64_t>(row * 0x100001 + place + 1) * 0x9E3779B97F4A7C15u;
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
  z ^= z >> 31;
  if (kind == "uniform") return static_cast<float>(z >> 40) * 0x1p-24f;
  if (kind == "ascending") return static_cast<float>(place);
  if (kind == "descending") return static_cast<float>(-place);
  if (kind == "constant") return 1;
  if (kind == "few") return static_cast<float>(z >> 60);
  throw std::invalid_argument("kind " + kind + ": it takes uniform, ascending, descending, constant, few");
}

// Takes what comes, once for each row.
class Total final : public libknng::Sink {
 public:
  float take(bool, std::int64_t, std::span<const Candidate> candidates) override {
    for (const Candidate& c : candidates) places += c.place;
    return libknng::kWantsNoMore;
  }
  std::int64_t places = 0;  // of all candidates together
};

struct Rows {
  const std::vector<float>& keys;
  std::int64_t length, rows;
  std::int64_t tile_rows;
};

// Nanoseconds for a key of the rows for which there was time, at least one tile.
struct Speed {
  double ns = 0;
  std::int64_t keys = 0;
};

// part(first row, rows) once for each tile of rows.
Speed timed(const Rows& rows, const Arguments& a, const std::function<void(std::int64_t, std::int64_t)>& part) {
  std::vector<Speed> runs;
  for (int run = 0; run < a.runs; ++run) {
    const double start = thread_seconds();
    std::int64_t done = 0;
    double seconds = 0;
    for (std::int64_t first = 0; first < rows.rows && seconds < a.seconds; first += rows.tile_rows) {
      const std::int64_t count = std::min(rows.tile_rows, rows.rows - first);
      part(first, count);
      done += count * rows.length;
      seconds = thread_seconds() - start;
    }
    runs.push_back({1e9 * seconds / static_cast<double>(done), done});
  }
  std::sort(runs.begin(), runs.end(), [](const Speed& x, const Speed& y) { return x.ns < y.ns; });
  return runs[runs.size() / 2];
}

Speed time_selector(const Selector& selector, const Rows& rows, std::int64_t k, const Arguments& a,
                    std::int64_t& first_tile) {
  Buffer<std::byte> workspace(selector.workspace_bytes(rows.tile_rows, rows.length, k, false));
  const std::vector<float> cuts(static_cast<std::size_t>(rows.tile_rows), std::numeric_limits<float>::infinity());
  first_tile = -1;
  return timed(rows, a, [&](std::int64_t first, std::int64_t count) {
    LowTile tile;
    tile.low = rows.keys.data() + first * rows.length;
    tile.stride = tile.columns = rows.length;
    tile.rows = count;
    tile.row_cuts = cuts.data();
    Total total;
    selector.run(tile, k, workspace.data(), total);
    if (first_tile < 0) first_tile = total.places;
  });
}

// What a program without selectors would do: keys with their places, compared by keys alone.
Speed time_nth_element(const Rows& rows, std::int64_t k, const Arguments& a) {
  std::vector<Candidate> row(static_cast<std::size_t>(rows.length));
  std::int64_t places = 0;
  const Speed speed = timed(rows, a, [&](std::int64_t first, std::int64_t count) {
    for (std::int64_t i = first; i < first + count; ++i) {
      const float* low = rows.keys.data() + i * rows.length;
      for (std::int64_t j = 0; j < rows.length; ++j)
        row[static_cast<std::size_t>(j)] = {low[j], static_cast<std::int32_t>(j)};
      std::nth_element(row.begin(), row.begin() + (k - 1), row.end(),
                       [](const Candidate& x, const Candidate& y) { return x.low < y.low; });
      for (std::int64_t c = 0; c < k; ++c) places += row[static_cast<std::size_t>(c)].place;
    }
  });
  volatile std::int64_t used = places;
  static_cast<void>(used);
  return speed;
}

struct Line {
  std::string kind;
  std::int64_t length, k;
  double nth_element;
  std::vector<double> selectors;  // in the table's order
};

std::string power(std::int64_t x) {
  int exponent = 0;
  while ((std::int64_t{1} << exponent) < x) ++exponent;
  return (std::int64_t{1} << exponent) == x ? "2^" + std::to_string(exponent) : std::to_string(x);
}

void write_json(const Arguments& a, const std::vector<Line>& lines) {
  std::ofstream out(a.json);
  const bench::Machine machine = bench::this_machine();
  out << "{\"cpu\": \"" << machine.cpu << "\", \"target\": \"" << libknng::quick_partitions().front()->target
      << "\", \"keys\": " << a.keys << ", \"unit\": \"ns for a key\", \"lines\": [";
  for (std::size_t l = 0; l < lines.size(); ++l) {
    out << (l ? ",\n" : "\n") << "{\"kind\": \"" << lines[l].kind << "\", \"row\": " << lines[l].length
        << ", \"k\": " << lines[l].k << ", \"nth_element\": " << lines[l].nth_element;
    for (std::size_t s = 0; s < lines[l].selectors.size(); ++s)
      out << ", \"" << libknng::selectors()[s].name << "\": " << lines[l].selectors[s];
    out << "}";
  }
  out << "\n]}\n";
  if (!out.flush()) throw std::runtime_error("cannot write " + a.json);
}

bool run(const Arguments& a) {
  const libknng::FloatEnv env;
  const bench::Machine machine = bench::this_machine();
  std::printf("%s, %s, one thread; load %s\n%s keys, tiles of %s, median of %d runs of at most %g s\n",
              machine.cpu.c_str(), libknng::quick_partitions().front()->target, bench::load_average().c_str(),
              power(a.keys).c_str(), power(a.tile).c_str(), a.runs, a.seconds);
  std::printf("nanoseconds of processor time for a key\n\n| keys | row | k | nth_element |");
  for (const Selector& s : libknng::selectors()) std::printf(" %s |", s.name);
  std::printf(" quick is faster | first |\n| --- | --- | --- | --- |");
  for (std::size_t s = 0; s < libknng::selectors().size(); ++s) std::printf(" --- |");
  std::printf(" --- | --- |\n");
  bool agree = true;
  std::vector<Line> lines;
  std::vector<float> keys(static_cast<std::size_t>(a.keys));
  for (const std::string& kind : a.kinds) {
    for (const std::int64_t length : a.rows) {
      const Rows rows{keys, length, a.keys / length, std::max<std::int64_t>(1, a.tile / length)};
      if (rows.rows == 0) throw std::invalid_argument("--keys must be at least one row");
      for (std::int64_t i = 0; i < rows.rows; ++i)
        for (std::int64_t j = 0; j < length; ++j) keys[static_cast<std::size_t>(i * length + j)] = key_of(kind, i, j);
      for (const std::int64_t k : a.ks) {
        if (k > length) continue;
        Line line{kind, length, k, time_nth_element(rows, k, a).ns, {}};
        std::int64_t reference = 0;
        std::string first = "nth_element";
        double best = line.nth_element, quick = 0;
        for (const Selector& s : libknng::selectors()) {
          std::int64_t places = 0;
          const double ns = time_selector(s, rows, k, a, places).ns;
          line.selectors.push_back(ns);
          if (line.selectors.size() == 1) reference = places;
          agree = agree && places == reference;
          if (ns < best) first = s.name;
          best = std::min(best, ns);
          if (std::string(s.name) == "quick") quick = ns;
        }
        std::printf("| %s | %s | %lld | %.3f |", kind.c_str(), power(length).c_str(), static_cast<long long>(k),
                    line.nth_element);
        for (const double ns : line.selectors) std::printf(" %.3f |", ns);
        std::printf(" %.1f x | %s |\n", line.nth_element / quick, first.c_str());
        std::fflush(stdout);
        lines.push_back(line);
      }
    }
  }
  if (!a.json.empty()) write_json(a, lines);
  if (!agree) std::fprintf(stderr, "the selectors do not pick the same\n");
  return agree;
}

}  // namespace

int main(int argc, char** argv) {
  Arguments a;
  CLI::App app("Times the selectors of the CPU beside std::nth_element.");
  app.add_option("--keys", a.keys, "keys in all")->check(CLI::PositiveNumber)->capture_default_str();
  app.add_option("--tile", a.tile, "keys of a tile")->check(CLI::PositiveNumber)->capture_default_str();
  app.add_option("--row", a.rows, "lengths of rows")->delimiter(',')->check(CLI::PositiveNumber);
  app.add_option("-k", a.ks, "numbers of neighbours")->delimiter(',')->check(CLI::PositiveNumber);
  app.add_option("--kind", a.kinds, "uniform, ascending, descending, constant, few")->delimiter(',');
  app.add_option("--seconds", a.seconds, "a run ends after so long")->capture_default_str();
  app.add_option("--runs", a.runs, "runs of which the median counts")->check(CLI::Range(1, 99))->capture_default_str();
  app.add_option("--json", a.json, "a file for the figures");
  CLI11_PARSE(app, argc, argv);
  try {
    return run(a) ? 0 : 1;
  } catch (const std::exception& e) {
    std::fprintf(stderr, "selector_bench: %s\n", e.what());
    return 2;
  }
}

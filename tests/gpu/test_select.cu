// Every selector against a selection on the host: sides, loaders, distributions, odd sizes and strides, capacities from
// 1 to more than a list has, cut-offs, excluded ids, and what is said to have been dropped.
#include <algorithm>
#include <bit>
#include <cmath>
#include <functional>
#include <limits>
#include <random>
#include <string>

#include "backend/cuda/select/quick.cuh"
#include "backend/cuda/select/select.cuh"
#include "gpu.cuh"
#include "refine/bound.h"
#include "selection.h"

using namespace libknng::cuda;

namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

struct Shape {
  int rows, columns, pad;  // ld = columns + pad
  int skew;                // floats by which the tile misses an alignment of 16 bytes
};

enum class Values { uniform, ascending, descending, constant, few, spread, misleading, misleading_once };
constexpr Values kAllValues[] = {Values::uniform, Values::ascending, Values::descending, Values::constant,
                                 Values::few,     Values::spread,    Values::misleading, Values::misleading_once};

const char* name(Values v) {
  constexpr const char* names[] = {"uniform", "ascending", "descending", "constant",
                                   "few",     "spread",    "misleading", "misleading once"};
  return names[static_cast<int>(v)];
}

enum class Stored { lows, products, integers };
constexpr Stored kAllStored[] = {Stored::lows, Stored::products, Stored::integers};

struct Tile {
  Shape shape;
  Stored what;
  bool terms;
  std::vector<float> stored, row_terms, column_terms;
  int square = 0;  // SelectJob::square
  // Where the elements of a row begin, and how many it has.
  int shift(int r) const { return square == 0 ? 0 : r / square * square; }
  int length_of_row(int r) const {
    return square == 0 ? shape.columns : std::min(shape.columns, shape.rows - shift(r));
  }
  std::int64_t ld() const { return shape.columns + shape.pad; }
  float low(int r, int c) const {
    const float x = stored[static_cast<std::size_t>(r * ld() + c)];
    if (!terms) return x;
    const float row = row_terms[static_cast<std::size_t>(r)];
    const float column = column_terms[static_cast<std::size_t>(shift(r) + c)];
    if (what == Stored::products) return std::fmaf(-2.0F, x, row + column);
    const auto integer = [](float bits) { return std::bit_cast<std::int32_t>(bits); };
    return libknng::round_down(integer(row) + integer(column) - 2 * integer(x));
  }
};

// Sampled elements of every list of this length are the smallest, whoever selects: pivots are far too low. once: of the
// sample only as many as make the first one so, unless a list keeps very few or very many.
bool sampled(int e, int length, int capacity, bool once) {
  for (const int part : {64, 128, 256}) {
    const QuickPlan plan = plan_quick(length, capacity, 32, part, length);
    const auto sample = static_cast<unsigned>(plan.sample);
    for (unsigned i = 0; i < (once ? static_cast<unsigned>(plan.pivots[0]) : sample); ++i)
      if (sampled_element(i, sample, static_cast<unsigned>(length)) == static_cast<unsigned>(e)) return true;
  }
  return false;
}

// Products and terms as they are stored. Integers are larger than what floats hold, but lows fit 32 bits.
float stored_number(float x, Stored what, Values values) {
  if (what == Stored::products) return x;
  const bool sorted = values == Values::ascending || values == Values::descending;
  const double scaled = std::nearbyint(static_cast<double>(x) * (sorted ? 0x1p12 : 0x1p26));
  return std::bit_cast<float>(static_cast<std::int32_t>(std::clamp(scaled, -0x1p29, 0x1p29 - 1)));
}

Tile make_tile(Shape shape, Stored what, Values values, Side side, int capacity, std::mt19937& random,
               bool squares = false) {
  const bool terms = what != Stored::lows;
  Tile t{shape, what, terms, {}, {}, {}, squares ? shape.columns : 0};
  // What is in the padding must not come out.
  t.stored.assign(static_cast<std::size_t>(shape.rows * t.ld()),
                  what == Stored::integers   ? std::bit_cast<float>(std::numeric_limits<std::int32_t>::max())
                  : what == Stored::products ? 1e30F
                                             : -1e30F);
  std::uniform_real_distribution<float> uniform(-1, 1);
  const int length = side == Side::rows ? shape.columns : shape.rows;
  std::vector<char> mark(static_cast<std::size_t>(length));
  if (values == Values::misleading || values == Values::misleading_once)
    for (int e = 0; e < length; ++e)
      mark[static_cast<std::size_t>(e)] = sampled(e, length, capacity, values == Values::misleading_once);
  for (int r = 0; r < shape.rows; ++r)
    for (int c = 0; c < shape.columns; ++c) {
      const int list = side == Side::rows ? r : c, e = side == Side::rows ? c : r;
      float x = 0;
      switch (values) {
        case Values::uniform: x = uniform(random); break;
        case Values::ascending: x = static_cast<float>(e) + 0.25F * static_cast<float>(list % 3); break;
        case Values::descending: x = -static_cast<float>(e) + 0.25F * static_cast<float>(list % 3); break;
        case Values::constant: x = 2.5F; break;
        case Values::few: x = static_cast<float>(static_cast<int>(random() % 4)) - 1; break;
        case Values::spread:  // magnitudes of all kinds, zeros of both signs, +inf (which is no candidate)
          x = random() % 8 == 0   ? (terms ? 0.0F : kInfinity)
              : random() % 8 == 0 ? -0.0F
              : random() % 8 == 0 ? 0.0F
                                  : std::ldexp(uniform(random), static_cast<int>(random() % 100) - 60);
          break;
        case Values::misleading:
        case Values::misleading_once: x = (mark[static_cast<std::size_t>(e)] ? 0.0F : 5.0F) + uniform(random); break;
      }
      // A product's low falls as it grows.
      t.stored[static_cast<std::size_t>(r * t.ld() + c)] = terms ? stored_number(-0.5F * x, what, values) : x;
    }
  if (terms) {
    const bool flat = values != Values::uniform && values != Values::spread;
    const bool some_infinite = values == Values::spread && what == Stored::products;
    // Small negative integers, whose bits are those of a NaN, of lists that may have no cut-off (make_cutoffs()).
    const bool some_small = what == Stored::integers && !flat;
    const auto fill = [&](std::vector<float>& out, int count) {
      for (int i = 0; i < count; ++i) {
        const float term = stored_number(flat ? 1.0F : uniform(random), what, values);
        out.push_back(some_infinite && random() % 16 == 0 ? kInfinity
                      : some_small && i % 7 == 3          ? std::bit_cast<float>(-1 - i % 1000)
                                                          : term);
      }
    };
    fill(t.row_terms, shape.rows);
    fill(t.column_terms, squares ? shape.rows : shape.columns);
  }
  return t;
}

struct Case {
  Side side;
  int capacity;
  bool cut, exclude, drop;
  std::uint32_t first_id;
};

using Runner = std::function<void(const SelectJob&)>;
struct NamedRunner {
  std::string name;
  bool rows_only;
  Runner run;
};

std::vector<NamedRunner> runners() {
  std::vector<NamedRunner> result;
  for (const Selector& s : selectors())
    result.push_back({s.name, false, [&s](const SelectJob& job) {
                        gpu::run_with_workspace(s.workspace_bytes(job, device_limits()),
                                                [&](void* w) { s.run(job, w, nullptr); });
                      }});
  for (const int warps : {1, 4, 8, 16, 32})
    result.push_back({"quick/" + std::to_string(warps), true, [warps](const SelectJob& job) {
                        gpu::run_with_workspace(quick_rows_workspace(job, warps, device_limits()),
                                                [&](void* w) { quick_rows(job, warps, w, nullptr); });
                      }});
  return result;
}

// A tile and its terms on the device.
struct DeviceTile {
  gpu::Array<float> stored, row_terms, column_terms;
  SelectJob job;
  explicit DeviceTile(const Tile& t)
      : stored(t.stored.size() + 4), row_terms(t.row_terms), column_terms(t.column_terms) {
    float* tile = stored.get() + t.shape.skew;
    gpu::copy(tile, t.stored.data(), t.stored.size() * sizeof(float));
    job.tile = tile;
    job.ld = t.ld();
    job.rows = t.shape.rows;
    job.columns = t.shape.columns;
    if (t.terms) job.row_terms = row_terms.get(), job.column_terms = column_terms.get();
    job.square = t.square;
    job.integers = t.what == Stored::integers;
  }
};

// The outputs of a job, poisoned, and its per-list inputs.
struct Lists {
  int count, length;
  std::vector<float> cutoffs, dropped_before;
  std::vector<std::uint32_t> excluded;
  gpu::Array<float> device_cutoffs, dropped;
  gpu::Array<std::uint32_t> device_excluded;
  gpu::Array<Candidate> out;
  gpu::Array<std::int32_t> counts;
  std::vector<std::vector<gpu::Entry>> survivors;  // ascending
  std::string where;

  Lists(const Tile& t, const Case& c, std::mt19937& random, std::string text)
      : count(c.side == Side::rows ? t.shape.rows : t.shape.columns),
        length(c.side == Side::rows ? t.shape.columns : t.shape.rows),
        cutoffs(make_cutoffs(t, c, random)),
        dropped_before(static_cast<std::size_t>(count)),
        excluded(make_excluded(t, c, random)),
        device_cutoffs(cutoffs),
        dropped(make_dropped(c, random)),
        device_excluded(excluded),
        out(static_cast<std::size_t>(count) * static_cast<std::size_t>(c.capacity)),
        counts(static_cast<std::size_t>(count)),
        where(std::move(text)) {
    for (int l = 0; l < count; ++l) {
      auto& list = survivors.emplace_back();
      for (int e = 0; e < length_of(t, c, l); ++e) {
        const float low = c.side == Side::rows ? t.low(l, e) : t.low(e, l);
        const auto id = first_id(t, c, l) + static_cast<std::uint32_t>(e);
        if (c.exclude && excluded[static_cast<std::size_t>(l)] == id) continue;
        if (c.cut && low > cutoffs[static_cast<std::size_t>(l)]) continue;
        if (low < kInfinity) list.emplace_back(low, id);
      }
      std::sort(list.begin(), list.end());
    }
  }

  int length_of(const Tile& t, const Case& c, int l) const {
    return c.side == Side::rows ? t.length_of_row(l) : length;
  }
  static std::uint32_t first_id(const Tile& t, const Case& c, int l) {
    return c.first_id + static_cast<std::uint32_t>(c.side == Side::rows ? t.shift(l) : 0);
  }
  std::vector<float> make_cutoffs(const Tile& t, const Case& c, std::mt19937& random) const {
    std::vector<float> result;
    for (int l = 0; l < count; ++l) {
      const int e = static_cast<int>(random() % static_cast<unsigned>(length_of(t, c, l)));
      // Exactly an entry, so that equality is met; now and then all or nothing.
      const float entry = c.side == Side::rows ? t.low(l, e) : t.low(e, l);
      result.push_back(l % 7 == 3 ? kInfinity : l % 7 == 5 ? -kInfinity : entry);
    }
    return result;
  }
  std::vector<std::uint32_t> make_excluded(const Tile& t, const Case& c, std::mt19937& random) const {
    std::vector<std::uint32_t> result;
    for (int l = 0; l < count; ++l)
      result.push_back(l % 5 == 4 ? ~0U : first_id(t, c, l) + random() % static_cast<unsigned>(length_of(t, c, l)));
    return result;
  }
  std::vector<float> make_dropped(const Case& c, std::mt19937& random) {
    for (float& d : dropped_before)
      d = c.drop && random() % 4 == 0 ? static_cast<float>(static_cast<int>(random() % 5) - 2) : kInfinity;
    return dropped_before;
  }

  void fill(SelectJob& job, const Case& c) {
    job.side = c.side;
    job.first_id = c.first_id;
    job.capacity = c.capacity;
    job.cutoffs = c.cut ? device_cutoffs.get() : nullptr;
    job.admission = {c.exclude ? device_excluded.get() : nullptr};
    job.out = out.get();
    job.counts = counts.get();
    job.dropped = c.drop ? dropped.get() : nullptr;
    out.poison();
    counts.poison();
    gpu::copy(dropped.get(), dropped_before.data(), dropped_before.size() * sizeof(float));
  }

  void compare(const Case& c, const char* selector) const {
    const auto got_out = out.values();
    const auto got_counts = counts.values();
    const auto got_dropped = dropped.values();
    for (std::size_t l = 0; l < static_cast<std::size_t>(count); ++l)
      gpu::expect_selected(survivors[l], c.capacity, c.drop, dropped_before[l],
                           {got_out.data() + l * static_cast<std::size_t>(c.capacity), got_counts[l], got_dropped[l]},
                           selector, where.c_str(), static_cast<long long>(l));
  }
};

const char* name(Side side) { return side == Side::rows ? "rows" : "columns"; }

std::string describe(const Tile& t, Values values, const Case& c) {
  char text[200];
  std::snprintf(text, sizeof text, "%dx%d+%d skew %d %s %s %s C=%d%s%s", t.shape.rows, t.shape.columns, t.shape.pad,
                t.shape.skew,
                t.what == Stored::integers ? "integers"
                : t.terms                  ? "product"
                                           : "stored",
                name(values), name(c.side), c.capacity, c.cut ? " cut" : "", c.exclude ? " excluding" : "");
  return text;
}

void test_all() {
  std::mt19937 random(1);
  std::vector<Shape> shapes = {{1, 1, 0, 0},     {3, 7, 1, 1},      {33, 65, 3, 0},   {40, 1024, 0, 0},
                               {5, 4099, 1, 2},  {300, 37, 0, 0},   {2, 20003, 0, 0}, {3000, 40, 4, 0},
                               {20, 9000, 8, 0}, {1, 100000, 4, 0}, {20000, 5, 3, 1}};
  if (small_run()) shapes = {{3, 7, 1, 1}, {33, 65, 3, 0}, {2, 5004, 4, 0}, {3000, 3, 1, 0}};
  const auto all = runners();
  for (const Shape& shape : shapes)
    for (const Side side : {Side::rows, Side::columns}) {
      const int length = side == Side::rows ? shape.columns : shape.rows;
      std::vector<int> capacities = {1, 2, 10, 33, 80, 100, 520, 2000, length / 2, length - 1, length, length + 3};
      // The last of a long list is more than what quick works in holds of it.
      if (small_run()) capacities = {40, 100, std::min(length, length > 1000 ? 2000 : 100)};
      std::sort(capacities.begin(), capacities.end());
      capacities.erase(std::unique(capacities.begin(), capacities.end()), capacities.end());
      for (const int capacity : capacities) {
        if (capacity < 1 || capacity > length + 3) continue;
        for (const Values values : kAllValues) {
          if (small_run() && values != Values::uniform && values != Values::few && values != Values::misleading)
            continue;
          const Stored what = kAllStored[random() % 3];
          // Long capacities with every distribution would take minutes on the host alone.
          if (capacity > 5000 && values != Values::uniform && values != Values::few && values != Values::misleading)
            continue;
          const Tile tile = make_tile(shape, what, values, side, capacity, random);
          const DeviceTile device(tile);
          const bool cut = random() % 2 == 0, exclude = random() % 2 == 0;
          const Case c{side, capacity, cut, exclude, random() % 4 != 0, random() % 2 == 0 ? 0U : 4000000000U};
          Lists lists(tile, c, random, describe(tile, values, c));
          for (const auto& runner : all) {
            if (runner.rows_only && side == Side::columns) continue;
            // One thread a list and O(C) a candidate.
            if (runner.name == "insertion" && capacity > 600) continue;
            SelectJob job = device.job;
            lists.fill(job, c);
            runner.run(job);
            lists.compare(c, runner.name.c_str());
          }
        }
      }
    }
}

// Where buffers are in global memory more rows than blocks take turns at them. Of those whose counts say that they have
// overflown, two runs for a part each are one for all.
void rows_take_turns_at_buffers_in_global_memory() {
  std::mt19937 random(3);
  const Shape shape = small_run() ? Shape{140, 50000, 0, 0} : Shape{300, 40000, 0, 0};
  for (const Values values : {Values::uniform, Values::few}) {
    if (small_run() && values != Values::uniform) continue;
    const Case c{Side::rows, shape.columns / 2, false, true, true, 9};
    const Tile tile = make_tile(shape, Stored::lows, values, c.side, c.capacity, random);
    const DeviceTile device(tile);
    Lists lists(tile, c, random, describe(tile, values, c));
    SelectJob job = device.job;
    lists.fill(job, c);
    job.only_overflown = true;
    gpu::expect(quick_rows_workspace(job, 0, device_limits()) > 0, "%s: buffers are in shared memory",
                lists.where.c_str());
    std::vector<std::int32_t> counts(static_cast<std::size_t>(shape.rows), c.capacity);
    for (const std::size_t part : {1, 0}) {
      for (std::size_t l = 0; l < counts.size(); ++l)
        if ((l % 3 != 0) == (part == 1)) counts[l] = c.capacity + 1;
      gpu::copy(job.counts, counts.data(), counts.size() * sizeof(std::int32_t));
      gpu::run_with_workspace(quick_rows_workspace(job, 0, device_limits()),
                              [&](void* w) { quick_rows(job, 0, w, nullptr); });
      counts = lists.counts.values();
    }
    lists.compare(c, "quick, two parts");
  }
}

// Both sides of a tile from one run.
void expect_both(const Shape& shape, Stored what, Values values, bool cut, bool exclude, std::mt19937& random) {
  const Tile tile = make_tile(shape, what, values, Side::rows, 20, random);
  const DeviceTile device(tile);
  const Case rows{Side::rows, 20, cut, exclude, true, 7}, columns{Side::columns, 11, cut, exclude, true, 5000};
  Lists of_rows(tile, rows, random, describe(tile, values, rows));
  Lists of_columns(tile, columns, random, describe(tile, values, columns));
  for (const Selector& s : selectors()) {
    if (!s.run_both) continue;
    SelectJob a = device.job, b = device.job;
    of_rows.fill(a, rows);
    of_columns.fill(b, columns);
    gpu::run_with_workspace(s.workspace_bytes_both(a, b, device_limits()),
                            [&](void* w) { s.run_both(a, b, w, nullptr); });
    of_rows.compare(rows, s.name);
    of_columns.compare(columns, s.name);
  }
}

// Of whole vectors and without exceptions also from one read.
void test_both() {
  std::mt19937 random(2);
  for (const Values values : {Values::uniform, Values::few, Values::spread})
    for (const Stored what : kAllStored)
      for (const bool cut : {false, true})
        for (const bool exclude : {false, true})
          expect_both({150, 333, exclude ? 2 : 3, 0}, what, values, cut, exclude, random);
  // So long that lists which have all they want are not selected for once more.
  for (const Stored what : kAllStored) {
    expect_both({40, 40000, 0, 0}, what, Values::uniform, true, false, random);
    expect_both({20000, 60, 0, 0}, what, Values::uniform, true, false, random);
  }
}

// Squares on a diagonal, the last of them smaller: of so few rows that a warp takes each, and of so many that blocks
// do.
void test_squares() {
  std::mt19937 random(4);
  const std::vector<Shape> shapes =
      small_run() ? std::vector<Shape>{{100, 64, 0, 0}}
                  : std::vector<Shape>{{100, 64, 0, 0},    {700, 256, 4, 0}, {450, 150, 1, 2},   {2500, 1280, 0, 0},
                                       {4700, 2560, 0, 0}, {300, 299, 5, 0}, {2305, 1152, 0, 0}, {2561, 1280, 0, 0}};
  for (const Shape& shape : shapes)
    for (const Stored what : kAllStored)
      for (const Values values : {Values::uniform, Values::few, Values::misleading})
        for (const int capacity : {1, 33, 48, 300}) {
          const Case c{Side::rows, capacity, random() % 2 == 0, random() % 2 == 0, true, 4000000000U};
          const Tile tile = make_tile(shape, what, values, c.side, capacity, random, true);
          const DeviceTile device(tile);
          Lists lists(tile, c, random, describe(tile, values, c) + " in squares");
          for (const Selector& s : selectors()) {
            SelectJob job = device.job;
            lists.fill(job, c);
            gpu::run_with_workspace(s.workspace_bytes(job, device_limits()),
                                    [&](void* w) { select(s, job, w, nullptr); });
            lists.compare(c, s.name);
          }
        }
}

}  // namespace

int main() {
  gpu::need_device();
  test_all();
  rows_take_turns_at_buffers_in_global_memory();
  test_both();
  test_squares();
  return gpu::result();
}

// No pair comes into a list twice. Lists take it for granted that ids differ (select/merge.cuh) and do not look for a
// second copy: one would lower the cut-off too far and stand in the result. So whatever feeds a list is tested here:
// tiles on the diagonal, which have each pair twice, tiles beside it, which serve both sides, sessions that take over
// each other's cut-offs and lists, and rungs one after the other. The lists have room for every pair twice.
#include <algorithm>
#include <cstdio>
#include <memory>
#include <numeric>
#include <vector>

#include "backend/seam.h"
#include "plan/integer_products.h"
#include "plan/tile_grid.h"
#include "tests/gpu/points.h"

extern "C" const knng_backend_seam* knng_cuda_entry();

namespace libknng::cuda::test {
namespace {

// Of 4-byte floats or bytes, packed. A small grid, so that most keys are tied, and of each row an equal one.
struct Grid {
  Points points;
  std::vector<std::byte> packed;
};

Grid make_grid(const Metric& metric, std::int32_t dtype, std::int64_t n, std::int64_t dim) {
  Grid grid{make_points(metric, dtype, n, dim, 41), {}};
  Points& p = grid.points;
  Random random(42);
  const auto half = static_cast<std::size_t>(n / 2 * dim);
  for (std::size_t i = 0; i < p.values.size(); ++i)
    p.values[i] = i < half ? static_cast<double>(random.next() % 3) : p.values[i - half];
  for (const double value : p.values) {
    const auto x = static_cast<float>(value);
    const auto* const bytes = reinterpret_cast<const std::byte*>(&x);
    if (dtype == KNNG_F32)
      grid.packed.insert(grid.packed.end(), bytes, bytes + sizeof x);
    else
      grid.packed.push_back(static_cast<std::byte>(value));
  }
  finish(p);
  return grid;
}

std::int32_t read_rows(const void* user, std::int64_t first, std::int64_t count, void* to) {
  const auto& grid = *static_cast<const Grid*>(user);
  const std::size_t row = grid.packed.size() / static_cast<std::size_t>(grid.points.rows);
  std::memcpy(to, grid.packed.data() + static_cast<std::size_t>(first) * row, static_cast<std::size_t>(count) * row);
  return 1;
}

struct Case {
  const char* metric;
  std::int32_t dtype;
  std::int64_t dim;
  const char* engine;
  std::vector<int> rungs;
  std::int64_t blocks_held = 0;  // 0: points stay on the device

  std::string text() const {
    return std::string(metric) + " " + dtype_name(dtype) + " " + engine + (blocks_held > 0 ? " in blocks" : "");
  }
};

knng_backend_problem problem_of(const Grid& grid, const Case& c, const char* selector, std::int64_t side,
                                std::int64_t k) {
  const Points& points = grid.points;
  const Metric& m = points.metric;
  knng_backend_problem p{};
  p.columns = p.rows = {&grid, points.rows, points.dim, points.dtype, &read_rows, nullptr, 0};
  p.square = 1;
  p.value_dtype = KNNG_F64;
  p.metric = {static_cast<std::int32_t>(m.transform),
              static_cast<std::int32_t>(m.term),
              static_cast<std::int32_t>(m.report),
              0,
              m.scale,
              m.p,
              largest_magnitude(m, points.dim)};
  p.copy = [](const void*, void* to, const void* from, std::int64_t bytes) {
    std::memcpy(to, from, static_cast<std::size_t>(bytes));
  };
  p.wanted = [](const void*) -> std::int32_t { return 1; };
  p.k = k;
  p.engine = c.engine;
  p.selector = selector;
  p.tile_rows = p.tile_cols = side;
  p.capacity = 2 * points.rows;
  p.blocks_held = c.blocks_held;
  p.max_bytes = INT64_MAX;
  return p;
}

// Sessions on one device, as exec/device_run.cpp has them on several.
class Team {
 public:
  Team(const knng_backend_problem& p, std::size_t size) : problem_(p) {
    for (std::size_t i = 0; i < size; ++i) {
      knng_backend_session* session = nullptr;
      done(seam_.open(&session, 0, &problem_, &error_));
      sessions_.emplace_back(session, seam_.close);
    }
  }

  void evaluate(int rung) {
    for (const auto& s : sessions_) done(seam_.begin(s.get(), rung, &error_));
    const std::int64_t n = problem_.rows.count;
    const TileGrid grid{n, n, problem_.tile_rows, problem_.tile_cols, true};
    std::size_t tiles = 0;
    for (const auto part : {TileQueue::Part::diagonal, TileQueue::Part::beside_diagonal}) {
      TileQueue queue(grid, 1, part);
      for (Tile t; queue.next(t); ++tiles) {
        const std::size_t taker = tiles % sessions_.size();
        done(seam_.tile(session(taker), t.first_row, t.rows, t.first_column, t.columns, &error_));
        if (tiles % 3 == 0) heed_others(taker);
      }
      for (const auto& s : sessions_) done(seam_.settle(s.get(), &error_));
      for (std::size_t i = 0; i < sessions_.size(); ++i) heed_others(i);
    }
    for (const auto& s : sessions_) done(seam_.settle(s.get(), &error_));
    for (std::size_t i = 0; i < sessions_.size(); ++i)
      for (std::size_t other = 0; other < sessions_.size(); ++other)
        if (other != i) done(seam_.absorb(session(i), session(other), first_of(i), count_of(i), &error_));
  }
  void refine(knng_backend_result& result) {
    for (std::size_t i = 0; i < sessions_.size() && problem_.blocks_held > 0; ++i) {
      done(seam_.begin_keys(session(i), &error_));
      TileQueue queue({count_of(i), problem_.columns.count, problem_.tile_rows, problem_.tile_cols, false}, 1);
      for (Tile t; queue.next(t);)
        done(seam_.keys(session(i), first_of(i) + t.first_row, t.rows, t.first_column, t.columns, &error_));
    }
    for (std::size_t i = 0; i < sessions_.size(); ++i)
      done(seam_.refine(session(i), first_of(i), count_of(i), &result, &error_));
  }
  void redo(const std::vector<std::int64_t>& rows, knng_backend_result& result) {
    done(seam_.redo(session(0), rows.data(), static_cast<std::int64_t>(rows.size()), &result, &error_));
  }

 private:
  void done(std::int32_t status) { expect(status == KNNG_OK, "status %d: %s", status, error_.text); }
  knng_backend_session* session(std::size_t i) const { return sessions_[i].get(); }
  void heed_others(std::size_t i) {
    for (std::size_t other = 0; other < sessions_.size(); ++other)
      if (other != i) done(seam_.heed(session(i), session(other), &error_));
  }
  // A session's share of the rows; where they come in blocks, whole ones.
  std::int64_t first_of(std::size_t i) const {
    const std::int64_t n = problem_.rows.count, grain = problem_.blocks_held > 0 ? problem_.tile_rows : 1;
    if (i == sessions_.size()) return n;
    return n * static_cast<std::int64_t>(i) / static_cast<std::int64_t>(sessions_.size()) / grain * grain;
  }
  std::int64_t count_of(std::size_t i) const { return first_of(i + 1) - first_of(i); }

  const knng_backend_seam& seam_ = *knng_cuda_entry();
  const knng_backend_problem& problem_;
  knng_backend_error error_{};
  std::vector<std::unique_ptr<knng_backend_session, void (*)(knng_backend_session*)>> sessions_;
};

// A result on the host.
struct Answer {
  std::vector<std::int64_t> ids;
  std::vector<double> values;
  std::vector<std::uint8_t> ties, proof;
  knng_backend_result result{};

  Answer(std::int64_t n, std::int64_t k)
      : ids(static_cast<std::size_t>(n * k), -7),
        values(ids.size()),
        ties(static_cast<std::size_t>(n), 9),
        proof(ties) {
    result.ids = ids.data();
    result.values = values.data();
    result.ties = ties.data();
    result.proof = proof.data();
    result.device = -1;
    result.too_large = INT64_MAX;
  }
};

void compare(const Answer& answer, const std::vector<std::vector<Pair>>& expected, std::int64_t k, int rung,
             const std::string& what) {
  for (std::size_t i = 0; i < expected.size(); ++i) {
    const auto first = answer.ids.begin() + static_cast<std::ptrdiff_t>(i) * k;
    std::vector<std::int64_t> sorted(first, first + k);
    std::sort(sorted.begin(), sorted.end());
    const auto twice = std::adjacent_find(sorted.begin(), sorted.end());
    if (twice != sorted.end())
      expect(false, "%s: row %zu has %lld twice", what.c_str(), i, static_cast<long long>(*twice));
    expect(answer.proof[i] == rung, "%s: row %zu: proof %d", what.c_str(), i, answer.proof[i]);
    for (std::int64_t j = 0; j < k; ++j)
      expect(first[j] == expected[i][static_cast<std::size_t>(j)].id, "%s: row %zu entry %lld is %lld, not %lld",
             what.c_str(), i, static_cast<long long>(j), static_cast<long long>(first[j]),
             static_cast<long long>(expected[i][static_cast<std::size_t>(j)].id));
  }
}

void fed_once(const Case& c, const Grid& grid, const std::vector<std::vector<Pair>>& expected, const char* selector,
              std::int64_t side, std::size_t sessions) {
  const std::int64_t n = grid.points.rows;
  std::vector<std::int64_t> all_rows(expected.size());
  std::iota(all_rows.begin(), all_rows.end(), 0);
  const std::vector<std::int32_t> devices(sessions, 0);
  for (const std::int64_t k : {std::int64_t{5}, n - 1}) {
    knng_backend_problem p = problem_of(grid, c, selector, side, k);
    p.devices = devices.data();
    p.device_count = static_cast<std::int64_t>(sessions);
    const std::string what = c.text() + " " + selector + " side " + std::to_string(side) + " sessions " +
                             std::to_string(sessions) + " k " + std::to_string(k);
    Team team(p, sessions);
    for (const int rung : c.rungs) {
      const std::string where = what + " rung " + std::to_string(rung);
      Answer answer(n, k);
      team.evaluate(rung);
      team.refine(answer.result);
      compare(answer, expected, k, rung, where);
      // With k = n - 1 there is no cut-off before a list has all others.
      const auto candidates = static_cast<long long>(answer.result.candidates);
      expect(k == n - 1 ? candidates == n - 1 : candidates >= k && candidates < n, "%s: %lld candidates of %lld rows",
             where.c_str(), candidates, static_cast<long long>(n));
      expect(answer.result.violations == 0, "%s: violations", where.c_str());
    }
    Answer again(n, k);
    team.redo(all_rows, again.result);
    compare(again, expected, k, KNNG_RUNG_FP64, what + " redone");
  }
}

}  // namespace
}  // namespace libknng::cuda::test

int main() {
  using namespace libknng;
  using namespace libknng::cuda::test;
  require_gpu();
  const Case cases[] = {
      {"sqeuclidean", KNNG_F32, 40, "tiled", {KNNG_RUNG_FILTER, KNNG_RUNG_TWO_PIECE, KNNG_RUNG_FP32}},
      {"sqeuclidean", KNNG_U8, kIntegerProductsFrom, "tiled", {KNNG_RUNG_FILTER}},
      {"manhattan", KNNG_F32, 40, "tiled", {KNNG_RUNG_FILTER, KNNG_RUNG_FP64}},
      {"sqeuclidean", KNNG_F32, 40, "direct", {KNNG_RUNG_FP64}},
      {"sqeuclidean", KNNG_F32, 40, "tiled", {KNNG_RUNG_FILTER, KNNG_RUNG_FP32}, KNNG_BACKEND_FEWEST_HELD},
      {"manhattan", KNNG_F32, 40, "tiled", {KNNG_RUNG_FILTER}, KNNG_BACKEND_FEWEST_HELD + 1},
  };
  // The last block has 1 row, 2 rows, 21 rows, or there is but one block; in a small run it has 6.
  const std::int64_t n = small_run() ? 70 : 149;
  const std::vector<std::int64_t> sides =
      small_run() ? std::vector<std::int64_t>{64} : std::vector<std::int64_t>{37, 7, 64, n};
  const std::vector<std::size_t> teams = small_run() ? std::vector<std::size_t>{2} : std::vector<std::size_t>{1, 2};
  for (const Case& c : cases) {
    const Grid grid = make_grid(find_metric(c.metric, 0), c.dtype, n, c.dim);
    const Question q{grid.points, grid.points, 0, true, {}};
    std::vector<std::vector<Pair>> expected;
    for (std::int64_t i = 0; i < n; ++i) expected.push_back(ascending(q, i));
    for (const char* selector : {"quick", "batch_sort", "insertion"}) {
      for (const std::int64_t side : sides)
        for (const std::size_t sessions : teams) fed_once(c, grid, expected, selector, side, sessions);
      std::printf("%s %s: each pair once\n", c.text().c_str(), selector);
      std::fflush(stdout);  // under tools it takes long: so far it has come
    }
  }
  return 0;
}

// No pair comes into a list twice. Lists take it for granted that ids differ (select/merge.cuh) and do not look for a
// second copy: one would lower the cut-off too far and stand in the result. So whatever feeds a list is tested here:
// tiles on the diagonal, which have each pair twice, tiles beside it, which serve both sides, sessions that take over
// each other's cut-offs and lists, and rungs one after the other. The lists have room for every pair twice.
#include <algorithm>
#include <cstdio>
#include <numeric>
#include <vector>

#include "backend/cuda/engines/engine.h"
#include "core/dtype.h"
#include "tests/gpu/seam_team.h"

namespace libknng::cuda::test {
namespace {

struct Case {
  const char* metric;
  std::int32_t dtype;
  std::int64_t dim;
  const char* engine;
  std::vector<int> rungs;
  std::int64_t blocks_held = 0;  // 0: points stay on the device

  bool redoes_by_lists() const {
    return blocks_held == 0 && std::string(engine) != "direct" && std::string(metric) == "sqeuclidean";
  }
  std::string text() const {
    return std::string(metric) + " " + dtype_name(dtype) + " " + engine + (blocks_held > 0 ? " in blocks" : "");
  }
};

// guesses: rows may be without a proof.
void compare(const Answer& answer, const std::vector<std::vector<Pair>>& expected, std::int64_t k, int proof,
             const std::string& what, bool guesses = false) {
  for (std::size_t i = 0; i < expected.size(); ++i) {
    const auto first = answer.ids.begin() + static_cast<std::ptrdiff_t>(i) * k;
    std::vector<std::int64_t> sorted(first, first + k);
    std::sort(sorted.begin(), sorted.end());
    const auto twice = std::adjacent_find(sorted.begin(), sorted.end());
    if (twice != sorted.end())
      expect(false, "%s: row %zu has %lld twice", what.c_str(), i, static_cast<long long>(*twice));
    if (guesses && answer.proof[i] == 0) continue;
    expect(answer.proof[i] == proof, "%s: row %zu: proof %d", what.c_str(), i, answer.proof[i]);
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
    knng_backend_problem p = problem_of(grid, c.engine, selector, side, k, c.blocks_held);
    p.devices = devices.data();
    p.device_count = static_cast<std::int64_t>(sessions);
    const std::string what = c.text() + " " + selector + " side " + std::to_string(side) + " sessions " +
                             std::to_string(sessions) + " k " + std::to_string(k);
    p.units = units_for(p);
    p.units.usable |= KNNG_UNIT_BYTES;  // of a rung that the table of engines has for more points
    Team team(std::vector<const knng_backend_problem*>(sessions, &p));
    for (const int rung : c.rungs) {
      const std::string where = what + " rung " + std::to_string(rung);
      Answer answer(n, k);
      team.evaluate(rung);
      team.refine(answer.result);
      // Cut-offs of rounded bytes are guesses, which values of a few levels, with errors that do not cancel, may miss.
      const bool guesses = rung == KNNG_RUNG_ROUNDED_BYTES && k < n - 1;
      const int proof = rung == KNNG_RUNG_ROUNDED_BYTES ? KNNG_RUNG_FILTER : rung;
      compare(answer, expected, k, proof, where, guesses);
      // With k = n - 1 there is no cut-off before a list has all others.
      const auto candidates = static_cast<long long>(answer.result.candidates);
      expect(k == n - 1 ? candidates == n - 1 : candidates >= k && candidates < n, "%s: %lld candidates of %lld rows",
             where.c_str(), candidates, static_cast<long long>(n));
      expect(answer.result.violations == 0, "%s: violations", where.c_str());
      // Once more, from columns that the lists do not rule out, where the engine has lows of them.
      if (!c.redoes_by_lists()) continue;
      if (rung != KNNG_RUNG_FP32) {
        team.evaluate(rung, true);
        team.refine(answer.result);
        compare(answer, expected, k, proof, where + " crowded", guesses);
      }
      team.redo(all_rows, true, answer.result);
      compare(answer, expected, k, KNNG_RUNG_FP64, where + " redone by lists");
    }
    Answer again(n, k);
    team.redo(all_rows, false, again.result);
    compare(again, expected, k, KNNG_RUNG_FP64, what + " redone");
  }
}

}  // namespace
}  // namespace libknng::cuda::test

int main() {
  using namespace libknng;
  using namespace libknng::cuda::test;
  gpu::need_device();
  const Case cases[] = {
      {"sqeuclidean", KNNG_F32, 40, "tiled", {KNNG_RUNG_FILTER, KNNG_RUNG_TWO_PIECE, KNNG_RUNG_FP32}},
      {"sqeuclidean",
       KNNG_F32,
       40,
       "fused",
       {KNNG_RUNG_ROUNDED_BYTES, KNNG_RUNG_FILTER, KNNG_RUNG_TWO_PIECE, KNNG_RUNG_FP32}},
      {"correlation", KNNG_F32, 300, "fused", {KNNG_RUNG_ROUNDED_BYTES, KNNG_RUNG_FILTER}},
      {"sqeuclidean", KNNG_F32, 40, "fused", {KNNG_RUNG_FILTER, KNNG_RUNG_FP32}, KNNG_BACKEND_FEWEST_HELD},
      {"sqeuclidean", KNNG_U8, libknng::cuda::kBytesInMemoryFrom, "tiled", {KNNG_RUNG_FILTER}},
      {"sqeuclidean", KNNG_U8, libknng::cuda::kBytesInRegistersFrom, "fused", {KNNG_RUNG_FILTER}},
      {"manhattan", KNNG_F32, 40, "tiled", {KNNG_RUNG_FILTER, KNNG_RUNG_FP64}},
      {"sqeuclidean", KNNG_F32, 40, "direct", {KNNG_RUNG_FP64}},
      {"sqeuclidean", KNNG_F32, 40, "tiled", {KNNG_RUNG_FILTER, KNNG_RUNG_FP32}, KNNG_BACKEND_FEWEST_HELD},
      {"manhattan", KNNG_F32, 40, "tiled", {KNNG_RUNG_FILTER}, KNNG_BACKEND_FEWEST_HELD + 1},
  };
  // The last block has 1 row, 6 rows, 9 rows, or there is but one block, whose two squares on the diagonal are in
  // memory together; in a small run the last has 6.
  const std::int64_t n = small_run() ? 70 : 201;
  const std::vector<std::int64_t> sides =
      small_run() ? std::vector<std::int64_t>{64} : std::vector<std::int64_t>{40, 13, 64, n};
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
  return gpu::result();
}

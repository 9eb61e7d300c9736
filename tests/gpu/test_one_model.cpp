// Sessions with the rounding models of different generations, on one GPU. Rows are small integers, exact in fp16:
// products are exact, so each key lies as far above its lower bound as the session that made it believes products to be
// wrong. Where another session believes in less, keys exceed the upper bounds that it makes of these; with the weakest
// model for all they do not, and lists are right.
#include <cstdio>
#include <numeric>

#include "backend/units.h"
#include "tests/gpu/seam_team.h"

namespace libknng::cuda::test {
namespace {

constexpr std::int64_t kRows = 40, kSide = 20, kAll = kRows - 1;

std::int64_t violations(const Grid& grid, const knng_backend_units& first, const knng_backend_units& second,
                        std::int64_t blocks_held) {
  const std::int32_t devices[] = {0, 0};
  knng_backend_problem p = problem_of(grid, "tiled", "quick", kSide, kAll, blocks_held);
  p.devices = devices;
  p.device_count = 2;
  knng_backend_problem other = p;
  p.units = first;
  other.units = second;
  Team team({&p, &other});
  team.evaluate(KNNG_RUNG_FILTER);
  Answer answer(kRows, kAll);
  team.refine(answer.result);
  if (answer.result.violations > 0) return answer.result.violations;
  const Question q{grid.points, grid.points, 0, true, {}};
  for (std::int64_t i = 0; i < kRows; ++i) {
    const std::vector<Pair> expected = ascending(q, i);
    for (std::int64_t j = 0; j < kAll; ++j)
      expect(answer.ids[static_cast<std::size_t>(i * kAll + j)] == expected[static_cast<std::size_t>(j)].id,
             "row %lld, entry %lld", static_cast<long long>(i), static_cast<long long>(j));
  }
  return 0;
}

}  // namespace
}  // namespace libknng::cuda::test

int main() {
  using namespace libknng;
  using namespace libknng::cuda::test;
  gpu::need_device();
  for (const char* metric : {"sqeuclidean", "inner_product"})
    for (const std::int64_t blocks_held : {std::int64_t{0}, std::int64_t{KNNG_BACKEND_FEWEST_HELD}}) {
      const Grid grid = make_grid(find_metric(metric, 0), KNNG_F32, kRows, 64);
      const knng_backend_units here = units_for(problem_of(grid, "tiled", "quick", kSide, kAll, blocks_held));
      knng_backend_units older = here;
      older.lost = 4 * here.lost;
      const std::int64_t mixed =
          violations(grid, older, here, blocks_held) + violations(grid, here, older, blocks_held);
      // Whose model meets whose list depends on how tiles fall to sessions where points pass in blocks.
      if (blocks_held == 0) expect(mixed > 0, "%s: models that differ go unnoticed", metric);
      const knng_backend_units one = weakest(here, older), same = weakest(older, here);
      const std::int64_t joined = violations(grid, one, same, blocks_held);
      expect(joined == 0, "%s: %lld violations of one model", metric, static_cast<long long>(joined));
      std::printf("%s, %lld blocks: %lld keys beyond bounds with two models, none with one\n", metric,
                  static_cast<long long>(blocks_held), static_cast<long long>(mixed));
    }
  return gpu::result();
}

// Which engine does a problem on GPUs if none was asked for (backend/cuda/engines/engine.h): the one that was fastest
// where all were measured (docs/internals/benchmarks-gpu.md, "Which engine on a GPU").
#include <cstring>

#include "backend/cuda/engines/engine.h"
#include "harness/cmocka.h"

namespace {

using libknng::Term;

knng_backend_problem problem_of(std::int64_t rows, std::int64_t columns, std::int64_t dim, std::int64_t k,
                                Term term = Term::squared_difference) {
  knng_backend_problem p{};
  p.rows.count = rows;
  p.columns.count = columns;
  p.rows.dim = p.columns.dim = dim;
  p.rows.dtype = p.columns.dtype = KNNG_F32;
  p.metric.term = static_cast<std::int32_t>(term);
  p.metric.scale = 1;
  p.square = rows == columns ? 1 : 0;
  p.k = k;
  return p;
}

// As the planner asks: who answers rows comes first.
const char* choice(knng_backend_problem p) {
  for (const std::int32_t by_rows : {1, 0}) {
    p.by_rows = by_rows;
    if (const libknng::cuda::GpuEngine* engine = libknng::cuda::find_engine(p, nullptr)) return engine->name;
  }
  return "none";
}

bool wants_long_lists(const knng_backend_problem& p) {
  const std::int64_t candidates = libknng::cuda::engine_of(p).candidates(p);
  assert_true(candidates == 0 || candidates > 3 * p.k);
  return candidates > 0;
}

// Whether rows are rounded to bytes first; lists are longer then, if there is memory for it.
bool begins_with_rounded_bytes(knng_backend_problem p) {
  const auto begins = [&] { return libknng::cuda::rungs_of(p).front().number == KNNG_RUNG_ROUNDED_BYTES; };
  if (!begins()) return false;
  assert_true(wants_long_lists(p));
  p.capacity = 3 * p.k;
  assert_false(begins());
  p.capacity = libknng::cuda::engine_of(p).candidates(p);
  assert_true(p.capacity == 0 || begins());
  return true;
}

// Of fp16 where there is a sample that tells whether they pay.
void long_lists(void**) {
  assert_true(wants_long_lists(problem_of(92'682, 92'682, 288, 32)));
  assert_true(wants_long_lists(problem_of(92'682, 92'682, 320, 10, Term::product)));
  assert_false(wants_long_lists(problem_of(92'681, 92'681, 288, 32)));
  assert_false(wants_long_lists(problem_of(92'682, 92'682, 287, 32)));
  assert_false(wants_long_lists(problem_of(92'682, 92'682, 288, 33)));
  assert_false(wants_long_lists(problem_of(92'681, 92'682, 288, 32)));
  knng_backend_problem p = problem_of(92'682, 92'682, 288, 32);
  p.blocks_held = 3;
  assert_false(wants_long_lists(p));
}

void rounded_bytes(void**) {
  constexpr std::int64_t kFewest = (std::int64_t{1} << 28) / 512;
  assert_true(begins_with_rounded_bytes(problem_of(kFewest, kFewest, 512, 10)));
  assert_false(begins_with_rounded_bytes(problem_of(kFewest - 1, kFewest - 1, 512, 10)));
  assert_true(begins_with_rounded_bytes(problem_of(8192, kFewest, 512, 32)));
  assert_false(begins_with_rounded_bytes(problem_of(8191, kFewest, 512, 32)));
  assert_false(begins_with_rounded_bytes(problem_of(kFewest, kFewest, 512, 33)));
  assert_true(begins_with_rounded_bytes(problem_of(2'000'000, 2'000'000, 288, 10)));
  assert_false(begins_with_rounded_bytes(problem_of(2'000'000, 2'000'000, 287, 10)));
  assert_true(begins_with_rounded_bytes(problem_of(100'000, 100'000, 6144, 10)));
  assert_false(begins_with_rounded_bytes(problem_of(100'000, 100'000, 6145, 10)));
  assert_false(begins_with_rounded_bytes(problem_of(kFewest, kFewest, 512, 10, Term::product)));
  knng_backend_problem p = problem_of(kFewest, kFewest, 512, 10);
  p.blocks_held = 3;
  assert_false(begins_with_rounded_bytes(p));
  p = problem_of(kFewest, kFewest, 512, 10);
  p.engine = "tiled";
  assert_false(begins_with_rounded_bytes(p));
  p = problem_of(kFewest, kFewest, 512, 10);
  p.rows.dtype = p.columns.dtype = KNNG_U8;
  assert_false(begins_with_rounded_bytes(p));
}

struct Cell {
  std::int64_t n, dim, k;
  const char* fastest;
};

void graphs(void**) {
  constexpr Cell kCells[] = {
      {2'500, 2, 10, "direct"},      {12'000, 2, 100, "tiled"},     {20'000, 2, 100, "tree"},
      {12'000, 2, 1'000, "tiled"},   {300'000, 2, 300, "tree"},     {5'000, 2, 10, "tiled"},
      {3'000, 3, 64, "tiled"},       {1'000, 128, 10, "direct"},    {20'000, 3, 100, "tiled"},
      {30'000, 3, 100, "tree"},      {10'000, 4, 10, "tiled"},      {30'000, 4, 32, "fused"},
      {40'000, 4, 32, "tree"},       {10'000, 5, 300, "tiled"},     {100'000, 5, 32, "tree"},
      {100'000, 6, 10, "fused"},     {500'000, 6, 100, "tree"},     {300'000, 7, 10, "fused"},
      {300'000, 8, 100, "fused"},    {2'000'000, 8, 10, "tree"},    {2'000'000, 9, 10, "fused"},
      {10'000, 128, 300, "tiled"},   {30'000, 128, 32, "fused"},    {20'480, 128, 40, "tiled"},
      {30'000, 128, 40, "fused"},    {30'000, 128, 300, "tiled"},   {70'000, 128, 1'000, "tiled"},
      {80'000, 128, 1'000, "fused"}, {100'000, 32, 100, "fused"},   {28'000, 32, 100, "tiled"},
      {50'000, 32, 100, "fused"},    {70'000, 512, 100, "fused"},   {2'000, 128, 100, "tiled"},
      {300'000, 512, 300, "fused"},  {300'000, 3'072, 10, "fused"}, {300'000, 4'096, 10, "fused"},
      {11'000, 128, 10, "tiled"},    {11'001, 128, 10, "fused"},    {11'001, 128, 300, "tiled"},
      {10'000, 3'000, 10, "fused"},  {9'000, 3'000, 10, "tiled"},   {300'000, 4'096, 33, "tiled"},
      {60'000, 4'096, 10, "tiled"},  {300'000, 6'145, 10, "tiled"}};
  for (const Cell& cell : kCells) {
    const char* const chosen = choice(problem_of(cell.n, cell.n, cell.dim, cell.k));
    if (std::strcmp(chosen, cell.fastest) != 0)
      print_message("%lld x %lld, k = %lld: %s, not %s\n", static_cast<long long>(cell.n),
                    static_cast<long long>(cell.dim), static_cast<long long>(cell.k), chosen, cell.fastest);
    assert_string_equal(chosen, cell.fastest);
  }
}

// Queries count by their pairs, too.
void queries(void**) {
  struct {
    std::int64_t rows, columns, dim, k;
    const char* fastest;
  } const cells[] = {{100, 1'000'000, 3, 10, "tree"},        {100, 100'000, 3, 10, "tiled"},
                     {100'000, 1'000'000, 6, 10, "tree"},    {100, 5'000, 32, 10, "direct"},
                     {100, 400'000, 512, 10, "tiled"},       {1'000, 100'000, 32, 10, "tiled"},
                     {1'000, 400'000, 32, 10, "fused"},      {50'000, 5'000, 32, 32, "tiled"},
                     {10'000, 25'000, 32, 1, "fused"},       {10'000, 5'000, 32, 300, "tiled"},
                     {50'000, 40'000, 512, 100, "tiled"},    {10'000, 65'536, 32, 100, "fused"},
                     {2'000, 65'536, 32, 100, "tiled"},      {50'000, 65'536, 32, 300, "tiled"},
                     {10'000, 100'000, 32, 300, "fused"},    {50'000, 100'000, 512, 1'000, "tiled"},
                     {50'000, 160'000, 512, 1'000, "fused"}, {10'000, 300'000, 4'096, 40, "tiled"},
                     {32, 400'000, 2'048, 10, "direct"},     {33, 400'000, 2'048, 10, "tiled"},
                     {1, 1'000'000, 3, 100, "direct"},       {33, 1'000'000, 3, 10, "tiled"}};
  for (const auto& cell : cells) {
    const char* const chosen = choice(problem_of(cell.rows, cell.columns, cell.dim, cell.k));
    if (std::strcmp(chosen, cell.fastest) != 0)
      print_message("%lld of %lld x %lld, k = %lld: %s, not %s\n", static_cast<long long>(cell.rows),
                    static_cast<long long>(cell.columns), static_cast<long long>(cell.dim),
                    static_cast<long long>(cell.k), chosen, cell.fastest);
    assert_string_equal(chosen, cell.fastest);
  }
}

// Two devices have more to begin with.
void graphs_on_two_devices(void**) {
  constexpr Cell kCells[] = {{12'000, 512, 10, "tiled"}, {40'000, 128, 10, "tiled"},  {40'000, 512, 100, "tiled"},
                             {70'000, 32, 10, "fused"},  {70'000, 512, 100, "fused"}, {100'000, 128, 100, "fused"},
                             {400'000, 512, 10, "fused"}};
  for (const Cell& cell : kCells) {
    knng_backend_problem p = problem_of(cell.n, cell.n, cell.dim, cell.k);
    p.device_count = 2;
    assert_string_equal(choice(p), cell.fastest);
  }
}

// Sums take as long for few points as boxes, and there is nothing beside canonical keys without either.
void metrics_without_products(void**) {
  for (const std::int64_t dim : {2, 8, 9, 100})
    assert_string_equal(choice(problem_of(1'000, 1'000, dim, 10, Term::absolute_difference)), "direct");
  for (const std::int64_t n : {4'000, 100'000}) {
    assert_string_equal(choice(problem_of(n, n, 8, 10, Term::absolute_difference)), "tree");
    assert_string_equal(choice(problem_of(n, n, 9, 10, Term::absolute_difference)), "tiled");
  }
}

// Rows of 8-bit integers are multiplied as such where one shift takes both sides to signed bytes and it pays.
void bytes(void**) {
  using libknng::cuda::EngineKind;
  struct {
    std::int64_t dim, k;
    Term term;
    std::int32_t of_rows, of_columns;
    EngineKind kind;
  } constexpr kCases[] = {
      {64, 10, Term::squared_difference, KNNG_U8, KNNG_U8, EngineKind::fused_products},
      {65, 10, Term::squared_difference, KNNG_U8, KNNG_U8, EngineKind::fused_bytes},
      {65, 10, Term::squared_difference, KNNG_U8, KNNG_I8, EngineKind::fused_products},
      {65, 10, Term::squared_difference, KNNG_BOOL, KNNG_BOOL, EngineKind::fused_bytes},
      {784, 10, Term::product, KNNG_U8, KNNG_U8, EngineKind::fused_products},
      {784, 10, Term::product, KNNG_I8, KNNG_I8, EngineKind::fused_bytes},
      {6'144, 10, Term::squared_difference, KNNG_I8, KNNG_I8, EngineKind::fused_bytes},
      {6'145, 10, Term::squared_difference, KNNG_I8, KNNG_I8, EngineKind::byte_products},
      {33'026, 10, Term::squared_difference, KNNG_I8, KNNG_I8, EngineKind::products},
      {784, 2'000, Term::squared_difference, KNNG_U8, KNNG_U8, EngineKind::products},
      {2'048, 2'000, Term::squared_difference, KNNG_U8, KNNG_U8, EngineKind::byte_products},
  };
  for (const auto& c : kCases) {
    knng_backend_problem p = problem_of(100'000, 100'000, c.dim, c.k, c.term);
    p.rows.dtype = c.of_rows;
    p.columns.dtype = c.of_columns;
    const libknng::cuda::GpuEngine* const engine = libknng::cuda::find_engine(p, nullptr);
    assert_non_null(engine);
    assert_int_equal(static_cast<int>(engine->kind), static_cast<int>(c.kind));
  }
}

}  // namespace

int main() {
  const CMUnitTest tests[] = {cmocka_unit_test(graphs),
                              cmocka_unit_test(graphs_on_two_devices),
                              cmocka_unit_test(rounded_bytes),
                              cmocka_unit_test(bytes),
                              cmocka_unit_test(long_lists),
                              cmocka_unit_test(queries),
                              cmocka_unit_test(metrics_without_products)};
  return cmocka_run_group_tests(tests, nullptr, nullptr);
}

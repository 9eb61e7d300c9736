// Tiles cover every pair once, the queue hands out every tile once, and plans keep to budgets and to what was asked
// for.
#include <algorithm>
#include <atomic>
#include <thread>
#include <vector>

#include "backend/cpu/direct_workspace.h"
#include "core/division.h"
#include "core/error.h"
#include "plan/plan.h"
#include "plan/tile_grid.h"
#include "values.h"

#include "harness/cmocka.h"

using namespace libknng;

namespace {

std::vector<Tile> tiles_of(const TileGrid& grid, std::int64_t band) {
  TileQueue queue(grid, band);
  std::vector<Tile> tiles;
  for (Tile t; queue.next(t);) tiles.push_back(t);
  Tile none;
  assert_false(queue.next(none));
  return tiles;
}

// Every pair above the diagonal (square) or every pair, in exactly one tile; no tile without work.
void assert_covers(const TileGrid& grid, std::int64_t band = 1) {
  std::vector<int> times(static_cast<std::size_t>(grid.rows * grid.columns));
  double pairs = 0;
  std::int64_t row_block = 0;
  const std::vector<Tile> tiles = tiles_of(grid, band);
  for (const Tile& t : tiles) {
    assert_true(t.rows >= 1 && t.rows <= grid.tile_rows && t.columns >= 1 && t.columns <= grid.tile_cols);
    assert_int_equal(t.first_row, t.row_block * grid.tile_rows);
    assert_int_equal(t.first_column, t.column_block * grid.tile_cols);
    assert_true(t.first_row + t.rows <= grid.rows && t.first_column + t.columns <= grid.columns);
    assert_true(t.row_block / band >= row_block / band);  // a thread alone goes through them one after the other
    row_block = t.row_block;
    double work = 0;
    for (std::int64_t i = t.first_row; i < t.first_row + t.rows; ++i)
      for (std::int64_t j = t.first_column; j < t.first_column + t.columns; ++j) {
        if (grid.square && j <= i) continue;
        ++times[static_cast<std::size_t>(i * grid.columns + j)];
        ++work;
      }
    assert_true(work > 0);
    assert_true(grid.pairs_of(t) == work);
    pairs += work;
  }
  for (std::int64_t i = 0; i < grid.rows; ++i)
    for (std::int64_t j = 0; j < grid.columns; ++j)
      assert_int_equal(times[static_cast<std::size_t>(i * grid.columns + j)], !grid.square || i < j);
  assert_int_equal(grid.tiles(), tiles.size());
  assert_true(grid.pairs() == pairs);
}

void triangles_are_covered_once(void**) {
  for (std::int64_t n = 1; n <= 12; ++n)
    for (std::int64_t tile_rows = 1; tile_rows <= 14; ++tile_rows)
      for (std::int64_t tile_cols = 1; tile_cols <= 14; ++tile_cols) assert_covers({n, n, tile_rows, tile_cols, true});
}

void rectangles_are_covered_once(void**) {
  for (std::int64_t n = 1; n <= 7; ++n)
    for (std::int64_t m = 1; m <= 7; ++m)
      for (std::int64_t tile_rows = 1; tile_rows <= 8; ++tile_rows)
        for (std::int64_t tile_cols = 1; tile_cols <= 8; ++tile_cols)
          assert_covers({n, m, tile_rows, tile_cols, false});
}

void larger_shapes_are_covered_once(void**) {
  values::Random random(6);
  for (int i = 0; i < 300; ++i) {
    const std::int64_t n = 1 + random.below(150), m = 1 + random.below(150);
    const bool square = i % 2 == 0;
    assert_covers({n, square ? n : m, 1 + random.below(40), 1 + random.below(40), square}, 1 + random.below(6));
  }
}

// The tiles on the diagonal, then the others: together all.
void diagonals_come_apart_from_the_rest(void**) {
  for (std::int64_t n = 1; n <= 40; ++n)
    for (std::int64_t side = 1; side <= 12; ++side) {
      const TileGrid grid = {n, n, side, side, true};
      std::vector<int> times(static_cast<std::size_t>(grid.row_blocks() * grid.row_blocks()));
      std::int64_t tiles = 0;
      for (const auto part : {TileQueue::Part::diagonal, TileQueue::Part::beside_diagonal}) {
        TileQueue queue(grid, 1, part);
        for (Tile t; queue.next(t); ++tiles) {
          assert_true((t.row_block == t.column_block) == (part == TileQueue::Part::diagonal));
          assert_int_equal(++times[static_cast<std::size_t>(t.row_block * grid.row_blocks() + t.column_block)], 1);
        }
      }
      assert_int_equal(tiles, grid.tiles());
    }
}

void threads_get_every_tile_once(void**) {
  for (const bool square : {true, false}) {
    // Many, so that threads without a lock would meet.
    const TileGrid grid = {2000, 2000, 1, square ? 1 : 2, square};
    std::vector<std::atomic<int>> times(static_cast<std::size_t>(grid.row_blocks() * grid.column_blocks()));
    TileQueue queue(grid);
    std::atomic<bool> go{false};
    std::vector<std::thread> threads;
    for (int i = 0; i < 4; ++i)
      threads.emplace_back([&] {
        while (!go) std::this_thread::yield();
        for (Tile t; queue.next(t);)
          ++times[static_cast<std::size_t>(t.row_block * grid.column_blocks() + t.column_block)];
      });
    go = true;
    for (std::thread& t : threads) t.join();
    std::int64_t tiles = 0;
    for (const std::atomic<int>& count : times) {
      assert_in_range(count.load(), 0, 1);
      tiles += count;
    }
    assert_int_equal(tiles, grid.tiles());
  }
}

// ---- plans

// What engines of different needs hold.
struct Engine {
  std::int64_t panel;
  std::int64_t (*operand_bytes)(std::int64_t points, std::int64_t dim);
  std::int64_t (*workspace_bytes)(std::int64_t tile_rows, std::int64_t tile_cols, std::int64_t dim);
};
constexpr Engine kEngines[] = {
    {4, [](std::int64_t, std::int64_t) { return std::int64_t{0}; }, DirectWorkspace::bytes},
    {16, [](std::int64_t points, std::int64_t dim) { return points * (4 * dim + 12); },
     [](std::int64_t tile_rows, std::int64_t tile_cols, std::int64_t dim) {
       return DirectWorkspace::bytes(tile_rows, tile_cols, dim) + 16 * dim + 300 * tile_rows + 8 * tile_cols;
     }},
    {1, [](std::int64_t points, std::int64_t) { return points; },
     [](std::int64_t tile_rows, std::int64_t tile_cols, std::int64_t) { return 8 * tile_rows * tile_cols; }},
};

Problem random_problem(values::Random& random, const Engine& engine) {
  Problem p;
  p.columns = 2 + random.below(random.below(2) == 0 ? 60 : 200'000);
  p.square = random.below(3) != 0;
  p.rows = p.square ? p.columns : 1 + random.below(5000);
  p.dim = 1 + random.below(random.below(3) == 0 ? 30'000 : 300);
  p.k = 1 + random.below(std::min<std::int64_t>(p.columns - 1, 200));
  p.self_first = p.square && random.below(2) == 0;
  p.value_bytes = random.below(2) == 0 ? 4 : 8;
  p.held_bytes = random.below(2) * random.below(1'000'000);
  p.prepared_bytes = random.below(2) * 32;
  p.order_bytes = random.below(2) * 8 * p.columns;
  const std::int64_t operands =
      engine.operand_bytes(p.columns, p.dim) + (p.square ? 0 : engine.operand_bytes(p.rows, p.dim));
  p.operand_bytes = [operands](std::int64_t, std::int64_t) { return operands; };
  p.panel = engine.panel;
  p.workspace_bytes = [&engine, dim = p.dim](std::int64_t tile_rows, std::int64_t tile_cols) {
    return engine.workspace_bytes(tile_rows, tile_cols, dim);
  };
  p.threads = 1 + static_cast<int>(random.below(20));
  p.threads_fixed = random.below(2) == 0;
  if (random.below(3) == 0) p.tile_rows = 1 + random.below(3000);
  if (random.below(3) == 0) p.tile_cols = 1 + random.below(3000);
  return p;
}

// What a plan with exactly these choices holds.
std::int64_t bytes_of(Problem p, std::int64_t tile_rows, std::int64_t tile_cols, int threads) {
  p.tile_rows = tile_rows;
  p.tile_cols = tile_cols;
  p.threads = threads;
  p.threads_fixed = true;
  const Plan plan = make_plan(p);
  assert_int_equal(plan.grid.tile_rows, std::min(tile_rows, round_up(p.rows, p.panel)));
  assert_int_equal(plan.grid.tile_cols, std::min(tile_cols, round_up(p.columns, p.panel)));
  assert_int_equal(plan.threads, threads);
  assert_int_equal(plan.smallest_host, plan.host_bytes);  // nothing was free
  return plan.host_bytes;
}

void assert_keeps_what_was_asked(const Problem& p, const Plan& plan) {
  assert_int_equal(plan.grid.rows, p.rows);
  assert_int_equal(plan.grid.columns, p.columns);
  assert_int_equal(plan.grid.square, p.square);
  // But no tile is larger than the matrix, in whole panels.
  if (p.tile_rows) assert_int_equal(plan.grid.tile_rows, std::min(p.tile_rows, round_up(p.rows, p.panel)));
  if (p.tile_cols) assert_int_equal(plan.grid.tile_cols, std::min(p.tile_cols, round_up(p.columns, p.panel)));
  if (!p.tile_rows) assert_int_equal(plan.grid.tile_rows % p.panel, 0);
  if (!p.tile_cols) assert_int_equal(plan.grid.tile_cols % p.panel, 0);
  assert_true(plan.grid.tile_rows > 0 && plan.grid.tile_cols > 0);
  assert_in_range(plan.threads, p.threads_fixed ? p.threads : 1, p.threads);
  assert_int_equal(plan.host_bytes, bytes_of(p, plan.grid.tile_rows, plan.grid.tile_cols, plan.threads));
}

template <class F>
void for_problems(int count, F&& f) {
  values::Random random(8);
  for (int i = 0; i < count; ++i)
    for (const Engine& engine : kEngines) f(random, random_problem(random, engine));
}

void plans_keep_what_was_asked_for(void**) {
  for_problems(500, [](values::Random&, const Problem& p) {
    const Plan plan = make_plan(p);
    assert_keeps_what_was_asked(p, plan);
    assert_int_equal(plan.threads, p.threads);  // without a budget nothing is given up
    assert_true(plan.smallest_host <= plan.host_bytes);
    assert_true(plan.host_bytes >= p.held_bytes);
  });
}

void plans_fit_every_budget_that_can_be_met(void**) {
  for_problems(300, [](values::Random& random, Problem p) {
    const Plan free = make_plan(p);
    const std::int64_t smallest = free.smallest_host;
    std::vector<std::int64_t> budgets = {free.host_bytes, free.host_bytes - 1, smallest + 1, smallest, smallest - 1, 1};
    for (int i = 0; i < 10; ++i) budgets.push_back(smallest + random.below(free.host_bytes - smallest + 1));
    std::sort(budgets.rbegin(), budgets.rend());
    std::int64_t before = INT64_MAX;
    for (const std::int64_t budget : budgets) {
      p.max_host_bytes = budget;
      const Plan plan = make_plan(p);
      assert_keeps_what_was_asked(p, plan);
      assert_int_equal(plan.smallest_host, smallest);  // whatever the budget is
      if (budget >= smallest)
        assert_true(plan.host_bytes <= budget);
      else
        assert_int_equal(plan.host_bytes, smallest);
      assert_true(plan.host_bytes <= before);  // a smaller budget never takes more
      before = plan.host_bytes;
    }
  });
}

void smallest_host_is_the_least_of_all_choices(void**) {
  for_problems(100, [](values::Random& random, const Problem& p) {
    const std::int64_t smallest = make_plan(p).smallest_host;
    for (int i = 0; i < 20; ++i) {
      const std::int64_t tile_rows = p.tile_rows ? p.tile_rows : p.panel * (1 + random.below(i < 10 ? 5 : 200));
      const std::int64_t tile_cols = p.tile_cols ? p.tile_cols : p.panel * (1 + random.below(i % 2 == 0 ? 5 : 200));
      const int threads = p.threads_fixed ? p.threads : 1 + static_cast<int>(random.below(p.threads));
      assert_true(bytes_of(p, tile_rows, tile_cols, threads) >= smallest);
    }
    const std::int64_t least = bytes_of(p, p.tile_rows ? p.tile_rows : p.panel, p.tile_cols ? p.tile_cols : p.panel,
                                        p.threads_fixed ? p.threads : 1);
    assert_int_equal(least, smallest);
  });
}

// Threads are for work that is worth them, and of the few of a small machine more work.
void threads_are_for_work(void**) {
  static int asked = 0;
  const auto one = []() noexcept { return ++asked, 1; };
  const auto two = []() noexcept { return ++asked, 2; };
  const auto sixteen = []() noexcept { return ++asked, 16; };
  Problem p;
  p.dim = 32;
  p.k = 10;
  p.rows = p.columns = 50;
  assert_int_equal(threads_worth(p, sixteen), 1);
  assert_int_equal(asked, 0);  // it need not be known
  int before_two = 1, before_many = 1;
  for (std::int64_t rows = 100; rows <= 102400; rows *= 2) {
    p.rows = p.columns = rows;
    const int of_two = threads_worth(p, two), of_many = threads_worth(p, sixteen);
    assert_int_equal(threads_worth(p, one), 1);
    assert_in_range(of_two, before_two, 2);
    assert_in_range(of_many, std::max(of_two, before_many), 16);
    before_two = of_two;
    before_many = of_many;
  }
  assert_int_equal(before_two, 2);
  assert_int_equal(before_many, 16);
  p.rows = p.columns = 300;  // some tenths of a millisecond
  assert_int_equal(threads_worth(p, two), 1);
  assert_true(threads_worth(p, sixteen) > 1);
}

// What all threads together end within a millisecond or so, but not what some of them would take long for.
void brief_work_is_brief(void**) {
  Problem p;
  p.dim = 32;
  p.k = 10;
  p.workspace_bytes = [](std::int64_t, std::int64_t) { return std::int64_t{1}; };
  const auto is_brief = [&p](std::int64_t rows, int threads) {
    p.rows = p.columns = rows;
    p.threads = threads;
    return make_plan(p).brief;
  };
  assert_true(is_brief(200, 1));
  assert_false(is_brief(1000, 1));
  assert_true(is_brief(1000, 8));
  assert_true(is_brief(2000, 16));
  assert_false(is_brief(20000, 16));
  assert_false(is_brief(20000, 4096));
}

// Where tiles have the peak, every thread brings its own working memory.
void every_thread_has_its_working_memory(void**) {
  for (const Engine& engine : kEngines) {
    Problem p;
    p.square = false;
    p.rows = 100;
    p.columns = 200;
    p.dim = 50;
    p.k = 1;
    p.workspace_bytes = [&engine](std::int64_t tile_rows, std::int64_t tile_cols) {
      return engine.workspace_bytes(tile_rows, tile_cols, 50);
    };
    const std::int64_t one = bytes_of(p, 64, 32, 1);
    for (int threads = 2; threads < 9; ++threads)
      assert_int_equal(bytes_of(p, 64, 32, threads), one + (threads - 1) * engine.workspace_bytes(64, 32, 50));
    p.operand_bytes = [](std::int64_t, std::int64_t) { return std::int64_t{12'345}; };
    assert_int_equal(bytes_of(p, 64, 32, 1), one + 12'345);
  }
}

// The order of the columns is there from the tiles to the result, whichever of them has the peak.
void an_order_is_held_to_the_end(void**) {
  for (const std::int64_t workspace : {0, 1'000'000}) {
    Problem p;
    p.square = false;
    p.rows = 100;
    p.columns = 200;
    p.dim = 50;
    p.k = 1;
    p.workspace_bytes = [workspace](std::int64_t, std::int64_t) { return workspace; };
    const std::int64_t bytes = bytes_of(p, 64, 32, 1);
    p.order_bytes = 1600;
    assert_int_equal(bytes_of(p, 64, 32, 1), bytes + 1600);
  }
}

void more_of_anything_takes_no_less(void**) {
  for_problems(200, [](values::Random&, const Problem& p) {
    const std::int64_t bytes = bytes_of(p, 64, 64, p.threads);
    const auto with = [&](auto change) {
      Problem more = p;
      change(more);
      return bytes_of(more, 64, 64, more.threads);
    };
    assert_true(with([](Problem& m) { m.held_bytes += 1000; }) == bytes + 1000);
    assert_true(with([](Problem& m) { ++m.k; }) >= bytes);
    assert_true(with([](Problem& m) { ++m.columns, m.rows += m.square; }) >= bytes);
    assert_true(with([](Problem& m) { ++m.threads; }) >= bytes);
    assert_true(with([](Problem& m) { m.value_bytes *= 2; }) >= bytes);
    assert_true(with([](Problem& m) { m.prepared_bytes += 8; }) >= bytes);
    assert_true(with([](Problem& m) { m.order_bytes += 64; }) >= bytes);
    // Hashing the rows, or making the result, may need more than the tiles.
    const std::int64_t operands = with([&p](Problem& m) {
      m.operand_bytes = [&p](std::int64_t rows, std::int64_t columns) { return p.operand_bytes(rows, columns) + 64; };
    });
    assert_true(operands >= bytes && operands <= bytes + 64);
  });
}

void sizes_beyond_64_bits_are_refused(void**) {
  Problem p;
  p.rows = p.columns = std::int64_t{1} << 40;
  p.k = std::int64_t{1} << 30;
  p.dim = 3;
  p.workspace_bytes = [](std::int64_t, std::int64_t) { return std::int64_t{0}; };
  knng_status code = KNNG_OK;
  try {
    make_plan(p);
  } catch (const Error& e) {
    code = e.code();
  }
  assert_int_equal(code, KNNG_ERR_RANGE);
}

}  // namespace

int main() {
  const CMUnitTest tests[] = {
      cmocka_unit_test(triangles_are_covered_once),
      cmocka_unit_test(rectangles_are_covered_once),
      cmocka_unit_test(larger_shapes_are_covered_once),
      cmocka_unit_test(diagonals_come_apart_from_the_rest),
      cmocka_unit_test(threads_get_every_tile_once),
      cmocka_unit_test(plans_keep_what_was_asked_for),
      cmocka_unit_test(plans_fit_every_budget_that_can_be_met),
      cmocka_unit_test(smallest_host_is_the_least_of_all_choices),
      cmocka_unit_test(threads_are_for_work),
      cmocka_unit_test(brief_work_is_brief),
      cmocka_unit_test(every_thread_has_its_working_memory),
      cmocka_unit_test(an_order_is_held_to_the_end),
      cmocka_unit_test(more_of_anything_takes_no_less),
      cmocka_unit_test(sizes_beyond_64_bits_are_refused),
  };
  return cmocka_run_group_tests(tests, nullptr, nullptr);
}

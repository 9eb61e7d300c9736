// Plans for devices: tiles cover every pair once, those of a square matrix lie on its diagonal or do not touch it,
// budgets are kept, several devices get enough tiles, and sizes that cannot be counted are refused. And which library
// of devices is taken.
#include <algorithm>
#include <functional>
#include <string>
#include <vector>

#include "backend/registry.h"
#include "core/checked.h"
#include "core/division.h"
#include "core/error.h"
#include "plan/device_plan.h"
#include "plan/integer_products.h"
#include "values.h"

#include "harness/cmocka.h"

using namespace libknng;

namespace {

// A problem, and what sessions of it hold.
struct Problem : DeviceProblem {
  std::function<std::int64_t(std::int64_t rows, std::int64_t tile_rows, std::int64_t tile_cols, std::int64_t capacity,
                             std::int64_t blocks_held)>
      session_bytes;
};

DevicePlan make_device_plan(const Problem& p) {
  struct Memory final : SessionMemory {
    explicit Memory(const Problem& problem) : p(problem) {}
    std::int64_t bytes(const SessionShape& s) const override {
      return p.session_bytes(s.rows, s.tile_rows, s.tile_cols, s.capacity, s.blocks_held);
    }
    const Problem& p;
  };
  return libknng::make_device_plan(p, Memory(p));
}

// Points, lists and a tile, as a device might hold them.
Problem problem_of(std::int64_t rows, std::int64_t columns, std::int64_t k, int devices) {
  Problem p;
  p.rows = rows;
  p.columns = columns;
  p.k = k;
  p.square = rows == columns;
  p.devices = devices;
  p.fewest_held = 3;
  p.session_bytes = [columns, whole = p.square ? rows : 0](std::int64_t listed, std::int64_t tile_rows,
                                                           std::int64_t tile_cols, std::int64_t capacity,
                                                           std::int64_t blocks_held) {
    const std::int64_t resident = blocks_held == 0 ? columns : checked_mul(blocks_held, tile_cols, "rows");
    const std::int64_t points = checked_mul(checked_add(listed == whole ? 0 : listed, resident, "rows"), 512, "rows");
    const std::int64_t lists = checked_mul(checked_mul(listed, capacity, "k"), 8, "k");
    const std::int64_t tile = checked_mul(checked_mul(tile_rows, tile_cols, "tile_rows"), 4, "tile_rows");
    return checked_add(checked_add(points, lists, "k"), tile, "tile_rows");
  };
  return p;
}

Problem random_problem(values::Random& random, std::int64_t most) {
  const std::int64_t rows = 2 + random.below(most), columns = random.below(2) == 0 ? rows : 2 + random.below(most);
  Problem p = problem_of(rows, columns, 1 + random.below(columns - 1), 1 + static_cast<int>(random.below(8)));
  if (random.below(3) == 0) p.tile_rows = 1 + random.below(most);
  if (random.below(3) == 0) p.tile_cols = 1 + random.below(most);
  if (p.square) p.tile_rows = p.tile_cols = std::max(p.tile_rows, p.tile_cols);
  if (random.below(2) == 0) p.pairs_at_a_time = std::int64_t{1} << random.below(40);
  if (random.below(3) == 0) p.candidates = 1 + random.below(4 * columns);
  return p;
}

std::vector<Tile> tiles_of(const TileGrid& grid) {
  TileQueue queue(grid);
  std::vector<Tile> tiles;
  for (Tile t; queue.next(t);) tiles.push_back(t);
  return tiles;
}

// A tile on the diagonal has its pairs in both halves, as the seam wants it; another has one half's only.
void every_pair_is_in_one_tile(void**) {
  values::Random random(401);
  for (int i = 0; i < 300; ++i) {
    const Problem p = random_problem(random, 400);
    const TileGrid grid = make_device_plan(p).grid;
    std::vector<int> times(static_cast<std::size_t>(p.rows * p.columns));
    for (const Tile& t : tiles_of(grid)) {
      assert_true(t.rows <= grid.tile_rows && t.columns <= grid.tile_cols);
      const bool diagonal = t.first_row == t.first_column;
      if (p.square && diagonal) assert_int_equal(t.rows, t.columns);
      if (p.square && !diagonal) assert_true(t.first_row + t.rows <= t.first_column);
      for (std::int64_t row = t.first_row; row < t.first_row + t.rows; ++row)
        for (std::int64_t column = t.first_column; column < t.first_column + t.columns; ++column) {
          ++times[static_cast<std::size_t>(row * p.columns + column)];
          if (p.square && !diagonal) ++times[static_cast<std::size_t>(column * p.columns + row)];
        }
    }
    for (std::int64_t row = 0; row < p.rows; ++row)
      for (std::int64_t column = 0; column < p.columns; ++column) {
        // A row alone in the last block has no pair with itself to be evaluated.
        const int found = times[static_cast<std::size_t>(row * p.columns + column)];
        if (p.square && row == column)
          assert_in_range(found, 0, 1);
        else
          assert_int_equal(found, 1);
      }
  }
}

void what_was_asked_for_is_kept(void**) {
  values::Random random(402);
  for (int i = 0; i < 1000; ++i) {
    const Problem p = random_problem(random, 100'000);
    const DevicePlan plan = make_device_plan(p);
    assert_int_equal(plan.grid.rows, p.rows);
    assert_int_equal(plan.grid.columns, p.columns);
    assert_int_equal(plan.grid.square, p.square);
    if (p.tile_rows) assert_int_equal(plan.grid.tile_rows, std::min(p.tile_rows, p.rows));
    if (p.tile_cols) assert_int_equal(plan.grid.tile_cols, std::min(p.tile_cols, p.columns));
    if (p.square) assert_int_equal(plan.grid.tile_rows, plan.grid.tile_cols);
    assert_true(plan.grid.tile_rows >= 1 && plan.grid.tile_cols >= 1);
    assert_true(plan.grid.tile_rows <= p.rows && plan.grid.tile_cols <= p.columns);
    // More than k, so that what was left out differs from the last that belongs; or everything.
    assert_true(plan.capacity > p.k || plan.capacity == p.columns);
    assert_true(plan.capacity <= p.columns);
    assert_int_equal(
        plan.bytes, p.session_bytes(p.rows, plan.grid.tile_rows, plan.grid.tile_cols, plan.capacity, plan.blocks_held));
    assert_true(plan.blocks_held == 0 && plan.slice == 0);  // without a limit
  }
}

void every_budget_that_can_be_met_is_met(void**) {
  values::Random random(403);
  for (int i = 0; i < 500; ++i) {
    Problem p = random_problem(random, 50'000);
    const DevicePlan free = make_device_plan(p);
    assert_true(free.smallest <= free.bytes);
    std::vector<std::int64_t> budgets = {free.bytes, free.bytes - 1, free.smallest + 1, free.smallest, 1};
    for (int j = 0; j < 10; ++j) budgets.push_back(free.smallest + random.below(free.bytes - free.smallest + 1));
    std::sort(budgets.rbegin(), budgets.rend());
    std::int64_t before = INT64_MAX;
    for (const std::int64_t budget : budgets) {
      p.max_bytes = budget;
      const DevicePlan plan = make_device_plan(p);
      assert_int_equal(plan.smallest, free.smallest);  // whatever the budget is
      assert_true(plan.capacity == free.capacity || plan.capacity < p.candidates);
      if (budget >= free.smallest)
        assert_true(plan.bytes <= budget);
      else
        assert_int_equal(plan.bytes, free.smallest);
      if (plan.slice > 0) continue;       // as many rows as there is room for
      assert_true(plan.bytes <= before);  // a smaller budget never takes more
      before = plan.bytes;
    }
  }
}

// Where they and all points fit beside tiles of about the same size; else lists are short before tiles are small,
// points come in blocks, or lists in slices.
void lists_are_long_where_memory_is(void**) {
  Problem p = problem_of(400'000, 400'000, 10, 1);
  const DevicePlan few = make_device_plan(p);
  p.candidates = 96;
  const DevicePlan most = make_device_plan(p);
  assert_int_equal(few.capacity, 32);
  assert_int_equal(most.capacity, 96);
  assert_int_equal(most.grid.tile_rows, few.grid.tile_rows);
  assert_int_equal(most.smallest, few.smallest);
  const auto capacity_in = [&](std::int64_t bytes) {
    p.max_bytes = bytes;
    const DevicePlan plan = make_device_plan(p);
    assert_true(plan.bytes <= bytes);
    return plan.capacity;
  };
  assert_int_equal(capacity_in(most.bytes), 96);
  const std::int64_t lists = p.rows * (96 - 32) * 8;
  assert_true(most.bytes - few.bytes == lists);
  for (int eighth = 0; eighth < 8; ++eighth) {
    p.max_bytes = few.bytes + lists * eighth / 8;
    const DevicePlan plan = make_device_plan(p);
    assert_true(plan.bytes <= p.max_bytes);
    assert_true(2 * plan.grid.tile_rows >= few.grid.tile_rows);
    assert_true(plan.capacity == 96 || plan.grid.tile_rows == few.grid.tile_rows);
  }
  assert_int_equal(capacity_in(few.bytes - few.grid.tile_rows * few.grid.tile_cols * 4), 32);
  assert_int_equal(capacity_in(few.smallest), 32);
}

// 400,000 x 2,048 in fp32 with lists of ten: 3.3 GB of rows, 1.6 GB of operands.
void points_that_do_not_fit_come_in_blocks(void**) {
  Problem p = problem_of(400'000, 400'000, 10, 1);
  constexpr std::int64_t row = 2'048 * 4, operand = 2'048 * 2;
  p.session_bytes = [](std::int64_t listed, std::int64_t rows, std::int64_t columns, std::int64_t capacity,
                       std::int64_t held) {
    const std::int64_t points = held == 0 ? 400'000 * (row + operand) : held * columns * operand + columns * row;
    const std::int64_t queries = listed < 400'000 ? listed * (row + operand) : 0;
    return points + queries + listed * capacity * 8 + 4 * rows * columns + (std::int64_t{64} << 20);
  };
  assert_int_equal(make_device_plan(p).blocks_held, 0);
  p.max_bytes = std::int64_t{1} << 30;
  const DevicePlan plan = make_device_plan(p);
  assert_true(plan.bytes <= p.max_bytes);
  assert_true(plan.blocks_held >= 10 && plan.grid.tile_rows >= 4096 && plan.grid.tile_rows == plan.grid.tile_cols);
  // What could be held is held.
  assert_true(p.session_bytes(p.rows, plan.grid.tile_rows, plan.grid.tile_cols, plan.capacity, plan.blocks_held + 1) >
              p.max_bytes);
  // Down to three small blocks, beside the lists of as few rows, and no further.
  p.max_bytes = p.session_bytes(p.rows, 128, 128, plan.capacity, 3);
  const DevicePlan few = make_device_plan(p);
  assert_true(few.bytes == p.max_bytes && few.blocks_held == 3 && few.grid.tile_rows == 128 && few.slice == 0);
  p.max_bytes = plan.smallest;
  const DevicePlan least = make_device_plan(p);
  assert_true(least.bytes == plan.smallest && least.blocks_held == 3 && least.grid.tile_rows == 128);
  assert_true(least.slice == 128 && least.grid.rows == p.rows && !least.grid.square);
  p.max_bytes = plan.smallest - 1;
  assert_true(make_device_plan(p).bytes > p.max_bytes);
  // Queries stay; each block of points is used once for all of them.
  p.square = false;
  p.rows = 10'000;
  p.max_bytes = std::int64_t{1} << 30;
  const DevicePlan query = make_device_plan(p);
  assert_true(query.bytes <= p.max_bytes && query.blocks_held == 3);
}

// Lists of few rows at a time where those of all do not fit: all points stay beside them if they can, slices are alike,
// and tiles are no smaller than pays.
void lists_that_do_not_fit_come_in_slices(void**) {
  Problem p = problem_of(4'000'000, 4'000'000, 1'000, 2);  // 36 GB of lists, 2 GB of points
  p.max_bytes = std::int64_t{16} << 30;
  const DevicePlan plan = make_device_plan(p);
  assert_true(plan.bytes <= p.max_bytes && plan.blocks_held == 0 && !plan.grid.square);
  assert_true(plan.slice > 1'000'000 && plan.slice % 128 == 0);
  assert_true(plan.grid.rows == p.rows && plan.grid.columns == p.columns && plan.grid.tile_cols >= 2048);
  const std::int64_t slices = ceil_div(p.rows, plan.slice);
  assert_true(slices * plan.slice - p.rows < slices * 128);
  // Points in blocks beside them, once not even few rows can have all points there.
  p.max_bytes = std::int64_t{1} << 30;
  const DevicePlan blocks = make_device_plan(p);
  assert_true(blocks.bytes <= p.max_bytes && blocks.blocks_held == 3 && blocks.slice > 8192);
  assert_true(blocks.grid.tile_cols >= 2048 && !plan.undersized && !blocks.undersized);
  p.max_bytes = make_device_plan(p).smallest;
  assert_true(make_device_plan(p).undersized);
  // Lists of all rows as long as they fit, however small the tiles.
  p.max_bytes = p.session_bytes(p.rows, 128, 128, plan.capacity, 3);
  assert_int_equal(make_device_plan(p).slice, 0);
  --p.max_bytes;
  assert_true(make_device_plan(p).slice > 0);
  // Queries too.
  p = problem_of(4'000'000, 1'000'000, 1'000, 1);
  p.max_bytes = std::int64_t{16} << 30;
  assert_true(make_device_plan(p).slice > 1'000'000);
}

// A band's tiles come column by column: between two uses of a block of its rows lie no more than the band's, and two.
void bands_keep_few_blocks_in_use(void**) {
  for (const bool square : {true, false})
    for (const std::int64_t band : {1, 3, 4, 100}) {
      const TileGrid grid = {70, square ? 70 : 55, 5, 5, square};
      TileQueue queue(grid, band);
      std::vector<std::int64_t> recent;  // the last used first
      std::int64_t loads = 0, count = 0;
      const auto use = [&](std::int64_t block) {
        const auto at = std::find(recent.begin(), recent.end(), block);
        if (at == recent.end()) {
          ++loads;
          if (static_cast<std::int64_t>(recent.size()) == band + 2) recent.pop_back();
        } else {
          recent.erase(at);
        }
        recent.insert(recent.begin(), block);
      };
      for (Tile t; queue.next(t); ++count) {
        if (square) use(t.row_block);
        use(t.column_block);
      }
      assert_int_equal(count, grid.tiles());
      // Every band sees the columns from its own on (square), or all.
      std::int64_t most = 0;
      for (std::int64_t b = 0; b < grid.row_blocks(); b += band) most += grid.column_blocks() - (square ? b : 0);
      assert_true(loads <= most);
    }
}

// Devices take tiles from a queue: with several for each, the last to end does not keep the others waiting.
void several_devices_get_enough_tiles(void**) {
  for (const std::int64_t n : {20'000, 100'000, 1'000'000, 5'000'000})
    for (int devices = 1; devices <= 8; ++devices) {
      const TileGrid square = make_device_plan(problem_of(n, n, 10, devices)).grid;
      if (n >= 100'000) assert_true(square.tiles() >= 8 * devices);
      for (const std::int64_t queries : {1, 100, 5'000, 1'000'001}) {
        const TileGrid grid = make_device_plan(problem_of(queries, n, 10, devices)).grid;
        if (devices > 1) assert_true(grid.tiles() >= std::min<std::int64_t>(8 * devices, n / 1024));
        assert_true(grid.tile_rows * grid.tile_cols <= std::int64_t{1} << 29);  // 2 GiB of fp32
      }
    }
  // One device is not bothered with many tiles of few queries.
  assert_int_equal(make_device_plan(problem_of(100, 200'000, 10, 1)).grid.tiles(), 1);
}

knng_status status_of(const Problem& p) {
  try {
    make_device_plan(p);
    return KNNG_OK;
  } catch (const Error& e) {
    return e.code();
  }
}

// Tiles on which a device would be for too long become smaller ones; points that come in blocks come in smaller blocks.
void tiles_end_soon(void**) {
  constexpr std::int64_t smallest = 128;
  values::Random random(407);
  for (int i = 0; i < 500; ++i) {
    Problem p = random_problem(random, 20'000);
    p.pairs_at_a_time = INT64_MAX;
    const std::int64_t pairs = std::int64_t{1} << random.below(40);
    const TileGrid free = make_device_plan(p).grid, soon = in_tiles_of(free, pairs);
    assert_true(soon.rows == free.rows && soon.columns == free.columns && soon.square == free.square);
    assert_true(soon.tile_rows <= free.tile_rows && soon.tile_cols <= free.tile_cols);
    assert_true(!soon.square || soon.tile_rows == soon.tile_cols);
    // Those of a graph that are cut are about alike, down to the last.
    if (soon.square && soon.tile_rows < free.tile_rows) {
      const std::int64_t share = ceil_div(soon.rows, ceil_div(soon.rows, soon.tile_rows));
      assert_true(soon.tile_rows < share + (share >= 8192 ? 1024 : smallest));
    }
    assert_true(soon.tile_rows * soon.tile_cols <= pairs || (soon.tile_rows <= smallest && soon.tile_cols <= smallest));
    // Bands of many rows are not cut for few columns, nor for want of time where fewer columns do.
    if (!soon.square && soon.tile_rows < free.tile_rows)
      assert_true(soon.tile_rows >= 8192 || soon.tile_cols <= smallest);
    if (free.rows * free.columns < 1'000'000) {
      double covered = 0;
      for (const Tile& t : tiles_of(soon)) covered += soon.pairs_of(t);
      assert_true(covered == soon.pairs());
    }

    p.pairs_at_a_time = pairs;
    p.max_bytes = make_device_plan(p).smallest + 4'000'000;
    const DevicePlan blocks = make_device_plan(p);
    const TileGrid& grid = blocks.grid;
    assert_true(blocks.bytes >= blocks.smallest);
    if (blocks.blocks_held > 0)
      assert_true(grid.tile_rows * grid.tile_cols <= pairs ||
                  (grid.tile_rows <= smallest && grid.tile_cols <= smallest));
    // Points stay where they fit beside tiles as they are evaluated, though what was asked for would not.
    p.max_bytes = p.session_bytes(p.rows, soon.tile_rows, soon.tile_cols, blocks.capacity, 0);
    const DevicePlan resident = make_device_plan(p);
    assert_true(resident.blocks_held == 0 && resident.slice == 0 && resident.bytes <= p.max_bytes);
  }
}

// Where rows are answered a "tile" is whole rows, and there is no list.
void rows_that_are_answered(void**) {
  values::Random random(406);
  for (int i = 0; i < 500; ++i) {
    Problem p = random_problem(random, 50'000);
    p.tile_cols = 0;
    p.rows_at_a_time = 1 + random.below(10'000);
    p.session_bytes = [&](std::int64_t listed, std::int64_t rows, std::int64_t columns, std::int64_t capacity,
                          std::int64_t blocks_held) {
      assert_int_equal(listed, p.rows);
      assert_int_equal(blocks_held, 0);
      assert_int_equal(columns, p.columns);
      assert_int_equal(capacity, 0);
      return 100'000 + 24 * rows;
    };
    const DevicePlan free = make_device_plan(p);
    assert_true(!free.grid.square && free.grid.tile_cols == p.columns && free.grid.rows == p.rows);
    assert_true(free.grid.tile_rows >= 1 && free.grid.tile_rows <= p.rows);
    if (p.tile_rows)
      assert_int_equal(free.grid.tile_rows, std::min(p.tile_rows, p.rows));
    else
      assert_true(free.grid.tile_rows <= p.rows_at_a_time);
    assert_int_equal(free.grid.tiles(), (p.rows + free.grid.tile_rows - 1) / free.grid.tile_rows);
    std::int64_t row = 0;
    for (const Tile& t : tiles_of(free.grid)) {
      assert_true(t.first_row == row && t.first_column == 0 && t.columns == p.columns);
      row += t.rows;
    }
    assert_int_equal(row, p.rows);
    for (const std::int64_t budget : {free.bytes, free.bytes - 1, free.smallest, free.smallest - 1}) {
      p.max_bytes = budget;
      const DevicePlan plan = make_device_plan(p);
      assert_int_equal(plan.smallest, free.smallest);
      assert_true(plan.bytes <= std::max(budget, free.smallest));
    }
  }
}

void sizes_beyond_64_bits_are_refused(void**) {
  // A thousand million rows are counted; with lists of as many they are not.
  Problem p = problem_of(1'000'000'000, 1'000'000'000, 10, 4);
  p.max_bytes = std::int64_t{80} << 30;
  const DevicePlan plan = make_device_plan(p);
  assert_true(plan.bytes <= p.max_bytes && plan.slice > 10'000'000 && plan.blocks_held == 3);
  assert_true(plan.grid.pairs() > 4.9e17 && plan.grid.tiles() > 0);
  assert_int_equal(status_of(p), KNNG_OK);
  p = problem_of(4'000'000'000, 4'000'000'000, 3'999'999'999, 4);
  assert_int_equal(status_of(p), KNNG_ERR_RANGE);
  p = problem_of(std::int64_t{1} << 60, std::int64_t{1} << 60, 10, 4);
  assert_int_equal(status_of(p), KNNG_ERR_RANGE);
  p = problem_of(10, INT64_MAX / 600, INT64_MAX - 1, 4);
  assert_int_equal(status_of(p), KNNG_ERR_RANGE);
}

// Bytes can be multiplied as such where one shift takes both sides to signed ones and keys fit 32 bits.
void bytes_are_multiplied_where_keys_fit(void**) {
  constexpr std::int64_t dims = 2048, to = kIntegerProductsTo;
  static_assert(to * 255 * 255 <= INT32_MAX && (to + 1) * 255 * 255 > INT32_MAX);
  const auto has = [](const char* metric, std::int32_t dtype, std::int32_t other, std::int64_t dim) {
    return has_integer_products(find_metric(metric, 2), dtype, other, dim);
  };
  for (const char* metric : {"sqeuclidean", "euclidean"})
    for (const std::int32_t dtype : {KNNG_U8, KNNG_I8}) {
      for (const std::int64_t dim : {std::int64_t{1}, dims, to}) assert_true(has(metric, dtype, dtype, dim));
      assert_false(has(metric, dtype, dtype, to + 1));
      assert_false(has(metric, dtype, dtype == KNNG_U8 ? KNNG_I8 : KNNG_U8, dims));
      assert_false(has(metric, dtype, KNNG_F32, dims));
      assert_int_equal((dtype == KNNG_U8 ? 0 : -128) - integer_centre(dtype), -128);
    }
  assert_true(has("inner_product", KNNG_I8, KNNG_I8, dims) && integer_centre(KNNG_I8) == 0);
  assert_false(has("inner_product", KNNG_U8, KNNG_U8, dims));
  // Bools are signed bytes as they are.
  assert_true(has("inner_product", KNNG_BOOL, KNNG_BOOL, dims) && has("euclidean", KNNG_BOOL, KNNG_BOOL, dims));
  assert_int_equal(integer_centre(KNNG_BOOL), 0);
  assert_false(has("euclidean", KNNG_BOOL, KNNG_U8, dims) || has("euclidean", KNNG_I16, KNNG_I16, dims));
  for (const Metric& m : metrics())
    if (m.transform != Transform::identity || !has_product_form(m.term))
      assert_false(has_integer_products(m, KNNG_I8, KNNG_I8, dims));
  assert_false(has("sqeuclidean", KNNG_F16, KNNG_F16, dims));
}

// A table is believed only if it says so in its first three members.
void libraries_of_another_build_are_told_apart(void**) {
  knng_backend_seam seam{};
  seam.struct_size = sizeof seam;
  seam.version = KNNG_BACKEND_SEAM_VERSION + 1;
  seam.build_id = "0123456789abcdef";
  assert_true(backend_objection(&seam).find("another build") != std::string::npos);
  assert_true(backend_objection(&seam).find("0123456789abcdef") != std::string::npos);
  seam.version = KNNG_BACKEND_SEAM_VERSION;
  assert_true(backend_objection(&seam).find("another build") != std::string::npos);
  seam.build_id = nullptr;
  assert_true(backend_objection(&seam).find("another build") != std::string::npos);
  seam.build_id = KNNG_BACKEND_BUILD_ID;
  assert_string_equal(backend_objection(&seam).c_str(), "");
  seam.struct_size -= 8;
  assert_true(backend_objection(&seam).find("another build") != std::string::npos);
}

// As few as the pairs of a tile allow, all about alike. Where one tile does not fit there are several, of points that
// stay on the device.
void few_tiles_where_these_will_do(void**) {
  const struct {
    std::int64_t points, pairs;
    std::size_t across;
  } cases[] = {{100, 1 << 28, 1},    {3'000, 1 << 28, 1},         {5'000, 1 << 28, 1},  {11'000, 1 << 28, 1},
               {16'384, 1 << 28, 1}, {16'385, 1 << 28, 2},        {30'000, 1 << 28, 2}, {100'000, 1 << 28, 7},
               {3'000, 1 << 22, 2},  {40'960, 20'480 * 20'480, 2}};
  for (const auto& c : cases) {
    Problem p = problem_of(c.points, c.points, 10, 1);
    p.most_pairs = c.pairs;
    const std::size_t several = tiles_of(make_device_plan(p).grid).size();
    p.few_tiles_will_do = true;
    const DevicePlan plan = make_device_plan(p);
    const std::vector<Tile> tiles = tiles_of(plan.grid);
    assert_int_equal(tiles.size(), c.across * (c.across + 1) / 2);
    assert_true(tiles.size() <= several);
    for (const Tile& t : tiles) {
      assert_true(t.rows * t.columns <= c.pairs);
      assert_true(10 * std::min(t.rows, t.columns) >= 7 * plan.grid.tile_rows);
    }
    if (c.across > 1 || c.points == 100) continue;
    p.max_bytes = plan.bytes - 1;
    const DevicePlan smaller = make_device_plan(p);
    assert_true(tiles_of(smaller.grid).size() > 1);
    assert_int_equal(smaller.blocks_held, 0);
    assert_true(smaller.bytes <= p.max_bytes);
  }
}

}  // namespace

int main() {
  const CMUnitTest tests[] = {
      cmocka_unit_test(every_pair_is_in_one_tile),
      cmocka_unit_test(few_tiles_where_these_will_do),
      cmocka_unit_test(what_was_asked_for_is_kept),
      cmocka_unit_test(every_budget_that_can_be_met_is_met),
      cmocka_unit_test(lists_are_long_where_memory_is),
      cmocka_unit_test(points_that_do_not_fit_come_in_blocks),
      cmocka_unit_test(lists_that_do_not_fit_come_in_slices),
      cmocka_unit_test(bands_keep_few_blocks_in_use),
      cmocka_unit_test(several_devices_get_enough_tiles),
      cmocka_unit_test(tiles_end_soon),
      cmocka_unit_test(rows_that_are_answered),
      cmocka_unit_test(sizes_beyond_64_bits_are_refused),
      cmocka_unit_test(bytes_are_multiplied_where_keys_fit),
      cmocka_unit_test(libraries_of_another_build_are_told_apart),
  };
  return cmocka_run_group_tests(tests, nullptr, nullptr);
}

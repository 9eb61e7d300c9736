// Copies of a graph's lists and of its row numbers, in every type and layout, and what they refuse.
#include <cmath>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "core/dtype.h"
#include "graph/copy.h"
#include "graph/rows.h"
#include "graph_samples.h"

#include "harness/cmocka.h"

using namespace libknng;

namespace {

constexpr double kInf = HUGE_VAL;

// ---- copies

// A layout of rows x cols in a block that is larger than needed, so that stray writes show.
struct Layout {
  std::int64_t row_stride, col_stride, first, size;
};

std::vector<Layout> layouts(std::int64_t rows, std::int64_t cols) {
  return {{cols, 1, 0, rows * cols},                        // packed
          {1, rows, 0, rows * cols},                        // column-major
          {3 * cols + 1, 2, 5, rows * (3 * cols + 1) + 5},  // padded both ways
          {-cols, 1, (rows - 1) * cols, rows * cols},       // bottom-up
          {-1, -rows, rows * cols - 1, rows * cols}};       // column-major, backwards
}

// Copies through `copy(view)` in every layout and checks every element of the block: `wanted(i, t)` where the matrix
// is, the filling elsewhere.
template <class T, class Copy, class Wanted>
void assert_copies(std::int32_t dtype, std::int64_t rows, std::int64_t cols, Copy copy, Wanted wanted) {
  T filling;
  std::memset(&filling, 0x5a, sizeof filling);
  for (const Layout& l : layouts(rows, cols)) {
    std::vector<T> block(static_cast<std::size_t>(l.size), filling), expected = block;
    copy(MutableMatrixView{dtype, rows, cols, l.row_stride, l.col_stride,
                           reinterpret_cast<std::byte*>(block.data() + l.first)});
    for (std::int64_t i = 0; i < rows; ++i)
      for (std::int64_t t = 0; t < cols; ++t)
        expected[static_cast<std::size_t>(l.first + i * l.row_stride + t * l.col_stride)] = wanted(i, t);
    assert_memory_equal(block.data(), expected.data(), block.size() * sizeof(T));
  }
}

Graph sample(std::int32_t value_dtype) {
  std::mt19937 random(11);
  return samples::random_graph(
      {.rows = 7, .columns = 30, .k = 4, .value_dtype = value_dtype, .self_first = false, .missing = 0.25}, random);
}

template <class T>
void assert_ids(std::int32_t dtype) {
  const Graph g = sample(KNNG_F32);
  for (const std::int32_t base : {0, 1}) {
    if (base == 0 && std::is_unsigned_v<T>) continue;  // -1 has no place there
    assert_copies<T>(
        dtype, g.rows, g.width, [&](const MutableMatrixView& to) { copy_graph(g, base, &to, nullptr); },
        [&](std::int64_t i, std::int64_t t) { return static_cast<T>(g.ids[i * g.width + t] + base); });
  }
}

void ids_in_every_dtype(void**) {
  assert_ids<std::int64_t>(KNNG_I64);
  assert_ids<std::int32_t>(KNNG_I32);
  assert_ids<std::int16_t>(KNNG_I16);
  assert_ids<std::uint16_t>(KNNG_U16);
}

void ids_literally(void**) {
  const Graph g = samples::make_graph({{1, -1}, {0, 2}, {0, 1}}, {{1, kInf}, {1, 1}, {2, 1}}, KNNG_F32, false);
  std::int32_t to[6];
  const MutableMatrixView fortran = {KNNG_I32, 3, 2, 1, 3, reinterpret_cast<std::byte*>(to)};
  const std::int32_t from_one[] = {2, 1, 1, 0, 3, 2}, from_zero[] = {1, 0, 0, -1, 2, 1};
  copy_graph(g, 1, &fortran, nullptr);
  assert_memory_equal(to, from_one, sizeof to);
  copy_graph(g, 0, &fortran, nullptr);
  assert_memory_equal(to, from_zero, sizeof to);
}

template <class T, class Round>
void assert_values(std::int32_t dtype, Round round) {
  for (const std::int32_t value_dtype : {KNNG_F32, KNNG_F64}) {
    const Graph g = sample(value_dtype);
    assert_copies<T>(
        dtype, g.rows, g.width, [&](const MutableMatrixView& to) { copy_graph(g, 0, nullptr, &to); },
        [&](std::int64_t i, std::int64_t t) { return round(g.value(i * g.width + t)); });
  }
}

void values_in_every_dtype(void**) {
  assert_values<double>(KNNG_F64, [](double x) { return x; });
  assert_values<float>(KNNG_F32, [](double x) { return static_cast<float>(x); });
  assert_values<Half>(KNNG_F16, [](double x) { return half_from_double(x); });
  assert_values<BFloat>(KNNG_BF16, [](double x) { return bfloat_from_double(x); });
}

void values_literally(void**) {
  // 1 + 2^-11 lies halfway between two binary16 numbers, 1 + 3 x 2^-11 too: to the even one.
  const Graph g = samples::make_graph({{0, 1, 2, -1}}, {{1 + 0x1p-11, 1 + 0x3p-11, -65504, kInf}}, KNNG_F64, false, 3);
  std::uint16_t to[4];
  const MutableMatrixView half = {KNNG_F16, 1, 4, 4, 1, reinterpret_cast<std::byte*>(to)};
  copy_graph(g, 0, nullptr, &half);
  const std::uint16_t wanted_half[] = {0x3c00, 0x3c02, 0xfbff, 0x7c00};
  assert_memory_equal(to, wanted_half, sizeof to);
  const MutableMatrixView bfloat = {KNNG_BF16, 1, 4, 4, 1, reinterpret_cast<std::byte*>(to)};
  copy_graph(g, 0, nullptr, &bfloat);
  const std::uint16_t wanted_bfloat[] = {0x3f80, 0x3f80, 0xc780, 0x7f80};
  assert_memory_equal(to, wanted_bfloat, sizeof to);
}

void ids_that_do_not_fit(void**) {
  const auto failure = [](std::int64_t id, std::int32_t base, std::int32_t dtype) {
    const Graph g = samples::make_graph({{0, 1}, {2, id}}, {{0, 0}, {0, kInf}}, KNNG_F32, false, INT64_MAX);
    std::int64_t room[4];
    const MutableMatrixView to = {dtype, 2, 2, 2, 1, reinterpret_cast<std::byte*>(room)};
    return samples::error_of([&] { copy_graph(g, base, &to, nullptr); });
  };
  struct Case {
    std::int64_t largest;
    std::int32_t dtype;
    const char* name;
  };
  for (const Case& c :
       {Case{32767, KNNG_I16, "int16"}, Case{65535, KNNG_U16, "uint16"}, Case{INT32_MAX, KNNG_I32, "int32"}}) {
    assert_int_equal(failure(c.largest, 0, c.dtype).code, KNNG_OK);
    assert_int_equal(failure(c.largest - 1, 1, c.dtype).code, KNNG_OK);
    for (const std::int32_t base : {0, 1}) {
      const knng_error e = failure(c.largest + 1 - base, base, c.dtype);
      assert_int_equal(e.code, KNNG_ERR_RANGE);
      assert_string_equal(e.argument, "ids");
      assert_int_equal(e.row, 1);
      assert_int_equal(e.col, 1);
      assert_int_equal(e.given, c.largest + 1);
      assert_int_equal(e.limit, c.largest);
      assert_non_null(std::strstr(e.message, c.name));
      assert_non_null(std::strstr(e.message, std::to_string(c.largest + 1).c_str()));
    }
  }
  assert_int_equal(failure(INT64_MAX - 1, 1, KNNG_I64).code, KNNG_OK);
  assert_int_equal(failure(-1, 1, KNNG_U16).code, KNNG_OK);
  const knng_error e = failure(-1, 0, KNNG_U16);
  assert_int_equal(e.code, KNNG_ERR_RANGE);
  assert_int_equal(e.given, -1);
  assert_int_equal(e.limit, 0);
  assert_non_null(std::strstr(e.message, "no neighbour"));
}

void values_that_do_not_fit(void**) {
  const auto failure = [](double value, std::int32_t dtype) {
    const Graph g = samples::make_graph({{0}, {1}, {0}}, {{1}, {value}, {1}}, KNNG_F64, false, 2);
    double room[3];
    const MutableMatrixView to = {dtype, 3, 1, 1, 1, reinterpret_cast<std::byte*>(room)};
    return samples::error_of([&] { copy_graph(g, 0, nullptr, &to); });
  };
  struct Case {
    double fits, does_not;
    std::int32_t dtype;
  };
  // The second is the first number that rounds up to infinity.
  for (const Case& c : {Case{65519.99, 65520, KNNG_F16}, Case{0x1.fep127, 0x1.ffp127, KNNG_BF16},
                        Case{0x1.fffffep127, 0x1.ffffffp127, KNNG_F32}}) {
    for (const double sign : {1.0, -1.0}) {
      assert_int_equal(failure(sign * c.fits, c.dtype).code, KNNG_OK);
      const knng_error e = failure(sign * c.does_not, c.dtype);
      assert_int_equal(e.code, KNNG_ERR_RANGE);
      assert_string_equal(e.argument, "values");
      assert_int_equal(e.row, 1);
      assert_int_equal(e.col, 0);
      assert_non_null(std::strstr(e.message, dtype_name(c.dtype)));
    }
    assert_int_equal(failure(kInf, c.dtype).code, KNNG_OK);
  }
  assert_int_equal(failure(1e308, KNNG_F64).code, KNNG_OK);
}

void copies_refuse_before_they_write(void**) {
  const Graph g = samples::make_graph({{1}, {0}}, {{1}, {1}}, KNNG_F32, false);
  std::int64_t ids[2] = {77, 77};
  double values[2] = {77, 77};
  const MutableMatrixView good_ids = {KNNG_I64, 2, 1, 1, 1, reinterpret_cast<std::byte*>(ids)};
  const MutableMatrixView good_values = {KNNG_F64, 2, 1, 1, 1, reinterpret_cast<std::byte*>(values)};
  const auto failure = [&](std::int32_t base, const MutableMatrixView& i, const MutableMatrixView& v) {
    return samples::error_of([&] { copy_graph(g, base, &i, &v); });
  };
  assert_int_equal(failure(2, good_ids, good_values).code, KNNG_ERR_RANGE);
  assert_int_equal(failure(-1, good_ids, good_values).code, KNNG_ERR_RANGE);
  MutableMatrixView bad = good_ids;
  for (const std::int32_t dtype : std::vector<std::int32_t>{KNNG_I8, KNNG_U8, KNNG_F64, 0}) {
    bad.dtype = dtype;
    assert_int_equal(failure(0, bad, good_values).code, KNNG_ERR_ARGUMENT);
  }
  bad = good_values;
  for (const std::int32_t dtype : std::vector<std::int32_t>{KNNG_U8, KNNG_I64, 0}) {
    bad.dtype = dtype;
    assert_int_equal(failure(0, good_ids, bad).code, KNNG_ERR_ARGUMENT);
  }
  for (const auto& [rows, cols] : {std::pair{1, 1}, std::pair{3, 1}, std::pair{2, 2}, std::pair{0, 0}}) {
    bad = good_values;
    bad.rows = rows;
    bad.cols = cols;
    assert_string_equal(failure(0, good_ids, bad).argument, "values");
    bad = good_ids;
    bad.rows = rows;
    bad.cols = cols;
    const knng_error e = failure(0, bad, good_values);
    assert_int_equal(e.code, KNNG_ERR_ARGUMENT);
    assert_string_equal(e.argument, "ids");
  }
  assert_true(ids[0] == 77 && ids[1] == 77 && values[0] == 77 && values[1] == 77);
  assert_int_equal(failure(0, good_ids, good_values).code, KNNG_OK);
  assert_true(ids[0] == 1 && ids[1] == 0 && values[0] == 1 && values[1] == 1);
}

// ---- one number per row

// Two rings of 1, 3, 5 and of 0, 2, and 4 on its own.
Graph rings() {
  Graph g = samples::make_graph({{2}, {3}, {0}, {5}, {-1}, {1}}, {{1}, {1}, {1}, {1}, {kInf}, {1}}, KNNG_F32, false);
  g.ties[1] = g.ties[5] = 1;
  for (std::int64_t i = 0; i < 6; ++i) g.proof[i] = static_cast<std::uint8_t>(i % 5);
  return g;
}

template <class T>
void assert_row_numbers(std::int32_t dtype) {
  const Graph g = rings();
  const std::pair<const char*, std::vector<int>> wanted[] = {{"ties", {0, 1, 0, 0, 0, 1}},
                                                             {"proof", {0, 1, 2, 3, 4, 0}},
                                                             {"indegree", {1, 1, 1, 1, 0, 1}},
                                                             {"component", {0, 1, 0, 1, 2, 1}}};
  for (const auto& [what, numbers] : wanted) {
    const char* name = what;
    const std::vector<int>& expected = numbers;
    assert_copies<T>(
        dtype, 6, 1, [&](const MutableMatrixView& to) { graph_rows(g, name, to); },
        [&](std::int64_t i, std::int64_t) { return static_cast<T>(expected[static_cast<std::size_t>(i)]); });
  }
}

void row_numbers_in_every_dtype(void**) {
  assert_row_numbers<std::int64_t>(KNNG_I64);
  assert_row_numbers<std::int32_t>(KNNG_I32);
  assert_row_numbers<std::int16_t>(KNNG_I16);
  assert_row_numbers<std::uint16_t>(KNNG_U16);
  assert_row_numbers<std::int8_t>(KNNG_I8);
  assert_row_numbers<std::uint8_t>(KNNG_U8);
}

void row_numbers_that_do_not_fit(void**) {
  samples::Ids ids(257, {0});  // 256 rows list row 0
  ids[0] = {1};
  const Graph g = samples::make_graph(ids, samples::Values(257, {1.0}), KNNG_F32, false);
  std::int64_t room[257];
  const auto failure = [&](const char* what, std::int32_t dtype) {
    const MutableMatrixView to = {dtype, 257, 1, 1, 1, reinterpret_cast<std::byte*>(room)};
    return samples::error_of([&] { graph_rows(g, what, to); });
  };
  for (const std::int32_t dtype : {KNNG_U8, KNNG_I8}) {
    const knng_error e = failure("indegree", dtype);
    assert_int_equal(e.code, KNNG_ERR_RANGE);
    assert_int_equal(e.row, 0);
    assert_int_equal(e.given, 256);
    assert_int_equal(e.limit, dtype == KNNG_U8 ? 255 : 127);
    assert_int_equal(failure("component", dtype).code, KNNG_OK);
  }
  assert_int_equal(failure("indegree", KNNG_I16).code, KNNG_OK);
}

void row_numbers_refuse(void**) {
  const Graph g = rings();
  std::int64_t room[6];
  const auto failure = [&](const Graph& graph, const char* what, std::int32_t dtype, std::int64_t rows,
                           std::int64_t cols) {
    const MutableMatrixView to = {dtype, rows, cols, cols, 1, reinterpret_cast<std::byte*>(room)};
    return samples::error_of([&] { graph_rows(graph, what, to); });
  };
  const knng_error e = failure(g, "hubness", KNNG_I64, 6, 1);
  assert_int_equal(e.code, KNNG_ERR_OPTION);
  assert_non_null(std::strstr(e.message, "what=hubness"));
  assert_non_null(std::strstr(e.message, "ties, proof, indegree, component"));
  for (const char* what : {"ties", "proof", "indegree", "component"}) {
    for (const std::int32_t dtype : std::vector<std::int32_t>{KNNG_F32, KNNG_F64, KNNG_BF16, 0, -5})
      assert_int_equal(failure(g, what, dtype, 6, 1).code, KNNG_ERR_ARGUMENT);
    assert_int_equal(failure(g, what, KNNG_I64, 5, 1).code, KNNG_ERR_ARGUMENT);
    assert_int_equal(failure(g, what, KNNG_I64, 1, 6).code, KNNG_ERR_ARGUMENT);
    assert_int_equal(failure(g, what, KNNG_I64, 6, 0).code, KNNG_ERR_ARGUMENT);
  }
  const Graph queries = samples::make_graph({{3}, {1}}, {{1}, {1}}, KNNG_F32, false, 4);
  assert_int_equal(failure(queries, "component", KNNG_I64, 2, 1).code, KNNG_ERR_STATE);
  assert_int_equal(failure(queries, "indegree", KNNG_I64, 4, 1).code, KNNG_OK);
  assert_true(room[0] == 0 && room[1] == 1 && room[2] == 0 && room[3] == 1);  // query 1 and row 1 are not the same
  assert_int_equal(failure(queries, "ties", KNNG_I64, 2, 1).code, KNNG_OK);
}

}  // namespace

int main() {
  const CMUnitTest tests[] = {
      cmocka_unit_test(ids_in_every_dtype),
      cmocka_unit_test(ids_literally),
      cmocka_unit_test(values_in_every_dtype),
      cmocka_unit_test(values_literally),
      cmocka_unit_test(ids_that_do_not_fit),
      cmocka_unit_test(values_that_do_not_fit),
      cmocka_unit_test(copies_refuse_before_they_write),
      cmocka_unit_test(row_numbers_in_every_dtype),
      cmocka_unit_test(row_numbers_that_do_not_fit),
      cmocka_unit_test(row_numbers_refuse),
  };
  return cmocka_run_group_tests(tests, nullptr, nullptr);
}

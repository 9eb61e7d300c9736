// What small data goes through on its own, on every target: rows of lower bounds that are written down (guesses,
// places, mirrored blocks) and rows of floats on their way to a filter's operands, against plain loops; and the engine
// that is made of them against the direct one, with every number of points and neighbours that changes its way.
#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <string>
#include <vector>

#include "backend/cpu/low_rows.h"
#include "exec/build.h"
#include "options/options.h"
#include "points.h"
#include "prepare/filter_panel.h"
#include "prepare/float_rows.h"

#include "harness/cmocka.h"

using namespace libknng;

namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity(), kNaN = std::numeric_limits<float>::quiet_NaN();

std::size_t at(std::int64_t i) { return static_cast<std::size_t>(i); }

// A row with its room.
std::vector<float> low_row(std::int64_t count, std::int64_t kind, values::Random& random) {
  std::vector<float> row(at((count + kLowPadding - 1) / kLowPadding * kLowPadding), kInfinity);
  for (std::int64_t j = 0; j < count; ++j) {
    float& value = row[at(j)];
    value = kind == 0 ? static_cast<float>(random.uniform()) : static_cast<float>(random.below(5));
    if (kind == 2 && random.below(4) == 0) value = kInfinity;
    if (kind == 3 && random.below(9) == 0) value = random.below(2) == 0 ? kNaN : -kInfinity;
  }
  return row;
}

std::vector<std::int32_t> places_of(const std::vector<float>& row, std::int64_t count, float least, float most) {
  std::vector<std::int32_t> places;
  for (std::int64_t j = 0; j < count; ++j)
    if (!(row[at(j)] > most) && (least == -kInfinity || row[at(j)] > least))
      places.push_back(static_cast<std::int32_t>(j));
  return places;
}

void guesses_admit_enough_and_places_are_found(void**) {
  values::Random random(5);
  for (const LowRows* rows : low_rows()) {
    for (const std::int64_t count : {1, 2, 15, 16, 17, 48, 100, 333, 1000}) {
      for (std::int64_t kind = 0; kind < 4; ++kind) {
        const std::vector<float> row = low_row(count, kind, random);
        std::vector<std::int32_t> places(row.size());
        const auto same = [&](std::int64_t found, const std::vector<std::int32_t>& expected) {
          return found == std::ssize(expected) && std::equal(expected.begin(), expected.end(), places.begin());
        };
        for (const std::int64_t k : {1, 2, 3, 10, 16, 17, 32, 33, 64, 65, 128}) {
          const float most = rows->guess(row.data(), count, k);
          const std::int64_t found = rows->collect(row.data(), count, most, places.data());
          assert_true(same(found, places_of(row, count, -kInfinity, most)));
          assert_true(kind == 3 || found >= std::min(k, count));
          // Of numbers in no order few more than k, but where a lane meets many of them.
          if (kind == 0 && count == 1000) assert_true(found <= k + k / 2 + 2);
        }
        const std::int64_t more = rows->collect_more(row.data(), count, 1, 3, places.data());
        assert_true(same(more, places_of(row, count, 1, 3)));
      }
    }
  }
}

void blocks_are_mirrored(void**) {
  constexpr std::int64_t kStride = 2 * kLowBlock;
  std::vector<float> block(kLowBlock * kStride), mirrored(kLowBlock * kStride, -1);
  std::iota(block.begin(), block.end(), 0.0f);
  for (const LowRows* rows : low_rows()) {
    rows->mirror(block.data(), kStride, mirrored.data());
    for (std::int64_t i = 0; i < kLowBlock; ++i)
      for (std::int64_t j = 0; j < kStride; ++j)
        assert_true(mirrored[at(i * kStride + j)] == (j < kLowBlock ? block[at(j * kStride + i)] : -1));
  }
}

// ---- rows of floats

void floats_become_operands(void**) {
  values::Random random(6);
  for (const std::int64_t dim : {1, 3, 8, 15, 16, 63, 64, 65, 130}) {
    std::vector<float> values(at(kRoundedTogether * dim));
    for (float& value : values) value = static_cast<float>(random.uniform() - 0.3);
    std::vector<double> centre(at(dim));
    for (double& value : centre) value = random.uniform();
    std::vector<const float*> stored(at(kRoundedTogether));
    for (std::int64_t i = 0; i < kRoundedTogether; ++i) stored[at(i)] = i % 5 == 4 ? nullptr : values.data() + i * dim;
    for (const FloatRows* kernels : float_rows()) {
      for (const bool centred : {true, false}) {
        const Rounding to{centred ? centre.data() : nullptr, 0.5, 4, OperandType::fp32};
        std::vector<float> panel(at(dim * kFilterPanel), -1);
        std::vector<RoundingSums> sums(at(kRoundedTogether));
        kernels->round(to, stored.data(), dim, panel.data() + 16, sums.data());
        for (std::int64_t i = 0; i < kFilterPanel; ++i) {
          const std::int64_t row = i - 16;
          const bool written = row >= 0 && row < kRoundedTogether;
          double square = 0, residual = 0, whole = 0;
          for (std::int64_t t = 0; t < dim; ++t) {
            const float a = panel[at(t * kFilterPanel + i)];
            if (!written || !stored[at(row)]) {
              assert_true(a == (written ? 0.0f : -1.0f));
              continue;
            }
            const double x = (static_cast<double>(stored[at(row)][t]) - (centred ? centre[at(t)] : 0)) * 2;
            assert_true(a == static_cast<float>(x));
            square += static_cast<double>(a) * static_cast<double>(a);
            residual += (x - static_cast<double>(a)) * (x - static_cast<double>(a));
            whole += x * x;
          }
          if (!written) continue;
          const auto near = [](double found, double expected) {
            return std::fabs(found - expected) <= 1e-13 * expected;
          };
          assert_true(near(sums[at(row)].square, square) && near(sums[at(row)].residual, residual) &&
                      near(sums[at(row)].row, whole));
        }
      }
      double most = 0;
      for (std::int64_t t = 0; t < dim; ++t)
        most = std::max(most, std::fabs(static_cast<double>(values[at(t)]) - centre[at(t)]));
      assert_true(kernels->farthest(values.data(), centre.data(), dim) == most);
    }
  }
}

void medians_are_those_of_sorted_values(void**) {
  values::Random random(7);
  for (const std::int64_t dim : {1, 7, 16, 37}) {
    std::vector<float> values(at(kMostInMedian * dim));
    for (float& value : values) value = static_cast<float>(random.below(9)) - 4;
    std::vector<const float*> rows;
    for (std::int64_t count = 1; count <= kMostInMedian; ++count) {
      rows.push_back(values.data() + (count - 1) * dim);
      for (const FloatRows* kernels : float_rows()) {
        std::vector<double> median(at(dim));
        kernels->median(rows.data(), count, dim, median.data());
        for (std::int64_t t = 0; t < dim; ++t) {
          std::vector<float> sorted;
          for (const float* row : rows) sorted.push_back(row[t]);
          std::sort(sorted.begin(), sorted.end());
          assert_true(median[at(t)] == static_cast<double>(sorted[at(count / 2)]));
        }
      }
    }
  }
}

// ---- the engine

Graph graph_of(const Dataset& data, const Dataset* queries, const std::int64_t* leave_out, std::int64_t k,
               const char* metric, const char* engine, const char* threads) {
  Settings settings;
  settings.set("value_type", "f64");
  settings.set("metric", metric);
  settings.set("engine", engine);
  settings.set("threads", threads);
  if (std::string(engine) == "fused") {
    settings.set("tile_rows", "1000");
    settings.set("tile_cols", "1000");
  }
  points::Call call;
  return queries ? query_graph(data, settings, *queries, leave_out, k, call.monitor)
                 : build_graph(data, settings, k, call.monitor);
}

void compare(const Dataset& data, const Dataset* queries, const std::int64_t* leave_out, std::int64_t k,
             const char* metric, const char* threads) {
  const Graph expected = graph_of(data, queries, leave_out, k, metric, "direct", "1");
  const Graph graph = graph_of(data, queries, leave_out, k, metric, "fused", threads);
  const auto same = [](const auto& a, const auto& b) {
    return a.bytes() == b.bytes() && std::equal(a.begin(), a.end(), b.begin());
  };
  if (!same(graph.ids, expected.ids) || !same(graph.values, expected.values) || !same(graph.ties, expected.ties))
    fail_msg("%lld x %lld, k %lld, %s, threads %s%s", static_cast<long long>(data.rows()),
             static_cast<long long>(data.dim()), static_cast<long long>(k), metric, threads,
             queries ? ", queries" : "");
}

// Values of few kinds make ties everywhere and rows that are equal, or without a direction.
points::Rows some_rows(std::int64_t n, std::int64_t d, std::int64_t kind) {
  values::Random random(static_cast<std::uint64_t>(n * 31 + d + kind));
  const double scales[] = {1, 1, 1e-250, 1e150, 0x1p-140};
  return points::make_rows("some", n, d, [&](std::int64_t i, std::int64_t) {
    if (kind == 1) return static_cast<double>(random.below(2));
    if (kind == 5) return i == 0 ? 1e30 : points::normal(random);
    return scales[kind] * points::normal(random);
  });
}

void every_number_of_points(void**) {
  const char* const metrics[] = {"sqeuclidean", "cosine", "inner_product", "euclidean", "correlation"};
  const char* const threads[] = {"1", "2", "4"};
  for (std::int64_t n = 1, turn = 0; n <= 300; n += 2, ++turn) {
    const std::int64_t d = 1 + turn * 7 % 70, kind = turn % 6;
    const std::int32_t dtype = kind >= 2 && kind <= 4 ? KNNG_F64 : turn % 3 == 0 ? KNNG_F16 : KNNG_F32;
    const points::Rows rows = some_rows(n, d, kind == 5 && dtype == KNNG_F16 ? 0 : kind);
    const Dataset data = points::stored(dtype, rows);
    const char* const metric = metrics[turn % 5];
    for (const std::int64_t k :
         {std::int64_t{1}, std::min<std::int64_t>(n - 1, 10), std::min<std::int64_t>(n - 1, 128), n - 1})
      if (k > 0 && k < n) compare(data, nullptr, nullptr, k, metric, threads[turn % 3]);
    const Dataset queries = points::stored(dtype, some_rows(n / 2 + 1, d, kind == 5 && dtype == KNNG_F16 ? 0 : kind));
    std::vector<std::int64_t> leave_out(at(n / 2 + 1));
    for (std::size_t i = 0; i < leave_out.size(); ++i) leave_out[i] = static_cast<std::int64_t>(i) % n;
    compare(data, &queries, nullptr, std::min<std::int64_t>(n, 9), metric, threads[turn % 3]);
    if (n > 1) compare(data, &queries, leave_out.data(), std::min<std::int64_t>(n - 1, 9), metric, threads[turn % 3]);
  }
}

}  // namespace

int main() {
  const CMUnitTest tests[] = {cmocka_unit_test(guesses_admit_enough_and_places_are_found),
                              cmocka_unit_test(blocks_are_mirrored), cmocka_unit_test(floats_become_operands),
                              cmocka_unit_test(medians_are_those_of_sorted_values),
                              cmocka_unit_test(every_number_of_points)};
  return cmocka_run_group_tests(tests, nullptr, nullptr);
}

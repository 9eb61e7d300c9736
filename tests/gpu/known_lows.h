// A filter of rows whose lows are made on the host.
#pragma once

#include <cmath>
#include <numeric>
#include <vector>

#include "backend/cuda/keys/contending_rows.cuh"
#include "refine/bound.h"
#include "tests/gpu/points.h"

namespace libknng::cuda::test {

// What a filter knows of rows [first, first + count): lows below their keys, exact ones of ties among them, in an order
// of columns and of rows.
struct Lows {
  std::vector<float> tile, row_terms, column_terms;  // rows in the order of the list
  std::vector<std::uint32_t> places;
  std::vector<std::int64_t> order;
  double scale = 0.25;
};

inline Lows make_lows(const Question& q, std::int64_t first, std::int64_t count, Random& random) {
  Lows lows;
  const std::int64_t n = q.columns.rows;
  const auto shuffle = [&](auto& numbers) {
    std::iota(numbers.begin(), numbers.end(), 0);
    for (std::size_t i = numbers.size(); i > 1; --i) std::swap(numbers[i - 1], numbers[random.next() % i]);
  };
  lows.places.resize(static_cast<std::size_t>(q.rows.rows));
  lows.order.resize(static_cast<std::size_t>(n));
  shuffle(lows.places);
  shuffle(lows.order);
  lows.row_terms.resize(lows.places.size());
  for (std::int64_t i = 0; i < q.rows.rows; ++i)
    lows.row_terms[lows.places[static_cast<std::size_t>(i)]] = q.rows.directionless(i) ? INFINITY : 0;
  // Of some columns nothing is known.
  for (const std::int64_t j : lows.order)
    lows.column_terms.push_back(q.columns.directionless(j) ? INFINITY : j % 13 == 7 ? -INFINITY : 0);
  for (std::int64_t i = first; i < first + count; ++i)
    for (const std::int64_t j : lows.order) {
      const double key = canonical_key(q.rows.metric, q.rows.row(i), q.columns.row(j)) * lows.scale;
      const double slack = j % 3 == 0 ? 0 : std::fabs(key) * random.uniform(0, 0x1p-3);
      const float low = round_down(key - slack), half = -low / 2;
      lows.tile.push_back(-2 * half > low ? std::nextafter(half, INFINITY) : half);
    }
  return lows;
}

class KnownLows final : public RowFilter {
 public:
  KnownLows(const Lows& lows, std::int64_t first)
      : first_(first),
        columns_(static_cast<std::int64_t>(lows.order.size())),
        tile_(lows.tile),
        row_terms_(lows.row_terms),
        column_terms_(lows.column_terms),
        order_(lows.order) {}

  // A row's operand is its number. Operands of zeros may follow those that were gathered: nobody reads their lows.
  void gather_rows(const std::int64_t* list, std::int64_t count, std::byte* operands) override {
    check(cudaMemcpy(operands, list, static_cast<std::size_t>(8 * count), cudaMemcpyDeviceToDevice));
    gathered_ = count;
  }
  RowLows lows(const std::byte* operands, std::int64_t count, std::int64_t first, std::int64_t columns, float* tile,
               std::int64_t ld) override {
    expect(count >= gathered_, "%lld of %lld rows are multiplied", static_cast<long long>(count),
           static_cast<long long>(gathered_));
    std::vector<std::int64_t> rows(static_cast<std::size_t>(gathered_));
    check(cudaMemcpy(rows.data(), operands, 8 * rows.size(), cudaMemcpyDeviceToHost));
    for (std::size_t i = 0; i < rows.size(); ++i)
      check(cudaMemcpy(tile + static_cast<std::int64_t>(i) * ld, tile_.get() + (rows[i] - first_) * columns_ + first,
                       static_cast<std::size_t>(columns) * sizeof(float), cudaMemcpyDeviceToDevice));
    return {row_terms_.get(), column_terms_.get() + first, false, order_.get() + first};
  }

 private:
  const std::int64_t first_, columns_;
  std::int64_t gathered_ = 0;
  const Array<float> tile_, row_terms_, column_terms_;
  const Array<std::int64_t> order_;
};

}  // namespace libknng::cuda::test

#include "backend/cuda/fused/all_pairs.cuh"

#include <bit>
#include <cstdint>
#include <limits>
#include <span>

#include "backend/cuda/fused/limits.cuh"
#include "core/division.h"

namespace libknng::cuda::fused {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

template <class T>
std::vector<T> downloaded(const DeviceArray<T>& array, DeviceContext& context) {
  std::vector<T> values(static_cast<std::size_t>(array.size()));
  check(
      cudaMemcpyAsync(values.data(), array.data(), values.size() * sizeof(T), cudaMemcpyDeviceToHost, context.stream));
  context.stream.wait();
  return values;
}

// Lists of one side, with room for every point of the other, and infinite cut-offs. Where nothing is expected terms are
// 0, and a low is -2 times the product.
template <class Number>
class OfSide {
 public:
  OfSide(int lists, int others, int grain, std::span<const Number> expected, DeviceContext& context)
      : lists_(lists),
        others_(others),
        terms_(terms_of(expected, lists, context)),
        cutoffs_(filled(lists, kInfinity, context)),
        dropped_(filled(lists, kInfinity, context)),
        counts_(lists, context),
        out_(std::int64_t{lists} * others, context),
        limits_(round_up(lists, grain), context),
        again_(ceil_div(lists, grain), context) {}

  void aim(SelectJob& job) const {
    job.cutoffs = cutoffs_.data();
    job.capacity = others_;
    job.out = out_.data();
    job.counts = counts_.data();
    job.dropped = dropped_.data();
  }
  const float* terms() const { return terms_.data(); }
  ListLimit<Number>* limits() const { return limits_.data(); }
  std::uint8_t* again() const { return again_.data(); }

  // low(list, other): where it belongs.
  template <class F>
  void read(F&& low, DeviceContext& context) const {
    const std::vector<std::int32_t> counts = downloaded(counts_, context);
    const std::vector<Candidate> out = downloaded(out_, context);
    for (int l = 0; l < lists_; ++l) {
      if (counts[static_cast<std::size_t>(l)] != others_) continue;
      for (int i = 0; i < others_; ++i) {
        const Candidate& found =
            out[static_cast<std::size_t>(l) * static_cast<std::size_t>(others_) + static_cast<std::size_t>(i)];
        if (found.id < static_cast<std::uint32_t>(others_)) low(l, static_cast<int>(found.id)) = found.low;
      }
    }
  }

 private:
  static DeviceArray<float> terms_of(std::span<const Number> expected, int lists, DeviceContext& context) {
    std::vector<float> terms(static_cast<std::size_t>(lists));
    for (std::size_t i = 0; i < expected.size(); ++i) terms[i] = std::bit_cast<float>(2 * expected[i]);
    return uploaded(std::span<const float>(terms), context);
  }
  static DeviceArray<float> filled(int count, float value, DeviceContext& context) {
    const std::vector<float> values(static_cast<std::size_t>(count), value);
    return uploaded(std::span(values), context);
  }

  int lists_, others_;
  DeviceArray<float> terms_, cutoffs_, dropped_;
  DeviceArray<std::int32_t> counts_;
  DeviceArray<Candidate> out_;
  DeviceArray<ListLimit<Number>> limits_;
  DeviceArray<std::uint8_t> again_;
};

}  // namespace

template <class Number>
std::vector<double> all_products(const FusedPoints& points, std::span<const Number> expected, Kernel<Number> kernel,
                                 int multiprocessors, bool both, DeviceContext& context) {
  const OfSide<Number> rows(points.row_count, points.column_count, kBlockRows, {}, context),
      columns(points.column_count, points.row_count, kBlockColumns, expected, context);
  const DeviceArray<unsigned> overflown(kMostPasses, context);
  const DeviceArray<ListLimit<Number>> least(in_tiles(points.column_count) / kLaneColumns, context);
  FusedJob<Number> job{};
  for (SelectJob* const side : {&job.rows, &job.columns}) {
    side->rows = points.row_count;
    side->columns = points.column_count;
    side->row_terms = rows.terms();
    side->column_terms = columns.terms();
  }
  job.columns.side = cuda::Side::columns;
  rows.aim(job.rows);
  columns.aim(job.columns);
  job.both = both;
  job.row_operands = points.rows;
  job.column_operands = points.columns;
  job.stride = points.stride;
  job.terms = points.terms;
  job.row_limits = rows.limits();
  job.column_limits = columns.limits();
  job.column_least = least.data();
  job.rows_again = rows.again();
  job.columns_again = columns.again();
  cut_into_units(job, multiprocessors);
  job.overflown = overflown.data();
  start_limits(job, context.stream);
  kernel(job, multiprocessors, context.stream);

  const auto count = static_cast<std::size_t>(points.column_count);
  const auto at = [&](int r, int c) { return static_cast<std::size_t>(r) * count + static_cast<std::size_t>(c); };
  constexpr float kNone = std::numeric_limits<float>::quiet_NaN();
  std::vector<float> lows(static_cast<std::size_t>(points.row_count) * count, kNone);
  rows.read([&](int r, int c) -> float& { return lows[at(r, c)]; }, context);
  if (both) {
    std::vector<float> of_columns(lows.size(), kNone);
    columns.read([&](int c, int r) -> float& { return of_columns[at(r, c)]; }, context);
    for (std::size_t i = 0; i < lows.size(); ++i)
      if (std::bit_cast<std::uint32_t>(lows[i]) != std::bit_cast<std::uint32_t>(of_columns[i])) lows[i] = kNone;
  }
  std::vector<double> products(lows.size());
  for (std::size_t i = 0; i < lows.size(); ++i)
    products[i] = (expected.empty() ? 0 : static_cast<double>(expected[i % count])) - static_cast<double>(lows[i]) / 2;
  return products;
}

template std::vector<double> all_products(const FusedPoints&, std::span<const float>, Kernel<float>, int, bool,
                                          DeviceContext&);
template std::vector<double> all_products(const FusedPoints&, std::span<const std::int32_t>, Kernel<std::int32_t>, int,
                                          bool, DeviceContext&);

}  // namespace libknng::cuda::fused

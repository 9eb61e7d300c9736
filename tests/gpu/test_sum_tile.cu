// Tiles of sums: every low and what lies above it enclose the canonical key; sums that need no approximation have the
// bits of the same sums on the host; the chip's approximations are as good as the bound supposes, for every float; a
// lowered constant is found out in refinement.
#include <cfloat>
#include <cmath>
#include <limits>
#include <vector>

#include "backend/cuda/engines/sum_tile.cuh"
#include "backend/cuda/engines/sum_units.cuh"
#include "backend/cuda/keys/refine.cuh"
#include "tests/gpu/points.h"

namespace libknng::cuda::test {
namespace {

// --- approximations

// The largest |error| of each as a share of what sum_units.cuh allows, as the bits of a double.
struct Worst {
  unsigned long long reciprocal = 0, log2 = 0, exp2 = 0;
};

__device__ void raise(unsigned long long* worst, double share) {
  const double known = isnan(share) ? INFINITY : share;
  if (known > __longlong_as_double(static_cast<long long>(*worst)))
    atomicMax(worst, static_cast<unsigned long long>(__double_as_longlong(known)));
}

__global__ void go_through_floats(Worst* worst) {
  const unsigned step = gridDim.x * blockDim.x;
  for (std::uint64_t bits = blockIdx.x * blockDim.x + threadIdx.x; bits < (std::uint64_t{1} << 32); bits += step) {
    const float x = __uint_as_float(static_cast<unsigned>(bits));
    if (!isfinite(x)) continue;
    const auto exact = static_cast<double>(x);
    if (x >= 0x1p-126F && x <= 0x1p125F)
      raise(&worst->reciprocal, fabs(static_cast<double>(DeviceUnits::reciprocal(x)) * exact - 1) / 0x1p-22);
    if (x > 0) {
      const double l = ::log2(exact);
      raise(&worst->log2, fabs(static_cast<double>(DeviceUnits::log2(x)) - l) / (0x1p-22 * (1 + fabs(l))));
    }
    if (x < 128) {
      const double y = ::exp2(exact);
      raise(&worst->exp2, fabs(static_cast<double>(DeviceUnits::exp2(x)) - y) / (0x1p-22 * y + 0x1p-126));
    }
  }
}

__global__ void at_the_ends(float* out) {
  out[0] = DeviceUnits::log2(0.0F);
  out[1] = DeviceUnits::exp2(-INFINITY);
}

void approximations_are_good_enough() {
  const Array<float> ends(2);
  at_the_ends<<<1, 1>>>(ends.get());
  check(cudaDeviceSynchronize());
  expect(ends.values()[0] == -INFINITY && ends.values()[1] == 0, "0 has no power of 0");
  if (small_run()) return;
  const Array<Worst> worst(std::vector<Worst>(1));
  go_through_floats<<<2048, 256>>>(worst.get());
  check(cudaDeviceSynchronize());
  const Worst found = worst.values()[0];
  const auto share = [](unsigned long long bits) { return std::bit_cast<double>(bits); };
  std::printf("approximations reach %.3f (reciprocal), %.3f (log2), %.3f (exp2) of what is allowed\n",
              share(found.reciprocal), share(found.log2), share(found.exp2));
  expect(share(found.reciprocal) <= 1, "reciprocal");
  expect(share(found.log2) <= 1, "log2");
  expect(share(found.exp2) <= 1, "exp2");
}

// --- tiles

ValueRange range_of(const Points& p, ValueRange range) {
  for (const double value : p.values) {
    const auto x = static_cast<float>(std::fabs(value));
    range.largest = std::max(range.largest, x);
    if (x != 0) range.smallest = std::min(range.smallest, x);
  }
  return range;
}

// Terms without approximations: these are not called.
struct NoUnits {
  KNNG_HD static float reciprocal(float) { return NAN; }
  KNNG_HD static float log2(float) { return NAN; }
  KNNG_HD static float exp2(float) { return NAN; }
};
float host_sum(const Points& rows, std::int64_t i, const Points& columns, std::int64_t j) {
  float sum = 0;
  visit_sum_term(rows.metric.term, [&](auto term) {
    using T = decltype(term);
    float s[T::kSums] = {};
    for (std::int64_t t = 0; t < rows.dim; ++t)
      T::template add<NoUnits>(s, static_cast<float>(rows.values[static_cast<std::size_t>(i * rows.dim + t)]),
                               static_cast<float>(columns.values[static_cast<std::size_t>(j * rows.dim + t)]), 0.0F);
    sum = T::finish(s);
  });
  return sum;
}

bool approximated(Term term) { return term == Term::power_difference || term == Term::canberra; }

// Rows [first, ..) of one, all of the other; returns whether anything was claimed.
bool keys_are_enclosed(const Points& rows, const Points& columns) {
  const DevicePoints device_rows(rows), device_columns(columns);
  const Array<ValueRange> range(std::vector<ValueRange>(1));
  find_range(device_rows.view().rows, range.get(), nullptr);
  find_range(device_columns.view().rows, range.get(), nullptr);
  check(cudaDeviceSynchronize());
  const ValueRange found = range.values()[0], expected = range_of(columns, range_of(rows, {}));
  const char* name = rows.name.c_str();
  expect(found.smallest == expected.smallest && found.largest == expected.largest, "%s: values from %g to %g", name,
         static_cast<double>(found.smallest), static_cast<double>(found.largest));
  const SumError error = sum_error(rows.metric, rows.dim, found);
  const SumBound bound(error);

  const std::int64_t first = 1, count = rows.rows - first, ld = (columns.rows + 3) / 4 * 4 + 4;
  const Array<std::byte> row_space(sum_operand_bytes(count, rows.dim)),
      column_space(sum_operand_bytes(columns.rows, rows.dim));
  const Array<float> tile(count * ld);
  const SumOperand of_rows = make_sum_operand(device_rows.view().rows, nullptr, first, count, row_space.get(), nullptr);
  const SumOperand of_columns =
      make_sum_operand(device_columns.view().rows, nullptr, 0, columns.rows, column_space.get(), nullptr);
  sum_tile(rows.metric, bound, of_rows, of_columns, false, tile.get(), ld, nullptr);
  check(cudaDeviceSynchronize());
  const std::vector<float> lows = tile.values();
  for (std::int64_t i = 0; i < count; ++i)
    for (std::int64_t j = 0; j < ld; ++j) {
      const float low = lows[static_cast<std::size_t>(i * ld + j)];
      if (j >= columns.rows) {
        if (j >= (columns.rows + 3) / 4 * 4)
          expect(std::bit_cast<std::uint32_t>(low) == ~0u, "%s: written beyond the tile", name);
        continue;
      }
      const double key = expected_key(rows, first + i, columns, j);
      expect(static_cast<double>(low) <= key && key <= static_cast<double>(bound.up(low)),
             "%s: key of (%lld, %lld) is %a, not from %a to %a", name, static_cast<long long>(first + i),
             static_cast<long long>(j), key, static_cast<double>(low), static_cast<double>(bound.up(low)));
      if (approximated(rows.metric.term)) continue;
      const float same = bound.low(host_sum(rows, first + i, columns, j));
      expect(std::bit_cast<std::uint32_t>(low) == std::bit_cast<std::uint32_t>(same),
             "%s: low of (%lld, %lld) is %a, not %a", name, static_cast<long long>(first + i),
             static_cast<long long>(j), static_cast<double>(low), static_cast<double>(same));
    }
  return std::isfinite(error.gamma);
}

// On the diagonal each pair is evaluated once.
void symmetric_tiles_are_the_same(const Points& p) {
  const DevicePoints device(p);
  const std::int64_t ld = (p.rows + 3) / 4 * 4;
  const Array<std::byte> space(sum_operand_bytes(p.rows, p.dim));
  const SumOperand operand = make_sum_operand(device.view().rows, nullptr, 0, p.rows, space.get(), nullptr);
  const SumBound bound(sum_error(p.metric, p.dim, range_of(p, {})));
  const Array<float> whole(p.rows * ld), mirrored(p.rows * ld);
  sum_tile(p.metric, bound, operand, operand, false, whole.get(), ld, nullptr);
  sum_tile(p.metric, bound, operand, operand, true, mirrored.get(), ld, nullptr);
  check(cudaDeviceSynchronize());
  const std::vector<float> a = whole.values(), b = mirrored.values();
  for (std::int64_t i = 0; i < p.rows; ++i)
    for (std::int64_t j = 0; j < p.rows; ++j) {
      const auto at = static_cast<std::size_t>(i * ld + j);
      expect(std::bit_cast<std::uint32_t>(a[at]) == std::bit_cast<std::uint32_t>(b[at]),
             "%s: mirrored (%lld, %lld) is %a, not %a", p.name.c_str(), static_cast<long long>(i),
             static_cast<long long>(j), static_cast<double>(b[at]), static_cast<double>(a[at]));
    }
}

// Powers of the smallest differences, whose logarithms are as long as they get, in few dimensions: how much of the
// bound this chip's approximations and the roundings of p and of the product take. (tests/unit/test_sum_bound.cpp does
// it with the worst approximations that are allowed.)
void powers_in_few_dimensions() {
  constexpr std::int64_t kRows = 17, kPitch = 20;  // the last one of zeros
  // Claims to be exact, so that low is the sum within two roundings.
  const SumBound exact(SumError{0, 0});
  const double down = static_cast<double>(exact.low(0x1p100F)) * 0x1p-100;
  double most = 0;
  for (std::int64_t dim = 1; dim <= 8; ++dim)
    for (int trial = 0; trial < (small_run() ? 4 : 60); ++trial) {
      const Metric metric = find_metric("minkowski", 0.5 + (1 + 40 * trial) * 0x1p-25);
      Points p = make_points(metric, KNNG_F32, kRows, dim, 31);
      set_values(
          p, [](std::int64_t i, std::int64_t) { return i + 1 < kRows ? static_cast<float>(i + 1) * 0x1p-149F : 0.0F; });
      const DevicePoints device(p);
      const Array<std::byte> space(sum_operand_bytes(kRows, dim));
      const SumOperand operand = make_sum_operand(device.view().rows, nullptr, 0, kRows, space.get(), nullptr);
      const Array<float> tile(kRows * kPitch);
      sum_tile(metric, exact, operand, operand, false, tile.get(), kPitch, nullptr);
      check(cudaDeviceSynchronize());
      const std::vector<float> lows = tile.values();
      const SumError error = sum_error(metric, dim, range_of(p, {}));
      for (std::int64_t i = 0; i + 1 < kRows; ++i) {
        const double key = expected_key(p, i, p, kRows - 1);
        const double sum = static_cast<double>(lows[static_cast<std::size_t>(i * kPitch + kRows - 1)]) / down;
        const double share = (std::fabs(sum - key) - 0x1p-23 * key) / (error.gamma * key + error.eta);
        expect(share <= 1, "minkowski p=%.17g, d = %lld: %.3f of the bound", metric.p, static_cast<long long>(dim),
               share);
        most = std::max(most, share);
      }
    }
  std::printf("powers in few dimensions take up to %.3f of the bound\n", most);
  // p's rounding alone is worth 0.16 of it.
  expect(most >= 0.1, "powers in few dimensions take only %.3f of the bound", most);
}

// --- refinement

// Bound violations among all pairs of a row of a large value and many half ulps with rows of zeros.
unsigned long long violations(const char* metric, double share_of_gamma) {
  constexpr std::int64_t kRows = 40, kDim = 400, kColumns = kRows - 1;
  Points p = make_points(find_metric(metric, 0), KNNG_F32, kRows, kDim, 31);
  set_values(p, [](std::int64_t i, std::int64_t t) {
    return i % 2 ? 0.0F : t == 0 ? 1.0F : 0x1p-24F * (1 + 0x1p-10F * static_cast<float>(i + 1));
  });
  SumError error = sum_error(p.metric, kDim, range_of(p, {}));
  error.gamma *= share_of_gamma;
  const SumBound bound(error);
  const DevicePoints device(p);
  const Array<std::byte> space(sum_operand_bytes(kRows, kDim));
  const SumOperand operand = make_sum_operand(device.view().rows, nullptr, 0, kRows, space.get(), nullptr);
  const Array<float> tile(kRows * kRows);
  sum_tile(p.metric, bound, operand, operand, true, tile.get(), kRows, nullptr);
  check(cudaDeviceSynchronize());
  const std::vector<float> lows = tile.values();
  std::vector<Candidate> all;
  for (std::int64_t i = 0; i < kRows; ++i)
    for (std::int64_t j = 0; j < kRows; ++j)
      if (i != j) all.push_back({lows[static_cast<std::size_t>(i * kRows + j)], static_cast<std::uint32_t>(j)});
  const Array<Candidate> candidates(all);
  const Array<std::int32_t> kept(std::vector<std::int32_t>(kRows, kColumns));
  const Array<float> dropped(std::vector<float>(kRows, INFINITY));
  constexpr std::int64_t k = 5;
  const Array<std::int64_t> ids(kRows * k), redo(kRows);
  const Array<double> values(kRows * k), last_keys(kRows);
  const Array<std::uint8_t> ties(kRows), proved(kRows);
  const Array<ResultFindings> findings(std::vector<ResultFindings>(1));
  RefineJob job;
  job.rows = job.columns = device.view();
  job.metric = p.metric;
  job.k = k;
  job.count = kRows;
  job.admission.square = true;
  job.lists = {candidates.get(), kept.get(), kColumns, dropped.get()};
  job.bounds.sums = bound;
  job.result.width = k;
  job.result.ids = ids.get();
  job.result.values = values.get();
  job.result.value_dtype = KNNG_F64;
  job.result.ties = ties.get();
  job.result.proved = proved.get();
  job.result.last_keys = last_keys.get();
  job.result.redo = redo.get();
  job.result.findings = findings.get();
  job.rows_at_a_time = kRows;
  const Array<std::byte> workspace(refine_workspace_bytes(job));
  job.workspace = workspace.get();
  refine(job, nullptr);
  check(cudaDeviceSynchronize());
  const ResultFindings found = findings.values()[0];
  expect(found.unproved == 0, "%s: %llu rows without a proof", metric, found.unproved);
  return found.violations;
}

}  // namespace
}  // namespace libknng::cuda::test

int main() {
  using namespace libknng;
  using namespace libknng::cuda;
  using namespace libknng::cuda::test;
  gpu::need_device();
  approximations_are_good_enough();
  powers_in_few_dimensions();
  int cases = 0, claims = 0;
  std::vector<std::int32_t> dtypes;
  for (const std::int32_t dtype : all_dtypes())
    if (has_sum_operand(dtype)) dtypes.push_back(dtype);
  for (const Metric& metric : all_metrics()) {
    if (!has_sum_term(metric.term)) continue;
    for (std::size_t type = 0; type < dtypes.size(); ++type)
      for (const std::int64_t dim : all_dims())
        for (const double largest : {4.0, 1e9, 1e30, DBL_MAX}) {
          // Queries may be of another type than the columns.
          const std::int32_t dtype = dtypes[type], other = dtypes[dim == 33 ? (type + 1) % dtypes.size() : type];
          const std::int64_t rows = dim > 100 ? 18 : 66, columns = dim > 100 ? 35 : 131;
          const Points a = make_points(metric, dtype, rows, dim, 3, 1, largest);
          claims += keys_are_enclosed(a, make_points(metric, other, columns, dim, 4, dim == 17 ? 2 : 1, largest));
          ++cases;
        }
    for (const std::int64_t rows : {1, 64, 127, 129, 300}) {
      if (small_run() && rows != 129) continue;
      symmetric_tiles_are_the_same(make_points(metric, KNNG_F32, rows, 21, 5, 1, 4));
    }
  }
  expect(2 * claims > cases, "only %d of %d cases claimed anything", claims, cases);
  for (const char* metric : {"manhattan", "canberra", "braycurtis"}) {
    expect(violations(metric, 1) == 0, "%s: a bound that holds is violated", metric);
    // Canberra's and Bray-Curtis's ratios are exact here.
    if (metric[0] == 'm') expect(violations(metric, 0.2) > 0, "%s: a lowered bound was not noticed", metric);
  }
  std::printf("sum tiles: %d cases, %d with a claim\n", cases, claims);
  return gpu::result();
}

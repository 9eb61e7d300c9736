// Rows on the device: log and pow, constants, ranks, canonical values and refusals have the host's bits.
#include <cmath>
#include <limits>
#include <vector>

#include "backend/cuda/rows/row_source.cuh"
#include "metric/elementary.h"
#include "tests/gpu/points.h"
#include "tests/unit/elementary_arguments.h"

namespace libknng::cuda::test {
namespace {

__global__ void log_all(const double* x, double* out, int n) {
  const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (i < n) out[i] = log<ScalarOps>(x[i]);
}
__global__ void pow_all(const double* x, const double* p, double* out, int n) {
  const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (i < n) out[i] = pow<ScalarOps>(x[i], p[i]);
}

void log_and_pow_have_frozen_bits() {
  const values::FrozenLog of_log;
  const values::FrozenPow of_pow;
  const auto n = static_cast<int>(values::kFrozenArguments);
  Array<double> out(n);
  expect(values::hash(of_log.x) == of_log.kHashOfX, "log: other arguments than frozen");
  const Array<double> log_x(of_log.x);
  log_all<<<(n + 255) / 256, 256>>>(log_x.get(), out.get(), n);
  const std::uint64_t log_hash = values::hash(out.values());
  expect(log_hash == of_log.kHashOfResults, "log: hash %016llx", static_cast<unsigned long long>(log_hash));
  expect(values::hash(of_pow.x) == of_pow.kHashOfX && values::hash(of_pow.p) == of_pow.kHashOfP,
         "pow: other arguments than frozen");
  const Array<double> pow_x(of_pow.x), pow_p(of_pow.p);
  pow_all<<<(n + 255) / 256, 256>>>(pow_x.get(), pow_p.get(), out.get(), n);
  const std::uint64_t pow_hash = values::hash(out.values());
  expect(pow_hash == of_pow.kHashOfResults, "pow: hash %016llx", static_cast<unsigned long long>(pow_hash));
}

// Every float that is finite and not negative, and -0.
__global__ void compare_roots(unsigned long long* wrong) {
  const auto compare = [wrong](std::uint32_t bits) {
    const float x = __uint_as_float(bits);
    if (__double_as_longlong(sqrt_of_single(x)) != __double_as_longlong(__dsqrt_rn(static_cast<double>(x))))
      atomicMin(wrong, static_cast<unsigned long long>(bits));
  };
  const std::uint32_t step = gridDim.x * blockDim.x, first = blockIdx.x * blockDim.x + threadIdx.x;
  for (std::uint32_t bits = first; bits < 0x7f800000; bits += step) compare(bits);
  if (first == 0) compare(0x80000000);
}

void roots_of_all_floats_are_rounded_correctly() {
  const Array<unsigned long long> wrong(std::vector<unsigned long long>{~0ULL});
  compare_roots<<<1024, 256>>>(wrong.get());
  const unsigned long long found = wrong.values()[0];
  expect(found == ~0ULL, "sqrt_of_single: the float %08llx has another root", found);
}

void rows_have_the_hosts_bits(const Points& p) {
  const DevicePoints device(p);
  const PrepareFindings findings = device.findings();
  expect(findings.first_invalid == PrepareFindings::kNothing, "%s: invalid", p.name.c_str());
  expect(findings.first_refused == PrepareFindings::kNothing, "%s: refused %llu", p.name.c_str(),
         findings.first_refused);
  if (p.metric.transform == Transform::rank_unit) {
    const std::vector<std::int32_t> ranks = device.ranks();
    for (std::size_t i = 0; i < ranks.size(); ++i)
      expect(ranks[i] == p.ranks[i], "%s: rank %zu is %d, not %d", p.name.c_str(), i, ranks[i], p.ranks[i]);
  }
  if (has_constants(p.metric.transform)) {
    bool any = false;
    const std::vector<RowConstants> constants = device.constants();
    for (std::size_t i = 0; i < constants.size(); ++i) {
      const RowConstants &a = constants[i], &b = p.constants[i];
      expect(bits(a.mean) == bits(b.mean) && bits(a.scale_a) == bits(b.scale_a) && bits(a.scale_b) == bits(b.scale_b) &&
                 bits(a.factor) == bits(b.factor),
             "%s: row %zu has %a %a %a %a, not %a %a %a %a", p.name.c_str(), i, a.mean, a.scale_a, a.scale_b, a.factor,
             b.mean, b.scale_a, b.scale_b, b.factor);
      any = any || p.directionless(static_cast<std::int64_t>(i));
    }
    expect((findings.any_directionless != 0) == any, "%s: any_directionless", p.name.c_str());
  }
  // All rows, and some by number.
  Array<double> u(p.rows * p.dim);
  load_canonical(device.view(), nullptr, 0, p.rows, u.get(), nullptr);
  std::vector<double> got = u.values();
  for (std::size_t i = 0; i < got.size(); ++i)
    expect(bits(got[i]) == bits(p.u[i]), "%s: u %zu is %a, not %a", p.name.c_str(), i, got[i], p.u[i]);
  const std::vector<std::int64_t> numbers = {p.rows - 1, 0, p.rows / 2};
  const Array<std::int64_t> list(numbers);
  load_canonical(device.view(), list.get(), 0, list.size(), u.get(), nullptr);
  got = u.values();
  for (std::size_t i = 0; i < numbers.size(); ++i)
    for (std::int64_t t = 0; t < p.dim; ++t)
      expect(bits(got[i * static_cast<std::size_t>(p.dim) + static_cast<std::size_t>(t)]) ==
                 bits(p.row(numbers[i])[static_cast<std::size_t>(t)]),
             "%s: listed row %zu", p.name.c_str(), i);
}

// Plants values in fp64 rows and compares what is found first.
void refusals_name_the_first_place(const char* name, std::int64_t dim) {
  const Metric metric = find_metric(name, 3);
  struct Plant {
    std::int64_t row, col;
    double value;
  };
  const double limit = largest_magnitude(metric, dim), nan = std::numeric_limits<double>::quiet_NaN();
  const std::vector<Plant> plants = {{40, dim - 1, nan}, {7, 0, -1.0}, {7, dim - 1, -limit}, {30, dim / 2, limit}};
  for (std::size_t skip = 0; skip <= plants.size(); ++skip) {
    Points p = make_points(metric, KNNG_F64, 64, dim, 5);
    for (std::size_t i = skip; i < plants.size(); ++i) {
      double value = plants[i].value;
      if (std::fabs(value) == limit) value = std::nextafter(value, value * INFINITY);  // infinite beyond DBL_MAX
      p.values[static_cast<std::size_t>(plants[i].row * dim + plants[i].col)] = value;
    }
    unsigned long long invalid = PrepareFindings::kNothing, refused = PrepareFindings::kNothing;
    for (std::int64_t i = 0; i < p.rows; ++i)
      for (std::int64_t t = 0; t < dim; ++t) {
        const double x = p.values[static_cast<std::size_t>(i * dim + t)];
        std::memcpy(p.stored.data() + static_cast<std::size_t>(i * p.row_stride + t) * sizeof x, &x, sizeof x);
        const auto place = static_cast<unsigned long long>(i * (dim + 1) + t);
        if (!std::isfinite(x)) invalid = std::min(invalid, place);
        if (std::fabs(x) > limit || (x < 0 && refuses_negative(metric.transform))) refused = std::min(refused, place);
      }
    const PrepareFindings found = DevicePoints(p).findings();
    expect(found.first_invalid == invalid, "%s x %lld, %zu: invalid at %llu, not %llu", name,
           static_cast<long long>(dim), skip, found.first_invalid, invalid);
    expect(found.first_refused == refused, "%s x %lld, %zu: refused at %llu, not %llu", name,
           static_cast<long long>(dim), skip, found.first_refused, refused);
  }
}

void a_sum_of_zero_is_refused() {
  Points p = make_points(find_metric("jensenshannon", 0), KNNG_F32, 20, 35, 6);
  for (const std::int64_t row : {19, 11})
    std::memset(p.stored.data() + static_cast<std::size_t>(row * p.row_stride) * 4, 0, 35 * 4);
  expect(DevicePoints(p).findings().first_refused == 11 * 36 + 35, "a row of zeros has no shares");
}

}  // namespace
}  // namespace libknng::cuda::test

int main() {
  using namespace libknng;
  using namespace libknng::cuda::test;
  gpu::need_device();
  log_and_pow_have_frozen_bits();
  roots_of_all_floats_are_rounded_correctly();
  int cases = 0;
  for (const Metric& metric : all_metrics())
    for (const std::int32_t dtype : all_dtypes())
      for (const std::int64_t dim : all_dims()) {
        rows_have_the_hosts_bits(make_points(metric, dtype, 37, dim, 1, dim == 33 ? 2 : 1));
        ++cases;
      }
  // Ranks beyond shared memory, and beyond 16 bits.
  for (const std::int32_t dtype : {KNNG_F32, KNNG_F64})
    for (const std::int64_t dim : {4096, 4097, 10'000, 40'000}) {
      if (small_run() && dim > 4097) continue;
      rows_have_the_hosts_bits(make_points(find_metric("spearman", 0), dtype, 19, dim, 2));
      ++cases;
    }
  for (const std::int64_t dim : {1, 33, 100})
    for (const char* name :
         {"euclidean", "cosine", "correlation", "hellinger", "minkowski", "inner_product", "canberra"})
      refusals_name_the_first_place(name, dim);
  a_sum_of_zero_is_refused();
  std::printf("canonical rows: %d cases have the host's bits\n", cases);
  return gpu::result();
}

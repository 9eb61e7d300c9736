// Equal rows put back on the device, against all members sorted on the host: keys tied within groups, between them and
// at the end of a list, groups of one row and of nearly all, lists in several parts; and a stop between these.
#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <random>
#include <utility>
#include <vector>

#include "backend/cuda/base/memory.cuh"
#include "backend/cuda/result/duplicate_expansion.cuh"
#include "gpu.cuh"
#include "metric/metric.h"

using namespace libknng;

namespace {

struct Case {
  std::int64_t rows, groups, k;
  int levels;          // how many keys there are; 0: each pair of groups has its own
  bool zero;           // whether one of them is 0, as within a group
  bool uneven;         // half of the rows are in one group
  const char* metric;  // for its report
  std::int32_t value_dtype;
  bool self_first, similarity, large;  // large: a key beyond fp32
};

// Groups, numbered by their first members.
struct Equal {
  std::vector<std::int64_t> group, starts, members;
};

Equal random_groups(const Case& c, std::mt19937& random) {
  const auto n = static_cast<std::size_t>(c.rows), g = static_cast<std::size_t>(c.groups);
  std::vector<std::size_t> kind(n);
  for (std::size_t i = 0; i < n; ++i) kind[i] = i < g ? i : c.uneven && random() % 2 ? 0 : random() % g;
  std::shuffle(kind.begin(), kind.end(), random);
  Equal e;
  std::vector<std::int64_t> number(g, -1);
  std::int64_t known = 0;
  for (const std::size_t of : kind) {
    if (number[of] < 0) number[of] = known++;
    e.group.push_back(number[of]);
  }
  e.members.resize(n);
  std::iota(e.members.begin(), e.members.end(), 0);
  std::stable_sort(e.members.begin(), e.members.end(), [&](std::int64_t a, std::int64_t b) {
    return e.group[static_cast<std::size_t>(a)] < e.group[static_cast<std::size_t>(b)];
  });
  e.starts.assign(g + 1, 0);
  for (const std::int64_t of : e.group) ++e.starts[static_cast<std::size_t>(of) + 1];
  std::partial_sum(e.starts.begin(), e.starts.end(), e.starts.begin());
  return e;
}

// Of all pairs of groups, groups x groups.
std::vector<double> random_keys(const Case& c, std::mt19937& random) {
  const auto g = static_cast<std::size_t>(c.groups);
  std::uniform_real_distribution<double> uniform(0.1, 0.9);
  std::vector<double> levels(static_cast<std::size_t>(std::max(c.levels, 1)));
  for (double& level : levels) level = uniform(random);
  if (c.large) levels.back() = 1e300;
  if (c.zero) levels.front() = 0;
  std::vector<double> keys(g * g);
  for (std::size_t i = 0; i < g; ++i)
    for (std::size_t j = 0; j < i; ++j)
      keys[i * g + j] = keys[j * g + i] = c.levels == 0 ? uniform(random) : levels[random() % levels.size()];
  return keys;
}

std::int32_t never(const void*) { return 0; }
// So many times.
std::int32_t after_some(const void* left) { return --*const_cast<int*>(static_cast<const int*>(left)) < 0; }

bool same_bits(double a, double b) {
  return std::signbit(a) == std::signbit(b) && (a == b || (std::isnan(a) && std::isnan(b)));
}

void test(const Case& c, std::mt19937& random, bool stopped = false) {
  const auto g = static_cast<std::size_t>(c.groups), k = static_cast<std::size_t>(c.k);
  const Equal equal = random_groups(c, random);
  const std::vector<double> keys = random_keys(c, random);
  const std::size_t listed = std::min(k + 1, g - 1);
  std::vector<std::int64_t> near_ids;
  std::vector<double> near_keys;
  std::vector<std::pair<double, std::int64_t>> others;
  for (std::size_t i = 0; i < g; ++i) {
    others.clear();
    for (std::size_t j = 0; j < g; ++j)
      if (j != i) others.emplace_back(keys[i * g + j], j);
    std::sort(others.begin(), others.end());
    for (std::size_t t = 0; t < listed; ++t) {
      near_keys.push_back(others[t].first);
      near_ids.push_back(others[t].second);
    }
  }

  const std::size_t width = k + c.self_first, n = static_cast<std::size_t>(c.rows);
  const std::size_t value_bytes = c.value_dtype == KNNG_F64 ? 8 : 4;
  const gpu::Array<std::int64_t> device_near_ids(near_ids), ids(n * width);
  const gpu::Array<double> device_near_keys(near_keys);
  gpu::Array<std::byte> values(n * width * value_bytes);
  values.poison();
  const Metric metric = find_metric(c.metric, 3);
  knng_backend_expansion e{};
  e.rows = c.rows;
  e.groups = c.groups;
  e.group = equal.group.data();
  e.starts = equal.starts.data();
  e.members = equal.members.data();
  e.listed = static_cast<std::int64_t>(listed);
  if (listed > 0) {
    e.ids = device_near_ids.get();
    e.keys = device_near_keys.get();
  }
  e.k = c.k;
  e.self_first = c.self_first;
  e.value_dtype = c.value_dtype;
  e.metric = {static_cast<std::int32_t>(metric.transform),
              static_cast<std::int32_t>(metric.term),
              static_cast<std::int32_t>(metric.report),
              c.similarity,
              metric.scale,
              metric.p,
              0};
  e.cancelled = &never;
  std::vector<std::uint8_t> ties(n, 77);
  knng_backend_result result{};
  result.ids = ids.get();
  result.values = values.get();
  result.ties = ties.data();
  result.too_large = INT64_MAX;
  gpu::check(cudaDeviceSynchronize());
  if (stopped) {
    int asked = 4;  // three times for what is uploaded
    e.cancelled = &after_some;
    e.cancellation = &asked;
    bool cancelled = false;
    try {
      cuda::expand(e, result);
    } catch (const cuda::Cancelled&) {
      cancelled = true;
    }
    gpu::expect(cancelled && asked == -1, "a stop was not noticed");
    return;
  }
  cuda::expand(e, result);

  const std::vector<std::int64_t> got_ids = ids.values();
  const std::vector<std::byte> got_values = values.values();
  const auto got = [&](std::size_t entry) {
    return c.value_dtype == KNNG_F64 ? reinterpret_cast<const double*>(got_values.data())[entry]
                                     : static_cast<double>(reinterpret_cast<const float*>(got_values.data())[entry]);
  };
  const auto reported = [&](double key) {
    const double value = reported_value(metric, key, c.similarity);
    return c.value_dtype == KNNG_F64 ? value : static_cast<double>(static_cast<float>(value));
  };
  std::int64_t too_large = INT64_MAX;
  std::vector<std::pair<double, std::int64_t>> all;
  const std::size_t wanted = std::min(k + 1, n - 1);
  for (std::size_t i = 0; i < n; ++i) {
    all.clear();
    const auto own = static_cast<std::size_t>(equal.group[i]);
    for (std::size_t j = 0; j < n; ++j)
      if (j != i) all.emplace_back(keys[own * g + static_cast<std::size_t>(equal.group[j])], j);
    std::partial_sort(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(wanted), all.end());
    bool same = true;
    if (c.self_first)
      same = got_ids[i * width] == static_cast<std::int64_t>(i) && same_bits(got(i * width), reported(0));
    for (std::size_t t = 0; t < k; ++t) {
      const std::size_t entry = i * width + c.self_first + t;
      const double value = reported(all[t].first);
      if (!std::isfinite(value)) too_large = std::min(too_large, static_cast<std::int64_t>(i));
      same = same && got_ids[entry] == all[t].second && same_bits(got(entry), value);
    }
    const std::uint8_t tied = wanted > k && all[k].first == all[k - 1].first;
    gpu::expect(same, "%s n=%lld groups=%lld k=%lld levels=%d: row %zu differs", c.metric,
                static_cast<long long>(c.rows), static_cast<long long>(c.groups), static_cast<long long>(c.k), c.levels,
                i);
    gpu::expect(ties[i] == tied, "n=%lld groups=%lld k=%lld levels=%d: row %zu has ties %d",
                static_cast<long long>(c.rows), static_cast<long long>(c.groups), static_cast<long long>(c.k), c.levels,
                i, ties[i]);
  }
  gpu::expect(result.too_large == too_large, "too large is %lld, not %lld", static_cast<long long>(result.too_large),
              static_cast<long long>(too_large));
}

}  // namespace

int main() {
  gpu::need_device();
  std::mt19937 random(29);
  const std::int64_t n = small_run() ? 120 : 700;
  for (const std::int64_t groups : {std::int64_t{1}, std::int64_t{2}, n / 20, n / 3, n - n / 8})
    for (const std::int64_t k : {std::int64_t{1}, std::int64_t{9}, n / 10, n / 4, n - 2, n - 1}) {
      const bool odd = (groups + k) % 2;
      test({n, groups, k, 0, false, odd, "euclidean", KNNG_F32, !odd, false, false}, random);
      test({n, groups, k, 1, odd, !odd, "sqeuclidean", KNNG_F64, odd, false, false}, random);
      test({n, groups, k, 2, true, odd, "cosine", KNNG_F32, odd, odd, false}, random);
      if (small_run()) continue;
      test({n, groups, k, 3, false, !odd, "manhattan", KNNG_F32, odd, false, odd}, random);
      test({n, groups, k, 5, true, odd, "minkowski", KNNG_F64, !odd, false, false}, random);
    }
  // Several parts, the last of them shorter.
  const std::int64_t many = small_run() ? 2500 : 5000;
  test({many, many / 4, many / 2, 3, true, true, "euclidean", KNNG_F32, true, false, false}, random);
  test({many, many / 4, many / 2, 3, true, true, "euclidean", KNNG_F32, true, false, false}, random, true);
  if (!small_run()) {
    test({many, many / 2, many - 1, 0, false, false, "euclidean", KNNG_F64, false, false, false}, random);
    test({many, many / 5, 3 * many / 4, 200, true, false, "sqeuclidean", KNNG_F32, false, false, true}, random);
    test({30000, 300, 128, 4, true, true, "euclidean", KNNG_F32, false, false, false}, random);
    test({30000, 300, 127, 4, true, true, "euclidean", KNNG_F32, false, false, false}, random);
  }
  return gpu::result();
}

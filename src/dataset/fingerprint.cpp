#include "dataset/fingerprint.h"

#include <omp.h>

#include <algorithm>
#include <cstdio>
#include <cstring>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "core/float_env.h"

namespace libknng {
namespace {

struct RowHash {
  std::uint64_t hash;
  std::int64_t row;
};

void load_normalised(const Dataset& data, std::int64_t row, double* out) noexcept {
  data.load(row, out);
  for (std::int64_t t = 0; t < data.dim(); ++t) out[t] += 0.0;  // -0 + 0 = +0
}

}  // namespace

std::int64_t fingerprint_bytes(std::int64_t rows, std::int64_t dim, int threads) {
  const std::int64_t scratch = checked_mul(dim, 8 * std::max<std::int64_t>(threads, 2), "rows");
  return checked_add(checked_mul(rows, sizeof(RowHash), "rows"), scratch, "rows");
}

Fingerprint fingerprint(const Dataset& data, int threads, Budget* budget, Monitor& monitor) {
  const std::int64_t n = data.rows(), d = data.dim();
  const auto bytes = static_cast<std::size_t>(d) * sizeof(double);
  Buffer<RowHash> hashes(n, budget);
  Buffer<double> scratch(d * std::max(threads, 2), budget);

#pragma omp parallel num_threads(threads)
  {
    const FloatEnv env;
    double* x = scratch.data() + omp_get_thread_num() * d;
#pragma omp for schedule(dynamic, 64)
    for (std::int64_t i = 0; i < n; ++i) {
      if (monitor.stopped()) continue;
      load_normalised(data, i, x);
      hashes[i] = {XXH3_64bits(x, bytes), i};
      monitor.advance(1);
    }
  }
  monitor.check();

  XXH3_state_t state;
  XXH3_128bits_reset(&state);
  const std::int64_t shape[2] = {n, d};
  XXH3_128bits_update(&state, shape, sizeof shape);
  for (const RowHash& h : hashes) XXH3_128bits_update(&state, &h.hash, sizeof h.hash);
  const XXH128_hash_t digest = XXH3_128bits_digest(&state);
  char text[33];
  std::snprintf(text, sizeof text, "%016llx%016llx", static_cast<unsigned long long>(digest.high64),
                static_cast<unsigned long long>(digest.low64));

  Fingerprint result{text, 0};
  std::sort(hashes.begin(), hashes.end(),
            [](const RowHash& a, const RowHash& b) { return a.hash < b.hash || (a.hash == b.hash && a.row < b.row); });
  double* x = scratch.data();
  double* y = scratch.data() + d;
  for (std::int64_t first = 0; first < n;) {
    std::int64_t last = first + 1;
    while (last < n && hashes[last].hash == hashes[first].hash) ++last;
    // Equal hashes are nearly always equal rows; compare to be sure.
    for (std::int64_t i = first + 1; i < last; ++i) {
      load_normalised(data, hashes[i].row, x);
      for (std::int64_t j = first; j < i; ++j) {
        load_normalised(data, hashes[j].row, y);
        if (std::memcmp(x, y, bytes) != 0) continue;
        ++result.duplicates;
        break;
      }
    }
    first = last;
    if (monitor.stopped()) monitor.check();
  }
  return result;
}

}  // namespace libknng

#include "dataset/fingerprint.h"

#include <omp.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstring>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "core/first_failure.h"
#include "core/float_env.h"

namespace libknng {
namespace {

struct RowHash {
  std::uint64_t hash;
  std::int64_t row;
};

// Rows that a thread hashes before it reports.
constexpr std::int64_t kTogether = 256;
// Hashes are cut into 2^kCuts pieces by their first bits, each for one thread to sort.
constexpr int kCuts = 6;
constexpr std::size_t kPieces = std::size_t{1} << kCuts;

void normalise(double* values, std::int64_t dim) noexcept {
  for (std::int64_t t = 0; t < dim; ++t) values[t] += 0.0;  // -0 + 0 = +0
}

void load_normalised(const Dataset& data, std::int64_t row, double* out) {
  data.load(row, out);
  normalise(out, data.dim());
}

// Brings hashes with the same first bits together; returns where the pieces begin, and the end.
std::array<std::int64_t, kPieces + 1> cut(Buffer<RowHash>& hashes, int threads) {
  std::array<std::int64_t, kPieces + 1> begins{};
  begins.back() = hashes.size();
  for (int level = 0; level < kCuts; ++level) {
    const std::size_t step = kPieces >> level;
    const std::uint64_t bit = std::uint64_t{1} << (63 - level);
#pragma omp parallel for schedule(dynamic, 1) num_threads(threads)
    for (std::size_t piece = 0; piece < kPieces; piece += step) {
      const auto middle = std::partition(hashes.begin() + begins[piece], hashes.begin() + begins[piece + step],
                                         [bit](const RowHash& h) { return (h.hash & bit) == 0; });
      begins[piece + step / 2] = middle - hashes.begin();
    }
  }
  return begins;
}

// Sorts hashes [first, end), among which are all that equal one of them, and puts in place of each the first row that
// equals its row. Returns how many rows equal an earlier one. x, y: scratch.
std::int64_t count_duplicates(const Dataset& data, Buffer<RowHash>& hashes, std::int64_t first, std::int64_t end,
                              double* x, double* y, const Monitor& monitor) {
  std::sort(hashes.begin() + first, hashes.begin() + end,
            [](const RowHash& a, const RowHash& b) { return a.hash < b.hash || (a.hash == b.hash && a.row < b.row); });
  const auto bytes = static_cast<std::size_t>(data.dim()) * sizeof(double);
  std::int64_t duplicates = 0;
  while (first < end) {
    std::int64_t last = first + 1;
    while (last < end && hashes[last].hash == hashes[first].hash) ++last;
    // Equal hashes are nearly always equal rows; compare to be sure.
    for (std::int64_t i = first; i < last; ++i) {
      if (i % kTogether == 0 && monitor.stopped()) return duplicates;
      hashes[i].hash = static_cast<std::uint64_t>(hashes[i].row);
      if (i > first) load_normalised(data, hashes[i].row, x);
      for (std::int64_t j = first; j < i; ++j) {
        load_normalised(data, hashes[j].row, y);
        if (std::memcmp(x, y, bytes) != 0) continue;
        ++duplicates;
        hashes[i].hash = static_cast<std::uint64_t>(hashes[j].row);
        break;
      }
    }
    first = last;
  }
  return duplicates;
}

}  // namespace

std::uint64_t row_hash(double* values, std::int64_t dim) noexcept {
  normalise(values, dim);
  return XXH3_64bits(values, static_cast<std::size_t>(dim) * sizeof(double));
}

std::int64_t fingerprint_bytes(std::int64_t rows, std::int64_t dim, int threads) {
  const std::int64_t scratch = checked_mul(dim, std::int64_t{16} * threads, "rows");
  return checked_add(checked_mul(rows, sizeof(RowHash) + sizeof(std::int64_t), "rows"), scratch, "rows");
}

Fingerprint fingerprint(const Dataset& data, int threads, Budget* budget, Monitor& monitor) {
  const std::int64_t n = data.rows(), d = data.dim();
  Buffer<RowHash> hashes(n, budget);
  Buffer<double> scratch(2 * d * threads, budget);
  FirstFailure failure;  // to read from a file

#pragma omp parallel num_threads(threads)
  {
    const FloatEnv env;
    double* x = scratch.data() + omp_get_thread_num() * d;
#pragma omp for schedule(dynamic, 1)
    for (std::int64_t first = 0; first < n; first += kTogether) {
      if (monitor.stopped() || failure.happened()) continue;
      const std::int64_t end = std::min(first + kTogether, n);
      try {
        for (std::int64_t i = first; i < end; ++i) {
          const std::uint64_t* known = data.hash(i);
          if (!known) data.load(i, x);
          hashes[i] = {known ? *known : row_hash(x, d), i};
        }
      } catch (...) {
        failure.note();
      }
      monitor.advance(static_cast<double>(end - first));
    }
  }
  monitor.check();
  failure.rethrow();

  XXH3_state_t state;
  XXH3_128bits_reset(&state);
  const std::int64_t shape[2] = {n, d};
  XXH3_128bits_update(&state, shape, sizeof shape);
  for (const RowHash& h : hashes) XXH3_128bits_update(&state, &h.hash, sizeof h.hash);
  const XXH128_hash_t digest = XXH3_128bits_digest(&state);
  char text[33];
  std::snprintf(text, sizeof text, "%016llx%016llx", static_cast<unsigned long long>(digest.high64),
                static_cast<unsigned long long>(digest.low64));

  Fingerprint result{text, 0, {}};
  const auto begins = cut(hashes, threads);
  std::int64_t duplicates = 0;
#pragma omp parallel num_threads(threads) reduction(+ : duplicates)
  {
    const FloatEnv env;
    double* x = scratch.data() + omp_get_thread_num() * 2 * d;
#pragma omp for schedule(dynamic, 1)
    for (std::size_t piece = 0; piece < kPieces; ++piece) {
      if (monitor.stopped() || failure.happened()) continue;
      try {
        duplicates += count_duplicates(data, hashes, begins[piece], begins[piece + 1], x, x + d, monitor);
      } catch (...) {
        failure.note();
      }
    }
  }
  monitor.check();
  failure.rethrow();
  result.duplicates = duplicates;
  if (duplicates > 0) {
    result.first = Buffer<std::int64_t>(n, budget);
    for (const RowHash& h : hashes) result.first[h.row] = static_cast<std::int64_t>(h.hash);
  }
  return result;
}

}  // namespace libknng

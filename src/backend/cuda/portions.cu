#include "backend/cuda/portions.cuh"

#include <algorithm>
#include <limits>
#include <string_view>

#include "backend/cuda/canonical.cuh"
#include "backend/cuda/device_properties.cuh"
#include "backend/cuda/near_rows.cuh"
#include "backend/cuda/session_memory.cuh"

namespace libknng::cuda {
namespace {

// Coordinates that a call may have to compare if no box can be left out: some tenths of a second. In up to four
// dimensions hardly any data is so, and rows of a call should be many: those that are answered together lie closer.
constexpr std::int64_t kMostCompared = std::int64_t{1} << 42, kMostComparedInFour = std::int64_t{1} << 49;
constexpr std::int64_t kFewestRows = std::int64_t{1} << 14, kMostRows = std::int64_t{1} << 24;
constexpr std::int64_t kMostEntries = std::int64_t{1} << 28;

// Of a tile, by the slowest way in which its pairs may be evaluated: some are under way when a stop comes.
constexpr double kTileSeconds = 0.05;
// What a coordinate of a pair takes of a multiprocessor: products in fp32 reach half of its 128 instructions a cycle;
// canonical terms are two instructions of fp64, or with logarithms, powers or divisions a hundred.
constexpr double kProductsACycle = 64, kInstructions = 2, kInstructionsOfHeavy = 100;

bool is_heavy(Term term) {
  bool heavy = false;
  visit_term(term, [&](auto t) { heavy = kHeavyTerm<decltype(t)>; });
  return heavy;
}

}  // namespace

std::int64_t rows_at_a_time(const knng_backend_problem& p) {
  const std::int64_t dim = p.columns.dim;
  if (std::string_view(p.engine) != "direct" || !answers_rows(static_cast<Term>(p.metric.term), dim)) return 0;
  const std::int64_t compared = (dim <= 4 ? kMostComparedInFour : kMostCompared) / (p.columns.count * dim);
  const std::int64_t rows = std::clamp(compared, kFewestRows, kMostRows);
  return std::clamp<std::int64_t>(kMostEntries / (p.k + 1), 1, rows);
}

std::int64_t pairs_at_a_time(const knng_backend_problem& p) {
  double slowest = std::numeric_limits<double>::infinity();  // coordinates a second
  const bool heavy = is_heavy(static_cast<Term>(p.metric.term));
  for (std::int64_t i = 0; i < p.device_count; ++i) {
    DeviceProperties device;
    if (find_properties(p.devices[i], device) != cudaSuccess) continue;  // found out again when it is opened
    const double canonical = device.doubles_a_cycle / (heavy ? kInstructionsOfHeavy : kInstructions);
    slowest =
        std::min(slowest, device.multiprocessors * device.clock * (has_products(p) ? kProductsACycle : canonical));
  }
  const double pairs = kTileSeconds * slowest / static_cast<double>(p.columns.dim);
  constexpr double most = 0x1p62;
  return static_cast<std::int64_t>(std::clamp(pairs, 1.0, most));
}

}  // namespace libknng::cuda

#include "backend/cuda/session/work_sizes.cuh"

#include <algorithm>

#include "backend/cuda/base/device_properties.cuh"
#include "backend/cuda/engines/engine.h"
#include "backend/cuda/session/session_memory.cuh"
#include "metric/canonical.h"

namespace libknng::cuda {
namespace {

// Coordinates that a call may have to compare if no box can be left out: some tenths of a second, after which progress
// is reported. In up to four dimensions hardly any data is so, and rows of a call should be many: those that are
// answered together lie closer. Of the entries of their lists there is one limit, for the memory that they take.
constexpr std::int64_t kMostCompared = std::int64_t{1} << 42, kMostComparedInFour = std::int64_t{1} << 49;
constexpr std::int64_t kFewestRows = std::int64_t{1} << 14, kMostRows = std::int64_t{1} << 24;
constexpr std::int64_t kMostEntries = std::int64_t{1} << 28;

// Of a tile, or of a part of keys, which costs some time where a multiprocessor has nothing else to do meanwhile: some
// are in flight when a stop comes.
constexpr double kTileSeconds = 0.05, kPartSeconds = 0.15;
// More than a tile has.
constexpr std::int64_t kMostPairs = std::int64_t{1} << 40;
// What keeps a multiprocessor busy with products and sums: smaller tiles end no sooner.
constexpr std::int64_t kFewestPairs = 2 * 128 * 128;
// Blocks of keys that do, and their pairs. Parts are whole rounds of them, since each ends before the next begins.
// Where fp64 is slow one block has its lanes busy.
constexpr int kBlocksOfKeys = 2, kBlocksWhereSlow = 1;
constexpr double kSlowDoubles = 4;
constexpr std::int64_t kBlockOfKeys = 64 * 64, kBlockOfHeavyKeys = 32 * 32;
// Rows that keep it busy while they are refined.
constexpr std::int64_t kFewestRefined = 8;

struct Device {
  explicit Device(std::int32_t device) : properties(properties_if_known(device)), known(properties.clock > 0) {}
  // That a multiprocessor gets done.
  std::int64_t pairs_of_one(const knng_backend_problem& p, int rung, double seconds) const {
    const Throughput own{properties.singles_a_cycle, properties.doubles_a_cycle};
    const double coordinates = seconds * properties.clock * engine_of(p).coordinates(p, rung, own);
    return static_cast<std::int64_t>(coordinates / static_cast<double>(p.columns.dim));
  }
  std::int64_t keys(const knng_backend_problem& p) const {
    const bool heavy = is_heavy(static_cast<Term>(p.metric.term));
    const std::int64_t blocks = properties.doubles_a_cycle <= kSlowDoubles ? kBlocksWhereSlow : kBlocksOfKeys;
    const std::int64_t round = blocks * (heavy ? kBlockOfHeavyKeys : kBlockOfKeys);
    const std::int64_t rounds = pairs_of_one(p, KNNG_RUNG_FP64, kPartSeconds) / round;
    return properties.multiprocessors * round * std::max<std::int64_t>(rounds, 1);
  }

  DeviceProperties properties;
  bool known;
};

}  // namespace

std::int64_t rows_at_a_time(const knng_backend_problem& p) {
  const std::int64_t dim = p.columns.dim;
  const std::int64_t compared = (dim <= 4 ? kMostComparedInFour : kMostCompared) / (p.columns.count * dim);
  const std::int64_t rows = std::clamp(compared, kFewestRows, kMostRows);
  return std::clamp<std::int64_t>(kMostEntries / (p.k + 1), 1, rows);
}

std::int64_t pairs_at_a_time(const knng_backend_problem& p, int rung) {
  std::int64_t least = kMostPairs;
  for (std::int64_t i = 0; i < p.device_count; ++i)
    if (const Device device(p.devices[i]); device.known)
      least = std::min(least, device.properties.multiprocessors *
                                  std::max(device.pairs_of_one(p, rung, kTileSeconds), kFewestPairs));
  return least;
}

double tiles_at_a_time(const knng_backend_problem& p, int rung, int device) {
  const Device own(device);
  if (!own.known) return static_cast<double>(kMostPairs);
  const auto pairs = static_cast<double>(own.properties.multiprocessors * own.pairs_of_one(p, rung, kTileSeconds));
  return pairs / static_cast<double>(p.tile_rows) / static_cast<double>(p.tile_cols);
}

std::int64_t keys_at_a_time(const knng_backend_problem& p, int device) {
  const Device own(device);
  return own.known ? own.keys(p) : kMostPairs;
}

std::int64_t refined_at_a_time(const knng_backend_problem& p, int device) {
  const Device own(device);
  if (!own.known) return p.rows.count;
  return std::max(own.keys(p) / p.capacity, own.properties.multiprocessors * kFewestRefined);
}

}  // namespace libknng::cuda

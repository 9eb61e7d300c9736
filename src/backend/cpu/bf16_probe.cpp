#include "backend/cpu/bf16_probe.h"

#include <array>
#include <atomic>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "backend/cpu/bf16_tile.h"
#include "core/division.h"
#include "refine/unit_probe.h"

namespace libknng {
namespace {

// So many that an order of its own would show, and few, in which one rounding does. Not all whole steps of a tile.
constexpr std::array<std::int64_t, 3> kLengths = {48, 250, 1024};

// The products of each probe's operands: points laid out as the tile reads them (bf16_tile.h), of which every pair
// survives on its row's side.
std::vector<float> products(const FilterTile& tile, std::span<const Probe> probes, std::int64_t terms) {
  const auto n = static_cast<std::int64_t>(probes.size());
  const std::int64_t depth = bf16_depth(terms), padded = round_up(n, kFilterPanel);
  std::vector<std::uint16_t> rows(static_cast<std::size_t>((padded + kBf16RowsBehind) * depth)),
      columns(static_cast<std::size_t>(padded * depth));
  const auto bits = [](float x) { return static_cast<std::uint16_t>(std::bit_cast<std::uint32_t>(x) >> 16); };
  for (std::int64_t i = 0; i < n; ++i)
    for (std::int64_t t = 0; t < terms; ++t) {
      const Probe& probe = probes[static_cast<std::size_t>(i)];
      rows[static_cast<std::size_t>(i * depth + t)] = bits(probe.a[static_cast<std::size_t>(t)]);
      columns[static_cast<std::size_t>(i / kFilterPanel * kFilterPanel * depth +
                                       (t / 2 * kFilterPanel + i % kFilterPanel) * 2 + t % 2)] =
          bits(probe.b[static_cast<std::size_t>(t)]);
    }
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  const std::vector<float> halves(static_cast<std::size_t>(padded)), all(halves.size(), -kInfinity),
      none(halves.size(), kInfinity);
  std::vector<FilterSurvivor> survivors(static_cast<std::size_t>(n * padded));
  FilterStrip strip;
  strip.rows = rows.data();
  strip.columns = columns.data();
  strip.row_count = strip.column_count = n;
  strip.dim = terms;
  strip.row_half = strip.column_half = halves.data();
  strip.row_threshold = all.data();
  strip.column_threshold = none.data();
  strip.survivors = survivors.data();
  strip.capacity = static_cast<std::int64_t>(survivors.size());
  std::vector<float> found(probes.size(), NAN);  // which no pair survives with
  const FilterProgress done = tile.run(strip, 0);
  for (const FilterSurvivor& pair : std::span(survivors).first(static_cast<std::size_t>(done.survivors)))
    if (pair.row == pair.column) found[static_cast<std::size_t>(pair.row)] = pair.product;
  return found;
}

}  // namespace

std::string objection_to_bf16(const FilterTile& tile) {
  for (const std::int64_t terms : kLengths) {
    const std::vector<Probe> probes = bf16_probes(terms, tile.unit(terms));
    const std::vector<float> found = products(tile, probes, terms);
    for (std::size_t i = 0; i < probes.size(); ++i)
      if (const std::string text = objection_to(static_cast<double>(found[i]), probes[i]); !text.empty())
        return std::string("products of ") + tile.target + ", " + text + " (" + std::to_string(terms) + " terms)";
  }
  return {};
}

std::string known_objection_to_bf16(const FilterTile& tile) {
  static std::atomic<const FilterTile*> agrees{nullptr};  // a process uses one
  if (agrees.load() == &tile) return {};
  std::string objection = objection_to_bf16(tile);
  if (objection.empty()) agrees.store(&tile);
  return objection;
}

}  // namespace libknng

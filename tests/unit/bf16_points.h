// Points of given values as operands in bfloat16, laid out as bf16_tile.h says.
#pragma once

#include <bit>
#include <vector>

#include "backend/cpu/matrix_tiles.h"
#include "core/division.h"
#include "core/error.h"
#include "prepare/filter_panel.h"

struct Bf16Points {
  // Values must be bfloat16 already.
  explicit Bf16Points(const std::vector<std::vector<float>>& points)
      : dim(static_cast<std::int64_t>(points[0].size())) {
    using libknng::kFilterPanel;
    const std::int64_t depth = libknng::bf16_depth(dim), n = static_cast<std::int64_t>(points.size());
    const std::int64_t padded = libknng::round_up(n, kFilterPanel);
    rows.resize(static_cast<std::size_t>((padded + libknng::kBf16RowsBehind) * depth));
    panels.resize(static_cast<std::size_t>(padded * depth));
    for (std::int64_t i = 0; i < n; ++i)
      for (std::int64_t t = 0; t < dim; ++t) {
        const float value = points[static_cast<std::size_t>(i)][static_cast<std::size_t>(t)];
        const auto bits = static_cast<std::uint16_t>(std::bit_cast<std::uint32_t>(value) >> 16);
        rows[static_cast<std::size_t>(i * depth + t)] = bits;
        panels[static_cast<std::size_t>(i / kFilterPanel * kFilterPanel * depth +
                                        (t / 2 * kFilterPanel + i % kFilterPanel) * 2 + t % 2)] = bits;
      }
  }
  std::int64_t dim;
  std::vector<std::uint16_t> rows, panels;
};

// So that tests reach the processor's matrix tiles, if it has them.
inline void ask_for_matrix_tiles() {
  try {
    libknng::use_matrix_tiles();
  } catch (const libknng::Error&) {
  }
}

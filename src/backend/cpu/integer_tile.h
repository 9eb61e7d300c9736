// The filter tile for 8-bit integers: products are exact, so keys are, and what survives needs no evaluation. For
// processors with byte products (AVX-512 VNNI). Knows nothing of metrics, lists or threads.
#pragma once

#include <cstdint>

#include "prepare/filter_panel.h"

namespace libknng {

struct IntegerSurvivor {
  std::int32_t key;
  std::int32_t row, column;  // places within the strip and the block
};

// As FilterStrip, with key(i, j) = row_part[i] + column_part[j] - product, or - 2 product if `twice`. The pair survives
// if its key is at most row_cutoff[i] or column_cutoff[j].
struct IntegerStrip {
  const std::uint8_t* rows;    // panels of all points
  const std::int8_t* columns;  // panels of all points
  std::int64_t first_row = 0, row_count = 0;
  std::int64_t first_column = 0, column_count = 0;
  std::int64_t groups = 0;  // of four coordinates
  bool twice = true;
  const std::int32_t* row_part;       // of all points
  const std::int32_t* column_part;    // of all points
  const std::int32_t* row_cutoff;     // by point - first_row rounded down to a panel; INT32_MIN takes nothing
  const std::int32_t* column_cutoff;  // likewise
  bool square = false;
  IntegerSurvivor* survivors;
  std::int64_t capacity = 0;
};

struct IntegerProgress {
  std::int64_t next_column_panel;
  std::int64_t survivors;
};

using IntegerFunction = IntegerProgress(const IntegerStrip& strip, std::int64_t first_column_panel);

// nullptr if this processor has no byte products.
IntegerFunction* integer_tile();

}  // namespace libknng

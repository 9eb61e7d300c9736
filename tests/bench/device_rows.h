// Rows in the memory of the first CUDA device, for builds that begin there. Knows nothing of libknng but the matrix.
#pragma once

#include <knng.h>

#include <memory>

namespace bench {

// Packed rows, copied there; `memory` holds them. Throws std::runtime_error, also where this program is without CUDA.
struct DeviceRows {
  explicit DeviceRows(const knng_matrix& rows);
  std::shared_ptr<void> memory;
  knng_matrix view;
};

}  // namespace bench

// Lists held against all keys of their rows: a list is right if its keys ascend and no other column that the row may
// get comes before its last. Knows nothing of how keys or lists were made.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "backend/seam.h"
#include "core/admission.h"
#include "metric/metric.h"

namespace libknng::cuda {

// Of a row, on the device, what all its keys say of the list.
struct KeyCounts {
  unsigned long long before;  // columns before the last of the list, in the order of (key, id)
  unsigned long long equal;   // columns with that one's key
};

struct ListCheckJob {
  const double* keys = nullptr;  // of each row with all columns: rows x columns
  std::int64_t count = 0, columns = 0, k = 0;
  std::int64_t width = 0;              // of a list: k, or k + 1 with the row itself in front
  const std::int64_t* rows = nullptr;  // of the problem
  Admission admission;                 // by row of the problem
  const std::int64_t* ids = nullptr;   // of the lists
  double* listed = nullptr;            // keys of the lists, NaN where an id is none
  KeyCounts* counts = nullptr;         // by row
};

// Fills in `listed` and `counts`. Asynchronous.
void count_keys(const ListCheckJob& job, cudaStream_t stream);

// What a list says, on the host.
struct ListClaim {
  const std::int64_t* ids;  // width
  const void* values;       // of the problem's type
  bool tied;
  RowAdmission admission;
};

// Whether it is what the keys of its entries and the counts say. listed: width keys.
bool is_right(const knng_backend_problem& p, const Metric& metric, const ListClaim& claim, const double* listed,
              const KeyCounts& counts);

}  // namespace libknng::cuda

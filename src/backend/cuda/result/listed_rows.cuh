// Lists of rows that lie anywhere in a result, and one behind the other elsewhere. Knows nothing of what is in them.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>

namespace libknng::cuda {

// Of each row `width` ids and `value_bytes` bytes of values, in device memory that kernels of this device reach.
struct ListedRows {
  const std::int64_t* rows = nullptr;
  std::int64_t count = 0, width = 0, value_bytes = 0;
};

// From a result, whose row 0 is at its begin, to lists one behind the other. Asynchronous.
void gather_lists(const ListedRows& listed, const std::int64_t* ids, const std::byte* values, std::int64_t* to_ids,
                  std::byte* to_values, cudaStream_t stream);
// The other way, of those alone that are wanted: by place, not 0.
void scatter_lists(const ListedRows& listed, const std::uint8_t* wanted, const std::int64_t* ids,
                   const std::byte* values, std::int64_t* to_ids, std::byte* to_values, cudaStream_t stream);

}  // namespace libknng::cuda

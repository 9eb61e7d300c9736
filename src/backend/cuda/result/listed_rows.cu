#include "backend/cuda/result/listed_rows.cuh"

#include "backend/cuda/base/check.cuh"

namespace libknng::cuda {
namespace {

constexpr int kThreads = 256;

// A block a row.
template <bool kScatters>
__global__ void move_lists(ListedRows listed, const std::uint8_t* wanted, const std::int64_t* ids,
                           const std::byte* values, std::int64_t* to_ids, std::byte* to_values) {
  const std::int64_t place = blockIdx.x, row = listed.rows[place];
  if (wanted && wanted[place] == 0) return;
  const std::int64_t from = kScatters ? place : row, to = kScatters ? row : place;
  for (std::int64_t t = threadIdx.x; t < listed.width; t += kThreads)
    to_ids[to * listed.width + t] = ids[from * listed.width + t];
  for (std::int64_t t = threadIdx.x; t < listed.value_bytes; t += kThreads)
    to_values[to * listed.value_bytes + t] = values[from * listed.value_bytes + t];
}

}  // namespace

void gather_lists(const ListedRows& listed, const std::int64_t* ids, const std::byte* values, std::int64_t* to_ids,
                  std::byte* to_values, cudaStream_t stream) {
  if (listed.count == 0) return;
  move_lists<false>
      <<<static_cast<unsigned>(listed.count), kThreads, 0, stream>>>(listed, nullptr, ids, values, to_ids, to_values);
  check_launch();
}

void scatter_lists(const ListedRows& listed, const std::uint8_t* wanted, const std::int64_t* ids,
                   const std::byte* values, std::int64_t* to_ids, std::byte* to_values, cudaStream_t stream) {
  if (listed.count == 0) return;
  move_lists<true>
      <<<static_cast<unsigned>(listed.count), kThreads, 0, stream>>>(listed, wanted, ids, values, to_ids, to_values);
  check_launch();
}

}  // namespace libknng::cuda

#include "backend/cuda/tree/hilbert_order.cuh"

#include <cub/device/device_radix_sort.cuh>

#include "backend/cuda/base/blocks.cuh"
#include "backend/cuda/base/check.cuh"
#include "backend/cuda/base/sort_space.cuh"
#include "backend/cuda/base/workspace.cuh"

namespace libknng::cuda {
namespace {

constexpr int kThreads = 256;

__global__ void find_codes(HilbertGrid grid, const double* u, const RowConstants* constants, std::int64_t first,
                           std::int64_t count, std::uint64_t* codes, std::uint32_t* numbers,
                           unsigned long long* without) {
  const std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * kThreads + threadIdx.x;
  if (i >= count) return;
  const bool directionless = constants && constants[i].factor == 0;
  codes[first + i] = directionless ? kNoCode : hilbert_code(grid, u + i * grid.dim);
  numbers[first + i] = static_cast<std::uint32_t>(first + i);
  if (directionless && without) atomicAdd(without, 1ull);
}

using Codes = cub::DoubleBuffer<std::uint64_t>;
using Numbers = cub::DoubleBuffer<std::uint32_t>;

void sort_pairs(void* temporary, std::size_t& bytes, Codes& codes, Numbers& numbers, std::int64_t count,
                cudaStream_t stream) {
  check(cub::DeviceRadixSort::SortPairs(temporary, bytes, codes, numbers, count, 0, 64, stream));
}

}  // namespace

HilbertOrder::HilbertOrder(std::int64_t count, void* memory) {
  Workspace space(memory);
  for (int i = 0; i < 2; ++i) {
    codes_[i] = space.take<std::uint64_t>(count);
    numbers_[i] = space.take<std::uint32_t>(count);
  }
  temporary_bytes_ = sort_bytes(count);
  temporary_ = space.take<unsigned char>(temporary_bytes_);
  used_ = space.used();
}

std::int64_t HilbertOrder::bytes(std::int64_t count) { return HilbertOrder(count, nullptr).used_; }

void HilbertOrder::encode(const HilbertGrid& grid, const double* u, const RowConstants* constants, std::int64_t first,
                          std::int64_t count, unsigned long long* without, cudaStream_t stream) const {
  if (count == 0) return;
  const auto blocks = blocks_for(count, kThreads);
  find_codes<<<blocks, kThreads, 0, stream>>>(grid, u, constants, first, count, codes_[0], numbers_[0], without);
  check_launch();
}

SortedCodes HilbertOrder::sort(std::int64_t count, cudaStream_t stream) const {
  Codes codes(codes_[0], codes_[1]);
  Numbers numbers(numbers_[0], numbers_[1]);
  std::size_t bytes = 0;
  sort_pairs(nullptr, bytes, codes, numbers, count, stream);
  require_sort_fits(bytes, temporary_bytes_);
  sort_pairs(temporary_, bytes, codes, numbers, count, stream);
  return {codes.Current(), numbers.Current()};
}

}  // namespace libknng::cuda

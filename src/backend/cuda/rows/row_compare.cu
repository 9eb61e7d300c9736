#include "backend/cuda/rows/row_compare.cuh"

#include "backend/cuda/base/blocks.cuh"
#include "backend/cuda/base/check.cuh"
#include "backend/cuda/rows/canonical.cuh"
#include "backend/cuda/rows/row_source.cuh"

namespace libknng::cuda {
namespace {

constexpr int kThreads = 256;
constexpr int kWarpsPerBlock = kThreads / kCanonicalLanes;

// One warp a pair. Values are valid, and 0 == -0.
template <class T>
__global__ void __launch_bounds__(kThreads)
    compare_kernel(std::int32_t dtype, const RowPair* pairs, std::int64_t count, std::int64_t dim, std::uint8_t* same) {
  const std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * kWarpsPerBlock + threadIdx.x / kCanonicalLanes;
  if (i >= count) return;
  const int lane = static_cast<int>(threadIdx.x) % kCanonicalLanes;
  const RowPair rows = pairs[i];
  const SourceRow<T, Transform::identity> x{elements<T>(rows.a, dtype), {rows.stride_of_a}, {}},
      y{elements<T>(rows.b, dtype), {rows.stride_of_b}, {}};
  bool equal = true;
  for (std::int64_t t = lane; t < dim && equal; t += kCanonicalLanes) equal = x.stored(t) == y.stored(t);
  equal = __all_sync(kAllLanes, equal);
  if (lane == 0) same[i] = equal;
}

}  // namespace

void compare_rows(std::int32_t dtype, std::int64_t dim, const RowPair* pairs, std::int64_t count, std::uint8_t* same,
                  cudaStream_t stream) {
  if (count == 0) return;
  visit_read_type(dtype, [&]<class T>(const T*) {
    const auto blocks = blocks_for(count, kWarpsPerBlock);
    compare_kernel<T><<<blocks, kThreads, 0, stream>>>(dtype, pairs, count, dim, same);
    check_launch();
  });
}

}  // namespace libknng::cuda

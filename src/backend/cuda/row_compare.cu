#include "backend/cuda/row_compare.cuh"

#include "backend/cuda/canonical.cuh"
#include "backend/cuda/check.cuh"

namespace libknng::cuda {
namespace {

constexpr int kThreads = 256;
constexpr int kWarpsPerBlock = kThreads / kCanonicalLanes;

// One warp a pair. Values are finite, and 0 == -0.
template <class Source>
__global__ void __launch_bounds__(kThreads)
    compare_kernel(const Source a, const std::int64_t* rows_of_a, const Source b, const std::int64_t* rows_of_b,
                   std::int64_t count, std::int64_t dim, std::uint8_t* same) {
  const std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * kWarpsPerBlock + threadIdx.x / kCanonicalLanes;
  if (i >= count) return;
  const int lane = static_cast<int>(threadIdx.x) % kCanonicalLanes;
  const auto x = a.row(rows_of_a[i]), y = b.row(rows_of_b[i]);
  bool equal = true;
  for (std::int64_t t = lane; t < dim && equal; t += kCanonicalLanes) equal = x.stored(t) == y.stored(t);
  equal = __all_sync(kWarp, equal);
  if (lane == 0) same[i] = equal;
}

}  // namespace

void compare_rows(const DeviceRows& a, const std::int64_t* rows_of_a, const DeviceRows& b,
                  const std::int64_t* rows_of_b, std::int64_t count, std::uint8_t* same, cudaStream_t stream) {
  if (count == 0) return;
  CanonicalView of_b;
  of_b.rows = b;
  visit_stored(a, [&](const auto& source) {
    auto other = source;
    other.point_at(of_b);
    compare_kernel<<<static_cast<unsigned>((count + kWarpsPerBlock - 1) / kWarpsPerBlock), kThreads, 0, stream>>>(
        source, rows_of_a, other, rows_of_b, count, a.dim, same);
    check_launch();
  });
}

}  // namespace libknng::cuda

#include "device_rows.h"

#include <stdexcept>

#ifdef KNNG_BENCH_CUDA
#include <cuda_runtime_api.h>
#endif

namespace bench {

#ifdef KNNG_BENCH_CUDA

DeviceRows::DeviceRows(const knng_matrix& rows) : view(rows) {
  const auto require = [](cudaError_t status) {
    if (status != cudaSuccess) throw std::runtime_error(cudaGetErrorString(status));
  };
  const auto bytes = static_cast<std::size_t>(rows.rows * rows.cols * ((rows.dtype & 0xff) / 8));
  void* raw = nullptr;
  require(cudaMalloc(&raw, bytes));
  memory = std::shared_ptr<void>(raw, [](void* m) { cudaFree(m); });
  require(cudaMemcpy(raw, rows.data, bytes, cudaMemcpyHostToDevice));
  view.data = raw;
  view.space = KNNG_CUDA;
  view.device = 0;
}

#else

DeviceRows::DeviceRows(const knng_matrix&) : view() {
  throw std::runtime_error("--rows-on-device: this program was built without CUDA");
}

#endif

}  // namespace bench

#include "backend/cuda/rows/narrow.cuh"

#include <algorithm>

#include "backend/cuda/base/check.cuh"
#include "backend/cuda/rows/strided.cuh"
#include "graph/narrow.h"

namespace libknng::cuda {
namespace {

constexpr int kThreads = 256;
constexpr std::int64_t kMostBlocks = 1 << 16;

struct IdFrom {
  const std::int64_t* packed;
  std::int64_t base;
  template <class T>
  __device__ bool operator()(std::int64_t e, T& out) const {
    return narrow_id(packed[e] + base, out);
  }
};

template <class Value>
struct ValueFrom {
  const Value* packed;
  template <class T>
  __device__ bool operator()(std::int64_t e, T& out) const {
    return narrow_value(static_cast<double>(packed[e]), out);
  }
};

// One element a thread at a time, in the order of the rows. to: element (first, 0).
template <class From, class T>
__global__ void __launch_bounds__(kThreads)
    narrow_elements(const From from, T* to, std::int64_t row_stride, std::int64_t col_stride, std::int64_t first,
                    std::int64_t rows, std::int64_t columns, unsigned long long* first_unfit) {
  const std::int64_t step = static_cast<std::int64_t>(gridDim.x) * blockDim.x;
  for (std::int64_t e = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x; e < rows * columns;
       e += step) {
    T narrowed;
    if (from(e, narrowed))
      to[e / columns * row_stride + e % columns * col_stride] = narrowed;
    else
      atomicMin(first_unfit, static_cast<unsigned long long>(first * columns + e));
  }
}

}  // namespace

void narrow(const void* packed, std::int32_t dtype, std::int64_t base, const knng_backend_matrix& m, std::int64_t first,
            std::int64_t count, unsigned long long* first_unfit, cudaStream_t stream) {
  if (count == 0) return;
  const auto blocks = static_cast<unsigned>(std::min((count * m.cols + kThreads - 1) / kThreads, kMostBlocks));
  const auto launch = [&](const auto& from) {
    return [&]<class T>(T*) {
      narrow_elements<<<blocks, kThreads, 0, stream>>>(from, reinterpret_cast<T*>(element(m, first, 0)), m.row_stride,
                                                       m.col_stride, first, count, m.cols, first_unfit);
      check_launch();
    };
  };
  switch (dtype) {
    case KNNG_I64: return visit_id_dtype(m.dtype, launch(IdFrom{static_cast<const std::int64_t*>(packed), base}));
    case KNNG_F64: return visit_value_dtype(m.dtype, launch(ValueFrom<double>{static_cast<const double*>(packed)}));
    default: return visit_value_dtype(m.dtype, launch(ValueFrom<float>{static_cast<const float*>(packed)}));
  }
}

}  // namespace libknng::cuda

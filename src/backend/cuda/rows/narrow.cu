#include "backend/cuda/rows/narrow.cuh"

#include "backend/cuda/rows/element_copy.cuh"
#include "backend/cuda/rows/strided.cuh"
#include "graph/narrow.h"

namespace libknng::cuda {
namespace {

struct NarrowedId {
  std::int64_t base;
  template <class T>
  __device__ bool operator()(std::int64_t id, T& out) const {
    return narrow_id(id + base, out);
  }
};
struct NarrowedValue {
  template <class Value, class T>
  __device__ bool operator()(Value value, T& out) const {
    return narrow_value(static_cast<double>(value), out);
  }
};

// An element_copy.cuh Copy. to: element (first, 0).
template <class From, class Narrowed, class T>
struct NarrowCopy {
  using Value = From;
  const From* packed;
  Narrowed narrowed;
  T* to;
  Strides of_to;
  std::int64_t first, columns;
  unsigned long long* first_unfit;

  __device__ From read(std::int64_t i, std::int64_t t) const { return packed[i * columns + t]; }
  __device__ void write(std::int64_t i, std::int64_t t, From value) const {
    T out;
    if (narrowed(value, out))
      to[i * of_to.row + t * of_to.column] = out;
    else
      atomicMin(first_unfit, static_cast<unsigned long long>((first + i) * columns + t));
  }
};

}  // namespace

void narrow(const void* packed, std::int32_t dtype, std::int64_t base, const knng_backend_matrix& m, std::int64_t first,
            std::int64_t count, unsigned long long* first_unfit, cudaStream_t stream) {
  const Strides of_to{m.row_stride, m.col_stride};
  const auto copy = [&]<class From, class Narrowed>(const From* from, const Narrowed& narrowed) {
    return [=, &m]<class T>(T*) {
      const NarrowCopy<From, Narrowed, T> each{
          from, narrowed, reinterpret_cast<T*>(element(m, first, 0)), of_to, first, m.cols, first_unfit};
      copy_elements(each, Strides{m.cols, 1}, of_to, count, m.cols, stream);
    };
  };
  switch (dtype) {
    case KNNG_I64: return visit_id_dtype(m.dtype, copy(static_cast<const std::int64_t*>(packed), NarrowedId{base}));
    case KNNG_F64: return visit_value_dtype(m.dtype, copy(static_cast<const double*>(packed), NarrowedValue()));
    default: return visit_value_dtype(m.dtype, copy(static_cast<const float*>(packed), NarrowedValue()));
  }
}

}  // namespace libknng::cuda

// Ascending sort of any number of items by one block: bitonic network (Batcher, 1968) in the form in which every
// comparator puts the smaller item at the smaller place. In that form items behind the last one, were they there and
// infinite, would never move, so that no padding is needed. What is longer than shared memory is sorted by the same
// network with its long strides in global memory. Knows nothing of what the items mean.
#pragma once

#include <cstdint>

namespace libknng::cuda {

// Items are a view with copy semantics: order(i, j) puts the smaller of two at i; copy(i, from, j) assigns one.
struct KeyedIds {
  double* keys;
  std::uint32_t* ids;

  __device__ bool less(std::int64_t i, std::int64_t j) const {
    return keys[i] < keys[j] || (keys[i] == keys[j] && ids[i] < ids[j]);
  }
  __device__ void order(std::int64_t i, std::int64_t j) const {
    if (!less(j, i)) return;
    const double key = keys[i];
    const std::uint32_t id = ids[i];
    copy(i, *this, j);
    keys[j] = key;
    ids[j] = id;
  }
  __device__ void copy(std::int64_t i, const KeyedIds& from, std::int64_t j) const {
    keys[i] = from.keys[j];
    ids[i] = from.ids[j];
  }
  __device__ KeyedIds from(std::int64_t first) const { return {keys + first, ids + first}; }
};

template <class T>
struct PlainKeys {
  T* keys;

  __device__ void order(std::int64_t i, std::int64_t j) const {
    const T a = keys[i], b = keys[j];
    if (!(b < a)) return;
    keys[i] = b;
    keys[j] = a;
  }
  __device__ void copy(std::int64_t i, const PlainKeys& from, std::int64_t j) const { keys[i] = from.keys[j]; }
  __device__ PlainKeys from(std::int64_t first) const { return {keys + first}; }
};

namespace block_sort_detail {

// Comparators (i, mirror of i) in runs of 2 half items: joins two ascending runs of half items.
template <class Items>
__device__ void mirror_step(const Items& items, std::int64_t n, std::int64_t half) {
  for (std::int64_t p = threadIdx.x;; p += blockDim.x) {
    const std::int64_t offset = p & (half - 1), run = (p - offset) * 2;
    if (run >= n) break;
    const std::int64_t j = run + 2 * half - 1 - offset;
    if (j < n) items.order(run + offset, j);
  }
  __syncthreads();
}

template <class Items>
__device__ void stride_step(const Items& items, std::int64_t n, std::int64_t stride) {
  for (std::int64_t p = threadIdx.x;; p += blockDim.x) {
    const std::int64_t offset = p & (stride - 1), i = (p - offset) * 2 + offset;
    if (i - offset >= n) break;
    if (i + stride < n) items.order(i, i + stride);
  }
  __syncthreads();
}

template <class Items>
__device__ void copy_items(const Items& to, const Items& from, std::int64_t n) {
  for (std::int64_t i = threadIdx.x; i < n; i += blockDim.x) to.copy(i, from, i);
  __syncthreads();
}

}  // namespace block_sort_detail

// Sorts items[0, n) in place, in whatever memory they are. All threads of the block call it and are synchronised after.
template <class Items>
__device__ void sort_in_place(const Items& items, std::int64_t n) {
  namespace step = block_sort_detail;
  for (std::int64_t half = 1; half < n; half *= 2) {
    step::mirror_step(items, n, half);
    for (std::int64_t stride = half / 2; stride > 0; stride /= 2) step::stride_step(items, n, stride);
  }
}

// Sorts items[0, n) of global memory with the help of shared memory that holds `chunk` items, a power of two. Returns
// where the sorted items are: in shared memory if they fit there, in their own place otherwise.
template <class Items>
__device__ Items block_sort(const Items& items, std::int64_t n, const Items& shared, std::int64_t chunk) {
  namespace step = block_sort_detail;
  if (n <= chunk) {
    step::copy_items(shared, items, n);
    sort_in_place(shared, n);
    return shared;
  }
  const auto in_chunks = [&](auto sort_chunk) {
    for (std::int64_t first = 0; first < n; first += chunk) {
      const std::int64_t count = n - first < chunk ? n - first : chunk;
      step::copy_items(shared, items.from(first), count);
      sort_chunk(count);
      step::copy_items(items.from(first), shared, count);
    }
  };
  in_chunks([&](std::int64_t count) { sort_in_place(shared, count); });
  for (std::int64_t half = chunk; half < n; half *= 2) {
    step::mirror_step(items, n, half);
    for (std::int64_t stride = half / 2; stride >= chunk; stride /= 2) step::stride_step(items, n, stride);
    in_chunks([&](std::int64_t count) {
      for (std::int64_t stride = chunk / 2; stride > 0; stride /= 2) step::stride_step(shared, count, stride);
    });
  }
  return items;
}

}  // namespace libknng::cuda

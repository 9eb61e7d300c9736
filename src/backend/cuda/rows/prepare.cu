#include "backend/cuda/rows/prepare.cuh"

#include <algorithm>

#include "backend/cuda/base/block_sort.cuh"
#include "backend/cuda/base/blocks.cuh"
#include "backend/cuda/base/check.cuh"
#include "backend/cuda/base/orderable.cuh"
#include "backend/cuda/base/warp.cuh"
#include "backend/cuda/rows/canonical.cuh"
#include "backend/cuda/rows/row_source.cuh"

namespace libknng::cuda {
namespace {

constexpr int kThreads = 256;
constexpr int kWarpsPerBlock = kThreads / kCanonicalLanes;

__device__ std::int64_t warp_index() {
  return static_cast<std::int64_t>(blockIdx.x) * kWarpsPerBlock + threadIdx.x / kCanonicalLanes;
}
__device__ int lane_index() { return static_cast<int>(threadIdx.x) % kCanonicalLanes; }

unsigned blocks_of_warps(std::int64_t warps) { return blocks_for(warps, kWarpsPerBlock); }

// One warp a row: is_faulty() and refuse_row() of prepare/canonical_rows.cpp, find_invalid() of dataset/. Bools are
// read as bytes: a limit of 1 finds those that are not valid. Nearly all rows are sound, and are looked at for that
// alone.
template <class Source>
__global__ void find_refused(Source rows, std::int64_t first, std::int64_t count, std::int64_t dim, double limit,
                             bool refuses_negative, bool needs_sum, PrepareFindings* findings) {
  const std::int64_t i = warp_index();
  if (i >= count) return;
  using Exact = decltype(exact(rows.row(0).loaded(0)));
  // A float is above the limit where it is above the float below that.
  Exact most;
  if constexpr (std::is_same_v<Exact, float>)
    most = __double2float_rd(limit);
  else
    most = limit;
  bool faulty = false, positive = false;
  const auto look = [&](const auto& row) {
#pragma unroll 8
    for (std::int64_t t = lane_index(); t < dim; t += kCanonicalLanes) {
      const auto stored = row.loaded(t);
      const Exact x = exact(stored);
      faulty |= !is_valid(stored) | (fabs(x) > most) | (refuses_negative & (x < 0));
      positive |= x > 0;
    }
  };
  if (rows.col_stride == 1)
    look(rows.packed_row(first + i));
  else
    look(rows.row(first + i));
  positive = __any_sync(kAllLanes, positive);
  if (!__any_sync(kAllLanes, faulty) && (positive || !needs_sum)) return;
  const auto row = rows.row(first + i);
  std::int64_t invalid = dim + 1, refused = dim + 1;
  for (std::int64_t t = lane_index(); t < dim; t += kCanonicalLanes) {
    const auto stored = row.loaded(t);
    const Exact x = exact(stored);
    if (invalid > dim && !is_valid(stored)) invalid = t;
    if (refused > dim && (fabs(x) > most || (refuses_negative && x < 0))) refused = t;
  }
  invalid = smallest_of_lanes(invalid);
  refused = smallest_of_lanes(refused);
  if (needs_sum && refused > dim && !positive) refused = dim;
  if (lane_index() != 0) return;
  const std::int64_t base = (first + i) * (dim + 1);
  if (invalid <= dim) atomicMin(&findings->first_invalid, static_cast<unsigned long long>(base + invalid));
  if (refused <= dim) atomicMin(&findings->first_refused, static_cast<unsigned long long>(base + refused));
}

// 2^n for a normal result.
__device__ double power_of_two(int n) { return __longlong_as_double(static_cast<long long>(n + 1023) << 52); }

// has_no_direction() of metric/canonical.cpp, by a warp, for all lanes: all values are 0, or all are equal,
// as stored (of ranks that holds when it holds of the values).
template <class Row>
__device__ bool is_directionless(Transform transform, const Row& row, std::int64_t dim) {
  const double expected = transform == Transform::unit ? 0.0 : row.stored(0);
  bool same = true;
  for (std::int64_t t = lane_index(); t < dim && same; t += kCanonicalLanes) same = row.stored(t) == expected;
  return __all_sync(kAllLanes, same);
}

template <class Source>
__global__ void find_directionless_kernel(Source rows, Transform transform, const std::int64_t* list,
                                          std::int64_t count, std::int64_t dim, std::uint8_t* out) {
  const std::int64_t i = warp_index();
  if (i >= count) return;
  const bool without = has_directions(transform) && is_directionless(transform, rows.row(list[i]), dim);
  if (lane_index() == 0) out[i] = without;
}

// One warp a row: row_constants() of metric/canonical.cpp. `rows` are stored values, or ranks for rank_unit.
template <Transform kTransform, class Source>
__global__ void find_constants(Source rows, std::int64_t first, std::int64_t count, std::int64_t dim,
                               RowConstants* constants, PrepareFindings* findings) {
  const std::int64_t i = warp_index();
  if (i >= count) return;
  const auto row = rows.row(first + i);
  RowConstants c;
  if constexpr (kTransform == Transform::share) {
    c.factor = canonical_sum(dim, [&](std::int64_t t) { return row.stored(t); });
  } else {
    if (is_directionless(kTransform, row, dim)) {
      c.factor = 0;
      if (lane_index() == 0) findings->any_directionless = 1;
    } else {
      // Ranks are centred already: their mean is exactly 0.
      if constexpr (kTransform == Transform::centred_unit)
        c.mean =
            ScalarOps::div(canonical_sum(dim, [&](std::int64_t t) { return row.stored(t); }), static_cast<double>(dim));
      double largest = 0;
      for (std::int64_t t = lane_index(); t < dim; t += kCanonicalLanes)
        largest = fmax(largest, fabs(ScalarOps::sub(row.stored(t), c.mean)));
      largest = largest_of_lanes(largest);
      const int exponent = ilogb(largest);
      c.scale_a = power_of_two(-(exponent / 2));
      c.scale_b = power_of_two(-(exponent - exponent / 2));
      double s = 0;
      for (std::int64_t t = lane_index(); t < dim; t += kCanonicalLanes) {
        const double scaled =
            ScalarOps::mul(ScalarOps::mul(ScalarOps::sub(row.stored(t), c.mean), c.scale_a), c.scale_b);
        s = ScalarOps::fma(scaled, scaled, s);
      }
      c.factor = ScalarOps::div(1.0, ScalarOps::sqrt(fold_warp(s)));
    }
  }
  if (lane_index() == 0) constants[first + i] = c;
}

template <class T>
using Orderable = decltype(orderable(exact(T())));

// How many of the ascending keys are below `key`, or at most `key`.
template <bool kOrEqual, class Key>
__device__ std::int64_t count_below(const Key* keys, std::int64_t n, Key key) {
  std::int64_t low = 0, high = n;
  while (low < high) {
    const std::int64_t middle = (low + high) / 2;
    if (keys[middle] < key || (kOrEqual && keys[middle] == key))
      low = middle + 1;
    else
      high = middle;
  }
  return low;
}

constexpr std::int64_t kRankChunk = 4096;  // keys in shared memory: 32 KB of fp64

// Blocks that share the workspace of rows too long for shared memory.
constexpr unsigned kRankBlocks = 264;

// One block a row: 2 rank - (d + 1) with average ranks. Equal values at sorted places first..last get
// first + last + 2 - (d + 1), and first = #(smaller), last = #(smaller or equal) - 1.
template <class Source, class Rank>
__global__ void find_ranks(Source rows, std::int64_t first, std::int64_t count, std::int64_t dim, std::int64_t chunk,
                           Rank* ranks, void* workspace) {
  using Key = Orderable<typename Source::Element>;
  extern __shared__ __align__(8) unsigned char shared_bytes[];
  const PlainKeys<Key> shared{reinterpret_cast<Key*>(shared_bytes)};
  // A row that fits is made and sorted in shared memory, where `chunk` >= dim.
  const PlainKeys<Key> keys = dim <= chunk ? shared : PlainKeys<Key>{static_cast<Key*>(workspace) + blockIdx.x * dim};
  for (std::int64_t i = blockIdx.x; i < count; i += gridDim.x) {
    const auto row = rows.row(first + i);
    for (std::int64_t t = threadIdx.x; t < dim; t += blockDim.x) keys.keys[t] = orderable(exact(row.loaded(t)));
    __syncthreads();
    if (dim <= chunk)
      sort_in_place(shared, dim);
    else
      block_sort(keys, dim, shared, chunk);
    for (std::int64_t t = threadIdx.x; t < dim; t += blockDim.x) {
      const Key key = orderable(exact(row.loaded(t)));
      const std::int64_t rank = count_below<false>(keys.keys, dim, key) + count_below<true>(keys.keys, dim, key) - dim;
      ranks[(first + i) * dim + t] = static_cast<Rank>(rank);
    }
    __syncthreads();
  }
}

template <class Source, class Rank>
void launch_ranks(const Source& source, const PrepareJob& job, Rank* ranks, cudaStream_t stream) {
  const std::int64_t dim = job.rows.dim;
  std::int64_t chunk = 32;
  while (chunk < dim && chunk < kRankChunk) chunk *= 2;
  const auto threads = static_cast<unsigned>(std::clamp<std::int64_t>(chunk / 2, 32, 512));
  const auto blocks = static_cast<unsigned>(dim <= chunk ? std::min<std::int64_t>(job.count, 0x7fffffff)
                                                         : std::min<std::int64_t>(job.count, kRankBlocks));
  const std::size_t bytes = static_cast<std::size_t>(chunk) * sizeof(Orderable<typename Source::Element>);
  find_ranks<<<blocks, threads, bytes, stream>>>(source, job.first, job.count, dim, chunk, ranks, job.workspace);
  check_launch();
}

template <Transform kTransform, class Source>
void launch_constants(const Source& source, const PrepareJob& job, cudaStream_t stream) {
  find_constants<kTransform><<<blocks_of_warps(job.count), kThreads, 0, stream>>>(
      source, job.first, job.count, job.rows.dim, job.constants, job.findings);
  check_launch();
}

// One warp a part of a row, so that few long rows keep all multiprocessors busy: rows of any type in fp64.
constexpr std::int64_t kPart = 256;

template <class Source>
__global__ void load_rows(Source rows, const std::int64_t* list, std::int64_t first, std::int64_t count,
                          std::int64_t dim, double* out) {
  const std::int64_t i = warp_index();
  if (i >= count) return;
  const auto row = rows.row(list ? list[i] : first + i);
  for (std::int64_t from = blockIdx.y * kPart; from < dim; from += gridDim.y * kPart) {
    const std::int64_t end = min(from + kPart, dim);
    for (std::int64_t t = from + lane_index(); t < end; t += kCanonicalLanes) out[i * dim + t] = row[t];
  }
}

}  // namespace

std::int64_t prepare_workspace_bytes(const DeviceRows& rows, Transform transform) {
  return transform == Transform::rank_unit && rows.dim > kRankChunk ? kRankBlocks * rows.dim * 8 : 0;
}

void prepare_rows(const PrepareJob& job, cudaStream_t stream) {
  if (job.count == 0) return;
  visit_stored(job.rows, [&](const auto& source) {
    if (!job.valid || may_refuse(job.transform, job.limit, job.rows.dtype)) {
      find_refused<<<blocks_of_warps(job.count), kThreads, 0, stream>>>(
          source, job.first, job.count, job.rows.dim, job.limit, refuses_negative(job.transform),
          job.transform == Transform::share, job.findings);
      check_launch();
    }
    switch (job.transform) {
      case Transform::identity:
      case Transform::square_root: return;
      case Transform::unit: return launch_constants<Transform::unit>(source, job, stream);
      case Transform::centred_unit: return launch_constants<Transform::centred_unit>(source, job, stream);
      case Transform::share: return launch_constants<Transform::share>(source, job, stream);
      case Transform::rank_unit:
        if (job.short_ranks)
          launch_ranks(source, job, job.short_ranks, stream);
        else
          launch_ranks(source, job, job.long_ranks, stream);
    }
  });
  if (job.transform != Transform::rank_unit) return;
  const auto constants_of = [&](const auto* ranks) {
    using Rank = std::remove_cv_t<std::remove_pointer_t<decltype(ranks)>>;
    launch_constants<Transform::rank_unit>(RowSource<Rank, Transform::identity>{ranks, job.rows.dim, 1, nullptr}, job,
                                           stream);
  };
  if (job.short_ranks)
    constants_of(static_cast<const std::int16_t*>(job.short_ranks));
  else
    constants_of(static_cast<const std::int32_t*>(job.long_ranks));
}

void find_directionless(const DeviceRows& rows, Transform transform, const std::int64_t* list, std::int64_t count,
                        std::uint8_t* out, cudaStream_t stream) {
  if (count == 0) return;
  visit_stored(rows, [&](const auto& source) {
    find_directionless_kernel<<<blocks_of_warps(count), kThreads, 0, stream>>>(source, transform, list, count, rows.dim,
                                                                               out);
    check_launch();
  });
}

void load_canonical(const CanonicalView& view, const std::int64_t* list, std::int64_t first, std::int64_t count,
                    double* out, cudaStream_t stream) {
  if (count == 0) return;
  visit_source(view, [&](const auto& source) {
    constexpr std::int64_t kMostParts = 65535;
    const dim3 blocks(blocks_of_warps(count), blocks_for(view.rows.dim, kPart, kMostParts));
    load_rows<<<blocks, kThreads, 0, stream>>>(source, list, first, count, view.rows.dim, out);
    check_launch();
  });
}

}  // namespace libknng::cuda

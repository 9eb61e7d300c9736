#include <algorithm>
#include <bit>

#include "backend/cuda/base/blocks.cuh"
#include "backend/cuda/base/check.cuh"
#include "backend/cuda/base/warp.cuh"
#include "backend/cuda/keys/product_keys.cuh"
#include "backend/cuda/keys/refined_batch.cuh"
#include "metric/report.h"

namespace libknng::cuda {
namespace {

constexpr int kThreads = 256;
constexpr int kWarps = kThreads / kCanonicalLanes;

// Which cells of a fine grid have keys: a hash table in shared memory, at most half full. Two keys that are not in the
// same cell, nor in neighbours, are farther apart than both may be off.
class Cells {
 public:
  __device__ Cells(std::uint32_t* slots, int bits) : slots_(slots), mask_((1U << bits) - 1), shift_(32 - bits) {}

  __device__ void clear() const {
    for (unsigned s = threadIdx.x; s <= mask_; s += kThreads) slots_[s] = kFree;
  }
  __device__ void add(std::int64_t cell) const {
    const std::uint32_t token = token_of(cell);
    for (unsigned s = slot_of(token);; s = (s + 1) & mask_) {
      const std::uint32_t there = atomicCAS(&slots_[s], kFree, token);
      if (there == kFree) return;
      if ((there & ~kTwice) != token) continue;
      atomicOr(&slots_[s], kTwice);
      return;
    }
  }
  // Whether a cell has another key than the one that is known to be there, or a neighbour has any.
  __device__ bool is_crowded(std::int64_t cell) const {
    return (find(cell) & kTwice) != 0 || find(cell - 1) != kFree || find(cell + 1) != kFree;
  }

 private:
  static constexpr std::uint32_t kFree = 0, kTwice = 1U << 31;
  // Cells that are 2^30 apart are taken for one, which costs a key.
  static __device__ std::uint32_t token_of(std::int64_t cell) {
    return (static_cast<std::uint32_t>(cell) & ((1U << 30) - 1)) + 1;
  }
  __device__ unsigned slot_of(std::uint32_t token) const { return token * 2654435761U >> shift_; }
  __device__ std::uint32_t find(std::int64_t cell) const {
    const std::uint32_t token = token_of(cell);
    for (unsigned s = slot_of(token);; s = (s + 1) & mask_) {
      const std::uint32_t there = slots_[s];
      if (there == kFree || (there & ~kTwice) == token) return there;
    }
  }

  std::uint32_t* slots_;
  unsigned mask_, shift_;
};

// 2^bits slots for so many keys.
int bits_for(std::int64_t keys) { return std::bit_width(static_cast<std::uint64_t>(2 * keys - 1)); }

// What a block works in, in shared memory: keys and ids of a list, and cells.
struct RowSpace {
  __device__ RowSpace(std::int64_t capacity, void* memory)
      : keys(static_cast<double*>(memory)),
        ids(reinterpret_cast<std::uint32_t*>(keys + capacity)),
        cells(ids + capacity) {}
  static std::int64_t bytes(std::int64_t capacity, int bits) {
    return capacity * std::int64_t{sizeof *keys + sizeof *ids} +
           (std::int64_t{1} << bits) * std::int64_t{sizeof *cells};
  }

  double* keys;
  std::uint32_t *ids, *cells;
};

// The largest of the block's threads. Leaves the block synchronised.
__device__ double largest_of_block(double x) {
  __shared__ double of_warps[kWarps];
  x = largest_of_lanes(x);
  if (threadIdx.x % kCanonicalLanes == 0) of_warps[threadIdx.x / kCanonicalLanes] = x;
  __syncthreads();
#pragma unroll
  for (int w = 0; w < kWarps; ++w) x = fmax(x, of_warps[w]);
  return x;
}

// A row with its list.
struct Listed {
  std::int64_t row, list, count;
  const Candidate* candidates;
  double dropped, cutoff;
};

__device__ Listed listed(const RefinedBatch& b, std::int64_t i) {
  Listed l{};
  l.row = b.first + i;
  l.list = b.places ? b.places[i] : i;
  l.count = min(static_cast<std::int64_t>(b.lists.kept[l.list]), b.lists.capacity);
  l.candidates = b.lists.candidates + l.list * b.lists.capacity;
  l.dropped = b.lists.dropped ? static_cast<double>(b.lists.dropped[l.list]) : INFINITY;
  l.cutoff = b.lists.cutoffs ? static_cast<double>(b.lists.cutoffs[l.list]) : INFINITY;
  return l;
}

// Keys and ids of the row's candidates, in shared memory, and the thread's largest error of one. Loads of several are
// on their way together.
__device__ double look_up(const RefinedBatch& b, const ProductTable& table, const Listed& l, const RowSpace& space) {
  constexpr int kTogether = 4;
  const RowAdmission admission = b.admission.of(l.row);
  const double of_row = table.squares[l.row];
  double error = 0;
  for (std::int64_t base = threadIdx.x; base < l.count; base += kTogether * kThreads) {
    std::uint32_t ids[kTogether];
    double products[kTogether], squares[kTogether];
#pragma unroll
    for (int t = 0; t < kTogether; ++t) ids[t] = l.candidates[min(base + t * kThreads, l.count - 1)].id;
    if (b.order)
#pragma unroll
      for (int t = 0; t < kTogether; ++t) ids[t] = static_cast<std::uint32_t>(b.order[ids[t]]);
#pragma unroll
    for (int t = 0; t < kTogether; ++t) {
      const std::int64_t other = ids[t];
      products[t] = table.products[min(l.row, other) * table.points + max(l.row, other)];
      squares[t] = table.squares[other];
    }
#pragma unroll
    for (int t = 0; t < kTogether; ++t) {
      const std::int64_t j = base + t * kThreads;
      if (j >= l.count) break;
      const bool drop = !admission.admits(ids[t]);
      space.keys[j] = drop ? INFINITY : table.key.key(of_row, squares[t], products[t]);
      space.ids[j] = drop ? kNoId : ids[t];
      if (!drop) error = fmax(error, table.key.error(of_row, squares[t]));
    }
  }
  return error;
}

// Whether something is made of a key, other than its place among the row's, that an error of so much could change.
// Everything that is asked is monotone in the key: what both ends agree on holds between them.
__device__ bool is_doubtful(const RefinedBatch& b, const Metric& metric, bool similarity, const Listed& l, Candidate c,
                            double key, double error) {
  const double least = key - error, most = key + error;
  const auto value = [&](double x) {
    return __float_as_uint(static_cast<float>(report<ScalarOps>(metric, x, similarity)));
  };
  if (value(least) != value(most)) return true;  // by bits: -0 is another value than 0
  if (!within_bounds(b, l.list, c, least) || !within_bounds(b, l.list, c, most)) return true;
  const double low = ScalarOps::mul(least, b.bounds.scale), high = ScalarOps::mul(most, b.bounds.scale);
  return (low <= l.dropped && l.dropped <= high) || (low <= l.cutoff && l.cutoff <= high);
}

// One block a row: keys of its candidates, NaN for those in doubt.
__global__ void __launch_bounds__(kThreads, 5)
    keys_from_products(Metric metric, RefinedBatch b, ProductTable table, int bits) {
  extern __shared__ __align__(16) unsigned char memory[];
  const RowSpace space(b.lists.capacity, memory);
  const Cells cells(space.cells, bits);
  const Listed l = listed(b, blockIdx.x);
  cells.clear();
  const double error = largest_of_block(look_up(b, table, l, space));

  // Of keys so large that products overflow nothing is known.
  const bool known = error < 0x1p1000;
  const double inverse = 1 / (4 * error);
  const auto cell_of = [&](double key) { return static_cast<std::int64_t>(floor(key * inverse)); };
  for (std::int64_t j = threadIdx.x; known && j < l.count; j += kThreads)
    if (space.ids[j] != kNoId) cells.add(cell_of(space.keys[j]));
  __syncthreads();
  bool any_open = false;
  for (std::int64_t j = threadIdx.x; j < l.count; j += kThreads) {
    double key = space.keys[j];
    if (space.ids[j] != kNoId && (!known || cells.is_crowded(cell_of(key)) ||
                                  is_doubtful(b, metric, table.similarity, l, l.candidates[j], key, error))) {
      key = NAN;
      any_open = true;
    }
    b.entries.keys[blockIdx.x * b.entries.slots + j] = key;
    b.entries.ids[blockIdx.x * b.entries.slots + j] = space.ids[j];
  }
  any_open = __syncthreads_or(any_open) != 0;
  if (threadIdx.x != 0) return;
  b.open[blockIdx.x] = any_open;
  b.entries.filled[blockIdx.x] = static_cast<std::int32_t>(l.count);
  b.note_length(l.list);
}

// One warp a row: canonical keys of those in doubt, some together.
template <class Source, class T>
__global__ void __launch_bounds__(kThreads) settle_doubts(Source points, RefinedBatch b) {
  constexpr int kPairs = kPairsTogether<T>;
  const int lane = static_cast<int>(threadIdx.x) % kCanonicalLanes;
  const std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * kWarps + threadIdx.x / kCanonicalLanes;
  if (i >= b.count || b.open[i] == 0) return;  // few are open
  const Listed l = listed(b, i);
  double* const keys = b.entries.keys + i * b.entries.slots;
  const std::uint32_t* const ids = b.entries.ids + i * b.entries.slots;
  const auto u = points.row(l.row);
  unsigned evaluated = 0;
  for (std::int64_t base = 0; base < l.count; base += kCanonicalLanes) {
    const bool mine = base + lane < l.count;
    const std::uint32_t id = mine ? ids[base + lane] : kNoId;
    unsigned doubtful = __ballot_sync(kAllLanes, mine && isnan(keys[base + lane]));
    evaluated += __popc(doubtful);
    while (doubtful != 0) {
      // Places beyond the last repeat it.
      std::uint32_t together[kPairs];
      int place[kPairs];
#pragma unroll
      for (int pair = 0; pair < kPairs; ++pair) {
        place[pair] = __ffs(static_cast<int>(doubtful)) - 1;
        together[pair] = __shfl_sync(kAllLanes, id, place[pair]);
        if (pair + 1 == kPairs || (doubtful & (doubtful - 1)) != 0) doubtful &= doubtful - 1;
      }
      const double key = keys_of<T>(points, u, together, b.terms);
#pragma unroll
      for (int pair = 0; pair < kPairs; ++pair) {
        if (lane != lane_of_pair<kPairs>(pair) || (pair > 0 && place[pair] == place[pair - 1])) continue;
        const std::int64_t at = base + place[pair];
        keys[at] = key;
        if (!within_bounds(b, l.list, l.candidates[at], key)) atomicAdd(&b.findings->violations, 1ULL);
      }
    }
  }
  if (lane == 0 && evaluated > 0) atomicAdd(&b.findings->keys, static_cast<unsigned long long>(evaluated));
}

}  // namespace

void product_keys(const CanonicalView& points, const Metric& metric, const RefinedBatch& batch,
                  const ProductTable& table, cudaStream_t stream) {
  const int bits = bits_for(batch.lists.capacity);
  const auto bytes = static_cast<std::size_t>(RowSpace::bytes(batch.lists.capacity, bits));
  const std::int64_t most = RowSpace::bytes(kLongestOfProducts, bits_for(kLongestOfProducts));
  check(cudaFuncSetAttribute(keys_from_products, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(most)));
  keys_from_products<<<static_cast<unsigned>(batch.count), kThreads, bytes, stream>>>(metric, batch, table, bits);
  check_launch();
  visit_source(points, [&](const auto& source) {
    using Source = std::remove_cvref_t<decltype(source)>;
    if constexpr (kOccurs<SquaredDifference, Source::kTransform>) {
      const auto blocks = blocks_for(batch.count, kWarps);
      settle_doubts<Source, SquaredDifference><<<blocks, kThreads, 0, stream>>>(source, batch);
      check_launch();
    }
  });
}

}  // namespace libknng::cuda

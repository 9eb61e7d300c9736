#include "backend/cuda/engines/cells.cuh"

#include <algorithm>
#include <bit>
#include <cub/device/device_radix_sort.cuh>
#include <iterator>
#include <vector>

#include "backend/cuda/base/blocks.cuh"
#include "backend/cuda/base/check.cuh"
#include "backend/cuda/base/sort_space.cuh"
#include "backend/cuda/select/key.cuh"
#include "prepare/cells.h"
#include "prepare/drawn_columns.h"

namespace libknng::cuda {
namespace {

constexpr int kThreads = 256, kWarpsPerBlock = kThreads / 32;
constexpr std::int64_t kRowsTogether = 8192;  // that cells are found for
constexpr int kDistanceBits = 32;             // of a key, behind the cell's place in the chain
// So many pairs of cells must be too far apart for neighbours: to find the order takes some hundredths of the time of
// all products.
constexpr double kWorthOrdering = 0.125;
constexpr std::int64_t kFewestCells = 256, kLookedAt = kFewestCells;  // points that tell

// The more, the smaller they are, and the longer it takes to find a point's.
std::int64_t cells_of(std::int64_t points) {
  constexpr std::int64_t kPointsEach = 1024, kMost = 2048;
  return std::clamp(static_cast<std::int64_t>(std::bit_floor(static_cast<std::uint64_t>(points / kPointsEach))),
                    kFewestCells, kMost);
}

// Operands of points in fp16, and what comes with them.
struct CellOperands {
  CellOperands(std::int64_t count, std::int64_t dim, ArraySource& source)
      : values(source.take<std::byte>(operand_bytes(count, dim, Precision::fp16))),
        sums(source.take<OperandSums>(count)) {}

  DeviceArray<std::byte> values;
  DeviceArray<OperandSums> sums;
};

// What a few products show, and what is needed of the cells later.
struct CellSpace {
  CellSpace(std::int64_t points, std::int64_t dim, ArraySource& source)
      : drawn(source.take<std::int64_t>(cells_of(points))),
        centres(cells_of(points), dim, source),
        canonical(source.take<double>(rounded_together(kRowsTogether, dim) * dim)),
        extremes(source.take<OperandExtremes>(1)),
        products(source.take<float>(std::max(cells_of(points), kRowsTogether) * cells_of(points))) {}

  DeviceArray<std::int64_t> drawn;  // whom cells are around
  CellOperands centres;
  DeviceArray<double> canonical;
  DeviceArray<OperandExtremes> extremes;
  DeviceArray<float> products;
};

// What is sorted.
struct SortSpace {
  SortSpace(std::int64_t points, std::int64_t dim, ArraySource& source)
      : rounded(kRowsTogether, dim, source),
        halves(source.take<float>(cells_of(points))),
        chain(source.take<std::int32_t>(cells_of(points))),
        numbers(source.take<std::int64_t>(points)),
        temporary(source.take<std::byte>(sort_bytes(points))) {
    for (auto& array : keys) array = source.take<std::uint64_t>(points);
  }

  CellOperands rounded;
  DeviceArray<float> halves;        // of cells' squared lengths
  DeviceArray<std::int32_t> chain;  // the place of each cell
  DeviceArray<std::int64_t> numbers;
  DeviceArray<std::byte> temporary;
  DeviceArray<std::uint64_t> keys[2];
};

__global__ void number(std::int64_t* numbers, std::int64_t count) {
  const std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * kThreads + threadIdx.x;
  if (i < count) numbers[i] = i;
}

__global__ void find_halves(const OperandSums* sums, std::int64_t count, float* halves) {
  const std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * kThreads + threadIdx.x;
  if (i < count) halves[i] = static_cast<float>(sums[i].square / 2);
}

// products: of each of `count` points with all cells, of which c has chain[c] in the chain. A warp a point.
__global__ void __launch_bounds__(kThreads)
    find_cells(const float* products, std::int64_t count, int cells, const float* halves, const std::int32_t* chain,
               const OperandSums* sums, std::uint64_t* keys) {
  const std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * kWarpsPerBlock + threadIdx.x / 32;
  if (i >= count) return;
  const float* const mine = products + i * cells;
  float least = infinity();
  int cell = 0;
  for (int c = static_cast<int>(threadIdx.x) % 32; c < cells; c += 32)
    if (const float half = halves[c] - mine[c]; half < least) {
      least = half;
      cell = c;
    }
#pragma unroll
  for (int h = 16; h > 0; h /= 2) {
    const float other = __shfl_xor_sync(0xffffffffU, least, h);
    const int other_cell = __shfl_xor_sync(0xffffffffU, cell, h);
    if (other < least || (other == least && other_cell < cell)) {
      least = other;
      cell = other_cell;
    }
  }
  if (threadIdx.x % 32 != 0) return;
  const float apart = fmaxf(static_cast<float>(sums[i].square) + 2 * least, 0.0F);
  keys[i] = static_cast<std::uint64_t>(chain[cell]) << kDistanceBits | __float_as_uint(apart);
}

// Operands of `count` listed points.
void round_listed(const Points& points, const std::int64_t* list, std::int64_t count, const Frame& frame,
                  const CellSpace& space, const CellOperands& to, cudaStream_t stream) {
  RoundJob job;
  job.points = points.view();
  job.points.rows.rows = count;
  job.order = list;
  job.frame = &frame;
  job.precision = Precision::fp16;
  job.values = to.values.data();
  job.sums = to.sums.data();
  job.extremes = space.extremes.data();
  job.u = space.canonical.data();
  round_points(job, stream);
}

// Squared distances of so many drawn points from one another, whose operands become those of the cells.
std::vector<float> distances_of_drawn(const Points& points, std::int64_t count, const Frame& frame,
                                      const CellSpace& space, Products& products, Staging& staging,
                                      DeviceContext& context) {
  std::vector<std::int64_t> drawn(static_cast<std::size_t>(count));
  for (std::int64_t c = 0; c < count; ++c) drawn[static_cast<std::size_t>(c)] = drawn_point(points.count(), count, c);
  check(cudaMemcpyAsync(space.drawn.data(), drawn.data(), drawn.size() * sizeof drawn[0], cudaMemcpyHostToDevice,
                        context.stream));
  check(cudaMemsetAsync(space.extremes.data(), 0, sizeof(OperandExtremes), context.stream));
  round_listed(points, space.drawn.data(), count, frame, space, space.centres, context.stream);
  products.run(space.centres.values.data(), count, space.centres.values.data(), count, points.dim(), Precision::fp16,
               space.products.data(), count);
  std::vector<float> squared(static_cast<std::size_t>(count * count)), lengths(drawn.size());
  staging.download(space.products.data(), squared.data(), 4 * std::ssize(squared), context.stream);
  for (std::size_t c = 0; c < lengths.size(); ++c) lengths[c] = squared[c * lengths.size() + c];
  for (std::size_t a = 0; a < lengths.size(); ++a)
    for (std::size_t b = 0; b < lengths.size(); ++b) {
      float& x = squared[a * lengths.size() + b];
      x = std::max(lengths[a] + lengths[b] - 2 * x, 0.0F);
    }
  return squared;
}

// The order from the cells: their points, sorted.
DeviceArray<std::int64_t> sorted_points(const Points& points, const Frame& frame, const CellSpace& space,
                                        const std::vector<std::int32_t>& chain, Products& products,
                                        DeviceContext& context) {
  const std::int64_t n = points.count(), dim = points.dim(), cells = std::ssize(chain);
  DeviceArray<std::int64_t> order(n, context, Reach::beside);
  const SortSpace sort = taken<SortSpace>(context, n, dim);
  const cudaStream_t stream = context.stream;
  std::vector<std::int32_t> places(chain.size());
  for (std::size_t i = 0; i < chain.size(); ++i)
    places[static_cast<std::size_t>(chain[i])] = static_cast<std::int32_t>(i);
  check(cudaMemcpyAsync(sort.chain.data(), places.data(), places.size() * sizeof places[0], cudaMemcpyHostToDevice,
                        stream));
  find_halves<<<blocks_for(cells, kThreads), kThreads, 0, stream>>>(space.centres.sums.data(), cells,
                                                                    sort.halves.data());
  check_launch();
  number<<<blocks_for(n, kThreads), kThreads, 0, stream>>>(sort.numbers.data(), n);
  check_launch();
  for (std::int64_t first = 0; first < n; first += kRowsTogether) {
    const std::int64_t count = std::min(kRowsTogether, n - first);
    round_listed(points, sort.numbers.data() + first, count, frame, space, sort.rounded, stream);
    products.run(sort.rounded.values.data(), count, space.centres.values.data(), cells, dim, Precision::fp16,
                 space.products.data(), cells);
    find_cells<<<blocks_for(count, kWarpsPerBlock), kThreads, 0, stream>>>(
        space.products.data(), count, static_cast<int>(cells), sort.halves.data(), sort.chain.data(),
        sort.rounded.sums.data(), sort.keys[0].data() + first);
    check_launch();
  }
  const int bits = kDistanceBits + static_cast<int>(std::bit_width(static_cast<std::uint64_t>(cells - 1)));
  std::size_t bytes = 0;
  const auto run = [&](void* temporary) {
    cub::DoubleBuffer<std::uint64_t> keys(sort.keys[0].data(), sort.keys[1].data());
    cub::DoubleBuffer<std::int64_t> numbers(sort.numbers.data(), order.data());
    check(cub::DeviceRadixSort::SortPairs(temporary, bytes, keys, numbers, n, 0, bits, stream));
    return numbers.Current();
  };
  run(nullptr);
  require_sort_fits(bytes, sort.temporary.size());
  if (const std::int64_t* const sorted = run(sort.temporary.data()); sorted != order.data())
    check(cudaMemcpyAsync(order.data(), sorted, static_cast<std::size_t>(8 * n), cudaMemcpyDeviceToDevice, stream));
  context.stream.wait();  // the host's places end here
  return order;
}

}  // namespace

std::int64_t cell_bytes(std::int64_t points, std::int64_t dim) {
  return bytes_of<CellSpace>(points, dim) + bytes_of<SortSpace>(points, dim);
}

std::int64_t cell_host_bytes(std::int64_t points) {
  const std::int64_t cells = cells_of(points);
  return 4 * cells * (cells + 8);
}

DeviceArray<std::int64_t> order_by_cells(const Points& points, const Frame& frame, Products& products, Staging& staging,
                                         DeviceContext& context) {
  const std::int64_t n = points.count(), cells = cells_of(n);
  const CellSpace space = taken<CellSpace>(context, n, points.dim());
  const auto distances_of = [&](std::int64_t drawn) {
    return distances_of_drawn(points, drawn, frame, space, products, staging, context);
  };
  if (const std::vector<float> few = distances_of(kLookedAt); far_share({few, kLookedAt}) < kWorthOrdering) return {};
  const std::vector<float> all = distances_of(cells);
  return sorted_points(points, frame, space, nearest_chain({all, cells}), products, context);
}

}  // namespace libknng::cuda

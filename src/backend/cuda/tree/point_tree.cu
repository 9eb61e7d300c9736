#include "backend/cuda/tree/point_tree.cuh"

#include <algorithm>
#include <vector>

#include "backend/cuda/base/blocks.cuh"
#include "backend/cuda/base/workspace.cuh"
#include "backend/cuda/rows/prepare.cuh"
#include "backend/cuda/tree/hilbert_order.cuh"

namespace libknng::cuda {
namespace {

constexpr int kThreads = 256;
constexpr std::int64_t kSampled = 1024;
// Points whose canonical rows are in memory at once, in their first order.
constexpr std::int64_t kTogether = std::int64_t{1} << 20;

__global__ void widen(const std::uint32_t* numbers, std::int64_t count, std::int64_t* list) {
  const std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * kThreads + threadIdx.x;
  if (i < count) list[i] = numbers[i];
}

__global__ void first_codes(const std::uint64_t* codes, std::int64_t leaves, std::uint64_t* first) {
  const std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * kThreads + threadIdx.x;
  if (i < leaves) first[i] = codes[i * kFan];
}

// Rows u become points [first, first + count) of the groups.
__global__ void group_points(const double* u, int dim, std::int64_t first, std::int64_t count, double* values) {
  const std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * kThreads + threadIdx.x;
  if (i >= count) return;
  const std::int64_t place = first + i;
  for (int t = 0; t < dim; ++t) values[(place / kFan * dim + t) * kFan + place % kFan] = u[i * dim + t];
}

// One thread for a coordinate of a box.
__global__ void make_boxes(Members members, int dim, std::int64_t boxes, double* bounds, std::uint32_t* ids) {
  const std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * kThreads + threadIdx.x;
  const std::int64_t box = i / dim;
  const int t = static_cast<int>(i % dim);
  if (box >= boxes) return;
  enclose(members, box, t, dim, bounds);
  if (t == 0) ids[box] = smallest_id(members, box);
}

// Groups of boxes of all levels.
std::int64_t groups_of_boxes(std::int64_t points) {
  std::int64_t boxes[kMostLevels], groups = 0;
  const int levels = count_boxes(points, boxes);
  for (int level = 0; level < levels; ++level) groups += groups_of(boxes[level]);
  return groups;
}

// What making a tree takes: the order of all points, and rows of some.
struct Scratch {
  Scratch(std::int64_t count, std::int64_t dim, void* memory) {
    Workspace space(memory);
    together = std::min(kTogether, count);
    order = space.take<unsigned char>(HilbertOrder::bytes(count));
    u = space.take<double>(together * dim);
    list = space.take<std::int64_t>(std::max(together, std::min(kSampled, count)));
    without = space.take<unsigned long long>(1);
    used = space.used();
  }
  std::int64_t together, used;
  void* order;
  double* u;
  std::int64_t* list;
  unsigned long long* without;
};

// A grid for the points, from rows at equal steps.
HilbertGrid grid_of(const Points& points, const Scratch& scratch, const Stream& stream) {
  const std::int64_t count = std::min(kSampled, points.count()), dim = points.dim();
  std::vector<std::int64_t> list(static_cast<std::size_t>(count));
  for (std::int64_t i = 0; i < count; ++i) list[static_cast<std::size_t>(i)] = i * points.count() / count;
  check(cudaMemcpyAsync(scratch.list, list.data(), list.size() * sizeof(std::int64_t), cudaMemcpyHostToDevice, stream));
  load_canonical(points.view(), scratch.list, 0, count, scratch.u, stream);
  std::vector<double> sample(static_cast<std::size_t>(count * dim));
  check(cudaMemcpyAsync(sample.data(), scratch.u, sample.size() * sizeof(double), cudaMemcpyDeviceToHost, stream));
  stream.wait();
  return make_grid(sample, static_cast<int>(dim));
}

}  // namespace

PointTree::Arrays::Arrays(std::int64_t count, std::int64_t dim, ArraySource& source) {
  const std::int64_t points = groups_of(count) * kFan, boxes = groups_of_boxes(count) * kFan;
  values = source.take<double>(points * dim);
  bounds = source.take<double>(boxes * 2 * dim);
  ids = source.take<std::uint32_t>(points);
  box_ids = source.take<std::uint32_t>(boxes);
  codes = source.take<std::uint64_t>(groups_of(count));
}

std::int64_t PointTree::bytes(std::int64_t count, std::int64_t dim) { return bytes_of<Arrays>(count, dim); }

std::int64_t PointTree::bytes_while_made(std::int64_t count, std::int64_t dim) {
  return array_bytes(Scratch(count, dim, nullptr).used);
}

PointTree::PointTree(const Points& points, DeviceContext& context)
    : arrays_(taken<Arrays>(context, points.count(), points.dim())) {
  const Stream& stream = context.stream;
  const std::int64_t all = points.count();
  const int dim = static_cast<int>(points.dim());
  const DeviceArray<std::byte> memory(bytes_while_made(all, dim), context);
  const Scratch scratch(all, dim, memory.data());
  grid_ = grid_of(points, scratch, stream);

  const HilbertOrder order(all, scratch.order);
  const RowConstants* constants = has_directions(points.view().transform) ? points.view().constants : nullptr;
  check(cudaMemsetAsync(scratch.without, 0, sizeof *scratch.without, stream));
  for (std::int64_t first = 0; first < all; first += scratch.together) {
    const std::int64_t count = std::min(scratch.together, all - first);
    load_canonical(points.view(), nullptr, first, count, scratch.u, stream);
    order.encode(grid_, scratch.u, constants ? constants + first : nullptr, first, count, scratch.without, stream);
  }
  const auto [codes, sorted] = order.sort(all, stream);
  unsigned long long without = 0;
  check(cudaMemcpyAsync(&without, scratch.without, sizeof without, cudaMemcpyDeviceToHost, stream));
  stream.wait();
  const std::int64_t n = all - static_cast<std::int64_t>(without);  // those without direction are last

  tree_.dim = dim;
  tree_.points = points_in_groups(arrays_.values.data(), arrays_.ids.data(), n, dim);
  if (n == 0) return;
  tree_.codes = arrays_.codes.data();
  first_codes<<<blocks_for(groups_of(n), kThreads), kThreads, 0, stream>>>(codes, groups_of(n), arrays_.codes.data());
  check_launch();
  check(cudaMemcpyAsync(arrays_.ids.data(), sorted, static_cast<std::size_t>(n) * sizeof(std::uint32_t),
                        cudaMemcpyDeviceToDevice, stream));
  for (std::int64_t first = 0; first < n; first += scratch.together) {
    const std::int64_t count = std::min(scratch.together, n - first);
    widen<<<blocks_for(count, kThreads), kThreads, 0, stream>>>(sorted + first, count, scratch.list);
    check_launch();
    load_canonical(points.view(), scratch.list, 0, count, scratch.u, stream);
    group_points<<<blocks_for(count, kThreads), kThreads, 0, stream>>>(scratch.u, dim, first, count,
                                                                       arrays_.values.data());
    check_launch();
  }

  std::int64_t boxes[kMostLevels];
  tree_.levels = count_boxes(n, boxes);
  Members members = tree_.points;
  double* bounds = arrays_.bounds.data();
  std::uint32_t* ids = arrays_.box_ids.data();
  for (int level = 0; level < tree_.levels; ++level) {
    make_boxes<<<blocks_for(boxes[level] * dim, kThreads), kThreads, 0, stream>>>(members, dim, boxes[level], bounds,
                                                                                  ids);
    check_launch();
    members = tree_.boxes[level] = boxes_in_groups(bounds, ids, boxes[level], dim);
    bounds += groups_of(boxes[level]) * members.group_values;
    ids += groups_of(boxes[level]) * kFan;
  }
}

}  // namespace libknng::cuda

#include "backend/cuda/rows/point_store.cuh"

#include <span>
#include <utility>

#include "backend/cuda/base/blocks.cuh"
#include "prepare/row_order.h"
#include "prepare/scattered_order.h"

namespace libknng::cuda {
namespace {

constexpr int kThreads = 256;

// The row at each place, where rows stand in runs of RowOrder::kRun; those behind the last whole run stay there.
__global__ void list_runs(const std::int64_t* firsts, std::int64_t runs, std::int64_t* order, std::int64_t rows) {
  const std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  const std::int64_t run = i / RowOrder::kRun;
  if (i < rows) order[i] = run < runs ? firsts[run] + i % RowOrder::kRun : i;
}

// The order of so many columns, and the first column of each run that it is made of.
struct Order {
  Order(std::int64_t count, ArraySource& source)
      : columns(source.take<std::int64_t>(count)), firsts(source.take<std::int64_t>(count / RowOrder::kRun)) {}

  DeviceArray<std::int64_t> columns, firsts;
};

__global__ void list_scattered(const ScatteredOrder scattered, std::int64_t count, std::int64_t* order) {
  const std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i < count) order[i] = scattered[i];
}

// Where the points of an order are in it.
__global__ void find_places(const std::int64_t* order, std::int64_t count, std::uint32_t* places) {
  const std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i < count) places[order[i]] = static_cast<std::uint32_t>(i);
}

}  // namespace

std::int64_t PointStore::order_bytes(std::int64_t count) {
  ArraySource source;
  source.take<std::int64_t>(count);
  source.take<std::uint32_t>(count);
  return source.bytes();
}

void PointStore::order_by(DeviceArray<std::int64_t> order) {
  const std::int64_t n = order.size();
  order_ = std::move(order);
  places_ = DeviceArray<std::uint32_t>(n, context_);
  find_places<<<blocks_for(n, kThreads), kThreads, 0, context_.stream>>>(order_.data(), n, places_.data());
  check_launch();
}

void PointStore::scatter() {
  const std::int64_t n = columns_->count();
  DeviceArray<std::int64_t> order(n, context_, Reach::beside);
  list_scattered<<<blocks_for(n, kThreads), kThreads, 0, context_.stream>>>(ScatteredOrder(n), n, order.data());
  check_launch();
  order_by(std::move(order));
  scattered_ = true;
}

void PointStore::order_as(const PointStore& other) {
  DeviceArray<std::int64_t> order(other.order_.size(), context_, Reach::beside);
  check(cudaMemcpyPeerAsync(order.data(), context_.device, other.order_.data(), other.context_.device,
                            static_cast<std::size_t>(8 * order.size()), context_.stream));
  order_by(std::move(order));
  scattered_ = other.scattered_;
}

std::int64_t PointStore::shuffle_bytes(std::int64_t count) { return bytes_of<Order>(count); }

PointStore::PointStore(const knng_backend_problem& p, const Metric& metric, Staging& staging, DeviceContext& context,
                       const std::function<void()>& between)
    : context_(context) {
  const double largest = p.metric.largest;
  if (cuda::is_paged(p))
    paged_.emplace(p.columns, metric.transform, largest, p.tile_cols, staging, context, between);
  else
    columns_.emplace(p.columns, metric.transform, largest, staging, context, between);
  if (!p.square) try {
      queries_.emplace(p.rows, metric.transform, largest, staging, context, between);
    } catch (const RefusedRow& refused) {
      throw RefusedRow{refused.row, true};
    }
}

std::vector<std::int64_t> PointStore::shuffle(bool wants_places) {
  const std::int64_t n = columns_->count();
  const RowOrder random(n, nullptr);
  const std::span<const std::int64_t> runs = random.runs();
  auto order = taken<Order>(context_, n);
  check(cudaMemcpyAsync(order.firsts.data(), runs.data(), runs.size_bytes(), cudaMemcpyHostToDevice, context_.stream));
  context_.stream.wait();
  list_runs<<<blocks_for(n, kThreads), kThreads, 0, context_.stream>>>(
      order.firsts.data(), static_cast<std::int64_t>(runs.size()), order.columns.data(), n);
  check_launch();
  order_ = std::move(order.columns);
  std::vector<std::int64_t> places(wants_places ? runs.size() : 0);
  for (std::size_t r = 0; r < places.size(); ++r)
    places[static_cast<std::size_t>(runs[r] / RowOrder::kRun)] = static_cast<std::int64_t>(r);
  return places;
}

BlockView PointStore::view_of_columns(std::int64_t first) {
  if (!paged_) return {columns_->view(), first};
  const std::int64_t block = paged_->block_of(first);
  std::byte* const memory = stored_->find(block, [&](std::byte* to) { paged_->bring(block, to); });
  return {paged_->view(block, memory), first - paged_->first_of(block)};
}

}  // namespace libknng::cuda

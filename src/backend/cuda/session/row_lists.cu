#include "backend/cuda/session/row_lists.cuh"

#include <algorithm>
#include <limits>
#include <vector>

#include "prepare/row_order.h"

namespace libknng::cuda {
namespace {

constexpr int kThreads = 256;
constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr std::uint32_t kNobody = 0xffffffff;

unsigned blocks_of(std::int64_t threads) { return static_cast<unsigned>((threads + kThreads - 1) / kThreads); }

// cutoffs: null if they stay.
__global__ void clear_lists(std::int64_t lists, std::int32_t* counts, float* cutoffs, float* dropped) {
  const std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i >= lists) return;
  counts[i] = 0;
  dropped[i] = kInfinity;
  if (cutoffs) cutoffs[i] = kInfinity;
}

__global__ void lower(float* into, const float* from, std::int64_t count) {
  const std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i < count) into[i] = fminf(into[i], from[i]);
}

__global__ void exclude_self(std::uint32_t* excluded, std::int64_t rows) {
  const std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i < rows) excluded[i] = static_cast<std::uint32_t>(i);
}

}  // namespace

RowLists::RowLists(const knng_backend_problem& p, ArraySource& source)
    : rows_(p.rows.count),
      capacity_(p.capacity),
      entries_(source.take<Candidate>(rows_ * capacity_, Reach::beside)),
      counts_(source.take<std::int32_t>(rows_, Reach::beside)),
      cutoffs_(source.take<float>(rows_, Reach::beside)),
      dropped_(source.take<float>(rows_, Reach::beside)) {
  if (p.square || p.leave_out) excluded_ = source.take<std::uint32_t>(rows_);
}

void RowLists::exclude_rows(const Stream& stream) {
  exclude_self<<<blocks_of(rows_), kThreads, 0, stream>>>(excluded_.data(), rows_);
  check_launch();
}

void RowLists::exclude_columns(const std::int64_t* leave_out, std::span<const std::int64_t> places,
                               const Stream& stream) {
  std::vector<std::uint32_t> excluded(static_cast<std::size_t>(rows_), kNobody);
  for (std::size_t i = 0; i < excluded.size(); ++i) {
    if (leave_out[i] < 0) continue;
    const std::int64_t run = leave_out[i] / RowOrder::kRun;
    const bool moved = run < std::ssize(places);
    const std::int64_t at = moved ? places[static_cast<std::size_t>(run)] : run;
    excluded[i] = static_cast<std::uint32_t>(at * RowOrder::kRun + leave_out[i] % RowOrder::kRun);
  }
  check(cudaMemcpyAsync(excluded_.data(), excluded.data(), excluded.size() * sizeof excluded[0], cudaMemcpyHostToDevice,
                        stream));
  stream.wait();
}

void RowLists::clear(const Stream& stream) {
  clear_lists<<<blocks_of(rows_), kThreads, 0, stream>>>(rows_, counts_.data(), cutoffs_.data(), dropped_.data());
  check_launch();
}

void RowLists::empty(const Stream& stream) {
  clear_lists<<<blocks_of(rows_), kThreads, 0, stream>>>(rows_, counts_.data(), nullptr, dropped_.data());
  check_launch();
}

CandidateLists RowLists::from(std::int64_t first, std::int64_t capacity) const {
  return {entries_.data() + first * capacity, counts_.data() + first, static_cast<int>(capacity),
          cutoffs_.data() + first, dropped_.data() + first};
}

void RowLists::lower_cutoffs(const RowLists& from, const Stream& stream) {
  lower<<<blocks_of(rows_), kThreads, 0, stream>>>(cutoffs_.data(), from.cutoffs_.data(), rows_);
  check_launch();
}

void RowLists::lower_cutoffs(const RowLists& from, int device, int device_of_from, const DeviceArray<float>& space,
                             const Stream& stream) {
  for (std::int64_t done = 0; done < rows_; done += space.size()) {
    const std::int64_t count = std::min(space.size(), rows_ - done);
    check(cudaMemcpyPeerAsync(space.data(), device, from.cutoffs_.data() + done, device_of_from,
                              static_cast<std::size_t>(4 * count), stream));
    lower<<<blocks_of(count), kThreads, 0, stream>>>(cutoffs_.data() + done, space.data(), count);
    check_launch();
  }
}

}  // namespace libknng::cuda

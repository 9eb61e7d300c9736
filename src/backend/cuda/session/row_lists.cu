#include "backend/cuda/session/row_lists.cuh"

#include <algorithm>
#include <limits>
#include <vector>

#include "backend/cuda/base/blocks.cuh"
#include "prepare/row_order.h"

namespace libknng::cuda {
namespace {

constexpr int kThreads = 256;
constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr std::uint32_t kNobody = 0xffffffff;

// cutoffs: null if they stay.
__global__ void clear_lists(std::int64_t lists, std::int32_t* counts, float* cutoffs, float first_cutoff,
                            float* dropped) {
  const std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i >= lists) return;
  counts[i] = 0;
  dropped[i] = kInfinity;
  if (cutoffs) cutoffs[i] = first_cutoff;
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
      most_(p.capacity),
      capacity_(most_),
      square_(p.square != 0),
      entries_(source.take<Candidate>(rows_ * most_, Reach::beside)),
      counts_(source.take<std::int32_t>(rows_, Reach::beside)),
      cutoffs_(source.take<float>(rows_, Reach::beside)),
      dropped_(source.take<float>(rows_, Reach::beside)) {
  if (p.square || p.leave_out) excluded_ = source.take<std::uint32_t>(rows_);
}

void RowLists::admit(const Admission& admission, std::span<const std::int64_t> places, const Stream& stream) {
  if (excluded_.size() == 0) return;
  if (admission.square) {
    exclude_self<<<blocks_for(rows_, kThreads), kThreads, 0, stream>>>(excluded_.data(), rows_);
    return check_launch();
  }
  std::vector<std::uint32_t> excluded(static_cast<std::size_t>(rows_), kNobody);
  for (std::int64_t row = 0; row < rows_; ++row) {
    const std::int64_t id = admission.of(row).excluded;
    if (id < 0) continue;
    const std::int64_t run = id / RowOrder::kRun;
    const bool moved = run < std::ssize(places);
    const std::int64_t at = moved ? places[static_cast<std::size_t>(run)] : run;
    excluded[static_cast<std::size_t>(row)] = static_cast<std::uint32_t>(at * RowOrder::kRun + id % RowOrder::kRun);
  }
  check(cudaMemcpyAsync(excluded_.data(), excluded.data(), excluded.size() * sizeof excluded[0], cudaMemcpyHostToDevice,
                        stream));
  stream.wait();
}

ListAdmission RowLists::admission(std::int64_t first, bool apart) const {
  if (square_ && apart) return {};
  return ListAdmission{excluded_.data()}.from(first);
}

void RowLists::clear(float first_cutoff, const Stream& stream) {
  capacity_ = most_;
  clear_lists<<<blocks_for(rows_, kThreads), kThreads, 0, stream>>>(rows_, counts_.data(), cutoffs_.data(),
                                                                    first_cutoff, dropped_.data());
  check_launch();
}

void RowLists::empty(const Stream& stream) {
  clear_lists<<<blocks_for(rows_, kThreads), kThreads, 0, stream>>>(rows_, counts_.data(), nullptr, 0, dropped_.data());
  check_launch();
}

CandidateLists RowLists::from(std::int64_t first, std::int64_t capacity) const {
  return {entries_.data() + first * capacity, counts_.data() + first, static_cast<int>(capacity),
          cutoffs_.data() + first, dropped_.data() + first};
}

void RowLists::lower_cutoffs(const RowLists& from, const Stream& stream) {
  lower<<<blocks_for(rows_, kThreads), kThreads, 0, stream>>>(cutoffs_.data(), from.cutoffs_.data(), rows_);
  check_launch();
}

void RowLists::lower_cutoffs(const RowLists& from, int device, int device_of_from, const DeviceArray<float>& space,
                             const Stream& stream) {
  for (std::int64_t done = 0; done < rows_; done += space.size()) {
    const std::int64_t count = std::min(space.size(), rows_ - done);
    check(cudaMemcpyPeerAsync(space.data(), device, from.cutoffs_.data() + done, device_of_from,
                              static_cast<std::size_t>(4 * count), stream));
    lower<<<blocks_for(count, kThreads), kThreads, 0, stream>>>(cutoffs_.data() + done, space.data(), count);
    check_launch();
  }
}

}  // namespace libknng::cuda

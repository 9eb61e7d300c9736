// The selector `quick`: plan and choice. Kernels: quick_rows.cu, quick_columns.cu.
#include "backend/cuda/select/quick.cuh"

#include <algorithm>
#include <cmath>

#include "backend/cuda/select/entries.cuh"

namespace libknng::cuda {

namespace {

// The most that is sampled; and what blocks sample of lists that are not long, if these are 16 times as long: few
// keys would leave far more than are kept. Of 10,000 with C = 1,153 the pivot of 72 leaves 2,640, and that of 512
// 1,660.
constexpr std::int64_t kMostSampled = 4096, kSampledByBlock = 512;
std::int64_t sampled(int length, int threads, int part) {
  const std::int64_t of_short = threads > 32 ? std::min<std::int64_t>(length / 16, kSampledByBlock) : 0;
  return std::min(std::max<std::int64_t>(length / part, of_short), kMostSampled);
}

}  // namespace

int enough_room(int length, int capacity, int threads, int part) {
  const int keep = std::min(capacity, length - 1) + 1;
  const std::int64_t sample = sampled(length, threads, part / 2);
  return static_cast<int>(
      std::min<std::int64_t>(length, std::max<std::int64_t>(std::int64_t{keep} + std::max(4 * threads, 128), sample)));
}

QuickPlan plan_quick(int length, int capacity, int threads, int part, std::int64_t most) {
  QuickPlan plan{};
  plan.keep = capacity < length ? capacity + 1 : length;
  const double keep = plan.keep;
  constexpr int piece = kSampledPiece;
  const bool many = keep > length / 1024.0;
  const auto sample = static_cast<int>(many ? sampled(length, threads, part / 2)
                                            : std::min<std::int64_t>(length / part, kMostSampled)) /
                      piece * piece;
  // The wanted element's rank in the sample is about Poisson(mean); one list in a thousand is read a second time. Of a
  // sorted list a piece of the sample may be among the wanted as a whole: then the second pivot is in another.
  const double mean = sample * keep / length;
  const double rank = std::ceil(mean + 3.1 * std::sqrt(mean) + 1.5);
  double room = keep + std::max(4 * threads, 128);
  if (sample >= 32 && rank <= sample / 2.0) {
    plan.sample = sample;
    plan.pivots[0] = static_cast<int>(rank);
    plan.pivots[1] = static_cast<int>(std::max(rank + 2 * piece, 1.5 * rank));
    // What lies below such a pivot, and a little more; not more than saves anything.
    room = std::max(room, std::min(1.15 * length * rank / sample, 3 * keep + 1024));
  } else {
    room = std::max(room, 2 * keep);
  }
  const auto limit = std::max<std::int64_t>(most, enough_room(length, capacity, threads, part));
  plan.room = static_cast<int>(std::min(static_cast<double>(std::min<std::int64_t>(limit, length)), room));
  plan.room = std::max(plan.room, plan.sample);
  if (plan.room >= length) plan.sample = 0;  // it all fits
  return plan;
}

int most_room(int length, int capacity) {
  constexpr std::int64_t threads = 1024, sample = 4096;
  const std::int64_t keep = std::int64_t{capacity} + 1;
  return static_cast<int>(std::min<std::int64_t>(length, std::max({keep + 4 * threads, 3 * keep + 1024, sample})));
}

std::size_t quick_workspace(const SelectJob& job, const DeviceLimits& limits) {
  return job.side == Side::rows ? quick_rows_workspace(job, 0, limits) : quick_columns_workspace(job, limits);
}

void quick_run(const SelectJob& job, void* workspace, cudaStream_t stream) {
  if (job.side == Side::rows)
    quick_rows(job, 0, workspace, stream);
  else
    quick_columns(job, workspace, stream);
}

}  // namespace libknng::cuda

#include "backend/cuda/tree/search.cuh"

#include "backend/cuda/base/blocks.cuh"
#include "backend/cuda/base/check.cuh"
#include "backend/cuda/base/warp.cuh"
#include "backend/cuda/rows/canonical.cuh"
#include "backend/cuda/tree/nearest_heap.cuh"

namespace libknng::cuda {
namespace {

constexpr int kWarps = 4;  // of a block
// Leaves that a warp visits between two looks at whether the call was cancelled.
constexpr int kLeavesBetween = 256;
static_assert(kFan == kCanonicalLanes, "a lane has a member of a group");

__device__ Rank farthest_of_warp(Rank rank) {
#pragma unroll
  for (int h = kFan / 2; h > 0; h /= 2) {
    const Rank other{__shfl_xor_sync(kAllLanes, rank.key, h), __shfl_xor_sync(kAllLanes, rank.id, h)};
    if (rank < other) rank = other;
  }
  return rank;
}

// The lane with the smallest bound of those that are alive; bounds are not negative.
__device__ int nearest_of_warp(bool alive, double bound) {
  const auto bits = alive ? static_cast<unsigned long long>(__double_as_longlong(bound)) : ~0ull;
  return __ffs(static_cast<int>(__ballot_sync(kAllLanes, bits == smallest_of_lanes(bits)))) - 1;
}

__device__ unsigned members_of(int size) { return size == kFan ? ~0u : (1u << size) - 1; }

// What a warp has in shared memory.
template <int kDim>
struct alignas(16) Shared {
  double points[kFan][kDim];  // of a leaf
  std::uint32_t ids[kFan];
  double low[kDim], high[kDim];  // of the box around the warp's rows
};

// One row a lane, all columns for the warp's 32 rows together.
template <class T, int kDim>
class Search {
 public:
  __device__ Search(const SearchJob& job, double scale, Shared<kDim>& shared, std::int64_t at)
      : job_(job),
        scale_(scale),
        shared_(shared),
        lane_(static_cast<int>(threadIdx.x) % kFan),
        active_(at < job.count),
        place_(active_ ? job.order.numbers[at] : 0),
        list_(job.entries.keys + place_ * job.entries.slots, job.entries.ids + place_ * job.entries.slots,
              job.entries.slots, job.admission.first_cutoff()) {
    const std::int64_t row = job.first + place_;
    if (active_) admission_ = job.admission.of(row);
    searches_ = active_ && !(job.constants && job.constants[row].factor == 0);
    const double* u = job.u + place_ * job.columns.dim;
#pragma unroll
    for (int t = 0; t < kDim; ++t) u_[t] = searches_ && t < job.columns.dim ? u[t] : 0.0;
  }

  __device__ void run(std::int64_t at) {
    const bool begins = !is_cancelled();
    if (active_ && begins) begin_list();
    if (begins && __any_sync(kAllLanes, searches_) && job_.columns.levels > 0) {
      enclose_rows();
      // First where the rows are themselves: what is found there spares the walk most of its way.
      find_own(at);
      Walk walk;
      begin(walk);
      std::uint32_t next = own_;
      for (std::int64_t leaf = 0; goes_on(); visit(leaf)) {
        leaf = next < own_end_ ? next++ : next_leaf(walk);
        if (leaf < 0) break;
      }
    }
    if (active_) job_.entries.filled[place_] = static_cast<std::int32_t>(list_.size());
    evaluated_ = sum_of_lanes(evaluated_);
    if (lane_ == 0 && evaluated_ > 0) atomicAdd(&job_.state->evaluated, evaluated_);
  }

 private:
  // Of the warp.
  __device__ bool is_cancelled() const {
    return __any_sync(kAllLanes, *static_cast<const volatile int*>(&job_.state->cancelled) != 0);
  }
  // With the next leaf: asks every so often.
  __device__ bool goes_on() { return ++visited_ % kLeavesBetween != 0 || !is_cancelled(); }

  // Columns whose keys need no arithmetic. A row without direction is as far from every column: the smallest ids win.
  __device__ void begin_list() {
    const bool near = kNoDirectionKey <= job_.admission.first_cutoff();
    if (searches_) {
      for (std::int64_t c = 0; near && c < job_.directionless_count && !list_.full(); ++c)
        if (admission_.admits(job_.directionless[c])) list_.take({kNoDirectionKey, job_.directionless[c]});
      cut_off_ = list_.cut_off();
      return;
    }
    for (std::int64_t c = 0; near && c < job_.column_count && !list_.full(); ++c)
      if (admission_.admits(c)) list_.take({kNoDirectionKey, static_cast<std::uint32_t>(c)});
  }

  __device__ void enclose_rows() {
#pragma unroll
    for (int t = 0; t < kDim; ++t) {
      const double low = smallest_of_lanes(searches_ ? u_[t] : INFINITY);
      const double high = largest_of_lanes(searches_ ? u_[t] : -INFINITY);
      if (lane_ == 0) {
        shared_.low[t] = low;
        shared_.high[t] = high;
      }
    }
    __syncwarp();
  }

  // No key of the warp's rows with points of the box is below this.
  __device__ double bound_of_warp(const Members& boxes, std::int64_t group, int member) const {
    double gaps[kDim];
#pragma unroll
    for (int t = 0; t < kDim; ++t) {
      gaps[t] = 0;
      if (t >= job_.columns.dim) continue;
      const std::int64_t at = boxes.at(group, t) + member;
      gaps[t] = gap(shared_.low[t], shared_.high[t], boxes.lows[at], boxes.highs[at]);
    }
    return gap_key<T, kDim>(gaps, scale_);
  }
  // The same of the lane's row.
  __device__ double bound_of_row(const Members& boxes, std::int64_t group, int member) const {
    double gaps[kDim];
#pragma unroll
    for (int t = 0; t < kDim; ++t) {
      gaps[t] = 0;
      if (t >= job_.columns.dim) continue;
      const std::int64_t at = boxes.at(group, t) + member;
      gaps[t] = gap(u_[t], u_[t], boxes.lows[at], boxes.highs[at]);
    }
    return gap_key<T, kDim>(gaps, scale_);
  }

  // The leaves around the middle row, by the order that both are in; more for longer lists.
  __device__ void find_own(std::int64_t at) {
    const std::int64_t middle = at + kFan / 2 < job_.count ? at + kFan / 2 : at;
    const std::int64_t leaf = leaf_of(job_.columns, job_.order.codes[middle]), leaves = job_.columns.boxes[0].count;
    const std::int64_t beside = job_.entries.slots / (2 * kFan);
    own_ = static_cast<std::uint32_t>(leaf > beside ? leaf - beside : 0);
    own_end_ = static_cast<std::uint32_t>(leaf + beside < leaves ? leaf + beside + 1 : leaves);
  }

  // Where a warp is in the tree: by level the group, and who of it is left.
  struct Walk {
    int level;
    std::int64_t group[kMostLevels];
    unsigned left[kMostLevels];
  };
  __device__ void begin(Walk& walk) const {
    walk.level = job_.columns.levels - 1;
    walk.group[walk.level] = 0;
    walk.left[walk.level] = members_of(job_.columns.boxes[walk.level].size(0));
  }
  // Down the tree, the nearest box of a group first; -1 at the end. Bounds are found again whenever the warp comes back
  // to a group: that costs less than to keep them, and cut-offs have fallen.
  __device__ std::int64_t next_leaf(Walk& walk) const {
    const Rank cut_off = farthest_of_warp(cut_off_);
    while (walk.level < job_.columns.levels) {
      const Members& boxes = job_.columns.boxes[walk.level];
      bool alive = (walk.left[walk.level] >> lane_ & 1) != 0;
      double bound = 0;
      if (alive) {
        bound = bound_of_warp(boxes, walk.group[walk.level], lane_);
        // What has this bound and this id at least is behind every list's last entry.
        alive = !(cut_off < Rank{bound, boxes.ids[walk.group[walk.level] * kFan + lane_]});
      }
      walk.left[walk.level] = __ballot_sync(kAllLanes, alive);
      if (walk.left[walk.level] == 0) {
        ++walk.level;
        continue;
      }
      const int member = nearest_of_warp(alive, bound);
      walk.left[walk.level] &= ~(1u << member);
      const std::int64_t box = walk.group[walk.level] * kFan + member;
      if (walk.level > 0) {
        --walk.level;
        walk.group[walk.level] = box;
        walk.left[walk.level] = members_of(job_.columns.boxes[walk.level].size(box));
      } else if (box < own_ || box >= own_end_) {
        return box;
      }
    }
    return -1;
  }

  // The points of a leaf, through shared memory.
  __device__ void visit(std::int64_t leaf) {
    const Members& boxes = job_.columns.boxes[0];
    const Rank nearest{bound_of_row(boxes, leaf / kFan, static_cast<int>(leaf % kFan)), boxes.ids[leaf]};
    const bool wanted = searches_ && !(cut_off_ < nearest);
    if (!__any_sync(kAllLanes, wanted)) return;
    const Members& points = job_.columns.points;
    const int size = points.size(leaf);
    __syncwarp();  // the leaf before was read
    if (lane_ < size) {
#pragma unroll
      for (int t = 0; t < kDim; ++t)
        shared_.points[lane_][t] = t < job_.columns.dim ? points.lows[points.at(leaf, t) + lane_] : 0.0;
      shared_.ids[lane_] = points.ids[leaf * kFan + lane_];
    }
    __syncwarp();
    if (!wanted) return;
    evaluated_ += static_cast<unsigned>(size);

    // First which points are near enough, without a branch; few are.
    unsigned found = 0;
#pragma unroll 4
    for (int j = 0; j < kFan; ++j) {
      const double key = short_key<T, kDim>(u_, shared_.points[j], scale_);
      found |= key <= cut_off_.key ? 1u << j : 0u;
    }
    found &= members_of(size);
    while (found != 0) {
      const int j = __ffs(static_cast<int>(found)) - 1;
      found &= found - 1;
      const Rank entry{short_key<T, kDim>(u_, shared_.points[j], scale_), shared_.ids[j]};
      if (!(entry < cut_off_) || !admission_.admits(entry.id)) continue;
      list_.take(entry);
      cut_off_ = list_.cut_off();
    }
  }

  const SearchJob& job_;
  const double scale_;
  Shared<kDim>& shared_;
  const int lane_;
  const bool active_;
  const std::int64_t place_;
  bool searches_;
  RowAdmission admission_;
  double u_[kDim];
  NearestHeap list_;
  Rank cut_off_ = no_rank();             // of a lane that does not search: nothing is wanted for it
  std::uint32_t own_ = 0, own_end_ = 0;  // leaves visited before the walk
  unsigned visited_ = 0;
  unsigned long long evaluated_ = 0;
};

template <class T, int kDim>
__global__ void __launch_bounds__(kWarps* kFan) search_rows(__grid_constant__ const SearchJob job, double scale) {
  __shared__ Shared<kDim> shared[kWarps];
  const int warp = static_cast<int>(threadIdx.x) / kFan;
  const std::int64_t first = (static_cast<std::int64_t>(blockIdx.x) * kWarps + warp) * kFan;
  if (first >= job.count) return;
  Search<T, kDim>(job, scale, shared[warp], first + static_cast<int>(threadIdx.x) % kFan).run(first);
}

template <class T, int kDim>
void launch(const SearchJob& job, double scale, cudaStream_t stream) {
  constexpr std::int64_t kRows = kWarps * kFan;
  search_rows<T, kDim><<<blocks_for(job.count, kRows), kRows, 0, stream>>>(job, scale);
  check_launch();
}

}  // namespace

void search_nearest(const SearchJob& job, const Metric& metric, cudaStream_t stream) {
  if (job.count == 0) return;
  visit_growing_term(metric.term, [&](auto term) {
    using T = decltype(term);
    const int dim = job.columns.dim;
    if (dim <= 2) return launch<T, 2>(job, metric.scale, stream);
    if (dim <= 3) return launch<T, 3>(job, metric.scale, stream);
    if (dim <= 4) return launch<T, 4>(job, metric.scale, stream);
    if (dim <= 6) return launch<T, 6>(job, metric.scale, stream);
    if (dim <= 8) return launch<T, 8>(job, metric.scale, stream);
    if (dim <= 12) return launch<T, 12>(job, metric.scale, stream);
    launch<T, 16>(job, metric.scale, stream);
  });
}

}  // namespace libknng::cuda

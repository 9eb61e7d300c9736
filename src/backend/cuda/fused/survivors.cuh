// Pairs that a warp has found, on their way to lists. A list's count is far away, and who waits for it multiplies
// nothing meanwhile: so many go together.
#pragma once

#include "backend/cuda/fused/fused_job.cuh"
#include "backend/cuda/fused/held_up.cuh"
#include "backend/cuda/select/key.cuh"

namespace libknng::cuda::fused {

struct Survivor {
  float low;
  std::uint32_t code;  // row in the block, column in the unit, and whose it is
};
static_assert(kBlockRows <= 1 << 16 && kUnitColumns <= 1 << 14);

inline constexpr std::uint32_t kOfRow = 2, kOfColumn = 1;
__device__ inline std::uint32_t pair_code(int row, int column, bool of_row, bool of_column) {
  return static_cast<std::uint32_t>(row) << 16 | static_cast<std::uint32_t>(column) << 2 | (of_row ? kOfRow : 0U) |
         (of_column ? kOfColumn : 0U);
}

// The smallest of *at and low, which is no NaN. The order of floats is that of their bits as signed integers where they
// are not negative, and the reverse of it as unsigned ones where they are.
__device__ inline void lower(float* at, float low) {
  low = __fadd_rn(low, 0.0F);  // no -0
  if (low < 0)
    atomicMax(reinterpret_cast<unsigned*>(at), __float_as_uint(low));
  else
    atomicMin(reinterpret_cast<int*>(at), __float_as_int(low));
}

class Survivors {
 public:
  static constexpr int kRoom = 96;
  struct Space {
    Survivor found[kRoom];
  };

  // All lanes, as for everything.
  __device__ explicit Survivors(Space& space) : space_(space) {}

  // A lane's own, if it has one.
  __device__ void add(bool has, const Survivor& found, const FusedWork& job, int first_row, int first_column) {
    const unsigned all = __ballot_sync(0xffffffffU, has);
    if (count_ + __popc(all) > kRoom) deliver(job, first_row, first_column);
    if (has) space_.found[count_ + __popc(all & ((1U << lane()) - 1))] = found;
    count_ += __popc(all);
  }

  // All that a lane hands over is under way at a time.
  __device__ void deliver(const FusedWork& job, int first_row, int first_column) {
    constexpr int kOfLane = kRoom / 32;
    __syncwarp();
    Survivor found[kOfLane];
    int rows[kOfLane], columns[kOfLane], in_row[kOfLane], in_column[kOfLane];
#pragma unroll
    for (int i = 0; i < kOfLane; ++i) {
      const int at = lane() + 32 * i;
      found[i] = at < count_ ? space_.found[at] : Survivor{infinity(), 0};
      rows[i] = point_at(job.row_order, first_row + static_cast<int>(found[i].code >> 16));
      columns[i] = point_at(job.column_order, first_column + static_cast<int>(found[i].code >> 2 & 0x3fffU));
    }
#pragma unroll
    for (int i = 0; i < kOfLane; ++i) {
      // Padding goes out by its number; what is no candidate, by its low.
      if (!(found[i].low < infinity()) || rows[i] >= job.rows.rows || columns[i] >= job.rows.columns) found[i].code = 0;
      if ((found[i].code & kOfRow) != 0) in_row[i] = claim(job.rows, rows[i], columns[i]);
      if ((found[i].code & kOfColumn) != 0) in_column[i] = claim(job.columns, columns[i], rows[i]);
    }
    may_be_held_up();
#pragma unroll
    for (int i = 0; i < kOfLane; ++i) {
      if ((found[i].code & kOfRow) != 0) store(job, job.rows, rows[i], columns[i], in_row[i], found[i].low);
      if ((found[i].code & kOfColumn) != 0) store(job, job.columns, columns[i], rows[i], in_column[i], found[i].low);
    }
    __syncwarp();
    count_ = 0;
  }

 private:
  static constexpr int kNoPlace = -1;

  static __device__ int lane() { return static_cast<int>(threadIdx.x % 32); }
  // A place in a list that admits the element.
  static __device__ int claim(const SelectJob& side, int list, int element) {
    const auto e = static_cast<std::uint32_t>(element);
    if (!side.admission.admits_all() && !side.admission.of(list, side.first_id).admits(e)) return kNoPlace;
    return atomicAdd(&side.counts[list], 1);
  }
  static __device__ void store(const FusedWork& job, const SelectJob& side, int list, int element, int place,
                               float low) {
    if (place == kNoPlace) return;
    if (place < side.capacity) {
      side.out[static_cast<std::int64_t>(list) * side.capacity + place] = {
          low, side.first_id + static_cast<std::uint32_t>(element)};
      return;
    }
    if (place == side.capacity) atomicAdd(&job.overflown[job.pass], 1U);
    if (job.pass == job.passes - 1) lower(side.dropped + list, low);
  }

  Space& space_;
  int count_ = 0;
};

}  // namespace libknng::cuda::fused

// Pairs that a warp has found, on their way to lists. A list's count is far away, and who waits for it multiplies nothing
// meanwhile: so many go together. All lanes call everything but add().
#pragma once

#include "backend/cuda/fused/fused_job.cuh"
#include "backend/cuda/select/key.cuh"

namespace libknng::cuda::fused {

struct Survivor {
  float product;
  std::uint32_t place;  // row in the block, column in the unit, and whose it is
};
static_assert(kBlockRows <= 1 << 16 && kUnitColumns <= 1 << 14);

inline constexpr std::uint32_t kOfRow = 2, kOfColumn = 1;
__device__ inline std::uint32_t place_of(int row, int column, bool of_row, bool of_column) {
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
    int count;
    Survivor found[kRoom];
  };

  __device__ explicit Survivors(Space& space) : space_(space) {
    if (lane() == 0) space_.count = 0;
    __syncwarp();
  }

  // A lane's own; false: there is no room before the next deliver().
  __device__ bool add(float product, std::uint32_t place) {
    const int at = atomicAdd(&space_.count, 1);
    if (at >= kRoom) return false;
    space_.found[at] = {product, place};
    return true;
  }
  __device__ bool is_crowded() const { return space_.count > kRoom / 2; }

  __device__ void deliver(const FusedJob& job, int first_row, int first_column) {
    __syncwarp();
    const int count = min(space_.count, kRoom);
#pragma unroll 1
    for (int i = lane(); i < count; i += 32) {
      const Survivor s = space_.found[i];
      const int row = first_row + static_cast<int>(s.place >> 16);
      const int column = first_column + static_cast<int>(s.place >> 2 & 0x3fffU);
      if (row >= job.rows.rows || column >= job.rows.columns) continue;  // padding
      const float low = __fmaf_rn(-2.0F, s.product, __fadd_rn(job.rows.row_terms[row], job.rows.column_terms[column]));
      if (!(low < infinity())) continue;
      if ((s.place & kOfRow) != 0) append(job, job.rows, row, column, low);
      if ((s.place & kOfColumn) != 0) append(job, job.columns, column, row, low);
    }
    __syncwarp();
    if (lane() == 0) space_.count = 0;
    __syncwarp();
  }

 private:
  static __device__ int lane() { return static_cast<int>(threadIdx.x % 32); }
  static __device__ void append(const FusedJob& job, const SelectJob& side, int list, int element, float low) {
    const std::uint32_t id = side.first_id + static_cast<std::uint32_t>(element);
    if (side.excluded && side.excluded[list] == id) return;
    const int place = atomicAdd(&side.counts[list], 1);
    if (place < side.capacity) {
      side.out[static_cast<std::int64_t>(list) * side.capacity + place] = {low, id};
      return;
    }
    if (place == side.capacity) atomicAdd(&job.overflown[job.pass], 1U);
    if (job.pass == kPasses - 1) lower(side.dropped + list, low);
  }

  Space& space_;
};

}  // namespace libknng::cuda::fused

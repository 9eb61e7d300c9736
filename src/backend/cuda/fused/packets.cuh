// Products of a lane in which some pair is wanted, put aside while the warp goes on: which pair it is, and whose, is
// found out for many packets at a time, by all lanes.
#pragma once

#include "backend/cuda/fused/survivors.cuh"

namespace libknng::cuda::fused {

inline constexpr int kPacketProducts = 16;

template <int kRoom>
struct PacketSpace {
  __align__(16) float products[kRoom][kPacketProducts];
  std::uint32_t origins[kRoom];
  int count;
};

template <int kRoom>
class Packets {
 public:
  using Space = PacketSpace<kRoom>;

  // Cleared, at first.
  __device__ explicit Packets(Space& space) : space_(space) {}

  // A lane's own: products of a group of the columns that begin `column` columns into the unit. False: no room.
  __device__ bool add(const float (&products)[kPacketProducts], int column, int group) {
    const int at = atomicAdd(&space_.count, 1);
    if (at >= kRoom) return false;
    auto* const to = reinterpret_cast<float4*>(space_.products[at]);
#pragma unroll
    for (int i = 0; i < kPacketProducts / 4; ++i)
      to[i] = {products[4 * i], products[4 * i + 1], products[4 * i + 2], products[4 * i + 3]};
    space_.origins[at] =
        static_cast<std::uint32_t>(column) << 16 | static_cast<std::uint32_t>(group) << 8 | threadIdx.x % 32;
    return true;
  }
  __device__ bool is_crowded() const { return space_.count > kRoom * 3 / 4; }
  __device__ bool is_empty() const { return space_.count == 0; }

  struct Product {
    float value;
    int e;  // its number in the packet
    int column, group, lane;
  };
  // All lanes: as many products as there are, and the i-th of them.
  __device__ int products() const { return min(space_.count, kRoom) * kPacketProducts; }
  __device__ Product product(int i) const {
    const std::uint32_t origin = space_.origins[i / kPacketProducts];
    return {space_.products[i / kPacketProducts][i % kPacketProducts], i % kPacketProducts,
            static_cast<int>(origin >> 16), static_cast<int>(origin >> 8 & 0xffU), static_cast<int>(origin & 0xffU)};
  }
  // All lanes.
  __device__ void clear() {
    __syncwarp();
    if (threadIdx.x % 32 == 0) space_.count = 0;
    __syncwarp();
  }

 private:
  Space& space_;
};

}  // namespace libknng::cuda::fused

// Products of a lane in which some pair may be wanted, put aside while the warp goes on: which pair it is, and whose,
// is found out for many packets at a time. All lanes call everything.
#pragma once

#include "backend/cuda/fused/survivors.cuh"

namespace libknng::cuda::fused {

// kProducts: of a packet.
template <class Number, int kProducts, int kRoom>
struct PacketSpace {
  static_assert(kProducts % 4 == 0 && 32 % kProducts == 0);
  __align__(16) Number products[kRoom][kProducts];
  Number needed[kRoom];
  std::uint32_t origins[kRoom];
};

// What a lane puts aside: products of a group of the columns that begin `column` columns into the unit. None that is
// lower than `needed` is wanted.
template <class Number, int kProducts>
struct Packet {
  Number products[kProducts];
  Number needed;
  int column, group;
};

template <class Number, int kProducts, int kRoom>
class Packets {
 public:
  __device__ explicit Packets(PacketSpace<Number, kProducts, kRoom>& space, int count = 0)
      : space_(space), count_(count) {}

  __device__ int count() const { return count_; }
  __device__ void clear() { count_ = 0; }

  // Those of lanes in `all`, as far as there is room; returns of which lanes there are still some.
  __device__ unsigned add(unsigned all, const Packet<Number, kProducts>& packet) {
    const unsigned lane = threadIdx.x % 32;
    const int at = count_ + __popc(all & ((1U << lane) - 1));
    const bool goes = (all >> lane & 1U) != 0 && at < kRoom;
    if (goes) {
      auto* const to = reinterpret_cast<Four*>(space_.products[at]);
#pragma unroll
      for (int i = 0; i < kProducts / 4; ++i)
        to[i] = {{packet.products[4 * i], packet.products[4 * i + 1], packet.products[4 * i + 2],
                  packet.products[4 * i + 3]}};
      space_.needed[at] = packet.needed;
      space_.origins[at] =
          static_cast<std::uint32_t>(packet.column) << 16 | static_cast<std::uint32_t>(packet.group) << 8 | lane;
    }
    count_ = min(count_ + __popc(all), kRoom);
    return all & ~__ballot_sync(0xffffffffU, goes);
  }

  // Writes the numbers of products that may be wanted, at most all, and returns how many.
  __device__ int find_near(std::uint16_t* near) const {
    constexpr int kAtATime = 32 / kProducts;  // packets: a lane looks at a product
    const int lane = static_cast<int>(threadIdx.x % 32);
    int found = 0;
    // Four loads are under way at a time.
#pragma unroll 4
    for (int first = 0; first < count_; first += kAtATime) {
      const int packet = first + lane / kProducts;
      const bool is_near = packet < count_ && space_.products[packet][lane % kProducts] >= space_.needed[packet];
      const unsigned all = __ballot_sync(0xffffffffU, is_near);
      if (is_near)
        near[found + __popc(all & ((1U << lane) - 1))] = static_cast<std::uint16_t>(first * kProducts + lane);
      found += __popc(all);
    }
    __syncwarp();
    return found;
  }

  struct Product {
    Number value;
    int e;  // its number in the packet
    int column, group, lane;
  };
  __device__ Product product(int i) const {
    const std::uint32_t origin = space_.origins[i / kProducts];
    return {space_.products[i / kProducts][i % kProducts], i % kProducts, static_cast<int>(origin >> 16),
            static_cast<int>(origin >> 8 & 0xffU), static_cast<int>(origin & 0xffU)};
  }

 private:
  struct alignas(16) Four {
    Number values[4];
  };

  PacketSpace<Number, kProducts, kRoom>& space_;
  int count_;
};

}  // namespace libknng::cuda::fused

// Products of a lane in which some pair may be wanted, put aside while the warp goes on: which pair it is, and whose,
// is found out for many packets at a time. All lanes call everything.
#pragma once

#include "backend/cuda/fused/survivors.cuh"

namespace libknng::cuda::fused {

// What a lane puts aside: products of a group of the columns that begin `column` columns into the unit. None that is
// lower than `needed` is wanted.
template <class Number, int kProducts>
struct Packet {
  Number products[kProducts];
  Number needed;
  int column, group;
};

// Words to shared memory if `yes`: an instruction and no branch, so that those of several packets follow each other.
__device__ __forceinline__ void store_if(bool yes, unsigned at, std::uint32_t a, std::uint32_t b) {
  asm volatile(
      "{\n"
      ".reg .pred yes;\n"
      "setp.ne.s32 yes, %0, 0;\n"
      "@yes st.shared.v2.b32 [%1], {%2, %3};\n"
      "}\n" ::"r"(static_cast<int>(yes)),
      "r"(at), "r"(a), "r"(b)
      : "memory");
}
__device__ __forceinline__ void store_if(bool yes, unsigned at, std::uint32_t a, std::uint32_t b, std::uint32_t c,
                                         std::uint32_t d) {
  asm volatile(
      "{\n"
      ".reg .pred yes;\n"
      "setp.ne.s32 yes, %0, 0;\n"
      "@yes st.shared.v4.b32 [%1], {%2, %3, %4, %5};\n"
      "}\n" ::"r"(static_cast<int>(yes)),
      "r"(at), "r"(a), "r"(b), "r"(c), "r"(d)
      : "memory");
}
__device__ __forceinline__ std::uint32_t word_of(float x) { return __float_as_uint(x); }
__device__ __forceinline__ std::uint32_t word_of(std::int32_t x) { return static_cast<std::uint32_t>(x); }

// kProducts: of a packet.
template <class Number, int kProducts, int kPackets>
struct PacketSpace {
  static_assert(kProducts % 4 == 0 && 32 % kProducts == 0);
  static constexpr int kRoom = kPackets;
  struct alignas(8) Mark {
    Number needed;
    std::uint32_t origin;
  };

  __align__(16) Number products[kRoom][kProducts];
  Mark marks[kRoom];

  // The lane's own.
  __device__ __forceinline__ void put_if(bool yes, int at, const Packet<Number, kProducts>& packet) {
    const auto to = static_cast<unsigned>(__cvta_generic_to_shared(products[at]));
    const auto word = [&](int i) { return word_of(packet.products[i]); };
#pragma unroll
    for (int i = 0; i < kProducts; i += 4)
      store_if(yes, to + static_cast<unsigned>(i * sizeof(Number)), word(i), word(i + 1), word(i + 2), word(i + 3));
    store_if(yes, static_cast<unsigned>(__cvta_generic_to_shared(marks + at)), word_of(packet.needed),
             static_cast<std::uint32_t>(packet.column) << 16 | static_cast<std::uint32_t>(packet.group) << 8 |
                 threadIdx.x % 32);
  }
};

// Puts aside packet_of(g) for each group g of which `mine` has a bit, into a box of kRoom packets, `count` of which are
// there: in space(), after open() if there are none; flush() empties it. A lane knows the places of its packets before
// the first is stored, so that none waits for another. Returns how many packets all lanes had.
template <int kGroups, class Box, class PacketOf>
__device__ __forceinline__ int put_aside(Box& box, unsigned mine, const PacketOf& packet_of) {
  constexpr int kRoom = Box::kRoom, kBeside = 2;  // groups of which none is looked at if no lane has any
  static_assert(kGroups % kBeside == 0);
  const unsigned before = (1U << threadIdx.x % 32) - 1;
  int rank = 0, total = 0;  // of the lane's first packet among those of all
#pragma unroll
  for (int bit = 0; 1 << bit <= kGroups; ++bit) {
    const unsigned lanes = __ballot_sync(0xffffffffU, (__popc(mine) >> bit & 1) != 0);
    rank += __popc(lanes & before) << bit;
    total += __popc(lanes) << bit;
  }
  if (box.count + total > kRoom && box.count > 0) box.flush();
  for (int start = 0; start < total;) {  // once, unless there are more than a box holds
    if (box.count == 0) box.open();
    const int count = box.count;
    int at = count + rank - start;
#pragma unroll
    for (int first = 0; first < kGroups; first += kBeside) {
      if (!__any_sync(0xffffffffU, (mine >> first & ((1U << kBeside) - 1)) != 0)) continue;
#pragma unroll
      for (int g = first; g < first + kBeside; ++g) {
        const bool is_there = (mine >> g & 1U) != 0;
        box.space().put_if(is_there && count <= at && at < kRoom, at, packet_of(g));
        if (is_there) ++at;
      }
    }
    const int gone = min(total - start, kRoom - count);
    start += gone;
    box.count = count + gone;
    if (box.count == kRoom) box.flush();
  }
  return total;
}

// Packets that are looked through.
template <class Number, int kProducts, int kRoom>
class Packets {
 public:
  __device__ Packets(const PacketSpace<Number, kProducts, kRoom>& space, int count) : space_(space), count_(count) {}

  // Writes the numbers of products that may be wanted, at most all, and returns how many.
  __device__ int find_near(std::uint16_t* near) const {
    constexpr int kAtATime = 32 / kProducts, kUnderWay = 4;  // packets that a warp looks at, and such loads together
    const int lane = static_cast<int>(threadIdx.x % 32);
    int found = 0;
#pragma unroll 1
    for (int first = 0; first < count_; first += kUnderWay * kAtATime) {
      bool is_near[kUnderWay];
#pragma unroll
      for (int i = 0; i < kUnderWay; ++i) {
        const int packet = min(first + i * kAtATime + lane / kProducts, kRoom - 1);
        is_near[i] = space_.products[packet][lane % kProducts] >= space_.marks[packet].needed;
      }
#pragma unroll
      for (int i = 0; i < kUnderWay; ++i) {
        const int packet = first + i * kAtATime + lane / kProducts;
        const bool yes = is_near[i] && packet < count_;
        const unsigned all = __ballot_sync(0xffffffffU, yes);
        if (yes)
          near[found + __popc(all & ((1U << lane) - 1))] =
              static_cast<std::uint16_t>(packet * kProducts + lane % kProducts);
        found += __popc(all);
      }
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
    const std::uint32_t origin = space_.marks[i / kProducts].origin;
    return {space_.products[i / kProducts][i % kProducts], i % kProducts, static_cast<int>(origin >> 16),
            static_cast<int>(origin >> 8 & 0xffU), static_cast<int>(origin & 0xffU)};
  }

 private:
  const PacketSpace<Number, kProducts, kRoom>& space_;
  const int count_;
};

}  // namespace libknng::cuda::fused

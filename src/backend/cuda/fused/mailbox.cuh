// Packets on their way from a warp that multiplies to one that opens them, in letters through shared memory: who sends
// goes on with the next letter meanwhile. Compute capability 9.0.
#pragma once

#include "backend/cuda/fused/hopper.cuh"
#include "backend/cuda/fused/packets.cuh"
#include "backend/cuda/fused/sift.cuh"

namespace libknng::cuda::fused {

inline constexpr unsigned kLetters = 2;  // a power of two
inline constexpr unsigned kNanosecondsIdle = 64;

// kProducts: of a packet. kRoom: packets that a letter holds.
template <class Number, int kProducts, int kRoom>
struct Letter {
  PacketSpace<Number, kProducts, kRoom> packets;
  int count;
  WarpPlace place;  // of all its packets
  bool last;        // none comes behind it in this place
};

// Between two warps. All lanes of one arrive and all lanes of the other wait, so that what a lane wrote is seen by all.
template <class Number, int kProducts, int kRoom>
struct Mailbox {
  Letter<Number, kProducts, kRoom> letters[kLetters];
  Barrier sent[kLetters], read[kLetters];

  // One thread, before both begin.
  __device__ void open() {
    for (int i = 0; i < kLetters; ++i) {
      init_barrier(&sent[i], 32);
      init_barrier(&read[i], 32);
    }
  }
};

// All lanes call everything.
template <class Number, int kProducts, int kPackets>
class Sender {
 public:
  __device__ explicit Sender(Mailbox<Number, kProducts, kPackets>& box) : box_(box) {}

  // Before the first product of a unit, and behind its last.
  __device__ void begin(const WarpPlace& place) { place_ = place; }
  __device__ void end() {
    if (count > 0) flush();
  }
  __device__ void close() {
    for (int i = 0; i < kLetters; ++i) {
      open();
      send(false);
    }
  }

  // Packets of the groups of which the lane's `mine` has a bit.
  template <int kGroups, class PacketOf>
  __device__ __forceinline__ void add(unsigned mine, const PacketOf& packet_of) {
    added_ += put_aside<kGroups>(*this, mine, packet_of);
  }
  // Packets since it was told to count anew.
  __device__ int added() const { return added_; }
  __device__ void count_anew() { added_ = 0; }

  // For put_aside().
  static constexpr int kRoom = kPackets;
  int count = 0;  // packets in the letter
  __device__ auto& space() { return letter().packets; }
  // Returns when the letter is empty.
  __device__ void open() { wait(&box_.read[sent_ % kLetters], (sent_ / kLetters & 1) ^ 1); }
  __device__ void flush() { send(true); }

 private:
  __device__ auto& letter() { return box_.letters[sent_ % kLetters]; }
  __device__ void send(bool goes_on) {
    __syncwarp();
    if (threadIdx.x % 32 == 0) {
      letter().count = count;
      letter().place = place_;
      letter().last = !goes_on;
    }
    arrive(&box_.sent[sent_ % kLetters]);
    ++sent_;
    count = 0;
  }

  Mailbox<Number, kProducts, kPackets>& box_;
  unsigned sent_ = 0;  // letters
  WarpPlace place_{};
  int added_ = 0;
};

// What a warp that opens letters works in.
template <int kProducts, int kRoom>
struct DrainSpace {
  Survivors::Space survivors;
  std::uint16_t near[kRoom * kProducts];
};

// Opens letters first, first + kStep, ..., of those of all boxes side by side, until all are closed; all lanes of a
// warp. P: the products that packets are of.
template <bool kBoth, class P, int kBoxes, int kStep, class Number, int kRoom>
__device__ __forceinline__ void open_letters(Mailbox<Number, P::kOfPacket, kRoom>* boxes, int first,
                                             DrainSpace<P::kOfPacket, kRoom>& space, const FusedJob<Number>& job) {
  constexpr int kAll = kBoxes * kLetters;
  static_assert(kAll <= 32);
  Survivors survivors(space.survivors);
  int first_row = 0, first_column = 0;  // of the unit whose survivors there are
  unsigned open = 0, parities = 0;      // a bit a letter
  for (int i = first; i < kAll; i += kStep) open |= 1U << i;
  while (open != 0) {
    bool idle = true;
#pragma unroll 1
    for (int i = first; i < kAll; i += kStep) {
      const unsigned bit = 1U << i;
      if ((open & bit) == 0) continue;
      auto& box = boxes[i / kLetters];
      const int at = i % kLetters;
      if (!__all_sync(0xffffffffU, is_over(&box.sent[at], (parities & bit) != 0 ? 1 : 0))) continue;
      idle = false;
      auto& letter = box.letters[at];
      const WarpPlace place = letter.place;
      if (place.first_row != first_row || place.first_column != first_column) {
        survivors.deliver(job, first_row, first_column);
        first_row = place.first_row;
        first_column = place.first_column;
      }
      open_packets<kBoth, 2, P>(Packets(letter.packets, letter.count), space.near, survivors, job, place);
      if (letter.last) open &= ~bit;
      arrive(&box.read[at]);
      parities ^= bit;
    }
    if (idle) __nanosleep(kNanosecondsIdle);  // who multiplies needs the instructions
  }
  survivors.deliver(job, first_row, first_column);
}

}  // namespace libknng::cuda::fused

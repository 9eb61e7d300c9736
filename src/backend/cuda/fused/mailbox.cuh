// Packets on their way from a warp that multiplies to one that opens them, in letters through shared memory: who sends
// goes on with the next letter meanwhile. Compute capability 9.0.
#pragma once

#include "backend/cuda/fused/hopper.cuh"
#include "backend/cuda/fused/packets.cuh"
#include "backend/cuda/fused/sift.cuh"

namespace libknng::cuda::fused {

inline constexpr int kLetters = 2;

// kProducts: of a packet. kRoom: packets that a letter holds.
template <class Number, int kProducts, int kRoom>
struct Letter {
  PacketSpace<Number, kProducts, kRoom> packets;
  int count;
  WarpPlace place;  // of all its packets
  bool last;        // none comes behind it
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
template <class Number, int kProducts, int kRoom>
class Sender {
 public:
  __device__ explicit Sender(Mailbox<Number, kProducts, kRoom>& box) : box_(box) {}

  // Before the first product of a unit, and behind its last.
  __device__ void begin(const WarpPlace& place) { place_ = place; }
  __device__ void end() {
    if (count_ > 0) flush();
  }
  __device__ void close() { send(false); }

  // Packets of lanes in `all`.
  __device__ void add(unsigned all, const Packet<Number, kProducts>& packet) {
    added_ += __popc(all);
    while (all != 0) {
      Packets packets(box_.letters[turn_.at].packets, count_);
      all = packets.add(all, packet);
      count_ = packets.count();
      if (count_ == kRoom) flush();
    }
  }
  // Packets since it was told to count anew.
  __device__ int added() const { return added_; }
  __device__ void count_anew() { added_ = 0; }

 private:
  // Returns when there is an empty letter.
  __device__ void flush() {
    send(true);
    wait(&box_.read[turn_.at], turn_.parity ^ 1);
  }
  __device__ void send(bool goes_on) {
    __syncwarp();
    if (threadIdx.x % 32 == 0) {
      box_.letters[turn_.at].count = count_;
      box_.letters[turn_.at].place = place_;
      box_.letters[turn_.at].last = !goes_on;
    }
    arrive(&box_.sent[turn_.at]);
    turn_.next(kLetters);
    count_ = 0;
  }

  Mailbox<Number, kProducts, kRoom>& box_;
  Turn turn_;
  WarpPlace place_{};
  int count_ = 0;  // packets in the letter
  int added_ = 0;
};

// What a warp that opens letters works in.
template <int kProducts, int kRoom>
struct DrainSpace {
  Survivors::Space survivors;
  std::uint16_t near[kRoom * kProducts];
};

// Opens the letters of boxes first, first + kStep, ..., below kBoxes, until all are closed; all lanes of a warp. P: the
// products that packets are of.
template <bool kBoth, class P, int kBoxes, int kStep, class Number, int kRoom>
__device__ __forceinline__ void open_letters(Mailbox<Number, P::kOfPacket, kRoom>* boxes, int first,
                                             DrainSpace<P::kOfPacket, kRoom>& space, const FusedJob<Number>& job) {
  static_assert(kLetters == 2 && kBoxes <= 32);
  Survivors survivors(space.survivors);
  int first_row = 0, first_column = 0;  // of the unit whose survivors there are
  unsigned open = 0;                    // a bit a box
  for (int box = first; box < kBoxes; box += kStep) open |= 1U << box;
  unsigned turns = 0, parities = 0;  // likewise: the letter that comes next, and its parity
  while (open != 0) {
#pragma unroll 1
    for (int i = first; i < kBoxes; i += kStep) {
      const unsigned bit = 1U << i;
      if ((open & bit) == 0) continue;
      auto& box = boxes[i];
      const int at = (turns & bit) != 0 ? 1 : 0;
      const bool is_there = is_over(&box.sent[at], (parities & bit) != 0 ? 1 : 0);
      if (!__all_sync(0xffffffffU, is_there)) continue;
      auto& letter = box.letters[at];
      const WarpPlace place = letter.place;
      if (place.first_row != first_row || place.first_column != first_column) {
        survivors.deliver(job, first_row, first_column);
        first_row = place.first_row;
        first_column = place.first_column;
      }
      open_packets<kBoth, P>(Packets(letter.packets, letter.count), space.near, survivors, job, place);
      if (letter.last) open &= ~bit;
      arrive(&box.read[at]);
      turns ^= bit;
      if (at == kLetters - 1) parities ^= bit;
    }
  }
  survivors.deliver(job, first_row, first_column);
}

}  // namespace libknng::cuda::fused

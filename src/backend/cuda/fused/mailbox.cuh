// Packets on their way from a warp that multiplies to one that opens them, in letters through shared memory: who sends
// goes on with the next letter meanwhile. Compute capability 9.0.
#pragma once

#include "backend/cuda/fused/hopper.cuh"
#include "backend/cuda/fused/packets.cuh"
#include "backend/cuda/fused/sift.cuh"

namespace libknng::cuda::fused {

inline constexpr int kLetterRoom = 16, kLetters = 2;

struct Letter {
  PacketSpace<kLetterRoom> packets;
  WarpPlace place;  // of all its packets
  bool last;        // none comes behind it
};

// Between two warps. All lanes of one arrive and all lanes of the other wait, so that what a lane wrote is seen by all.
struct Mailbox {
  Letter letters[kLetters];
  Barrier sent[kLetters], read[kLetters];

  // One thread, before both begin.
  __device__ void open() {
    for (int i = 0; i < kLetters; ++i) {
      letters[i].packets.count = 0;
      init_barrier(&sent[i], 32);
      init_barrier(&read[i], 32);
    }
  }
};

// All lanes call everything but add().
class Sender {
 public:
  __device__ explicit Sender(Mailbox& box) : box_(box) {}

  // Before the first product of a unit, and behind its last.
  __device__ void begin(const WarpPlace& place) { place_ = place; }
  __device__ void end() {
    __syncwarp();
    const bool is_empty = packets().is_empty();
    __syncwarp();
    if (!is_empty) flush();
  }
  __device__ void close() { send(true); }

  __device__ bool add(const float (&products)[kPacketProducts], int column, int group) {
    return packets().add(products, column, group);
  }
  __device__ bool is_crowded() { return packets().is_crowded(); }
  // Returns when there is an empty letter.
  __device__ void flush() {
    send(false);
    wait(&box_.read[turn_.at], turn_.parity ^ 1);
  }

 private:
  __device__ Packets<kLetterRoom> packets() { return Packets(box_.letters[turn_.at].packets); }
  __device__ void send(bool last) {
    __syncwarp();
    if (threadIdx.x % 32 == 0) {
      box_.letters[turn_.at].place = place_;
      box_.letters[turn_.at].last = last;
    }
    arrive(&box_.sent[turn_.at]);
    turn_.next(kLetters);
  }

  Mailbox& box_;
  Turn turn_;
  WarpPlace place_{};
};

// Opens the letters of boxes first, first + kStep, ..., below kBoxes, until all are closed; all lanes of a warp. P: the
// products that packets are of.
template <bool kBoth, class P, int kBoxes, int kStep>
__device__ __forceinline__ void open_letters(Mailbox* boxes, int first, Survivors::Space& space, const FusedJob& job) {
  constexpr int kMine = (kBoxes + kStep - 1) / kStep, kAtOnce = 4;
  Survivors survivors(space);
  int first_row = 0, first_column = 0;  // of the unit whose survivors there are
  Turn turns[kMine];
  unsigned open = 0;
#pragma unroll
  for (int i = 0; i < kMine; ++i) open |= first + i * kStep < kBoxes ? 1U << i : 0U;
  while (open != 0) {
#pragma unroll
    for (int i = 0; i < kMine; ++i) {
      if ((open >> i & 1U) == 0) continue;
      Mailbox& box = boxes[first + i * kStep];
      const bool is_there = is_over(&box.sent[turns[i].at], turns[i].parity);
      if (!__all_sync(0xffffffffU, is_there)) continue;
      Letter& letter = box.letters[turns[i].at];
      const WarpPlace place = letter.place;
      if (place.first_row != first_row || place.first_column != first_column) {
        survivors.deliver(job, first_row, first_column);
        first_row = place.first_row;
        first_column = place.first_column;
      }
      Packets packets(letter.packets);
      open_packets<kBoth, P, kAtOnce>(packets, survivors, job, place);
      if (letter.last) open &= ~(1U << i);
      packets.clear();
      arrive(&box.read[turns[i].at]);
      turns[i].next(kLetters);
    }
  }
  survivors.deliver(job, first_row, first_column);
}

}  // namespace libknng::cuda::fused

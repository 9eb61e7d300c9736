// What the two sides of `quick` share: how much is collected, how much is sampled, and how a list comes out.
#pragma once

#include <cuda_runtime.h>

#include "backend/cuda/select/kth_smallest.cuh"
#include "backend/cuda/select/lists.cuh"

namespace libknng::cuda {

// Pivots from a sample that are tried before a list is read with none.
constexpr int kPivots = 2;
// Sizes are those of one list.
struct QuickPlan {
  int keep;    // C + 1 smallest are wanted: the last of them is the smallest that is dropped. At most the length.
  int room;    // of the buffer of survivors; more than `keep` unless the whole list fits
  int sample;  // elements, in pieces of kSampledPiece; 0: no sample
  int pivots[kPivots];  // their ranks in the sample, from 1
};

// threads: of the group that works on a list. One in `part` elements is sampled, twice as many where many are wanted:
// read twice they cost less than what a better pivot saves.
// Room is at most `most` if that is enough to work in.
QuickPlan plan_quick(int length, int capacity, int threads, int part, std::int64_t most);
// That much is enough, for lists that are shorter too.
int enough_room(int length, int capacity, int threads, int part);

// No plan for a list of up to `length` has more room, whoever works on it.
int most_room(int length, int capacity);

// How many threads work on a row: 1 warp, or 4, 8, 16, 32 (a block); 0: by the number of rows and what fits. For
// benchmarks.
std::size_t quick_rows_workspace(const SelectJob& job, int warps, const DeviceLimits& limits);
void quick_rows(const SelectJob& job, int warps, void* workspace, cudaStream_t stream);
std::size_t quick_columns_workspace(const SelectJob& job, const DeviceLimits& limits);
void quick_columns(const SelectJob& job, void* workspace, cudaStream_t stream);

// Element of the list that the sample's i-th is: pieces of 8 neighbours, one read from memory each, at uneven distances
// so that no period of the data can hide from them.
constexpr unsigned kSampledPiece = 8;
__host__ __device__ inline unsigned sampled_element(unsigned i, unsigned sample, unsigned length) {
  const unsigned stratum = length / (sample / kSampledPiece), piece = i / kSampledPiece;
  const unsigned offset = ((piece + 1) * 2654435761U >> 8) % (stratum - (kSampledPiece - 1));
  return ((piece * stratum + offset) & ~(kSampledPiece - 1)) + i % kSampledPiece;
}

// Writes a list from its buffer of `size` keys, which are all survivors if there are no more than C, else at least the
// C + 1 smallest. *counter is scratch. Ends without a sync().
template <int kWarps>
__device__ void emit_list(const ListView& v, int list, const Key* keys, int size, KthScratch<kWarps>& scratch,
                          int* counter) {
  using Threads = Group<kWarps>;
  Key end = ~Key{0};
  if (size > v.capacity) {
    end = kth_smallest<kWarps>(KeyArray{keys}, size, v.capacity + 1, scratch);
    if (Threads::thread() == 0 && v.dropped) v.dropped[list] = fminf(v.dropped[list], low_of(end));
  }
  if (Threads::thread() == 0) {
    v.counts[list] = min(size, v.capacity);
    *counter = 0;
  }
  Threads::sync();
  Candidate* out = v.out + static_cast<std::int64_t>(list) * v.capacity;
  constexpr int reads = 4;  // in flight
  for (int start = 0; start < size; start += reads * Threads::threads) {
    Key mine[reads];
    bool wanted[reads];
    int place[reads];
#pragma unroll
    for (int u = 0; u < reads; ++u) {
      const int i = start + u * Threads::threads + Threads::thread();
      mine[u] = i < size ? keys[i] : ~Key{0};
      wanted[u] = mine[u] < end;
    }
    append_places(counter, wanted, place);
#pragma unroll
    for (int u = 0; u < reads; ++u)
      if (wanted[u]) out[place[u]] = candidate(mine[u]);
  }
}

}  // namespace libknng::cuda

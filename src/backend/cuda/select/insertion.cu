// The selector `insertion` (arefin-2012, GPU-FS-kNN): one thread a list. The list is unsorted, with the position of its
// farthest entry (the paper's Maxk) kept; a nearer candidate takes that place and the farthest is looked for anew.
// Lists live in shared memory while they are short, else in the workspace, entry by entry so that neighbouring threads
// touch neighbouring memory.
#include "backend/cuda/base/check.cuh"
#include "backend/cuda/select/entries.cuh"
#include "backend/cuda/select/lists.cuh"

namespace libknng::cuda {
namespace {

constexpr int kThreads = 64;  // lists of a block; few, so that few lists still fill many processors
constexpr int kStage = 32;    // elements of each list that are staged together (rows)
// With the stage within the 48 KiB that need no asking for.
constexpr int kSharedBytes = 48 * 1024 - kThreads * (kStage + 1) * static_cast<int>(sizeof(float));

// A list being built; entry i stands at entries[i * stride].
struct FarthestList {
  Candidate* entries;
  std::int64_t stride;
  int capacity;
  float dropped;
  int count = 0;
  int farthest = 0;
  float farthest_low = 0;

  __device__ void offer(float low, std::uint32_t id) {
    if (count == capacity) {
      if (!(low < farthest_low)) {
        dropped = fminf(dropped, low);
        return;
      }
      dropped = fminf(dropped, farthest_low);
      entries[farthest * stride] = {low, id};
      farthest_low = entries[0].low;
      farthest = 0;
      for (int i = 1; i < count; ++i) {
        const float other = entries[i * stride].low;
        if (other > farthest_low) farthest_low = other, farthest = i;
      }
      return;
    }
    if (count == 0 || low > farthest_low) farthest_low = low, farthest = count;
    entries[count++ * stride] = {low, id};
  }
};

// Elements [start, start + kStage) of the tile on their way to the lists of a block: of rows, each warp brings some for
// all of the block's lists; of columns, each thread its own.
template <Side kSide>
__device__ void load_stage(const ListView& v, std::int64_t first, int start, float (&x)[kStage]) {
  const int thread = static_cast<int>(threadIdx.x), lane = thread % 32;
#pragma unroll
  for (int j = 0; j < kStage; ++j) {
    const std::int64_t list = kSide == Side::rows ? first + j * (kThreads / 32) + thread / 32 : first + thread;
    const int element = start + (kSide == Side::rows ? lane : j);
    const bool there = list < v.lists && element < v.length;
    const std::int64_t at = kSide == Side::rows ? list * v.ld + element : element * v.ld + list;
    x[j] = there ? __ldg(v.tile + at) : infinity();
  }
}

template <class Low, Side kSide, bool kShared>
__global__ void __launch_bounds__(kThreads) insert_all(const ListView v, Candidate* spill) {
  static_assert(kStage == 32, "a lane an element, a bit an element");
  extern __shared__ __align__(16) unsigned char shared[];
  // Padded, so that threads that read their own rows meet different banks.
  __shared__ float stage[kThreads][kStage + 1];
  const int thread = static_cast<int>(threadIdx.x);
  const std::int64_t first = static_cast<std::int64_t>(blockIdx.x) * kThreads;
  const std::int64_t list = first + thread;
  const bool there = list < v.lists;
  FarthestList built{kShared ? reinterpret_cast<Candidate*>(shared) + thread : spill + list,
                     kShared ? kThreads : static_cast<std::int64_t>(v.lists), v.capacity, infinity()};
  const float limit = there ? v.limit(static_cast<int>(list)) : -infinity();
  const float list_term = Low::has_terms && there ? v.list_terms[list] : 0.0F;
  ElementAdmission admission;
  if (there && !v.admission.admits_all()) admission = v.admission_of(static_cast<int>(list));
  const auto low_of = [&](float stored, int e) {
    return Low::low(stored, list_term, Low::has_terms ? __ldg(v.element_terms + min(e, v.length - 1)) : 0.0F);
  };

  float x[kStage];
  load_stage<kSide>(v, first, 0, x);
  for (int start = 0; start < v.length; start += kStage) {
    const int some = min(kStage, v.length - start);
    if constexpr (kSide == Side::rows) __syncthreads();  // what was there has been read
#pragma unroll
    for (int j = 0; j < kStage; ++j) {
      if constexpr (kSide == Side::rows)
        stage[j * (kThreads / 32) + thread / 32][thread % 32] = x[j];
      else
        stage[thread][j] = x[j];
    }
    if constexpr (kSide == Side::rows) __syncthreads();
    load_stage<kSide>(v, first, start + kStage, x);  // while these are looked at
    // Few elements are wanted: which, before any goes into the list. Then all lists of a warp take one at a time.
    const float bar = built.count == built.capacity ? fminf(limit, built.farthest_low) : limit;
    unsigned wanted = 0;
#pragma unroll
    for (int j = 0; j < kStage; ++j) {
      const float low = low_of(stage[thread][j], start + j);
      const bool may = j < some && low < limit && admission.admits(static_cast<std::uint32_t>(start + j));
      wanted |= static_cast<unsigned>(may && low < bar) << j;
      if (may && !(low < bar)) built.dropped = fminf(built.dropped, low);
    }
    for (; wanted != 0; wanted &= wanted - 1) {
      const int j = __ffs(static_cast<int>(wanted)) - 1;
      built.offer(low_of(stage[thread][j], start + j), v.first_id + static_cast<std::uint32_t>(start + j));
    }
  }

  if (!there) return;
  v.counts[list] = built.count;
  if (v.dropped) v.dropped[list] = fminf(v.dropped[list], built.dropped);
  Candidate* out = v.out + list * v.capacity;
  for (int i = 0; i < built.count; ++i) out[i] = built.entries[i * built.stride];
}

std::size_t list_bytes(const SelectJob& job) { return static_cast<std::size_t>(job.capacity) * sizeof(Candidate); }
bool in_shared(const SelectJob& job) { return list_bytes(job) * kThreads <= kSharedBytes; }

template <class Low, Side kSide, bool kShared>
void launch(const SelectJob& job, void* workspace, cudaStream_t stream) {
  const unsigned blocks = static_cast<unsigned>((list_count(job) - 1) / kThreads + 1);
  const std::size_t bytes = kShared ? list_bytes(job) * kThreads : 0;
  insert_all<Low, kSide, kShared>
      <<<blocks, kThreads, bytes, stream>>>(list_view(job), static_cast<Candidate*>(workspace));
  check_launch();
}

}  // namespace

std::size_t insertion_workspace(const SelectJob& job, const DeviceLimits&) {
  return in_shared(job) ? 0 : static_cast<std::size_t>(list_count(job)) * list_bytes(job);
}

void insertion_run(const SelectJob& job, void* workspace, cudaStream_t stream) {
  if (list_count(job) == 0) return;
  with_low(job, [&]<class Low>(Low) {
    if (job.side == Side::rows)
      in_shared(job) ? launch<Low, Side::rows, true>(job, workspace, stream)
                     : launch<Low, Side::rows, false>(job, workspace, stream);
    else
      in_shared(job) ? launch<Low, Side::columns, true>(job, workspace, stream)
                     : launch<Low, Side::columns, false>(job, workspace, stream);
  });
}

}  // namespace libknng::cuda

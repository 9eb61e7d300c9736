#include "backend/cuda/keys/refine.cuh"

#include <algorithm>

#include "backend/cuda/base/blocks.cuh"
#include "backend/cuda/base/check.cuh"
#include "backend/cuda/base/warp.cuh"
#include "backend/cuda/base/workspace.cuh"
#include "backend/cuda/keys/product_keys.cuh"
#include "backend/cuda/keys/refined_batch.cuh"
#include "backend/cuda/rows/prepare.cuh"

namespace libknng::cuda {
namespace {

constexpr int kThreads = 256;
constexpr int kWarpsPerBlock = kThreads / kCanonicalLanes;

// Whether a low is taken as the scaled key, which it is if fp32 holds it. Candidates of some rows are evaluated all the
// same: a product unit that errs does not go unnoticed.
constexpr int kOneRowEvaluatedOf = 16;
__device__ bool is_key(const FilterBounds& bounds, std::int64_t row, float low) {
  return bounds.exact_integers && row % kOneRowEvaluatedOf != 0 && fabsf(low) < 0x1p24F;
}

// What the k-th smallest key, scaled, is at most, unless the row is not proved: as cut-offs tell, and as the first k
// keys do. A candidate with a low above it need not be looked at.
struct NearestLimit {
  double scaled_key;
  std::int64_t missing;  // of the k
  double highest = -INFINITY;

  // Of each lane: whether it has a candidate, and its key.
  __device__ void take(bool has, double scaled) {
    if (missing <= 0) return;
    const unsigned all = __ballot_sync(kAllLanes, has);
    double own = has && __popc(all & ((1u << (threadIdx.x % kCanonicalLanes)) - 1)) < missing ? scaled : -INFINITY;
    highest = fmax(highest, largest_of_lanes(own));
    missing -= __popc(all);
    if (missing <= 0) scaled_key = fmin(scaled_key, highest);
  }
};

// How long rows are. Few coordinates take half a warp (keys_of_few_dims()), and up to one for each lane a single step,
// so that there are registers for twice as many pairs.
enum class Length { few, a_step, any };
template <class T, class Source>
constexpr bool kHasStep = !T::kHeavy && Source::kTransform == Transform::identity;

// Blocks of a multiprocessor. As many as registers for the loads in flight allow: 16 warps with 32 loads each take less
// time than 24 with 16 (W2 with k = 1,000 1.13 s for 1.17 and 1.18), but where roots are taken 32 warps with 8 loads
// each take less than these (80,000 x 256 under Hellinger 3.8 ms for 4.7).
template <class T, class Source>
constexpr int kBlocksResident = T::kHeavy             ? 1
                                : kTakesRoots<Source> ? 4
                                                      : 2;

// One warp a row: entries of its candidates and of columns without direction.
template <Length kLength, class Source, class T>
__global__ void __launch_bounds__(kThreads, kBlocksResident<T, Source>) candidate_keys(Source columns, RefinedBatch b) {
  constexpr bool kFew = kLength == Length::few, kStep = kLength == Length::a_step;
  constexpr int kPairs = kPairsOfList<T, Source> * (kStep ? 2 : 1), kSteps = kStep ? 1 : 0;
  const int lane = static_cast<int>(threadIdx.x) % kCanonicalLanes;
  const std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * kWarpsPerBlock + threadIdx.x / kCanonicalLanes;
  if (i >= b.count) return;
  const std::int64_t row = b.first + i, list = b.places ? b.places[i] : i;
  double* keys = b.entries.keys + i * b.entries.slots;
  std::uint32_t* ids = b.entries.ids + i * b.entries.slots;
  if (lane == 0) b.note_length(list);
  const RowAdmission admission = b.admission.of(row);
  const auto store = [&](std::int64_t at, std::uint32_t id, double key, bool drop) {
    keys[at] = drop ? INFINITY : key;
    ids[at] = drop ? kNoId : id;
  };

  if constexpr (Source::kDirections) {
    if (b.row_constants[row].factor == 0) {
      // Every column is equally far: the smallest ids win, and one more shows the tie.
      const std::int64_t n = min(b.k + 1 + b.admission.most_refused(), b.columns);
      for (std::int64_t c = lane; c < n; c += kCanonicalLanes) {
        const auto id = static_cast<std::uint32_t>(c);
        store(c, id, kNoDirectionKey, !admission.admits(id));
      }
      if (lane == 0) b.entries.filled[i] = static_cast<std::int32_t>(n);
      return;
    }
  }

  const double* u = b.u + i * b.terms.dim;
  const Candidate* candidates = b.lists.candidates + list * b.lists.capacity;
  const std::int64_t n = min(static_cast<std::int64_t>(b.lists.kept[list]), b.lists.capacity);
  const double inverse_scale = 1 / b.bounds.scale;  // where lows are keys a power of two
  NearestLimit limit{static_cast<double>(b.lists.cutoffs ? b.lists.cutoffs[list] : INFINITY), b.k};
  int evaluated = 0;
  for (std::int64_t base = 0; base < n; base += kCanonicalLanes) {
    const int count = static_cast<int>(min(n - base, static_cast<std::int64_t>(kCanonicalLanes)));
    // Lanes beyond the last candidate repeat it: their keys go nowhere.
    const Candidate mine = candidates[base + min(lane, count - 1)];
    const std::uint32_t id = b.order ? static_cast<std::uint32_t>(b.order[mine.id]) : mine.id;
    // Ascending lists end with those whose keys are not wanted.
    const unsigned near = __ballot_sync(kAllLanes, lane < count && !(static_cast<double>(mine.low) > limit.scaled_key));
    const int wanted = !b.keys && (near & (near + 1)) == 0 ? __popc(near) : count;
    // Those whose keys are to be evaluated: the first ones, or none.
    const bool known = is_key(b.bounds, row, mine.low);
    const int missing = __all_sync(kAllLanes, known) != 0 ? 0 : wanted;
    evaluated += missing;
    double key = b.keys ? b.keys[i * b.lists.capacity + base + min(lane, count - 1)] : 0;
    if (known && !b.keys) key = ScalarOps::mul(static_cast<double>(mine.low), inverse_scale);
    if constexpr (kFew)
      if (missing > 0 && !b.keys) key = keys_of_few_dims<T>(columns, u, id, b.terms);
    for (int group = 0; group < missing && !kFew && !b.keys; group += kPairs) {
      std::uint32_t together[kPairs];
#pragma unroll
      for (int j = 0; j < kPairs; ++j) together[j] = __shfl_sync(kAllLanes, id, group + j);
      const double folded = keys_of<T, kSteps>(columns, u, together, b.terms);
      const double given = __shfl_sync(kAllLanes, folded, lane_of_pair<kPairs>(lane - group));
      if (lane >= group && lane < group + kPairs) key = given;
    }
    const bool directionless = columns.directionless(id);
    const bool wrong = lane < wanted && !directionless && !within_bounds(b, list, mine, key);
    const unsigned violations = __ballot_sync(kAllLanes, wrong);
    if (violations != 0 && lane == 0)
      atomicAdd(&b.findings->violations, static_cast<unsigned long long>(__popc(violations)));
    const bool drop = lane >= wanted || directionless || !admission.admits(id);
    if (lane < count) store(base + lane, id, key, drop);
    limit.take(!drop, ScalarOps::mul(key, b.bounds.scale));
  }
  if (lane == 0) atomicAdd(&b.findings->keys, static_cast<unsigned long long>(evaluated));
  for (std::int64_t c = lane; c < b.directionless_count; c += kCanonicalLanes) {
    const std::uint32_t id = b.directionless[c];
    store(n + c, id, kNoDirectionKey, !admission.admits(id));
  }
  if (b.entries.self_keys) {
    const auto self = static_cast<std::uint32_t>(admission.excluded);
    const double key = b.keys ? b.self_keys[i] : keys_of<T>(columns, u, {self}, b.terms);
    if (lane == 0) b.entries.self_keys[i] = key;
  }
  if (lane == 0) b.entries.filled[i] = static_cast<std::int32_t>(n + b.directionless_count);
}

std::int64_t slots(const RefineJob& job) {
  return job.lists.capacity + (has_directions(job.metric.transform) ? job.k + 1 + job.admission.most_refused() : 0);
}

// The arrays of a batch; returns their bytes.
std::int64_t lay_out(const RefineJob& job, void* memory, double*& u, RowEntries& entries, std::uint8_t*& open) {
  const std::int64_t rows = job.rows_at_a_time;
  Workspace space(memory);
  u = space.take<double>(job.keys_known ? 0 : rows * job.columns.rows.dim);
  entries = take_entries(space, rows, slots(job), wants_self_keys(job.metric, job.k, job.result.width));
  open = space.take<std::uint8_t>(rows);
  return space.used();
}

void launch_keys(const RefineJob& job, const RefinedBatch& batch, cudaStream_t stream) {
  visit_columns(job.columns, job.metric, [&](const auto& source, auto term) {
    const auto blocks = blocks_for(batch.count, kWarpsPerBlock);
    using Source = std::remove_cvref_t<decltype(source)>;
    using Term = decltype(term);
    const std::int64_t dim = batch.terms.dim;
    if (dim <= kFewDims)
      candidate_keys<Length::few, Source, Term><<<blocks, kThreads, 0, stream>>>(source, batch);
    else if (kHasStep<Term, Source> && dim <= kCanonicalLanes)
      candidate_keys<kHasStep<Term, Source> ? Length::a_step : Length::any, Source, Term>
          <<<blocks, kThreads, 0, stream>>>(source, batch);
    else
      candidate_keys<Length::any, Source, Term><<<blocks, kThreads, 0, stream>>>(source, batch);
    check_launch();
  });
}

}  // namespace

std::int64_t refine_workspace_bytes(const RefineJob& job) {
  double* u;
  RowEntries entries;
  std::uint8_t* open;
  return lay_out(job, nullptr, u, entries, open);
}

void refine(const RefineJob& job, cudaStream_t stream) {
  double* u;
  RefinedBatch batch{};
  lay_out(job, job.workspace, u, batch.entries, batch.open);
  batch.u = u;
  batch.terms = {job.columns.rows.dim, job.metric.p, job.metric.scale};
  batch.k = job.k;
  batch.columns = job.columns.rows.rows;
  batch.admission = job.admission;
  batch.row_constants = job.rows.constants;
  batch.order = job.order;
  batch.directionless = job.directionless;
  batch.directionless_count = job.directionless ? job.directionless_count : 0;
  batch.findings = job.result.findings;

  for (std::int64_t done = 0; done < job.count; done += job.rows_at_a_time) {
    batch.first = job.first + done;
    batch.count = std::min(job.rows_at_a_time, job.count - done);
    batch.lists = job.lists;
    batch.bounds = job.bounds;
    const std::int64_t first_list = job.places ? 0 : done;
    batch.places = job.places ? job.places + batch.first : nullptr;
    batch.lists.candidates += first_list * job.lists.capacity;
    batch.lists.kept += first_list;
    if (batch.lists.cutoffs) batch.lists.cutoffs += first_list;
    if (batch.lists.dropped) batch.lists.dropped += first_list;
    if (batch.bounds.rows) batch.bounds.rows += first_list;
    if (job.keys_known) {
      batch.keys = job.keys + done * job.lists.capacity;
      batch.self_keys = job.self_keys ? job.self_keys + done : nullptr;
    }
    if (job.table) {
      product_keys(job.columns, job.metric, batch, *job.table, stream);
    } else {
      if (!job.keys_known) load_canonical(job.rows, nullptr, batch.first, batch.count, u, stream);
      launch_keys(job, batch, stream);
    }

    ResultJob store;
    store.entries = batch.entries;
    store.first = batch.first;
    store.count = batch.count;
    store.k = job.k;
    store.columns = batch.columns;
    store.admission = job.admission;
    store.constants = has_directions(job.metric.transform) ? job.rows.constants : nullptr;
    store.lists = batch.places;
    store.dropped = batch.lists.dropped;
    store.cutoffs = batch.lists.cutoffs;
    store.kept = batch.lists.kept;
    store.capacity = job.lists.capacity;
    store.scale = job.bounds.scale;
    store_result(store, job.metric, job.result, stream);
  }
}

}  // namespace libknng::cuda

#include "backend/cuda/keys/contending_rows.cuh"

#include <algorithm>
#include <type_traits>

#include "backend/cuda/base/blocks.cuh"
#include "backend/cuda/base/check.cuh"
#include "backend/cuda/base/warp.cuh"
#include "backend/cuda/base/workspace.cuh"
#include "backend/cuda/keys/pair_keys.cuh"
#include "backend/cuda/keys/smallest_keys.cuh"
#include "backend/cuda/rows/prepare.cuh"
#include "backend/cuda/select/lists.cuh"
#include "core/division.h"
#include "prepare/drawn_columns.h"

namespace libknng::cuda {
namespace {

constexpr int kThreads = 256;
constexpr int kWarpsOfBlock = kThreads / kCanonicalLanes;
// Blocks that share a row's contenders: enough for all multiprocessors, however few the rows.
constexpr unsigned kBlocksOfRow = 32;
constexpr std::int64_t kColumnsOfBlock = 4096;

// Some of the job's rows, and what is found of them. A row has room for `capacity` contenders, whose ids come in no
// order, and counts all.
struct Batch {
  const std::int64_t *list, *listed;
  std::int64_t count, k, width, columns;
  Admission admission;
  const std::uint32_t* places;
  double scale;
  double *u, *limits;  // canonical rows; by row: a low above this rules its column out
  std::int64_t capacity;
  std::uint32_t* ids;
  double* keys;
  std::int32_t* counts;
  double* self_keys;  // by row: its product with itself; null: not wanted
  unsigned long long* evaluated;
};

__device__ bool is_listed(const Batch& b, std::int64_t place, std::int64_t id) {
  return id >= 0 && id < b.columns && b.admission.of(b.list[place]).admits(id);
}

// What rows have in their lists, as contenders. An entry that cannot be a neighbour counts as column 0: find_limits()
// refuses the list.
__global__ void copy_lists(Batch b) {
  const std::int64_t at = static_cast<std::int64_t>(blockIdx.x) * kThreads + threadIdx.x;
  if (at >= b.count * b.k) return;
  const std::int64_t place = at / b.k, j = at % b.k;
  const std::int64_t id = b.listed[place * b.width + b.width - b.k + j];
  b.ids[place * b.capacity + j] = is_listed(b, place, id) ? static_cast<std::uint32_t>(id) : 0;
  if (j == 0) b.counts[place] = static_cast<std::int32_t>(b.k);
}

__device__ std::int64_t operand_of(const Batch& b, std::int64_t row) { return b.places ? b.places[row] : row; }

// Different ids in ascending order of (key, id): the k-th key of all cannot be above the last. A warp a row.
__global__ void find_limits(Batch b) {
  const std::int64_t place = static_cast<std::int64_t>(blockIdx.x) * kWarpsOfBlock + threadIdx.x / kCanonicalLanes;
  if (place >= b.count) return;
  const std::int64_t* const ids = b.listed + place * b.width + b.width - b.k;
  const double* const keys = b.keys + place * b.capacity;
  bool good = true;
  for (std::int64_t j = threadIdx.x % kCanonicalLanes; j < b.k; j += kCanonicalLanes) {
    good = good && is_listed(b, place, ids[j]);
    if (j > 0) good = good && (keys[j - 1] < keys[j] || (keys[j - 1] == keys[j] && ids[j - 1] < ids[j]));
  }
  good = __all_sync(kAllLanes, good);
  if (threadIdx.x % kCanonicalLanes != 0) return;
  b.limits[place] = good ? ScalarOps::mul(keys[b.k - 1], b.scale) : INFINITY;
  if (place == 0) atomicAdd(b.evaluated, static_cast<unsigned long long>(b.count * b.k));
}

// Columns drawn for rows that have no limit.
__global__ void draw_columns(Batch b, std::int64_t drawn) {
  const std::int64_t at = static_cast<std::int64_t>(blockIdx.x) * kThreads + threadIdx.x;
  if (at >= b.count * drawn) return;
  const std::int64_t place = at / drawn, share = at % drawn;
  const bool wanted = b.limits[place] == INFINITY;
  if (share == 0) b.counts[place] = wanted ? static_cast<std::int32_t>(drawn) : 0;
  if (!wanted) return;
  b.ids[place * b.capacity + share] = static_cast<std::uint32_t>(drawn_point(b.columns, drawn, share));
}

// The k smallest keys of some columns bound the k-th of all. A warp a row.
__global__ void take_limits(Batch b, RowEntries nearest) {
  const std::int64_t place = static_cast<std::int64_t>(blockIdx.x) * kWarpsOfBlock + threadIdx.x / kCanonicalLanes;
  if (place >= b.count) return;
  const int lane = static_cast<int>(threadIdx.x) % kCanonicalLanes;
  double last = -INFINITY;
  for (std::int64_t j = lane; j < b.k; j += kCanonicalLanes)
    if (j < nearest.filled[place]) last = fmax(last, nearest.keys[place * nearest.slots + j]);
  last = largest_of_lanes(last);
  if (lane != 0) return;
  if (nearest.filled[place] == b.k) b.limits[place] = ScalarOps::mul(last, b.scale);
  b.counts[place] = 0;
}

// Of the columns of a tile. A low is no more than its scaled key: a column with a larger one than the limit has a
// larger key, too. Pairs without a direction have no low, but a key by definition.
template <class Low>
__global__ void __launch_bounds__(kThreads) list_contenders(Batch b, RowLows lows, const float* tile, std::int64_t ld,
                                                            std::int64_t first, std::int64_t columns) {
  const std::int64_t place = blockIdx.y, row = b.list[place];
  const std::int64_t begin = blockIdx.x * kColumnsOfBlock, end = min(begin + kColumnsOfBlock, columns);
  const RowAdmission admission = b.admission.of(row);
  const double limit = b.limits[place];
  const bool undirected_belong = !(ScalarOps::mul(kNoDirectionKey, b.scale) > limit);
  const float row_term = lows.row_terms[operand_of(b, row)];
  const int lane = static_cast<int>(threadIdx.x) % kCanonicalLanes;
  for (std::int64_t base = begin + threadIdx.x - lane; base < end; base += kThreads) {
    const std::int64_t c = base + lane;
    bool belongs = false;
    std::int64_t id = 0;
    if (c < end) {
      const float column_term = lows.column_terms[c];
      id = lows.order ? lows.order[c] : first + c;
      const auto low = static_cast<double>(Low::low(tile[place * ld + c], row_term, column_term));
      const bool undirected = Low::is_none(row_term) || Low::is_none(column_term);
      belongs = admission.admits(id) && (undirected ? undirected_belong : !(low > limit));
    }
    const unsigned found = __ballot_sync(kAllLanes, belongs);
    if (found == 0) continue;
    int before = 0;
    if (lane == 0) before = atomicAdd(b.counts + place, __popc(found));
    const std::int64_t at = __shfl_sync(kAllLanes, before, 0) + __popc(found & ((1u << lane) - 1));
    if (belongs && at < b.capacity) b.ids[place * b.capacity + at] = static_cast<std::uint32_t>(id);
  }
}

// Contenders [first, end) of each row.
struct Part {
  std::int64_t first, end;
  const RowConstants* row_constants;  // null: all rows have a direction
  PairTerms terms;
};

template <class Source, class T>
__global__ void __launch_bounds__(kThreads) find_keys(Source columns, Batch b, Part part) {
  constexpr int kPairs = kPairsOfList<T, Source>, kLanes = kCanonicalLanes / kPairs;
  const int lane = static_cast<int>(threadIdx.x) % kCanonicalLanes;
  const std::int64_t place = blockIdx.y, row = b.list[place], at = place * b.capacity;
  const std::int64_t warp = blockIdx.x * kWarpsOfBlock + threadIdx.x / kCanonicalLanes;
  if (b.counts[place] > b.capacity) return;  // the row stays without a proof
  const std::int64_t end = min(part.end, static_cast<std::int64_t>(b.counts[place]));
  const double* const u = b.u + place * part.terms.dim;
  for (std::int64_t base = part.first + warp * kPairs; base < end;
       base += std::int64_t{gridDim.x} * kWarpsOfBlock * kPairs) {
    // Places beyond the last repeat it: their keys go nowhere.
    std::uint32_t together[kPairs];
#pragma unroll
    for (int j = 0; j < kPairs; ++j) together[j] = b.ids[at + min(base + j, end - 1)];
    double key = keys_of<T>(columns, u, together, part.terms);
    const std::int64_t j = base + lane / kLanes;
    if (lane % kLanes != 0 || j >= end) continue;
    if constexpr (Source::kDirections)
      if (columns.directionless(b.ids[at + j]) || part.row_constants[row].factor == 0) key = kNoDirectionKey;
    const bool may = b.admission.of(row).admits(b.ids[at + j]);  // a drawn one may be the row itself
    b.keys[at + j] = may ? key : INFINITY;
  }
  if constexpr (std::is_same_v<T, Product>) {
    if (b.self_keys == nullptr || part.first != 0 || warp != 0) return;
    const auto self = static_cast<std::uint32_t>(b.admission.of(row).excluded);
    const double key = keys_of<T>(columns, u, {self}, part.terms);
    if (lane == 0) b.self_keys[place] = key;
  }
}

// Of no more than `most` of a row.
void find_keys(const ContendingRowsJob& job, const Batch& b, std::int64_t most, cudaStream_t stream) {
  const std::int64_t together = std::max<std::int64_t>(job.parts.pairs / b.count, kThreads);
  const RowConstants* const constants = has_directions(job.rows.transform) ? job.rows.constants : nullptr;
  const PairTerms terms{job.columns.rows.dim, job.metric.p, job.metric.scale};
  visit_columns(job.columns, job.metric, [&](const auto& source, auto term) {
    using Source = std::remove_cvref_t<decltype(source)>;
    using T = decltype(term);
    if constexpr (std::is_same_v<T, SquaredDifference> || std::is_same_v<T, Product>) {
      for (std::int64_t first = 0; first < most; first += together) {
        if (job.parts.before) job.parts.before();
        const std::int64_t end = std::min(first + together, most);
        const std::int64_t enough = ceil_div(end - first, kThreads);
        const dim3 blocks(static_cast<unsigned>(std::min<std::int64_t>(enough, kBlocksOfRow)),
                          static_cast<unsigned>(b.count));
        find_keys<Source, T><<<blocks, kThreads, 0, stream>>>(source, b, {first, end, constants, terms});
        check_launch();
      }
    }
  });
}

__global__ void take_cutoffs(Batch b, const float* cutoffs) {
  const std::int64_t place = static_cast<std::int64_t>(blockIdx.x) * kThreads + threadIdx.x;
  if (place >= b.count) return;
  b.limits[place] = static_cast<double>(cutoffs[operand_of(b, b.list[place])]);
  b.counts[place] = 0;
}

__global__ void add_crowded(Batch b, std::int64_t room, int* crowded) {
  const std::int64_t place = static_cast<std::int64_t>(blockIdx.x) * kThreads + threadIdx.x;
  if (place < b.count && b.counts[place] > room) atomicAdd(crowded, 1);
}

struct Arrays {
  float* tile;
  std::byte* operands;
  Batch batch;
  RowEntries entries;
};

std::int64_t lay_out(const ContendingRowsJob& job, void* memory, Arrays& a) {
  const std::int64_t rows = job.rows_at_a_time;
  Workspace space(memory);
  a.tile = space.take<float>(rows * leading_dimension(job.columns_at_a_time));
  a.operands = space.take<std::byte>(rows * job.operand_bytes);
  a.batch.u = space.take<double>(rows * job.columns.rows.dim);
  a.batch.limits = space.take<double>(rows);
  a.batch.ids = space.take<std::uint32_t>(rows * job.capacity);
  a.batch.keys = space.take<double>(rows * job.capacity);
  a.batch.counts = space.take<std::int32_t>(rows);
  a.entries = take_entries(space, rows, places_for(job.k, job.columns.rows.rows),
                           wants_self_keys(job.metric, job.k, job.result.width));
  return space.used();
}

// Products have whole grains of rows, of which the last may be zeros: cuBLAS takes milliseconds to choose a kernel for
// numbers that it has not seen, and rows that are left without a proof may be any number.
constexpr std::int64_t kGrainOfRows = 64;

void find_contenders(const ContendingRowsJob& job, const Arrays& a, cudaStream_t stream) {
  const std::int64_t n = job.columns.rows.rows, together = job.columns_at_a_time, count = a.batch.count;
  const std::int64_t grains = ceil_div(count, kGrainOfRows);
  const std::int64_t multiplied = std::min(grains * kGrainOfRows, job.rows_at_a_time);
  if (multiplied > count)
    check(cudaMemsetAsync(a.operands, 0, static_cast<std::size_t>(multiplied * job.operand_bytes), stream));
  job.filter->gather_rows(a.batch.list, count, a.operands);
  for (std::int64_t first = 0; first < n; first += together) {
    const std::int64_t columns = std::min(together, n - first), ld = leading_dimension(columns);
    const RowLows lows = job.filter->lows(a.operands, multiplied, first, columns, a.tile, ld);
    const dim3 blocks(blocks_for(columns, kColumnsOfBlock), static_cast<unsigned>(count));
    if (lows.integers)
      list_contenders<IntegerLow><<<blocks, kThreads, 0, stream>>>(a.batch, lows, a.tile, ld, first, columns);
    else
      list_contenders<ProductLow><<<blocks, kThreads, 0, stream>>>(a.batch, lows, a.tile, ld, first, columns);
    check_launch();
  }
}

Arrays arrays_of(const ContendingRowsJob& job) {
  Arrays arrays{};
  lay_out(job, job.workspace, arrays);
  Batch& batch = arrays.batch;
  batch.k = job.k;
  batch.width = job.result.width;
  batch.columns = job.columns.rows.rows;
  batch.admission = job.admission;
  batch.capacity = job.capacity;
  batch.places = job.places;
  batch.scale = job.scale;
  return arrays;
}

SmallestJob smallest_of(const Arrays& a) {
  const Batch& b = a.batch;
  return {.keys = b.keys,
          .ids = b.ids,
          .counts = b.counts,
          .list = b.list,
          .admission = b.admission,
          .count = b.count,
          .k = b.k,
          .columns = b.capacity,
          .entries = a.entries,
          .evaluated = b.evaluated};
}

void limit_by_lists(const ContendingRowsJob& job, const Arrays& a, cudaStream_t stream) {
  const Batch& b = a.batch;
  copy_lists<<<blocks_for(b.count * b.k, kThreads), kThreads, 0, stream>>>(b);
  check_launch();
  find_keys(job, b, b.k, stream);
  find_limits<<<blocks_for(b.count * kCanonicalLanes, kThreads), kThreads, 0, stream>>>(b);
  check_launch();
}

// Of rows whose lists say nothing. Whatever the data, about k n / drawn of all n columns have no larger key than the
// k-th of those drawn: so many are drawn that this is a quarter of what there is room for.
void limit_by_drawn(const ContendingRowsJob& job, const Arrays& a, cudaStream_t stream) {
  const Batch& b = a.batch;
  const std::int64_t enough = std::max<std::int64_t>({1024, b.k + 1, 4 * b.k * (b.columns / b.capacity + 1)});
  const std::int64_t drawn = std::min({enough, b.capacity, b.columns});
  draw_columns<<<blocks_for(b.count * drawn, kThreads), kThreads, 0, stream>>>(b, drawn);
  check_launch();
  find_keys(job, b, drawn, stream);
  SmallestJob nearest = smallest_of(a);
  nearest.k = b.k - 1;  // one more is taken
  nearest.entries.slots = b.k;
  smallest_keys(nearest, stream);
  take_limits<<<blocks_for(b.count * kCanonicalLanes, kThreads), kThreads, 0, stream>>>(b, nearest.entries);
  check_launch();
}

}  // namespace

std::int64_t contending_workspace_bytes(const ContendingRowsJob& job) {
  Arrays arrays{};
  return lay_out(job, nullptr, arrays);
}

void count_crowded(const ContendingRowsJob& job, const float* cutoffs, std::int64_t room, int* crowded,
                   cudaStream_t stream) {
  Arrays arrays = arrays_of(job);
  Batch& batch = arrays.batch;
  for (std::int64_t done = 0; done < job.count; done += job.rows_at_a_time) {
    batch.list = job.list + done;
    batch.count = std::min(job.rows_at_a_time, job.count - done);
    take_cutoffs<<<blocks_for(batch.count, kThreads), kThreads, 0, stream>>>(batch, cutoffs);
    check_launch();
    find_contenders(job, arrays, stream);
    add_crowded<<<blocks_for(batch.count, kThreads), kThreads, 0, stream>>>(batch, room, crowded);
    check_launch();
  }
}

void contending_rows(const ContendingRowsJob& job, cudaStream_t stream) {
  Arrays arrays = arrays_of(job);
  Batch& batch = arrays.batch;
  batch.evaluated = &job.result.findings->keys;
  for (std::int64_t done = 0; done < job.count; done += job.rows_at_a_time) {
    batch.list = job.list + done;
    batch.listed = job.listed + done * batch.width;
    batch.count = std::min(job.rows_at_a_time, job.count - done);
    load_canonical(job.rows, batch.list, 0, batch.count, batch.u, stream);
    limit_by_lists(job, arrays, stream);
    limit_by_drawn(job, arrays, stream);
    find_contenders(job, arrays, stream);
    batch.self_keys = arrays.entries.self_keys;
    find_keys(job, batch, batch.capacity, stream);
    batch.self_keys = nullptr;
    smallest_keys(smallest_of(arrays), stream);
    ResultJob store;
    store.entries = arrays.entries;
    store.list = batch.list;
    store.count = batch.count;
    store.k = job.k;
    store.columns = batch.columns;
    store.admission = job.admission;
    store.kept = batch.counts;
    store.capacity = batch.capacity;
    store_result(store, job.metric, job.result, stream);
  }
}

}  // namespace libknng::cuda

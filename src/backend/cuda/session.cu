#include "backend/cuda/session.cuh"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <vector>

#include "backend/cuda/delivery.cuh"
#include "backend/cuda/direct.cuh"
#include "backend/cuda/exact_rows.cuh"
#include "backend/cuda/near_rows.cuh"
#include "backend/cuda/refine.cuh"
#include "backend/cuda/select/merge.cuh"
#include "backend/cuda/workspace.cuh"

namespace libknng::cuda {
namespace {

constexpr int kThreads = 256;
constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr std::uint32_t kNobody = 0xffffffff;
// Rows that refinement has in flight.
constexpr std::int64_t kRowsInFlight = 16384;
constexpr std::int64_t kResultBytes = std::int64_t{64} << 20;
constexpr std::int64_t kEvaluatedBytes = array_bytes(sizeof(unsigned long long));

unsigned blocks_of(std::int64_t threads) { return static_cast<unsigned>((threads + kThreads - 1) / kThreads); }
std::int64_t leading_dimension(std::int64_t columns) { return (columns + 3) / 4 * 4; }

__global__ void clear_lists(std::int64_t lists, std::int32_t* counts, float* cutoffs, float* dropped) {
  const std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i >= lists) return;
  counts[i] = 0;
  cutoffs[i] = dropped[i] = kInfinity;
}

__global__ void lower(float* into, const float* from, std::int64_t count) {
  const std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i < count) into[i] = fminf(into[i], from[i]);
}

std::int64_t refined_together(const knng_backend_problem& p) {
  const std::int64_t fit = kResultBytes / (width(p) * (8 + value_bytes(p)));
  return std::min(std::max(fit, kRowsInFlight), p.rows.count);
}

std::int64_t tile_bytes(const knng_backend_problem& p) { return p.tile_rows * leading_dimension(p.tile_cols) * 4; }
// The last rung takes about as much as a tile.
std::int64_t redone_together(const knng_backend_problem& p) {
  return std::clamp<std::int64_t>(tile_bytes(p) / (8 * p.columns.count), 1, 256);
}
std::int64_t columns_together(const knng_backend_problem& p) {
  return std::min(std::max<std::int64_t>(tile_bytes(p) / (8 * p.columns.dim), 128), p.columns.count);
}

// What the shapes of both stages follow from, without arrays.
RefineJob refine_job(const knng_backend_problem& p, const Metric& metric) {
  RefineJob job;
  job.rows.rows = {nullptr, p.rows.dtype, p.rows.count, p.rows.dim, p.rows.dim, 1};
  job.columns.rows = {nullptr, p.columns.dtype, p.columns.count, p.columns.dim, p.columns.dim, 1};
  job.rows.transform = job.columns.transform = metric.transform;
  job.metric = metric;
  job.k = p.k;
  job.square = p.square != 0;
  job.lists.capacity = p.capacity;
  job.result.width = width(p);
  job.rows_at_a_time = std::min(kRowsInFlight, p.rows.count);
  return job;
}
ExactJob exact_job(const knng_backend_problem& p, const Metric& metric) {
  const RefineJob shape = refine_job(p, metric);
  ExactJob job;
  job.rows = shape.rows;
  job.columns = shape.columns;
  job.metric = metric;
  job.k = p.k;
  job.square = shape.square;
  job.result.width = width(p);
  job.rows_at_a_time = job.count = redone_together(p);
  job.columns_at_a_time = columns_together(p);
  return job;
}

// The largest tile as a selector sees it.
SelectJob largest_job(const knng_backend_problem& p, Side side) {
  SelectJob job;
  job.rows = static_cast<int>(p.tile_rows);
  job.columns = static_cast<int>(p.tile_cols);
  job.ld = leading_dimension(p.tile_cols);
  job.side = side;
  job.capacity = static_cast<int>(p.capacity);
  return job;
}

const Selector& selector_of(const knng_backend_problem& p) { return *find_selector(p.selector); }
bool is_direct(const knng_backend_problem& p) { return std::string_view(p.engine) == "direct"; }

// What answering rows straight away needs of the problem.
NearRowsJob near_rows_job(const knng_backend_problem& p, const Metric& metric) {
  NearRowsJob job;
  job.rows = refine_job(p, metric).rows;
  job.columns = p.columns.count;
  job.metric = metric;
  job.k = p.k;
  job.square = p.square != 0;
  job.result.width = width(p);
  job.most_rows = p.tile_rows;
  return job;
}

std::int64_t workspace_bytes(const knng_backend_problem& p) {
  const Metric metric = metric_of(p.metric);
  if (p.by_rows)
    return ResultSpace(p, p.tile_rows, nullptr).used + kEvaluatedBytes +
           near_rows_workspace_bytes(near_rows_job(p, metric));
  const Selector& selector = selector_of(p);
  const SelectJob rows = largest_job(p, Side::rows), columns = largest_job(p, Side::columns);
  auto bytes = static_cast<std::int64_t>(std::max(selector.workspace_bytes(rows), selector.workspace_bytes(columns)));
  if (selector.workspace_bytes_both)
    bytes = std::max(bytes, static_cast<std::int64_t>(selector.workspace_bytes_both(rows, columns)));
  if (is_direct(p))
    bytes += array_bytes(direct_operand_bytes(p.tile_rows, p.rows.dim)) +
             array_bytes(direct_operand_bytes(p.tile_cols, p.rows.dim));
  bytes = std::max(bytes,
                   ResultSpace(p, refined_together(p), nullptr).used + refine_workspace_bytes(refine_job(p, metric)));
  return std::max(bytes, ResultSpace(p, redone_together(p), nullptr).used +
                             exact_workspace_bytes(exact_job(p, metric)) + array_bytes(8 * redone_together(p)));
}

template <class T>
DeviceArray<T> uploaded(const std::vector<T>& values, Home& home) {
  DeviceArray<T> array(static_cast<std::int64_t>(values.size()), home);
  check(cudaMemcpyAsync(array.data(), values.data(), values.size() * sizeof(T), cudaMemcpyHostToDevice, home.stream));
  home.stream.wait();
  return array;
}

// Between host and device: points or a result.
std::int64_t largest_copy(const knng_backend_problem& p) {
  const auto points = [](const knng_backend_rows& rows) { return rows.count * rows.dim * dtype_bytes(rows.dtype); };
  return std::max({points(p.columns), points(p.rows), p.rows.count * width(p) * 8});
}

}  // namespace

Metric metric_of(const knng_backend_metric& m) noexcept {
  return {"",      static_cast<Transform>(m.transform), static_cast<Term>(m.term),
          m.scale, static_cast<Report>(m.report),       m.similarity != 0,
          m.p};
}

std::int64_t Session::bytes(const knng_backend_problem& p) {
  const auto transform = static_cast<Transform>(p.metric.transform);
  const std::int64_t n = p.rows.count, d = p.columns.dim;
  std::int64_t bytes = Points::bytes(p.columns, transform) + (p.square ? 0 : Points::bytes(p.rows, transform));
  bytes += (p.leave_out ? array_bytes(8 * n) : 0) + array_bytes(4 * (p.k + 2));
  if (p.by_rows)
    return bytes + PointTree::bytes(p.columns.count, d) +
           std::max(PointTree::bytes_while_made(p.columns.count, d), array_bytes(workspace_bytes(p)));
  if (!is_direct(p))
    bytes += Operands::bytes(p.columns.count, d) + (p.square ? 0 : Operands::bytes(n, d)) + array_bytes(8 * d) +
             array_bytes(Products::kWorkspaceBytes);
  bytes += array_bytes(n * p.capacity * static_cast<std::int64_t>(sizeof(Candidate))) + 3 * array_bytes(4 * n);
  bytes += array_bytes(tile_bytes(p));
  const std::int64_t sides[] = {p.tile_rows, p.square ? p.tile_cols : 0};
  for (const std::int64_t lists : sides)
    bytes += array_bytes(lists * p.capacity * static_cast<std::int64_t>(sizeof(Candidate))) + array_bytes(4 * lists);
  bytes += array_bytes(workspace_bytes(p));
  return bytes + array_bytes(4 * n);
}

Session::Session(int device, const knng_backend_problem& problem)
    : problem_(problem),
      metric_(metric_of(problem.metric)),
      selector_(selector_of(problem)),
      device_(device),
      home_(device, problem.max_bytes),
      staging_(largest_copy(problem),
               [&problem](void* to, const void* from, std::int64_t bytes) {
                 problem.copy(problem.copy_user, to, from, bytes);
               }),
      columns_(problem.columns, metric_.transform, problem.metric.largest, staging_, home_) {
  const knng_backend_problem& p = problem_;
  check(cudaDeviceGetAttribute(&compute_major_, cudaDevAttrComputeCapabilityMajor, device));
  if (!p.square) try {
      queries_.emplace(p.rows, metric_.transform, p.metric.largest, staging_, home_);
    } catch (const RefusedRow& refused) {
      throw RefusedRow{refused.row, true};
    }
  if (p.by_rows)
    tree_.emplace(columns_, home_);
  else
    make_lists();
  workspace_ = DeviceArray<std::byte>(workspace_bytes(p), home_);
  if (p.leave_out) leave_out_ = uploaded(std::vector<std::int64_t>(p.leave_out, p.leave_out + p.rows.count), home_);
  if (const std::vector<std::uint32_t> first = columns_.first_directionless(p.k + 2, home_); !first.empty()) {
    directionless_ = uploaded(first, home_);
    directionless_count_ = static_cast<std::int64_t>(first.size());
  }
}

// What tiles need.
void Session::make_lists() {
  const knng_backend_problem& p = problem_;
  if (!is_direct(p)) {
    products_.emplace(home_);
    frame_.emplace(metric_, columns_, rows(), home_);
  }
  const std::int64_t n = p.rows.count;
  candidates_ = DeviceArray<Candidate>(n * p.capacity, home_);
  counts_ = DeviceArray<std::int32_t>(n, home_);
  cutoffs_ = DeviceArray<float>(n, home_);
  dropped_ = DeviceArray<float>(n, home_);
  ld_ = leading_dimension(p.tile_cols);
  tile_ = DeviceArray<float>(p.tile_rows * ld_, home_);
  const std::int64_t sides[] = {p.tile_rows, p.square ? p.tile_cols : 0};
  for (int side = 0; side < 2; ++side) {
    incoming_[side] = DeviceArray<Candidate>(sides[side] * p.capacity, home_);
    incoming_counts_[side] = DeviceArray<std::int32_t>(sides[side], home_);
  }
  if (!p.square && !p.leave_out) return;
  std::vector<std::uint32_t> excluded(static_cast<std::size_t>(n), kNobody);
  if (p.square) std::iota(excluded.begin(), excluded.end(), 0u);
  if (p.leave_out)
    for (std::size_t i = 0; i < excluded.size(); ++i)
      if (p.leave_out[i] >= 0) excluded[i] = static_cast<std::uint32_t>(p.leave_out[i]);
  excluded_ = uploaded(excluded, home_);
}

void Session::begin(int rung) {
  rung_ = rung;
  const std::int64_t n = problem_.rows.count;
  clear_lists<<<blocks_of(n), kThreads, 0, home_.stream>>>(n, counts_.data(), cutoffs_.data(), dropped_.data());
  check_launch();
  if (!products_) return;
  const auto precision = static_cast<Precision>(rung);
  operands_.reset();
  query_operands_.reset();
  operands_.emplace(columns_, *frame_, precision, home_);
  if (queries_) query_operands_.emplace(*queries_, *frame_, precision, home_);
  const LowBound::Ratios ratios{
      std::max({operands_->residual_ratio(), row_operands().residual_ratio(), LowBound::kSmallestRatio}),
      precision == Precision::two_piece ? 0x1p-11 : 0.0};
  const LowBound bound(metric_, columns_.dim(), frame_->exponent(),
                       Products::unit(precision, columns_.dim(), ratios, compute_major_), ratios);
  operands_->settle(columns_, bound, home_);
  if (queries_) query_operands_->settle(*queries_, bound, home_);
  scale_ = bound.scale();
}

void Session::fill_tile(std::int64_t first_row, std::int64_t rows, std::int64_t first_column, std::int64_t columns) {
  if (products_) {
    products_->run(row_operands(), first_row, rows, *operands_, first_column, columns, static_cast<Precision>(rung_),
                   tile_.data(), ld_);
    return;
  }
  std::byte* space = workspace_.data();
  const DirectOperand of_rows = make_direct_operand(this->rows().view(), nullptr, first_row, rows, space, home_.stream);
  space += array_bytes(direct_operand_bytes(problem_.tile_rows, columns_.dim()));
  const DirectOperand of_columns =
      make_direct_operand(columns_.view(), nullptr, first_column, columns, space, home_.stream);
  direct_tile(metric_, of_rows, of_columns, tile_.data(), ld_, home_.stream);
}

void Session::tile(std::int64_t first_row, std::int64_t rows, std::int64_t first_column, std::int64_t columns) {
  fill_tile(first_row, rows, first_column, columns);
  const bool on_diagonal = problem_.square && first_row == first_column;
  const bool both = problem_.square && !on_diagonal;

  SelectJob of_rows;
  of_rows.tile = tile_.data();
  of_rows.ld = ld_;
  if (products_) {
    of_rows.row_terms = row_operands().terms() + first_row;
    of_rows.column_terms = operands_->terms() + first_column;
  }
  of_rows.rows = static_cast<int>(rows);
  of_rows.columns = static_cast<int>(columns);
  of_rows.capacity = static_cast<int>(problem_.capacity);
  SelectJob of_columns = of_rows;
  const auto aim = [&](SelectJob& job, Side side, std::int64_t first_list, std::int64_t first_id) {
    const int s = side == Side::rows ? 0 : 1;
    job.side = side;
    job.first_id = static_cast<std::uint32_t>(first_id);
    job.cutoffs = cutoffs_.data() + first_list;
    job.out = incoming_[s].data();
    job.counts = incoming_counts_[s].data();
    job.dropped = dropped_.data() + first_list;
  };
  aim(of_rows, Side::rows, first_row, first_column);
  aim(of_columns, Side::columns, first_column, first_row);
  if (on_diagonal || leave_out_.size() > 0) of_rows.excluded = excluded_.data() + first_row;

  void* const workspace = workspace_.data();
  if (both && selector_.run_both) {
    selector_.run_both(of_rows, of_columns, workspace, home_.stream);
  } else {
    selector_.run(of_rows, workspace, home_.stream);
    if (both) selector_.run(of_columns, workspace, home_.stream);
  }
  join(of_rows, first_row);
  if (both) join(of_columns, first_column);
}

// Takes what a tile, or another session, found for consecutive lists into them.
void Session::join(const SelectJob& found, std::int64_t first_list) {
  const int capacity = static_cast<int>(problem_.capacity);
  const CandidateLists lists{candidates_.data() + first_list * capacity, counts_.data() + first_list, capacity,
                             cutoffs_.data() + first_list, dropped_.data() + first_list};
  Bounds bounds{static_cast<int>(problem_.k), nullptr, nullptr};
  if (products_) {
    bounds.of_list = row_operands().bounds() + first_list;
    bounds.of_id = operands_->bounds();
  }
  merge(lists, list_count(found), {found.out, found.counts, capacity}, bounds, home_.stream);
}

void Session::absorb(const Session& from, std::int64_t first, std::int64_t count) {
  const std::int64_t capacity = problem_.capacity;
  for (std::int64_t done = 0; done < count; done += problem_.tile_rows) {
    const std::int64_t at = first + done, lists = std::min(problem_.tile_rows, count - done);
    const auto fetch = [&](void* to, const void* source, std::int64_t bytes) {
      check(cudaMemcpyPeerAsync(to, device_, source, from.device_, static_cast<std::size_t>(bytes), home_.stream));
    };
    auto* const dropped = reinterpret_cast<float*>(workspace_.data());
    fetch(incoming_[0].data(), from.candidates_.data() + at * capacity,
          lists * capacity * static_cast<std::int64_t>(sizeof(Candidate)));
    fetch(incoming_counts_[0].data(), from.counts_.data() + at, 4 * lists);
    fetch(dropped, from.dropped_.data() + at, 4 * lists);
    lower<<<blocks_of(lists), kThreads, 0, home_.stream>>>(dropped_.data() + at, dropped, lists);
    check_launch();
    SelectJob found;
    found.rows = static_cast<int>(lists);
    found.out = incoming_[0].data();
    found.counts = incoming_counts_[0].data();
    join(found, at);
  }
  settle();
}

void Session::refine(std::int64_t first, std::int64_t count, knng_backend_result& result) {
  const knng_backend_problem& p = problem_;
  const ResultSpace space(p, refined_together(p), workspace_.data());
  Delivery delivery(p, space, result, staging_, home_.stream);
  std::vector<std::int32_t> counts(static_cast<std::size_t>(count));
  staging_.download(counts_.data() + first, counts.data(), 4 * count, home_.stream);
  for (const std::int32_t found : counts) {
    result.keys += found;
    result.candidates = std::max<std::int64_t>(result.candidates, found);
  }
  for (std::int64_t done = 0; done < count; done += space.together) {
    RefineJob job = refine_job(p, metric_);
    job.rows = rows().view();
    job.columns = columns_.view();
    job.first = first + done;
    job.count = std::min(space.together, count - done);
    job.leave_out = leave_out_.size() > 0 ? leave_out_.data() : nullptr;
    job.lists = {candidates_.data() + job.first * p.capacity, counts_.data() + job.first, p.capacity,
                 dropped_.data() + job.first};
    if (products_) job.bounds = {scale_, row_operands().bounds() + job.first, operands_->bounds()};
    job.directionless = directionless_count_ > 0 ? directionless_.data() : nullptr;
    job.directionless_count = directionless_count_;
    job.result = space.rows;
    job.result.first = job.first;
    job.workspace = space.rest;
    libknng::cuda::refine(job, home_.stream);
    delivery.rows(0, job.first, job.count, rung_);
  }
  delivery.findings();
}

void Session::answer(std::int64_t first, std::int64_t count, knng_backend_result& result) {
  const knng_backend_problem& p = problem_;
  const ResultSpace space(p, p.tile_rows, workspace_.data());
  auto* const evaluated = static_cast<unsigned long long*>(space.rest);
  check(cudaMemsetAsync(evaluated, 0, sizeof *evaluated, home_.stream));
  Delivery delivery(p, space, result, staging_, home_.stream);
  for (std::int64_t done = 0; done < count; done += space.together) {
    NearRowsJob job = near_rows_job(p, metric_);
    job.rows = rows().view();
    job.grid = tree_->grid();
    job.tree = tree_->boxes();
    job.first = first + done;
    job.count = std::min(space.together, count - done);
    job.leave_out = leave_out_.size() > 0 ? leave_out_.data() : nullptr;
    job.directionless = directionless_count_ > 0 ? directionless_.data() : nullptr;
    job.directionless_count = directionless_count_;
    job.result = space.rows;
    job.result.first = job.first;
    job.workspace = static_cast<std::byte*>(space.rest) + kEvaluatedBytes;
    near_rows(job, evaluated, home_.stream);
    delivery.rows(0, job.first, job.count, KNNG_RUNG_FP64);
  }
  delivery.findings();
  unsigned long long keys = 0;
  staging_.download(evaluated, &keys, sizeof keys, home_.stream);
  result.keys += static_cast<std::int64_t>(keys);
}

void Session::redo(const std::int64_t* rows, std::int64_t count, knng_backend_result& result) {
  const knng_backend_problem& p = problem_;
  const ResultSpace space(p, redone_together(p), workspace_.data());
  auto* const list = static_cast<std::int64_t*>(space.rest);
  Delivery delivery(p, space, result, staging_, home_.stream);
  for (std::int64_t done = 0; done < count; done += space.together) {
    ExactJob job = exact_job(p, metric_);
    job.rows = this->rows().view();
    job.columns = columns_.view();
    job.list = list;
    job.count = std::min(space.together, count - done);
    check(cudaMemcpyAsync(list, rows + done, static_cast<std::size_t>(8 * job.count), cudaMemcpyHostToDevice,
                          home_.stream));
    job.leave_out = leave_out_.size() > 0 ? leave_out_.data() : nullptr;
    job.result = space.rows;
    job.result.packed = true;
    job.workspace = static_cast<std::byte*>(space.rest) + array_bytes(8 * space.together);
    exact_rows(job, home_.stream);
    for (std::int64_t i = 0; i < job.count; ++i) delivery.rows(i, rows[done + i], 1, KNNG_RUNG_FP64);
    result.keys += job.count * p.columns.count;
  }
  delivery.findings();
}

}  // namespace libknng::cuda

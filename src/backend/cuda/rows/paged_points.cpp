#include "backend/cuda/rows/paged_points.cuh"

#include <algorithm>
#include <utility>

#include "backend/cuda/base/workspace.cuh"
#include "backend/cuda/rows/caller_memory.cuh"
#include "backend/cuda/rows/strided.cuh"

namespace libknng::cuda {
PickedRows::PickedRows(const knng_backend_rows& of, std::vector<std::int64_t> picked)
    : of_(of), picked_(std::move(picked)) {
  for (std::size_t s = 0; s < picked_.size(); ++s)
    for (std::int64_t p = 0; p < of.piece_count; ++p) {
      const knng_backend_piece& piece = of.pieces[p];
      const std::int64_t row = picked_[s] - piece.first;
      if (row < 0 || row >= piece.count) continue;
      knng_backend_matrix one = piece.rows;
      one.data = element(one, piece.listed ? piece.listed[row] - piece.origin : row, 0);
      one.rows = 1;
      one.row_stride = one.cols;
      pieces_.push_back({static_cast<std::int64_t>(s), 1, one, nullptr, 0});
    }
}

std::int32_t PickedRows::read(const void* user, std::int64_t first, std::int64_t count, void* dst) {
  const PickedRows& rows = *static_cast<const PickedRows*>(user);
  const std::int64_t row_bytes = rows.of_.dim * dtype_bytes(rows.of_.dtype);
  std::int64_t i = 0;
  while (i < count && rows.of_.read(rows.of_.user, rows.picked_[static_cast<std::size_t>(first + i)], 1,
                                    static_cast<std::byte*>(dst) + i * row_bytes))
    ++i;
  return i == count;
}

knng_backend_rows PickedRows::rows() const {
  return {this,           static_cast<std::int64_t>(picked_.size()), of_.dim, of_.dtype, &read,
          pieces_.data(), static_cast<std::int64_t>(pieces_.size())};
}

PickedRows sample_rows(const knng_backend_rows& rows) {
  const std::int64_t count = std::min(rows.count, kSampleRows);
  std::vector<std::int64_t> picked(static_cast<std::size_t>(count));
  for (std::int64_t s = 0; s < count; ++s) picked[static_cast<std::size_t>(s)] = rows.count / count * s;
  return {rows, std::move(picked)};
}

// A block in its memory. Ranks, and what finding them takes, are of each time that it comes.
struct PagedPoints::Layout {
  std::byte* stored;
  std::int16_t* short_ranks = nullptr;
  std::int32_t* long_ranks = nullptr;
  RowConstants* constants = nullptr;
  PrepareFindings* findings = nullptr;
  void* workspace = nullptr;
  std::int64_t bytes;

  Layout(const knng_backend_rows& rows, Transform transform, std::int64_t block_rows, std::byte* memory) {
    Workspace space(memory);
    const std::int64_t values = block_rows * rows.dim;
    stored = space.take<std::byte>(values * dtype_bytes(rows.dtype));
    if (transform == Transform::rank_unit) {
      if (short_ranks_suffice(rows.dim))
        short_ranks = space.take<std::int16_t>(values);
      else
        long_ranks = space.take<std::int32_t>(values);
      constants = space.take<RowConstants>(block_rows);
      findings = space.take<PrepareFindings>(1);
      const DeviceRows shape{nullptr, rows.dtype, block_rows, rows.dim, rows.dim, 1};
      workspace = space.take<std::byte>(prepare_workspace_bytes(shape, transform));
    }
    bytes = space.used();
  }
};

PagedPoints::Layout PagedPoints::layout(std::byte* memory) const { return {rows_, transform_, block_rows_, memory}; }

std::int64_t PagedPoints::block_bytes(const knng_backend_rows& rows, Transform transform, std::int64_t block_rows) {
  return array_bytes(Layout(rows, transform, block_rows, nullptr).bytes);
}

std::int64_t PagedPoints::bytes(const knng_backend_rows& rows, Transform transform, std::int64_t block_rows) {
  return bytes_of<Arrays>(rows, transform, block_rows);
}

PagedPoints::Arrays::Arrays(const knng_backend_rows& rows, Transform transform, std::int64_t block_rows,
                            ArraySource& source)
    : findings(source.take<PrepareFindings>(blocks_of(rows.count, block_rows))) {
  if (has_constants(transform)) constants = source.take<RowConstants>(rows.count);
}

PagedPoints::PagedPoints(const knng_backend_rows& rows, Transform transform, double limit, std::int64_t block_rows,
                         Staging& staging, DeviceContext& context, std::function<void()> between)
    : rows_(rows),
      transform_(transform),
      limit_(limit),
      block_rows_(block_rows),
      staging_(staging),
      context_(context),
      between_(std::move(between)),
      arrays_(taken<Arrays>(context, rows, transform, block_rows)),
      has_come_(static_cast<std::size_t>(blocks())) {
  const std::vector<PrepareFindings> none(has_come_.size());
  check(cudaMemcpyAsync(arrays_.findings.data(), none.data(), none.size() * sizeof none[0], cudaMemcpyHostToDevice,
                        context.stream));
  context.stream.wait();
}

void PagedPoints::prepare(const CanonicalView& view, const Layout& at, RowConstants* constants,
                          PrepareFindings* findings) {
  PrepareJob job;
  job.rows = view.rows;
  job.transform = transform_;
  job.limit = limit_;
  job.constants = constants;
  job.short_ranks = at.short_ranks;
  job.long_ranks = at.long_ranks;
  job.findings = findings;
  job.workspace = at.workspace;
  job.valid = true;  // as in Points
  prepare_in_parts(job, parts_, loader_, between_);
}

CanonicalView PagedPoints::view(std::int64_t block, std::byte* memory) const {
  const Layout at = layout(memory);
  CanonicalView view;
  view.rows = {at.stored, rows_.dtype, count_of(block), rows_.dim, rows_.dim, 1};
  view.transform = transform_;
  view.constants = has_constants(transform_) ? arrays_.constants.data() + first_of(block) : nullptr;
  view.short_ranks = at.short_ranks;
  view.long_ranks = at.long_ranks;
  return view;
}

CanonicalView PagedPoints::shape() const noexcept {
  CanonicalView view;
  view.rows = {nullptr, rows_.dtype, rows_.count, rows_.dim, rows_.dim, 1};
  view.transform = transform_;
  view.constants = arrays_.constants.data();
  return view;
}

CanonicalView PagedPoints::bring(std::int64_t block, std::byte* memory) {
  const Layout at = layout(memory);
  const CanonicalView brought = view(block, memory);
  bring_points(rows_, first_of(block), count_of(block), memory, context_.device, staging_, loader_);
  if (const auto b = static_cast<std::size_t>(block); !has_come_[b]) {
    RowConstants* const constants = has_constants(transform_) ? arrays_.constants.data() + first_of(block) : nullptr;
    prepare(brought, at, constants, arrays_.findings.data() + block);
    has_come_[b] = true;
  } else if (at.findings) {  // ranks are of each time
    check(cudaMemsetAsync(at.findings, 0, sizeof *at.findings, loader_));
    prepare(brought, at, at.constants, at.findings);
  }
  return brought;
}

PrepareFindings PagedPoints::found() {
  std::vector<PrepareFindings> of_blocks(has_come_.size());
  check(cudaMemcpyAsync(of_blocks.data(), arrays_.findings.data(), of_blocks.size() * sizeof of_blocks[0],
                        cudaMemcpyDeviceToHost, loader_));
  loader_.wait();
  PrepareFindings all;
  for (std::int64_t b = 0; b < blocks(); ++b) {
    const PrepareFindings& one = of_blocks[static_cast<std::size_t>(b)];
    if (all.first_refused == PrepareFindings::kNothing && one.first_refused != PrepareFindings::kNothing)
      all.first_refused = one.first_refused + static_cast<unsigned long long>(first_of(b) * (dim() + 1));
    all.any_directionless |= one.any_directionless;
  }
  return all;
}

void PagedPoints::look_for_refused() {
  const Passing at = passing();
  const UntilDone loaded(loader_);
  context_.stream.wait();
  for (std::int64_t b = 0; b < blocks(); ++b)
    if (!has_come_[static_cast<std::size_t>(b)]) bring(b, at.memory.data());
  if (const PrepareFindings all = found(); all.first_refused != PrepareFindings::kNothing)
    throw RefusedRow{static_cast<std::int64_t>(all.first_refused / static_cast<unsigned long long>(dim() + 1))};
}

std::vector<std::uint32_t> PagedPoints::first_directionless(std::int64_t most) {
  if (found().any_directionless == 0) return {};
  return libknng::cuda::first_directionless(arrays_.constants.data(), count(), most, context_);
}

}  // namespace libknng::cuda

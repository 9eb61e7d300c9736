#include "backend/cuda/engines/paged_operands.cuh"

#include "backend/cuda/engines/integer_operands.cuh"

namespace libknng::cuda {

PagedOperands::PagedOperands(PagedPoints& points, const Metric& metric, DeviceContext& context)
    : points_(points),
      metric_(metric),
      precision_(Precision::int8),
      context_(context),
      known_(taken<Known>(context, points.count(), false)),
      has_terms_(static_cast<std::size_t>(points.blocks())) {}

PagedOperands::PagedOperands(PagedPoints& points, const Metric& metric, const Frame& frame, Precision precision,
                             const LowBound& bound, DeviceContext& context)
    : points_(points),
      metric_(metric),
      precision_(precision),
      frame_(&frame),
      bound_(bound),
      context_(context),
      known_(taken<Known>(context, points.count(), true)),
      has_terms_(static_cast<std::size_t>(points.blocks())) {}

PagedOperands::Known::Known(std::int64_t count, bool bounded, ArraySource& source) : terms(source.take<float>(count)) {
  if (bounded) bounds = source.take<float>(count);
}

PagedOperands::Landing::Landing(std::int64_t block_bytes, std::int64_t block_rows, std::int64_t dim, bool rounded,
                                ArraySource& source)
    : stored(source.take<std::byte>(block_bytes)) {
  if (!rounded) return;
  canonical = source.take<double>(rounded_together(block_rows, dim) * dim);
  sums = source.take<OperandSums>(block_rows);
  extremes = source.take<OperandExtremes>(1);
}

std::int64_t PagedOperands::bytes(std::int64_t count) { return bytes_of<Known>(count, true); }

std::int64_t PagedOperands::slot_bytes(std::int64_t block_rows, std::int64_t dim, Precision precision) {
  return array_bytes(operand_bytes(block_rows, dim, precision));
}

std::int64_t PagedOperands::held_bytes(std::int64_t block_bytes, std::int64_t block_rows, std::int64_t dim,
                                       Precision precision) {
  return bytes_of<Landing>(block_bytes, block_rows, dim, precision != Precision::int8);
}

void PagedOperands::hold(std::int64_t slots) {
  const std::int64_t rows = points_.block_rows(), dim = points_.dim();
  ArraySource source(context_);
  landing_.emplace(points_.block_bytes(), rows, dim, bound_.has_value(), source);
  if (bound_) check(cudaMemsetAsync(landing_->extremes.data(), 0, sizeof(OperandExtremes), context_.stream));
  slots_.emplace(slots, slot_bytes(rows, dim, precision_), points_.loader(), context_);
}

void PagedOperands::release() {
  slots_.reset();
  landing_.reset();
}

void PagedOperands::learn(const PagedOperands& from, int device, int device_of_from) {
  for (std::int64_t b = 0; b < points_.blocks(); ++b) {
    if (has_terms_[static_cast<std::size_t>(b)] || !from.has_terms_[static_cast<std::size_t>(b)]) continue;
    const std::int64_t first = points_.first_of(b), count = std::min(points_.block_rows(), points_.count() - first);
    const auto fetch = [&](const DeviceArray<float>& to, const DeviceArray<float>& source) {
      check(cudaMemcpyPeerAsync(to.data() + first, device, source.data() + first, device_of_from,
                                static_cast<std::size_t>(4 * count), context_.stream));
    };
    fetch(known_.terms, from.known_.terms);
    if (bound_) fetch(known_.bounds, from.known_.bounds);
  }
}

// Points from `first` on, rounded into a slot; with their terms and bounds, if these are not there yet.
void PagedOperands::round(const CanonicalView& view, std::byte* to, std::int64_t first, bool terms) {
  const cudaStream_t loader = points_.loader();
  RoundJob job;
  job.points = view;
  job.frame = frame_;
  job.precision = precision_;
  job.values = to;
  job.sums = landing_->sums.data();
  job.extremes = landing_->extremes.data();
  job.u = landing_->canonical.data();
  round_points(job, loader);
  if (terms)
    find_terms(view, nullptr, landing_->sums.data(), *bound_, false, known_.terms.data() + first,
               known_.bounds.data() + first, loader);
}

const std::byte* PagedOperands::block(std::int64_t block) {
  return slots_->find(block, [&](std::byte* memory) {
    const CanonicalView view = points_.bring(block, landing_->stored.data());
    const auto b = static_cast<std::size_t>(block);
    const std::int64_t first = points_.first_of(block);
    if (bound_)
      round(view, memory, first, !has_terms_[b]);
    else
      make_integer_operands(view.rows, nullptr, metric_, memory, has_terms_[b] ? nullptr : known_.terms.data() + first,
                            points_.loader());
    has_terms_[b] = true;
  });
}

}  // namespace libknng::cuda

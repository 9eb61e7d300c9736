#include "backend/cuda/engines/paged_operands.cuh"

#include "backend/cuda/engines/integer_operands.cuh"

namespace libknng::cuda {

PagedOperands::PagedOperands(PagedPoints& points, const Metric& metric, DeviceContext& context)
    : points_(points),
      metric_(metric),
      precision_(Precision::int8),
      context_(context),
      terms_(points.count(), context),
      has_terms_(static_cast<std::size_t>(points.blocks())) {}

PagedOperands::PagedOperands(PagedPoints& points, const Metric& metric, const Frame& frame, Precision precision,
                             const LowBound& bound, DeviceContext& context)
    : points_(points),
      metric_(metric),
      precision_(precision),
      frame_(&frame),
      bound_(bound),
      context_(context),
      terms_(points.count(), context),
      bounds_(points.count(), context),
      has_terms_(static_cast<std::size_t>(points.blocks())) {}

std::int64_t PagedOperands::bytes(std::int64_t count) { return 2 * array_bytes(4 * count); }

std::int64_t PagedOperands::slot_bytes(std::int64_t block_rows, std::int64_t dim, Precision precision) {
  return array_bytes(operand_bytes(block_rows, dim, precision));
}

std::int64_t PagedOperands::held_bytes(std::int64_t block_bytes, std::int64_t block_rows, std::int64_t dim,
                                       Precision precision) {
  if (precision == Precision::int8) return array_bytes(block_bytes);
  return array_bytes(block_bytes) + array_bytes(8 * dim * rounded_together(block_rows, dim)) +
         array_bytes(block_rows * static_cast<std::int64_t>(sizeof(OperandSums))) + array_bytes(sizeof(unsigned));
}

void PagedOperands::hold(std::int64_t slots) {
  const std::int64_t rows = points_.block_rows(), dim = points_.dim();
  landing_ = DeviceArray<std::byte>(points_.block_bytes(), context_);
  if (bound_) {
    canonical_ = DeviceArray<double>(rounded_together(rows, dim) * dim, context_);
    sums_ = DeviceArray<OperandSums>(rows, context_);
    ratio_ = DeviceArray<unsigned>(1, context_);
    check(cudaMemsetAsync(ratio_.data(), 0, sizeof(unsigned), context_.stream));
  }
  slots_.emplace(slots, slot_bytes(rows, dim, precision_), points_.loader(), context_);
}

void PagedOperands::release() {
  slots_.reset();
  ratio_ = {};
  sums_ = {};
  canonical_ = {};
  landing_ = {};
}

void PagedOperands::learn(const PagedOperands& from, int device, int device_of_from) {
  for (std::int64_t b = 0; b < points_.blocks(); ++b) {
    if (has_terms_[static_cast<std::size_t>(b)] || !from.has_terms_[static_cast<std::size_t>(b)]) continue;
    const std::int64_t first = points_.first_of(b), count = std::min(points_.block_rows(), points_.count() - first);
    const auto fetch = [&](const DeviceArray<float>& to, const DeviceArray<float>& source) {
      check(cudaMemcpyPeerAsync(to.data() + first, device, source.data() + first, device_of_from,
                                static_cast<std::size_t>(4 * count), context_.stream));
    };
    fetch(terms_, from.terms_);
    if (bound_) fetch(bounds_, from.bounds_);
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
  job.sums = sums_.data();
  job.ratio = ratio_.data();
  job.u = canonical_.data();
  round_points(job, loader);
  if (terms) find_terms(view, nullptr, sums_.data(), *bound_, terms_.data() + first, bounds_.data() + first, loader);
}

const std::byte* PagedOperands::block(std::int64_t block) {
  return slots_->find(block, [&](std::byte* memory) {
    const CanonicalView view = points_.bring(block, landing_.data());
    const auto b = static_cast<std::size_t>(block);
    const std::int64_t first = points_.first_of(block);
    if (bound_)
      round(view, memory, first, !has_terms_[b]);
    else
      make_integer_operands(view.rows, nullptr, metric_, memory, has_terms_[b] ? nullptr : terms_.data() + first,
                            points_.loader());
    has_terms_[b] = true;
  });
}

}  // namespace libknng::cuda

#include "backend/cuda/paged_operands.cuh"

namespace libknng::cuda {
namespace {

std::int64_t piece_bytes(std::int64_t block_rows, std::int64_t dim, Precision precision) {
  return array_bytes(block_rows * pitch_of(dim) * value_bytes(precision));
}

}  // namespace

PagedOperands::PagedOperands(PagedPoints& points, const Frame& frame, Precision precision, const LowBound& bound,
                             Home& home)
    : points_(points),
      frame_(frame),
      precision_(precision),
      bound_(bound),
      home_(home),
      terms_(points.count(), home),
      bounds_(points.count(), home),
      has_terms_(static_cast<std::size_t>(points.blocks())) {}

std::int64_t PagedOperands::bytes(std::int64_t count) { return 2 * array_bytes(4 * count); }

std::int64_t PagedOperands::slot_bytes(std::int64_t block_rows, std::int64_t dim, Precision precision) {
  return pieces_of(precision) * piece_bytes(block_rows, dim, precision);
}

std::int64_t PagedOperands::held_bytes(std::int64_t block_bytes, std::int64_t block_rows, std::int64_t dim) {
  return array_bytes(block_bytes) + array_bytes(8 * dim * rounded_together(block_rows, dim)) +
         array_bytes(block_rows * static_cast<std::int64_t>(sizeof(OperandSums))) + array_bytes(sizeof(unsigned));
}

void PagedOperands::hold(std::int64_t slots) {
  const std::int64_t rows = points_.block_rows(), dim = points_.dim();
  landing_ = DeviceArray<std::byte>(points_.block_bytes(), home_);
  canonical_ = DeviceArray<double>(rounded_together(rows, dim) * dim, home_);
  sums_ = DeviceArray<OperandSums>(rows, home_);
  ratio_ = DeviceArray<unsigned>(1, home_);
  check(cudaMemsetAsync(ratio_.data(), 0, sizeof(unsigned), home_.stream));
  slots_.emplace(slots, slot_bytes(rows, dim, precision_), points_.loader(), home_);
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
                                static_cast<std::size_t>(4 * count), home_.stream));
    };
    fetch(terms_, from.terms_);
    fetch(bounds_, from.bounds_);
  }
}

OperandBlock PagedOperands::block(std::int64_t block) {
  const auto pieces = [&](std::byte* memory) {
    return OperandBlock{{memory, precision_ == Precision::two_piece
                                     ? memory + piece_bytes(points_.block_rows(), points_.dim(), precision_)
                                     : nullptr}};
  };
  return pieces(slots_->find(block, [&](std::byte* memory) {
    const cudaStream_t loader = points_.loader();
    const CanonicalView view = points_.bring(block, landing_.data());
    const OperandBlock to = pieces(memory);
    RoundJob job;
    job.points = view;
    job.frame = &frame_;
    job.precision = precision_;
    for (int i = 0; i < 2; ++i) job.pieces[i] = const_cast<std::byte*>(to.pieces[i]);
    job.sums = sums_.data();
    job.ratio = ratio_.data();
    job.u = canonical_.data();
    round_points(job, loader);
    if (const auto b = static_cast<std::size_t>(block); !has_terms_[b]) {
      const std::int64_t first = points_.first_of(block);
      find_terms(view, sums_.data(), bound_, terms_.data() + first, bounds_.data() + first, loader);
      has_terms_[b] = true;
    }
  }));
}

}  // namespace libknng::cuda

#include "exec/file_rows.h"

#include <omp.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <mutex>
#include <utility>

#include "core/dtype.h"
#include "core/first_failure.h"
#include "core/float_env.h"
#include "core/host_memory.h"
#include "dataset/fingerprint.h"

namespace libknng {
namespace {

// What a thread reads at once; all threads together no more than a share of what may still be held.
constexpr std::int64_t kBlockBytes = std::int64_t{1} << 20;
constexpr std::int64_t kShare = 4;

// The first value, by rows, that is not finite; whichever thread meets one.
class NotFinite {
 public:
  explicit NotFinite(std::int64_t rows) noexcept : row_(rows) {}

  // Whether a row beyond this one need not be looked at.
  bool before(std::int64_t row) const noexcept { return row_.load(std::memory_order_relaxed) < row; }
  // Notes the first of the row's values; false if all are finite.
  bool find(std::int64_t row, const double* x, std::int64_t dim) noexcept {
    double sum = 0;  // as in require_finite()
    for (std::int64_t t = 0; t < dim; ++t) sum += x[t] - x[t];
    if (sum == 0) return false;
    const std::lock_guard lock(mutex_);
    if (row >= row_.load()) return true;
    row_.store(row);
    col_ = std::find_if(x, x + dim, [](double value) { return !std::isfinite(value); }) - x;
    value_ = x[col_];
    return true;
  }
  void refuse(std::int64_t rows) const {
    if (row_.load() < rows) refuse_not_finite(value_, row_.load(), col_, "path");
  }

 private:
  std::mutex mutex_;
  std::atomic<std::int64_t> row_;
  std::int64_t col_ = 0;
  double value_ = 0;
};

// All rows once.
void hash_rows(const RowFile& file, const MatrixView& shape, int threads, Budget& budget, Monitor& monitor,
               Buffer<std::uint64_t>& hashes) {
  const std::int64_t n = shape.rows, d = shape.cols;
  const std::int64_t row_bytes = checked_mul(d, find_dtype(shape.dtype)->bytes, "path");
  const std::int64_t room = (budget.limit() - budget.held()) / kShare / threads;
  const std::int64_t together = std::clamp<std::int64_t>(std::min(kBlockBytes, room) / row_bytes, 1, n);
  threads = static_cast<int>(std::min<std::int64_t>(threads, ceil_div(n, together)));
  Buffer<std::byte> blocks(checked_mul(together * row_bytes, threads, "path"), &budget);
  Buffer<double> scratch(checked_mul(d, threads, "path"), &budget);
  FirstFailure failure;
  NotFinite not_finite(n);
  monitor.stage("read", static_cast<double>(n));
#pragma omp parallel num_threads(threads)
  {
    const FloatEnv env;
    std::byte* const block = blocks.data() + omp_get_thread_num() * together * row_bytes;
    double* const x = scratch.data() + omp_get_thread_num() * d;
#pragma omp for schedule(dynamic, 1)
    for (std::int64_t first = 0; first < n; first += together) {
      if (monitor.stopped() || failure.happened() || not_finite.before(first)) continue;
      const std::int64_t count = std::min(together, n - first);
      try {
        file.read(first, count, block);
      } catch (...) {
        failure.note();
        continue;
      }
      for (std::int64_t i = 0; i < count; ++i) {
        load_row({shape.dtype, count, d, d, 1, block}, i, x);
        if (not_finite.find(first + i, x, d)) break;
        hashes[first + i] = row_hash(x, d);
      }
      monitor.advance(static_cast<double>(count));
    }
  }
  monitor.check();
  failure.rethrow();
  not_finite.refuse(n);
}

}  // namespace

bool too_large_to_hold(std::int64_t bytes, std::int64_t held, std::int64_t limit) noexcept {
  const std::int64_t most = (limit ? limit : host_memory()) / 4 * 3;
  return bytes > most - std::min(held, most);
}

std::shared_ptr<const Chunk> leave_in_file(std::unique_ptr<const RowFile> file, std::int32_t dtype, std::int64_t rows,
                                           std::int64_t cols, int threads, Budget& budget, Monitor& monitor) {
  const MatrixView shape{dtype, rows, cols, cols, 1, nullptr, kInFile};
  Buffer<std::uint64_t> hashes(rows, &budget);
  monitor.run([&] { hash_rows(*file, shape, threads, budget, monitor, hashes); });
  file->require_untouched();
  hashes.release_from_budget();
  return std::make_shared<Chunk>(std::move(file), std::move(hashes), dtype, rows, cols);
}

void run_while_unchanged(const Dataset& data, const Dataset* queries, Monitor& monitor,
                         const std::function<void()>& work) {
  const auto require_unchanged = [&] {
    data.require_unchanged();
    if (queries) queries->require_unchanged();
  };
  require_unchanged();
  monitor.run([&] {
    try {
      work();
    } catch (const Error& e) {
      if (e.code() != KNNG_ERR_CANCELLED) require_unchanged();
      throw;
    }
    require_unchanged();
  });
}

}  // namespace libknng

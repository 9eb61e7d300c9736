#include "exec/rows/file_rows.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>
#include <mutex>
#include <utility>

#include "core/division.h"
#include "core/dtype.h"
#include "core/first_failure.h"
#include "core/host_memory.h"
#include "core/thread_team.h"
#include "dataset/fingerprint.h"

namespace libknng {
namespace {

// What a thread reads at once; all threads together no more than a share of what may still be held.
constexpr std::int64_t kBlockBytes = std::int64_t{1} << 20;
constexpr std::int64_t kShare = 4;

// The first value, by rows, that rows may not have; whichever thread meets one.
class FirstInvalid {
 public:
  FirstInvalid(std::int64_t rows, std::int32_t dtype) noexcept : row_(rows), dtype_(dtype) {}

  // Whether a row beyond this one need not be looked at.
  bool before(std::int64_t row) const noexcept { return row_.load(std::memory_order_relaxed) < row; }
  // Of row i of the block, which is row `row` of the file; false if all of its values are valid.
  bool find(std::int64_t row, const MatrixView& block, std::int64_t i) noexcept {
    const std::int64_t col = find_invalid(block, i);
    if (col < 0) return false;
    const std::lock_guard lock(mutex_);
    if (row >= row_.load()) return true;
    row_.store(row);
    col_ = col;
    const std::int64_t bytes = dtype_bytes(dtype_);
    std::memcpy(stored_.data(), block.data + (i * block.cols + col) * bytes, static_cast<std::size_t>(bytes));
    return true;
  }
  void refuse(std::int64_t rows) const {
    if (row_.load() < rows) refuse_invalid(dtype_, stored_.data(), row_.load(), col_, "path");
  }

 private:
  std::mutex mutex_;
  std::atomic<std::int64_t> row_;
  std::int32_t dtype_;
  std::int64_t col_ = 0;
  std::array<std::byte, sizeof(double)> stored_{};
};

// All rows once; returns the types of 8 bits that hold them.
ByteTypes hash_rows(const RowFile& file, const MatrixView& shape, int threads, Budget& budget, Monitor& monitor,
                    Buffer<std::uint64_t>& hashes) {
  const std::int64_t n = shape.rows, d = shape.cols;
  const std::int64_t row_bytes = checked_mul(d, find_dtype(shape.dtype)->bytes, "path");
  const std::int64_t room = (budget.limit() - budget.held()) / kShare / threads;
  const std::int64_t together = std::clamp<std::int64_t>(std::min(kBlockBytes, room) / row_bytes, 1, n);
  threads = static_cast<int>(std::min<std::int64_t>(threads, ceil_div(n, together)));
  Buffer<std::byte> blocks(checked_mul(together * row_bytes, threads, "path"), &budget);
  Buffer<double> scratch(checked_mul(d, threads, "path"), &budget);
  FirstInvalid invalid(n, shape.dtype);
  std::atomic<std::uint32_t> types{kEitherByte};
  monitor.stage("read", static_cast<double>(n));
  ThreadTeam team(threads);
  team.for_each(monitor, n, together, [&](int member, std::int64_t first, std::int64_t end) {
    if (invalid.before(first)) return;
    std::byte* const block = blocks.data() + member * together * row_bytes;
    double* const x = scratch.data() + member * d;
    file.read(first, end - first, block);
    const MatrixView rows{shape.dtype, end - first, d, d, 1, block};
    for (std::int64_t i = first; i < end; ++i) {
      if (invalid.find(i, rows, i - first)) break;
      load_row(rows, i - first, x);
      hashes[i] = row_hash(x, d);
    }
    const auto known = static_cast<ByteTypes>(types.load(std::memory_order_relaxed));
    if (known != kNoByteType) types &= find_byte_types(rows, known);
  });
  invalid.refuse(n);
  return static_cast<ByteTypes>(types.load());
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
  ByteTypes types = kNoByteType;
  monitor.run([&] { types = hash_rows(*file, shape, threads, budget, monitor, hashes); });
  file->require_untouched();
  hashes.release_from_budget();
  auto chunk = std::make_shared<Chunk>(std::move(file), std::move(hashes), dtype, rows, cols);
  chunk->set_byte_types(types);
  return chunk;
}

void run_while_unchanged(const Dataset& data, const Dataset* queries, Monitor& monitor, bool brief,
                         const std::function<void()>& work) {
  const auto require_unchanged = [&] {
    data.require_unchanged();
    if (queries) queries->require_unchanged();
  };
  require_unchanged();
  const auto watched = [&] {
    try {
      work();
    } catch (const Error& e) {
      if (e.code() != KNNG_ERR_CANCELLED) require_unchanged();
      throw;
    }
    require_unchanged();
  };
  monitor.run(watched, brief);
}

}  // namespace libknng

// Selectors on tiles of more elements than 32 bits count, rows, columns and both: keys are made on the device by a
// hash, and lists that begin, end or lie beyond the 2^31st and 2^32nd element are compared with a selection on the
// host.
#include <algorithm>
#include <cstring>
#include <limits>
#include <string>

#include "backend/cuda/select/select.cuh"
#include "gpu.cuh"
#include "selection.h"

using namespace libknng::cuda;

namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr double kGigabyte = 1e9;

// More rows than a grid is high.
struct Shape {
  std::int64_t rows, columns;
  constexpr std::int64_t elements() const { return rows * columns; }
};
constexpr Shape kBeyondUnsigned{66'000, 65'540};
// batch_sort has three places of 12 bytes for every pair of two sides, beside the tile: of this one 86 GB.
constexpr Shape kBeyondSigned{65'600, 32'772};
static_assert(kBeyondUnsigned.elements() > std::int64_t{1} << 32 && kBeyondSigned.elements() > std::int64_t{1} << 31);
static_assert(kBeyondUnsigned.columns % 4 == 0 && kBeyondSigned.columns % 4 == 0);  // whole vectors, one read for both

Shape shape_for(const Selector& s) { return std::strcmp(s.name, "batch_sort") == 0 ? kBeyondSigned : kBeyondUnsigned; }

// A key in [0, 1).
__host__ __device__ float hashed(std::uint64_t i) {
  i = (i ^ (i >> 31)) * 0x9E3779B97F4A7C15U;
  i = (i ^ (i >> 29)) * 0xBF58476D1CE4E5B9U;
  return static_cast<float>((i ^ (i >> 32)) & 0xffffffU) * (1.0F / 16777216.0F);
}
__global__ void fill_hashed(float* out, std::int64_t count) {
  for (std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x; i < count;
       i += static_cast<std::int64_t>(gridDim.x) * blockDim.x)
    out[i] = hashed(static_cast<std::uint64_t>(i));
}

// One side of a tile: what a selector gets, and where it answers.
struct Lists {
  Shape shape;
  Side side;
  std::int64_t count, length;
  std::vector<float> cutoffs;
  gpu::Array<float> device_cutoffs, dropped;
  gpu::Array<Candidate> out;
  gpu::Array<std::int32_t> counts;
  SelectJob job;

  static constexpr std::uint32_t first_id = 3'000'000'000U;

  // About `below` elements of a list are below its cut-off; of some lists there is none. 0: no cut-offs.
  Lists(Shape tile_shape, const float* tile, Side of, int capacity, int below)
      : shape(tile_shape),
        side(of),
        count(of == Side::rows ? shape.rows : shape.columns),
        length(of == Side::rows ? shape.columns : shape.rows),
        cutoffs(static_cast<std::size_t>(count), static_cast<float>(below) / static_cast<float>(length)),
        device_cutoffs(with_exceptions(cutoffs)),
        dropped(std::vector<float>(static_cast<std::size_t>(count), kInfinity)),
        out(static_cast<std::size_t>(count) * static_cast<std::size_t>(capacity)),
        counts(static_cast<std::size_t>(count)) {
    out.poison();
    counts.poison();
    job.tile = tile;
    job.ld = shape.columns;
    job.rows = static_cast<int>(shape.rows);
    job.columns = static_cast<int>(shape.columns);
    job.side = side;
    job.first_id = first_id;
    job.cutoffs = below > 0 ? device_cutoffs.get() : nullptr;
    job.capacity = capacity;
    job.out = out.get();
    job.counts = counts.get();
    job.dropped = dropped.get();
  }

  static const std::vector<float>& with_exceptions(std::vector<float>& cutoffs) {
    for (std::size_t l = 5; l < cutoffs.size(); l += 1009) cutoffs[l] = kInfinity;
    cutoffs[cutoffs.size() - 2] = kInfinity;
    return cutoffs;
  }

  // Those at both ends, those in which the elements' numbers pass 2^31 and 2^32, some others.
  std::vector<std::int64_t> looked_at() const {
    std::vector<std::int64_t> lists = {0, 1, 5, count / 3, count / 2, count - 3, count - 2, count - 1};
    if (side == Side::rows)
      for (const int bits : {31, 32}) {
        const std::int64_t row = (std::int64_t{1} << bits) / shape.columns;
        for (std::int64_t l = row - 1; l <= row + 1; ++l)
          if (l < count) lists.push_back(l);
      }
    return lists;
  }

  void compare(const char* selector, const char* where) const {
    const auto got = out.values();
    const auto got_counts = counts.values();
    const auto got_dropped = dropped.values();
    for (const std::int64_t l : looked_at()) {
      const auto at = static_cast<std::size_t>(l);
      std::vector<gpu::Entry> survivors;
      for (std::int64_t e = 0; e < length; ++e) {
        const std::int64_t element = side == Side::rows ? l * shape.columns + e : e * shape.columns + l;
        const float low = hashed(static_cast<std::uint64_t>(element));
        if (!job.cutoffs || low <= cutoffs[at]) survivors.emplace_back(low, first_id + static_cast<std::uint32_t>(e));
      }
      std::sort(survivors.begin(), survivors.end());
      gpu::expect_selected(survivors, job.capacity, true, kInfinity,
                           {got.data() + at * static_cast<std::size_t>(job.capacity), got_counts[at], got_dropped[at]},
                           selector, where, static_cast<long long>(l));
    }
  }
};

// A selector with the workspace that it asks for; false: there is not enough memory beside the tile.
template <class Run>
bool run(const char* selector, const char* where, std::size_t workspace_bytes, Run&& run_it) {
  std::size_t available = 0, total = 0;
  gpu::check(cudaMemGetInfo(&available, &total));
  if (workspace_bytes + (std::size_t{1} << 28) > available) {
    std::printf("%s, %s: not run, a workspace of %.1f GB is not free\n", selector, where,
                static_cast<double>(workspace_bytes) / kGigabyte);
    return false;
  }
  gpu::run_with_workspace(workspace_bytes, run_it);
  std::printf("%s, %s: done with a workspace of %.1f GB\n", selector, where,
              static_cast<double>(workspace_bytes) / kGigabyte);
  return true;
}

void test_side(const Selector& s, Shape shape, const float* tile, Side side) {
  const char* const where = side == Side::rows ? "large tile, rows" : "large tile, columns";
  Lists lists(shape, tile, side, 4, 0);
  if (run(s.name, where, s.workspace_bytes(lists.job, device_limits()), [&](void* w) { s.run(lists.job, w, nullptr); }))
    lists.compare(s.name, where);
}

// below: with cut-offs a list now and then has more than it has places for.
void test_both(const Selector& s, Shape shape, const float* tile, int below) {
  const char* const where = below > 0 ? "large tile, both, cut" : "large tile, both";
  Lists rows(shape, tile, Side::rows, 64, below), columns(shape, tile, Side::columns, 48, below);
  if (!run(s.name, where, s.workspace_bytes_both(rows.job, columns.job, device_limits()),
           [&](void* w) { s.run_both(rows.job, columns.job, w, nullptr); }))
    return;
  rows.compare(s.name, (std::string(where) + ", rows").c_str());
  columns.compare(s.name, (std::string(where) + ", columns").c_str());
}

}  // namespace

int main() {
  gpu::need_device();
  if (small_run()) {
    std::printf("skipped: tiles of more than 2^31 elements are for full runs\n");
    return 77;
  }
  for (const Selector& s : selectors()) {
    const Shape shape = shape_for(s);
    const auto elements = static_cast<std::size_t>(shape.elements());
    std::size_t available = 0, total = 0;
    gpu::check(cudaMemGetInfo(&available, &total));
    if (4 * elements + (std::size_t{1} << 30) > available) {
      std::printf("%s: not run, a tile of %.1f GB is not free\n", s.name,
                  4 * static_cast<double>(elements) / kGigabyte);
      continue;
    }
    const gpu::Array<float> tile(elements);
    fill_hashed<<<4096, 256>>>(tile.get(), shape.elements());
    check_launch();
    for (const Side side : {Side::rows, Side::columns}) test_side(s, shape, tile.get(), side);
    if (!s.run_both) continue;
    test_both(s, shape, tile.get(), 0);
    test_both(s, shape, tile.get(), 40);
  }
  if (gpu::checks == 0) {
    std::printf("skipped: too little memory is free on the device\n");
    return 77;
  }
  return gpu::result();
}

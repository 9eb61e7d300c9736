#include "exec/rows/host_rows.h"

#include <algorithm>

#include "backend/memory.h"
#include "core/dtype.h"

namespace libknng {
namespace {

// Copied between two looks at the stop flag.
constexpr std::int64_t kTogether = std::int64_t{64} << 20;

MatrixView part_of(const MatrixView& m, std::int64_t first, std::int64_t count) {
  MatrixView part = m;
  part.rows = count;
  if (part.data) part.data += first * m.row_stride * find_dtype(m.dtype)->bytes;
  return part;
}

// copy(first, count, to): rows of a matrix of that shape, packed.
template <class Copy>
Buffer<std::byte> fetch(const MatrixView& m, Budget* budget, const Monitor* monitor, const char* argument,
                        Copy&& copy) {
  const std::int64_t row_bytes = checked_mul(m.cols, checked_dtype_bytes(m.dtype, argument), argument);
  Buffer<std::byte> rows(checked_mul(m.rows, row_bytes, argument), budget);
  const std::int64_t together = std::max<std::int64_t>(1, kTogether / row_bytes);
  for (std::int64_t first = 0; first < m.rows; first += together) {
    if (monitor) monitor->check();
    copy(first, std::min(together, m.rows - first), rows.data() + first * row_bytes);
  }
  return rows;
}

Buffer<std::byte> fetch_from_device(const MatrixView& m, Budget* budget, const Monitor* monitor, const char* argument) {
  return fetch(m, budget, monitor, argument, [&](std::int64_t first, std::int64_t count, std::byte* to) {
    copy_from_device(m, first, count, to, argument);
  });
}

// The chunk's rows from `first` on, as many as `m` has.
Buffer<std::byte> fetch_rows(const Chunk& chunk, std::int64_t first, const MatrixView& m, Budget* budget,
                             const Monitor* monitor, const char* argument) {
  if (!chunk.file()) return fetch_from_device(m, budget, monitor, argument);
  return fetch(m, budget, monitor, argument,
               [&](std::int64_t row, std::int64_t count, std::byte* to) { chunk.read(first + row, count, to); });
}

}  // namespace

std::shared_ptr<const Chunk> fetch_to_keep(const MatrixView& m, Budget& budget, const char* argument,
                                           Monitor& monitor) {
  Buffer<std::byte> rows = fetch_from_device(m, &budget, &monitor, argument);
  rows.release_from_budget();
  auto chunk = std::make_shared<Chunk>(std::move(rows), m.dtype, m.rows, m.cols);
  require_valid(chunk->view(), argument);
  chunk->set_byte_types(find_byte_types(chunk->view()));
  return chunk;
}

Dataset host_rows(const Dataset& data, std::int64_t first, std::int64_t count, Budget* budget, const Monitor* monitor,
                  const char* argument) {
  Dataset part(data.dim(), data.dtype());
  part.work_as(data.work_dtype());
  for (const auto& chunk : data.chunks()) {
    const MatrixView& m = chunk->view();
    const std::int64_t here = std::min(m.rows - first, count);
    if (here > 0) {
      const MatrixView wanted = part_of(m, first, here);
      if (!m.on_host())
        part.append(std::make_shared<Chunk>(fetch_rows(*chunk, first, wanted, budget, monitor, argument), m.dtype, here,
                                            m.cols));
      else if (here == m.rows)
        part.append(chunk);
      else
        part.append(std::make_shared<Chunk>(wanted));
      count -= here;
    }
    first = std::max<std::int64_t>(0, first - m.rows);
  }
  return part;
}

RowFacts inspect_anywhere(const MatrixView& m, Budget* budget, const char* argument, Monitor& monitor) {
  RowFacts facts;
  if (budget && m.on_device()) facts.hashes = Buffer<std::uint64_t>(m.rows, budget);
  in_blocks(
      m.rows, m.cols * dtype_bytes(m.dtype), &monitor,
      [&](std::int64_t first, std::int64_t count) {
        const MatrixView block = part_of(m, first, count);
        if (!m.on_host()) {
          std::uint64_t* const hashes = facts.hashes.size() > 0 ? facts.hashes.data() + first : nullptr;
          facts.types = facts.types & inspect_on_device(block, argument, first, hashes);
          return;
        }
        require_valid(block, argument, first);
        facts.types = find_byte_types(block, facts.types);
      },
      m.on_host() ? kHostBlock : kDeviceBlock);
  facts.hashes.release_from_budget();
  return facts;
}

}  // namespace libknng

// Sessions on one device, driven through the seam as exec/devices/device_part_run.cpp drives them on several; rows for
// them, and results of theirs on the host.
#pragma once

#include <array>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "backend/seam.h"
#include "plan/tile_grid.h"
#include "tests/gpu/points.h"

extern "C" const knng_backend_seam* knng_cuda_entry();

namespace libknng::cuda::test {

// Of 4-byte floats or bytes, packed. A small grid, so that most keys are tied, and of each row an equal one; but one of
// the last rows is in the middle of all.
struct Grid {
  Points points;
  std::vector<std::byte> packed;
};

inline Grid make_grid(const Metric& metric, std::int32_t dtype, std::int64_t n, std::int64_t dim) {
  Grid grid{make_points(metric, dtype, n, dim, 41), {}};
  Points& p = grid.points;
  Random random(42);
  const auto half = static_cast<std::size_t>(n / 2 * dim);
  for (std::size_t i = 0; i < p.values.size(); ++i)
    p.values[i] = i < half ? static_cast<double>(random.next() % 3) : p.values[i - half];
  if (!has_directions(metric.transform)) std::fill_n(p.values.end() - 3 * dim, dim, 1.0);
  for (const double value : p.values) {
    const auto x = static_cast<float>(value);
    const auto* const bytes = reinterpret_cast<const std::byte*>(&x);
    if (dtype == KNNG_F32)
      grid.packed.insert(grid.packed.end(), bytes, bytes + sizeof x);
    else
      grid.packed.push_back(static_cast<std::byte>(value));
  }
  finish(p);
  return grid;
}

inline std::int32_t read_rows(const void* user, std::int64_t first, std::int64_t count, void* to) {
  const auto& grid = *static_cast<const Grid*>(user);
  const std::size_t row = grid.packed.size() / static_cast<std::size_t>(grid.points.rows);
  std::memcpy(to, grid.packed.data() + static_cast<std::size_t>(first) * row, static_cast<std::size_t>(count) * row);
  return 1;
}

inline knng_backend_problem problem_of(const Grid& grid, const char* engine, const char* selector, std::int64_t side,
                                       std::int64_t k, std::int64_t blocks_held) {
  const Points& points = grid.points;
  const Metric& m = points.metric;
  knng_backend_problem p{};
  p.columns = p.rows = {&grid, points.rows, points.dim, points.dtype, &read_rows, nullptr, 0};
  p.square = 1;
  p.value_dtype = KNNG_F64;
  p.metric = {static_cast<std::int32_t>(m.transform),
              static_cast<std::int32_t>(m.term),
              static_cast<std::int32_t>(m.report),
              0,
              m.scale,
              m.p,
              largest_magnitude(m, points.dim)};
  p.copy = [](const void*, void* to, const void* from, std::int64_t bytes) {
    std::memcpy(to, from, static_cast<std::size_t>(bytes));
  };
  p.cancelled = [](const void*) -> std::int32_t { return 0; };
  p.k = k;
  p.engine = engine;
  p.selector = selector;
  p.tile_rows = p.tile_cols = side;
  p.capacity = 2 * points.rows;
  p.blocks_held = blocks_held;
  p.max_bytes = INT64_MAX;
  return p;
}

// Sessions on one device, as exec/devices/device_part_run.cpp has them on several.
class Team {
 public:
  // One with each problem, which are the same but for the product units that sessions get.
  explicit Team(const std::vector<const knng_backend_problem*>& problems) : problem_(*problems.front()) {
    for (const knng_backend_problem* problem : problems) {
      knng_backend_session* session = nullptr;
      done(seam_.open(&session, 0, problem, &error_));
      sessions_.emplace_back(session, seam_.close);
    }
  }

  void evaluate(int rung, bool crowded = false) {
    for (const auto& s : sessions_) done(seam_.begin(s.get(), rung, crowded ? 1 : 0, &error_));
    const std::int64_t n = problem_.rows.count;
    const TileGrid grid{n, n, problem_.tile_rows, problem_.tile_cols, true};
    std::size_t tiles = 0;
    for (const auto part : {TileQueue::Part::diagonal, TileQueue::Part::beside_diagonal}) {
      TileQueue queue(grid, 1, part);
      for (Tile t; queue.next(t); ++tiles) {
        const std::size_t taker = tiles % sessions_.size();
        done(seam_.tile(session(taker), t.first_row, t.rows, t.first_column, t.columns, &error_));
        if (tiles % 3 == 0) adopt_cutoffs_of_others(taker);
      }
      for (const auto& s : sessions_) done(seam_.settle(s.get(), &error_));
      for (std::size_t i = 0; i < sessions_.size(); ++i) adopt_cutoffs_of_others(i);
    }
    for (const auto& s : sessions_) done(seam_.settle(s.get(), &error_));
    for (std::size_t i = 0; i < sessions_.size(); ++i)
      for (std::size_t other = 0; other < sessions_.size(); ++other)
        if (other != i) done(seam_.merge_lists(session(i), session(other), first_of(i), count_of(i), &error_));
  }
  void refine(knng_backend_result& result) {
    for (std::size_t i = 0; i < sessions_.size() && problem_.blocks_held > 0; ++i) {
      done(seam_.begin_keys(session(i), &error_));
      TileQueue queue({count_of(i), problem_.columns.count, problem_.tile_rows, problem_.tile_cols, false}, 1);
      for (Tile t; queue.next(t);)
        done(seam_.keys(session(i), first_of(i) + t.first_row, t.rows, t.first_column, t.columns, &error_));
    }
    for (std::size_t i = 0; i < sessions_.size(); ++i)
      done(seam_.refine(session(i), first_of(i), count_of(i), &result, &error_));
  }
  void redo(const std::vector<std::int64_t>& rows, bool by_lists, knng_backend_result& result) {
    const auto count = static_cast<std::int64_t>(rows.size());
    done(seam_.redo(session(0), rows.data(), count, by_lists ? 1 : 0, &result, &error_));
  }

 private:
  void done(std::int32_t status) { expect(status == KNNG_OK, "status %d: %s", status, error_.text); }
  knng_backend_session* session(std::size_t i) const { return sessions_[i].get(); }
  void adopt_cutoffs_of_others(std::size_t i) {
    for (std::size_t other = 0; other < sessions_.size(); ++other)
      if (other != i) done(seam_.adopt_cutoffs(session(i), session(other), &error_));
  }
  // A session's share of the rows; where they come in blocks, whole ones.
  std::int64_t first_of(std::size_t i) const {
    const std::int64_t n = problem_.rows.count, grain = problem_.blocks_held > 0 ? problem_.tile_rows : 1;
    if (i == sessions_.size()) return n;
    return n * static_cast<std::int64_t>(i) / static_cast<std::int64_t>(sessions_.size()) / grain * grain;
  }
  std::int64_t count_of(std::size_t i) const { return first_of(i + 1) - first_of(i); }

  const knng_backend_seam& seam_ = *knng_cuda_entry();
  const knng_backend_problem& problem_;
  knng_backend_error error_{};
  std::vector<std::unique_ptr<knng_backend_session, void (*)(knng_backend_session*)>> sessions_;
};

// A result on the host.
struct Answer {
  std::vector<std::int64_t> ids;
  std::vector<double> values;
  std::vector<std::uint8_t> ties, proof;
  knng_backend_result result{};

  Answer(std::int64_t n, std::int64_t k)
      : ids(static_cast<std::size_t>(n * k), -7),
        values(ids.size()),
        ties(static_cast<std::size_t>(n), 9),
        proof(ties) {
    result.ids = ids.data();
    result.values = values.data();
    result.ties = ties.data();
    result.proof = proof.data();
    result.device = -1;
    result.too_large = INT64_MAX;
  }
};

// The device's own product units.
inline knng_backend_units units_for(const knng_backend_problem& p) {
  knng_backend_units units{};
  knng_backend_error error{};
  std::array<char, 256> objection{};
  const std::int32_t status = knng_cuda_entry()->find_units(0, &p, &units, objection.data(), objection.size(), &error);
  expect(status == KNNG_OK && objection[0] == '\0', "status %d: %s%s", status, error.text, objection.data());
  return units;
}

}  // namespace libknng::cuda::test

// A problem on one device: a list of candidates for every row, tiles that feed them, refinement; or, in few dimensions,
// a tree of the points that rows are answered from. Points and operands are resident, or come in blocks. The calls of
// the seam, without its C. Knows nothing of other devices but how to take their lists.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>

#include "backend/cuda/base/handle_cache.cuh"
#include "backend/cuda/base/in_flight.cuh"
#include "backend/cuda/base/memory.cuh"
#include "backend/cuda/base/staging.cuh"
#include "backend/cuda/engines/engine_kernels.cuh"
#include "backend/cuda/engines/tile_maker.cuh"
#include "backend/cuda/keys/checked_keys.cuh"
#include "backend/cuda/keys/direct.cuh"
#include "backend/cuda/keys/product_keys.cuh"
#include "backend/cuda/rows/point_store.cuh"
#include "backend/cuda/select/merge.cuh"
#include "backend/cuda/select/sampled_proof.cuh"
#include "backend/cuda/select/select.cuh"
#include "backend/cuda/session/answerer.cuh"
#include "backend/cuda/session/row_lists.cuh"
#include "backend/cuda/session/seen_columns.h"
#include "backend/cuda/session/session_memory.cuh"
#include "backend/cuda/session/session_space.cuh"
#include "backend/seam.h"
#include "metric/metric.h"

namespace libknng::cuda {

// What a sample of the rows tells of tiles: the share that these would leave without a proof, whether many lists meet
// far more than they have room for, and whether short ones would lose what long ones keep.
struct Outlook {
  double unproved = 0;
  bool crowded = false, long_lists = false;
};

class Session {
 public:
  // The device is current, as for every call. Throws RefusedRow.
  Session(int device, const knng_backend_problem& problem);

  int device() const noexcept { return device_; }
  std::int64_t peak_bytes() const noexcept { return context_.pool.peak(); }
  std::int64_t blocks_held() const noexcept {
    return points_.held() > 0 ? points_.held() : maker_ ? maker_->held() : 0;
  }

  bool is_cancelled() const { return problem_.cancelled(problem_.cancellation) != 0; }
  void throw_if_cancelled() const {
    if (is_cancelled()) throw Cancelled{};
  }
  // After a failure: nothing of the session is on its way any more.
  void drain() noexcept { cudaStreamSynchronize(context_.stream); }

  // Before begin(): the points of a graph in an order in which tiles can be left out, if that pays, or scattered; or in
  // that of another session. Whether they are in another order than they are stored in.
  bool order_points(const Session* as);
  void begin(int rung, bool crowded);
  // Of some rows, under guessed cut-offs or without.
  Outlook sample(bool guess);
  // Of some lists; whether they were guessed. Then all lists are long, or short.
  bool first_cutoffs(std::int64_t first, std::int64_t count, bool guess, bool long_lists);
  void tile(std::int64_t first_row, std::int64_t rows, std::int64_t first_column, std::int64_t columns);
  void adopt_cutoffs(const Session& from);
  void settle();
  void merge_lists(const Session& from, std::int64_t first, std::int64_t count);
  void begin_keys();
  void keys(std::int64_t first_row, std::int64_t rows, std::int64_t first_column, std::int64_t columns);
  void refine(std::int64_t first, std::int64_t count, knng_backend_result& result);
  void redo(std::span<const std::int64_t> rows, bool by_lists, knng_backend_result& result);
  void answer(std::int64_t first, std::int64_t count, knng_backend_result& result);
  // The first checked row whose list is not that of all its keys, -1: none.
  std::int64_t find_wrong(std::int64_t first, std::int64_t count, const knng_backend_result& result);

 private:
  static constexpr std::size_t kFewestInFlight = 2, kTilesInFlight = 4;

  void make_lists();
  void arrange_columns();
  // Whether kernels read the other's lists where they are.
  bool reads(const Session& other) const noexcept { return other.context_.pool.is_read_by(device_); }
  void find_directionless();
  void leave_stage();
  void enter(Stage stage);
  void blocks_used();
  // Of the evaluation of canonical keys: what is on the stream is a part as well.
  void begin_part() {
    parts_.add(context_.stream);
    throw_if_cancelled();
  }
  std::size_t tiles_in_flight() const;
  void show_lists() const;
  // What lists are for: k entries, of as many as they keep and as a part may add. Cut-offs fall to what is proved of
  // the k-th key, or of one before it (Ranks).
  struct Depth {
    std::int64_t k, capacity, found;
  };
  bool is_read_by_all() const;
  void look_beside(std::int64_t first, std::int64_t count);
  void look_at_drawn(std::int64_t first, std::int64_t count);
  void clear_lists();
  bool is_crowded(const SampledRows& rows);
  ContendingRowsJob contending_job() const;
  // `count` rows beside `columns` columns from `first_column` on, tile by tile, as if they were queries.
  void search_rows(std::int64_t first, std::int64_t count, std::int64_t first_column, std::int64_t columns,
                   const Depth& depth);
  template <class Parts>
  void search_rows(std::int64_t first, std::int64_t count, std::int64_t first_column, std::int64_t columns,
                   const Depth& depth, const Parts& parts_of);
  // Of the key that a list's cut-off falls to, by side of a part: k, or less where columns that it has met tell enough.
  struct Ranks {
    std::int64_t rows, columns;
  };
  Ranks ranks_after(const TilePart& part, bool both);
  // both: a pair of the part serves its row and its column, which are different points. Else its row.
  void search(const TilePart& part, bool both, const Depth& depth, const Ranks& ranks);
  // What bounds the keys of lists of rows `first` and on, of which k are wanted.
  Bounds bounds_from(std::int64_t first, std::int64_t k) const;
  void redo_by_lists(std::span<const std::int64_t> rows, knng_backend_result& result);
  void redo_by_all(std::span<const std::int64_t> rows, knng_backend_result& result);
  std::byte* workspace() const { return space_->workspace.data(); }
  bool multiply_all_points();
  void refine_rows(std::int64_t first, std::int64_t count, const ResultRows& to, void* workspace);

  const knng_backend_problem& problem_;
  const Metric metric_;
  const Selector& selector_;
  const Depth long_, short_;
  Depth depth_;  // one of these: of the lists
  int device_;
  DeviceContext context_;
  HandleCache handles_;
  Staging staging_;
  PointStore points_;
  std::optional<Answerer> answerer_;  // if rows are answered straight away: then no lists and tiles
  std::unique_ptr<TileMaker> maker_;  // or this
  std::optional<SeenColumns> seen_;   // where points are scattered: since lists were cleared
  int rung_ = 0;
  std::optional<RowLists> lists_;      // where there are tiles
  std::optional<StageSpace> space_;    // of the stage, where points come in blocks
  std::optional<Stage> stage_;         // there
  std::optional<ListKeys> keys_;       // there
  std::optional<ProductTable> table_;  // where keys come from products: since lists were complete
  InFlight in_flight_{kFewestInFlight};
  InFlight parts_{kFewestInFlight};
  const DirectParts key_parts_;
  std::optional<LeftOut> left_out_;
  bool knows_directionless_ = false;
  std::optional<CheckedKeys> checked_keys_;
};

}  // namespace libknng::cuda

// What leaves a session: rows refined from their lists, rows of which all pairs are evaluated, rows answered at once.
#include <vector>

#include "backend/cuda/delivery.cuh"
#include "backend/cuda/exact_rows.cuh"
#include "backend/cuda/near_rows.cuh"
#include "backend/cuda/refine.cuh"
#include "backend/cuda/session.cuh"

namespace libknng::cuda {

void Session::refine(std::int64_t first, std::int64_t count, knng_backend_result& result) {
  enter(Stage::refine);
  if (paged_ && !knows_directionless_) find_directionless();
  const knng_backend_problem& p = problem_;
  // Results leave from one space while the next are made in the other; lists that stay on this device are made in
  // place.
  const bool in_place = result.device == device_;
  const Stream out;
  const UntilDone left(out);
  const std::int64_t together = refined_together(p);
  const ResultSpace even(p, together, workspace_.data()), odd(p, together, even.rest);
  Delivery deliveries[] = {{p, even, result, staging_, out}, {p, odd, result, staging_, out}};
  const Event made[2], gone[2];
  out.wait();
  const auto rows_of = [&](std::int64_t done) { return std::min(together, count - done); };
  const auto deliver = [&](std::int64_t done, int turn) {
    made[turn].hold(out);
    if (in_place)
      deliveries[turn].facts(0, first + done, rows_of(done), rung_);
    else
      deliveries[turn].rows(0, first + done, rows_of(done), rung_);
    gone[turn].record(out);
  };
  int turn = 0;
  for (std::int64_t done = 0; done < count; done += together, turn ^= 1) {
    gone[turn].hold(home_.stream);
    ResultRows to = (turn == 0 ? even : odd).rows;
    if (in_place) {
      const std::int64_t entry = (first + done) * to.width;
      to.ids = result.ids + entry;
      to.values = static_cast<std::byte*>(result.values) + entry * value_bytes(p);
    }
    refine_rows(first + done, rows_of(done), to, odd.rest);
    made[turn].record(home_.stream);
    if (done > 0) deliver(done - together, turn ^ 1);
  }
  deliver((count - 1) / together * together, turn ^ 1);
  for (Delivery& delivery : deliveries) delivery.findings();
}

// Puts the rows' results at the front of `to`.
void Session::refine_rows(std::int64_t first, std::int64_t count, const ResultRows& to, void* workspace) {
  const knng_backend_problem& p = problem_;
  RefineJob job = refine_job(p, metric_);
  job.rows = rows();
  job.columns = columns();
  job.first = first;
  job.count = count;
  job.leave_out = leave_out_.size() > 0 ? leave_out_.data() : nullptr;
  job.lists = {candidates_.data() + first * p.capacity, counts_.data() + first, p.capacity, dropped_.data() + first,
               cutoffs_.data() + first};
  job.bounds = {scale_, nullptr, nullptr, sums_};
  job.order = order_of_columns(0);
  if (column_bounds_) {
    job.bounds.rows = row_bounds_ + first;
    job.bounds.columns = column_bounds_;
  }
  if (paged_) {
    job.keys = keys_.data() + first * p.capacity;
    job.self_keys = self_keys_.size() > 0 ? self_keys_.data() + first : nullptr;
  }
  job.directionless = directionless_count_ > 0 ? directionless_.data() : nullptr;
  job.directionless_count = directionless_count_;
  job.result = to;
  job.result.first = first;
  job.workspace = workspace;
  libknng::cuda::refine(job, home_.stream);
}

void Session::answer(std::int64_t first, std::int64_t count, knng_backend_result& result) {
  const knng_backend_problem& p = problem_;
  const ResultSpace space(p, p.tile_rows, workspace_.data());
  auto* const evaluated = static_cast<unsigned long long*>(space.rest);
  check(cudaMemsetAsync(evaluated, 0, sizeof *evaluated, home_.stream));
  Delivery delivery(p, space, result, staging_, home_.stream);
  for (std::int64_t done = 0; done < count; done += space.together) {
    NearRowsJob job = near_rows_job(p, metric_);
    job.rows = rows();
    job.grid = tree_->grid();
    job.tree = tree_->boxes();
    job.first = first + done;
    job.count = std::min(space.together, count - done);
    job.leave_out = leave_out_.size() > 0 ? leave_out_.data() : nullptr;
    job.directionless = directionless_count_ > 0 ? directionless_.data() : nullptr;
    job.directionless_count = directionless_count_;
    job.result = space.rows;
    job.result.first = job.first;
    job.workspace = static_cast<std::byte*>(space.rest) + kEvaluatedBytes;
    near_rows(job, evaluated, home_.stream);
    delivery.rows(0, job.first, job.count, KNNG_RUNG_FP64);
  }
  delivery.findings();
  unsigned long long keys = 0;
  staging_.download(evaluated, &keys, sizeof keys, home_.stream);
  result.keys += static_cast<std::int64_t>(keys);
}

void Session::redo(const std::int64_t* rows, std::int64_t count, knng_backend_result& result) {
  enter(Stage::redo);
  const knng_backend_problem& p = problem_;
  const ResultSpace space(p, redone_together(p), workspace_.data());
  auto* const list = static_cast<std::int64_t*>(space.rest);
  Delivery delivery(p, space, result, staging_, home_.stream);
  for (std::int64_t done = 0; done < count; done += space.together) {
    ExactJob job = exact_job(p, metric_);
    job.rows = this->rows();
    job.columns = columns();
    job.list = list;
    job.count = std::min(space.together, count - done);
    std::optional<const Points> listed;
    if (paged_) {
      job.columns_from = [this](std::int64_t first) {
        blocks_used();
        return place_of_columns(first).view;
      };
      if (!queries_) {
        const PickedRows picked{p.columns, {rows + done, rows + done + job.count}};
        listed.emplace(picked.rows(), metric_.transform, p.metric.largest, staging_, home_);
        job.rows = listed->view();
        job.rows_picked = true;
      }
    }
    check(cudaMemcpyAsync(list, rows + done, static_cast<std::size_t>(8 * job.count), cudaMemcpyHostToDevice,
                          home_.stream));
    job.leave_out = leave_out_.size() > 0 ? leave_out_.data() : nullptr;
    job.result = space.rows;
    job.result.packed = true;
    job.workspace = static_cast<std::byte*>(space.rest) + array_bytes(8 * space.together);
    exact_rows(job, home_.stream);
    for (std::int64_t i = 0; i < job.count; ++i) delivery.rows(i, rows[done + i], 1, KNNG_RUNG_FP64);
    result.keys += job.count * p.columns.count;
  }
  delivery.findings();
}

}  // namespace libknng::cuda

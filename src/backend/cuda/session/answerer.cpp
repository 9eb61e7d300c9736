#include "backend/cuda/session/answerer.cuh"

#include <algorithm>
#include <chrono>
#include <thread>

#include "backend/cuda/result/delivery.cuh"
#include "backend/cuda/session/session_memory.cuh"

namespace libknng::cuda {

// Returns when the stream is done, or throws when the call was cancelled and the search on it knows.
void Answerer::wait_unless_cancelled(SearchState* search, const Stream& beside) {
  using Clock = std::chrono::steady_clock;
  constexpr std::chrono::microseconds kBetweenQuestions{100};
  constexpr std::chrono::milliseconds kShort{2};  // to fall asleep and wake up would be much of it
  constexpr int kCancelled = 1;
  const Event done;
  done.record(context_.stream);
  for (const auto begin = Clock::now();;) {
    if (problem_.cancelled(problem_.cancellation) != 0) {
      check(cudaMemcpyAsync(&search->cancelled, &kCancelled, sizeof kCancelled, cudaMemcpyHostToDevice, beside));
      beside.wait();
      throw Cancelled{};
    }
    if (done.is_reached()) return;
    if (Clock::now() - begin > kShort) std::this_thread::sleep_for(kBetweenQuestions);
  }
}

void Answerer::answer(std::int64_t first, std::int64_t count, const LeftOut& left_out, std::byte* workspace,
                      knng_backend_result& result) {
  const knng_backend_problem& p = problem_;
  const AnswerSpace space(p, workspace);
  const ResultSpace& results = space.results;
  SearchState* const state = space.state;
  check(cudaMemsetAsync(state, 0, sizeof *state, context_.stream));
  context_.stream.wait();  // what is written from now on stays
  const Stream beside;
  Delivery delivery(p, results.rows.findings, result, staging_, context_.stream);
  for (std::int64_t done = 0; done < count; done += results.together) {
    SearchRowsJob job = search_rows_job(p, metric_);
    job.rows = points_.rows();
    job.grid = tree_.grid();
    job.tree = tree_.boxes();
    job.first = first + done;
    job.count = std::min(results.together, count - done);
    job.admission = left_out.admission();
    job.directionless = left_out.first_directionless();
    job.directionless_count = left_out.directionless_count;
    job.result = results.rows;
    job.result.first = job.first;
    job.result.rung = KNNG_RUNG_FP64;
    job.workspace = space.workspace;
    job.searching = [&] { wait_unless_cancelled(state, beside); };
    search_rows(job, state, context_.stream);
    delivery.rows(results, 0, job.first, job.count);
  }
  delivery.findings();
  unsigned long long keys = 0;
  staging_.download(&state->evaluated, &keys, sizeof keys, context_.stream);
  result.keys += static_cast<std::int64_t>(keys);
}

}  // namespace libknng::cuda

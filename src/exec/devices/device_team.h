// The devices at work on a problem: a session on each, with a thread. Knows what sessions can do, not in which order.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <vector>

#include "backend/seam.h"
#include "core/error.h"
#include "core/first_failure.h"
#include "core/float_env.h"
#include "core/monitor.h"
#include "dataset/dataset.h"
#include "exec/devices/device_threads.h"
#include "exec/rows/session_rows.h"
#include "metric/metric.h"
#include "plan/tile_grid.h"

namespace libknng {

// What all sessions share. A call that failed on a device becomes an error.
struct Job {
  const knng_backend_seam& backend;
  const Metric& metric;
  const Dataset& data;
  const Dataset* queries;
  const char* queries_name;  // the argument that they came by
  const FirstFailure& reading;
  knng_backend_problem problem;
};

// A session on one device; every call that fails throws.
class DeviceSession {
 public:
  DeviceSession(const Job& job, std::int32_t device)
      : job_(job), device_(device), session_(nullptr, job.backend.close) {
    knng_backend_session* opened = nullptr;
    const std::int32_t status = job.backend.open(&opened, device, &job.problem, &error_);
    session_.reset(opened);
    require(status);
  }

  void begin(std::int32_t rung, bool crowded) {
    require(job_.backend.begin(session_.get(), rung, crowded ? 1 : 0, &error_));
  }
  // Returns the share of rows without a proof.
  double sample(bool guess, bool& crowded, bool& long_lists) {
    double unproved = 0;
    std::int32_t is_crowded = 0, are_long = 0;
    require(job_.backend.sample(session_.get(), guess ? 1 : 0, &unproved, &is_crowded, &are_long, &error_));
    crowded = is_crowded != 0;
    long_lists = are_long != 0;
    return unproved;
  }
  bool first_cutoffs(std::int64_t first, std::int64_t count, bool guess, bool long_lists) {
    std::int32_t made = 0;
    require(
        job_.backend.first_cutoffs(session_.get(), first, count, guess ? 1 : 0, long_lists ? 1 : 0, &made, &error_));
    return made != 0;
  }
  void run(const Tile& t) {
    require(job_.backend.tile(session_.get(), t.first_row, t.rows, t.first_column, t.columns, &error_));
  }
  bool order_points(const DeviceSession* as) {
    std::int32_t made = 0;
    require(job_.backend.order_points(session_.get(), as ? as->session_.get() : nullptr, &made, &error_));
    return made != 0;
  }
  void settle() { require(job_.backend.settle(session_.get(), &error_)); }
  void adopt_cutoffs(const DeviceSession& from) {
    require(job_.backend.adopt_cutoffs(session_.get(), from.session_.get(), &error_));
  }
  std::int64_t blocks_held() const { return job_.backend.blocks_held(session_.get()); }
  void begin_keys() { require(job_.backend.begin_keys(session_.get(), &error_)); }
  void keys(std::int64_t first_row, std::int64_t rows, std::int64_t first_column, std::int64_t columns) {
    require(job_.backend.keys(session_.get(), first_row, rows, first_column, columns, &error_));
  }
  void merge_lists(const DeviceSession& from, std::int64_t first, std::int64_t count) {
    require(job_.backend.merge_lists(session_.get(), from.session_.get(), first, count, &error_));
  }
  void refine(std::int64_t first, std::int64_t count, knng_backend_result& result) {
    require(job_.backend.refine(session_.get(), first, count, &result, &error_));
  }
  void redo(std::span<const std::int64_t> rows, bool by_lists, knng_backend_result& result) {
    const auto count = static_cast<std::int64_t>(rows.size());
    require(job_.backend.redo(session_.get(), rows.data(), count, by_lists ? 1 : 0, &result, &error_));
  }
  void answer(std::int64_t first, std::int64_t count, knng_backend_result& result) {
    require(job_.backend.answer(session_.get(), first, count, &result, &error_));
  }
  // The first row whose list is wrong, -1: none.
  std::int64_t check(std::int64_t first, std::int64_t count, const knng_backend_result& result) {
    std::int64_t wrong = -1;
    require(job_.backend.check(session_.get(), first, count, &result, &wrong, &error_));
    return wrong;
  }
  void drain() noexcept { job_.backend.drain(session_.get()); }
  std::int64_t peak_bytes() const { return job_.backend.peak_bytes(session_.get()); }

 private:
  void require(std::int32_t status) const;
  [[noreturn]] void refuse(const Dataset& data, const char* what) const;

  const Job& job_;
  std::int32_t device_;
  std::unique_ptr<knng_backend_session, void (*)(knng_backend_session*)> session_;
  knng_backend_error error_{};
};

// What sessions ask of a call: whether it was cancelled. It is when the caller stops it, and when one of them has
// failed.
struct Cancellation {
  const SessionRows& rows;
  std::atomic<bool> failed{false};

  static std::int32_t ask(const void* user) {
    const auto& cancellation = *static_cast<const Cancellation*>(user);
    return cancellation.failed.load() || cancellation.rows.cancelled();
  }
};

// The devices at work, each with a thread, which has a team of its own for copies.
class Team {
 public:
  // Gives the job's problem its product units, which all sessions share; one that is not used is logged.
  Team(Job& job, const std::vector<std::int32_t>& devices, Cancellation& cancellation, Monitor& monitor)
      : cancellation_(cancellation), sessions_(devices.size()), threads_(devices.size()) {
    job.problem.units = find_units(job, devices, monitor);
    each([&](std::size_t i) { sessions_[i] = std::make_unique<DeviceSession>(job, devices[i]); });
  }

  // A failure may have left work of some of them that reads others' memory.
  ~Team() {
    if (sessions_.size() > 1)
      for (const auto& session : sessions_) session->drain();
  }
  Team(const Team&) = delete;
  Team& operator=(const Team&) = delete;

  std::size_t size() const noexcept { return sessions_.size(); }
  DeviceSession& operator[](std::size_t i) noexcept { return *sessions_[i]; }

  // Calls f(i) for each device; of several failures the first device's comes out, but for those that are another's.
  template <class F>
  void each(F&& f) {
    std::vector<std::exception_ptr> failures(sessions_.size());
    const auto run = [&](std::size_t i) {
      const FloatEnv env;
      try {
        f(i);
      } catch (const Error& e) {
        if (!(e.code() == KNNG_ERR_CANCELLED && failed())) failures[i] = std::current_exception();
        cancellation_.failed.store(true);
      } catch (...) {
        failures[i] = std::current_exception();
        cancellation_.failed.store(true);
      }
    };
    threads_.run(run);
    for (const std::exception_ptr& failure : failures)
      if (failure) std::rethrow_exception(failure);
  }
  // Whether a device has failed: the others need not go on.
  bool failed() const noexcept { return cancellation_.failed.load(); }

 private:
  // The weakest of the devices'.
  knng_backend_units find_units(const Job& job, const std::vector<std::int32_t>& devices, Monitor& monitor);

  Cancellation& cancellation_;
  std::vector<std::unique_ptr<DeviceSession>> sessions_;
  DeviceThreads threads_;
};

}  // namespace libknng

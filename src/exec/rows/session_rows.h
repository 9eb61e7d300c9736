// The rows of a data set as sessions on devices get them: those in memory of devices in pieces, the others read on the
// host with the threads of one device, as many as there are for it by then. Knows nothing of what sessions do.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "backend/seam.h"
#include "core/first_failure.h"
#include "core/monitor.h"
#include "core/thread_team.h"
#include "dataset/dataset.h"

namespace libknng {

class SessionRows {
 public:
  // threads: of each device. A stop is a failure to read as well: a call that brings many rows ends with it. All are
  // referred to.
  SessionRows(const Dataset& data, const std::atomic<int>& threads, const Monitor& monitor, FirstFailure& failure);
  SessionRows(const SessionRows&) = delete;
  SessionRows& operator=(const SessionRows&) = delete;

  // Where they come from; this outlives `rows`.
  void describe(knng_backend_rows& rows) const noexcept;
  // For knng_backend_problem::copy, whose user this is.
  static void copy(const void* user, void* dst, const void* src, std::int64_t bytes);
  // Whether the work was stopped, or rows could not be read.
  bool cancelled() const noexcept;

 private:
  static std::int32_t read(const void* user, std::int64_t first, std::int64_t count, void* dst);
  // Calls f unless reading has failed or the work was stopped; false if one of them is so or f fails.
  template <class F>
  bool unless_cancelled(F&& f) const noexcept;
  // Calls f(team, members) with a team that is free: each device that copies at the time has one.
  template <class F>
  void with_team(F&& f) const;

  const Dataset& data_;
  const std::atomic<int>& threads_;
  const Monitor& monitor_;
  FirstFailure& failure_;
  std::vector<knng_backend_piece> pieces_;
  mutable std::mutex mutex_;
  mutable std::vector<std::unique_ptr<ThreadTeam>> free_;
};

}  // namespace libknng

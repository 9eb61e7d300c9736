// Finds the fingerprint of a build's rows, and whether so many are duplicates that the distinct rows are compared in
// place of all. Runs beside the work where that leaves the host free, else before it.
#pragma once

#include <cstdint>
#include <future>
#include <memory>
#include <optional>
#include <string>

#include "core/monitor.h"
#include "core/thread_team.h"
#include "dataset/fingerprint.h"
#include "dataset/row_loader.h"
#include "exec/distinct_plan.h"
#include "exec/duplicate_check.h"
#include "exec/request.h"
#include "exec/task.h"

namespace libknng {

// What it is given outlives it.
class DuplicateSearch {
 public:
  // beside: while the work runs, with threads of its own; else with the team. Of queries nothing is searched.
  DuplicateSearch(const Request& request, const Task& task, const TaskPlan& plan, ThreadTeam& team, bool beside);
  ~DuplicateSearch() { beside_.stop(); }

  // Duplicates::found: distinct() is what should be done.
  Duplicates check(bool wait);
  const DistinctPlan* distinct() const noexcept { return distinct_ ? &*distinct_ : nullptr; }
  // From then on all rows are to be compared.
  void leave_distinct() { distinct_.reset(); }

  // Once the search has ended; of queries nothing.
  const std::string& fingerprint() const noexcept { return fingerprint_; }
  std::int64_t duplicates() const noexcept { return duplicates_; }
  double seconds() const noexcept { return seconds_; }  // that the work waited for it

 private:
  void start();
  Fingerprint search();
  Fingerprint wait_for_it();
  void plan_distinct(Buffer<std::int64_t> first);

  const Request& request_;
  const Task& task_;
  const TaskPlan& plan_;
  ThreadTeam& team_;
  const bool runs_beside_, has_thread_;
  Monitor beside_;
  std::unique_ptr<const RowLoader> loader_;
  bool known_;
  std::optional<DistinctPlan> distinct_;
  std::string fingerprint_;
  std::int64_t duplicates_ = 0;
  double seconds_ = 0;
  std::future<Fingerprint> print_;  // ends first
};

}  // namespace libknng

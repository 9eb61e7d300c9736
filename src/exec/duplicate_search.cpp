#include "exec/duplicate_search.h"

#include <algorithm>
#include <chrono>
#include <string_view>
#include <utility>

#include "core/dtype.h"
#include "core/float_env.h"
#include "core/stopwatch.h"
#include "exec/rows/device_row_loader.h"

namespace libknng {

DuplicateSearch::DuplicateSearch(const Request& request, const Task& task, const TaskPlan& plan, ThreadTeam& team,
                                 bool beside)
    : request_(request),
      task_(task),
      plan_(plan),
      team_(team),
      runs_beside_(beside),
      // A thread of its own would take longer than to look through few rows while a device is at work.
      has_thread_(beside && !plan.brief),
      beside_(request.monitor),
      loader_(request.queries ? nullptr : make_row_loader(request.data, request.budget)),
      known_(request.queries != nullptr) {
  if (!known_) start();
}

void DuplicateSearch::start() {
  if (!runs_beside_) request_.monitor.stage("fingerprint", static_cast<double>(request_.data.rows()));
  if (!has_thread_) return;
  print_ = std::async(std::launch::async, [this] {
    const FloatEnv env;
    return search();
  });
}

Fingerprint DuplicateSearch::search() {
  if (!runs_beside_) return libknng::fingerprint(request_.data, *loader_, team_, request_.budget, request_.monitor);
  // Half of the threads bring rows to the devices meanwhile; where rows are there already, all can sort.
  ThreadTeam own(request_.data.on_devices() ? plan_.threads : std::max(1, plan_.threads / 2));
  return libknng::fingerprint(request_.data, *loader_, own, request_.budget, beside_);
}

Fingerprint DuplicateSearch::wait_for_it() {
  try {
    return has_thread_ ? print_.get() : search();
  } catch (const Error& e) {
    // On devices that have work: it is their memory in which rows are compared.
    if (runs_beside_ && request_.data.on_devices() && e.code() == KNNG_ERR_MEMORY &&
        std::string_view(e.info().argument) == "rows")
      fail(KNNG_ERR_MEMORY, "max_device_bytes", "%s", e.what());
    throw;
  }
}

Duplicates DuplicateSearch::check(bool wait) {
  if (known_) return distinct_ ? Duplicates::found : Duplicates::none;
  if (has_thread_) {
    if (!print_.valid()) start();  // the last try ended for want of memory
    if (!wait && print_.wait_for(std::chrono::seconds(0)) == std::future_status::timeout) return Duplicates::unknown;
  }
  Stopwatch watch;
  Fingerprint found = wait_for_it();
  known_ = true;
  fingerprint_ = std::move(found.text);
  duplicates_ = found.duplicates;
  if (distinct_pays(task_, request_.data.rows(), duplicates_)) plan_distinct(std::move(found.first));
  loader_.reset();
  seconds_ = watch.lap();
  return distinct_ ? Duplicates::found : Duplicates::none;
}

void DuplicateSearch::plan_distinct(Buffer<std::int64_t> first) {
  const std::int64_t width = request_.k + (task_.self_first ? 1 : 0);
  const std::int64_t result =
      checked_mul(request_.data.rows(), width * (8 + find_dtype(task_.value_dtype)->bytes) + 2, "k");
  try {
    distinct_.emplace(request_, task_, plan_, *loader_, std::move(first));
    if (!distinct_->fits(plan_, request_.data, result)) distinct_.reset();
  } catch (const Error& e) {  // no plan: all rows have one
    if (e.code() == KNNG_ERR_CANCELLED) throw;
    distinct_.reset();
  }
}

}  // namespace libknng

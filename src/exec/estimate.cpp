#include "exec/estimate.h"

#include <algorithm>
#include <exception>
#include <optional>

#include "core/error.h"
#include "exec/work_types.h"

namespace libknng {
namespace {

// Makes `plan` that of what takes more, if both are of the CPU or both of devices, and its memory the most of both.
void take_larger(TaskPlan& plan, const TaskPlan& other) {
  const std::int64_t smallest_host = std::max(plan.smallest_host, other.smallest_host);
  const std::int64_t smallest = std::max(plan.device.smallest, other.device.smallest);
  const std::int64_t host_bytes = std::max(plan.host_bytes, other.host_bytes);
  const std::int64_t device_bytes = std::max(plan.device.bytes, other.device.bytes);
  const bool same_kind = (plan.engine != nullptr) == (other.engine != nullptr);
  if (same_kind && (plan.engine ? other.host_bytes > plan.host_bytes : other.device.bytes > plan.device.bytes))
    plan = other;
  plan.smallest_host = smallest_host;
  plan.device.smallest = smallest;
  plan.host_bytes = host_bytes;
  plan.device.bytes = device_bytes;
}

}  // namespace

TaskPlan estimate(const Dataset& stored, const Settings& settings, std::int64_t queries, std::int64_t k) {
  require_k(stored, k, queries > 0, false);
  Task task = make_task(settings, stored, queries > 0);
  task.wants_smallest = true;
  Dataset data = stored;
  const std::int64_t held = data.held_bytes();
  if (queries == 0) {
    choose_work_types(data, nullptr);
    return plan_task(task, data, 0, 0, k, held);
  }
  std::optional<TaskPlan> plan;
  std::exception_ptr refusal;
  const auto consider = [&](std::int32_t query_dtype) {
    try {
      const TaskPlan other = plan_task(task, data, queries, query_dtype, k, held);
      if (plan)
        take_larger(*plan, other);
      else
        plan = other;
    } catch (const Error&) {  // bytes may be possible where floats are not
      if (!refusal) refusal = std::current_exception();
    }
  };
  consider(data.dtype());
  // On the CPU it matters whether queries have the type of the rows: bytes have integer products.
  if (plan && plan->engine) consider(data.dtype() == KNNG_F64 ? KNNG_F32 : KNNG_F64);
  for (const ByteTypes type : {kSignedByte, kUnsignedByte}) {
    const std::int32_t dtype = work_dtype_for(std::max(data.rows(), queries), data.byte_types() & type);
    if (dtype == 0 || dtype == data.dtype()) continue;
    data.work_as(dtype);
    consider(dtype);
  }
  if (!plan) std::rethrow_exception(refusal);
  return *plan;
}

}  // namespace libknng

#include "exec/estimate.h"

#include <algorithm>

#include "exec/work_types.h"

namespace libknng {
namespace {

// Makes `plan` that of what takes more, and its memory the most of both. Plans of one kind: of the CPU or of devices.
void take_larger(TaskPlan& plan, const TaskPlan& other) {
  if ((plan.engine != nullptr) != (other.engine != nullptr)) return;
  const std::int64_t smallest_host = std::max(plan.smallest_host, other.smallest_host);
  const std::int64_t smallest = std::max(plan.device.smallest, other.device.smallest);
  const std::int64_t host_bytes = std::max(plan.host_bytes, other.host_bytes);
  const std::int64_t device_bytes = std::max(plan.device.bytes, other.device.bytes);
  if (plan.engine ? other.host_bytes > plan.host_bytes : other.device.bytes > plan.device.bytes) plan = other;
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
  TaskPlan plan = plan_task(task, data, queries, data.dtype(), k, held);
  // On the CPU it matters whether queries have the type of the rows: bytes have integer products.
  const std::int32_t another = data.dtype() == KNNG_F64 ? KNNG_F32 : KNNG_F64;
  if (plan.engine) take_larger(plan, plan_task(task, data, queries, another, k, held));
  for (const ByteTypes type : {kSignedByte, kUnsignedByte}) {
    const std::int32_t dtype = work_dtype_for(std::max(data.rows(), queries), data.byte_types() & type);
    if (dtype == 0) continue;
    data.work_as(dtype);
    take_larger(plan, plan_task(task, data, queries, dtype, k, held));
  }
  return plan;
}

}  // namespace libknng

#include "exec/devices/device_expand.h"

#include "exec/devices/device_lists.h"
#include "exec/emit.h"

namespace libknng {
namespace {

std::int32_t is_cancelled(const void* monitor) { return static_cast<const Monitor*>(monitor)->stopped(); }

}  // namespace

knng_backend_expansion describe_expansion(const knng_backend_problem& whole, const Groups& groups, std::int64_t k) {
  knng_backend_expansion e{};
  e.rows = whole.rows.count;
  e.groups = groups.count();
  e.group = groups.of_rows();
  e.starts = groups.starts();
  e.members = groups.members();
  e.listed = k;
  e.k = whole.k;
  e.self_first = whole.self_first;
  e.value_dtype = whole.value_dtype;
  e.metric = whole.metric;
  return e;
}

ExpansionBytes expansion_bytes(const DeviceSet& set, const knng_backend_expansion& expansion) {
  ExpansionBytes bytes;
  bytes.device = set.backend->expansion_bytes(&expansion, &bytes.host);
  return bytes;
}

void expand_on_device(const DeviceSet& set, const Graph& distinct, const Groups& groups,
                      const knng_backend_expansion& expansion, const Task& task, Budget* budget, Monitor& monitor,
                      Graph& graph) {
  const std::int64_t n = graph.rows;
  allocate_result(task, budget, graph);
  graph.on_device = make_lists(set, graph, task.kept_bytes(n, graph.k()));
  const Charge charge(budget, expansion_bytes(set, expansion).host);

  knng_backend_expansion e = expansion;
  e.ids = distinct.on_device.ids;
  e.keys = reinterpret_cast<const double*>(distinct.on_device.values);
  e.cancelled = &is_cancelled;
  e.cancellation = &monitor;
  knng_backend_result result{};
  result.ids = graph.on_device.ids;
  result.values = graph.on_device.values;
  result.device = graph.on_device.device;
  result.ties = graph.ties.data();
  result.too_large = INT64_MAX;
  monitor.stage("result", static_cast<double>(n));
  knng_backend_error error{};
  const std::int32_t status = set.backend->expand(&e, &result, &error);
  monitor.check();
  if (status != KNNG_OK)
    fail(static_cast<knng_status>(status), error.argument, {.given = error.given, .limit = error.limit}, "%s:%d: %s",
         set.backend->name, result.device, error.text);
  monitor.advance(static_cast<double>(n));
  for (std::int64_t i = 0; i < n; ++i) graph.proof[i] = distinct.proof[groups.group(i)];
  if (result.too_large < n) refuse_large_value(task, result.too_large, nullptr, graph);
  release_result(graph);
}

}  // namespace libknng

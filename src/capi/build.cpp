// knng/build.h
#include "knng/build.h"

#include <algorithm>

#include "capi/guard.h"
#include "capi/left_out.h"
#include "capi/objects.h"
#include "capi/structs.h"
#include "core/monitor.h"
#include "exec/build.h"
#include "exec/check.h"
#include "exec/estimate.h"
#include "exec/load.h"
#include "exec/rows/host_rows.h"

using namespace libknng;

knng_status knng_estimate(const knng* h, int64_t nq, int64_t k, knng_plan* out, knng_error* error) {
  return guard(error, h, [&](const FloatEnv&) {
    const Dataset& data = require(h, "h").data;
    require(out, "out");
    if (nq < 0)
      fail(KNNG_ERR_RANGE, "nq", {.given = nq, .limit = 0}, "nq=%lld must not be negative", static_cast<long long>(nq));
    constexpr std::int64_t most = INT64_MAX >> 20;
    if (nq > most)
      fail(KNNG_ERR_RANGE, "nq", {.given = nq, .limit = most}, "nq=%lld is above %lld", static_cast<long long>(nq),
           static_cast<long long>(most));
    const TaskPlan plan = estimate(data, h->settings, nq, k);
    knng_plan result{};
    result.struct_size = sizeof result;
    result.devices = plan.device.set.backend ? static_cast<std::uint32_t>(plan.device.set.devices.size()) : 1;
    result.device_bytes = plan.device.bytes;
    result.smallest_device = plan.device.smallest;
    result.host_bytes = plan.host_bytes;
    result.smallest_host = plan.smallest_host;
    result.tile_rows = plan.grid.tile_rows;
    result.tile_cols = plan.grid.tile_cols;
    result.tiles = plan.tiles();
    result.seconds = -1;
    write_struct(result, out, offsetof(knng_plan, device_bytes), "out");
  });
}

knng_status knng_build(const knng* h, int64_t k, const knng_control* c, knng_graph** out, knng_error* error) {
  return guard(error, h, out, [&](const FloatEnv& env) {
    require(h, "h");
    Monitor monitor(read_control(c), env);
    *out = new knng_graph{build_graph(h->data, h->settings, k, monitor)};
  });
}

knng_status knng_query(const knng* h, const knng_matrix* q, const knng_matrix* leave_out, int32_t base, int64_t k,
                       const knng_control* c, knng_graph** out, knng_error* error) {
  return guard(error, h, out, [&](const FloatEnv& env) {
    const Dataset& data = require(h, "h").data;
    const MatrixView view = readable_rows(read_struct(q, offsetof(knng_matrix, release), "q"), "q");
    Dataset queries(data.dim(), 0);
    queries.require_fits(view.dtype, view.cols, view.rows, "q");
    Monitor monitor(read_control(c), env);
    monitor.stage("check", static_cast<double>(view.rows));
    const ByteTypes types = inspect_anywhere(view, nullptr, "q", monitor).types;
    const LeftOut left_out(leave_out, base, view.rows, data.rows());
    queries.borrow(view, {}, types, nullptr, nullptr);
    *out = new knng_graph{query_graph(data, h->settings, queries, left_out.ids(), k, monitor, left_out.held_bytes())};
  });
}

knng_status knng_query_file(const knng* h, const char* path, int64_t k, const knng_control* c, knng_graph** out,
                            knng_error* error) {
  return guard(error, h, out, [&](const FloatEnv& env) {
    const Dataset& data = require(h, "h").data;
    require(path, "path");
    require_k(data, k, true, false);
    Monitor monitor(read_control(c), env);
    const Dataset queries = load_queries(data, h->settings, path, monitor);
    *out = new knng_graph{query_graph(data, h->settings, queries, nullptr, k, monitor)};
  });
}

knng_status knng_check(const knng* h, const knng_graph* g, int64_t sample, const knng_control* c, int64_t* first_wrong,
                       knng_error* error) {
  return guard(error, h, [&](const FloatEnv& env) {
    require(h, "h");
    require(g, "g");
    require(first_wrong, "first_wrong");
    Monitor monitor(read_control(c), env);
    *first_wrong = check_graph(h->data, h->settings, g->with_lists({nullptr, &monitor}), sample, monitor);
  });
}

// knng/graph.h
#include "knng/graph.h"

#include <optional>

#include "capi/guard.h"
#include "capi/objects.h"
#include "capi/structs.h"
#include "core/monitor.h"
#include "exec/devices/device_copy.h"
#include "exec/devices/device_lists.h"
#include "graph/copy.h"
#include "graph/import.h"
#include "graph/rows.h"
#include "io/describe.h"
#include "io/graph_file.h"

using namespace libknng;

knng_status knng_graph_import(knng_graph** out, const knng_matrix* ids, const knng_matrix* values, int32_t base,
                              int64_t columns, int32_t same_points, knng_error* error) {
  return guard(error, out, [&](const FloatEnv&) {
    const Input of_ids(ids, "ids");
    std::optional<Input> of_values;
    if (values) of_values.emplace(values, "values");
    if (same_points != 0 && same_points != 1)
      fail(KNNG_ERR_ARGUMENT, "same_points", {.given = same_points, .limit = 1}, "same_points=%d is neither 0 nor 1",
           same_points);
    *out = new knng_graph{import_graph(of_ids.view(), of_values ? &of_values->view() : nullptr,
                                       IdMeaning{base, columns, same_points == 1})};
  });
}

knng_status knng_graph_describe(knng_graph* g, const char* facts, const knng_matrix* ties, const knng_matrix* proof,
                                knng_error* error) {
  return guard(error, [&](const FloatEnv&) {
    Graph& graph = require(g, "g").graph;
    std::optional<Input> of_ties, of_proof;
    if (ties) of_ties.emplace(ties, "ties");
    if (proof) of_proof.emplace(proof, "proof");
    describe_graph(graph, &require(facts, "facts"), of_ties ? &of_ties->view() : nullptr,
                   of_proof ? &of_proof->view() : nullptr);
  });
}

knng_status knng_graph_shape(const knng_graph* g, int64_t* rows, int64_t* columns, int64_t* width, int32_t* same_points,
                             knng_error* error) {
  return guard(error, [&](const FloatEnv&) {
    const Graph& graph = require(g, "g").graph;
    if (rows) *rows = graph.rows;
    if (columns) *columns = graph.columns;
    if (width) *width = graph.width;
    if (same_points) *same_points = graph.square ? 1 : 0;
  });
}

knng_status knng_graph_view(const knng_graph* g, knng_matrix* ids, knng_matrix* values, knng_error* error) {
  return guard(error, [&](const FloatEnv&) {
    const Graph& graph = require(g, "g").graph;
    require_distinct({{ids, "ids"}, {values, "values"}});
    if (graph.kept_on_device()) {
      show(ids, kept_ids(graph), "ids");
      return show(values, kept_values(graph), "values");
    }
    show(ids, KNNG_I64, graph.rows, graph.width, graph.ids.data(), "ids");
    show(values, graph.value_dtype, graph.rows, graph.width, graph.values.data(), "values");
  });
}

knng_status knng_graph_copy(const knng_graph* g, int32_t base, knng_matrix* ids, knng_matrix* values,
                            knng_error* error) {
  return guard(error, [&](const FloatEnv&) {
    const Graph& graph = require(g, "g").graph;
    std::optional<OutputMatrix> of_ids, of_values;
    if (ids) of_ids.emplace(ids, "ids");
    if (values) of_values.emplace(values, "values");
    if (ids && values) require_apart(of_ids->target(), "ids", of_values->target(), "values");
    require_copy(graph, base, of_ids ? &of_ids->target() : nullptr, of_values ? &of_values->target() : nullptr);
    if (of_ids && of_ids->target().on_host())
      copy_graph(g->with_lists(), base, &of_ids->target(), nullptr);
    else if (of_ids)
      copy_ids_to_device(graph, base, of_ids->target());
    if (of_values && of_values->target().on_host())
      copy_graph(g->with_lists(), base, nullptr, &of_values->target());
    else if (of_values)
      copy_values_to_device(graph, of_values->target());
  });
}

knng_status knng_graph_rows(const knng_graph* g, const char* what, knng_matrix* out, knng_error* error) {
  return guard(error, [&](const FloatEnv&) {
    require(g, "g");
    OutputMatrix numbers(out, "out");
    const bool lists = reads_lists(&require(what, "what"));
    graph_rows(lists ? g->with_lists() : g->graph, what, numbers.view());
    numbers.deliver();
  });
}

knng_status knng_graph_stat(const knng_graph* g, const char* name, double* out, knng_error* error) {
  return guard(error, [&](const FloatEnv&) {
    const Graph& graph = require(g, "g").graph;
    require(out, "out") = graph.stats[find_stat(&require(name, "name"))];
  });
}

knng_status knng_graph_text(const knng_graph* g, const char* name, char* buf, int64_t cap, int64_t* needed,
                            knng_error* error) {
  return guard(error, [&](const FloatEnv&) {
    copy_text(graph_text(require(g, "g").graph, &require(name, "name")).c_str(), buf, cap, needed);
  });
}

knng_status knng_graph_save(const knng_graph* g, const char* path, const char* format, const knng_control* c,
                            knng_error* error) {
  return guard(error, [&](const FloatEnv& env) {
    const knng_control control = read_control_with_limit(c);
    Monitor monitor(control, env);
    Budget budget = budget_of(control);
    const Work work{&budget, &monitor};
    save_graph(require(g, "g").with_lists(work), &require(path, "path"), format, work);
  });
}

knng_status knng_graph_load(knng_graph** out, const char* path, const knng_control* c, knng_error* error) {
  return guard(error, out, [&](const FloatEnv& env) {
    const knng_control control = read_control_with_limit(c);
    Monitor monitor(control, env);
    Budget budget = budget_of(control);
    *out = new knng_graph{load_graph(&require(path, "path"), {&budget, &monitor})};
  });
}

void knng_graph_destroy(knng_graph* g) { delete g; }

// knng/graph.h
#include "knng/graph.h"

#include <optional>

#include "capi/guard.h"
#include "capi/objects.h"
#include "capi/structs.h"
#include "exec/device_copy.h"
#include "exec/host_lists.h"
#include "graph/copy.h"
#include "graph/import.h"
#include "graph/rows.h"
#include "io/graph_file.h"

using namespace libknng;

knng_status knng_graph_import(knng_graph** out, const knng_matrix* ids, const knng_matrix* values) {
  return guard([&](const FloatEnv&) {
    require(out, "out") = nullptr;
    const Input of_ids(ids, "ids");
    std::optional<Input> of_values;
    if (values) of_values.emplace(values, "values");
    *out = new knng_graph{import_graph(of_ids.view(), of_values ? &of_values->view() : nullptr)};
  });
}

knng_status knng_graph_view(const knng_graph* g, knng_matrix* ids, knng_matrix* values) {
  return guard([&](const FloatEnv&) {
    const Graph& graph = require(g, "g").graph;
    if (graph.kept_on_device()) {
      show(ids, kept_ids(graph), "ids");
      return show(values, kept_values(graph), "values");
    }
    show(ids, KNNG_I64, graph.rows, graph.width, graph.ids.data(), "ids");
    show(values, graph.value_dtype, graph.rows, graph.width, graph.values.data(), "values");
  });
}

knng_status knng_graph_copy(const knng_graph* g, int32_t base, knng_matrix* ids, knng_matrix* values) {
  return guard([&](const FloatEnv&) {
    const Graph& graph = require(g, "g").graph;
    std::optional<Output> of_ids, of_values;
    if (ids) of_ids.emplace(ids, "ids");
    if (values) of_values.emplace(values, "values");
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

knng_status knng_graph_rows(const knng_graph* g, const char* what, knng_matrix* out) {
  return guard([&](const FloatEnv&) {
    require(g, "g");
    Output numbers(out, "out");
    const bool lists = reads_lists(&require(what, "what"));
    graph_rows(lists ? g->with_lists() : g->graph, what, numbers.view());
    numbers.deliver();
  });
}

knng_status knng_graph_stat(const knng_graph* g, const char* name, double* out) {
  return guard([&](const FloatEnv&) {
    const Graph& graph = require(g, "g").graph;
    require(out, "out") = graph.stats[find_stat(&require(name, "name"))];
  });
}

knng_status knng_graph_text(const knng_graph* g, const char* name, char* buf, int64_t cap, int64_t* needed) {
  return guard([&](const FloatEnv&) {
    copy_text(graph_text(require(g, "g").graph, &require(name, "name")).c_str(), buf, cap, needed);
  });
}

knng_status knng_graph_save(const knng_graph* g, const char* path, const char* format) {
  return guard([&](const FloatEnv&) { save_graph(require(g, "g").with_lists(), &require(path, "path"), format); });
}

knng_status knng_graph_load(knng_graph** out, const char* path) {
  return guard([&](const FloatEnv&) {
    require(out, "out") = nullptr;
    *out = new knng_graph{load_graph(&require(path, "path"))};
  });
}

void knng_graph_destroy(knng_graph* g) { delete g; }

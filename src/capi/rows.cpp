// knng/rows.h
#include "knng/rows.h"

#include <algorithm>
#include <cstring>
#include <string>
#include <vector>

#include "capi/guard.h"
#include "capi/objects.h"
#include "capi/structs.h"
#include "core/monitor.h"
#include "core/nearest_word.h"
#include "dataset/convert.h"
#include "exec/load.h"
#include "exec/rows/host_rows.h"

using namespace libknng;

knng_status knng_add(knng* h, const knng_matrix* rows, const knng_control* c, knng_error* error) {
  return guard(error, h, [&](const FloatEnv& env) {
    Dataset& data = require(h, "h").data;
    const knng_matrix m = read_struct(rows, offsetof(knng_matrix, release), "rows");
    const MatrixView view = readable_rows(m, "rows");
    data.require_fits(view.dtype, view.cols, view.rows, "rows");
    Monitor monitor(read_control(c), env);
    monitor.stage("add", static_cast<double>(view.rows));
    Budget budget = budget_for(h->settings, data);
    auto chunk =
        view.on_host() ? copy_rows(view, budget, "rows", &monitor) : fetch_to_keep(view, budget, "rows", monitor);
    monitor.check();
    data.append(std::move(chunk));
  });
}

knng_status knng_borrow(knng* h, const knng_matrix* rows, const knng_control* c, knng_error* error) {
  return guard(error, h, [&](const FloatEnv& env) {
    Dataset& data = require(h, "h").data;
    const knng_matrix m = read_struct(rows, offsetof(knng_matrix, release), "rows");
    const MatrixView view = readable_rows(m, "rows");
    data.require_fits(view.dtype, view.cols, view.rows, "rows");
    Monitor monitor(read_control(c), env);
    monitor.stage("check", static_cast<double>(view.rows));
    Budget budget = budget_for(h->settings, data);
    RowFacts facts = inspect_anywhere(view, &budget, "rows", monitor);
    monitor.check();
    data.borrow(view, std::move(facts.hashes), facts.types, m.release, m.owner);
  });
}

knng_status knng_add_file(knng* h, const char* path, const knng_control* c, knng_error* error) {
  return guard(error, h, [&](const FloatEnv& env) {
    Dataset& data = require(h, "h").data;
    Monitor monitor(read_control(c), env);
    h->files.emplace_back();  // now: nothing may fail once the rows are there
    try {
      h->files.back() = add_file(data, h->settings, &require(path, "path"), monitor);
    } catch (...) {
      h->files.pop_back();
      throw;
    }
  });
}

knng_status knng_file_text(const knng* h, int32_t i, const char* name, char* buf, int64_t cap, int64_t* needed,
                           knng_error* error) {
  return guard(error, [&](const FloatEnv&) {
    const std::vector<RowsTaken>& files = require(h, "h").files;
    require(name, "name");
    const auto count = static_cast<std::int64_t>(files.size());
    if (i < 0 || i >= count) {
      if (needed) *needed = 0;
      if (count == 0) fail(KNNG_ERR_RANGE, "i", {.given = i, .limit = 0}, "i=%d: no rows were added from a file", i);
      fail(KNNG_ERR_RANGE, "i", {.given = i, .limit = count}, "i=%d must be from 0 to %lld, the last of the files", i,
           static_cast<long long>(count - 1));
    }
    std::string known;
    for (const RowsTakenText& text : kRowsTakenTexts) {
      if (std::strcmp(name, text.name) == 0)
        return copy_text((files[static_cast<std::size_t>(i)].*text.text).c_str(), buf, cap, needed);
      known.append(known.empty() ? "" : ", ").append(text.name);
    }
    fail(KNNG_ERR_OPTION, "name", "unknown text '%.40s'; there are %s%s", name, known.c_str(),
         did_you_mean(name, known).c_str());
  });
}

knng_status knng_shape(const knng* h, int64_t* rows, int64_t* dim, int32_t* dtype, knng_error* error) {
  return guard(error, [&](const FloatEnv&) {
    const Dataset& data = require(h, "h").data;
    if (rows) *rows = data.rows();
    if (dim) *dim = data.dim();
    if (dtype) *dtype = data.dtype();
  });
}

knng_status knng_read(const knng* h, int64_t first, knng_matrix* dst, knng_error* error) {
  return guard(error, h, [&](const FloatEnv&) {
    const Dataset& data = require(h, "h").data;
    OutputMatrix to(dst, "dst");
    const MutableMatrixView& view = to.target();
    if (view.cols != data.dim())
      fail(KNNG_ERR_ARGUMENT, "dst", {.given = view.cols, .limit = data.dim()},
           "dst: cols=%lld, the data set has dimension %lld", static_cast<long long>(view.cols),
           static_cast<long long>(data.dim()));
    if (first < 0 || first > data.rows() || view.rows > data.rows() - first)
      fail(KNNG_ERR_RANGE, "first",
           {.given = first, .limit = first < 0 ? 0 : std::max<std::int64_t>(data.rows() - view.rows, 0)},
           "first=%lld: %lld rows from there are wanted, the data set has %lld", static_cast<long long>(first),
           static_cast<long long>(view.rows), static_cast<long long>(data.rows()));
    if (!data.on_devices()) {
      store_rows(data, first, to.view(), first);
    } else {
      Budget budget = budget_for(h->settings, data);
      store_rows(host_rows(data, first, view.rows, &budget, nullptr, "h"), 0, to.view(), first);
    }
    data.require_unchanged();
    to.deliver();
  });
}

#include "library.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <string_view>

#include "failure.h"

namespace cli {
namespace {

// knng_get and knng_graph_text share the protocol: ask for the size, then for the text.
template <class Get>
std::string fetch(Get get) {
  std::int64_t needed = 0;
  const knng_status sized = get(nullptr, std::int64_t{0}, &needed);
  if (sized != KNNG_OK && sized != KNNG_ERR_RANGE) check(sized);
  std::string value(static_cast<std::size_t>(needed), '\0');
  check(get(value.data(), needed, &needed));
  value.resize(std::string_view(value.c_str()).size());
  return value;
}

void set(knng* h, const Given& given) { check(knng_set(h, given.key.c_str(), given.value.c_str(), error())); }

// What the library says of a value has its variable; here it comes behind those that the command says itself.
std::string with_variable(std::string line, const std::string& setting) {
  knng_option o{};
  o.struct_size = sizeof o;
  for (std::int32_t i = 0; knng_option_get(i, &o, nullptr) == KNNG_OK; ++i) {
    if (setting != o.name || !o.environment) continue;
    const char* const value = std::getenv(o.environment);
    if (value && *value && line.find(o.environment) == std::string::npos)
      line.insert(std::min(line.find(' '), line.size()), std::string(" (environment variable ") + o.environment + ")");
  }
  return line;
}

}  // namespace

std::string as_typed(const std::string& line, const std::string& setting, const Settings& given) {
  const auto last = std::find_if(given.rbegin(), given.rend(), [&](const Given& g) { return g.key == setting; });
  const std::string name = setting + "=";
  if (!line.starts_with(name)) return line;
  if (last == given.rend()) return with_variable(line, setting);
  return last->option.empty() ? line : last->option + " " + line.substr(name.size());
}

Handle make_handle(const Settings& given, const Settings& from_graph) {
  knng* raw = nullptr;
  check(knng_create(&raw, 0, 0, error()));
  Handle h(raw);
  for (const Given& one : from_graph) set(h.get(), one);
  if (std::any_of(given.begin(), given.end(), [](const Given& one) { return one.key == "metric"; }))
    set(h.get(), {"p", "auto", ""});
  for (const Given& one : given) set(h.get(), one);
  return h;
}

Shape shape(const knng* h) {
  Shape s;
  check(knng_shape(h, &s.rows, &s.dim, &s.dtype, error()));
  return s;
}

const char* dtype_name(std::int32_t dtype) {
  switch (dtype) {
    case KNNG_F32: return "float32";
    case KNNG_F64: return "float64";
    case KNNG_F16: return "float16";
    case KNNG_BF16: return "bfloat16";
    case KNNG_U8: return "uint8";
    case KNNG_I8: return "int8";
    case KNNG_U16: return "uint16";
    case KNNG_I16: return "int16";
    case KNNG_U32: return "uint32";
    case KNNG_I32: return "int32";
    case KNNG_U64: return "uint64";
    case KNNG_I64: return "int64";
    case KNNG_BOOL: return "bool";
    default: return "unknown";
  }
}

std::vector<Taken> taken(const knng* h) {
  std::vector<Taken> files;
  for (std::int32_t i = 0;; ++i) {
    std::int64_t needed = 0;
    knng_file_text(h, i, "file", nullptr, 0, &needed, nullptr);
    if (needed == 0) return files;
    const auto text = [&](const char* name) {
      return fetch([&](char* buf, std::int64_t cap, std::int64_t* size) {
        return knng_file_text(h, i, name, buf, cap, size, error());
      });
    };
    Taken one{text("file"), {}};
    for (const char* name : {"matrix", "form", "header", "row_names", "separator"})
      if (std::string value = text(name); !value.empty()) one.facts.emplace_back(name, std::move(value));
    files.push_back(std::move(one));
  }
}

std::string setting(const knng* h, const char* name) {
  return fetch(
      [&](char* buf, std::int64_t cap, std::int64_t* needed) { return knng_get(h, name, buf, cap, needed, error()); });
}

std::int64_t limit_of(const knng* h, const char* name) { return std::stoll(setting(h, name)); }

knng_plan plan(const knng* h, std::int64_t queries, std::int64_t k) {
  knng_plan p{};
  p.struct_size = sizeof p;
  check(knng_estimate(h, queries, k, &p, error()));
  return p;
}

Graph load_graph(const std::string& path, knng_control control, std::int64_t max_host_bytes) {
  control.max_bytes = max_host_bytes;
  knng_graph* raw = nullptr;
  const knng_status status = knng_graph_load(&raw, path.c_str(), &control, error());
  if (status == KNNG_OK) return Graph(raw);
  const Failure why = last_failure(status);
  // The control's limit comes from a setting of the command: the message names that.
  const std::string line = why.what();
  if (constexpr std::string_view kLimit = "max_bytes="; status == KNNG_ERR_BUDGET && line.starts_with(kLimit))
    throw Failure(why.exit_code(), "max_host_bytes=" + line.substr(kLimit.size()), "max_host_bytes", why.limit());
  throw why;
}

std::string text(const knng_graph* g, const char* name) {
  return fetch([&](char* buf, std::int64_t cap, std::int64_t* needed) {
    return knng_graph_text(g, name, buf, cap, needed, error());
  });
}

double stat(const knng_graph* g, const char* name) {
  double value = 0;
  check(knng_graph_stat(g, name, &value, error()));
  return value;
}

std::vector<std::int64_t> row_facts(const knng_graph* g, const char* what) {
  std::int64_t rows = 0, columns = 0;
  check(knng_graph_shape(g, &rows, &columns, nullptr, nullptr, error()));
  std::vector<std::int64_t> facts(static_cast<std::size_t>(std::string_view(what) == "indegree" ? columns : rows));
  knng_matrix out = knng_packed(KNNG_I64, static_cast<std::int64_t>(facts.size()), 1, facts.data());
  check(knng_graph_rows(g, what, &out, error()));
  return facts;
}

std::vector<std::int64_t> components(const knng_graph* g) {
  std::int64_t rows = 0;
  check(knng_graph_shape(g, &rows, nullptr, nullptr, nullptr, error()));
  std::vector<std::int64_t> component(static_cast<std::size_t>(rows));
  knng_matrix out = knng_packed(KNNG_I64, static_cast<std::int64_t>(component.size()), 1, component.data());
  const knng_status status = knng_graph_rows(g, "component", &out, error());
  if (status == KNNG_ERR_STATE) return {};
  check(status);
  return component;
}

std::vector<double> kth_values(const knng_graph* g) {
  knng_matrix values = knng_packed(KNNG_F32, 0, 0, nullptr);
  check(knng_graph_view(g, nullptr, &values, error()));
  std::vector<double> kth;
  kth.reserve(static_cast<std::size_t>(values.rows));
  for (std::int64_t row = 0; row < values.rows; ++row) {
    const std::int64_t at = row * values.cols + values.cols - 1;
    const double value = values.dtype == KNNG_F32 ? static_cast<double>(static_cast<const float*>(values.data)[at])
                                                  : static_cast<const double*>(values.data)[at];
    if (std::isfinite(value)) kth.push_back(value);
  }
  return kth;
}

}  // namespace cli

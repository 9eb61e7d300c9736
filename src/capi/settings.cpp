// knng/settings.h
#include "knng/settings.h"

#include <limits>

#include "backend/cpu/matrix_tiles.h"
#include "backend/devices.h"
#include "capi/guard.h"
#include "capi/objects.h"
#include "capi/structs.h"
#include "core/dtype.h"
#include "metric/metric.h"

using namespace libknng;

knng_status knng_create(knng** out, int64_t dim, int32_t dtype, knng_error* error) {
  return guard(error, out, [&](const FloatEnv&) {
    constexpr std::int64_t most = std::numeric_limits<std::int32_t>::max();
    if (dim < 0 || dim > most)
      fail(KNNG_ERR_RANGE, "dim", {.given = dim, .limit = dim < 0 ? 0 : most}, "dim=%lld is not in 0 to %lld",
           static_cast<long long>(dim), static_cast<long long>(most));
    if (dtype != 0) checked_dtype_bytes(dtype, "dtype");
    *out = new knng{Dataset(dim, dtype), Settings()};
  });
}

knng_status knng_share(knng** out, const knng* h, knng_error* error) {
  return guard(error, out, [&](const FloatEnv&) { *out = new knng(require(h, "h")); });
}

void knng_destroy(knng* h) { delete h; }

knng_status knng_set(knng* h, const char* key, const char* value, knng_error* error) {
  return guard(error,
               [&](const FloatEnv&) { require(h, "h").settings.set(&require(key, "key"), &require(value, "value")); });
}

knng_status knng_get(const knng* h, const char* key, char* buf, int64_t cap, int64_t* needed, knng_error* error) {
  return guard(error, [&](const FloatEnv&) {
    copy_text(require(h, "h").settings.get(&require(key, "key")).c_str(), buf, cap, needed);
  });
}

knng_status knng_option_get(int32_t i, knng_option* out, knng_error* error) {
  return guard(error, [&](const FloatEnv&) {
    require(out, "out");
    if (i < 0 || i >= kSettings)
      fail(KNNG_ERR_RANGE, "i", {.given = i, .limit = i < 0 ? 0 : kSettings - 1},
           "i=%d: there are %d settings, numbered from 0", i, kSettings);
    const auto setting = static_cast<Setting>(i);
    const Option& o = option(setting);
    using Kind = Option::Kind;
    const bool integer = o.kind == Kind::integer || o.kind == Kind::integer_or_auto || o.kind == Kind::bytes;
    const int32_t type = integer ? KNNG_I64 : o.kind == Kind::exponent ? KNNG_F64 : 0;
    write_struct(
        knng_option{sizeof(knng_option), type, o.name, o.fallback, option_range(setting), o.doc, o.environment}, out,
        offsetof(knng_option, fallback), "out");
  });
}

knng_status knng_device_get(int32_t i, knng_device* out, knng_error* error) {
  return guard(error, [&](const FloatEnv&) {
    require(out, "out");
    if (i < 0 || i >= device_count())
      fail(KNNG_ERR_RANGE, "i", {.given = i, .limit = i < 0 ? 0 : device_count() - 1},
           "i=%d: there are %d devices, numbered from 0", i, device_count());
    write_struct(describe_device(i), out, offsetof(knng_device, memory), "out");
  });
}

knng_status knng_metric_name(int32_t i, const char** name, const char** aliases, knng_error* error) {
  return guard(error, [&](const FloatEnv&) {
    require(name, "name");
    const auto all = metrics();
    const auto count = static_cast<int32_t>(all.size());
    if (i < 0 || i >= count)
      fail(KNNG_ERR_RANGE, "i", {.given = i, .limit = i < 0 ? 0 : count - 1},
           "i=%d: there are %d metrics, numbered from 0", i, count);
    const Metric& metric = all[static_cast<std::size_t>(i)];
    *name = metric.name;
    if (aliases) *aliases = metric.aliases;
  });
}

knng_status knng_use_matrix_tiles(knng_error* error) {
  return guard(error, [&](const FloatEnv&) { use_matrix_tiles(); });
}

knng_status knng_stat_name(int32_t i, const char** name, const char** doc, knng_error* error) {
  return guard(error, [&](const FloatEnv&) {
    require(name, "name");
    if (i < 0 || i >= kStats)
      fail(KNNG_ERR_RANGE, "i", {.given = i, .limit = i < 0 ? 0 : kStats - 1},
           "i=%d: there are %d statistics, numbered from 0", i, kStats);
    const StatInfo& info = stat_table()[static_cast<std::size_t>(i)];
    *name = info.name;
    if (doc) *doc = info.doc;
  });
}

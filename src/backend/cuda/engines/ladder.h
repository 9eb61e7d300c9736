// The ladder of an engine: the precisions in which tiles of a problem are evaluated, one after the other, while rows
// are left without a proof. A pure function of the problem, of host code alone, so that simulated devices have the
// same.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string_view>

#include "backend/seam.h"
#include "metric/metric.h"
#include "plan/integer_products.h"

namespace libknng::cuda {

inline constexpr std::array<knng_backend_rung, 3> kProductRungs = {{
    {KNNG_RUNG_FILTER, KNNG_UNIT_FP16, "fp16"},
    {KNNG_RUNG_TWO_PIECE, KNNG_UNIT_FP16, "two pieces"},
    {KNNG_RUNG_FP32, KNNG_UNIT_FP32, "fp32"},
}};
// Sums in single precision, then canonical keys.
inline constexpr std::array<knng_backend_rung, 2> kSumRungs = {{
    {KNNG_RUNG_FILTER, 0, "fp32"},
    {KNNG_RUNG_FP64, 0, "fp64"},
}};
inline constexpr std::array<knng_backend_rung, 1> kDirectRungs = {{{KNNG_RUNG_FP64, 0, "fp64"}}};
// What exact products do not prove is for want of room in lists, and no other precision does.
inline constexpr std::array<knng_backend_rung, 1> kByteRungs = {{{KNNG_RUNG_FILTER, KNNG_UNIT_BYTES, "bytes"}}};

inline std::span<const knng_backend_rung> all_rungs(const knng_backend_problem& p) {
  if (std::string_view(p.engine) == "direct") return kDirectRungs;
  const auto term = static_cast<Term>(p.metric.term);
  if (!has_product_form(term)) return kSumRungs;
  Metric metric{};
  metric.transform = static_cast<Transform>(p.metric.transform);
  metric.term = term;
  return has_integer_products(metric, p.rows.dtype, p.columns.dtype, p.columns.dim)
             ? std::span<const knng_backend_rung>(kByteRungs)
             : kProductRungs;
}

// KNNG_UNIT bits of all rungs.
inline std::int32_t units_of(const knng_backend_problem& p) {
  std::int32_t units = 0;
  for (const knng_backend_rung& rung : all_rungs(p)) units |= rung.unit;
  return units;
}

// The seam's call: without those whose unit is not used.
inline std::int32_t list_rungs(const knng_backend_problem* p, knng_backend_rung* rungs) {
  std::int32_t count = 0;
  for (const knng_backend_rung& rung : all_rungs(*p))
    if ((rung.unit & ~p->units.usable) == 0) rungs[count++] = rung;
  return count;
}

}  // namespace libknng::cuda

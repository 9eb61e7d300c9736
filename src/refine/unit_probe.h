// Known products, and what may come of them where a unit adds up as its bound supposes. A unit that loses a bit more,
// flushes what it should not, or is emulated with fewer bits, gives another result for one of them at least
// (docs/internals/error-bound.md, "The probe"). Pure: multiplies nothing.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "refine/bound.h"

namespace libknng {

struct Probe {
  const char* name;
  std::vector<float> a, b;  // operands, exact in the unit's type
  double least, most;       // of the product
};

// Each has so many terms, 8 at least; `unit` is that of so many.

// Tensor cores with fp16 operands: they add `group` terms at once or more, cut off what is below `aligned` in relation
// to the largest, and take points shorter than `shortest` for as long. Or a fused operation a term.
struct TensorModel {
  double aligned;
  int group;
  double shortest;
};
std::vector<Probe> tensor_core_probes(std::int64_t terms, const ProductUnit& unit, const TensorModel& model);
// IEEE single precision with denormals, in any order.
std::vector<Probe> fp32_probes(std::int64_t terms);
// Double precision, of operands that single precision holds, in any order.
std::vector<Probe> fp64_probes(std::int64_t terms);
// bfloat16 operands, sums rounded to nearest; denormals may be flushed.
std::vector<Probe> bf16_probes(std::int64_t terms, const ProductUnit& unit);
// Signed bytes, exact sums of 32 bits; at most 2^16 terms.
std::vector<Probe> byte_probes(std::int64_t terms);

// What a result says against its unit; "": nothing.
std::string objection_to(double result, const Probe& probe);

}  // namespace libknng

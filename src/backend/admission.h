// Who may be a neighbour, across the seam: core/admission.h of a problem, and into one. A further rule is a field of
// the problem and a line of each function.
#pragma once

#include "backend/seam.h"
#include "core/admission.h"

namespace libknng {

// By row of the problem. The ids are where the problem has them.
inline Admission admission_of(const knng_backend_problem& p) { return {p.square != 0, p.leave_out}; }
// Whether it is a graph the problem says itself.
inline void set_admission(knng_backend_problem& p, const Admission& admission) { p.leave_out = admission.leave_out; }

}  // namespace libknng

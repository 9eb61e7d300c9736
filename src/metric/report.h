// How a key becomes the value that is reported, over an arithmetic policy (metric/ops.h): host and device report the
// same bits. Knows nothing of value types.
#pragma once

#include "core/host_device.h"
#include "metric/elementary.h"
#include "metric/metric.h"

namespace libknng {

template <class Ops>
KNNG_HD inline typename Ops::Real report(const Metric& metric, typename Ops::Real key, bool similarity) {
  if (similarity) return Ops::sub(Ops::set(metric.term == Term::product ? 0.0 : 1.0), key);
  switch (metric.report) {
    case Report::key: return key;
    case Report::root: return Ops::sqrt(key);
    case Report::half_root: return Ops::sqrt(Ops::mul(Ops::set(0.5), key));
    case Report::p_root: return pow<Ops>(key, Ops::div(Ops::set(1.0), Ops::set(metric.p)));
  }
  return key;
}

}  // namespace libknng

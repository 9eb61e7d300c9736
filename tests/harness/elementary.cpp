// The door through which the oracle, which is C, reaches the library's log and pow. Knows nothing else.
#include "harness/elementary.h"

#include "harness/fast_fma.h"
#include "metric/elementary.h"

FAST_FMA double elementary_log(double x) { return libknng::log<libknng::ScalarOps>(x); }
FAST_FMA double elementary_pow(double x, double p) { return libknng::pow<libknng::ScalarOps>(x, p); }

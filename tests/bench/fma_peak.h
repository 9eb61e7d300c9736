// What the cores' multiply-add units do at most, measured here and now. A share of this peak says how well a kernel
// uses the machine, whatever the machine is and whatever else it does. Knows nothing of neighbours.
#pragma once

namespace bench {

struct Peak {
  int threads = 0;
  double fp32 = 0;  // GFLOP/s of all threads together; a multiply-add counts as two
  double fp64 = 0;
  const char* target = "";  // widest vectors of this processor that the loop has
};

// Best of `repeats` short loops on that many threads.
Peak measure_peak(int threads, int repeats);

}  // namespace bench

// The machine and this process, as the system tells: what stands above every table of figures. Knows nothing of
// neighbours.
#pragma once

#include <string>

namespace bench {

struct Machine {
  std::string cpu;     // model name
  int cores = 0;       // that this process may use
  std::string system;  // kernel and architecture
  double memory = 0;   // bytes
};

Machine this_machine();
std::string load_average();  // of 1, 5 and 15 minutes; "" where the system does not tell

// Asks Linux for the processor's matrix tiles (AMX), as a host of the library may; returns whether this process has
// them.
bool ask_for_matrix_tiles();

double cpu_seconds();      // of all threads of this process so far
void reset_peak_memory();  // peak_memory() forgets what was before, where the system can
double peak_memory();      // bytes of this process, resident

}  // namespace bench

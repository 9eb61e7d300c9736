// knng devices: where work can run, and why not elsewhere.
#include <cstdio>

#include "commands.h"
#include "failure.h"
#include "words.h"

namespace cli {

int run_devices() {
  for (std::int32_t i = 0;; ++i) {
    knng_device d{};
    d.struct_size = sizeof d;
    const knng_status status = knng_device_get(i, &d, error());
    if (status == KNNG_ERR_RANGE) return kDone;
    check(status);
    std::string line = d.name;
    if (d.memory >= 0) line += ", " + bytes(static_cast<double>(d.memory));
    if (d.memory_free >= 0) line += " (" + bytes(static_cast<double>(d.memory_free)) + " free)";
    if (d.usable == 0) line += ": not usable: " + std::string(d.why_not);
    std::puts(line.c_str());
  }
}

}  // namespace cli

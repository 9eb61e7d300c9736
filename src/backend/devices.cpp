#include "backend/devices.h"

#include <omp.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>

#include "backend/cpu/direct_tile.h"

namespace libknng {
namespace {

// The processor's name as the system tells it, or "".
void read_cpu_name(char* out, std::size_t size) {
  out[0] = '\0';
  std::FILE* file = std::fopen("/proc/cpuinfo", "re");
  if (!file) return;
  char line[256];
  while (std::fgets(line, sizeof line, file)) {
    const char* colon = std::strchr(line, ':');
    if (!colon || std::strncmp(line, "model name", 10) != 0) continue;
    std::snprintf(out, size, "%.*s", static_cast<int>(std::strcspn(colon + 2, "\n")), colon + 2);
    break;
  }
  std::fclose(file);
}

knng_device describe_cpu() {
  knng_device d{};
  d.struct_size = sizeof d;
  d.usable = 1;
  const std::int64_t page = sysconf(_SC_PAGESIZE);
  d.memory = page * sysconf(_SC_PHYS_PAGES);
  d.memory_free = page * sysconf(_SC_AVPHYS_PAGES);
  char name[64];
  read_cpu_name(name, sizeof name);
  std::snprintf(d.name, sizeof d.name, "cpu: %.50s%s%s, %d threads", name, name[0] ? ", " : "",
                direct_tiles().front()->target, omp_get_max_threads());
  return d;
}

knng_device describe_cuda() {
  knng_device d{};
  d.struct_size = sizeof d;
  d.memory = d.memory_free = -1;
  std::snprintf(d.name, sizeof d.name, "cuda");
  std::snprintf(d.why_not, sizeof d.why_not, "this build has no CUDA backend");
  return d;
}

}  // namespace

std::int32_t device_count() noexcept { return 2; }

knng_device describe_device(std::int32_t i) { return i == 0 ? describe_cpu() : describe_cuda(); }

}  // namespace libknng

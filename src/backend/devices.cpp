#include "backend/devices.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdio>
#include <cstring>
#include <iterator>
#include <numeric>
#include <string>

#include "backend/cpu/engine.h"
#include "backend/registry.h"
#include "core/error.h"
#include "core/thread_team.h"

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
  std::snprintf(d.name, sizeof d.name, "cpu: %.50s%s%s, %d threads", name, name[0] ? ", " : "", cpu_target(),
                default_threads());
  return d;
}

knng_device describe_cuda(const knng_backend_seam& cuda, std::int32_t i) {
  knng_device d{};
  cuda.describe(i, &d);
  d.struct_size = sizeof d;
  return d;
}

void join(DeviceSet& set, std::int32_t number, const knng_device& d) {
  if (set.devices.empty()) set.name = d.name;
  if (d.memory_free >= 0) set.free_bytes = std::min(set.free_bytes, d.memory_free);
  set.devices.push_back(number);
}

knng_device no_cuda(const std::string& why_not) {
  knng_device d{};
  d.struct_size = sizeof d;
  d.memory = d.memory_free = -1;
  std::snprintf(d.name, sizeof d.name, "cuda");
  std::snprintf(d.why_not, sizeof d.why_not, "%s", why_not.c_str());
  return d;
}

// The backend and the number of its devices; without devices, why.
struct Cuda {
  std::string why_not;  // before what fills it
  const knng_backend_seam* backend;
  std::int32_t devices = 0;

  Cuda() : backend(cuda_backend(why_not)) {
    if (!backend) return;
    std::array<char, 200> reason{};
    devices = backend->device_count(reason.data(), reason.size());
    if (devices == 0) why_not = reason.data();
  }
};

// To ask a device what is free wakes it: no more are asked than are needed.
DeviceSet usable_among(const Cuda& cuda, std::span<const std::int32_t> numbers, std::int32_t most) {
  DeviceSet set;
  for (const std::int32_t i : numbers) {
    if (std::ssize(set.devices) == most) break;
    if (i >= cuda.devices) continue;
    if (const knng_device d = describe_cuda(*cuda.backend, i); d.usable) join(set, i, d);
  }
  if (!set.devices.empty()) set.backend = cuda.backend;
  return set;
}

DeviceSet first_usable(const Cuda& cuda, std::int32_t most) {
  std::vector<std::int32_t> all(static_cast<std::size_t>(cuda.devices));
  std::iota(all.begin(), all.end(), 0);
  return usable_among(cuda, all, most);
}

// Where setting device=`chosen` needs one.
Cuda present_cuda(const std::string& chosen) {
  Cuda cuda;
  if (cuda.devices == 0)
    fail(KNNG_ERR_DEVICE, "device", "device=%s: there is no CUDA device: %s", chosen.c_str(), cuda.why_not.c_str());
  return cuda;
}

}  // namespace

std::int32_t device_count() { return 1 + std::max(1, Cuda().devices); }

knng_device describe_device(std::int32_t i) {
  if (i == 0) return describe_cpu();
  const Cuda cuda;
  return i - 1 < cuda.devices ? describe_cuda(*cuda.backend, i - 1) : no_cuda(cuda.why_not);
}

DeviceSet listed_devices(std::string_view list) {
  const std::string text(list);
  const Cuda cuda = present_cuda(text);
  DeviceSet set;
  set.backend = cuda.backend;
  for (list.remove_prefix(5); !list.empty(); list.remove_prefix(std::min<std::size_t>(1, list.size()))) {
    std::int32_t number = 0;
    const char* const end = std::from_chars(list.data(), list.data() + list.size(), number).ptr;
    list.remove_prefix(static_cast<std::size_t>(end - list.data()));
    if (number >= cuda.devices)
      fail(KNNG_ERR_DEVICE, "device", {.given = number, .limit = cuda.devices - 1},
           "device=%s: there is no CUDA device %d, the last is %d", text.c_str(), number, cuda.devices - 1);
    const knng_device d = describe_cuda(*cuda.backend, number);
    if (!d.usable)
      fail(KNNG_ERR_DEVICE, "device", {.given = number}, "device=%s: CUDA device %d cannot be used: %s", text.c_str(),
           number, d.why_not);
    join(set, number, d);
  }
  return set;
}

DeviceSet usable_devices(std::int32_t most) { return first_usable(Cuda(), most); }

DeviceSet cuda_devices(std::int32_t most) {
  const Cuda cuda = present_cuda("cuda");
  DeviceSet set = first_usable(cuda, most);
  if (!set.backend)
    fail(KNNG_ERR_DEVICE, "device", "device=cuda: none of %d CUDA devices can be used, the first: %s", cuda.devices,
         describe_cuda(*cuda.backend, 0).why_not);
  return set;
}

DeviceSet usable_devices_of(std::span<const std::int32_t> numbers) { return usable_among(Cuda(), numbers, INT32_MAX); }

}  // namespace libknng

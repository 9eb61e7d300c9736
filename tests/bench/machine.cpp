#include "machine.h"

#include <knng.h>
#include <sched.h>
#include <sys/resource.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>

namespace bench {
namespace {

// The text behind "key:" in a file of the form that /proc has, without leading blanks.
std::string field(const char* path, const std::string& key) {
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    if (line.compare(0, key.size(), key) != 0) continue;
    const std::size_t colon = line.find(':');
    const std::size_t start = colon == std::string::npos ? colon : line.find_first_not_of(" \t", colon + 1);
    if (start != std::string::npos) return line.substr(start);
  }
  return "";
}

}  // namespace

Machine this_machine() {
  Machine m;
  m.cpu = field("/proc/cpuinfo", "model name");
  cpu_set_t set;
  CPU_ZERO(&set);
  m.cores = sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set)
                                                        : static_cast<int>(std::max(1L, sysconf(_SC_NPROCESSORS_ONLN)));
  utsname name{};
  if (uname(&name) == 0) m.system = std::string(name.sysname) + " " + name.release + " " + name.machine;
  m.memory = static_cast<double>(sysconf(_SC_PHYS_PAGES)) * static_cast<double>(sysconf(_SC_PAGESIZE));
  return m;
}

std::string load_average() {
  std::ifstream file("/proc/loadavg");
  std::string one;
  std::string five;
  std::string fifteen;
  file >> one >> five >> fifteen;
  return fifteen.empty() ? "" : one + " " + five + " " + fifteen;
}

double cpu_seconds() {
  rusage u{};
  getrusage(RUSAGE_SELF, &u);
  return static_cast<double>(u.ru_utime.tv_sec + u.ru_stime.tv_sec) +
         1e-6 * static_cast<double>(u.ru_utime.tv_usec + u.ru_stime.tv_usec);
}

void reset_peak_memory() { std::ofstream("/proc/self/clear_refs") << "5"; }

double peak_memory() {
  const std::string text = field("/proc/self/status", "VmHWM");  // "1234 kB"
  if (!text.empty()) return 1024 * std::stod(text);
  rusage u{};
  getrusage(RUSAGE_SELF, &u);
  return 1024 * static_cast<double>(u.ru_maxrss);
}

bool ask_for_matrix_tiles() { return knng_use_matrix_tiles(nullptr) == KNNG_OK; }

}  // namespace bench

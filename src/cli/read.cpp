#include "read.h"

#include <sys/stat.h>

#include <chrono>

#include "failure.h"
#include "interrupt.h"

namespace cli {

double read_files(knng* h, const std::vector<std::string>& paths, Progress& progress) {
  const auto start = std::chrono::steady_clock::now();
  for (const std::string& path : paths) {
    struct stat file {};
    progress.expect(stat(path.c_str(), &file) == 0 ? static_cast<double>(file.st_size) : 0, "B");
    const knng_control control = progress.control();
    on_signal(OnSignal::stop, [&] { check(knng_add_file(h, path.c_str(), &control, error())); });
  }
  progress.clear();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

}  // namespace cli

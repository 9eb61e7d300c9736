// The data that is timed: named workloads, and rows made from a seed or read from files. Knows nothing of timing.
#pragma once

#include <knng.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace bench {

struct Workload {
  std::string data = "gaussian";
  std::int64_t n = 20000;
  std::int64_t d = 128;
  std::int64_t k = 10;
  std::string dtype = "f32";
  std::string metric = "sqeuclidean";
  std::uint64_t seed = 1;
  std::string order = "random";  // in which generated rows stand
};

using Settings = std::vector<std::pair<std::string, std::string>>;  // names and values

// W1 .. W4, as docs/internals/benchmarks.md has them. Throws std::invalid_argument for another name.
Workload named_workload(const std::string& name);
const char* workload_names();
const char* data_names();
const char* order_names();

// Packed rows in ordinary memory.
struct Rows {
  std::vector<std::byte> bytes;
  knng_matrix view{};
};

// The rows of a workload: n x d values of its dtype. In random order row i depends on seed, d and i alone, so a smaller
// n is a prefix. `directory` has the files of Fashion-MNIST; its rows are the training images followed by the test
// images.
Rows make_rows(const Workload& workload, const std::string& directory);

// Writes rows as a NumPy file (f32, f64, u8, i8). Throws std::runtime_error.
void write_npy(const Rows& rows, const std::string& path);

}  // namespace bench

#include "workloads.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <functional>
#include <memory>
#include <numbers>
#include <numeric>
#include <stdexcept>
#include <thread>

#include "library.h"

namespace bench {
namespace {

// splitmix64: any starting point gives a good sequence, so every row has its own.
class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed) {}
  std::uint64_t next() {
    std::uint64_t z = state_ += 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
  }
  double uniform() { return static_cast<double>(next() >> 11) * 0x1p-53; }  // [0, 1)
  double normal() {                                                         // Box and Muller
    const double r = std::sqrt(-2 * std::log(1 - uniform()));
    return r * std::cos(2 * std::numbers::pi * uniform());
  }

 private:
  std::uint64_t state_;
};

Random row_random(std::uint64_t seed, std::int64_t row) {
  return Random(Random(seed ^ (static_cast<std::uint64_t>(row + 1) * 0xd1342543de82ef95u)).next());
}

using Fill = std::function<void(Random& random, double* row)>;

// Independent standard normal values: no structure at all, the worst case for anything that hopes for some.
Fill gaussian(std::int64_t d, std::uint64_t) {
  return [d](Random& random, double* row) {
    for (std::int64_t t = 0; t < d; ++t) row[t] = random.normal();
  };
}

Fill uniform(std::int64_t d, std::uint64_t) {
  return [d](Random& random, double* row) {
    for (std::int64_t t = 0; t < d; ++t) row[t] = random.uniform();
  };
}

// The points of the paper on neighbours in three dimensions.
Fill cube(std::int64_t d, std::uint64_t) {
  return [d](Random& random, double* row) {
    for (std::int64_t t = 0; t < d; ++t) row[t] = 10000 * random.uniform() - 5000;
  };
}

// 16 different values: ties everywhere.
Fill integers(std::int64_t d, std::uint64_t) {
  return [d](Random& random, double* row) {
    for (std::int64_t t = 0; t < d; ++t) row[t] = static_cast<double>(random.next() >> 60);
  };
}

// 100 blobs whose centres spread 10 times as far as their rows: the hard case for low precision.
Fill blobs(std::int64_t d, std::uint64_t seed) {
  constexpr std::int64_t kBlobs = 100;
  std::vector<double> centres(static_cast<std::size_t>(kBlobs * d));
  Random random(~seed);
  for (double& c : centres) c = 10 * random.normal();
  return [d, centres = std::move(centres)](Random& r, double* row) {
    const double* centre = centres.data() + static_cast<std::int64_t>(r.next() % kBlobs) * d;
    for (std::int64_t t = 0; t < d; ++t) row[t] = centre[t] + r.normal();
  };
}

// A plane of 12 dimensions and noise, as in measurements with few causes (expression of genes, say).
Fill factors(std::int64_t d, std::uint64_t seed) {
  constexpr std::int64_t kFactors = 12;
  std::vector<double> loads(static_cast<std::size_t>(kFactors * d));
  Random random(~seed);
  for (double& l : loads) l = random.normal();
  return [d, loads = std::move(loads)](Random& r, double* row) {
    std::array<double, kFactors> f{};
    for (double& value : f) value = r.normal();
    for (std::int64_t t = 0; t < d; ++t) {
      double sum = 0.3 * r.normal();
      for (std::int64_t i = 0; i < kFactors; ++i)
        sum += f[static_cast<std::size_t>(i)] * loads[static_cast<std::size_t>(i * d + t)];
      row[t] = sum;
    }
  };
}

// Of 0 and 1, as binary codes are: few different distances, and so far more equal ones than a list holds.
Fill bits(std::int64_t d, std::uint64_t) {
  return [d](Random& random, double* row) {
    for (std::int64_t t = 0; t < d; ++t) row[t] = static_cast<double>(random.next() >> 63);
  };
}

// Eight categories, each one-hot among an eighth of the coordinates; what is left over is 0.
Fill categories(std::int64_t d, std::uint64_t) {
  constexpr std::int64_t kCategories = 8;
  return [d](Random& random, double* row) {
    std::fill_n(row, d, 0.0);
    const std::int64_t values = d / kCategories;
    for (std::int64_t c = 0; c < kCategories && values > 0; ++c)
      row[c * values + static_cast<std::int64_t>(random.next() % static_cast<std::uint64_t>(values))] = 1;
  };
}

// Poisson with mean 1, as counts of rare things are (Knuth's product of uniform numbers).
Fill counts(std::int64_t d, std::uint64_t) {
  return [d](Random& random, double* row) {
    for (std::int64_t t = 0; t < d; ++t) {
      row[t] = 0;
      for (double product = random.uniform(); product > 1 / std::numbers::e; product *= random.uniform()) ++row[t];
    }
  };
}

// Clusters in clusters: 30 that spread 2,000 times as far as their rows, and in each 900 that spread 60 times as far.
Fill nested(std::int64_t d, std::uint64_t seed) {
  constexpr std::int64_t kOuter = 30, kInner = 900;
  std::vector<double> centres(static_cast<std::size_t>((kOuter + kInner) * d));
  Random random(~seed);
  for (double& c : centres) c = random.normal();
  return [d, centres = std::move(centres)](Random& r, double* row) {
    const double* outer = centres.data() + static_cast<std::int64_t>(r.next() % kOuter) * d;
    const double* inner = centres.data() + (kOuter + static_cast<std::int64_t>(r.next() % kInner)) * d;
    for (std::int64_t t = 0; t < d; ++t) row[t] = 100 * outer[t] + 3 * inner[t] + 0.05 * r.normal();
  };
}

struct Data {
  const char* name;
  Fill (*make)(std::int64_t d, std::uint64_t seed);
};
constexpr Data kData[] = {
    {"gaussian", gaussian}, {"uniform", uniform}, {"cube", cube}, {"blobs", blobs},
    {"integers", integers}, {"factors", factors}, {"bits", bits}, {"categories", categories},
    {"counts", counts},     {"nested", nested},
};

struct Type {
  const char* name;
  std::int32_t dtype;
  const char* numpy;  // nullptr: NumPy has none that everybody reads
};
constexpr Type kTypes[] = {
    {"f32", KNNG_F32, "<f4"}, {"f64", KNNG_F64, "<f8"}, {"u8", KNNG_U8, "|u1"},
    {"i8", KNNG_I8, "|i1"},   {"f16", KNNG_F16, "<f2"}, {"bf16", KNNG_BF16, nullptr},
};

const Type& find_type(const std::string& name) {
  for (const Type& t : kTypes)
    if (name == t.name) return t;
  throw std::invalid_argument("dtype=" + name + ": it takes f32, f64, f16, bf16, u8, i8");
}

Rows empty_rows(std::int32_t dtype, std::int64_t n, std::int64_t d) {
  Rows rows;
  rows.bytes.resize(static_cast<std::size_t>(n * d) * static_cast<std::size_t>((dtype & 0xff) / 8));
  rows.view = knng_packed(dtype, n, d, rows.bytes.data());
  return rows;
}

// The first n rows of a data set as another type. The library refuses what the type cannot hold.
Rows read_as(const knng* h, std::int32_t dtype, std::int64_t n, std::int64_t d) {
  Rows rows = empty_rows(dtype, n, d);
  check(knng_read(h, 0, &rows.view, nullptr));
  return rows;
}

// What rows are sorted by: nothing, the first coordinate, or the distance from the origin, the farthest first.
struct Order {
  const char* name;
  double (*key)(const double* row, std::int64_t d);
};
constexpr Order kOrders[] = {
    {"random", nullptr},
    {"coordinate", [](const double* row, std::int64_t) { return row[0]; }},
    {"norm",
     [](const double* row, std::int64_t d) {
       double sum = 0;
       for (std::int64_t t = 0; t < d; ++t) sum -= row[t] * row[t];
       return sum;
     }},
};

const Order& find_order(const std::string& name) {
  for (const Order& order : kOrders)
    if (name == order.name) return order;
  throw std::invalid_argument("order=" + name + ": it takes " + order_names());
}

void sort_rows(Rows& rows, const std::vector<double>& keys) {
  std::vector<std::size_t> from(keys.size());
  std::iota(from.begin(), from.end(), std::size_t{0});
  std::stable_sort(from.begin(), from.end(), [&](std::size_t a, std::size_t b) { return keys[a] < keys[b]; });
  const std::size_t row_bytes = rows.bytes.size() / keys.size();
  std::vector<std::byte> sorted(rows.bytes.size());
  for (std::size_t i = 0; i < from.size(); ++i)
    std::copy_n(rows.bytes.data() + from[i] * row_bytes, row_bytes, sorted.data() + i * row_bytes);
  rows.bytes = std::move(sorted);
  rows.view.data = rows.bytes.data();
}

Rows generate(const Data& data, const Workload& w, std::int32_t dtype) {
  const Fill fill = data.make(w.d, w.seed);
  const Order& order = find_order(w.order);
  std::vector<double> keys(order.key ? static_cast<std::size_t>(w.n) : 0);
  Rows rows = empty_rows(dtype == KNNG_F64 ? KNNG_F64 : KNNG_F32, w.n, w.d);
  const std::int64_t threads = std::max<std::int64_t>(1, std::thread::hardware_concurrency());
  std::vector<std::jthread> team;
  for (std::int64_t part = 0; part < threads; ++part) {
    team.emplace_back([&, part] {
      std::vector<double> row(static_cast<std::size_t>(w.d));
      for (std::int64_t i = w.n * part / threads; i < w.n * (part + 1) / threads; ++i) {
        Random random = row_random(w.seed, i);
        fill(random, row.data());
        if (order.key) keys[static_cast<std::size_t>(i)] = order.key(row.data(), w.d);
        if (rows.view.dtype == KNNG_F64)
          std::copy(row.begin(), row.end(), static_cast<double*>(rows.view.data) + i * w.d);
        else
          std::transform(row.begin(), row.end(), static_cast<float*>(rows.view.data) + i * w.d,
                         [](double value) { return static_cast<float>(value); });
      }
    });
  }
  team.clear();
  if (order.key) sort_rows(rows, keys);
  if (rows.view.dtype == dtype) return rows;
  const Handle h = make_handle();
  check(knng_borrow(h.get(), &rows.view, nullptr, nullptr));
  return read_as(h.get(), dtype, w.n, w.d);
}

Rows fashion(const Workload& w, const std::string& directory, std::int32_t dtype) {
  const Handle h = make_handle();
  for (const char* part : {"/train-images-idx3-ubyte", "/t10k-images-idx3-ubyte"}) {
    std::string path = directory + part;
    if (!std::filesystem::exists(path)) path += ".gz";
    check(knng_add_file(h.get(), path.c_str(), nullptr, nullptr));
  }
  std::int64_t n = 0;
  std::int64_t d = 0;
  check(knng_shape(h.get(), &n, &d, nullptr, nullptr));
  if (w.d != d || w.n > n)
    throw std::invalid_argument("data=fashion has " + std::to_string(n) + " rows of " + std::to_string(d) + ", not " +
                                std::to_string(w.n) + " of " + std::to_string(w.d));
  return read_as(h.get(), dtype, w.n, w.d);
}

}  // namespace

Workload named_workload(const std::string& name) {
  if (name == "W1") return {"fashion", 70000, 784, 10, "u8", "sqeuclidean", 1};
  if (name == "W2") return {"gaussian", 1000000, 128, 10, "f32", "sqeuclidean", 1};
  if (name == "W3") return {"factors", 384126, 295, 20, "f32", "correlation", 1};
  if (name == "W4") return {"factors", 1533876, 295, 20, "f32", "correlation", 1};
  throw std::invalid_argument("workload=" + name + ": it takes " + workload_names());
}

const char* workload_names() { return "W1, W2, W3, W4"; }
const char* order_names() { return "random, coordinate, norm"; }
const char* data_names() {
  return "fashion, gaussian, uniform, cube, blobs, integers, factors, bits, categories, counts, nested";
}

Rows make_rows(const Workload& w, const std::string& directory) {
  const std::int32_t dtype = find_type(w.dtype).dtype;
  if (w.n < 1 || w.d < 1) throw std::invalid_argument("n and d must be at least 1");
  if (w.data == "fashion") return fashion(w, directory, dtype);
  for (const Data& data : kData)
    if (w.data == data.name) return generate(data, w, dtype);
  throw std::invalid_argument("data=" + w.data + ": it takes " + data_names());
}

void write_npy(const Rows& rows, const std::string& path) {
  const Type* type = nullptr;
  for (const Type& t : kTypes)
    if (t.dtype == rows.view.dtype) type = &t;
  if (!type || !type->numpy) throw std::runtime_error("NumPy has no type for these rows");
  std::string header = std::string("{'descr': '") + type->numpy + "', 'fortran_order': False, 'shape': (" +
                       std::to_string(rows.view.rows) + ", " + std::to_string(rows.view.cols) + "), }";
  header.resize((header.size() + 1 + 10 + 63) / 64 * 64 - 10 - 1, ' ');
  header += '\n';
  const auto length = static_cast<unsigned>(header.size());
  const std::string start =
      std::string("\x93NUMPY\x01\x00", 8) + static_cast<char>(length & 255) + static_cast<char>(length >> 8) + header;
  struct Close {
    void operator()(std::FILE* file) const { static_cast<void>(std::fclose(file)); }
  };
  const std::unique_ptr<std::FILE, Close> file(std::fopen(path.c_str(), "wb"));
  if (!file || std::fwrite(start.data(), 1, start.size(), file.get()) != start.size() ||
      std::fwrite(rows.bytes.data(), 1, rows.bytes.size(), file.get()) != rows.bytes.size() ||
      std::fflush(file.get()) != 0)
    throw std::runtime_error(path + " cannot be written");
}

}  // namespace bench

// Times of the selectors: Q x N keys, the k smallest of each of Q rows (or columns), beside a kernel that only reads
// the keys. A selector must read them once, so that kernel's time is the floor; `of read` is floor / time.
//   select_bench [--elements 2^e | --q e,e,..] [--n e,e,..] [--k k,k,..] [--values v,v,..] [--select s,s,..]
//                [--trials T] [--fresh] [--seconds S] [--cpu] [--columns] [--json FILE]
// e are exponents of 2; Q x N is --elements unless --q says how many rows there are. Medians of T trials (5) after one
// to warm up, by events, and their standard deviation as a share of their mean; --fresh makes new keys for each. A
// selector that has taken S seconds (1) gets no more trials, and where a trial takes that long no larger k. --cpu:
// std::nth_element, row by row, on one core. Prints Markdown.
#include <cuda_runtime.h>
#include <time.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <optional>
#include <sstream>
#include <string>
#include <vector>

#include "backend/cuda/base/check.cuh"
#include "backend/cuda/select/quick.cuh"
#include "backend/cuda/select/select.cuh"

using namespace libknng::cuda;

namespace {

enum Values : int { uniform, ascending, descending, constant, few, value_kinds };
constexpr const char* kValueNames[] = {"uniform", "ascending", "descending", "constant", "few"};

__device__ float hashed(std::uint64_t i) {
  i = (i ^ (i >> 31)) * 0x9E3779B97F4A7C15U;
  i = (i ^ (i >> 29)) * 0xBF58476D1CE4E5B9U;
  return static_cast<float>((i ^ (i >> 32)) & 0xffffffU) * (1.0F / 16777216.0F);
}

// by_row: a list is a row of `columns` keys; else a column. Another seed makes other keys of those without order.
__global__ void fill(float* out, std::int64_t count, std::int64_t columns, bool by_row, Values values,
                     std::uint64_t seed) {
  for (std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x; i < count;
       i += static_cast<std::int64_t>(gridDim.x) * blockDim.x) {
    const auto e = static_cast<float>(by_row ? i % columns : i / columns);
    const float h = hashed(static_cast<std::uint64_t>(i) + (seed << 40));
    out[i] = values == uniform      ? h
             : values == ascending  ? e
             : values == descending ? -e
             : values == constant   ? 1.0F
                                    : floorf(h * 4);
  }
}

// What cannot be beaten: every key read, 16 bytes a load, four in flight a thread.
__global__ void __launch_bounds__(512) read_only(const float4* keys, std::int64_t vectors, float* sink) {
  float sum = 0;
  const std::int64_t step = static_cast<std::int64_t>(gridDim.x) * blockDim.x;
  std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  for (; i + 3 * step < vectors; i += 4 * step) {
    const float4 a = __ldg(keys + i), b = __ldg(keys + i + step), c = __ldg(keys + i + 2 * step),
                 d = __ldg(keys + i + 3 * step);
    sum += a.x + a.y + a.z + a.w + b.x + b.y + b.z + b.w + c.x + c.y + c.z + c.w + d.x + d.y + d.z + d.w;
  }
  for (; i < vectors; i += step) sum += keys[i].x;
  if (sum == 1.2345F) *sink = sum;
}

template <class T>
struct Memory {
  T* data = nullptr;
  explicit Memory(std::size_t count) { check(cudaMalloc(&data, count * sizeof(T) + 1)); }
  ~Memory() { cudaFree(data); }
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;
};

struct Arguments {
  int elements = 30;
  std::vector<int> q;  // empty: as many rows as --elements leaves
  std::vector<int> n = {14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24};
  std::vector<int> k = {1, 8, 32, 128, 512, 2048, 16384};
  std::vector<std::string> values = {kValueNames, kValueNames + value_kinds};
  std::vector<std::string> select = {"quick"};
  int trials = 5;
  bool fresh = false;
  double seconds = 1;
  bool cpu = false, columns = false;
  std::string json;
};

std::vector<std::string> words(const char* text) {
  std::vector<std::string> result;
  std::istringstream stream(text);
  for (std::string word; std::getline(stream, word, ',');) result.push_back(word);
  return result;
}
std::vector<int> numbers(const char* text) {
  std::vector<int> result;
  for (const auto& word : words(text)) result.push_back(std::atoi(word.c_str()));
  return result;
}

Arguments parse(int count, char** text) {
  Arguments a;
  for (int i = 1; i < count; ++i) {
    const std::string name = text[i];
    if (name == "--columns" || name == "--fresh" || name == "--cpu") {
      (name == "--cpu" ? a.cpu : name == "--fresh" ? a.fresh : a.columns) = true;
      continue;
    }
    const char* value = i + 1 < count ? text[++i] : "";
    if (name == "--elements") {
      a.elements = std::atoi(value);
    } else if (name == "--q") {
      a.q = numbers(value);
    } else if (name == "--n") {
      a.n = numbers(value);
    } else if (name == "--k") {
      a.k = numbers(value);
    } else if (name == "--values") {
      a.values = words(value);
    } else if (name == "--select") {
      a.select = words(value);
    } else if (name == "--trials") {
      a.trials = std::max(1, std::atoi(value));
    } else if (name == "--seconds") {
      a.seconds = std::atof(value);
    } else if (name == "--json") {
      a.json = value;
    } else {
      std::fprintf(stderr, "select_bench: %s is no option\n", name.c_str());
      std::exit(2);
    }
  }
  return a;
}

// "quick/8": rows with 8 warps each, whatever the plan would choose.
struct Named {
  std::string name;
  std::size_t (*bytes)(const SelectJob&, int);
  void (*run)(const SelectJob&, int, void*);
  int argument;
};

Named selector(const std::string& name) {
  if (name.rfind("quick/", 0) == 0)
    return {name, [](const SelectJob& job, int warps) { return quick_rows_workspace(job, warps, device_limits()); },
            [](const SelectJob& job, int warps, void* w) { quick_rows(job, warps, w, nullptr); },
            std::atoi(name.c_str() + 6)};
  const auto all = selectors();
  for (std::size_t i = 0; i < all.size(); ++i)
    if (name == all[i].name)
      return {name,
              [](const SelectJob& job, int which) {
                return selectors()[static_cast<std::size_t>(which)].workspace_bytes(job, device_limits());
              },
              [](const SelectJob& job, int which, void* w) {
                selectors()[static_cast<std::size_t>(which)].run(job, w, nullptr);
              },
              static_cast<int>(i)};
  std::fprintf(stderr, "select_bench: %s is no selector\n", name.c_str());
  std::exit(2);
}

struct Times {
  double ms = 0;      // the median
  double spread = 0;  // standard deviation / mean
  int trials = 0;
};

// before(t): ahead of trial t, outside the clock.
Times timed(const Arguments& a, const std::function<void(int)>& before, const std::function<void()>& run) {
  cudaEvent_t begin, end;
  check(cudaEventCreate(&begin));
  check(cudaEventCreate(&end));
  before(0);
  run();
  check(cudaDeviceSynchronize());
  std::vector<double> times;
  double all = 0;
  while (static_cast<int>(times.size()) < a.trials && all < 1e3 * a.seconds) {
    before(static_cast<int>(times.size()) + 1);
    float ms = 0;
    check(cudaEventRecord(begin));
    run();
    check(cudaEventRecord(end));
    check(cudaEventSynchronize(end));
    check(cudaEventElapsedTime(&ms, begin, end));
    times.push_back(static_cast<double>(ms));
    all += times.back();
  }
  cudaEventDestroy(begin);
  cudaEventDestroy(end);
  const auto count = static_cast<double>(times.size());
  double squares = 0;
  for (const double ms : times) squares += (ms - all / count) * (ms - all / count);
  std::sort(times.begin(), times.end());
  return {times[times.size() / 2], std::sqrt(squares / count) / (all / count), static_cast<int>(times.size())};
}

// Keys on the device.
struct Shape {
  std::int64_t length, lists;
  Values values;
  std::int64_t keys() const { return length * lists; }
};

class Bench {
 public:
  Bench(const Arguments& a, std::int64_t most_keys, int processors)
      : a_(a), tile_(static_cast<std::size_t>(most_keys)), sink_(1), processors_(processors) {}

  void fill_with(const Shape& s, std::uint64_t seed) {
    fill<<<4096, 256>>>(tile_.data, s.keys(), a_.columns ? s.lists : s.length, !a_.columns, s.values, seed);
    check_launch();
  }

  double read_ms(const Shape& s) {
    return timed(
               a_, [](int) {},
               [&] {
                 read_only<<<static_cast<unsigned>(processors_ * 4), 512>>>(reinterpret_cast<const float4*>(tile_.data),
                                                                            s.keys() / 4, sink_.data);
               })
        .ms;
  }

  // None: there is no room for what it works in.
  std::optional<Times> select_ms(const Shape& s, const Named& selector, int k) try {
    SelectJob job;
    job.tile = tile_.data;
    job.ld = a_.columns ? s.lists : s.length;
    job.rows = static_cast<int>(a_.columns ? s.length : s.lists);
    job.columns = static_cast<int>(a_.columns ? s.lists : s.length);
    job.side = a_.columns ? Side::columns : Side::rows;
    job.capacity = k;
    const Memory<Candidate> out(static_cast<std::size_t>(s.lists) * static_cast<std::size_t>(k));
    const Memory<std::int32_t> counts(static_cast<std::size_t>(s.lists));
    const Memory<char> workspace(selector.bytes(job, selector.argument));
    job.out = out.data;
    job.counts = counts.data;
    return timed(
        a_,
        [&](int trial) {
          if (a_.fresh) fill_with(s, static_cast<std::uint64_t>(trial));
        },
        [&] { selector.run(job, selector.argument, workspace.data); });
  } catch (const CudaError& e) {
    if (e.kind() != CudaError::Kind::out_of_memory) throw;
    return {};
  }

  // Processor time of as many rows as there is time for, counted up to all: keys with their places, compared by keys
  // alone, as selector_bench has them.
  double nth_element_ms(const Shape& s, int k) {
    constexpr double enough = 0.2;
    const auto now = [] {
      timespec t{};
      clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
      return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
    };
    std::vector<float> keys(static_cast<std::size_t>(s.length));
    std::vector<Candidate> row(keys.size());
    double seconds = 0;
    std::int64_t done = 0;
    for (; done < s.lists && seconds < enough; ++done) {
      check(cudaMemcpy(keys.data(), tile_.data + done * s.length, keys.size() * sizeof(float), cudaMemcpyDeviceToHost));
      const double start = now();
      for (std::size_t i = 0; i < row.size(); ++i) row[i] = {keys[i], static_cast<std::uint32_t>(i)};
      std::nth_element(row.begin(), row.begin() + k - 1, row.end(),
                       [](const Candidate& x, const Candidate& y) { return x.low < y.low; });
      seconds += now() - start;
    }
    return 1e3 * seconds * static_cast<double>(s.lists) / static_cast<double>(done);
  }

 private:
  const Arguments& a_;
  Memory<float> tile_;
  Memory<float> sink_;
  int processors_;
};

class Json {
 public:
  Json(const std::string& path, const char* device) : file_(path.empty() ? nullptr : std::fopen(path.c_str(), "w")) {
    if (file_) std::fprintf(file_, "{\"device\": \"%s\", \"rows\": [", device);
  }
  ~Json() {
    if (!file_) return;
    std::fprintf(file_, "\n]}\n");
    std::fclose(file_);
  }
  Json(const Json&) = delete;
  Json& operator=(const Json&) = delete;

  void line(const Shape& s, int k, const std::string& name, const Times& t, double read_ms) {
    if (!file_) return;
    std::fprintf(file_,
                 "%s\n{\"values\": \"%s\", \"selector\": \"%s\", \"N\": %lld, \"Q\": %lld, \"k\": %d, \"ms\": %.5f, "
                 "\"spread\": %.5f, \"trials\": %d, \"read_ms\": %.5f}",
                 first_ ? "" : ",", kValueNames[s.values], name.c_str(), static_cast<long long>(s.length),
                 static_cast<long long>(s.lists), k, t.ms, t.spread, t.trials, read_ms);
    first_ = false;
  }

 private:
  std::FILE* file_;
  bool first_ = true;
};

void print_head(const Arguments& a, const std::vector<Named>& chosen) {
  std::string titles = "| values | N | Q | k | read ms |", rule = "| :--- | ---: | ---: | ---: | ---: |";
  const auto add = [&](const std::string& title) {
    titles += " " + title + " |";
    rule += " ---: |";
  };
  for (const Named& s : chosen) {
    add(s.name + " ms");
    add("of read");
    add("sd");
    add(&s == &chosen.front() ? "us a row" : "/ " + chosen.front().name);
  }
  if (a.cpu) {
    add("nth_element ms");
    add("/ " + chosen.front().name);
  }
  std::printf("%s\n%s\n", titles.c_str(), rule.c_str());
}

// All k of one shape. A selector that was too slow for a k is not asked for a larger one.
void run_shape(const Arguments& a, const std::vector<Named>& chosen, const Shape& s, Bench& bench, Json& json) {
  bench.fill_with(s, 0);
  const double read_ms = bench.read_ms(s);
  std::vector<bool> slow(chosen.size());
  for (const int k : a.k) {
    if (k > s.length) continue;
    std::printf("| %s | %lld | %lld | %d | %.4f |", kValueNames[s.values], static_cast<long long>(s.length),
                static_cast<long long>(s.lists), k, read_ms);
    double first_ms = 0;
    for (std::size_t c = 0; c < chosen.size(); ++c) {
      std::optional<Times> t;
      if (!slow[c]) t = bench.select_ms(s, chosen[c], k);
      if (!t) {
        std::printf(" | | | |");
        continue;
      }
      slow[c] = t->ms > 1e3 * a.seconds;
      if (c == 0) first_ms = t->ms;
      std::printf(" %.4f | %.1f %% | %.2f %% |", t->ms, 100 * read_ms / t->ms, 100 * t->spread);
      if (c == 0)
        std::printf(" %.3f |", 1e3 * t->ms / static_cast<double>(s.lists));
      else if (first_ms > 0)
        std::printf(" %.1f |", t->ms / first_ms);
      else
        std::printf(" |");
      json.line(s, k, chosen[c].name, *t, read_ms);
    }
    if (a.cpu) {
      const double ms = bench.nth_element_ms(s, k);
      std::printf(first_ms > 0 ? " %.1f | %.0f |" : " %.1f | |", ms, ms / first_ms);
      json.line(s, k, "nth_element", {ms, 0, 1}, read_ms);
    }
    std::printf("\n");
    std::fflush(stdout);
  }
}

}  // namespace

int main(int count, char** text) try {
  const Arguments a = parse(count, text);
  if (a.cpu && a.columns) {
    std::fprintf(stderr, "select_bench: --cpu takes rows\n");
    return 2;
  }
  std::vector<Named> chosen;
  for (const auto& name : a.select) chosen.push_back(selector(name));
  std::vector<Values> kinds;
  for (const auto& values : a.values) {
    const auto kind = std::find(kValueNames, kValueNames + value_kinds, values) - kValueNames;
    if (kind == value_kinds) {
      std::fprintf(stderr, "select_bench: %s are no values\n", values.c_str());
      return 2;
    }
    kinds.push_back(static_cast<Values>(kind));
  }
  int devices = 0;
  if (cudaGetDeviceCount(&devices) != cudaSuccess || devices == 0) {
    std::printf("no CUDA device\n");
    return 77;
  }
  cudaDeviceProp device{};
  check(cudaGetDeviceProperties(&device, 0));
  int driver = 0, runtime = 0;
  check(cudaDriverGetVersion(&driver));
  check(cudaRuntimeGetVersion(&runtime));
  std::printf("%s, driver %d, runtime %d; %s; keys fp32\n\n`select_bench", device.name, driver, runtime,
              a.columns ? "lists are columns" : "lists are rows");
  for (int i = 1; i < count; ++i) std::printf(" %s", text[i]);
  std::printf("`\n\n");

  std::vector<Shape> shapes;
  std::int64_t most_keys = 0;
  for (const Values kind : kinds)
    for (const int n : a.n)
      for (const int q : a.q.empty() ? std::vector<int>{a.elements - n} : a.q)
        if (q >= 0) shapes.push_back({std::int64_t{1} << n, std::int64_t{1} << q, kind});
  for (const Shape& s : shapes) most_keys = std::max(most_keys, s.keys());
  Bench bench(a, most_keys, device.multiProcessorCount);
  Json json(a.json, device.name);
  print_head(a, chosen);
  for (const Shape& s : shapes) run_shape(a, chosen, s, bench, json);
  return 0;
} catch (const CudaError& e) {
  std::fprintf(stderr, "select_bench: %s\n", e.what());
  return 1;
}

// Times of the selectors: Q x N keys, the k smallest of each of Q rows (or columns), beside a kernel that only reads
// the keys. A selector must read them once, so that kernel's time is the floor; `share` is floor / time.
//   select_bench [--elements 2^e] [--slow 2^e] [--n e,e,..] [--k k,k,..] [--values v,v,..] [--select s,s,..]
//                [--columns] [--json FILE]
// e are exponents of 2. insertion and batch_sort take --slow elements, quick takes --elements: each line says how many,
// and compares with a read of as many. Medians of 5 after a warm-up, by events.
#include <cuda_runtime.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <limits>
#include <sstream>
#include <string>
#include <vector>

#include "backend/cuda/check.cuh"
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

// by_row: a list is a row of `columns` keys; else a column.
__global__ void fill(float* out, std::int64_t count, std::int64_t columns, bool by_row, Values values) {
  for (std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x; i < count;
       i += static_cast<std::int64_t>(gridDim.x) * blockDim.x) {
    const auto e = static_cast<float>(by_row ? i % columns : i / columns);
    const float h = hashed(static_cast<std::uint64_t>(i));
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

float median_ms(const std::function<void()>& run) {
  cudaEvent_t begin, end;
  check(cudaEventCreate(&begin));
  check(cudaEventCreate(&end));
  run();
  check(cudaDeviceSynchronize());
  std::vector<float> times(5);
  for (float& ms : times) {
    check(cudaEventRecord(begin));
    run();
    check(cudaEventRecord(end));
    check(cudaEventSynchronize(end));
    check(cudaEventElapsedTime(&ms, begin, end));
  }
  cudaEventDestroy(begin);
  cudaEventDestroy(end);
  std::sort(times.begin(), times.end());
  return times[2];
}

struct Arguments {
  int elements = 30, slow = 26;
  std::vector<int> n = {14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24};
  std::vector<int> k = {1, 8, 32, 128, 512, 2048, 16384};
  std::vector<std::string> values = {kValueNames, kValueNames + value_kinds};
  std::vector<std::string> select = {"quick", "batch_sort", "insertion"};
  bool columns = false;
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
    if (name == "--columns") {
      a.columns = true;
      continue;
    }
    const char* value = i + 1 < count ? text[++i] : "";
    if (name == "--elements") {
      a.elements = std::atoi(value);
    } else if (name == "--slow") {
      a.slow = std::atoi(value);
    } else if (name == "--n") {
      a.n = numbers(value);
    } else if (name == "--k") {
      a.k = numbers(value);
    } else if (name == "--values") {
      a.values = words(value);
    } else if (name == "--select") {
      a.select = words(value);
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
  bool slow;
  std::size_t (*bytes)(const SelectJob&, int);
  void (*run)(const SelectJob&, int, void*);
  int argument;
};

Named selector(const std::string& name) {
  if (name.rfind("quick/", 0) == 0)
    return {name, false, quick_rows_workspace,
            [](const SelectJob& job, int warps, void* w) { quick_rows(job, warps, w, nullptr); },
            std::atoi(name.c_str() + 6)};
  const auto all = selectors();
  for (std::size_t i = 0; i < all.size(); ++i)
    if (name == all[i].name)
      return {name, name != "quick",
              [](const SelectJob& job, int which) {
                return selectors()[static_cast<std::size_t>(which)].workspace_bytes(job);
              },
              [](const SelectJob& job, int which, void* w) {
                selectors()[static_cast<std::size_t>(which)].run(job, w, nullptr);
              },
              static_cast<int>(i)};
  std::fprintf(stderr, "select_bench: %s is no selector\n", name.c_str());
  std::exit(2);
}

}  // namespace

int main(int count, char** text) {
  const Arguments a = parse(count, text);
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
  std::printf("%s, driver %d, runtime %d; %s; keys fp32 %s", device.name, driver, runtime,
              a.columns ? "lists are columns" : "lists are rows", "");
  for (int i = 0; i < count; ++i) std::printf(" %s", text[i]);
  std::printf("\n");

  const std::int64_t all = std::int64_t{1} << a.elements;
  Memory<float> tile(static_cast<std::size_t>(all)), sink(1);
  std::FILE* json = a.json.empty() ? nullptr : std::fopen(a.json.c_str(), "w");
  if (json) std::fprintf(json, "{\"device\": \"%s\", \"rows\": [", device.name);
  bool first = true;

  const auto read_ms = [&](std::int64_t elements) {
    return median_ms([&] {
      read_only<<<static_cast<unsigned>(device.multiProcessorCount * 4), 512>>>(
          reinterpret_cast<const float4*>(tile.data), elements / 4, sink.data);
    });
  };

  std::printf("%-10s %-10s %5s %9s %6s %9s %9s %7s\n", "values", "selector", "N", "Q", "k", "ms", "read ms", "share");
  for (const auto& values : a.values) {
    const auto kind = std::find(kValueNames, kValueNames + value_kinds, values) - kValueNames;
    if (kind == value_kinds) {
      std::fprintf(stderr, "select_bench: %s are no values\n", values.c_str());
      return 2;
    }
    for (const int exponent : a.n) {
      const std::int64_t length = std::int64_t{1} << exponent;
      for (const bool slow : {false, true}) {
        const std::int64_t elements = slow ? std::min(all, std::int64_t{1} << a.slow) : all;
        const std::int64_t lists = elements / length;
        if (lists == 0) continue;
        bool filled = false;
        float floor_ms = 0;
        for (const auto& name : a.select) {
          const Named s = selector(name);
          if (s.slow != slow) continue;
          if (!filled) {
            fill<<<4096, 256>>>(tile.data, elements, a.columns ? lists : length, !a.columns, static_cast<Values>(kind));
            check_launch();
            floor_ms = read_ms(elements);
            filled = true;
          }
          for (const int k : a.k) {
            if (k > length) continue;
            if (name == "insertion" && k > 128) continue;  // O(k) a candidate: minutes
            SelectJob job;
            job.tile = tile.data;
            job.ld = a.columns ? lists : length;
            job.rows = static_cast<int>(a.columns ? length : lists);
            job.columns = static_cast<int>(a.columns ? lists : length);
            job.side = a.columns ? Side::columns : Side::rows;
            job.capacity = k;
            Memory<Candidate> out(static_cast<std::size_t>(lists) * static_cast<std::size_t>(k));
            Memory<std::int32_t> counts(static_cast<std::size_t>(lists));
            Memory<char> workspace(s.bytes(job, s.argument));
            job.out = out.data;
            job.counts = counts.data;
            const float ms = median_ms([&] { s.run(job, s.argument, workspace.data); });
            std::printf("%-10s %-10s 2^%-3d %9lld %6d %9.3f %9.3f %6.1f%%\n", values.c_str(), name.c_str(), exponent,
                        static_cast<long long>(lists), k, static_cast<double>(ms), static_cast<double>(floor_ms),
                        100.0 * static_cast<double>(floor_ms / ms));
            if (json)
              std::fprintf(json,
                           "%s\n{\"values\": \"%s\", \"selector\": \"%s\", \"N\": %lld, \"Q\": %lld, \"k\": %d, "
                           "\"ms\": %.4f, \"read_ms\": %.4f}",
                           first ? "" : ",", values.c_str(), name.c_str(), static_cast<long long>(length),
                           static_cast<long long>(lists), k, static_cast<double>(ms), static_cast<double>(floor_ms));
            first = false;
            std::fflush(stdout);
          }
        }
      }
    }
  }
  if (json) {
    std::fprintf(json, "\n]}\n");
    std::fclose(json);
  }
  return 0;
}

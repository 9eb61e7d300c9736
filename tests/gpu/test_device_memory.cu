// Rows, queries, results and graphs in device and managed memory through the public API: the bits of host memory;
// nothing before the caller's stream is done; its device, its last error and its other streams as they were.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstring>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "core/dtype.h"
#include "knng.h"
#include "tests/gpu/gpu.cuh"
#include "tests/gpu/graphs.cuh"
#include "tests/gpu/spin.cuh"

using gpu::built;
using gpu::check;
using gpu::expect;
using gpu::handle;
using gpu::kSecond;
using gpu::Result;
using gpu::spin;
using gpu::taken;

namespace {

int devices = 0;

constexpr std::int32_t kRowTypes[] = {KNNG_F32, KNNG_F64, KNNG_F16, KNNG_BF16, KNNG_U8,  KNNG_I8,  KNNG_U16,
                                      KNNG_I16, KNNG_U32, KNNG_I32, KNNG_U64,  KNNG_I64, KNNG_BOOL};

struct Layout {
  const char* name;
  std::int64_t row_stride, col_stride, first, size;
};

std::vector<Layout> layouts(std::int64_t n, std::int64_t d) {
  return {{"packed", d, 1, 0, n * d},
          {"by columns", 1, n, 0, n * d},
          {"with gaps", d + 3, 1, 2, n * (d + 3) + 2},
          {"every other", 2 * d, 2, 1, 2 * n * d + 1},
          {"upside down", -d, 1, (n - 1) * d, n * d}};
}

// Values that every type holds exactly, but for bools: packed rows on the host.
struct Rows {
  std::int32_t dtype;
  std::int64_t n, d, bytes;
  std::vector<std::byte> data;

  Rows(std::int32_t type, std::int64_t rows, std::int64_t dim, unsigned seed)
      : dtype(type), n(rows), d(dim), bytes((type & 0xff) / 8), data(static_cast<std::size_t>(rows * dim * bytes)) {
    for (std::int64_t e = 0; e < n * d; ++e) {
      seed = seed * 1664525u + 1013904223u;
      put(e, static_cast<double>(seed >> 25));
    }
  }
  void put(std::int64_t e, double x) {
    std::byte* const at = data.data() + e * bytes;
    libknng::visit_row_dtype(dtype, [&](auto* tag) {
      using T = std::remove_cv_t<std::remove_pointer_t<decltype(tag)>>;
      T value;
      if constexpr (std::is_same_v<T, libknng::Half>)
        value = libknng::half_from_double(x);
      else if constexpr (std::is_same_v<T, libknng::BFloat>)
        value = libknng::bfloat_from_double(x);
      else if constexpr (std::is_same_v<T, libknng::Bool>)
        value.byte = x >= 64;
      else
        value = static_cast<T>(x);
      std::memcpy(at, &value, sizeof value);
    });
  }
  knng_matrix matrix() const { return knng_packed(dtype, n, d, data.data()); }
};

// A block of device or managed memory with rows in it. The current device is as it was.
class Block {
 public:
  Block(std::int32_t space, int device, std::int64_t bytes) {
    int before = 0;
    check(cudaGetDevice(&before));
    check(cudaSetDevice(device));
    if (space == KNNG_CUDA)
      check(cudaMalloc(&data_, static_cast<std::size_t>(bytes)));
    else
      check(cudaMallocManaged(&data_, static_cast<std::size_t>(bytes)));
    check(cudaSetDevice(before));
  }
  ~Block() { cudaFree(data_); }
  Block(const Block&) = delete;
  Block& operator=(const Block&) = delete;
  void* get() const { return data_; }
  void free() {
    check(cudaFree(data_));
    data_ = nullptr;
  }

 private:
  void* data_ = nullptr;
};

std::vector<std::byte> laid_out(const Rows& rows, const Layout& l) {
  std::vector<std::byte> memory(static_cast<std::size_t>(l.size * rows.bytes));
  for (std::int64_t i = 0; i < rows.n; ++i)
    for (std::int64_t t = 0; t < rows.d; ++t)
      std::memcpy(memory.data() + (l.first + i * l.row_stride + t * l.col_stride) * rows.bytes,
                  rows.data.data() + (i * rows.d + t) * rows.bytes, static_cast<std::size_t>(rows.bytes));
  return memory;
}

knng_matrix matrix_in(void* block, std::int32_t space, int device, std::int32_t dtype, std::int64_t n, std::int64_t d,
                      const Layout& l) {
  knng_matrix m = knng_packed(dtype, n, d, static_cast<std::byte*>(block) + l.first * ((dtype & 0xff) / 8));
  m.space = space;
  m.device = device;
  m.row_stride = l.row_stride;
  m.col_stride = l.col_stride;
  return m;
}

__global__ void copy_bytes(const unsigned char* from, unsigned char* to, long long count) {
  for (long long i = blockIdx.x * blockDim.x + threadIdx.x; i < count; i += gridDim.x * blockDim.x) to[i] = from[i];
}

void rows_of_every_kind(std::int64_t n, std::int64_t d) {
  std::vector<std::int32_t> dtypes(std::begin(kRowTypes), std::end(kRowTypes));
  if (small_run()) dtypes = {KNNG_F32, KNNG_BF16, KNNG_I8, KNNG_U64, KNNG_BOOL};
  for (const std::int32_t dtype : dtypes) {
    const Rows rows(dtype, n, d, 5u), queries(dtype, 40, d, 6u);
    for (const char* metric : {"sqeuclidean", "manhattan", "spearman"}) {
      knng* cpu = handle("cpu", metric);
      const knng_matrix host = rows.matrix(), host_queries = queries.matrix();
      knng_add(cpu, &host, nullptr, nullptr);
      const Result expected = built(cpu, 9, "cpu");
      knng_graph* g = nullptr;
      expect(knng_query(cpu, &host_queries, nullptr, 0, 9, nullptr, &g, nullptr) == KNNG_OK, "cpu: %s",
             knng_last_error());
      const Result expected_queries = taken(g);
      knng_destroy(cpu);
      for (const Layout& l : layouts(n, d))
        for (const std::int32_t space : {KNNG_CUDA, KNNG_MANAGED})
          for (int owner = 0; owner < std::min(devices, 2); ++owner) {
            const std::string what = std::string(metric) + " " + libknng::dtype_name(dtype) + " " + l.name + " space " +
                                     std::to_string(space) + " of device " + std::to_string(owner);
            const std::vector<std::byte> memory = laid_out(rows, l);
            const Block block(space, owner, static_cast<std::int64_t>(memory.size()));
            gpu::copy(block.get(), memory.data(), memory.size());
            check(cudaDeviceSynchronize());
            knng_matrix m = matrix_in(block.get(), space, owner, dtype, n, d, l);
            if (l.first == 0) m.space = KNNG_ANY;
            for (const char* set : {"cuda:0", "cuda:0,1", "cuda:1,0"}) {
              if (devices < 2 && std::strcmp(set, "cuda:0") != 0) continue;
              knng* h = handle(set, metric);
              expect(knng_borrow(h, &m, nullptr, nullptr) == KNNG_OK, "%s: %s", what.c_str(), knng_last_error());
              expect(built(h, 9, what.c_str()) == expected, "%s on %s: another graph", what.c_str(), set);
              knng_destroy(h);
            }
            // Queries there, rows on the host.
            const Layout lq = layouts(queries.n, d)[l.first == 0 ? 1 : 3];
            const std::vector<std::byte> query_memory = laid_out(queries, lq);
            const Block query_block(space, owner, static_cast<std::int64_t>(query_memory.size()));
            gpu::copy(query_block.get(), query_memory.data(), query_memory.size());
            check(cudaDeviceSynchronize());
            const knng_matrix q = matrix_in(query_block.get(), space, owner, dtype, queries.n, d, lq);
            knng* h = handle("cuda:0", metric);
            knng_add(h, &host, nullptr, nullptr);
            expect(knng_query(h, &q, nullptr, 0, 9, nullptr, &g, nullptr) == KNNG_OK, "%s: %s", what.c_str(),
                   knng_last_error());
            expect(taken(g) == expected_queries, "%s: other answers to queries", what.c_str());
            knng_destroy(h);
          }
    }
  }
}

std::string text_of(const knng_graph* g, const char* name) {
  char text[64] = "";
  knng_graph_text(g, name, text, sizeof text, nullptr, nullptr);
  return text;
}

// Hashes are found on the device: of rows of every length that XXH3 has a way of its own for.
void fingerprints() {
  std::vector<std::int64_t> dims = {1,  2,  3,  4,  5,  7,  8,   9,   12,  13,  15,  16,  17,  18,  23,  29,
                                    30, 31, 32, 33, 63, 64, 127, 128, 129, 130, 136, 137, 255, 256, 257, 700};
  if (small_run()) dims = {1, 2, 7, 20, 33, 137};
  for (const std::int32_t dtype : kRowTypes)
    for (const std::int64_t d : dims) {
      Rows rows(dtype, 40, d, 21u);
      if (dtype >> 8 == 2 || dtype == KNNG_BF16) {  // float, bfloat
        rows.put(3 * d, -0.0);
        rows.put(5 * d, -0.1);
      }
      const auto print = [&](const knng_matrix& m, const char* device) {
        knng* h = handle(device, "sqeuclidean");
        knng_graph* g = nullptr;
        expect(knng_borrow(h, &m, nullptr, nullptr) == KNNG_OK && knng_build(h, 3, nullptr, &g, nullptr) == KNNG_OK,
               "%s", knng_last_error());
        const std::string text = g ? text_of(g, "fingerprint") : "";
        knng_graph_destroy(g);
        knng_destroy(h);
        return text;
      };
      const std::string expected = print(rows.matrix(), "cpu");
      const std::vector<Layout> ways = layouts(rows.n, d);
      for (const Layout& l : {ways[0], ways[1], ways[4]}) {
        const std::vector<std::byte> memory = laid_out(rows, l);
        const Block block(KNNG_CUDA, devices - 1, static_cast<std::int64_t>(memory.size()));
        gpu::copy(block.get(), memory.data(), memory.size());
        check(cudaDeviceSynchronize());
        const std::string got = print(matrix_in(block.get(), KNNG_CUDA, devices - 1, dtype, rows.n, d, l), "cuda:0");
        expect(expected.size() == 32 && got == expected, "%s x %lld, %s: fingerprint %s instead of %s",
               libknng::dtype_name(dtype), static_cast<long long>(d), l.name, got.c_str(), expected.c_str());
      }
    }
}

// Few of the rows are different; some are on the host, some on a device, some on another, if there is one.
void equal_rows() {
  const std::int64_t n = small_run() ? 400 : 9000, d = 24, k = 12;
  Rows rows(KNNG_F32, n, d, 31u);
  for (std::int64_t i = n / 3; i < n; ++i)  // each of the first third is there three times
    std::memcpy(rows.data.data() + i * d * 4, rows.data.data() + i * 7 % (n / 3) * d * 4, d * 4);
  std::memset(rows.data.data(), 0, d * 4);
  std::memset(rows.data.data() + (n - 1) * d * 4, 0, d * 4);
  for (const char* metric : {"euclidean", "cosine", "manhattan"}) {
    const knng_matrix all = rows.matrix();
    knng* cpu = handle("cpu", metric);
    knng_add(cpu, &all, nullptr, nullptr);
    knng_graph* g = nullptr;
    expect(knng_build(cpu, k, nullptr, &g, nullptr) == KNNG_OK, "cpu: %s", knng_last_error());
    const std::string print = text_of(g, "fingerprint");
    double expected_duplicates = 0, duplicates = 0, pairs = 0;
    knng_graph_stat(g, "duplicates", &expected_duplicates, nullptr);
    const Result expected = taken(g);
    knng_destroy(cpu);
    const std::int64_t ends[] = {n / 4, n / 2, n};
    std::vector<std::unique_ptr<Block>> blocks;
    knng* h = handle(devices > 1 ? "cuda:1,0" : "cuda:0", metric);
    for (int part = 0; part < 3; ++part) {
      const std::int64_t first = part == 0 ? 0 : ends[part - 1], count = ends[part] - first;
      const std::byte* const at = rows.data.data() + first * d * 4;
      knng_matrix m = knng_packed(KNNG_F32, count, d, at);
      if (part != 1) {
        const int owner = part == 0 ? devices - 1 : 0;
        const Layout l = layouts(count, d)[0];
        blocks.push_back(std::make_unique<Block>(KNNG_CUDA, owner, count * d * 4));
        gpu::copy(blocks.back()->get(), at, static_cast<std::size_t>(count * d * 4));
        m = matrix_in(blocks.back()->get(), KNNG_CUDA, owner, KNNG_F32, count, d, l);
      }
      check(cudaDeviceSynchronize());
      expect(knng_borrow(h, &m, nullptr, nullptr) == KNNG_OK, "part %d: %s", part, knng_last_error());
    }
    expect(knng_build(h, k, nullptr, &g, nullptr) == KNNG_OK, "%s: %s", metric, knng_last_error());
    knng_graph_stat(g, "duplicates", &duplicates, nullptr);
    knng_graph_stat(g, "pairs", &pairs, nullptr);
    const double half = static_cast<double>(n * (n - 1) / 2);
    expect(duplicates == expected_duplicates && duplicates > 0.6 * static_cast<double>(n), "%s: %g duplicates, not %g",
           metric, duplicates, expected_duplicates);
    expect(pairs < half / 4, "%s: %g pairs compared of %g", metric, pairs, half);
    expect(text_of(g, "fingerprint") == print, "%s: another fingerprint", metric);
    expect(taken(g) == expected, "%s: another graph of equal rows", metric);
    knng_set(h, "graph", "device", nullptr);
    expect(built(h, k, metric) == expected, "%s: another graph of equal rows on a device", metric);
    knng_destroy(h);
  }
}

void work_comes_after_the_stream() {
  const Rows rows(KNNG_F32, 600, 24, 7u);
  const Layout l = layouts(rows.n, rows.d)[0];
  const knng_matrix host = rows.matrix();
  knng* cpu = handle("cpu", "euclidean");
  knng_add(cpu, &host, nullptr, nullptr);
  const Result expected = built(cpu, 8, "cpu");
  knng_destroy(cpu);
  const gpu::Array<std::byte> source(rows.data);
  cudaStream_t own = nullptr;
  check(cudaStreamCreateWithFlags(&own, cudaStreamNonBlocking));
  knng* warm = handle("cuda:0", "euclidean");  // so that nothing is loaded while the kernel spins
  knng_add(warm, &host, nullptr, nullptr);
  built(warm, 8, "warm");
  knng_destroy(warm);
  spin<<<1, 1, 0, own>>>(0);
  copy_bytes<<<1, 1, 0, own>>>(nullptr, nullptr, 0);
  check(cudaStreamSynchronize(own));
  // Under compute-sanitizer, where runs are small, kernels of several streams run one after the other.
  const bool apart = !small_run();
  for (const bool legacy : {false, true}) {
    const Block block(KNNG_CUDA, 0, l.size * 4);
    gpu::set(block.get(), 0xff, static_cast<std::size_t>(l.size * 4));  // NaN
    check(cudaDeviceSynchronize());
    const cudaStream_t stream = legacy ? nullptr : own;
    spin<<<1, 1, 0, stream>>>(kSecond);
    copy_bytes<<<64, 256, 0, stream>>>(reinterpret_cast<unsigned char*>(source.get()),
                                       static_cast<unsigned char*>(block.get()), l.size * 4);
    check(cudaGetLastError());
    knng_matrix m = matrix_in(block.get(), KNNG_CUDA, 0, rows.dtype, rows.n, rows.d, l);
    knng* h = handle("cuda:0", "euclidean");
    if (apart) expect(knng_borrow(h, &m, nullptr, nullptr) == KNNG_ERR_DATA, "what is not ready was not read at once");
    m.stream = legacy ? 1 : reinterpret_cast<std::uintptr_t>(own);
    expect(knng_borrow(h, &m, nullptr, nullptr) == KNNG_OK, "after the stream: %s", knng_last_error());
    expect(built(h, 8, "after the stream") == expected, "after the stream: another graph");
    knng_destroy(h);
  }
  // A stream of somebody else's goes on meanwhile.
  const Block block(KNNG_CUDA, 0, l.size * 4);
  gpu::copy(block.get(), rows.data.data(), rows.data.size());
  check(cudaDeviceSynchronize());
  spin<<<1, 1, 0, own>>>(2 * kSecond);
  const knng_matrix m = matrix_in(block.get(), KNNG_CUDA, 0, rows.dtype, rows.n, rows.d, l);
  knng* h = handle("cuda:0", "euclidean");
  expect(knng_borrow(h, &m, nullptr, nullptr) == KNNG_OK, "beside: %s", knng_last_error());
  expect(!apart || cudaStreamQuery(own) == cudaErrorNotReady, "knng_borrow() waited for another stream");
  expect(built(h, 8, "beside") == expected, "beside: another graph");
  expect(!apart || cudaStreamQuery(own) == cudaErrorNotReady, "a build waited for another stream");
  knng_destroy(h);
  check(cudaStreamSynchronize(own));
  check(cudaStreamDestroy(own));
}

void the_caller_is_left_alone() {
  Rows rows(KNNG_F32, 300, 20, 8u);
  const Layout l = layouts(rows.n, rows.d)[2];
  rows.put(123 * rows.d + 7, NAN);
  const std::vector<std::byte> memory = laid_out(rows, l);
  Block block(KNNG_CUDA, 0, static_cast<std::int64_t>(memory.size()));
  gpu::copy(block.get(), memory.data(), memory.size());
  check(cudaDeviceSynchronize());
  const int last = devices - 1;
  check(cudaSetDevice(last));
  // compute-sanitizer would tell of an error that is made on purpose.
  if (!small_run()) expect(cudaSetDevice(devices + 5) != cudaSuccess, "a device that is not there");
  const cudaError_t pending = cudaPeekAtLastError();
  knng_matrix m = matrix_in(block.get(), KNNG_CUDA, 0, rows.dtype, rows.n, rows.d, l);
  knng* h = handle("cuda:0", "euclidean");
  knng_error e = knng_no_error();
  expect(knng_borrow(h, &m, nullptr, &e) == KNNG_ERR_DATA, "NaN was taken");
  expect(e.row == 123 && e.col == 7, "NaN at row %lld, column %lld", static_cast<long long>(e.row),
         static_cast<long long>(e.col));
  m.device = devices + 3;
  expect(knng_borrow(h, &m, nullptr, nullptr) == KNNG_ERR_ARGUMENT, "memory of a device that is not there");
  m.device = 0;
  m.data = rows.data.data();
  expect(knng_borrow(h, &m, nullptr, nullptr) == KNNG_ERR_ARGUMENT, "host memory as a device's");
  const float zero = 0;
  gpu::copy(static_cast<std::byte*>(block.get()) + (l.first + 123 * l.row_stride + 7) * 4, &zero, sizeof zero);
  m = matrix_in(block.get(), KNNG_CUDA, 0, rows.dtype, rows.n, rows.d, l);
  expect(knng_borrow(h, &m, nullptr, nullptr) == KNNG_OK, "%s", knng_last_error());
  built(h, 5, "the build");
  int current = -1;
  check(cudaGetDevice(&current));
  expect(current == last, "device %d is current instead of %d", current, last);
  expect(cudaPeekAtLastError() == pending, "the caller's last error is another");
  cudaGetLastError();
  // Rows that are gone.
  block.free();
  knng_graph* g = nullptr;
  const knng_status status = knng_build(h, 5, nullptr, &g, nullptr);
  expect(status == KNNG_ERR_ARGUMENT && !g, "freed rows: status %d, %s", status, knng_last_error());
  knng_destroy(h);
  expect(cudaPeekAtLastError() == cudaSuccess, "an error stays behind");
  check(cudaSetDevice(0));
  const gpu::Array<int> works(100);
  check(cudaDeviceSynchronize());
}

void results_to_devices() {
  const Rows rows(KNNG_U8, 400, 12, 9u);
  const knng_matrix host = rows.matrix();
  knng* h = handle("cuda:0", "euclidean");
  knng_add(h, &host, nullptr, nullptr);
  knng_graph* g = nullptr;
  expect(knng_build(h, 7, nullptr, &g, nullptr) == KNNG_OK, "%s", knng_last_error());
  std::vector<std::int32_t> ids(400 * 7), got_ids;
  std::vector<double> values(400 * 7), got_values;
  knng_matrix host_ids = knng_packed(KNNG_I32, 400, 7, ids.data()),
              host_values = knng_packed(KNNG_F64, 400, 7, values.data());
  expect(knng_graph_copy(g, 1, &host_ids, &host_values, nullptr) == KNNG_OK, "%s", knng_last_error());
  for (const Layout& l : layouts(400, 7))
    for (const std::int32_t space : {KNNG_CUDA, KNNG_MANAGED}) {
      const Block of_ids(space, devices - 1, l.size * 4), of_values(space, 0, l.size * 8);
      knng_matrix to_ids = matrix_in(of_ids.get(), space, devices - 1, KNNG_I32, 400, 7, l);
      knng_matrix to_values = matrix_in(of_values.get(), space, 0, KNNG_F64, 400, 7, l);
      expect(knng_graph_copy(g, 1, &to_ids, &to_values, nullptr) == KNNG_OK, "%s: %s", l.name, knng_last_error());
      got_ids.resize(static_cast<std::size_t>(l.size));
      got_values.resize(static_cast<std::size_t>(l.size));
      gpu::copy(got_ids.data(), of_ids.get(), got_ids.size() * 4);
      gpu::copy(got_values.data(), of_values.get(), got_values.size() * 8);
      bool same = true;
      for (std::int64_t i = 0; i < 400; ++i)
        for (std::int64_t t = 0; t < 7; ++t) {
          const auto at = static_cast<std::size_t>(l.first + i * l.row_stride + t * l.col_stride);
          const auto e = static_cast<std::size_t>(i * 7 + t);
          same = same && got_ids[at] == ids[e] && got_values[at] == values[e];
        }
      expect(same, "%s, space %d: other numbers", l.name, space);
      knng_graph* again = nullptr;
      expect(knng_graph_import(&again, &to_ids, &to_values, 1, to_ids.rows, 1, nullptr) == KNNG_OK, "%s: %s", l.name,
             knng_last_error());
      knng_graph_destroy(again);
    }
  knng_graph_destroy(g);
  knng_destroy(h);
}

void graphs_that_stay() {
  const Rows rows(KNNG_F32, small_run() ? 300 : 20000, 20, 10u);
  const Layout l = layouts(rows.n, rows.d)[0];
  const std::int64_t k = small_run() ? 9 : 60;
  const Block block(KNNG_CUDA, 0, l.size * 4);
  gpu::copy(block.get(), rows.data.data(), rows.data.size());
  check(cudaDeviceSynchronize());
  const knng_matrix m = matrix_in(block.get(), KNNG_CUDA, 0, rows.dtype, rows.n, rows.d, l);
  for (const char* metric : {"euclidean", "manhattan"})
    for (const char* set : {"cuda:0", "cuda:1,0", "cuda:0,1"}) {
      if (devices < 2 && std::strcmp(set, "cuda:0") != 0) continue;
      knng* h = handle(set, metric);
      expect(knng_borrow(h, &m, nullptr, nullptr) == KNNG_OK, "%s", knng_last_error());
      const Result expected = built(h, k, set);
      const int owner = set[5] == '1' ? 1 : 0;
      check(cudaSetDevice(owner));
      const std::int64_t before = gpu::free_for_library(owner);
      std::int64_t after = 0;
      knng_set(h, "graph", "device", nullptr);
      knng_graph* g = nullptr;
      expect(knng_build(h, k, nullptr, &g, nullptr) == KNNG_OK, "%s", knng_last_error());
      knng_destroy(h);
      knng_matrix ids{}, values{};
      ids.struct_size = values.struct_size = sizeof ids;
      expect(knng_graph_view(g, &ids, &values, nullptr) == KNNG_OK, "%s", knng_last_error());
      expect(ids.space == KNNG_CUDA && ids.device == owner && values.device == owner, "%s: it is elsewhere", set);
      Result kept{std::vector<std::byte>(expected.ids.size()), std::vector<std::byte>(expected.values.size())};
      gpu::copy(kept.ids.data(), ids.data, kept.ids.size());
      gpu::copy(kept.values.data(), values.data, kept.values.size());
      expect(kept == expected, "%s, %s: another graph", metric, set);
      // To every device, with gaps.
      for (int device = 0; device < std::min(devices, 2); ++device)
        for (const Layout& way : layouts(rows.n, k)) {
          const Block of_ids(KNNG_CUDA, device, way.size * 8);
          knng_matrix to = matrix_in(of_ids.get(), KNNG_CUDA, device, KNNG_I64, rows.n, k, way);
          expect(knng_graph_copy(g, 0, &to, nullptr, nullptr) == KNNG_OK, "%s: %s", way.name, knng_last_error());
          std::vector<std::int64_t> got(static_cast<std::size_t>(way.size));
          gpu::copy(got.data(), of_ids.get(), got.size() * 8);
          const auto* const wanted = reinterpret_cast<const std::int64_t*>(expected.ids.data());
          bool same = true;
          for (std::int64_t i = 0; i < rows.n; ++i)
            for (std::int64_t t = 0; t < k; ++t)
              same = same && got[static_cast<std::size_t>(way.first + i * way.row_stride + t * way.col_stride)] ==
                                 wanted[i * k + t];
          expect(same, "%s to device %d, %s: other ids", set, device, way.name);
          // Converted, as on the way to the host.
          const std::int64_t entries = rows.n * k;
          std::vector<std::int32_t> host_ids(static_cast<std::size_t>(entries));
          std::vector<std::uint16_t> host_values(static_cast<std::size_t>(entries));
          knng_matrix here = knng_packed(KNNG_I32, rows.n, k, host_ids.data()),
                      values_here = knng_packed(KNNG_BF16, rows.n, k, host_values.data());
          expect(knng_graph_copy(g, 1, &here, &values_here, nullptr) == KNNG_OK, "%s: %s", way.name, knng_last_error());
          const Block narrow(KNNG_CUDA, device, way.size * 4), of_values(KNNG_CUDA, device, way.size * 2);
          to = matrix_in(narrow.get(), KNNG_CUDA, device, KNNG_I32, rows.n, k, way);
          knng_matrix values_to = matrix_in(of_values.get(), KNNG_CUDA, device, KNNG_BF16, rows.n, k, way);
          expect(knng_graph_copy(g, 1, &to, &values_to, nullptr) == KNNG_OK, "%s: %s", way.name, knng_last_error());
          std::vector<std::int32_t> got_ids(static_cast<std::size_t>(way.size));
          std::vector<std::uint16_t> got_values(static_cast<std::size_t>(way.size));
          gpu::copy(got_ids.data(), narrow.get(), got_ids.size() * 4);
          gpu::copy(got_values.data(), of_values.get(), got_values.size() * 2);
          for (std::int64_t e = 0; e < entries; ++e) {
            const auto at = static_cast<std::size_t>(way.first + e / k * way.row_stride + e % k * way.col_stride);
            const auto entry = static_cast<std::size_t>(e);
            same = same && got_ids[at] == host_ids[entry] && got_values[at] == host_values[entry];
          }
          expect(same, "%s to device %d, %s: other elements", set, device, way.name);
        }
      knng_graph_destroy(g);
      // It goes back in the order of a stream: soon.
      const auto is_back = [&] {
        after = gpu::free_for_library(owner);
        return after + (std::int64_t{4} << 20) >= before;
      };
      for (int tries = 0; tries < 100 && !is_back(); ++tries)
        std::this_thread::sleep_for(std::chrono::milliseconds(10));
      expect(is_back(), "%s: %lld bytes of %zu stay on the device", set, static_cast<long long>(before - after),
             kept.ids.size());
      check(cudaSetDevice(0));
    }
}

}  // namespace

int main() {
  gpu::need_device();
  check(cudaGetDeviceCount(&devices));
  knng_device first{};
  first.struct_size = sizeof first;
  knng_device_get(1, &first, nullptr);  // from now on the library is loaded that knows memory whose space nobody names
  rows_of_every_kind(small_run() ? 70 : 700, 37);
  rows_of_every_kind(2100, small_run() ? 3 : 37);  // as bytes, if all values fit
  fingerprints();
  equal_rows();
  work_comes_after_the_stream();
  the_caller_is_left_alone();
  results_to_devices();
  graphs_that_stay();
  return gpu::result();
}

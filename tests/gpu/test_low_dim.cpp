// Rows in few dimensions, answered straight away through the seam: ids, bits, ties and proofs are those of the
// definition, for every dimension and metric, on data that is full of ties, far apart or in one place.
#include <algorithm>
#include <cfloat>
#include <cmath>
#include <functional>
#include <vector>

#include "backend/cuda/result/delivery.cuh"
#include "backend/cuda/session/session_memory.cuh"
#include "backend/cuda/tree/point_tree.cuh"
#include "backend/seam.h"
#include "core/dtype.h"
#include "tests/gpu/points.h"

extern "C" const knng_backend_seam* knng_cuda_entry();

namespace libknng::cuda::test {
namespace {

// Packed rows, as the seam reads them.
std::int32_t read_rows(const void* user, std::int64_t first, std::int64_t count, void* to) {
  const auto& points = *static_cast<const Points*>(user);
  const auto element = static_cast<std::int64_t>(points.stored.size()) / (points.rows * points.row_stride);
  for (std::int64_t i = 0; i < count; ++i)
    std::memcpy(static_cast<std::byte*>(to) + i * points.dim * element,
                points.stored.data() + (first + i) * points.row_stride * element,
                static_cast<std::size_t>(points.dim * element));
  return 1;
}

knng_backend_rows rows_of(const Points& points) {
  return {&points, points.rows, points.dim, points.dtype, &read_rows, nullptr, 0};
}

std::int32_t is_cancelled(const void* user) { return *static_cast<const bool*>(user); }

// All rows, `together` in a call.
knng_backend_problem problem_of(const Question& q, std::int64_t k, std::int64_t together, const bool& cancelled) {
  const Metric& m = q.rows.metric;
  knng_backend_problem p{};
  p.columns = rows_of(q.columns);
  p.rows = rows_of(q.rows);
  p.square = q.square;
  p.self_first = q.self_first;
  p.value_dtype = q.value_dtype;
  p.metric = {static_cast<std::int32_t>(m.transform),
              static_cast<std::int32_t>(m.term),
              static_cast<std::int32_t>(m.report),
              q.similarity,
              m.scale,
              m.p,
              largest_magnitude(m, q.rows.dim)};
  p.leave_out = q.leave_out.empty() ? nullptr : q.leave_out.data();
  p.copy = [](const void*, void* to, const void* from, std::int64_t bytes) {
    std::memcpy(to, from, static_cast<std::size_t>(bytes));
  };
  p.cancelled = &is_cancelled;
  p.cancellation = &cancelled;
  p.k = k;
  p.engine = "tree";
  p.selector = "quick";
  p.by_rows = 1;
  p.tile_rows = std::min(together, q.rows.rows);
  p.tile_cols = q.columns.rows;
  p.max_bytes = INT64_MAX;
  return p;
}

// Answers all rows, `together` in a call, for every k, and compares every `step`-th; `stopped`: after another session,
// that were cancelled. Returns keys evaluated.
std::int64_t answers_are_right(const Question& q, std::vector<std::int64_t> ks, std::int64_t together, const char* what,
                               std::int64_t step = 1, bool stopped = false) {
  const knng_backend_seam& seam = *knng_cuda_entry();
  const std::int64_t n = q.rows.rows;
  std::vector<std::vector<Pair>> expected;
  for (std::int64_t i = 0; i < n; i += step) expected.push_back(ascending(q, i));
  std::size_t available = SIZE_MAX;
  for (const auto& row : expected) available = std::min(available, row.size());
  std::sort(ks.begin(), ks.end());
  ks.erase(std::unique(ks.begin(), ks.end()), ks.end());
  std::int64_t keys = 0;
  for (const std::int64_t k : ks) {
    if (k < 1 || k > static_cast<std::int64_t>(available)) continue;
    bool cancelled = false;
    knng_backend_problem p = problem_of(q, k, together, cancelled);
    knng_backend_engine engine{};
    knng_backend_error refusal{};
    expect(seam.find_engine(&p, &engine, &refusal) == KNNG_OK && engine.rows_at_a_time > 0, "%s: answered by tiles",
           what);
    std::int64_t host = 0;
    p.max_bytes = seam.session_bytes(&p, &host);  // no byte more

    const std::int64_t width = k + q.self_first;
    const auto entries = static_cast<std::size_t>(n * width);
    std::vector<std::int64_t> ids(entries, -7);
    std::vector<double> wide(entries, NAN);
    std::vector<float> narrow(entries, NAN);
    std::vector<std::uint8_t> ties(static_cast<std::size_t>(n), 9), proof(ties);
    knng_backend_result result{};
    result.ids = ids.data();
    result.ties = ties.data();
    result.proof = proof.data();
    result.device = -1;
    result.too_large = INT64_MAX;
    result.values = q.value_dtype == KNNG_F64 ? static_cast<void*>(wide.data()) : narrow.data();
    knng_backend_error error{};
    knng_backend_session* session = nullptr;
    expect(seam.open(&session, 0, &p, &error) == KNNG_OK, "%s: open: %s", what, error.text);
    if (stopped) {
      cancelled = true;
      expect(seam.answer(session, 0, p.tile_rows, &result, &error) == KNNG_ERR_CANCELLED, "%s: not stopped", what);
      seam.close(session);
      cancelled = false;
      expect(seam.open(&session, 0, &p, &error) == KNNG_OK, "%s: open again: %s", what, error.text);
    }
    for (std::int64_t first = 0; first < n; first += p.tile_rows)
      expect(seam.answer(session, first, std::min(p.tile_rows, n - first), &result, &error) == KNNG_OK,
             "%s: answer: %s", what, error.text);
    expect(seam.peak_bytes(session) <= p.max_bytes && seam.peak_bytes(session) > 0, "%s: memory", what);
    seam.close(session);

    const char* name = q.rows.name.c_str();
    for (std::int64_t i = 0, at = 0; i < n; i += step, ++at) {
      const std::vector<Pair>& all = expected[static_cast<std::size_t>(at)];
      const auto row = static_cast<long long>(i), lk = static_cast<long long>(k);
      const auto value = [&](std::int64_t j) {
        const auto entry = static_cast<std::size_t>(i * width + j);
        return q.value_dtype == KNNG_F64 ? wide[entry] : static_cast<double>(narrow[entry]);
      };
      if (q.self_first)
        expect(ids[static_cast<std::size_t>(i * width)] == i && bits(value(0)) == bits(rounded(q, 0)),
               "%s: %s k=%lld: row %lld itself", what, name, lk, row);
      for (std::int64_t j = 0; j < k; ++j) {
        const Pair& pair = all[static_cast<std::size_t>(j)];
        const std::int64_t id = ids[static_cast<std::size_t>(i * width + q.self_first + j)];
        const double got = value(q.self_first + j);
        expect(id == pair.id && bits(got) == bits(rounded(q, pair.key)),
               "%s: %s k=%lld: row %lld entry %lld is (%a, %lld), not (%a, %lld)", what, name, lk, row,
               static_cast<long long>(j), got, static_cast<long long>(id), rounded(q, pair.key),
               static_cast<long long>(pair.id));
      }
      const double last = all[static_cast<std::size_t>(k - 1)].key;
      const bool tie = static_cast<std::int64_t>(all.size()) > k && all[static_cast<std::size_t>(k)].key == last;
      expect((ties[static_cast<std::size_t>(i)] != 0) == tie, "%s: %s k=%lld: row %lld: tie", what, name, lk, row);
      expect(proof[static_cast<std::size_t>(i)] == KNNG_RUNG_FP64, "%s: %s: row %lld: proof", what, name, row);
    }
    keys += result.keys;
  }
  return keys;
}

// Rows of a generator, packed.
Points rows_from(const Metric& metric, std::int32_t dtype, std::int64_t rows, std::int64_t dim, const char* kind,
                 const std::function<double(std::int64_t, std::int64_t)>& value) {
  Points p{metric, dtype, rows, dim, dim, 1, {}, {}, {}, {}, {}, {}};
  p.name = std::string(metric.name) + " " + dtype_name(dtype) + " " + std::to_string(rows) + " x " +
           std::to_string(dim) + " " + kind;
  p.values.resize(static_cast<std::size_t>(rows * dim));
  const double limit = largest_magnitude(metric, dim) / 2;
  visit_row_dtype(dtype, [&](auto* tag) {
    using T = std::remove_cv_t<std::remove_pointer_t<decltype(tag)>>;
    p.stored.resize(static_cast<std::size_t>(rows * dim) * sizeof(T));
    for (std::int64_t i = 0; i < rows * dim; ++i) {
      double x = std::clamp(value(i / dim, i % dim), -limit, limit);
      if (refuses_negative(metric.transform)) x = std::fabs(x);
      const T stored = from_double<T>(x);
      std::memcpy(p.stored.data() + static_cast<std::size_t>(i) * sizeof(T), &stored, sizeof stored);
      p.values[static_cast<std::size_t>(i)] = to_double(stored);
    }
  });
  finish(p);
  return p;
}

constexpr const char* kKinds[] = {"uniform", "grid",   "equal", "duplicates", "blobs",    "outlier",
                                  "offset",  "scales", "line",  "denormal",   "constant", "zeros"};

Points rows_of_kind(const Metric& metric, std::int32_t dtype, std::int64_t rows, std::int64_t dim, int kind,
                    std::uint64_t seed) {
  Random random(seed);
  double line = 0;
  std::vector<double> kept;
  return rows_from(metric, dtype, rows, dim, kKinds[kind], [&, kind](std::int64_t i, std::int64_t t) -> double {
    const double x = random.uniform(-1, 1);
    if (t == 0) line = x;
    switch (kind) {
      case 0: return x;
      case 1: return static_cast<double>(random.next() % 4);
      case 2: return 0.3 * static_cast<double>(t % 3);
      case 3: kept.push_back(x); return kept[static_cast<std::size_t>(i / 5 * dim + t)];  // five of each
      case 4: return static_cast<double>(i * 7919 % 9) * 10 + x * 1e-3;
      case 5: return i == rows / 3 ? 1e30 * static_cast<double>(t + 1) : x;
      case 6: return 1e6 + x;
      case 7: return x * std::pow(10.0, static_cast<double>(i % 61) - 30);
      case 8: return line * static_cast<double>(t + 1);
      case 9: return x * 0x1p-1060;
      case 10: return i % 3 == 0 ? line : x;                  // no direction under correlation
      default: return i % 4 == 0 ? (t % 2 ? -0.0 : 0.0) : x;  // no direction under cosine
    }
  });
}

// A search that is cancelled before it begins evaluates nothing, and one that is cancelled on its way not all.
void cancelled_searches_end() {
  const Points rows = small_run() ? rows_of_kind(find_metric("sqeuclidean", 2), KNNG_F32, 2000, 3, 0, 11)
                                  : rows_of_kind(find_metric("sqeuclidean", 2), KNNG_F32, 100'000, 16, 0, 11);
  const bool cancelled = false;
  const knng_backend_problem p = problem_of({rows, rows, 0, true, {}}, 10, rows.rows, cancelled);
  DeviceContext context(0, INT64_MAX);
  const HandleCache handles(0, context.stream);
  Staging staging(handles, [](void* to, const void* from, std::int64_t bytes) {
    std::memcpy(to, from, static_cast<std::size_t>(bytes));
  });
  const cuda::Points points(p.columns, rows.metric.transform, p.metric.largest, staging, context);
  const PointTree tree(points, context);
  SearchRowsJob job = search_rows_job(p, rows.metric);
  job.rows = points.view();
  job.grid = tree.grid();
  job.tree = tree.boxes();
  job.count = rows.rows;
  const DeviceArray<std::byte> results(ResultSpace(p, rows.rows, nullptr).used, context);
  job.result = ResultSpace(p, rows.rows, results.data()).rows;
  clear(job.result.findings, context.stream);
  const DeviceArray<std::byte> workspace(search_rows_workspace_bytes(job), context);
  job.workspace = workspace.data();
  const DeviceArray<SearchState> state(1, context);
  const auto evaluated = [&](const Stream& stream) {
    SearchState now;
    check(cudaMemcpyAsync(&now, state.data(), sizeof now, cudaMemcpyDeviceToHost, stream));
    stream.wait();
    return now.evaluated;
  };
  const auto keys_of_search = [&](bool cancelled_before) {
    const SearchState begin{0, cancelled_before};
    check(cudaMemcpyAsync(state.data(), &begin, sizeof begin, cudaMemcpyHostToDevice, context.stream));
    context.stream.wait();
    search_rows(job, state.data(), context.stream);
    return evaluated(context.stream);
  };
  const unsigned long long all = keys_of_search(false);
  expect(all > 0 && keys_of_search(true) == 0, "a search that was cancelled before");
  if (small_run()) return;
  const Stream beside;
  job.searching = [&] {
    while (evaluated(beside) == 0) {  // until the first rows have ended
    }
    const int yes = 1;
    check(cudaMemcpyAsync(&state.data()->cancelled, &yes, sizeof yes, cudaMemcpyHostToDevice, beside));
    beside.wait();
  };
  const unsigned long long some = keys_of_search(false);
  expect(some > 0 && some < all, "cancelled on the way: %llu of %llu keys", some, all);
  std::printf("cancelled on the way: %llu of %llu keys\n", some, all);
}

std::vector<Metric> metrics_of_boxes() {
  std::vector<Metric> all;
  for (const char* name :
       {"sqeuclidean", "euclidean", "cosine", "correlation", "spearman", "hellinger", "manhattan", "chebyshev"})
    all.push_back(find_metric(name, 2));
  return all;
}

}  // namespace
}  // namespace libknng::cuda::test

int main() {
  using namespace libknng;
  using namespace libknng::cuda::test;
  gpu::need_device();
  constexpr int kCountKinds = static_cast<int>(std::size(kKinds));
  const std::vector<Metric> metrics = metrics_of_boxes();
  const std::vector<std::int32_t> dtypes = all_dtypes();
  int cases = 0;

  // Every dimension, metric and kind of data; types, k and rows of a call go round.
  for (std::int64_t dim = 1; dim <= (small_run() ? 3 : 16); ++dim)
    for (std::size_t m = 0; m < metrics.size(); ++m)
      for (int kind = 0; kind < kCountKinds; ++kind, ++cases) {
        if (small_run() && (kind + dim) % 3 != 0) continue;
        const std::int32_t dtype =
            kind >= 7 || kind == 5 ? KNNG_F64 : dtypes[static_cast<std::size_t>(cases) % dtypes.size()];
        const std::int64_t n = 130 + cases % 7;
        const Points rows = rows_of_kind(metrics[m], dtype, n, dim, kind, 1000 + static_cast<std::uint64_t>(cases));
        Question q{rows, rows, 0, true, {}, cases % 2 == 0, metrics[m].similarity && cases % 3 == 0};
        const std::int64_t ks[] = {1, 2, 16, 33, n - 1};
        answers_are_right(q, {ks[cases % 5]}, cases % 4 ? n : 50, "kinds");
      }

  // Sizes around 32 and 1024, up to three levels of boxes; all k.
  for (const std::int64_t n : {2, 3, 31, 32, 33, 63, 64, 65, 1023, 1024, 1025, 1057, 2100}) {
    if (small_run() && n > 70) break;
    for (int kind = 0; kind < 4; ++kind, ++cases) {
      const Points rows = rows_of_kind(metrics[n % 2 ? 0 : 6], KNNG_F32, n, 3, kind, static_cast<std::uint64_t>(n));
      answers_are_right({rows, rows, 0, true, {}}, {1, 16, 33, 100, n - 1}, kind % 2 ? 1024 : n, "sizes",
                        n > 200 ? 7 : 1);
    }
  }

  // Queries, of another type, with ids to leave out.
  for (int round = 0; round < (small_run() ? 3 : 48); ++round, ++cases) {
    const std::int64_t dim = 1 + round % 16, n = 200 + round;
    const Metric& metric = metrics[static_cast<std::size_t>(round) % metrics.size()];
    const int kind = round % kCountKinds;
    const Points columns = rows_of_kind(metric, KNNG_F64, n, dim, kind, 40 + static_cast<std::uint64_t>(round));
    const Points rows = rows_of_kind(metric, round % 3 ? KNNG_F64 : KNNG_F32, 77, dim, round % 2 ? kind : 0,
                                     90 + static_cast<std::uint64_t>(round));
    std::vector<std::int64_t> leave_out;
    for (std::int64_t i = 0; i < 77; ++i) leave_out.push_back(i % 3 ? i * 31 % n : -1);
    answers_are_right({rows, columns, 0, false, {}}, {1, 16, n}, round % 2 ? 77 : 33, "queries");
    answers_are_right({rows, columns, 0, false, leave_out}, {1, 33, n - 1}, 77, "queries, some left out");
  }

  // Values in fp32.
  for (const Metric& metric : metrics) {
    const Points rows = rows_of_kind(metric, KNNG_F32, 140, 3, 0, 7);
    answers_are_right({rows, rows, 0, true, {}, false, false, KNNG_F32}, {5}, 140, "fp32");
  }

  // Calls that are cancelled.
  cancelled_searches_end();
  for (const std::int64_t dim : {2, 3, 16}) {
    const Points rows = rows_of_kind(metrics[0], KNNG_F64, small_run() ? 1000 : 20'000, dim, 0, 6);
    answers_are_right({rows, rows, 0, true, {}}, {100}, rows.rows, "stopped", 197, true);
    ++cases;
  }

  // Four levels, and how much is left out: of uniform points nearly everything, of equal ones all that is not needed.
  if (!small_run()) {
    const std::int64_t n = 40'000;
    for (int kind = 0; kind < 5; ++kind, ++cases) {
      const Points rows = rows_of_kind(metrics[0], KNNG_F32, n, 3, kind, 5);
      const std::int64_t keys = answers_are_right({rows, rows, 0, true, {}}, {16}, 30'000, "many", 97);
      std::printf("%lld points, %s: %.0f keys a row\n", static_cast<long long>(n), kKinds[kind],
                  static_cast<double>(keys) / static_cast<double>(n));
      if (kind == 0 || kind == 2) expect(keys < n * 2500, "%s: too little is left out", kKinds[kind]);
    }
  }
  std::printf("few dimensions: %d cases are as defined\n", cases);
  return gpu::result();
}

// Refinement and the last rung: lists, values, ties and proofs are those of the definition, whatever the filter kept;
// a key outside its bounds is counted.
#include <algorithm>
#include <bit>
#include <cfloat>
#include <cmath>
#include <numeric>
#include <vector>

#include "backend/cuda/keys/exact_rows.cuh"
#include "backend/cuda/keys/product_keys.cuh"
#include "backend/cuda/keys/refine.cuh"
#include "backend/cuda/keys/smallest_keys.cuh"
#include "backend/cuda/select/merge.cuh"
#include "plan/integer_products.h"
#include "refine/bound.h"
#include "tests/gpu/filtered_lists.h"
#include "tests/gpu/known_lows.h"

namespace libknng::cuda::test {
namespace {

// A result in device memory and its copy on the host.
struct Answer {
  explicit Answer(const Question& q, std::int64_t first, std::int64_t count)
      : ids(count * q.width()),
        values(count * q.width() * (q.value_dtype == KNNG_F64 ? 8 : 4)),
        ties(count),
        proved(count),
        last_keys(count),
        redo(count),
        findings(std::vector<ResultFindings>(1)) {
    rows.first = first;
    rows.width = q.width();
    rows.ids = ids.get();
    rows.values = values.get();
    rows.value_dtype = q.value_dtype;
    rows.similarity = q.similarity;
    rows.ties = ties.get();
    rows.proved = proved.get();
    rows.last_keys = last_keys.get();
    rows.redo = redo.get();
    rows.findings = findings.get();
  }

  Array<std::int64_t> ids;
  Array<std::byte> values;
  Array<std::uint8_t> ties, proved;
  Array<double> last_keys;
  Array<std::int64_t> redo;
  Array<ResultFindings> findings;
  ResultRows rows;
};

// Rows of the result that are proved are right; returns how many are proved. Last keys are not those of products.
std::int64_t compare(const Question& q, const Answer& answer, std::int64_t first, std::int64_t count,
                     bool from_products = false) {
  const auto ids = answer.ids.values();
  const auto ties = answer.ties.values();
  const auto proved = answer.proved.values();
  const auto last_keys = answer.last_keys.values();
  const auto bytes = answer.values.values();
  const char* name = q.rows.name.c_str();
  const std::int64_t shift = q.self_first;
  std::int64_t good = 0;
  for (std::int64_t i = first; i < first + count; ++i) {
    const auto place = static_cast<std::size_t>(i - first);
    if (!proved[place]) continue;
    ++good;
    const std::vector<Pair> all = ascending(q, i);
    const auto value_at = [&](std::size_t at) {
      return q.value_dtype == KNNG_F64 ? reinterpret_cast<const double*>(bytes.data())[at]
                                       : static_cast<double>(reinterpret_cast<const float*>(bytes.data())[at]);
    };
    const std::size_t at = place * static_cast<std::size_t>(q.width());
    if (shift) {
      const double self = rounded(
          q, q.rows.metric.term == Term::product ? canonical_key(q.rows.metric, q.rows.row(i), q.rows.row(i)) : 0.0);
      expect(ids[at] == i && bits(value_at(at)) == bits(self), "%s: row %lld itself", name, static_cast<long long>(i));
    }
    for (std::int64_t j = 0; j < q.k; ++j) {
      const Pair& pair = all[static_cast<std::size_t>(j)];
      const std::size_t entry = at + static_cast<std::size_t>(shift + j);
      expect(ids[entry] == pair.id, "%s: row %lld entry %lld is %lld, not %lld", name, static_cast<long long>(i),
             static_cast<long long>(j), static_cast<long long>(ids[entry]), static_cast<long long>(pair.id));
      expect(bits(value_at(entry)) == bits(rounded(q, pair.key)), "%s: row %lld value %lld is %a, not %a", name,
             static_cast<long long>(i), static_cast<long long>(j), value_at(entry), rounded(q, pair.key));
    }
    const double last = all[static_cast<std::size_t>(q.k - 1)].key;
    expect(from_products || bits(last_keys[place]) == bits(last), "%s: row %lld: last key", name,
           static_cast<long long>(i));
    const bool tie = static_cast<std::int64_t>(all.size()) > q.k && all[static_cast<std::size_t>(q.k)].key == last;
    expect((ties[place] != 0) == tie, "%s: row %lld: tie", name, static_cast<long long>(i));
  }
  const ResultFindings findings = answer.findings.values()[0];
  expect(findings.unproved == static_cast<unsigned long long>(count - good), "%s: %llu rows to redo, not %lld", name,
         findings.unproved, static_cast<long long>(count - good));
  return good;
}

Admission exact_admission(const Question& q) { return {q.square, q.leave_out.empty() ? nullptr : q.leave_out.data()}; }

// All rows once more, by the columns that their lists leave. Some of the lists are made wrong before.
void contenders_are_enough(const Question& q, const ExactJob& exact, const std::vector<std::int64_t>& refined,
                           std::int64_t first, std::int64_t count, Random& random) {
  const Lows lows = make_lows(q, first, count, random);
  KnownLows filter(lows, first);
  const Array<std::uint32_t> places(lows.places);
  // Cut-offs at some low of each row.
  const std::int64_t n = q.columns.rows, room = n / 3;
  std::vector<float> limits(lows.places.size(), -INFINITY);
  int expected_crowded = 0;
  for (std::int64_t i = 0; i < count; ++i) {
    const float* const tile = lows.tile.data() + i * n;
    const float limit = -2 * tile[random.next() % static_cast<std::uint64_t>(n)];
    limits[lows.places[static_cast<std::size_t>(first + i)]] = limit;
    std::int64_t below = 0;
    for (std::int64_t c = 0; c < n; ++c) {
      const float term = lows.column_terms[static_cast<std::size_t>(c)];
      const bool undirected = q.rows.directionless(first + i) || term == INFINITY;
      const double low = undirected ? kNoDirectionKey * lows.scale : static_cast<double>(term - 2 * tile[c]);
      const bool admits = exact_admission(q).of(first + i).admits(lows.order[static_cast<std::size_t>(c)]);
      below += admits && !(low > static_cast<double>(limit)) ? 1 : 0;
    }
    expected_crowded += below > room ? 1 : 0;
  }
  const Array<float> cutoffs(limits);
  std::vector<std::int64_t> numbers, ids = refined;
  for (std::int64_t i = count; i-- > 0;) numbers.push_back(first + i);
  for (std::int64_t i = 0; i < count; ++i) {
    const std::size_t last = static_cast<std::size_t>((i + 1) * q.width()) - 1;
    if (i % 10 == 3) ids[last] = -1;
    if (i % 10 == 5 && q.k > 1) ids[last] = ids[last - 1];
    if (i % 10 == 7) ids[last] = q.columns.rows;
    if (i % 10 == 9 && q.square) ids[last] = first + i;
  }
  // In the order of the list, which goes backwards.
  std::vector<std::int64_t> listed_ids;
  for (const std::int64_t row : numbers) {
    const auto begin = ids.begin() + (row - first) * q.width();
    listed_ids.insert(listed_ids.end(), begin, begin + q.width());
  }
  const Array<std::int64_t> list(numbers), listed(listed_ids);
  Answer answer(q, first, count);
  ContendingRowsJob job;
  job.rows = exact.rows;
  job.columns = exact.columns;
  job.metric = exact.metric;
  job.admission = exact.admission;
  job.k = q.k;
  job.list = list.get();
  job.count = count;
  job.listed = listed.get();
  job.places = places.get();
  job.filter = &filter;
  job.scale = lows.scale;
  job.operand_bytes = 8;
  job.result = answer.rows;
  job.rows_at_a_time = 9;
  job.columns_at_a_time = count % 2 ? 36 : 8000;
  job.capacity = places_for(q.k, q.columns.rows);
  job.parts.pairs = count % 3 == 0 ? 3000 : INT64_MAX;
  const Array<std::byte> workspace(contending_workspace_bytes(job));
  job.workspace = workspace.get();
  const Array<int> crowded(std::vector<int>(1, 0));
  count_crowded(job, cutoffs.get(), room, crowded.get(), nullptr);
  expect(crowded.values()[0] == expected_crowded, "%s: %d rows are crowded, not %d", q.rows.name.c_str(),
         crowded.values()[0], expected_crowded);
  contending_rows(job, nullptr);
  check(cudaDeviceSynchronize());
  const std::int64_t right = compare(q, answer, first, count);
  // Columns that are drawn, where a list says nothing, may leave too many.
  expect(right == count || (job.capacity < q.columns.rows && right > 0), "%s: %lld of %lld rows by contenders",
         q.rows.name.c_str(), static_cast<long long>(right), static_cast<long long>(count));
  const auto keys = static_cast<std::int64_t>(answer.findings.values()[0].keys);
  expect(keys >= (count + right) * q.k && keys <= count * (2 * q.columns.rows + q.k), "%s: %lld keys",
         q.rows.name.c_str(), static_cast<long long>(keys));
}

// The same rows from products that are as wrong as they may be: what is made of their keys is what canonical keys make.
void products_change_nothing(const Question& asked, RefineJob job, std::int64_t good, Random& random) {
  Question q = asked;
  q.value_dtype = KNNG_F32;
  const std::int64_t n = q.rows.rows;
  const ProductKey of_products(job.metric, q.rows.dim);
  std::vector<double> squares, products(static_cast<std::size_t>(n * n));
  for (std::int64_t i = 0; i < n; ++i) {
    double sum = 0;
    for (const double x : q.rows.row(i)) sum += x * x;
    squares.push_back(sum);
  }
  for (std::int64_t i = 0; i < n; ++i)
    for (std::int64_t j = i; j < n; ++j) {
      const double ii = squares[static_cast<std::size_t>(i)], jj = squares[static_cast<std::size_t>(j)];
      const double error = 0.9 * of_products.error(ii, jj) * (random.next() % 2 ? 1 : -1);
      const double key = canonical_key(job.metric, q.rows.row(i), q.rows.row(j)) + error;
      products[static_cast<std::size_t>(i * n + j)] = ((ii + jj) - key / job.metric.scale) / 2;
    }
  const Array<double> of_pairs(products), of_points(squares);
  const ProductTable table{of_pairs.get(), of_points.get(), n, of_products, q.similarity};
  Answer answer(q, job.first, job.count);
  job.result = answer.rows;
  job.table = &table;
  refine(job, nullptr);
  check(cudaDeviceSynchronize());
  const std::int64_t of_them = compare(q, answer, job.first, job.count, true);
  expect(of_them == good, "%s: %lld rows proved by products, not %lld", q.rows.name.c_str(),
         static_cast<long long>(of_them), static_cast<long long>(good));
  const unsigned long long violations = answer.findings.values()[0].violations;
  expect(violations == 0, "%s: %llu violations of keys from products", q.rows.name.c_str(), violations);
}

// Refines, then answers what is not proved from all keys. Returns the share of rows that the candidates proved.
double answer_is_right(const Question& q, std::int64_t capacity, bool direct, std::uint64_t seed) {
  Random random(seed);
  const std::int64_t first = 2, count = q.rows.rows - 3;
  const Filter filter = make_filter(q, first, count, capacity, direct, random);
  const DevicePoints device_rows(q.rows), device_columns(q.columns);
  const Array<Candidate> candidates(filter.candidates);
  const Array<std::int32_t> kept(filter.kept);
  const Array<float> dropped(filter.dropped), row_bounds(filter.row_bounds), column_bounds(filter.column_bounds);
  const Array<std::int64_t> leave_out(q.leave_out);
  const Admission admission{q.square, leave_out.get()};
  std::vector<std::uint32_t> none;
  for (std::int64_t j = 0; j < q.columns.rows && std::ssize(none) < q.k + 1 + admission.most_refused(); ++j)
    if (q.columns.directionless(j)) none.push_back(static_cast<std::uint32_t>(j));
  const Array<std::uint32_t> directionless(none);
  Answer answer(q, first, count);

  RefineJob job;
  job.rows = device_rows.view();
  job.columns = device_columns.view();
  job.metric = q.rows.metric;
  job.k = q.k;
  job.first = first;
  job.count = count;
  job.admission = admission;
  job.lists = {candidates.get(), kept.get(), capacity, dropped.get()};
  job.bounds.scale = filter.scale;
  if (!direct) job.bounds = {filter.scale, row_bounds.get(), column_bounds.get()};
  // As of lists from exact products: fp32 holds all of these lows.
  job.bounds.exact_integers = direct && has_integer_products(q.rows.metric, q.rows.dtype, q.columns.dtype, q.rows.dim);
  job.directionless = directionless.get();
  job.directionless_count = directionless.size();
  job.result = answer.rows;
  job.rows_at_a_time = 13;
  const Array<std::byte> workspace(refine_workspace_bytes(job));
  job.workspace = workspace.get();
  refine(job, nullptr);
  check(cudaDeviceSynchronize());
  const std::int64_t good = compare(q, answer, first, count);
  const unsigned long long violations = answer.findings.values()[0].violations;
  expect(violations == 0, "%s: %llu violations", q.rows.name.c_str(), violations);
  const unsigned long long keys = answer.findings.values()[0].keys;
  std::int64_t evaluated = 0;
  for (std::int64_t i = 0; i < count; ++i)
    evaluated += evaluated_of(q, filter, first, i, capacity, exact_admission(q), job.bounds.exact_integers);
  expect(has_directions(q.rows.metric.transform) || keys == static_cast<unsigned long long>(evaluated),
         "%s: %llu keys, not %lld", q.rows.name.c_str(), keys, static_cast<long long>(evaluated));
  const std::vector<std::int64_t> refined = answer.ids.values();
  const bool has_products = q.square && none.empty() && job.metric.term == Term::squared_difference;
  if (has_products && !direct) products_change_nothing(q, job, good, random);

  ExactJob exact;
  exact.rows = job.rows;
  exact.columns = job.columns;
  exact.metric = job.metric;
  exact.k = q.k;
  exact.list = answer.redo.get();
  exact.count = count - good;
  exact.admission = {q.square, leave_out.get()};
  exact.result = answer.rows;
  exact.rows_at_a_time = 9;
  exact.columns_at_a_time = seed % 2 ? q.columns.rows : 20;
  const Array<std::byte> exact_workspace(exact_workspace_bytes(exact));
  exact.workspace = exact_workspace.get();
  const std::vector<ResultFindings> zero(1);
  check(cudaMemcpy(answer.findings.get(), zero.data(), sizeof(ResultFindings), cudaMemcpyHostToDevice));
  exact_rows(exact, nullptr);
  check(cudaDeviceSynchronize());
  const std::int64_t all = compare(q, answer, first, count);
  expect(all == count, "%s: %lld of %lld rows answered", q.rows.name.c_str(), static_cast<long long>(all),
         static_cast<long long>(count));
  if (has_product_form(q.rows.metric.term)) contenders_are_enough(q, exact, refined, first, count, random);
  return static_cast<double>(good) / static_cast<double>(count);
}

// Lows that are not below their keys, and ups that are not above.
void wrong_bounds_are_counted() {
  const Points p = make_points(find_metric("euclidean", 0), KNNG_F32, 40, 20, 21, 1, 4);
  const Question q{p, p, 5, true, {}};
  for (const bool direct : {true, false})
    for (const bool above : {true, false}) {
      Random random(4);
      Filter filter = make_filter(q, 0, 40, 39, direct, random);
      Candidate& wrong = filter.candidates[10 * 39 + 7];
      const double key = canonical_key(p.metric, p.row(10), p.row(wrong.id));
      const float low = round_down(key * filter.scale);
      wrong.low = above    ? std::nextafter(low, INFINITY)
                  : direct ? std::nextafter(low, -INFINITY)
                           : round_down(key * filter.scale - 3 * bound_of(filter, 10, wrong.id));
      const DevicePoints device(p);
      const Array<Candidate> candidates(filter.candidates);
      const Array<std::int32_t> kept(filter.kept);
      const Array<float> dropped(filter.dropped), row_bounds(filter.row_bounds), column_bounds(filter.column_bounds);
      Answer answer(q, 0, 40);
      RefineJob job;
      job.rows = job.columns = device.view();
      job.metric = p.metric;
      job.k = 5;
      job.count = 40;
      job.admission.square = true;
      job.lists = {candidates.get(), kept.get(), 39, dropped.get()};
      if (!direct) job.bounds = {filter.scale, row_bounds.get(), column_bounds.get()};
      job.result = answer.rows;
      job.rows_at_a_time = 40;
      const Array<std::byte> workspace(refine_workspace_bytes(job));
      job.workspace = workspace.get();
      refine(job, nullptr);
      const unsigned long long violations = answer.findings.values()[0].violations;
      expect(violations == 1, "direct %d, above %d: %llu violations, not 1", direct, above, violations);
    }
}

Points on_a_line(const std::vector<double>& places) {
  Points p = make_points(find_metric("sqeuclidean", 0), KNNG_F32, static_cast<std::int64_t>(places.size()), 1, 25);
  set_values(p, [&](std::int64_t i, std::int64_t) { return places[static_cast<std::size_t>(i)]; });
  return p;
}

// A column as the filter sees it from rows at 0; b of these is kRowBound. The approximate key is in the middle between
// low = key - under and up = low + 2 (kRowBound + bound). All of them are exact in fp32.
struct Sight {
  double place;
  float bound;
  double under;
  float low() const { return static_cast<float>(place * place - under); }
};
constexpr float kRowBound = 0.25F;

// Refines the lists of all rows, whose bounds hold; returns how many rows they prove, and expects these to be right.
std::int64_t proved_by(const Question& q, const CandidateLists& lists, const Array<float>& row_bounds,
                       const Array<float>& column_bounds) {
  const std::int64_t rows = q.rows.rows;
  const DevicePoints device_rows(q.rows), device_columns(q.columns);
  Answer answer(q, 0, rows);
  RefineJob job;
  job.rows = device_rows.view();
  job.columns = device_columns.view();
  job.metric = q.rows.metric;
  job.k = q.k;
  job.count = rows;
  job.lists = {lists.entries, lists.counts, lists.capacity, lists.dropped, lists.cutoffs};
  job.bounds = {1, row_bounds.get(), column_bounds.get()};
  job.result = answer.rows;
  job.rows_at_a_time = rows;
  const Array<std::byte> workspace(refine_workspace_bytes(job));
  job.workspace = workspace.get();
  refine(job, nullptr);
  check(cudaDeviceSynchronize());
  const unsigned long long violations = answer.findings.values()[0].violations;
  expect(violations == 0, "%lld columns, C=%d: %llu violations", static_cast<long long>(q.columns.rows), lists.capacity,
         violations);
  return compare(q, answer, 0, rows);
}

// Lists that grow by candidates in any order, of which those above the cut-off do not come; then refinement. Every pair
// has a bound of its own, and so neither approximate keys nor those of what is kept say what was lost:
//   the one that stays     key 2.25  low -6.25  approximate -2     up 2.25
//   decoys, which stay     6.25 up   below 0    2 and more         their key
//   the dangerous one      1         1          5.25               9.5
//   the harmless one       4         3.75       4                  4.25
// The dangerous one is the nearest, yet the harmless one is before it by approximate keys, and those are above the key
// of the one that stays. A list without room for it must say so by its low; where it has room nothing may keep it from
// there: a cut-off at the lows, or approximate keys, of the nearest would.
void the_nearest_discarded_is_not_the_dangerous_one(int decoys, int capacity, std::int64_t k) {
  constexpr std::int64_t rows = 60;
  std::vector<Sight> sights = {{1.5, 4, 8.5}};
  for (int i = 0; i < decoys; ++i) sights.push_back({(2560 + i) / 1024.0, 4, 8.5});
  sights.push_back({1, 4, 0});
  sights.push_back({2, 0x1p-10F, 0.25 + 0x1p-10});
  const std::size_t n = sights.size();
  std::vector<double> places;
  std::vector<float> bounds_of_columns;
  for (const Sight& s : sights) {
    places.push_back(s.place);
    bounds_of_columns.push_back(s.bound);
  }
  const Points origin = on_a_line(std::vector<double>(rows, 0.0)), line = on_a_line(places);
  const Question q{origin, line, k, false, {}};

  Random random(26);
  std::vector<std::vector<std::uint32_t>> orders(rows, std::vector<std::uint32_t>(n));
  for (auto& order : orders) {
    std::iota(order.begin(), order.end(), 0U);
    for (std::size_t c = n; c > 1; --c) std::swap(order[c - 1], order[random.next() % c]);
  }
  const Array<float> row_bounds(std::vector<float>(rows, kRowBound)), column_bounds(bounds_of_columns);
  const Array<Candidate> entries(rows * capacity);
  const Array<std::int32_t> counts(std::vector<std::int32_t>(rows, 0));
  const Array<float> cutoffs(std::vector<float>(rows, INFINITY)), dropped(std::vector<float>(rows, INFINITY));
  const CandidateLists lists{entries.get(), counts.get(), capacity, cutoffs.get(), dropped.get()};
  const auto together = static_cast<std::size_t>(std::max(1, decoys / 8));
  for (std::size_t first = 0; first < n; first += together) {
    const std::vector<float> limits = cutoffs.values();
    std::vector<Candidate> found(rows * together);
    std::vector<std::int32_t> found_counts(rows, 0);
    for (std::size_t r = 0; r < rows; ++r)
      for (std::size_t c = first; c < std::min(first + together, n); ++c) {
        const std::uint32_t id = orders[r][c];
        const float low = sights[id].low();
        if (low > limits[r]) continue;
        found[r * together + static_cast<std::size_t>(found_counts[r]++)] = {low, id};
      }
    const Array<Candidate> incoming(found);
    const Array<std::int32_t> incoming_counts(found_counts);
    merge({lists,
           rows,
           {incoming.get(), incoming_counts.get(), static_cast<int>(together)},
           {static_cast<int>(k), row_bounds.get(), column_bounds.get()}},
          nullptr);
    check(cudaDeviceSynchronize());
  }

  const std::int64_t proved = proved_by(q, lists, row_bounds, column_bounds), wanted = capacity < decoys + 2 ? 0 : rows;
  expect(proved == wanted, "%d decoys, C=%d, k=%lld: %lld rows proved, not %lld", decoys, capacity,
         static_cast<long long>(k), static_cast<long long>(proved), static_cast<long long>(wanted));
}

// Columns at 1, 2 and `third` of rows at 0, whose keys are up to 0.5 above their lows. A list has the first two, the
// third's low was above the cut-off. The second key proves the list if it is not above the cut-off as well: then a key
// of what was left out may be below it, as 1.99^2 is.
void the_last_key_is_not_above_the_cutoff(double third, float cutoff, bool wanted) {
  constexpr std::int64_t rows = 60, k = 2;
  const Points origin = on_a_line(std::vector<double>(rows, 0.0)), line = on_a_line({1, 2, third});
  const Question q{origin, line, k, false, {}};
  std::vector<Candidate> found;
  for (std::int64_t i = 0; i < rows; ++i) found.insert(found.end(), {{0.5F, 0}, {3.5F, 1}});
  const Array<Candidate> entries(found);
  const Array<std::int32_t> counts(std::vector<std::int32_t>(rows, 2));
  const Array<float> cutoffs(std::vector<float>(rows, cutoff)), dropped(std::vector<float>(rows, INFINITY)),
      row_bounds(std::vector<float>(rows, 0.25F)), column_bounds(std::vector<float>(3, 0.0F));
  const std::int64_t proved =
      proved_by(q, {entries.get(), counts.get(), 2, cutoffs.get(), dropped.get()}, row_bounds, column_bounds);
  expect(proved == (wanted ? rows : 0), "third at %g, cut-off %g: %lld rows proved", third, static_cast<double>(cutoff),
         static_cast<long long>(proved));
}

// A value that fp32 cannot hold is found at the first row that has one.
void values_too_large_are_found() {
  const Metric metric = find_metric("sqeuclidean", 0);
  Points p = make_points(metric, KNNG_F64, 33, 4, 22);
  set_values(p, [](std::int64_t i, std::int64_t) { return static_cast<double>(i) * (i >= 17 ? 1e30 : 1); });
  for (const std::int32_t dtype : {KNNG_F32, KNNG_F64}) {
    const Question q{p, p, 3, true, {}, false, false, dtype};
    const DevicePoints device(p);
    Answer answer(q, 0, p.rows);
    std::vector<std::int64_t> numbers;
    for (std::int64_t i = p.rows; i-- > 0;) numbers.push_back(i);
    const Array<std::int64_t> list(numbers);
    ExactJob job;
    job.rows = job.columns = device.view();
    job.metric = metric;
    job.k = 3;
    job.list = list.get();
    job.count = p.rows;
    job.admission.square = true;
    job.result = answer.rows;
    job.rows_at_a_time = 64;
    job.columns_at_a_time = 64;
    const Array<std::byte> workspace(exact_workspace_bytes(job));
    job.workspace = workspace.get();
    exact_rows(job, nullptr);
    const unsigned long long found = answer.findings.values()[0].first_too_large;
    expect(found == (dtype == KNNG_F32 ? 17 : ResultFindings::kNothing), "too large: row %llu", found);
  }
}

// Some rows of a graph, by all keys.
void rows_are_sorted(const Points& p, std::int64_t k, const char* what) {
  const std::int64_t points = p.rows;
  const Question q{p, p, k, true, {}};
  const DevicePoints device(p);
  const std::vector<std::int64_t> numbers = {0, 1, 2, points / 2, points - 1};
  const Array<std::int64_t> list(numbers);
  Answer answer(q, 0, p.rows);
  check(cudaMemset(answer.proved.get(), 0, static_cast<std::size_t>(p.rows)));
  ExactJob job;
  job.rows = job.columns = device.view();
  job.metric = p.metric;
  job.k = k;
  job.list = list.get();
  job.count = list.size();
  job.admission.square = true;
  job.result = answer.rows;
  job.rows_at_a_time = 2;
  job.columns_at_a_time = points;
  const Array<std::byte> workspace(exact_workspace_bytes(job));
  job.workspace = workspace.get();
  exact_rows(job, nullptr);
  check(cudaDeviceSynchronize());
  ResultFindings findings = answer.findings.values()[0];
  findings.unproved = static_cast<unsigned long long>(p.rows - list.size());
  check(cudaMemcpy(answer.findings.get(), &findings, sizeof findings, cudaMemcpyHostToDevice));
  expect(compare(q, answer, 0, p.rows) == list.size(), "%lld points, %s keys, k=%lld", static_cast<long long>(points),
         what, static_cast<long long>(k));
}

// Equal keys beyond what the selection can sort at once, and k up to the last row.
void many_equal_keys(std::int64_t points, std::int64_t k) {
  Points p = make_points(find_metric("manhattan", 0), KNNG_U8, points, 3, 23);
  set_values(p, [](std::int64_t i, std::int64_t t) { return (3 * i + t) % 7 == 0 ? 1.0 : 0.0; });
  rows_are_sorted(p, k, "equal");
}

// Keys of the first row that differ in their last bits alone, beside one that is far away: the first bits of keys leave
// much open, the more the fewer steps of the last bit lie between two keys.
void nearly_equal_keys(std::int64_t points, std::int64_t steps) {
  Points p = make_points(find_metric("manhattan", 0), KNNG_F64, points, 1, 25);
  const std::int64_t stride = 1237;  // prime to all numbers of points
  set_values(p, [&](std::int64_t i, std::int64_t) {
    if (i == 0 || i == points / 3) return i == 0 ? 0.0 : 1e300;
    return std::bit_cast<double>(std::bit_cast<std::int64_t>(1.0) + i * stride % points * steps);
  });
  rows_are_sorted(p, points - 1, "nearly equal");
}

// From 20 of the points, at 0, keys differ by less than products may be off, or lie just above the middle of two values
// of single precision.
void keys_that_products_do_not_tell() {
  for (std::uint64_t seed = 1; seed <= 3; ++seed) {
    Points p = make_points(find_metric("sqeuclidean", 0), KNNG_F64, 80, 1, 27);
    set_values(p, [&](std::int64_t i, std::int64_t) {
      if (i < 20) return 0.0;
      return i < 60 ? 1 + static_cast<double>(i * 37 % 41) * 0x1p-48 : 1 + static_cast<double>(2 * i - 119) * 0x1p-25;
    });
    const Question q{p, p, 70, true, {}, false, false, KNNG_F32};
    expect(answer_is_right(q, 79, false, seed) == 1, "keys that are close: not proved");
  }
}

}  // namespace
}  // namespace libknng::cuda::test

int main() {
  using namespace libknng;
  using namespace libknng::cuda::test;
  gpu::need_device();
  int cases = 0;
  double proved = 0;
  std::uint64_t seed = 0;
  for (const Metric& metric : all_metrics())
    for (const std::int32_t dtype : all_dtypes())
      for (const std::int64_t dim : {1, 3, 32, 100}) {
        if (small_run() && dim != 3) continue;
        const bool products = metric.term == Term::squared_difference || metric.term == Term::product;
        const bool direct = !products || seed % 3 == 0;
        const double largest = direct ? DBL_MAX : 4;
        const Points rows = make_points(metric, dtype, 83, dim, 11, 1, largest);
        const Points columns = make_points(metric, dtype, 150, dim, 12, 1, largest);
        std::vector<std::int64_t> leave_out;
        for (std::int64_t i = 0; i < rows.rows; ++i) leave_out.push_back(i % 3 == 0 ? -1 : (i * 7) % columns.rows);
        const Question graph{rows, rows,          1 + static_cast<std::int64_t>(seed % 12), true,
                             {},   seed % 2 == 0, metric.similarity && seed % 4 < 2};
        const Question query{rows, columns, 10, false, leave_out, false, false, KNNG_F32};
        proved += answer_is_right(graph, 20, direct, seed);
        // Every pair is a candidate: all rows are proved without any bound.
        expect(answer_is_right(graph, rows.rows - 1, direct, seed + 1) == 1, "%s: not proved", rows.name.c_str());
        proved += answer_is_right(query, 45, direct, seed + 2);
        cases += 3;
        ++seed;
      }
  expect(proved > 0.5 * cases * 2 / 3, "only %g of %d runs' rows were proved by their candidates", proved,
         cases * 2 / 3);
  wrong_bounds_are_counted();
  // Lists of every way to keep one, full and with just enough room.
  for (const int decoys : {3, 30, 62, 126, 254, 300})
    for (const int room : {0, 1, 2})
      for (const std::int64_t k : {1, 2}) the_nearest_discarded_is_not_the_dangerous_one(decoys, decoys + room, k);
  the_last_key_is_not_above_the_cutoff(1.99, 3.9F, false);
  for (const float cutoff : {4.0F, INFINITY}) the_last_key_is_not_above_the_cutoff(3, cutoff, true);
  the_last_key_is_not_above_the_cutoff(3, std::nextafter(4.0F, 0.0F), false);
  values_too_large_are_found();
  keys_that_products_do_not_tell();
  if (small_run()) return gpu::result();
  // Lists longer than shared memory holds, and k = n - 1.
  const Points many = make_points(find_metric("euclidean", 0), KNNG_F32, 9000, 2, 13);
  const Points few = make_points(find_metric("euclidean", 0), KNNG_F32, 8, 2, 14);
  answer_is_right({few, many, 8999, false, std::vector<std::int64_t>(8, -1)}, 9000, true, 1);
  answer_is_right({few, many, 4000, false, std::vector<std::int64_t>(8, 3)}, 5001, true, 2);
  for (const std::int64_t k : {1, 10, 600, 1500, 4999}) many_equal_keys(5000, k);
  // A row's entries: as many as each way to sort them has room for, and one more.
  for (const std::int64_t entries : {32, 64, 128, 256, 512, 1280, 2048})
    for (const std::int64_t more : {0, 1}) many_equal_keys(entries + more, entries + more - 1);
  for (const std::int64_t points : {700, 1281, 2049})
    for (const std::int64_t steps : {1, 40, 400, 100000}) nearly_equal_keys(points, steps);
  std::printf("refinement: %d cases, %.0f %% of rows with short lists proved by their candidates\n", cases + 2,
              100 * proved / (cases * 2 / 3.0));
  return gpu::result();
}

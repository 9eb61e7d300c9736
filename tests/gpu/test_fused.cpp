// Products compared in registers: what each kernel hands to lists is, pair by pair, what its row or column accepts, on
// operands whose products are exact; lists that are too short lose nothing unnoticed; and products under attack lie
// within the bound of their unit, as tiles in memory do (test_product.cu).
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <limits>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

#include <cuda_fp16.h>

#include "backend/cuda/fused/all_pairs.cuh"
#include "backend/cuda/fused/arrange.cuh"
#include "backend/cuda/fused/fused_job.cuh"
#include "backend/cuda/fused/limits.cuh"
#include "backend/cuda/select/integer_terms.h"
#include "tests/gpu/gpu.cuh"
#include "tests/gpu/product_attack.cuh"
#include "tests/unit/values.h"

namespace {

using libknng::cuda::Candidate;
using libknng::cuda::kNoIntegerTerm;
using libknng::cuda::kUnknownIntegerTerm;
using libknng::cuda::Side;
using namespace libknng::cuda::fused;
using values::Random;

constexpr float kInfinity = std::numeric_limits<float>::infinity();

struct NamedKernel {
  const char* name;
  bool (*can_run)(int compute_major);
  Kernel<float> run;
  Kernel<std::int32_t> run_bytes;
};
constexpr NamedKernel kKernels[] = {{"hopper", can_run_hopper, run_hopper, run_hopper},
                                    {"portable", can_run_portable, run_portable, run_portable}};

enum class Values {
  halves,      // small integers, so that products are exact in any order, and with terms and cut-offs lows as well
  bytes,       // the same as bytes
  wide_bytes,  // all from -128 to 127
  ends,        // one of these two in all of a point: the largest lows and the highest terms
};

struct Case {
  Values kind;
  int rows, columns, terms, stride, capacity, k;  // the stride in values
  bool both;
  std::vector<std::byte> a, b;
  std::vector<int> a_values, b_values;
  std::vector<float> row_terms, column_terms, row_cutoffs, column_cutoffs;
  std::vector<std::uint32_t> excluded;
  std::vector<std::uint8_t> near = {};  // by windows of rows, then of columns; empty: all are looked at

  int column_windows() const { return (columns + kWindow - 1) / kWindow; }
  bool is_near(int r, int c) const {
    return near.empty() || near[static_cast<std::size_t>(r / kWindow * column_windows() + c / kWindow)] != 0;
  }
  int value_bytes() const { return kind == Values::halves ? 2 : 1; }
  // As the kernels count.
  int in_halves(int values) const { return values * value_bytes() / 2; }
  // What a kernel goes by: the threshold is rounded down, so that it may accept a pair an ulp above the cut-off. Of
  // bytes nothing is rounded.
  bool accepts(float term, float cutoff, float other_term, int product) const {
    if (kind != Values::halves && std::max(term, other_term) == static_cast<float>(kNoIntegerTerm)) return false;
    if (kind != Values::halves)
      return static_cast<double>(term) + static_cast<double>(other_term) - 2.0 * product <= static_cast<double>(cutoff);
    const double exact = static_cast<double>(term) - static_cast<double>(cutoff);
    auto difference = static_cast<float>(exact);
    if (static_cast<double>(difference) > exact) difference = std::nextafter(difference, -kInfinity);
    return static_cast<double>(product) - static_cast<double>(other_term) / 2 >= static_cast<double>(difference) / 2;
  }
  int product(int r, int c) const {
    int sum = 0;
    for (int t = 0; t < terms; ++t)
      sum += a_values[static_cast<std::size_t>(r) * static_cast<std::size_t>(terms) + static_cast<std::size_t>(t)] *
             b_values[static_cast<std::size_t>(c) * static_cast<std::size_t>(terms) + static_cast<std::size_t>(t)];
    return sum;
  }
  float low(int r, int c) const {
    const double exact = static_cast<double>(row_terms[static_cast<std::size_t>(r)]) +
                         static_cast<double>(column_terms[static_cast<std::size_t>(c)]) - 2.0 * product(r, c);
    const auto low = static_cast<float>(exact);  // rounded down
    return static_cast<double>(low) > exact ? std::nextafter(low, -kInfinity) : low;
  }
};

constexpr std::uint32_t kFirstColumn = 100000, kFirstRow = 7;

// halves: of a point's terms.
Case make_case(Values kind, int rows, int columns, int halves, bool both, int capacity, int k, std::uint64_t seed) {
  Random random(seed);
  Case c{};
  c.kind = kind;
  c.rows = rows;
  c.columns = columns;
  c.terms = 2 * halves / c.value_bytes();
  c.stride = c.terms + 16 / c.value_bytes() * static_cast<int>(random.next() % 3);
  c.capacity = capacity;
  c.k = k;
  c.both = both;
  const auto fill = [&](int points, std::vector<std::byte>& operands, std::vector<int>& values,
                        std::vector<float>& of_points) {
    // What must not be read: -4.9e4, or 127.
    operands.assign(static_cast<std::size_t>(points * c.stride * c.value_bytes()),
                    kind == Values::halves ? std::byte{0xfa} : std::byte{0x7f});
    values.resize(static_cast<std::size_t>(points * c.terms));
    for (int p = 0; p < points; ++p) {
      int square = 0;
      for (int t = 0; t < c.terms; ++t) {
        const auto bits = static_cast<unsigned>(random.next() >> 32);
        const int x = kind == Values::ends         ? (p % 3 == 0 ? 127 : -128)
                      : kind == Values::wide_bytes ? static_cast<int>(bits % 256) - 128
                                                   : static_cast<int>(bits % 7) - 3;
        values[static_cast<std::size_t>(p * c.terms + t)] = x;
        std::byte* const to = operands.data() + (p * c.stride + t) * c.value_bytes();
        const __half half = __float2half(static_cast<float>(x));
        if (kind == Values::halves)
          std::memcpy(to, &half, sizeof half);
        else
          *to = static_cast<std::byte>(x);
        square += x * x;
      }
      // Some have no direction, and of some nothing is known; of rows rounded to bytes as well, whose terms may be
      // negative.
      const bool halved = kind == Values::halves, few = kind == Values::bytes;
      of_points.push_back(halved && p % 61 == 60   ? kInfinity
                          : halved && p % 97 == 90 ? -kInfinity
                          : few && p % 61 == 60    ? static_cast<float>(kNoIntegerTerm)
                          : few && p % 97 == 90    ? static_cast<float>(kUnknownIntegerTerm)
                          : few && p % 13 == 5     ? static_cast<float>(-square - p)
                                                   : static_cast<float>(square));
    }
  };
  fill(rows, c.a, c.a_values, c.row_terms);
  fill(columns, c.b, c.b_values, c.column_terms);
  // A cut-off is the low of one of the list's pairs, just below one, or far from all.
  const auto cutoff = [&](int i, auto&& some_low) {
    const float low = some_low();
    if (i % 17 == 3) return -1.0F;
    if (i % 17 == 7) return kInfinity;
    if (i % 17 == 5) return std::nextafter(low, -kInfinity);
    return low;
  };
  const auto nearest_of = [&](int tries, auto&& low_of) {
    float best = kInfinity;
    for (int i = 0; i < tries; ++i)
      if (const float low = low_of(); low > -kInfinity) best = std::min(best, low);
    return best == kInfinity ? 0 : best;
  };
  for (int r = 0; r < rows; ++r)
    c.row_cutoffs.push_back(cutoff(r, [&] {
      return nearest_of(20, [&] { return c.low(r, static_cast<int>(random.next() % static_cast<unsigned>(columns))); });
    }));
  for (int j = 0; j < columns; ++j)
    c.column_cutoffs.push_back(cutoff(j, [&] {
      return nearest_of(20, [&] { return c.low(static_cast<int>(random.next() % static_cast<unsigned>(rows)), j); });
    }));
  if (!both)
    for (int r = 0; r < rows; ++r)
      c.excluded.push_back(kFirstColumn + static_cast<std::uint32_t>(r % 3 == 0 ? r % columns : columns + 5));
  return c;
}

// Leaves out half of the windows.
Case with_far_windows(Case c, std::uint64_t seed) {
  Random random(seed);
  c.near.resize(static_cast<std::size_t>((c.rows + kWindow - 1) / kWindow * c.column_windows()));
  for (std::uint8_t& near : c.near) near = random.next() % 2 == 0;
  return c;
}

struct SideResult {
  std::vector<Candidate> out;
  std::vector<std::int32_t> counts;
  std::vector<float> cutoffs, dropped;
};

// How a launch is cut into units, and whether its points are put into the order of what lists accept.
struct Cut {
  int unit_columns, band;
  bool arranged;
  int passes = kPasses;
};

template <class Number>
class Run {
 public:
  Run(const Case& c, Kernel<Number> kernel, int multiprocessors, const Cut& cut)
      : case_(c),
        a_(c.a),
        b_(c.b),
        row_terms_(as_jobs_have(c.row_terms)),
        column_terms_(as_jobs_have(c.column_terms)),
        excluded_(c.excluded.empty() ? std::vector<std::uint32_t>(1) : c.excluded),
        bounds_(bounds_of(c)),
        sides_{{static_cast<std::size_t>(c.rows), c.capacity, c.row_cutoffs},
               {static_cast<std::size_t>(c.columns), c.capacity, c.column_cutoffs}},
        limits_{gpu::Array<ListLimit<Number>>(
                    static_cast<std::size_t>((c.rows + kBlockRows - 1) / kBlockRows * kBlockRows)),
                gpu::Array<ListLimit<Number>>(
                    static_cast<std::size_t>((c.columns + kBlockColumns - 1) / kBlockColumns * kBlockColumns))},
        least_(in_tiles(c.columns) / kLaneColumns),
        orders_{gpu::Array<std::uint16_t>((c.rows + kBlockRows - 1) / kBlockRows * kBlockRows),
                gpu::Array<std::uint16_t>(in_tiles(c.columns))},
        arranged_{gpu::Array<std::byte>(in_tiles(c.rows) * libknng::cuda::in_lines(c.in_halves(c.terms)) * 2),
                  gpu::Array<std::byte>(in_tiles(c.columns) * libknng::cuda::in_lines(c.in_halves(c.terms)) * 2)},
        again_{gpu::Array<std::uint8_t>(static_cast<std::size_t>(c.rows)),
               gpu::Array<std::uint8_t>(static_cast<std::size_t>(c.columns))},
        near_(near_words(c, cut.unit_columns)),
        overflown_(kMostPasses) {
    FusedJob<Number> job{};
    job.both = c.both;
    const auto aim = [&](libknng::cuda::SelectJob& side, int s, std::uint32_t first_id) {
      side.rows = c.rows;
      side.columns = c.columns;
      side.side = s == 0 ? Side::rows : Side::columns;
      side.row_terms = row_terms_.get();
      side.column_terms = column_terms_.get();
      side.first_id = first_id;
      side.cutoffs = sides_[s].cutoffs.get();
      side.capacity = c.capacity;
      side.out = sides_[s].out.get();
      side.counts = sides_[s].counts.get();
      side.dropped = sides_[s].dropped.get();
    };
    aim(job.rows, 0, kFirstColumn);
    aim(job.columns, 1, kFirstRow);
    if (!c.both) job.rows.admission = {excluded_.get()};
    job.row_operands = a_.get();
    job.column_operands = b_.get();
    job.stride = c.in_halves(c.stride);
    job.terms = c.in_halves(c.terms);
    job.row_limits = limits_[0].get();
    job.column_limits = limits_[1].get();
    job.column_least = least_.get();
    if (cut.arranged) {
      job.row_order = orders_[0].get();
      job.column_order = orders_[1].get();
    }
    job.rows_again = again_[0].get();
    job.columns_again = again_[1].get();
    if (!c.near.empty()) job.near = near_.get();
    job.unit_columns = cut.unit_columns;
    job.band = cut.band;
    job.overflown = overflown_.get();
    const auto lists = [&](int s) {
      return ListsOfSide{
          {sides_[s].out.get(), sides_[s].counts.get(), c.capacity, sides_[s].cutoffs.get(), sides_[s].dropped.get()},
          c.kind == Values::halves
              ? libknng::cuda::Bounds{c.k, bounds_.get() + (s == 0 ? kFirstRow : kFirstColumn), bounds_.get()}
              : libknng::cuda::Bounds{c.k, nullptr, nullptr}};
    };
    start_limits(job, nullptr);
    if (cut.arranged) {
      const std::int64_t stride = libknng::cuda::in_lines(job.terms);
      arrange({job.row_operands, c.rows, job.row_order, arranged_[0].get()},
              {job.column_operands, c.columns, job.column_order, arranged_[1].get()}, job.stride, job.terms, stride,
              nullptr);
      job.row_operands = arranged_[0].get();
      job.column_operands = arranged_[1].get();
      job.stride = stride;
    }
    job.passes = cut.passes;
    for (job.pass = 0; job.pass < job.passes; ++job.pass) {
      if (job.pass > 0) renew_limits(job, lists(0), lists(1), nullptr);
      kernel(job, multiprocessors, nullptr);
    }
    libknng::cuda::check(cudaDeviceSynchronize());
  }

  SideResult result(int s) const {
    return {sides_[s].out.values(), sides_[s].counts.values(), sides_[s].cutoffs.values(), sides_[s].dropped.values()};
  }

 private:
  // Integers by their bits.
  static std::vector<float> as_jobs_have(std::vector<float> terms) {
    if constexpr (std::is_same_v<Number, std::int32_t>)
      for (float& term : terms) term = std::bit_cast<float>(static_cast<std::int32_t>(term));
    return terms;
  }
  // By id. Lows are exact, but for those of points of which nothing is known.
  static std::vector<float> bounds_of(const Case& c) {
    std::vector<float> bounds(kFirstColumn + static_cast<std::size_t>(c.columns));
    const auto put = [&](std::size_t first, const std::vector<float>& terms) {
      for (std::size_t i = 0; i < terms.size(); ++i)
        if (terms[i] == -kInfinity) bounds[first + i] = kInfinity;
    };
    put(kFirstRow, c.row_terms);
    put(kFirstColumn, c.column_terms);
    return bounds;
  }
  // As a job has them.
  static std::vector<std::uint64_t> near_words(const Case& c, int unit_columns) {
    const int row_windows = (c.rows + kWindow - 1) / kWindow, units = (c.columns + unit_columns - 1) / unit_columns;
    std::vector<std::uint64_t> words(static_cast<std::size_t>(row_windows * units));
    for (int r = 0; r < row_windows && !c.near.empty(); ++r)
      for (int w = 0; w < c.column_windows(); ++w)
        if (c.is_near(r * kWindow, w * kWindow))
          words[static_cast<std::size_t>(r * units + w * kWindow / unit_columns)] |=
              std::uint64_t{1} << (w * kWindow % unit_columns / kWindow);
    return words;
  }

  struct OfSide {
    OfSide(std::size_t lists, int capacity, const std::vector<float>& limit)
        : out(lists * static_cast<std::size_t>(capacity)),
          counts(lists),
          cutoffs(limit),
          dropped(std::vector<float>(lists, kInfinity)) {
      out.poison();
      counts.poison();
    }
    gpu::Array<Candidate> out;
    gpu::Array<std::int32_t> counts;
    gpu::Array<float> cutoffs, dropped;
  };

  const Case& case_;
  gpu::Array<std::byte> a_, b_;
  gpu::Array<float> row_terms_, column_terms_;
  gpu::Array<std::uint32_t> excluded_;
  gpu::Array<float> bounds_;
  OfSide sides_[2];
  gpu::Array<ListLimit<Number>> limits_[2];
  gpu::Array<ListLimit<Number>> least_;
  gpu::Array<std::uint16_t> orders_[2];
  gpu::Array<std::byte> arranged_[2];
  gpu::Array<std::uint8_t> again_[2];
  gpu::Array<std::uint64_t> near_;
  gpu::Array<unsigned> overflown_;
};

// The pairs that a list accepts, ascending.
using Pair = std::pair<float, std::uint32_t>;
std::vector<Pair> accepted_of(const Case& c, int s, int list) {
  std::vector<Pair> pairs;
  const auto at = [](const std::vector<float>& of, int i) { return of[static_cast<std::size_t>(i)]; };
  const float cutoff = at(s == 0 ? c.row_cutoffs : c.column_cutoffs, list);
  const float term = at(s == 0 ? c.row_terms : c.column_terms, list);
  const int length = s == 0 ? c.columns : c.rows;
  for (int e = 0; e < length; ++e) {
    const std::uint32_t id = (s == 0 ? kFirstColumn : kFirstRow) + static_cast<std::uint32_t>(e);
    if (s == 0 && !c.both && c.excluded[static_cast<std::size_t>(list)] == id) continue;
    if (s == 0 ? !c.is_near(list, e) : !c.is_near(e, list)) continue;
    const float low = s == 0 ? c.low(list, e) : c.low(e, list);
    if (!(low < kInfinity)) continue;
    const bool accepted = c.accepts(term, cutoff, at(s == 0 ? c.column_terms : c.row_terms, e),
                                    s == 0 ? c.product(list, e) : c.product(e, list));
    // Of bytes a low may be rounded down to the cut-off.
    gpu::expect(accepted || low > cutoff || c.kind != Values::halves,
                "the test's own threshold leaves out %g, the cut-off is %g", static_cast<double>(low),
                static_cast<double>(cutoff));
    if (accepted) pairs.emplace_back(low, id);
  }
  std::sort(pairs.begin(), pairs.end());
  return pairs;
}

void expect_list(const Case& c, const SideResult& got, int s, int list, const std::string& what) {
  const auto l = static_cast<std::size_t>(list);
  const float cutoff = (s == 0 ? c.row_cutoffs : c.column_cutoffs)[l];
  const std::vector<Pair> survivors = accepted_of(c, s, list);
  const int found = std::min(got.counts[l], c.capacity);
  std::vector<Pair> seen;
  for (int i = 0; i < found; ++i) {
    const Candidate& e = got.out[l * static_cast<std::size_t>(c.capacity) + static_cast<std::size_t>(i)];
    seen.emplace_back(e.low, e.id);
  }
  std::sort(seen.begin(), seen.end());
  const char* const side = s == 0 ? "row" : "column";
  if (survivors.size() <= static_cast<std::size_t>(c.capacity)) {
    gpu::expect(seen == survivors, "%s %s %d: %zu pairs in place of %zu, or others", what.c_str(), side, list,
                seen.size(), survivors.size());
    gpu::expect(got.dropped[l] == kInfinity && got.cutoffs[l] == cutoff, "%s %s %d: lost something", what.c_str(), side,
                list);
    return;
  }
  // Too many: some are there, each once; the others are above a cut-off that is not below the k-th, or remembered.
  gpu::expect(std::adjacent_find(seen.begin(), seen.end()) == seen.end() &&
                  std::includes(survivors.begin(), survivors.end(), seen.begin(), seen.end()),
              "%s %s %d: pairs twice, or none of its", what.c_str(), side, list);
  gpu::expect(got.cutoffs[l] <= cutoff && got.cutoffs[l] >= survivors[static_cast<std::size_t>(c.k - 1)].first,
              "%s %s %d: cut-off %g, its k-th is %g", what.c_str(), side, list, static_cast<double>(got.cutoffs[l]),
              static_cast<double>(survivors[static_cast<std::size_t>(c.k - 1)].first));
  for (const Pair& p : survivors)
    if (!std::binary_search(seen.begin(), seen.end(), p))
      gpu::expect(p.first > got.cutoffs[l] || p.first >= got.dropped[l], "%s %s %d: %g lost unnoticed", what.c_str(),
                  side, list, static_cast<double>(p.first));
}

template <class Number>
void expect_case(const Case& c, const std::string& name, Kernel<Number> kernel, int multiprocessors, const Cut& cut) {
  const Run<Number> run(c, kernel, multiprocessors, cut);
  const std::string what = name + " " + std::to_string(c.rows) + " x " + std::to_string(c.columns) + " x " +
                           std::to_string(c.terms) + (c.both ? " both" : " rows") + (cut.arranged ? " arranged" : "") +
                           (c.near.empty() ? "" : " far windows") + " room " + std::to_string(c.capacity);
  for (int s = 0; s < (c.both ? 2 : 1); ++s) {
    const SideResult got = run.result(s);
    const int lists = s == 0 ? c.rows : c.columns;
    for (int l = 0; l<lists; l += lists> 600 ? 7 : 1) expect_list(c, got, s, l, what);
  }
}

void expect_case(const Case& c, const NamedKernel& kernel, int multiprocessors, const Cut& cut) {
  if (c.kind == Values::halves)
    expect_case(c, std::string(kernel.name), kernel.run, multiprocessors, cut);
  else
    expect_case(c, kernel.name + std::string(" bytes"), kernel.run_bytes, multiprocessors, cut);
}

// On Hopper "large first" of 16 terms a group loses 8 of 17 x 2^-24 a group; other chips as in test_product.cu.
void attack_kernel(const NamedKernel& kernel, const cudaDeviceProp& properties) {
  namespace cuda = libknng::cuda;
  cuda::DeviceContext context(0, std::numeric_limits<std::int64_t>::max());
  for (attack::Case c : attack::cases_on(properties.major)) {
    if (c.precision == cuda::Precision::fp32) continue;
    const std::string name = std::string(kernel.name) + ", " + c.name;
    c.name = name.c_str();
    if (properties.major == 9 && c.precision == cuda::Precision::fp16 && !small_run()) c.reached = 0.3;
    attack::Found found;
    const auto check = [&](attack::Size size, std::int64_t dim) {
      const attack::Pairs pairs = attack::Pairs::of(c, size, dim);
      const gpu::Array<std::byte> a(pairs.a.values), b(pairs.b.values);
      const std::int64_t skipped = c.precision == cuda::Precision::two_piece ? cuda::pitch_of(dim, c.precision) * 2 : 0;
      for (const bool both : {false, true}) {
        const std::vector<double> products = all_products(
            {cuda::operand_of(a.get(), 1, c.precision, dim), cuda::operand_of(b.get(), 1, c.precision, dim) + skipped,
             static_cast<int>(size.rows), static_cast<int>(size.columns), cuda::stride_of(dim, c.precision),
             cuda::terms_of(dim, c.precision)},
            std::span<const float>(), kernel.run, properties.multiProcessorCount, both, context);
        attack::judge(c, pairs, {products.begin(), products.end()}, size.columns, found);
      }
    };
    for (const std::int64_t dim : {1, 2, 16, 17, 33, 64, 100, 257, 1000, 4096, 20'000})
      if (!small_run() || dim <= 2 || dim == 16 || dim == 33 || dim == 257) check(attack::kSmall, dim);
    for (const std::int64_t dim : {16, 64, 257, 1000})
      if (!small_run() || dim == 16) check(attack::kLarge, dim);
    attack::conclude(c, found);
  }
}

// Every pair of sides with one number of terms or another, each side with all, as halves and as bytes.
void check_shapes(const NamedKernel& kernel, int multiprocessors) {
  const bool small = small_run();
  const std::vector<int> sides = small ? std::vector<int>{1, 129, 257}
                                       : std::vector<int>{1, 2, 63, 64, 65, 127, 128, 129, 255, 256, 257, 511, 1000};
  const std::vector<int> terms =
      small ? std::vector<int>{8, 72, 200} : std::vector<int>{8, 16, 24, 56, 64, 72, 128, 136, 192, 200, 256, 296, 784};
  std::uint64_t seed = 1;
  for (const int d : terms)
    for (const int rows : sides) {
      const int columns = sides[static_cast<std::size_t>(seed * 5 % sides.size())];
      for (const bool both : {true, false}) {
        ++seed;
        const Cut cut{seed % 2 == 0 ? kBlockColumns : 3 * kBlockColumns, 1 + static_cast<int>(seed % 5), false};
        const Values bytes = seed % 3 == 0 ? Values::bytes : Values::wide_bytes;
        for (const Values kind : {Values::halves, bytes})
          for (const bool arranged : {false, true})
            expect_case(make_case(kind, rows, columns, d, both, 2000, 3, seed), kernel, multiprocessors,
                        {cut.unit_columns, cut.band, arranged});
      }
    }
}

void check_kind(Values kind, const NamedKernel& kernel, int multiprocessors) {
  const bool small = small_run();
  std::uint64_t seed = 1000;
  // Lists with too little room; few blocks, so that each takes many units.
  for (const int capacity : {4, 8, 40})
    for (const bool both : {true, false})
      for (const bool arranged : {false, true})
        for (const int passes : {kPasses, kMostPasses})
          expect_case(make_case(kind, small ? 150 : 700, small ? 300 : 900, 32, both, capacity, 3, seed++), kernel, 3,
                      {kBlockColumns, 1 + static_cast<int>(seed % 3), arranged, passes});
  // Windows that are far: nothing of them comes, nor is anything else lost.
  for (const int d : {8, 200, 784})
    for (const int capacity : {8, 2000})
      for (const bool both : {true, false})
        for (const bool arranged : {false, true}) {
          const Case c = make_case(kind, small ? 300 : 1100, small ? 700 : 2300, d, both, capacity, 3, seed++);
          expect_case(with_far_windows(c, seed), kernel, seed % 2 == 0 ? 3 : multiprocessors,
                      {kWindow * (seed % 3 == 0 ? 1 : 4), 1 + static_cast<int>(seed % 3), arranged});
        }
  // So many tiles that warps of few blocks sieve, compare, and try to sieve again.
  for (const bool both : {false, true})
    expect_case(make_case(kind, small ? 65 : 300, small ? 9'000 : 90'000, 16, both, 100, 3, seed++), kernel, 1,
                {static_cast<int>(kUnitColumns), 1, true});
}

}  // namespace

// Of all kernels, or of the one that is named, since tools take long.
int main(int argc, char** argv) {
  gpu::need_device();
  cudaDeviceProp properties{};
  libknng::cuda::check(cudaGetDeviceProperties(&properties, 0));
  bool known = argc < 2;
  for (const NamedKernel& kernel : kKernels) {
    if (argc > 1 && std::strcmp(argv[1], kernel.name) != 0) continue;
    known = true;
    if (!kernel.can_run(properties.major)) {
      std::printf("%s: not on this device\n", kernel.name);
      continue;
    }
    check_shapes(kernel, properties.multiProcessorCount);
    for (const Values kind : {Values::halves, Values::wide_bytes})
      check_kind(kind, kernel, properties.multiProcessorCount);
    for (const bool both : {false, true})
      expect_case(make_case(Values::ends, 70, 150, 33'024 / 2, both, 2000, 3, 1), kernel, 2, {kBlockColumns, 1, both});
    attack_kernel(kernel, properties);
    std::printf("%s: %lld checks so far\n", kernel.name, gpu::checks);
  }
  gpu::expect(known, "there is no kernel of that name");
  return gpu::result();
}

// The engines of GPUs, as one ordered table: of those that can do a problem the first that pays is the best for it. A
// line is what an engine is from its problem alone, in host code, so that simulated devices have the same table; what
// its kernels take and do has a line in engine_kernels.cuh. Several lines may share a name, as people know it: each
// is for other metrics or rows.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>
#include <iterator>
#include <limits>
#include <span>
#include <string>
#include <string_view>

#include "backend/cuda/base/metric.cuh"
#include "backend/cuda/engines/throughput.h"
#include "backend/cuda/tree/growing_term.h"
#include "backend/seam.h"
#include "core/dtype.h"
#include "metric/canonical.h"
#include "metric/metric.h"
#include "plan/integer_products.h"
#include "refine/bound.h"
#include "refine/sum_terms.h"

namespace libknng::cuda {

// How candidates are found.
enum class EngineKind {
  fused_bytes,     // products of 8-bit integers, which are exact, compared in registers: no tile in memory
  fused_products,  // products in one precision after the other, compared in registers
  byte_products,   // tiles of products of 8-bit integers
  products,        // tiles of products, in one precision after the other
  sums,            // tiles of sums in single precision; of canonical keys for rows that these do not prove
  boxes,           // no tiles: rows are searched for in a tree of all points
  keys             // tiles of canonical keys
};
inline constexpr std::size_t kEngineKinds = 7;

// Why an engine does not do a problem.
struct Refusal {
  const char* text = nullptr;  // behind "engine=NAME "; null: it does
  std::int64_t given = -1, limit = -1;
};

struct GpuEngine {
  EngineKind kind;
  const char* name;         // as in engine=tiled
  bool by_rows;             // it answers rows; else it evaluates tiles
  bool all_keys;            // it evaluates the canonical keys of all pairs
  std::int64_t most_pairs;  // of a tile: more do not pay
  // Most pairs of a graph that is in as few tiles as most_pairs allows on one device.
  std::int64_t (*few_tiles_to)(const knng_backend_problem& p);
  bool redoes_by_lists;  // its lows are there for any rows (RowFilter), where all points stay on the device
  bool guesses;          // it can do with first cut-offs that are guessed (cutoff_guess.h)
  std::int32_t unit;     // KNNG_UNIT bit of kernels of its own that multiply; 0: it has none
  // Whether problems of such a metric and size are this line's.
  bool (*suits)(const knng_backend_problem& p);
  // Of problems that are.
  Refusal (*refusal)(const knng_backend_problem& p);
  const char* unsuited;  // why a problem that suits no line of the name is refused; of the last line of a name
  // Whether it should do a problem for which no engine was asked for.
  bool (*pays)(const knng_backend_problem& p);
  std::span<const knng_backend_rung> (*rungs)(const knng_backend_problem& p);
  std::int64_t (*candidates)(const knng_backend_problem& p);  // that a list should keep; 0: no more than others
  // Coordinates of pairs that a multiprocessor gets done in a cycle on a rung.
  double (*coordinates)(const knng_backend_problem& p, std::int32_t rung, const Throughput& device);
};

inline constexpr std::array<knng_backend_rung, 3> kProductRungs = {{
    {KNNG_RUNG_FILTER, KNNG_UNIT_FP16, "fp16"},
    {KNNG_RUNG_TWO_PIECE, KNNG_UNIT_FP16, "two pieces"},
    {KNNG_RUNG_FP32, KNNG_UNIT_FP32, "fp32"},
}};
// The same behind rows rounded to bytes, whose products take half the time, and which tell neighbours from fewer
// rivals.
inline constexpr std::array<knng_backend_rung, 4> kRoundedByteRungs = {{
    {KNNG_RUNG_ROUNDED_BYTES, KNNG_UNIT_BYTES, "rounded bytes"},
    kProductRungs[0],
    kProductRungs[1],
    kProductRungs[2],
}};
// Sums in single precision, then canonical keys.
inline constexpr std::array<knng_backend_rung, 2> kSumRungs = {{
    {KNNG_RUNG_FILTER, 0, "fp32"},
    {KNNG_RUNG_FP64, 0, "fp64"},
}};
inline constexpr std::array<knng_backend_rung, 1> kKeyRungs = {{{KNNG_RUNG_FP64, 0, "fp64"}}};
// What exact products do not prove is for want of room in lists, of young ones in registers too, and no other precision
// does.
inline constexpr std::array<knng_backend_rung, 1> kByteRungs = {{{KNNG_RUNG_FILTER, KNNG_UNIT_BYTES, "bytes"}}};

// By dimension: so many points of a graph make leaving boxes of them out faster than products of all pairs, for ten
// neighbours (docs/internals/benchmarks-gpu.md, "Which engine on a GPU"). The more dimensions, the fewer boxes can be
// left out, and what that saves grows with the points; what is not left out grows with the neighbours, and each 64 more
// take as many points again. Metrics that have sums in place of products take boxes up to the last dimension here for
// any number of points, and those without a filter in any dimension.
inline constexpr std::int64_t kPointsForBoxes[] = {8'000,  8'000,   8'000,   10'000,   25'000,
                                                   70'000, 200'000, 700'000, 1'500'000};
inline constexpr std::int64_t kBoxesPay = std::ssize(kPointsForBoxes) - 1;
inline constexpr double kNeighboursForBoxes = 10, kNeighboursToDouble = 64;
// Up to so many dimensions (of bytes twice as many) and neighbours products are compared in registers.
inline constexpr std::int64_t kRegistersPay = 3072, kMostInRegisters = 1024;
inline constexpr std::int64_t kFewNeighbours = 32;
// Among so many columns, and pairs: of fewer, tiles in memory take fewer launches. Lists that are young accept much,
// which ends later where they have many neighbours.
struct EnoughForRegisters {
  std::int64_t columns_for_few, columns_for_many, columns_each;  // up to kFewNeighbours; beyond, and for each of them
  double pairs;
};
inline constexpr EnoughForRegisters kGraphOfOneDevice{0, 24'000, 48, 0}, kGraphOfSeveral{50'000, 50'000, 0, 0},
    kQueries{20'000, 40'000, 100, 2.5e8};
// A graph on one device is in few tiles in memory. Those on the diagonal have each pair twice, but with fewer tiles
// there are fewer products, selections and merges. With more coordinates together the product counts: sooner where few
// neighbours are selected and merged, never where lists have such a share of the points that their keys take longer.
// (Measured on an H200.)
inline constexpr std::int64_t kPairsInFewTiles = 11'000 * 11'000, kCoordinatesOfFewNeighbours = std::int64_t{1} << 38;
inline constexpr std::int64_t kCoordinatesInFewTiles = 900'000'000'000, kLargeShare = 32;

// Rows of 8-bit integers lose nothing in fp16 either. Bytes are the faster unit from so many dimensions on: a step of
// the fused kernels has 64 dimensions of fp16 or 128 of bytes, and writing a tile costs as much as its products up to
// some hundred (docs/internals/benchmarks-gpu.md).
inline constexpr std::int64_t kBytesInRegistersFrom = 65, kBytesInMemoryFrom = 2048;

// Rows of other values are rounded to bytes first where products are most of the work: from so many dimensions on, and
// with so many coordinates of columns that a sample of the rows, which tells whether bytes will do, costs little beside
// them. Lists keep several times k candidates then, so k is small.
inline constexpr std::int64_t kRoundedBytesFrom = 288, kRoundedBytesTo = 2 * kRegistersPay;
inline constexpr double kCoordinatesOfRoundedBytes = 0x1p28;

// A sample of the rows tells what tiles of a precision will be like. It takes about a millisecond, and all pairs of
// fewer some ten; and of fewer rows it is no small part.
inline constexpr double kPairsWorthSampling = 0x1p33;
inline constexpr std::int64_t kFewestRowsSampledFrom = 8192;

// Canonical keys of fewer pairs, with no more coordinates together, take less time than what a filter or a tree begins
// and ends with: some ten launches and waits. (A device with no more than
// 0.5 TFLOP/s in fp64 would take 2^28 / 0.5e12 = 0.5 ms for the most of them.)
inline constexpr double kFewPairs = 9e6, kFewCoordinates = 0x1p27;
// So do keys of few queries: they take one reading of the points for four rows (keys/whole_keys.cuh), and every filter
// and tree reads all points several times before it begins.
inline constexpr std::int64_t kFewQueries = 32;

// Products of a tile in memory cost as much as writing them, and larger tiles mean fewer launches and merges. Without a
// tile in memory larger ones cost only room for what is found.
inline constexpr std::int64_t kPairsInMemory = 20'480 * 20'480, kPairsInRegisters = std::int64_t{1} << 34;

namespace engine_lines {

inline Term term_of(const knng_backend_problem& p) { return static_cast<Term>(p.metric.term); }
inline bool always(const knng_backend_problem&) { return true; }
inline Refusal never(const knng_backend_problem&) { return {}; }

inline bool has_byte_products(const knng_backend_problem& p) {
  return has_integer_products(metric_of(p.metric), p.rows.dtype, p.columns.dtype, p.columns.dim);
}
inline bool fuses_bytes(const knng_backend_problem& p) {
  return p.columns.dim >= kBytesInRegistersFrom && has_byte_products(p);
}
inline bool tiles_bytes(const knng_backend_problem& p) {
  return p.columns.dim >= kBytesInMemoryFrom && has_byte_products(p);
}
inline bool multiplies(const knng_backend_problem& p) { return has_product_form(term_of(p)); }
inline bool adds(const knng_backend_problem& p) { return has_sum_term(term_of(p)); }
inline bool searches(const knng_backend_problem& p) { return answers_rows(term_of(p), p.columns.dim); }

inline Refusal refuse_dim(const knng_backend_problem& p) {
  static_assert(kLargestFilterDim == 1048576);
  if (p.columns.dim <= kLargestFilterDim) return {};
  return {"takes dimensions up to 1048576: engine=direct can", p.columns.dim, kLargestFilterDim};
}
inline Refusal refuse_wide_values(const knng_backend_problem& p) {
  if (fits_single(p.rows.dtype) && fits_single(p.columns.dtype)) return refuse_dim(p);
  return {"takes no rows of float64, nor of integers of 32 bits and more, under this metric: engine=direct does"};
}

inline bool has_filter(const knng_backend_problem& p) {
  return !refuse_dim(p).text && (multiplies(p) || (adds(p) && !refuse_wide_values(p).text));
}
inline double pairs_of(const knng_backend_problem& p) {
  return static_cast<double>(p.rows.count) * static_cast<double>(p.columns.count);
}
inline bool are_many(const knng_backend_problem& p) {
  if (p.square == 0 && p.rows.count <= kFewQueries && !is_heavy(term_of(p))) return false;
  return pairs_of(p) >= kFewPairs || pairs_of(p) * static_cast<double>(p.columns.dim) > kFewCoordinates;
}
inline std::int64_t all_pairs(const knng_backend_problem&) { return std::numeric_limits<std::int64_t>::max(); }
inline std::int64_t pairs_in_few_tiles(const knng_backend_problem& p) {
  const std::int64_t dim = std::max<std::int64_t>(p.columns.dim, 1);
  if (p.k <= kFewNeighbours) return std::min(kPairsInFewTiles, kCoordinatesOfFewNeighbours / dim);
  return std::max(kCoordinatesInFewTiles / dim, kLargeShare * p.k >= p.rows.count ? kPairsInMemory : 0);
}
inline std::int64_t no_pairs(const knng_backend_problem&) { return 0; }
inline bool is_one_tile(const knng_backend_problem& p) {
  const std::int64_t most = std::min(pairs_in_few_tiles(p), kPairsInMemory);
  return p.square != 0 && p.device_count <= 1 && pairs_of(p) <= static_cast<double>(most);
}
// Comparing costs less than writing and reading where dimensions are few, and lists that are not long leave few pairs.
inline bool registers_pay(const knng_backend_problem& p, std::int64_t most_dimensions) {
  if (!are_many(p) || p.columns.dim > most_dimensions || p.k > kMostInRegisters || is_one_tile(p)) return false;
  const EnoughForRegisters& enough = p.square == 0        ? kQueries
                                     : p.device_count > 1 ? kGraphOfSeveral
                                                          : kGraphOfOneDevice;
  const bool few = p.k <= kFewNeighbours;
  return p.columns.count >= (few ? enough.columns_for_few : enough.columns_for_many + enough.columns_each * p.k) &&
         pairs_of(p) >= enough.pairs;
}
inline bool registers_pay_for_bytes(const knng_backend_problem& p) { return registers_pay(p, 2 * kRegistersPay); }
// For 20 neighbours of 1,533,876 normally distributed rows of 295 values, rounded to bytes, 99 keys a row are
// evaluated.
inline std::int64_t long_list(const knng_backend_problem& p) { return 6 * p.k + 36; }
// Before there is a plan, it takes memory for granted.
inline bool has_long_lists(const knng_backend_problem& p) { return p.capacity == 0 || p.capacity >= long_list(p); }
// Squared differences are never negative, which bounds the key of a row that is too far from its bytes.
inline bool rounds_to_bytes(const knng_backend_problem& p) {
  if (term_of(p) != Term::squared_difference || p.k > kFewNeighbours || is_paged(p)) return false;
  if (p.columns.dim < kRoundedBytesFrom || p.columns.dim > kRoundedBytesTo) return false;
  const double coordinates = static_cast<double>(p.columns.count) * static_cast<double>(p.columns.dim);
  return p.rows.count >= kFewestRowsSampledFrom && coordinates >= kCoordinatesOfRoundedBytes && has_long_lists(p);
}
// Products in fp16 of clustered points of so many dimensions leave several times k candidates as well. A sample tells,
// if there is one.
inline bool may_take_long_lists(const knng_backend_problem& p) {
  return p.square != 0 && p.k <= kFewNeighbours && !is_paged(p) && p.columns.dim >= kRoundedBytesFrom &&
         p.rows.count >= kFewestRowsSampledFrom && pairs_of(p) >= kPairsWorthSampling;
}
// Of bytes comparing pays up to twice as many dimensions. Where fp16 follows, it takes little longer than in memory.
inline bool registers_pay(const knng_backend_problem& p) {
  return registers_pay(p, rounds_to_bytes(p) ? kRoundedBytesTo : kRegistersPay);
}
using Rungs = std::span<const knng_backend_rung>;
inline Rungs byte_rungs(const knng_backend_problem&) { return kByteRungs; }
inline Rungs product_rungs(const knng_backend_problem&) { return kProductRungs; }
inline Rungs fused_rungs(const knng_backend_problem& p) {
  return rounds_to_bytes(p) ? Rungs(kRoundedByteRungs) : Rungs(kProductRungs);
}
inline Rungs sum_rungs(const knng_backend_problem&) { return kSumRungs; }
inline Rungs key_rungs(const knng_backend_problem&) { return kKeyRungs; }
inline std::int64_t candidates_of_fused(const knng_backend_problem& p) {
  return rounds_to_bytes(p) || may_take_long_lists(p) ? long_list(p) : 0;
}
inline std::int64_t few_candidates(const knng_backend_problem&) { return 0; }
inline bool boxes_pay(const knng_backend_problem& p) {
  if (!are_many(p)) return false;
  if (!has_filter(p)) return true;
  if (p.columns.dim > kBoxesPay) return false;
  const double more = std::max(static_cast<double>(p.k) - kNeighboursForBoxes, 0.0) / kNeighboursToDouble;
  const double points = (1 + more) * static_cast<double>(kPointsForBoxes[p.columns.dim]);
  return !multiplies(p) || pairs_of(p) >= points * points;
}

}  // namespace engine_lines

inline constexpr std::array<GpuEngine, kEngineKinds> kGpuEngines = {{
    {.kind = EngineKind::fused_bytes,
     .name = "fused",
     .by_rows = false,
     .all_keys = false,
     .most_pairs = kPairsInRegisters,
     .few_tiles_to = engine_lines::all_pairs,
     .redoes_by_lists = true,
     .guesses = true,
     .unit = KNNG_UNIT_FUSED,
     .suits = engine_lines::fuses_bytes,
     .refusal = engine_lines::refuse_dim,
     .unsuited = nullptr,
     .pays = engine_lines::registers_pay_for_bytes,
     .rungs = engine_lines::byte_rungs,
     .candidates = engine_lines::few_candidates,
     .coordinates = product_rate},
    {.kind = EngineKind::fused_products,
     .name = "fused",
     .by_rows = false,
     .all_keys = false,
     .most_pairs = kPairsInRegisters,
     .few_tiles_to = engine_lines::all_pairs,
     .redoes_by_lists = true,
     .guesses = true,
     .unit = KNNG_UNIT_FUSED,
     .suits = engine_lines::multiplies,
     .refusal = engine_lines::refuse_dim,
     .unsuited = "has no products for this metric on CUDA devices: engine=tiled or direct can",
     .pays = engine_lines::registers_pay,
     .rungs = engine_lines::fused_rungs,
     .candidates = engine_lines::candidates_of_fused,
     .coordinates = product_rate},
    {.kind = EngineKind::byte_products,
     .name = "tiled",
     .by_rows = false,
     .all_keys = false,
     .most_pairs = kPairsInMemory,
     .few_tiles_to = engine_lines::pairs_in_few_tiles,
     .redoes_by_lists = true,
     .guesses = false,
     .unit = 0,
     .suits = engine_lines::tiles_bytes,
     .refusal = engine_lines::refuse_dim,
     .unsuited = nullptr,
     .pays = engine_lines::are_many,
     .rungs = engine_lines::byte_rungs,
     .candidates = engine_lines::few_candidates,
     .coordinates = product_rate},
    {.kind = EngineKind::products,
     .name = "tiled",
     .by_rows = false,
     .all_keys = false,
     .most_pairs = kPairsInMemory,
     .few_tiles_to = engine_lines::pairs_in_few_tiles,
     .redoes_by_lists = true,
     .guesses = false,
     .unit = 0,
     .suits = engine_lines::multiplies,
     .refusal = engine_lines::refuse_dim,
     .unsuited = nullptr,
     .pays = engine_lines::are_many,
     .rungs = engine_lines::product_rungs,
     .candidates = engine_lines::few_candidates,
     .coordinates = product_rate},
    {.kind = EngineKind::sums,
     .name = "tiled",
     .by_rows = false,
     .all_keys = false,
     .most_pairs = kPairsInMemory,
     .few_tiles_to = engine_lines::no_pairs,
     .redoes_by_lists = false,
     .guesses = false,
     .unit = 0,
     .suits = engine_lines::adds,
     .refusal = engine_lines::refuse_wide_values,
     .unsuited = "has no filter for this metric: it has engine=direct",
     .pays = engine_lines::are_many,
     .rungs = engine_lines::sum_rungs,
     .candidates = engine_lines::few_candidates,
     .coordinates = sum_rate},
    {.kind = EngineKind::boxes,
     .name = "tree",
     .by_rows = true,
     .all_keys = false,
     .most_pairs = kPairsInMemory,
     .few_tiles_to = engine_lines::no_pairs,
     .redoes_by_lists = false,
     .guesses = false,
     .unit = 0,
     .suits = engine_lines::searches,
     .refusal = engine_lines::never,
     .unsuited = "cannot do this metric in this dimension on CUDA devices: engine=direct can",
     .pays = engine_lines::boxes_pay,
     .rungs = engine_lines::key_rungs,
     .candidates = engine_lines::few_candidates,
     .coordinates = key_rate},
    {.kind = EngineKind::keys,
     .name = "direct",
     .by_rows = false,
     .all_keys = true,
     .most_pairs = kPairsInMemory,
     .few_tiles_to = engine_lines::no_pairs,
     .redoes_by_lists = false,
     .guesses = false,
     .unit = 0,
     .suits = engine_lines::always,
     .refusal = engine_lines::never,
     .unsuited = nullptr,
     .pays = engine_lines::always,
     .rungs = engine_lines::key_rungs,
     .candidates = engine_lines::few_candidates,
     .coordinates = key_rate},
}};

// "tiled, tree, direct", as messages list them.
inline std::string engine_names() {
  std::string names;
  std::string_view last;
  for (const GpuEngine& engine : kGpuEngines) {
    if (engine.name == last) continue;
    last = engine.name;
    names.append(names.empty() ? "" : ", ").append(last);
  }
  return names;
}

// The line that does a problem, of those that answer rows or evaluate tiles as p.by_rows says: of the engine asked for,
// or, with p.engine null, the first that pays. Without one: null, and the error, if there is one, says why.
inline const GpuEngine* find_engine(const knng_backend_problem& p, knng_backend_error* error) {
  bool known = false;
  Refusal why;
  for (const GpuEngine& engine : kGpuEngines) {
    if (p.engine && std::string_view(p.engine) != engine.name) continue;
    known = true;
    if (!engine.suits(p)) {
      if (engine.unsuited) why.text = engine.unsuited;
      continue;
    }
    if (engine.by_rows != (p.by_rows != 0)) {
      if (engine.by_rows) why.text = "has no tiles, and takes neither selector nor tile_cols";
      continue;
    }
    const Refusal refusal = engine.refusal(p);
    if (!refusal.text && (p.engine || engine.pays(p))) return &engine;
    why = refusal;
    if (p.engine) break;
  }
  if (!error) return nullptr;
  *error = {KNNG_ERR_UNSUPPORTED, 0, -1, why.given, why.limit, "engine", ""};
  if (!known)
    std::snprintf(error->text, sizeof error->text, "engine=%s is not available on CUDA devices: there are %s", p.engine,
                  engine_names().c_str());
  else
    std::snprintf(error->text, sizeof error->text, "engine=%s %s", p.engine ? p.engine : "auto",
                  why.text ? why.text : "does not take this on CUDA devices");
  return nullptr;
}

// Of a problem whose engine was found.
inline const GpuEngine& engine_of(const knng_backend_problem& p) {
  const GpuEngine* const found = find_engine(p, nullptr);
  return found ? *found : kGpuEngines.back();
}

inline std::span<const knng_backend_rung> rungs_of(const knng_backend_problem& p) { return engine_of(p).rungs(p); }
// Whether rows are bytes, which are multiplied as they are.
inline bool multiplies_bytes(const knng_backend_problem& p) {
  const EngineKind kind = engine_of(p).kind;
  return kind == EngineKind::fused_bytes || kind == EngineKind::byte_products;
}

// Where lists have a large share of the points, to multiply all pairs in fp64 takes less time than to evaluate the keys
// of candidates (keys/product_keys.cuh), from so many coordinates of candidates on. An H200 multiplies 16 times as many
// coordinates as it evaluates, of half of the pairs, and to look up a key takes as long as to evaluate some. Short
// rows, of one step of the lanes, are evaluated faster (keys/refine.cu).
inline constexpr double kCoordinatesOfProductKeys = 1.5e8;
inline constexpr std::int64_t kMultipliedMeanwhile = 2 * 16, kCoordinatesOfLookUp = 24, kLongestOfProductKeys = 8192;
inline bool product_keys_pay(const knng_backend_problem& p) {
  const std::int64_t n = p.rows.count, dim = p.columns.dim;
  if (dim <= kCanonicalLanes) return false;
  constexpr std::int64_t kMostElements = std::int64_t{1} << 31;
  if (p.square == 0 || p.device_count > 1 || is_paged(p) || p.by_rows != 0 || p.tile_rows < n) return false;
  if (p.max_bytes != std::numeric_limits<std::int64_t>::max()) return false;  // products would take room from tiles
  if (p.value_dtype != KNNG_F32 || engine_lines::term_of(p) != Term::squared_difference) return false;
  if (p.capacity > kLongestOfProductKeys || n * n >= kMostElements || n * dim >= kMostElements) return false;
  if (kMultipliedMeanwhile * p.capacity * (dim - kCoordinatesOfLookUp) < n * dim) return false;
  const double coordinates = static_cast<double>(n) * static_cast<double>(p.capacity) * static_cast<double>(dim);
  return coordinates >= kCoordinatesOfProductKeys && engine_of(p).kind == EngineKind::products;
}

// KNNG_UNIT bits of all rungs, of the engine's own kernels, and of what keys come from.
inline std::int32_t units_of(const knng_backend_problem& p) {
  std::int32_t units = engine_of(p).unit | (product_keys_pay(p) ? KNNG_UNIT_FP64 : 0);
  for (const knng_backend_rung& rung : rungs_of(p)) units |= rung.unit;
  return units;
}

// The seam's call: without those whose unit is not used.
inline std::int32_t list_rungs(const knng_backend_problem* p, knng_backend_rung* rungs) {
  std::int32_t count = 0;
  for (const knng_backend_rung& rung : rungs_of(*p))
    if ((rung.unit & ~p->units.usable) == 0) rungs[count++] = rung;
  return count;
}

}  // namespace libknng::cuda

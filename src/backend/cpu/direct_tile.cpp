#include "backend/cpu/direct_tile.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backend/cpu/direct_tile.cpp"
#include "core/hwy_targets.h"
// After hwy_targets.h, which limits the targets.
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <algorithm>
#include <limits>

#include "backend/cpu/hwy_elementary-inl.h"
#include "backend/cpu/packed.h"
#include "metric/terms.h"

HWY_BEFORE_NAMESPACE();
namespace libknng {
namespace HWY_NAMESPACE {

#include "core/division.h"
#include "metric/terms-inl.h"

constexpr int kLanes = static_cast<int>(SimdOps::kLanes);
constexpr int kChunks = kCanonicalLanes / kLanes;
constexpr int kPairs = kPanelRows * kPanelRows;
static_assert(kPairs % kLanes == 0);

// Terms with log or pow, which need the registers themselves and are compiled once for all chunks.
template <class T>
constexpr bool kIsLong = std::is_same_v<T, PowerDifference> || std::is_same_v<T, JensenShannon>;

// Whether loops stand once for all who run them. Others are faster where they are inlined, but for a vector of one
// lane, which has 32 chunks, that is too much code.
template <class T>
constexpr bool kIsApart = kIsLong<T> || kLanes == 1;

// Rows of a panel that are summed at once: their sums with four columns have to fit the registers (32 with AVX-512,
// else 16) together with the columns' values.
template <class T>
constexpr int rows_at_once() {
  if (kIsLong<T>) return 1;
  const int most = kLanes == 8 ? 4 : kLanes > 1 ? 2 : 1;
  return most >= T::kSums ? most / T::kSums : 1;
}

// Two panels of packed rows, and how their chunks lie in them.
struct PanelPair {
  const double* rows;
  const double* columns;
  double p;
  std::int64_t whole;  // blocks of every chunk
  int longer;          // chunks that have one more
  int chunks;          // that have any

  std::int64_t blocks(int chunk) const { return whole + (chunk < longer ? 1 : 0); }
  std::int64_t first(int chunk) const { return kPanelRows * kLanes * (whole * chunk + std::min(chunk, longer)); }
};

// Of kRows rows with four columns.
template <class T, int kRows>
using RowSums = SimdOps::Real[kRows][kPanelRows][T::kSums];

// Sums of kRows rows from `first` on with the four columns, of a chunk.
template <class T, int kRows>
HWY_INLINE void sum_chunk(const PanelPair& panels, int first, int chunk, RowSums<T, kRows>& s) {
  using Real = SimdOps::Real;
  const double* a = panels.rows + panels.first(chunk) + first * kLanes;
  const double* b = panels.columns + panels.first(chunk);
  for (int i = 0; i < kRows; ++i)
    for (int j = 0; j < kPanelRows; ++j)
      for (int k = 0; k < T::kSums; ++k) s[i][j][k] = SimdOps::set(0.0);
  const std::int64_t blocks = panels.blocks(chunk);
  for (std::int64_t block = 0; block < blocks; ++block) {
    const Real v0 = SimdOps::load(b), v1 = SimdOps::load(b + kLanes);
    const Real v2 = SimdOps::load(b + 2 * kLanes), v3 = SimdOps::load(b + 3 * kLanes);
    for (int i = 0; i < kRows; ++i) {
      const Real u = SimdOps::load(a + i * kLanes);
      T::template accumulate<SimdOps>(s[i][0], u, v0, panels.p);
      T::template accumulate<SimdOps>(s[i][1], u, v1, panels.p);
      T::template accumulate<SimdOps>(s[i][2], u, v2, panels.p);
      T::template accumulate<SimdOps>(s[i][3], u, v3, panels.p);
    }
    a += kPanelRows * kLanes;
    b += kPanelRows * kLanes;
  }
}
template <class T, int kRows>
HWY_NOINLINE void sum_chunk_apart(const PanelPair& panels, int first, int chunk, RowSums<T, kRows>& s) {
  sum_chunk<T, kRows>(panels, first, chunk, s);
}

// Of the chunks kChunk, kChunk + kStep, ...: s[c] joins s[c + h] for h = kChunks / 2 .. kStep, as everywhere. Each is
// joined as soon as both are there, which keeps them in registers. Those without coordinates are +0 and left out.
template <class T, int kRows, int kChunk, int kStep>
HWY_INLINE void sum_chunks(const PanelPair& panels, int first, RowSums<T, kRows>& s) {
  if constexpr (kStep == kChunks) {
    if constexpr (kIsApart<T>)
      sum_chunk_apart<T, kRows>(panels, first, kChunk, s);
    else
      sum_chunk<T, kRows>(panels, first, kChunk, s);
  } else {
    sum_chunks<T, kRows, kChunk, 2 * kStep>(panels, first, s);
    if (kChunk + kStep >= panels.chunks) return;
    RowSums<T, kRows> other;
    sum_chunks<T, kRows, kChunk + kStep, 2 * kStep>(panels, first, other);
    for (int i = 0; i < kRows; ++i)
      for (int j = 0; j < kPanelRows; ++j)
        for (int k = 0; k < T::kSums; ++k) s[i][j][k] = T::template join<SimdOps>(s[i][j][k], other[i][j][k]);
  }
}

// kLanes vectors, one a pair, each holding the last kLanes partial sums of its pair, to one vector with the pairs'
// sums: s[l] joins s[l + h] for h = kLanes / 2 .. 1, as everywhere.
template <class T>
HWY_INLINE SimdOps::Real fold_lanes(const SimdOps::Real* v) {
#if HWY_MAX_BYTES == 8
  return v[0];
#else
  using Real = SimdOps::Real;
  const SimdOps::Tag d;
#if HWY_MAX_BYTES == 16
  const Real x[2] = {v[0], v[1]};
#elif HWY_MAX_BYTES == 32
  Real x[2];  // x[i]: two sums each of pairs i, i + 2
  for (int i = 0; i < 2; ++i)
    x[i] = T::template join<SimdOps>(hn::ConcatLowerLower(d, v[i + 2], v[i]), hn::ConcatUpperUpper(d, v[i + 2], v[i]));
#else
  static_assert(HWY_MAX_BYTES == 64);
  Real w[4], x[2];
  for (int i = 0; i < 4; ++i)  // w[i]: four sums each of pairs i, i + 4
    w[i] = T::template join<SimdOps>(hn::ConcatLowerLower(d, v[i + 4], v[i]), hn::ConcatUpperUpper(d, v[i + 4], v[i]));
  for (int i = 0; i < 2; ++i)  // x[i]: two sums each of pairs i, i + 2, i + 4, i + 6
    x[i] = T::template join<SimdOps>(hn::OddEvenBlocks(hn::SwapAdjacentBlocks(w[i + 2]), w[i]),
                                     hn::OddEvenBlocks(w[i + 2], hn::SwapAdjacentBlocks(w[i])));
#endif
  return T::template join<SimdOps>(hn::InterleaveLower(d, x[0], x[1]), hn::InterleaveUpper(d, x[0], x[1]));
#endif
}

// keys[i x 4 + j] of the panel's row i with the other's row j.
template <class T>
HWY_INLINE void panel_keys(const PanelPair& panels, double scale, double* keys) {
  // Rows whose pairs fill vectors of keys.
  constexpr int kRows = rows_at_once<T>(), kStep = std::max<int>(kRows, kLanes / kPanelRows);
  for (int first = 0; first < kPanelRows; first += kStep) {
    SimdOps::Real sums[T::kSums][kStep * kPanelRows];
    for (int part = 0; part < kStep; part += kRows) {
      RowSums<T, kRows> s;
      sum_chunks<T, kRows, 0, 1>(panels, first + part, s);
      for (int k = 0; k < T::kSums; ++k)
        for (int i = 0; i < kRows; ++i)
          for (int j = 0; j < kPanelRows; ++j) sums[k][(part + i) * kPanelRows + j] = s[i][j][k];
    }
    for (int pair = 0; pair < kStep * kPanelRows; pair += kLanes) {
      SimdOps::Real s[T::kSums];
      for (int k = 0; k < T::kSums; ++k) s[k] = fold_lanes<T>(sums[k] + pair);
      SimdOps::store(T::template finish<SimdOps>(s, scale), keys + first * kPanelRows + pair);
    }
  }
}

template <class T>
HWY_NOINLINE void panel_keys_apart(const PanelPair& panels, double scale, double* keys) {
  panel_keys<T>(panels, scale, keys);
}

// What a pair is compared with, for the 16 pairs of two panels.
void spread_rows(const double* of_rows, double* of_pairs) {
  for (int i = 0; i < kPanelRows; ++i)
    for (int j = 0; j < kPanelRows; ++j) of_pairs[i * kPanelRows + j] = of_rows[i];
}
void spread_columns(const double* of_columns, double* of_pairs) {
  for (int i = 0; i < kPanelRows; ++i)
    for (int j = 0; j < kPanelRows; ++j) of_pairs[i * kPanelRows + j] = of_columns[j];
}

PanelPair panels_of(const DirectStrip& strip) {
  const std::int64_t whole = strip.dim / kCanonicalLanes, rest = strip.dim % kCanonicalLanes;
  const int longer = static_cast<int>(ceil_div(rest, kLanes));
  return {strip.rows, strip.columns, strip.p, whole, longer, whole > 0 ? kChunks : longer};
}

// Of a panel of columns: where its panels without a pair begin, the first row of one. A panel's first row has the most.
std::int64_t end_row(const DirectStrip& strip, std::int64_t column) {
  const std::int64_t last = column + kPanelRows - 1;
  if (strip.diagonal < last - strip.row_count) return strip.row_count;
  return std::min(strip.row_count, round_up(std::max<std::int64_t>(0, last - strip.diagonal), kPanelRows));
}

// Calls f(row, column, keys) for the panels of a strip that have a pair, with the first row and column of each and the
// keys of all of its places. Column by column: a panel of them and the strip's rows stay in the first level cache.
template <class T, class F>
HWY_INLINE void each_panel(const DirectStrip& strip, F&& f) {
  const std::int64_t size = panel_size(strip.dim, kLanes);
  PanelPair panels = panels_of(strip);
  HWY_ALIGN double keys[kPairs];
  for (std::int64_t column = 0; column < strip.column_count; column += kPanelRows) {
    panels.columns = strip.columns + column / kPanelRows * size;
    const std::int64_t end = end_row(strip, column);
    for (std::int64_t row = 0; row < end; row += kPanelRows) {
      panels.rows = strip.rows + row / kPanelRows * size;
      if constexpr (kIsApart<T>)
        panel_keys_apart<T>(panels, strip.scale, keys);
      else
        panel_keys<T>(panels, strip.scale, keys);
      if (strip.row_directionless) {
        for (int pair = 0; pair < kPairs; ++pair)
          if (strip.row_directionless[row + pair / kPanelRows] +
                  strip.column_directionless[column + pair % kPanelRows] >
              0)
            keys[pair] = kNoDirectionKey;
      }
      f(row, column, keys);
    }
  }
}

template <class T>
std::int64_t run_tile(const DirectStrip& strip) {
  std::int64_t found = 0, spread = -1;
  HWY_ALIGN double column_cutoffs[kPairs];
  each_panel<T>(strip, [&](std::int64_t row, std::int64_t column, const double* keys) {
    HWY_ALIGN double row_cutoffs[kPairs];
    spread_rows(strip.row_cutoffs + row, row_cutoffs);
    if (column != spread) spread_columns(strip.column_cutoffs + column, column_cutoffs);
    spread = column;
    bool any = false;
    for (int pair = 0; pair < kPairs; pair += kLanes) {
      const auto key = SimdOps::load(keys + pair);
      const auto out =
          hn::And(hn::Gt(key, SimdOps::load(row_cutoffs + pair)), hn::Gt(key, SimdOps::load(column_cutoffs + pair)));
      any = any || !hn::AllTrue(SimdOps::Tag(), out);
    }
    if (!any) return;
    for (int pair = 0; pair < kPairs; ++pair) {
      const std::int64_t i = row + pair / kPanelRows, j = column + pair % kPanelRows;
      if (i >= strip.row_count || j >= strip.column_count) continue;
      if (strip.diagonal != INT64_MIN && j <= i + strip.diagonal) continue;
      if (keys[pair] > row_cutoffs[pair] && keys[pair] > column_cutoffs[pair]) continue;
      strip.survivors[found++] = {keys[pair], static_cast<std::int32_t>(i), static_cast<std::int32_t>(j)};
    }
  });
  return found;
}

template <class T>
void all_keys(const DirectStrip& strip, double* by_row, std::int64_t row_stride, double* by_column,
              std::int64_t column_stride) {
  constexpr double kNoPair = std::numeric_limits<double>::quiet_NaN();
  const auto write = [&](std::int64_t row, std::int64_t column, const double* keys) {
    double* const columns = by_column + column * column_stride + row;
    for (int i = 0; i < kPanelRows; ++i)
      for (int j = 0; j < kPanelRows; ++j) columns[j * column_stride + i] = keys[i * kPanelRows + j];
    if (!by_row) return;
    double* const rows = by_row + row * row_stride + column;
    for (int i = 0; i < kPanelRows; ++i)
      for (int j = 0; j < kPanelRows; ++j) rows[i * row_stride + j] = keys[i * kPanelRows + j];
  };
  const bool square = strip.diagonal != INT64_MIN;
  each_panel<T>(strip, [&](std::int64_t row, std::int64_t column, double* keys) {
    if (square && column <= row + kPanelRows - 1 + strip.diagonal)
      for (int pair = 0; pair < kPairs; ++pair)
        if (column + pair % kPanelRows <= row + pair / kPanelRows + strip.diagonal) keys[pair] = kNoPair;
    write(row, column, keys);
  });
  double none[kPairs];
  std::fill_n(none, kPairs, kNoPair);
  for (std::int64_t column = 0; column < strip.column_count; column += kPanelRows)
    if (const std::int64_t row = end_row(strip, column); row < strip.row_count) write(row, column, none);
}

// Pairs that lists take at once, before their cut-offs are looked at again.
constexpr std::int64_t kSelectedTogether = 16;
static_assert(kListedTogether % kLanes == 0);

// Lists of up to kLanes points, from `list` on, are offered numbers [begin, end), whose keys are `stride` apart.
HWY_INLINE void select_lanes(const ListedKeys& from, InsertFunction* insert, std::int64_t begin, std::int64_t end,
                             double* list_keys, double* list_ids, const double* last, std::int64_t list) {
  HWY_ALIGN double keys[kSelectedTogether * kLanes], ids[kSelectedTogether];
  SimdOps::Real cutoff = SimdOps::load(last);
  std::int64_t near = 0;
  for (std::int64_t j = begin; j < end; ++j) {
    const SimdOps::Real key = SimdOps::load(from.keys + j * from.stride + list);
    SimdOps::store(key, keys + near * kLanes);
    ids[near] = from.first_id + static_cast<double>(j);
    near += !hn::AllFalse(SimdOps::Tag(), SimdOps::less(key, cutoff));
    if (near < kSelectedTogether) continue;
    insert(keys, ids, near, list_keys, list_ids);
    cutoff = SimdOps::load(last);
    near = 0;
  }
  if (near > 0) insert(keys, ids, near, list_keys, list_ids);
}

void select_listed(const ListedKeys& from, InsertFunction* insert, SideLists& lists) {
  for (std::int64_t list = 0; list < from.lists; list += kLanes) {
    // A point of a diagonal tile has pairs with some of the numbers only.
    const std::int64_t begin = from.of_rows ? std::max<std::int64_t>(0, list + from.diagonal + 1) : 0;
    const std::int64_t end = from.of_rows || from.diagonal == INT64_MIN
                                 ? from.count
                                 : std::min(from.count, list + kLanes - 1 - from.diagonal);
    const std::int64_t at = from.first_list + list;
    select_lanes(from, insert, begin, end, lists.keys(at), lists.ids(at), lists.last_keys(at), list);
  }
}

template <class T>
double pair_key(const double* u, const double* v, std::int64_t dim, double p, double scale) {
  using Real = SimdOps::Real;
  Real s[kChunks][T::kSums];
  for (int chunk = 0; chunk < kChunks; ++chunk)
    for (int k = 0; k < T::kSums; ++k) s[chunk][k] = SimdOps::set(0.0);
  std::int64_t t = 0;
  for (; t + kCanonicalLanes <= dim; t += kCanonicalLanes)
    for (int chunk = 0; chunk < kChunks; ++chunk)
      T::template accumulate<SimdOps>(s[chunk], SimdOps::load(u + t + chunk * kLanes),
                                      SimdOps::load(v + t + chunk * kLanes), p);
  if (t < dim) {  // zeros behind the last coordinate change no sum
    HWY_ALIGN double rest[2][kCanonicalLanes] = {};
    std::copy(u + t, u + dim, rest[0]);
    std::copy(v + t, v + dim, rest[1]);
    for (int chunk = 0; chunk < kChunks; ++chunk)
      T::template accumulate<SimdOps>(s[chunk], SimdOps::load(rest[0] + chunk * kLanes),
                                      SimdOps::load(rest[1] + chunk * kLanes), p);
  }
  double sums[T::kSums];
  for (int k = 0; k < T::kSums; ++k) {
    for (int h = kChunks / 2; h > 0; h /= 2)
      for (int chunk = 0; chunk < h; ++chunk) s[chunk][k] = T::template join<SimdOps>(s[chunk][k], s[chunk + h][k]);
    HWY_ALIGN double lanes[kLanes];
    SimdOps::store(s[0][k], lanes);
    for (int h = kLanes / 2; h > 0; h /= 2)
      for (int l = 0; l < h; ++l) lanes[l] = T::template join<ScalarOps>(lanes[l], lanes[l + h]);
    sums[k] = lanes[0];
  }
  return T::template finish<ScalarOps>(sums, scale);
}

HWY_INLINE SimdOps::Real load_exactly(const double* from) { return SimdOps::load(from); }
HWY_INLINE SimdOps::Real load_exactly(const float* from) {
  return hn::PromoteTo(SimdOps::Tag(), hn::LoadU(hn::Rebind<float, SimdOps::Tag>(), from));
}
// Coordinates [t, t + kLanes) of a row, with zeros, which change no sum, behind its last.
template <class Value>
HWY_INLINE SimdOps::Real load_to_end(const Value* row, std::int64_t t, std::int64_t dim) {
  if (t + kLanes <= dim) return load_exactly(row + t);
  HWY_ALIGN double rest[kLanes] = {};
  std::copy(row + t, row + dim, rest);
  return SimdOps::load(rest);
}

// A PackFunction.
template <class Value>
void pack_row(const Value* u, std::int64_t dim, std::int64_t r, double* panel) {
  double* to = panel + r * kLanes;
  for (int chunk = 0; chunk < kChunks && chunk * kLanes < dim; ++chunk) {
    const std::int64_t blocks = chunk_blocks(dim, kLanes, chunk);
    for (std::int64_t b = 0; b < blocks; ++b, to += kPanelRows * kLanes) {
      const std::int64_t t = b * kCanonicalLanes + static_cast<std::int64_t>(chunk) * kLanes;
      if (t + kLanes <= dim)
        SimdOps::store(load_exactly(u + t), to);
      else
        for (std::int64_t l = 0; l < kLanes; ++l) to[l] = t + l < dim ? u[t + l] : Value(0);
    }
  }
}

// Of u with each of kCount others: the last kLanes partial sums, a vector each.
template <class T, int kCount, class Value>
HWY_INLINE void sum_others(const Value* u, const Value* const* others, std::int64_t dim, SimdOps::Real* sums) {
  using Real = SimdOps::Real;
  Real s[kCount][kChunks];
  for (int j = 0; j < kCount; ++j)
    for (int chunk = 0; chunk < kChunks; ++chunk) s[j][chunk] = SimdOps::set(0.0);
  std::int64_t t = 0;
  for (; t + kCanonicalLanes <= dim; t += kCanonicalLanes)
    for (int chunk = 0; chunk < kChunks; ++chunk) {
      const Real x = load_exactly(u + t + chunk * kLanes);
      for (int j = 0; j < kCount; ++j)
        T::template accumulate<SimdOps>(&s[j][chunk], x, load_exactly(others[j] + t + chunk * kLanes), 0);
    }
  for (int chunk = 0; chunk < kChunks && t < dim; ++chunk, t += kLanes) {
    const Real x = load_to_end(u, t, dim);
    for (int j = 0; j < kCount; ++j)
      T::template accumulate<SimdOps>(&s[j][chunk], x, load_to_end(others[j], t, dim), 0);
  }
  for (int j = 0; j < kCount; ++j) {
    for (int h = kChunks / 2; h > 0; h /= 2)
      for (int chunk = 0; chunk < h; ++chunk) s[j][chunk] = T::template join<SimdOps>(s[j][chunk], s[j][chunk + h]);
    sums[j] = s[j][0];
  }
}

template <class T, class Value>
void row_keys(const Value* u, const Value* const* others, std::int64_t count, std::int64_t dim, double scale,
              double* keys) {
  static_assert(T::kSums == 1);
  // As many at once as have their sums in registers.
  constexpr int kTogether = kLanes == 8 ? 4 : 1;
  for (std::int64_t first = 0; first < count; first += kLanes) {
    const std::int64_t some = std::min<std::int64_t>(count - first, kLanes);
    HWY_ALIGN double found[kLanes];
    SimdOps::Real sums[kLanes];
    std::int64_t j = 0;
    for (; j + kTogether <= some; j += kTogether) sum_others<T, kTogether>(u, others + first + j, dim, sums + j);
    for (; j < some; ++j) sum_others<T, 1>(u, others + first + j, dim, sums + j);
    for (; j < kLanes; ++j) sums[j] = SimdOps::set(0.0);
    const SimdOps::Real s = fold_lanes<T>(sums);
    SimdOps::store(T::template finish<SimdOps>(&s, scale), found);
    std::copy_n(found, some, keys + first);
  }
}

DirectTile make_direct_tile() {
  DirectTile tile{};
  tile.target = hwy::TargetName(HWY_TARGET);
  tile.lanes = kLanes;
  tile.pack = pack_row<double>;
  tile.pack_floats = pack_row<float>;
  tile.select = select_listed;
  for (int i = 0; i < kTerms; ++i)
    HWY_NAMESPACE::visit_term(static_cast<Term>(i), [&](auto term) {
      using T = decltype(term);
      tile.run[i] = run_tile<T>;
      tile.keys[i] = all_keys<T>;
      tile.pair[i] = pair_key<T>;
    });
  const auto product_form = [&]<class T>(Term term, T) {
    tile.row_keys[static_cast<int>(term)] = row_keys<T, double>;
    tile.float_row_keys[static_cast<int>(term)] = row_keys<T, float>;
  };
  product_form(Term::squared_difference, SquaredDifference());
  product_form(Term::product, Product());
  return tile;
}

const DirectTile* direct_tile() {
  static const DirectTile tile = make_direct_tile();
  return &tile;
}

}  // namespace HWY_NAMESPACE
}  // namespace libknng
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace libknng {

std::span<const DirectTile* const> direct_tiles() {
  static constexpr SimdVariant<const DirectTile*()> kVariants[] = {KNNG_SIMD_VARIANTS(direct_tile)};
  static const SupportedVariants supported(kVariants);
  return supported.list();
}

}  // namespace libknng
#endif

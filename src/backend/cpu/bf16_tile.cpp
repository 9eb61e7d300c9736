// Raw intrinsics: Highway 1.0 emulates bfloat16, and has no tiles.
#include "backend/cpu/bf16_tile.h"

#include <algorithm>
#include <array>

#include "backend/cpu/strip_walk.h"

#ifdef __x86_64__
#include <cpuid.h>
#include <immintrin.h>
#ifdef __linux__
#include <sys/syscall.h>
#include <unistd.h>
#endif

#define KNNG_AVX512 __attribute__((target("avx512f,avx512bw,avx512dq,avx512vl")))
#define KNNG_AVX512_BF16 __attribute__((target("avx512f,avx512bw,avx512dq,avx512vl,avx512bf16")))
#define KNNG_AMX __attribute__((target("avx512f,avx512bw,avx512dq,avx512vl,amx-tile,amx-bf16")))

namespace libknng {
namespace {

constexpr int kLanes = 16, kVectors = 3;
static_assert(kVectors * kLanes == kFilterPanel);

using BlockFunction = void(const FilterStrip& s, std::int64_t row, std::int64_t panel, float* products);

const std::uint16_t* row_of(const FilterStrip& s, std::int64_t row) {
  return static_cast<const std::uint16_t*>(s.rows) + row * bf16_depth(s.dim);
}
const std::uint16_t* panel_of(const FilterStrip& s, std::int64_t panel) {
  return static_cast<const std::uint16_t*>(s.columns) + panel * kFilterPanel * bf16_depth(s.dim);
}

// Products of 8 rows with a panel of columns.
constexpr int kVectorRows = 8;
KNNG_AVX512_BF16 void multiply_vectors(const FilterStrip& s, std::int64_t row, std::int64_t panel, float* products) {
  const std::int64_t depth = bf16_depth(s.dim);
  const std::uint16_t* a = row_of(s, row);
  const std::uint16_t* b = panel_of(s, panel);
  __m512 acc[kVectorRows][kVectors];
  for (int i = 0; i < kVectorRows; ++i)
    for (int v = 0; v < kVectors; ++v) acc[i][v] = _mm512_setzero_ps();
  for (std::int64_t t = 0; t < depth; t += 2, a += 2, b += 2 * kFilterPanel) {
    const auto b0 = (__m512bh)_mm512_loadu_si512(b), b1 = (__m512bh)_mm512_loadu_si512(b + 2 * kLanes),
               b2 = (__m512bh)_mm512_loadu_si512(b + 4 * kLanes);
    for (int i = 0; i < kVectorRows; ++i) {
      std::int32_t two;
      __builtin_memcpy(&two, a + i * depth, sizeof two);
      const auto x = (__m512bh)_mm512_set1_epi32(two);
      acc[i][0] = _mm512_dpbf16_ps(acc[i][0], x, b0);
      acc[i][1] = _mm512_dpbf16_ps(acc[i][1], x, b1);
      acc[i][2] = _mm512_dpbf16_ps(acc[i][2], x, b2);
    }
  }
  for (int i = 0; i < kVectorRows; ++i)
    for (int v = 0; v < kVectors; ++v) _mm512_storeu_ps(products + i * kFilterPanel + v * kLanes, acc[i][v]);
}

// Products of 32 rows with a panel of columns: six tiles of sums, one of rows, one of columns.
constexpr int kTileRows = 32;
KNNG_AMX void multiply_tiles(const FilterStrip& s, std::int64_t row, std::int64_t panel, float* products) {
  const std::int64_t depth = bf16_depth(s.dim);
  const std::uint16_t* a = row_of(s, row);
  const std::uint16_t* b = panel_of(s, panel);
  const std::int64_t row_bytes = 2 * depth, column_bytes = 4 * kFilterPanel;
  _tile_zero(0);
  _tile_zero(1);
  _tile_zero(2);
  _tile_zero(3);
  _tile_zero(4);
  _tile_zero(5);
  for (std::int64_t t = 0; t < depth; t += 32, a += 32, b += 32 * kFilterPanel) {
    _tile_loadd(6, a, row_bytes);
    _tile_loadd(7, b, column_bytes);
    _tile_dpbf16ps(0, 6, 7);
    _tile_loadd(7, b + 2 * kLanes, column_bytes);
    _tile_dpbf16ps(1, 6, 7);
    _tile_loadd(7, b + 4 * kLanes, column_bytes);
    _tile_dpbf16ps(2, 6, 7);
    _tile_loadd(6, a + kLanes * depth, row_bytes);
    _tile_dpbf16ps(5, 6, 7);
    _tile_loadd(7, b + 2 * kLanes, column_bytes);
    _tile_dpbf16ps(4, 6, 7);
    _tile_loadd(7, b, column_bytes);
    _tile_dpbf16ps(3, 6, 7);
  }
  const std::int64_t product_bytes = 4 * kFilterPanel;
  float* lower = products + kLanes * kFilterPanel;
  _tile_stored(0, products, product_bytes);
  _tile_stored(1, products + kLanes, product_bytes);
  _tile_stored(2, products + 2 * kLanes, product_bytes);
  _tile_stored(3, lower, product_bytes);
  _tile_stored(4, lower + kLanes, product_bytes);
  _tile_stored(5, lower + 2 * kLanes, product_bytes);
}

// Which products of a block of rows with a panel of columns survive.
KNNG_AVX512 std::int64_t compare(const FilterStrip& s, std::int64_t row, int rows, std::int64_t panel,
                                 const float* products, FilterSurvivor* out) {
  const std::int64_t row_base = s.first_row / kFilterPanel * kFilterPanel;
  const std::int64_t column_base = s.first_column / kFilterPanel * kFilterPanel;
  const std::int64_t column = panel * kFilterPanel;
  __m512 half[kVectors], threshold[kVectors];
  for (int v = 0; v < kVectors; ++v) {
    half[v] = _mm512_loadu_ps(s.column_half + column + v * kLanes);
    threshold[v] = _mm512_loadu_ps(s.column_threshold + (column - column_base) + v * kLanes);
  }
  const std::int64_t from = std::max(row, s.first_row), to = std::min(row + rows, s.first_row + s.row_count);
  std::int64_t found = 0;
  for (std::int64_t r = from; r < to; ++r) {
    const __m512 row_threshold = _mm512_set1_ps(s.row_threshold[r - row_base]),
                 row_half = _mm512_set1_ps(s.row_half[r]);
    for (int v = 0; v < kVectors; ++v) {
      const float* at = products + (r - row) * kFilterPanel + v * kLanes;
      const __m512 product = _mm512_loadu_ps(at);
      std::uint32_t mask =
          _cvtmask16_u32(_mm512_cmp_ps_mask(_mm512_sub_ps(product, half[v]), row_threshold, _CMP_GE_OQ)) |
          _cvtmask16_u32(_mm512_cmp_ps_mask(_mm512_sub_ps(product, row_half), threshold[v], _CMP_GE_OQ));
      found += append_survivors(s, r, column + v * kLanes, mask, at, out + found);
    }
  }
  return found;
}

template <int kRows>
FilterProgress walk(const FilterStrip& s, std::int64_t first_column_panel, BlockFunction* multiply) {
  alignas(64) std::array<float, std::size_t{kRows} * kFilterPanel> products;
  const auto block = [&](std::int64_t row, std::int64_t panel, FilterSurvivor* out) {
    multiply(s, row, panel, products.data());
    return compare(s, row, kRows, panel, products.data(), out);
  };
  return walk_panels<FilterProgress, kLanes, kRows>(s, first_column_panel, block);
}

FilterProgress run_vectors(const FilterStrip& s, std::int64_t first_column_panel) {
  return walk<kVectorRows>(s, first_column_panel, multiply_vectors);
}

struct TileConfig {
  std::uint8_t palette = 1, start_row = 0;
  std::array<std::uint8_t, 14> reserved = {};
  std::array<std::uint16_t, 16> row_bytes = {64, 64, 64, 64, 64, 64, 64, 64};
  std::array<std::uint8_t, 16> rows = {16, 16, 16, 16, 16, 16, 16, 16};
};
static_assert(sizeof(TileConfig) == 64);

KNNG_AMX FilterProgress run_tiles(const FilterStrip& s, std::int64_t first_column_panel) {
  alignas(64) static constexpr TileConfig kConfig;
  _tile_loadconfig(&kConfig);
  const FilterProgress done = walk<kTileRows>(s, first_column_panel, multiply_tiles);
  _tile_release();
  return done;
}

// ---- what runs here

// Asked once: the instruction takes 20 us in a virtual machine.
struct Processor {
  bool bf16_vectors = false, bf16_tiles = false, amd = false;

  Processor() noexcept {
    __builtin_cpu_init();
    amd = __builtin_cpu_is("amd");
    const bool avx512 = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                        __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
    unsigned eax = 0, ebx = 0, ecx = 0, edx = 0;
    if (!avx512) return;
    bf16_vectors = __get_cpuid_count(7, 1, &eax, &ebx, &ecx, &edx) && (eax >> 5 & 1) != 0;
    bf16_tiles = __get_cpuid_count(7, 0, &eax, &ebx, &ecx, &edx) && (edx >> 22 & 1) != 0 &&  // AMX-BF16
                 (edx >> 24 & 1) != 0;                                                       // AMX-TILE
  }
};

const Processor& processor() {
  static const Processor known;
  return known;
}

// Tiles need the processor, the kernel, and leave for this process, which may come later.
bool may_use_tiles() {
#if defined(__linux__) && defined(SYS_arch_prctl)
  constexpr unsigned long kGetPermission = 0x1022;  // ARCH_GET_XCOMP_PERM of asm/prctl.h, Linux 5.16
  constexpr int kTileData = 18;                     // XFEATURE_XTILEDATA
  unsigned long permitted = 0;
  return processor().bf16_tiles && syscall(SYS_arch_prctl, kGetPermission, &permitted) == 0 &&
         (permitted >> kTileData & 1) != 0;
#else
  return false;
#endif
}

constexpr FilterTile kTiles = {"AMX-BF16", run_tiles, bf16_tile_unit};
constexpr FilterTile kVectorsTile = {"AVX512-BF16", run_vectors, bf16_vector_unit};

}  // namespace

std::span<const FilterTile* const> bf16_tiles() {
  static constexpr std::array<const FilterTile*, 2> kAll = {&kTiles, &kVectorsTile};
  const bool tiles = may_use_tiles(), vectors = processor().bf16_vectors;
  return std::span(kAll).subspan(tiles ? 0 : 1, (tiles ? 1 : 0) + (vectors ? 1 : 0));
}

const FilterTile* fast_bf16_tile() {
  const std::span<const FilterTile* const> all = bf16_tiles();
  if (all.empty()) return nullptr;
  // vdpbf16ps does twice the products of an fp32 multiply-add: AMD's processors start one of them as often, Intel's
  // every fourth time (Sapphire Rapids and Emerald Rapids: 86 GFLOP/s where fp32 reaches 177).
  return all.front() == &kTiles || processor().amd ? all.front() : nullptr;
}

}  // namespace libknng
#else
namespace libknng {

std::span<const FilterTile* const> bf16_tiles() { return {}; }
const FilterTile* fast_bf16_tile() { return nullptr; }

}  // namespace libknng
#endif

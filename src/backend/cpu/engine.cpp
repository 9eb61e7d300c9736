#include "backend/cpu/engine.h"

#include <string_view>

#include "backend/cpu/direct_engine.h"
#include "backend/cpu/direct_tile.h"
#include "backend/cpu/fused_engine.h"
#include "backend/cpu/kept_lows.h"
#include "backend/cpu/point_tree.h"
#include "backend/cpu/tiled_engine.h"
#include "backend/cpu/tree_engine.h"
#include "prepare/filter_panel.h"
#include "refine/bound.h"

namespace libknng {
namespace {

bool any_metric(const Metric&, std::int64_t) { return true; }
bool always(const Metric&, std::int32_t, std::int64_t, std::int64_t, std::int64_t, std::int64_t) { return true; }
bool never(const Metric&, std::int32_t, std::int64_t, std::int64_t, std::int64_t, std::int64_t) { return false; }
double all_pairs(std::int64_t, std::int64_t, std::int64_t) { return 1; }
std::int64_t no_operands(const Metric&, std::int32_t, std::int64_t, const TileGrid&, std::int64_t) { return 0; }

// A block of packed rows should stay in the second level cache while it is used against a whole row block, but
// converting it costs as much as about 30 pairs a row: large blocks win until they leave the third level.
constexpr std::int64_t kPackedBlock = 2 << 20;
// The fused engine packs nothing and goes through a tile panel by panel. Large tiles read less from memory: 20,000 x
// 2,000 in fp32 with k = 1,000 take 17.7 s with 480 rows and 480 columns, 19.2 s with 96 and 96.
constexpr std::int64_t kOperandBlock = 8 << 20;

// 10,000 x 784 in fp32 take 2.4 s direct, 0.70 s fused and 1.24 s tiled (AVX-512, 2 threads); matrix tiles, which are
// four times as fast as fp32, count for fused.
constexpr double kFusedPairs = 16, kTiledPairs = 3;

// How much boxes leave out is the data's matter, and more than is worth a second look at many rows.
constexpr double kTreePairs = 1e9;

constexpr std::int64_t kAnyDim = INT64_MAX;

constexpr CpuEngine kEngines[] = {
    {"tree", kPanelRows, kPackedBlock, kTreePairs, false, false, true, kMostTreeDim, tree_can_run, tree_pays,
     tree_share, tree_operand_bytes, tree_workspace_bytes, never, run_tree},
    {"fused", kFilterPanel, kOperandBlock, kFusedPairs, false, false, false, kLargestFilterDim, fused_can_run,
     fused_pays, all_pairs, fused_operand_bytes, fused_workspace_bytes, kept_lows_pay, run_fused},
    {"tiled", kFilterPanel, kPackedBlock, kTiledPairs, true, true, false, kAnyDim, any_metric, never, all_pairs,
     tiled_operand_bytes, tiled_workspace_bytes, never, run_tiled},
    {"direct", kPanelRows, kPackedBlock, 0, false, false, true, kAnyDim, any_metric, always, all_pairs, no_operands,
     direct_workspace_bytes, never, run_direct},
};

}  // namespace

std::span<const CpuEngine> cpu_engines() { return kEngines; }

const char* cpu_target() {
  const char* const target = direct_tiles().front()->target;
  return std::string_view(target).starts_with("AVX3") ? "AVX-512" : target;  // as people call it, and not Highway
}

}  // namespace libknng

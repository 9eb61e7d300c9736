#include "backend/cpu/engine.h"

#include "backend/cpu/direct_engine.h"
#include "backend/cpu/direct_tile.h"
#include "backend/cpu/direct_workspace.h"
#include "backend/cpu/fused_engine.h"
#include "prepare/filter_operands.h"
#include "prepare/filter_panel.h"

namespace libknng {
namespace {

bool any_metric(const Metric&, std::int64_t) { return true; }
bool always(std::int64_t, std::int64_t) { return true; }
std::int64_t no_operands(std::int64_t, std::int64_t) { return 0; }

constexpr CpuEngine kEngines[] = {
    {"fused", kFilterPanel, fused_can_run, fused_pays, FilterOperands::bytes, fused_workspace_bytes, run_fused},
    {"direct", kPanelRows, any_metric, always, no_operands, DirectWorkspace::bytes, run_direct},
};

}  // namespace

std::span<const CpuEngine> cpu_engines() { return kEngines; }

const char* cpu_target() { return direct_tiles().front()->target; }

}  // namespace libknng

#include "backend/cuda/engines/engine_kernels.cuh"

#include "backend/cuda/engines/fused_tiles.cuh"
#include "backend/cuda/engines/key_tiles.cuh"
#include "backend/cuda/engines/product_tiles.cuh"
#include "backend/cuda/engines/sum_tiles.cuh"

namespace libknng::cuda {
namespace {

template <class Maker>
std::unique_ptr<TileMaker> make(const TileInputs& inputs) {
  return std::make_unique<Maker>(inputs);
}

std::int64_t none(const knng_backend_problem&) { return 0; }
bool never(const knng_backend_problem&) { return false; }
TileBuffer whole_tile(const knng_backend_problem& p) { return {p.tile_rows, p.tile_cols}; }
// As it is stored.
std::int64_t stored_block_bytes(const knng_backend_problem& p, int) { return PagedPoints::block_bytes(p); }

template <class Maker>
constexpr EngineKernels of_products(EngineKind kind, std::int64_t (*workspace_bytes)(const knng_backend_problem&),
                                    bool (*may_order)(const knng_backend_problem&),
                                    TileBuffer (*buffer)(const knng_backend_problem&)) {
  return {.kind = kind,
          .make = make<Maker>,
          .bytes = Maker::bytes,
          .workspace_bytes = workspace_bytes,
          .may_order = may_order,
          .buffer = buffer,
          .row_operand_bytes = ProductTiles::row_operand_bytes,
          .paged_bytes = ProductTiles::paged_bytes,
          .opening_bytes = ProductTiles::opening_bytes,
          .block_bytes = ProductTiles::block_bytes,
          .bytes_beside_blocks = ProductTiles::bytes_beside_blocks};
}

// In the order of the table. Sums and keys keep nothing of what products do where points come in blocks: that is spare.
constexpr EngineKernels kKernels[] = {
    of_products<FusedTiles>(EngineKind::fused_bytes, FusedTiles::workspace_bytes, FusedTiles::may_order,
                            FusedTiles::buffer),
    of_products<FusedTiles>(EngineKind::fused_products, FusedTiles::workspace_bytes, FusedTiles::may_order,
                            FusedTiles::buffer),
    of_products<ProductTiles>(EngineKind::byte_products, none, never, whole_tile),
    of_products<ProductTiles>(EngineKind::products, none, never, whole_tile),
    {.kind = EngineKind::sums,
     .make = make<SumTiles>,
     .bytes = SumTiles::bytes,
     .workspace_bytes = SumTiles::workspace_bytes,
     .may_order = never,
     .buffer = whole_tile,
     .row_operand_bytes = none,
     .paged_bytes = ProductTiles::paged_bytes,
     .opening_bytes = ProductTiles::opening_bytes,
     .block_bytes = stored_block_bytes,
     .bytes_beside_blocks = none},
    {.kind = EngineKind::boxes,
     .make = nullptr,
     .bytes = none,
     .workspace_bytes = none,
     .may_order = never,
     .buffer = whole_tile,
     .row_operand_bytes = none,
     .paged_bytes = none,
     .opening_bytes = none,
     .block_bytes = stored_block_bytes,
     .bytes_beside_blocks = none},
    {.kind = EngineKind::keys,
     .make = make<KeyTiles>,
     .bytes = none,
     .workspace_bytes = KeyTiles::workspace_bytes,
     .may_order = never,
     .buffer = whole_tile,
     .row_operand_bytes = none,
     .paged_bytes = ProductTiles::paged_bytes,
     .opening_bytes = ProductTiles::opening_bytes,
     .block_bytes = stored_block_bytes,
     .bytes_beside_blocks = none},
};

constexpr bool continues_table() {
  if (std::size(kKernels) != kGpuEngines.size()) return false;
  for (std::size_t i = 0; i < kGpuEngines.size(); ++i)
    if (kKernels[i].kind != kGpuEngines[i].kind) return false;
  return true;
}
static_assert(continues_table());

}  // namespace

const EngineKernels& kernels_of(const knng_backend_problem& p) { return kKernels[&engine_of(p) - kGpuEngines.data()]; }

}  // namespace libknng::cuda

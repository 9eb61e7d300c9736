// Tiles of products in fp16, in two pieces and in fp32 under attack: all lie within the bound of their unit
// (rounding_model.h) and within the one by squares that proofs build on (refine/low_bound.h), some come close to it,
// and a far smaller bound would not hold.
#include <cstring>
#include <limits>
#include <vector>

#include "backend/cuda/base/handle_cache.cuh"
#include "backend/cuda/base/memory.cuh"
#include "product_attack.cuh"

using namespace attack;

namespace {

void check_tile(const Case& c, Size size, std::int64_t dim, DeviceContext& context, cuda::Products& products,
                Found& all) {
  const Pairs pairs = Pairs::of(c, size, dim);
  const std::int64_t ld = size.columns + (dim % 2 ? 3 : 8);
  const gpu::Array<std::byte> device_a(pairs.a.values), device_b(pairs.b.values);
  gpu::Array<float> tile(static_cast<std::size_t>((size.rows + 1) * ld));
  tile.poison();
  const std::vector<float> before = tile.values();
  check(cudaDeviceSynchronize());  // the session's stream waits for no other
  products.run(operand_of(device_a.get(), 1, c.precision, dim), size.rows,
               operand_of(device_b.get(), 1, c.precision, dim), size.columns, dim, c.precision, tile.get(), ld);
  context.stream.wait();
  const std::vector<float> found = tile.values();
  std::int64_t beyond_tile = 0;
  for (std::int64_t i = 0; i <= size.rows; ++i)
    for (std::int64_t j = i == size.rows ? 0 : size.columns; j < ld; ++j) {
      const auto at = static_cast<std::size_t>(i * ld + j);
      beyond_tile += std::memcmp(&found[at], &before[at], sizeof(float)) != 0;
    }
  expect(beyond_tile == 0, "%s, d = %lld: written beyond the tile", c.name, static_cast<long long>(dim));
  judge(c, pairs, found, ld, all);
}

void attack_unit(const Case& c, DeviceContext& context, cuda::Products& products) {
  Found found;
  for (const std::int64_t dim : {1, 2, 15, 16, 17, 31, 32, 33, 64, 100, 257, 1000, 4096, 20'000, 65'536})
    if (!small_run() || dim <= 2 || dim == 16 || dim == 33 || dim == 257)
      check_tile(c, kSmall, dim, context, products, found);
  for (const std::int64_t dim : {16, 33, 64, 257, 1000})
    if (!small_run() || dim == 16) check_tile(c, kLarge, dim, context, products, found);
  // The longest are summed in parts, which are joined.
  for (const std::int64_t dim : {16, 48, 128, 512, 2048, 20'000, 65'536})
    for (const Size& narrow : kNarrow)
      if (!small_run() || dim == 48) check_tile(c, narrow, dim, context, products, found);
  conclude(c, found);
}

}  // namespace

int main() {
  gpu::need_device();
  int device = 0, compute_major = 0;
  check(cudaGetDevice(&device));
  check(cudaDeviceGetAttribute(&compute_major, cudaDevAttrComputeCapabilityMajor, device));
  DeviceContext context(device, std::numeric_limits<std::int64_t>::max());
  HandleCache handles(device, context.stream);
  cuda::Products products(handles, context);
  for (const Case& c : cases_on(compute_major)) attack_unit(c, context, products);
  return gpu::result();
}

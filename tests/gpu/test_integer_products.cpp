// Tiles of products of bytes: every product is exact, whatever the bytes, and every low is its key rounded down;
// nothing is written beyond the tile's pitch, and what lies behind the points is zeros.
#include <bit>
#include <cstdlib>
#include <limits>
#include <vector>

#include "backend/cuda/base/handle_cache.cuh"
#include "backend/cuda/base/memory.cuh"
#include "backend/cuda/engines/integer_operands.cuh"
#include "backend/cuda/engines/operands.cuh"
#include "backend/cuda/engines/product.cuh"
#include "plan/integer_products.h"
#include "refine/bound.h"
#include "tests/gpu/points.h"

namespace libknng::cuda::test {
namespace {

constexpr Precision kInt8 = Precision::int8;

enum class Bytes { random, lowest, ends, alternating, opposite };
constexpr Bytes kAllBytes[] = {Bytes::random, Bytes::lowest, Bytes::ends, Bytes::alternating, Bytes::opposite};

// A signed byte, before the shift is taken back.
int byte_of(Bytes kind, std::int64_t i, std::int64_t t, Random& random) {
  switch (kind) {
    case Bytes::random: return static_cast<int>(random.next() % 256) - 128;
    case Bytes::lowest: return -128;  // the largest products
    case Bytes::ends: return random.next() % 2 ? 127 : -128;
    case Bytes::alternating: return (i + t) % 2 ? 127 : -128;
    default: return i % 2 ? 127 : -128;  // the smallest products and the largest keys
  }
}

Points points_of(Bytes kind, const char* metric, std::int32_t dtype, std::int64_t rows, std::int64_t dim,
                 std::uint64_t seed) {
  Points p = make_points(find_metric(metric, 0), dtype, rows, dim, seed, dim % 2 ? 2 : 1);
  Random random(seed);
  for (std::int64_t i = 0; i < rows; ++i)
    for (std::int64_t t = 0; t < dim; ++t) {
      const int byte = byte_of(kind, i, t, random);
      const int value = dtype == KNNG_BOOL ? byte > 0 : byte + integer_centre(dtype);
      p.values[static_cast<std::size_t>(i * dim + t)] = value;
      p.stored[static_cast<std::size_t>(i * p.row_stride + t * p.col_stride)] = static_cast<std::byte>(value);
    }
  finish(p);
  return p;
}

// Operands, as a session makes them.
struct Side {
  Side(const Points& p, DeviceContext& context) : values(operand_bytes(p.rows, p.dim, kInt8)), terms(p.rows) {
    const DevicePoints device(p);
    make_integer_operands(device.view().rows, nullptr, p.metric, values.get(), terms.get(), context.stream);
    context.stream.wait();
    const std::vector<std::byte> bytes = values.values();
    for (std::size_t at = static_cast<std::size_t>(p.rows * stride_of(p.dim, kInt8)); at < bytes.size(); ++at)
      expect(bytes[at] == std::byte{0}, "%s: no zero behind the points", p.name.c_str());
  }

  Array<std::byte> values;
  Array<float> terms;
};

std::int64_t exact_product(const Points& a, std::int64_t i, const Points& b, std::int64_t j) {
  const int centre = integer_centre(a.dtype);
  std::int64_t sum = 0;
  for (std::int64_t t = 0; t < a.dim; ++t)
    sum += (static_cast<int>(a.values[static_cast<std::size_t>(i * a.dim + t)]) - centre) *
           (static_cast<int>(b.values[static_cast<std::size_t>(j * a.dim + t)]) - centre);
  return sum;
}

// Rows [1, ..) of one and columns [first, ..) of the other. Returns the largest key.
double lows_are_keys(const Points& rows, const Points& columns, std::int64_t first, DeviceContext& context,
                     Products& products) {
  const char* name = rows.name.c_str();
  const Side a(rows, context), b(columns, context);
  const std::int64_t count = rows.rows - 1, wide = columns.rows - first;
  const std::int64_t written = (wide + kColumnGrain - 1) / kColumnGrain * kColumnGrain, ld = written + 4;
  const Array<float> tile(count * ld);
  products.run(operand_of(a.values.get(), 1, kInt8, rows.dim), count,
               operand_of(b.values.get(), first, kInt8, rows.dim), wide, rows.dim, kInt8, tile.get(), ld);
  context.stream.wait();

  const std::vector<float> found = tile.values(), row_terms = a.terms.values(), column_terms = b.terms.values();
  const auto integer = [](float bits) { return std::bit_cast<std::int32_t>(bits); };
  double largest = 0;
  for (std::int64_t i = 0; i < count; ++i)
    for (std::int64_t j = 0; j < ld; ++j) {
      const std::int32_t product = integer(found[static_cast<std::size_t>(i * ld + j)]);
      if (j >= wide) {
        expect(j < written || product == -1, "%s: written beyond the tile", name);
        continue;
      }
      const std::int64_t exact = exact_product(rows, i + 1, columns, first + j);
      expect(product == exact, "%s: product of (%lld, %lld) is %d, not %lld", name, static_cast<long long>(i + 1),
             static_cast<long long>(first + j), product, static_cast<long long>(exact));
      const std::int64_t low = std::int64_t{integer(row_terms[static_cast<std::size_t>(i + 1)])} +
                               integer(column_terms[static_cast<std::size_t>(first + j)]) - 2 * exact;
      const double key = expected_key(rows, i + 1, columns, first + j) * integer_scale(rows.metric);
      expect(static_cast<double>(low) == key, "%s: key of (%lld, %lld) is %g, not %lld", name,
             static_cast<long long>(i + 1), static_cast<long long>(first + j), key, static_cast<long long>(low));
      expect(std::llabs(low) <= std::numeric_limits<std::int32_t>::max(), "%s: a low does not fit", name);
      largest = std::max(largest, key);
    }
  return largest;
}

void go_through_tiles() {
  int device = 0;
  check(cudaGetDevice(&device));
  DeviceContext context(device, std::numeric_limits<std::int64_t>::max());
  HandleCache handles(device, context.stream);
  Products products(handles, context);
  struct Case {
    const char* metric;
    std::int32_t dtype;
  };
  constexpr Case cases[] = {{"sqeuclidean", KNNG_U8},
                            {"euclidean", KNNG_I8},
                            {"inner_product", KNNG_I8},
                            {"sqeuclidean", KNNG_BOOL},
                            {"inner_product", KNNG_BOOL}};
  const std::int64_t dims[] = {1, 15, 17, 784, 1025, 2048, 4099, 20'000, kIntegerProductsTo};
  double largest = 0;
  int tiles = 0;
  for (const Case& c : cases)
    for (const std::int64_t dim : dims)
      for (const Bytes kind : kAllBytes) {
        if (small_run() && (dim > 1025 || dim == 784)) continue;
        // Every remainder of 4 in the width of the tile, and columns from any place on.
        const std::int64_t rows = dim > 20'000 ? 5 : 34 + tiles % 4, columns = dim > 20'000 ? 6 : 130 + tiles % 5;
        const Points a = points_of(kind, c.metric, c.dtype, rows, dim, 41),
                     b = points_of(kind, c.metric, c.dtype, columns, dim, 42);
        largest = std::max(largest, lows_are_keys(a, b, tiles % 3, context, products));
        ++tiles;
      }
  if (!small_run()) expect(largest > 0x1p31 - 0x1p16, "the largest key was %g", largest);
  std::printf("integer products: %d tiles, keys up to %.0f\n", tiles, largest);
}

}  // namespace
}  // namespace libknng::cuda::test

int main() {
  gpu::need_device();
  libknng::cuda::test::go_through_tiles();
  return gpu::result();
}

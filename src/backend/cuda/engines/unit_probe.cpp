#include "backend/cuda/engines/unit_probe.cuh"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <functional>
#include <limits>
#include <map>
#include <mutex>
#include <span>
#include <vector>

#include "backend/cuda/base/device_properties.cuh"
#include "backend/cuda/base/handle_cache.cuh"
#include "backend/cuda/engines/product.cuh"
#include "backend/cuda/fused/all_pairs.cuh"
#include "backend/cuda/keys/all_products.cuh"
#include "core/dtype.h"
#include "refine/unit_probe.h"

namespace libknng::cuda {
namespace {

// Tiles as cuBLAS has kernels of different kinds for: one for tensor cores, one of so many terms that they may be
// summed in parts, and narrow ones.
struct Shape {
  std::int64_t rows, columns, dim;
};
constexpr std::array<Shape, 3> kShapes = {{{128, 128, 64}, {32, 32, 8192}, {4, 64, 256}}};

// Points in device memory, and of bytes what the products of each column should be.
struct Tile {
  const std::byte *rows, *columns;
  Shape shape;
  std::int64_t dim;
  Precision precision;
  std::span<const std::int32_t> expected;
};
// Products, row by row.
using Multiply = std::function<std::vector<double>(const Tile& tile)>;

std::vector<double> by_cublas(const Tile& t, Products& products, DeviceContext& context) {
  DeviceArray<float> tile(t.shape.rows * t.shape.columns, context);
  std::vector<float> found(static_cast<std::size_t>(tile.size()));
  products.run(t.rows, t.shape.rows, t.columns, t.shape.columns, t.dim, t.precision, tile.data(), t.shape.columns);
  check(
      cudaMemcpyAsync(found.data(), tile.data(), found.size() * sizeof(float), cudaMemcpyDeviceToHost, context.stream));
  context.stream.wait();
  std::vector<double> values;
  values.reserve(found.size());
  for (const float bits : found)
    values.push_back(t.precision == Precision::int8 ? std::bit_cast<std::int32_t>(bits) : static_cast<double>(bits));
  return values;
}

std::vector<double> by_fused(const Tile& t, bool both, const DeviceProperties& device, DeviceContext& context) {
  const std::int64_t skipped =
      t.precision == Precision::two_piece ? pitch_of(t.dim, t.precision) * value_bytes(t.precision) : 0;
  const fused::FusedPoints points{t.rows,
                                  t.columns + skipped,
                                  static_cast<int>(t.shape.rows),
                                  static_cast<int>(t.shape.columns),
                                  halves_of(stride_of(t.dim, t.precision), t.precision),
                                  halves_of(terms_of(t.dim, t.precision), t.precision)};
  const auto multiply = [&]<class Number>(std::span<const Number> expected) {
    return fused::all_products(points, expected, fused::kernel_of<Number>(device.major), device.multiprocessors, both,
                               context);
  };
  return t.precision == Precision::int8 ? multiply(t.expected) : multiply(std::span<const float>());
}

std::vector<Probe> probes_of(Precision precision, std::int64_t terms, const TensorCores& chip) {
  switch (precision) {
    case Precision::int8: return byte_probes(terms);
    case Precision::fp32: return fp32_probes(terms);
    default:
      return tensor_core_probes(terms, fp16_unit(terms, chip.lost, chip.shortest),
                                {chip.aligned, chip.group, chip.shortest});
  }
}

// The points of a side, one probe's operand after the other, again and again. In two pieces a point has one piece more
// than are multiplied: of columns the first is not.
std::vector<std::byte> pack(const std::vector<Probe>& probes, std::vector<float> Probe::*side, std::int64_t points,
                            std::int64_t stride, std::int64_t skipped, Precision precision) {
  const std::int64_t bytes = value_bytes(precision);
  std::vector<std::byte> packed(static_cast<std::size_t>((points + points_behind(precision)) * stride * bytes));
  for (std::int64_t i = 0; i < points; ++i) {
    std::byte* to = packed.data() + (i * stride + skipped) * bytes;
    for (const float x : probes[static_cast<std::size_t>(i) % probes.size()].*side) {
      const auto put = [&to](auto value) {
        std::memcpy(to, &value, sizeof value);
        to += sizeof value;
      };
      switch (precision) {
        case Precision::int8: put(static_cast<std::int8_t>(x)); break;
        case Precision::fp32: put(x); break;
        default: put(half_from_double(static_cast<double>(x)));
      }
    }
  }
  return packed;
}

// What the products of a tile say. A tile has rows for some of the probes at a time, all columns at once.
std::string objection_of(Precision precision, const Shape& shape, const TensorCores& chip, DeviceContext& context,
                         const Multiply& multiply) {
  // In two pieces as many terms are three times as many.
  const std::int64_t dim = precision == Precision::two_piece ? pitch_of(shape.dim / 3, precision) : shape.dim;
  const std::int64_t stride = stride_of(dim, precision), terms = terms_of(dim, precision);
  const std::vector<Probe> probes = probes_of(precision, terms, chip);
  const auto count = static_cast<std::int64_t>(probes.size());
  const std::int64_t rows = (count + shape.rows - 1) / shape.rows * shape.rows, columns = shape.columns;
  std::vector<std::int32_t> expected;
  for (std::int64_t j = 0; precision == Precision::int8 && j < columns; ++j)
    expected.push_back(static_cast<std::int32_t>(probes[static_cast<std::size_t>(j % count)].least));
  const std::vector<std::byte> of_rows = pack(probes, &Probe::a, rows, stride, 0, precision),
                               of_columns =
                                   pack(probes, &Probe::b, columns, stride,
                                        precision == Precision::two_piece ? pitch_of(dim, precision) : 0, precision);
  const DeviceArray<std::byte> a = uploaded(std::span(of_rows), context), b = uploaded(std::span(of_columns), context);
  for (std::int64_t first = 0; first < rows; first += shape.rows) {
    const std::vector<double> found =
        multiply({operand_of(a.data(), first, precision, dim), b.data(), shape, dim, precision, expected});
    for (std::int64_t i = 0; i < shape.rows; ++i)
      for (std::int64_t j = (first + i) % count; j < columns; j += count) {
        const double product = found[static_cast<std::size_t>(i * columns + j)];
        std::string objection = objection_to(product, probes[static_cast<std::size_t>(j % count)]);
        if (!objection.empty())
          return objection + " (" + std::to_string(terms) + " terms, a tile of " + std::to_string(shape.rows) + " x " +
                 std::to_string(columns) + ")";
      }
  }
  return {};
}

std::string objection_in_all(Precision precision, const TensorCores& chip, DeviceContext& context,
                             const Multiply& multiply) {
  for (const Shape& shape : kShapes)
    if (std::string text = objection_of(precision, shape, chip, context, multiply); !text.empty()) return text;
  return {};
}

// Of products in fp64, which are those of all points with each other: here all operands of the probes, again and again.
std::string objection_to_fp64(DeviceContext& context, HandleCache& handles) {
  constexpr std::int64_t kPoints = 128;
  for (const std::int64_t terms : {64, 8192}) {
    const std::vector<Probe> probes = fp64_probes(terms);
    std::vector<double> x;
    for (std::int64_t i = 0; i < kPoints; ++i) {
      const Probe& probe = probes[static_cast<std::size_t>(i / 2) % probes.size()];
      const std::vector<float>& operand = i % 2 == 0 ? probe.a : probe.b;
      x.insert(x.end(), operand.begin(), operand.end());
    }
    const DeviceArray<double> points = uploaded(std::span<const double>(x), context), tile(kPoints * kPoints, context);
    multiply_all(points.data(), kPoints, terms, tile.data(), handles.blas());
    std::vector<double> found(static_cast<std::size_t>(tile.size()));
    check(cudaMemcpyAsync(found.data(), tile.data(), found.size() * sizeof found[0], cudaMemcpyDeviceToHost,
                          context.stream));
    context.stream.wait();
    for (std::int64_t i = 0; i < kPoints; i += 2)
      for (std::int64_t j = i % (2 * std::ssize(probes)); j < kPoints; j += 2 * std::ssize(probes)) {
        // Of two that are the same probe's: whichever of both comes first.
        const std::int64_t a = std::min(i, j + 1), b = std::max(i, j + 1);
        const Probe& probe = probes[static_cast<std::size_t>(i / 2) % probes.size()];
        std::string objection = objection_to(found[static_cast<std::size_t>(a * kPoints + b)], probe);
        if (!objection.empty()) return objection + " (" + std::to_string(terms) + " terms)";
      }
  }
  return {};
}

// "" if nothing is said against it.
std::string known_objection(std::int32_t unit, int device, const TensorCores& chip) {
  static std::mutex mutex;
  static auto& known = *new std::map<std::pair<int, std::int32_t>, std::string>;  // as long as there are threads
  {
    const std::lock_guard lock(mutex);
    if (const auto at = known.find({device, unit}); at != known.end()) return at->second;
  }
  std::string objection =
      objection_to_unit(unit, device, chip);  // without the lock, as a fork meanwhile would leave it locked
  const std::lock_guard lock(mutex);
  return known.try_emplace({device, unit}, std::move(objection)).first->second;
}

}  // namespace

std::string objection_to_unit(std::int32_t unit, int device, const TensorCores& chip) {
  const DeviceProperties properties = properties_of(device);
  if (unit == KNNG_UNIT_FUSED && !fused::has_kernel(properties.major)) return {};  // tiles in memory in any case
  DeviceContext context(device, std::numeric_limits<std::int64_t>::max());
  if (unit == KNNG_UNIT_FUSED) {
    for (const Precision precision : {Precision::fp16, Precision::two_piece, Precision::int8})
      for (const bool both : {false, true})
        if (const std::string text = objection_in_all(
                precision, chip, context, [&](const Tile& t) { return by_fused(t, both, properties, context); });
            !text.empty())
          return std::string("engine=fused, products of ") + (precision == Precision::int8 ? "bytes, " : "fp16, ") +
                 text;
    return {};
  }
  HandleCache handles(device, context.stream);
  Products products(handles, context);  // sets how cuBLAS works
  if (unit == KNNG_UNIT_FP64) {
    const std::string text = objection_to_fp64(context, handles);
    return text.empty() ? text : "products of fp64, " + text;
  }
  for (const auto& [precision, name] : {std::pair(Precision::fp16, "fp16"), std::pair(Precision::two_piece, "fp16"),
                                        std::pair(Precision::fp32, "fp32"), std::pair(Precision::int8, "bytes")}) {
    if (unit_of(precision) != unit) continue;
    if (const std::string text =
            objection_in_all(precision, chip, context, [&](const Tile& t) { return by_cublas(t, products, context); });
        !text.empty())
      return std::string("products of ") + name + ", " + text;
  }
  return {};
}

FoundUnits find_units(int device, std::int32_t units) {
  const DeviceProperties properties = properties_of(device);
  const TensorCores chip = tensor_cores_of(properties.major);
  FoundUnits found{{0, chip.lost, chip.shortest}, {}};
  if (!properties.has_fast_doubles()) units &= ~KNNG_UNIT_FP64;
  for (const std::int32_t unit : {KNNG_UNIT_FP16, KNNG_UNIT_FP32, KNNG_UNIT_BYTES, KNNG_UNIT_FUSED, KNNG_UNIT_FP64}) {
    if ((units & unit) == 0) continue;
    std::string objection = known_objection(unit, device, chip);
    if (objection.empty())
      found.units.usable |= unit;
    else
      found.objection = std::move(objection);
  }
  return found;
}

}  // namespace libknng::cuda

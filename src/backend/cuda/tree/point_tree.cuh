// The columns of a problem in few dimensions, resident on the device: canonical rows in Hilbert order and the tree of
// boxes around them. Points without direction are not among them. Knows nothing of who looks for neighbours.
#pragma once

#include <cstdint>

#include "backend/cuda/base/array_source.cuh"
#include "backend/cuda/rows/points.cuh"
#include "backend/cuda/tree/boxes.cuh"
#include "backend/cuda/tree/hilbert.cuh"

namespace libknng::cuda {

class PointTree {
 public:
  PointTree(const Points& points, DeviceContext& context);
  // Of the tree of `count` points, and of what making it takes beside.
  static std::int64_t bytes(std::int64_t count, std::int64_t dim);
  static std::int64_t bytes_while_made(std::int64_t count, std::int64_t dim);

  const HilbertGrid& grid() const noexcept { return grid_; }
  const BoxTree& boxes() const noexcept { return tree_; }

 private:
  struct Arrays {
    Arrays(std::int64_t count, std::int64_t dim, ArraySource& source);

    DeviceArray<double> values, bounds;
    DeviceArray<std::uint32_t> ids, box_ids;
    DeviceArray<std::uint64_t> codes;
  };

  HilbertGrid grid_;
  BoxTree tree_;
  Arrays arrays_;
};

}  // namespace libknng::cuda

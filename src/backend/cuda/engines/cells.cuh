// An order of points in which those nearby follow one another: by cells, each the points that are nearest to one of a
// few drawn at random (prepare/cells.h), the cells in a chain, and in a cell by how far points are from that one. It is
// looked for where a few products show that points are in clusters far apart. Nothing but time depends on it.
#pragma once

#include <cstdint>

#include "backend/cuda/base/array_source.cuh"
#include "backend/cuda/base/memory.cuh"
#include "backend/cuda/base/staging.cuh"
#include "backend/cuda/engines/operands.cuh"
#include "backend/cuda/engines/product.cuh"
#include "backend/cuda/rows/points.cuh"

namespace libknng::cuda {

// What looking for it takes, but the order itself; and on the host.
std::int64_t cell_bytes(std::int64_t points, std::int64_t dim);
std::int64_t cell_host_bytes(std::int64_t points);

// The point at each place, for others beside this device too; empty: points are not in clusters. The frame is settled.
DeviceArray<std::int64_t> order_by_cells(const Points& points, const Frame& frame, Products& products, Staging& staging,
                                         DeviceContext& context);

}  // namespace libknng::cuda

// The result: neighbour lists with values, per-row facts and statistics. Plain data that never changes once it is made;
// what can be asked of it stands beside it (copy.h, rows.h, components.h, sparse.h), and import.h makes one of another
// library's result. Knows nothing of how it was computed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "core/buffer.h"
#include "core/matrix_view.h"
#include "graph/stats.h"

namespace libknng {

// How a row was answered ("proof" of knng_graph_rows).
enum class Proof : std::uint8_t { none = 0, filter = 1, two_piece = 2, fp32 = 3, fp64 = 4 };

struct GraphText {
  std::string metric, p, precision, engine, selector, device, version, fingerprint, value, self;
};

// Lists in memory of a device, which goes back to it with the last of these.
struct DeviceLists {
  std::shared_ptr<const void> memory;
  std::int32_t device = kHostMemory;
  std::int64_t* ids = nullptr;
  std::byte* values = nullptr;
};

struct Graph {
  std::int64_t rows = 0;     // points that have a list
  std::int64_t columns = 0;  // points that can appear in lists
  std::int64_t width = 0;    // entries of a list: k, or k + 1 with self first
  bool square = false;       // rows and columns are the same points
  bool self_first = false;   // entry 0 of list i is i

  Buffer<std::int64_t> ids;      // rows x width, -1 without a neighbour
  std::int32_t value_dtype = 0;  // KNNG_F32 or KNNG_F64
  Buffer<std::byte> values;      // rows x width of value_dtype, +inf without a neighbour
  DeviceLists
      on_device;  // graph=device: both are there, and here when somebody needs them (exec/devices/device_lists.h)

  Buffer<std::uint8_t> ties;   // rows: 1 if a row left out is as far as the k-th; 0 where ties_at_k is not known
  Buffer<std::uint8_t> proof;  // rows: Proof

  Stats stats;
  GraphText text;

  // What a call that failed has left goes; the shape stays.
  void clear();

  bool kept_on_device() const noexcept { return on_device.memory != nullptr; }
  std::int64_t k() const noexcept { return width - (self_first ? 1 : 0); }
  std::int64_t entries() const noexcept { return ids.size(); }
  double value(std::int64_t entry) const noexcept {
    return value_dtype == KNNG_F32 ? static_cast<double>(reinterpret_cast<const float*>(values.data())[entry])
                                   : reinterpret_cast<const double*>(values.data())[entry];
  }
};

// The one table of texts, in the order in which they are listed.
struct GraphTextField {
  const char* name;
  std::string GraphText::*text;
};
std::span<const GraphTextField> graph_texts() noexcept;

// A text of the build by name; throws KNNG_ERR_OPTION with the known names.
const std::string& graph_text(const Graph& g, const char* name);

}  // namespace libknng

// Rows of a graph whose lists devices have at a time, the devices' shares of them, and where their results go. Knows
// nothing of how lists are found.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "backend/seam.h"
#include "core/division.h"
#include "core/dtype.h"
#include "exec/task.h"
#include "graph/graph.h"

namespace libknng {

// All rows of a graph, or one of several slices, and their place in it.
struct Part {
  Graph& graph;
  std::int64_t first, rows;
  std::int64_t number = 1, of = 1;

  std::span<const std::uint8_t> proof() const noexcept {
    return {graph.proof.data() + first, static_cast<std::size_t>(rows)};
  }
  // A stage of several slices has a name of its own in each, so that progress under a name never goes back.
  std::string named(std::string name) const {
    if (of > 1) name.append(" (").append(std::to_string(number)).append(" of ").append(std::to_string(of)).append(")");
    return name;
  }
};

// Rows [first, first + count) of the i-th of `parts` equal shares: of whole blocks, if points come in blocks.
struct Share {
  std::int64_t first, count;
  Share(const TaskPlan& plan, std::size_t i, std::size_t parts)
      : first(begin_of(plan, i, parts)), count(begin_of(plan, i + 1, parts) - first) {}

 private:
  static std::int64_t begin_of(const TaskPlan& plan, std::size_t i, std::size_t parts) {
    const std::int64_t rows = plan.grid.rows, grain = plan.device.blocks_held > 0 ? plan.grid.tile_rows : 1;
    const std::int64_t grains = ceil_div(rows, grain), n = static_cast<std::int64_t>(parts);
    const auto at = static_cast<std::int64_t>(i);
    return std::min((grains / n * at + grains % n * at / n) * grain, rows);
  }
};

// Counts of the devices' results, each its own while it works.
class Results {
 public:
  Results(std::size_t devices, const Part& part) {
    Graph& graph = part.graph;
    const bool kept = graph.kept_on_device();
    const std::int64_t entry = part.first * graph.width, value_bytes = find_dtype(graph.value_dtype)->bytes;
    knng_backend_result result{};
    result.ids = (kept ? graph.on_device.ids : graph.ids.data()) + entry;
    result.values = static_cast<std::byte*>(kept ? graph.on_device.values : graph.values.data()) + entry * value_bytes;
    result.device = graph.on_device.device;
    result.ties = graph.ties.data() + part.first;
    result.proof = graph.proof.data() + part.first;
    result.too_large = INT64_MAX;
    parts_.assign(devices, result);
  }

  knng_backend_result& operator[](std::size_t i) noexcept { return parts_[i]; }

  knng_backend_result total() const {
    knng_backend_result sum = parts_.front();
    for (std::size_t i = 1; i < parts_.size(); ++i) {
      sum.keys += parts_[i].keys;
      sum.violations += parts_[i].violations;
      sum.candidates = std::max(sum.candidates, parts_[i].candidates);
      sum.too_large = std::min(sum.too_large, parts_[i].too_large);
    }
    return sum;
  }

 private:
  std::vector<knng_backend_result> parts_;
};

}  // namespace libknng

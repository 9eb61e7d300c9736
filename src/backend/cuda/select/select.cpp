#include "backend/cuda/select/select.cuh"

#include <array>
#include <cstring>

#include "backend/cuda/select/entries.cuh"

namespace libknng::cuda {
namespace {

constexpr std::array<Selector, 3> table{{
    {"quick", quick_workspace, quick_run, quick_workspace_both, quick_run_both},
    {"batch_sort", batch_sort_workspace, batch_sort_run, batch_sort_workspace_both, batch_sort_run_both},
    {"insertion", insertion_workspace, insertion_run},
}};

}  // namespace

std::span<const Selector> selectors() { return table; }

const Selector* find_selector(const char* name) {
  for (const Selector& selector : table)
    if (std::strcmp(selector.name, name) == 0) return &selector;
  return nullptr;
}

}  // namespace libknng::cuda

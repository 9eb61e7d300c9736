#include "backend/registry.h"

#include <cstddef>

#include "io/plugin.h"

namespace libknng {
namespace {

Plugin cuda(KNNG_CUDA_FILE, KNNG_CUDA_ENTRY, &call_entry<knng_backend_seam>, &backend_objection);

}  // namespace

const knng_backend_seam* cuda_backend(std::string& why_not) {
  return static_cast<const knng_backend_seam*>(cuda.load(why_not));
}

const knng_backend_seam* loaded_cuda_backend() { return static_cast<const knng_backend_seam*>(cuda.loaded()); }

std::string backend_objection(const void* table) {
  static_assert(offsetof(knng_backend_seam, version) == offsetof(PluginSeam, version) &&
                offsetof(knng_backend_seam, build_id) == offsetof(PluginSeam, build_id));
  return build_objection(table, {sizeof(knng_backend_seam), KNNG_BACKEND_SEAM_VERSION, KNNG_BACKEND_BUILD_ID});
}

}  // namespace libknng

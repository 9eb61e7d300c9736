#include "backend/registry.h"

#include <cstdio>
#include <cstring>

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
  const auto& seam = *static_cast<const knng_backend_seam*>(table);
  // In this order: members after the first three are looked at only if the size is ours.
  if (seam.struct_size == sizeof(knng_backend_seam) && seam.version == KNNG_BACKEND_SEAM_VERSION && seam.build_id &&
      std::strcmp(seam.build_id, KNNG_BACKEND_BUILD_ID) == 0)
    return "";
  char text[160];
  std::snprintf(text, sizeof text, "is of another build (seam %u.%.24s, this library has %u.%s)", seam.version,
                seam.build_id ? seam.build_id : "?", KNNG_BACKEND_SEAM_VERSION, KNNG_BACKEND_BUILD_ID);
  return text;
}

}  // namespace libknng

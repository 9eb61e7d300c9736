// The one symbol of libknng_hdf5.so.
#include "formats/failure.h"
#include "formats/hdf5/library.h"
#include "formats/hdf5/matrix.h"
#include "io/hdf5_seam.h"

namespace {

using knng_formats::at_seam;
using knng_hdf5::Turn;

std::int32_t open(knng_hdf5_matrix** out, knng_hdf5_shape* shape, const knng_formats_input* input, const char* path,
                  std::int32_t otherwise, knng_formats_error* error) {
  return at_seam(error, [&] {
    const Turn turn;
    knng_hdf5::require_version();
    *out = new knng_hdf5_matrix(*input, path, otherwise);
    *shape = (*out)->shape();
  });
}

std::int32_t read(knng_hdf5_matrix* matrix, std::int32_t array, std::int64_t first, std::int64_t count, void* dst,
                  knng_formats_error* error) {
  return at_seam(error, [&] {
    const Turn turn;
    matrix->read(array, first, count, dst);
  });
}

void close(knng_hdf5_matrix* matrix) {
  if (!matrix) return;
  const Turn turn;
  delete matrix;
}

}  // namespace

extern "C" __attribute__((visibility("default"))) const knng_hdf5_seam* knng_hdf5_entry() {
  static const knng_hdf5_seam seam = {
      .struct_size = sizeof(knng_hdf5_seam),
      .version = KNNG_HDF5_SEAM_VERSION,
      .build_id = KNNG_HDF5_BUILD_ID,
      .open = &open,
      .read = &read,
      .close = &close,
  };
  return &seam;
}

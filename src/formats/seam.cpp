// The one symbol of this library.
#include "formats/gz.h"
#include "formats/stream.h"
#include "formats/zip.h"
#include "io/formats_seam.h"

extern "C" __attribute__((visibility("default"))) const knng_formats_seam* knng_formats_entry() {
  static const knng_formats_seam seam = {
      .struct_size = sizeof(knng_formats_seam),
      .version = KNNG_FORMATS_SEAM_VERSION,
      .build_id = KNNG_FORMATS_BUILD_ID,
      .stream = &knng_formats::stream_calls,
      .gz = &knng_formats::gz_calls,
      .zip = &knng_formats::zip_calls,
  };
  return &seam;
}

// The one symbol of this library.
#include "formats/gz.h"
#include "formats/stream.h"
#include "formats/zip.h"
#include "io/formats_seam.h"

extern "C" __attribute__((visibility("default"))) const knng_formats_seam* knng_formats_entry() {
  static const knng_formats_seam seam = {sizeof(knng_formats_seam), KNNG_FORMATS_SEAM_VERSION,
                                         KNNG_FORMATS_BUILD_ID,     &knng_formats::stream_calls,
                                         &knng_formats::gz_calls,   &knng_formats::zip_calls};
  return &seam;
}

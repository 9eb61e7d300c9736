// knng settings: the library's table of settings, for --set.
#include <cstdio>

#include "commands.h"
#include "failure.h"

namespace cli {

int run_settings() {
  for (std::int32_t i = 0;; ++i) {
    knng_option o{};
    o.struct_size = sizeof o;
    const knng_status status = knng_option_get(i, &o, error());
    if (status == KNNG_ERR_RANGE) return kDone;
    check(status);
    std::printf("%s=%s\n    %s\n    takes %s\n", o.name, o.fallback, o.doc, o.range);
    if (o.environment) std::printf("    default from %s, if that is set\n", o.environment);
  }
}

}  // namespace cli

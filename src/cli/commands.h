// The commands, one file each. Each returns its exit code or throws Failure.
#pragma once

#include "arguments.h"

namespace cli {

int run_build(const Arguments& a);
int run_query(const Arguments& a);
int run_info(const Arguments& a);
int run_check(const Arguments& a);
int run_estimate(const Arguments& a);
int run_devices();
int run_settings();

}  // namespace cli

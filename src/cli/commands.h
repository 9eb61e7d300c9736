// The commands, one file each. Each returns its exit code or throws Failure.
#pragma once

#include "arguments.h"
#include "progress.h"

namespace cli {

int run_build(const Arguments& a);
int run_query(const Arguments& a);
int run_info(const Arguments& a);
int run_check(const Arguments& a);
int run_convert(const Arguments& a);
int run_estimate(const Arguments& a);
int run_devices();
int run_settings();

// What takes memory in the commands, without results. Throw Failure as they would.
void rehearse_info(const Arguments& a, Progress& progress);
void rehearse_check(const Arguments& a, Progress& progress);

}  // namespace cli

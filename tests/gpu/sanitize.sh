#!/bin/sh
# Runs the programs of this folder, small, under the four tools of compute-sanitizer; those that are never small skip
# themselves.   sanitize.sh PROGRAM...
set -eu
# A session's arrays apart, so that the tools see where each ends.
export KNNG_TEST_SMALL=1 KNNG_SEPARATE_ARRAYS=1
for tool in memcheck racecheck initcheck synccheck; do
  for program in "$@"; do
    # On Hopper cuBLAS writes tiles by bulk copies, which initcheck does not see: whatever reads them would be reported.
    # Within its kernels for products of few rows racecheck reports hazards.
    # gpu_device_trap fails on purpose, gpu_quick_plan runs on the host alone, and under the tools gpu_other_streams has
    # nothing to look at.
    case $tool:$(basename "$program") in
      initcheck:gpu_device_*) continue ;;
      initcheck:gpu_fed_once | initcheck:gpu_one_model | initcheck:gpu_unit_probe) continue ;;
      racecheck:gpu_fed_once | racecheck:gpu_one_model | racecheck:gpu_unit_probe) continue ;;
      *:gpu_device_trap | *:gpu_quick_plan | *:gpu_other_streams) continue ;;
    esac
    echo "$tool: $(basename "$program")"
    compute-sanitizer --tool "$tool" --error-exitcode 9 --print-limit 10 "$program" || [ $? -eq 77 ]
  done
done

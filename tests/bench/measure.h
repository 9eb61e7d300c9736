// Builds of one problem by several engines, timed in turns. Knows the public library alone.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "workloads.h"

namespace bench {

struct Case {
  Workload workload;
  std::string engine = "auto";
  std::string selector = "auto";
  int threads = 1;
  Settings settings;  // beside metric, engine, selector and threads
};

struct Protocol {
  int warmups = 1;
  int runs = 5;
  std::int64_t verify = 20;     // rows compared with the canonical keys by knng_check; 0: none, -1: all
  bool rows_on_device = false;  // builds begin with rows in the memory of the first CUDA device
  std::string save;             // the last graph goes there; "": nowhere
};

struct Result {
  Case what;
  std::string error;                     // why it could not run; the rest is then empty
  std::vector<double> wall;              // seconds of each run, in the order of the runs
  std::vector<double> cpu;               // of all threads
  int median = 0;                        // the run whose wall time is the median (the lower of the two middle ones)
  std::map<std::string, double> stats;   // of that run, by the library's names
  std::string engine, selector, device;  // that ran, and where
  std::string fingerprint;               // of the data
  double process_peak = 0;               // bytes of this process, resident, most of all runs
  std::int64_t checked = 0;              // rows
  std::int64_t first_wrong = -1;         // -1: none
  bool as_first = true;                  // ids and bits of the first case's graph
};

// Runs the cases, which share their rows, in turns: one build of each, then the next of each.
std::vector<Result> measure(const std::vector<Case>& cases, const Rows& rows, const Protocol& protocol);

}  // namespace bench

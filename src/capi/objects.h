// What the opaque types of the public header are.
#pragma once

#include <mutex>
#include <vector>

#include "core/work.h"
#include "dataset/dataset.h"
#include "graph/graph.h"
#include "graph/sparse.h"
#include "io/rows_taken.h"
#include "knng/types.h"
#include "options/options.h"

struct knng {
  libknng::Dataset data;
  libknng::Settings settings;
  std::vector<libknng::RowsTaken> files{};
};

struct knng_graph {
  mutable libknng::Graph graph;
  mutable std::mutex fetching{};

  // The graph for work that reads its lists: those on a device are copied to the host by whoever is first, and stay.
  // work: of the call that copies them.
  const libknng::Graph& with_lists(const libknng::Work& work = {}) const;
};

struct knng_sparse {
  libknng::Sparse sparse;
};

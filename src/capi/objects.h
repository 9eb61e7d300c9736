// What the opaque types of the public header are.
#pragma once

#include "dataset/dataset.h"
#include "graph/graph.h"
#include "graph/sparse.h"
#include "knng/types.h"
#include "options/options.h"

struct knng {
  libknng::Dataset data;
  libknng::Settings settings;
};

struct knng_graph {
  libknng::Graph graph;
};

struct knng_sparse {
  libknng::Sparse sparse;
};

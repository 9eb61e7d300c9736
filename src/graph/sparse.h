// Sparse matrices made from graphs, CSR and COO at once, and the one table of rules that make them.
// Knows nothing of where the graph came from.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "core/buffer.h"
#include "core/monitor.h"
#include "graph/graph.h"

namespace libknng {

// Entries are sorted by row, then column.
struct Sparse {
  std::int64_t rows = 0;
  std::int64_t cols = 0;
  Buffer<std::int64_t> indptr;   // rows + 1
  Buffer<std::int64_t> row;      // entries
  Buffer<std::int64_t> col;      // entries
  std::int32_t value_dtype = 0;  // KNNG_F32 or KNNG_F64
  Buffer<std::byte> values;      // entries of value_dtype

  std::int64_t entries() const noexcept { return col.size(); }
};

// What making one may take, and who follows and stops it; the calling thread does the work.
struct Work {
  Budget* budget = nullptr;    // of all memory, the result included, until it is done
  Monitor* monitor = nullptr;  // nullptr: nobody
  void begin(const char* stage, std::int64_t rows) const {
    if (monitor) monitor->stage(stage, static_cast<double>(rows));
  }
  void row_done() const {
    if (!monitor) return;
    monitor->advance(1);
    monitor->poll();
  }
};

// As documented at knng_graph_sparse().
Sparse make_sparse(const Graph& g, std::string_view rule, const Work& work = {});

// For the rules: makes room for indptr's entries and fills in `row`. On entry indptr[i + 1] is the number of entries of
// row i; on return indptr is what CSR says.
void allocate_entries(Sparse& s, const Work& work);

}  // namespace libknng

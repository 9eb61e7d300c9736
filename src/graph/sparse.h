// Sparse matrices made from graphs, CSR and COO at once, and the one table of rules that make them.
// Knows nothing of where the graph came from.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "core/work.h"
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

// As documented at knng_graph_sparse().
Sparse make_sparse(const Graph& g, std::string_view rule, const Work& work = {});

// For the rules: makes room for indptr's entries and fills in `row`. On entry indptr[i + 1] is the number of entries of
// row i; on return indptr is what CSR says.
void allocate_entries(Sparse& s, const Work& work);

}  // namespace libknng

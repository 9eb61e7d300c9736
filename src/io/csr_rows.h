// Sparse rows of an HDF5 file, made dense as they are read. Knows nothing of how the file has them.
#pragma once

#include <memory>

#include "io/hdf5_matrix.h"
#include "io/reader.h"

namespace libknng {

// matrix: a sparse one.
std::unique_ptr<RowReader> csr_rows(std::unique_ptr<Hdf5Matrix> matrix);

}  // namespace libknng

// What was taken of a file of rows, where its name leaves that open: for people to look over. Knows nothing of readers.
#pragma once

#include <string>

namespace libknng {

// As knng_file_text() has them; "" where it goes without saying.
struct RowsTaken {
  // Of an HDF5 file: path of the matrix, and how it is stored there.
  std::string matrix{}, form{};
  // Of a text table.
  std::string header{}, row_names{}, separator{};
};

}  // namespace libknng

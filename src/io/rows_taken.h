// What was taken of a file of rows, where its name leaves that open: for people to look over. Knows nothing of readers.
#pragma once

#include <string>

namespace libknng {

// As knng_file_text() has them; "" where it goes without saying.
struct RowsTaken {
  // The name that was given.
  std::string file{};
  // Of an HDF5 file: path of the matrix, and how it is stored there.
  std::string matrix{}, form{};
  // Of a text table.
  std::string header{}, row_names{}, separator{};
};

struct RowsTakenText {
  const char* name;
  std::string RowsTaken::*text;
};
inline constexpr RowsTakenText kRowsTakenTexts[] = {
    {"file", &RowsTaken::file},     {"matrix", &RowsTaken::matrix},       {"form", &RowsTaken::form},
    {"header", &RowsTaken::header}, {"row_names", &RowsTaken::row_names}, {"separator", &RowsTaken::separator},
};

}  // namespace libknng

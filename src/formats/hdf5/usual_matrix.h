// Which matrix of a file is meant where its path is not given, or is that of an AnnData object: told by whose file it
// is (AnnData, MuData, Loom, 10x Genomics). Knows nothing of how it is read.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "formats/hdf5/library.h"
#include "io/formats_seam.h"

namespace knng_hdf5 {

// What AnnData calls the form of a group: "csr_matrix", "anndata", ...; "" where it says nothing.
std::string encoding_of(const Id& group, const knng_formats_input& input);
// Whether a group has a matrix of genes x barcodes by columns, as Cell Ranger of 10x Genomics writes it.
bool is_10x(const Id& group);
// Whether a group is what AnnData writes for a whole object.
bool is_anndata(const Id& group, const knng_formats_input& input);
bool is_group(const Id& object);

// The path of the matrix: `path`, or, where it is NULL, what `otherwise` (KNNG_HDF5_ONLY, KNNG_HDF5_ANNDATA) says. It
// leads to an object, or to a member of records. Throws KNNG_ERR_FORMAT or KNNG_ERR_UNSUPPORTED where there is none, or
// nobody can tell which one is meant.
std::string choose_matrix(hid_t file, const knng_formats_input& input, const char* path, std::int32_t otherwise);
// Paths of what is read, for messages.
std::string listed_matrices(hid_t file, const knng_formats_input& input);

// The path of an object in its parts: a data set of records, and the name of a member of them. Both are empty if it is
// none.
struct MemberPath {
  std::string records, member;
};
MemberPath member_path(hid_t file, const knng_formats_input& input, const std::string& path);

}  // namespace knng_hdf5

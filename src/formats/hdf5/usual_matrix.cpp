#include "formats/hdf5/usual_matrix.h"

#include "formats/hdf5/attribute.h"
#include "formats/hdf5/objects.h"
#include "formats/hdf5/record_member.h"
#include "formats/hdf5/stored_array.h"

namespace knng_hdf5 {
namespace {

bool has(const Id& group, const char* name) { return ::H5Lexists(group.get(), name, H5P_DEFAULT) > 0; }

std::vector<std::string> matrices(hid_t file, const knng_formats_input& input) {
  return find_objects(file, input, [&](const Id& object) {
    if (!is_group(object)) return ::H5Iget_type(object.get()) == H5I_DATASET && is_array(object, 2);
    const std::string encoding = encoding_of(object, input);
    return encoding == "csr_matrix" || encoding == "csc_matrix" || (encoding.empty() && is_10x(object));
  });
}

bool leads_to_something(hid_t file, const knng_formats_input& input, const std::string& path) {
  return is_there(file, path, input) || !member_path(file, input, path).member.empty();
}

// place: of the object, "" or a group with a slash behind it.
std::string matrix_of_anndata(hid_t file, const knng_formats_input& input, const std::string& place) {
  for (const char* usual : {"obsm/X_pca", "X"}) {
    std::string path = place + usual;
    if (leads_to_something(file, input, path)) return path;
    // No reason to take another matrix.
    if (::H5Lexists(file, path.c_str(), H5P_DEFAULT) > 0)
      fail(KNNG_ERR_FORMAT, "%s is a link that leads nowhere", quoted(path).c_str());
  }
  const std::string pca = quoted(place + "obsm/X_pca"), x = quoted(place + "X");
  const std::vector<std::string> others = matrices(file, input);
  if (others.empty()) fail(KNNG_ERR_FORMAT, "has neither %s nor %s, and no other matrix", pca.c_str(), x.c_str());
  fail(KNNG_ERR_FORMAT, "has neither %s nor %s; name another matrix, as in FILE.h5ad:PATH: %s", pca.c_str(), x.c_str(),
       listed(others).c_str());
}

// Files of which no matrix can be taken without a word from the user.
void refuse_others(hid_t file, const knng_formats_input& input) {
  const Id root = open_object(file, "/", input);
  if (has(root, "matrix") && has(root, "row_attrs") && has(root, "col_attrs"))
    fail(KNNG_ERR_UNSUPPORTED,
         "is a Loom file, with genes as rows of its matrix and cells as columns: give FILE:matrix, with --transpose "
         "(file_points=columns) if cells are the points");
  if (!has(root, "mod") || has(root, "X")) return;
  const std::vector<std::string> modalities =
      find_objects(file, input, [&](const Id& object) { return is_group(object) && is_anndata(object, input); });
  if (!modalities.empty())
    fail(KNNG_ERR_UNSUPPORTED, "is a MuData file, of AnnData objects: give one of them, as in FILE:PATH: %s",
         listed(modalities).c_str());
}

}  // namespace

bool is_group(const Id& object) { return ::H5Iget_type(object.get()) == H5I_GROUP; }

// AnnData before 0.7 had another name for the attribute of sparse groups.
std::string encoding_of(const Id& group, const knng_formats_input& input) {
  std::string encoding = text_attribute(group, "encoding-type", input);
  if (!encoding.empty()) return encoding;
  const std::string old = text_attribute(group, "h5sparse_format", input);
  return old.empty() ? "" : old + "_matrix";
}

bool is_10x(const Id& group) {
  for (const char* name : {"data", "indices", "indptr", "shape", "barcodes"})
    if (!has(group, name)) return false;
  return true;
}

bool is_anndata(const Id& group, const knng_formats_input& input) {
  return encoding_of(group, input) == "anndata" || (has(group, "obs") && has(group, "var"));
}

MemberPath member_path(hid_t file, const knng_formats_input& input, const std::string& path) {
  const std::size_t slash = path.rfind('/');
  if (slash == std::string::npos) return {};
  MemberPath parts{path.substr(0, slash), path.substr(slash + 1)};
  if (parts.records.find_first_not_of('/') == std::string::npos || !is_there(file, parts.records, input) ||
      !RecordMember::is_in(open_object(file, parts.records, input), parts.member))
    return {};
  return parts;
}

std::string listed_matrices(hid_t file, const knng_formats_input& input) { return listed(matrices(file, input)); }

std::string choose_matrix(hid_t file, const knng_formats_input& input, const char* path, std::int32_t otherwise) {
  if (path) {
    std::string chosen = path;
    if (!leads_to_something(file, input, chosen))
      fail(KNNG_ERR_FORMAT, "has no %s; matrices in it: %s", quoted(chosen).c_str(),
           listed_matrices(file, input).c_str());
    if (!is_there(file, chosen, input)) return chosen;
    const Id object = open_object(file, chosen, input);
    if (!is_group(object) || !is_anndata(object, input)) return chosen;
    return matrix_of_anndata(file, input, chosen + (chosen.ends_with('/') ? "" : "/"));
  }
  refuse_others(file, input);
  if (otherwise == KNNG_HDF5_ANNDATA) return matrix_of_anndata(file, input, "");
  const std::vector<std::string> found = matrices(file, input);
  if (found.empty()) fail(KNNG_ERR_FORMAT, "has no data set of two dimensions with numbers");
  if (found.size() > 1)
    fail(KNNG_ERR_FORMAT, "has %zu matrices; name one of them, as in FILE.h5:PATH: %s", found.size(),
         listed(found).c_str());
  return found.front();
}

}  // namespace knng_hdf5

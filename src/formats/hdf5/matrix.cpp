#include "formats/hdf5/matrix.h"

#include <vector>

#include "formats/hdf5/attribute.h"
#include "formats/hdf5/objects.h"

using namespace knng_hdf5;

namespace {

// AnnData before 0.7 had other names for the two attributes of sparse groups.
std::string encoding_of(const Id& group, const knng_formats_input& input) {
  std::string encoding = text_attribute(group, "encoding-type", input);
  if (!encoding.empty()) return encoding;
  const std::string old = text_attribute(group, "h5sparse_format", input);
  return old.empty() ? "" : old + "_matrix";
}

std::vector<std::int64_t> shape_of(const Id& group, const knng_formats_input& input) {
  std::vector<std::int64_t> shape = integers_attribute(group, "shape", input);
  return shape.empty() ? integers_attribute(group, "h5sparse_shape", input) : shape;
}

bool is_group(const Id& object) { return ::H5Iget_type(object.get()) == H5I_GROUP; }

}  // namespace

knng_hdf5_matrix::knng_hdf5_matrix(const knng_formats_input& input, const char* path, std::int32_t otherwise)
    : input_(input), file_(input) {
  choose(path, otherwise);
  Id object = open_object(file_.get(), path_);
  if (is_group(object))
    open_group(object);
  else if (::H5Iget_type(object.get()) == H5I_DATASET)
    open_dense(std::move(object));
  else
    fail(KNNG_ERR_FORMAT, "%s is a type, and no data set", quoted(path_).c_str());
  shape_.path = path_.c_str();
}

void knng_hdf5_matrix::choose(const char* path, std::int32_t otherwise) {
  if (path) {
    path_ = path;
    if (is_there(file_.get(), path_)) return;
    fail(KNNG_ERR_FORMAT, "has no %s; matrices in it: %s", quoted(path_).c_str(), listed(candidates()).c_str());
  }
  if (otherwise == KNNG_HDF5_ANNDATA) {
    for (const char* usual : {"obsm/X_pca", "X"}) {
      path_ = usual;
      if (is_there(file_.get(), path_)) return;
    }
    fail(KNNG_ERR_FORMAT, "has neither 'obsm/X_pca' nor 'X'; matrices in it: %s", listed(candidates()).c_str());
  }
  const std::vector<std::string> found = candidates();
  if (found.empty()) fail(KNNG_ERR_FORMAT, "has no data set of two dimensions with numbers");
  if (found.size() > 1)
    fail(KNNG_ERR_FORMAT, "has %zu matrices; name one of them, as in FILE.h5:PATH: %s", found.size(),
         listed(found).c_str());
  path_ = found.front();
}

// What may be meant where no path is given.
std::vector<std::string> knng_hdf5_matrix::candidates() const {
  return find_objects(file_.get(), [&](const Id& object) {
    if (is_group(object)) return encoding_of(object, input_) == "csr_matrix";
    return ::H5Iget_type(object.get()) == H5I_DATASET && is_array(object, 2);
  });
}

void knng_hdf5_matrix::open_dense(Id dataset) {
  arrays_[KNNG_HDF5_VALUES].emplace(std::move(dataset), quoted(path_), 2, file_.access());
  const knng_hdf5_array& facts = arrays_[KNNG_HDF5_VALUES]->facts();
  shape_.array[KNNG_HDF5_VALUES] = facts;
  shape_.rows = facts.rows;
  shape_.cols = facts.cols;
}

void knng_hdf5_matrix::open_group(const Id& group) {
  const std::string encoding = encoding_of(group, input_);
  if (encoding == "csr_matrix") return open_sparse(group);
  if (encoding == "csc_matrix")
    fail(KNNG_ERR_UNSUPPORTED, "%s is sparse by columns (CSC); by rows (CSR) it is read, as SciPy's tocsr() makes it",
         quoted(path_).c_str());
  if (!encoding.empty())
    fail(KNNG_ERR_UNSUPPORTED, "%s is of encoding-type %s; data sets and csr_matrix are read", quoted(path_).c_str(),
         quoted(encoding).c_str());
  fail(KNNG_ERR_FORMAT, "%s is a group, and no csr_matrix of AnnData; matrices in the file: %s", quoted(path_).c_str(),
       listed(candidates()).c_str());
}

void knng_hdf5_matrix::open_sparse(const Id& group) {
  const std::vector<std::int64_t> shape = shape_of(group, input_);
  if (shape.size() != 2 || shape[0] < 0 || shape[1] < 0)
    fail(KNNG_ERR_FORMAT, "%s: its attribute shape is not two counts, rows and columns", quoted(path_).c_str());
  shape_.sparse = 1;
  shape_.rows = shape[0];
  shape_.cols = shape[1];
  add_array(KNNG_HDF5_VALUES, "data");
  add_array(KNNG_HDF5_COLUMNS, "indices");
  add_array(KNNG_HDF5_FIRSTS, "indptr");
  const knng_hdf5_array* const array = shape_.array;
  if (array[KNNG_HDF5_FIRSTS].rows - 1 != shape_.rows)
    fail(KNNG_ERR_FORMAT, "%s: its shape has %lld rows, its indptr %lld values; one more than rows is needed",
         quoted(path_).c_str(), static_cast<long long>(shape_.rows),
         static_cast<long long>(array[KNNG_HDF5_FIRSTS].rows));
  if (array[KNNG_HDF5_VALUES].rows != array[KNNG_HDF5_COLUMNS].rows)
    fail(KNNG_ERR_FORMAT, "%s: it has %lld data and %lld indices", quoted(path_).c_str(),
         static_cast<long long>(array[KNNG_HDF5_VALUES].rows), static_cast<long long>(array[KNNG_HDF5_COLUMNS].rows));
}

void knng_hdf5_matrix::add_array(std::int32_t which, const char* member) {
  const std::string path = path_ + "/" + member;
  if (!is_there(file_.get(), path)) fail(KNNG_ERR_FORMAT, "has no %s", quoted(path).c_str());
  Id dataset = open_object(file_.get(), path);
  if (::H5Iget_type(dataset.get()) != H5I_DATASET) fail(KNNG_ERR_FORMAT, "%s is no data set", quoted(path).c_str());
  arrays_[which].emplace(std::move(dataset), quoted(path), 1, file_.access(), which != KNNG_HDF5_VALUES);
  shape_.array[which] = arrays_[which]->facts();
}

void knng_hdf5_matrix::read(std::int32_t array, std::int64_t first, std::int64_t count, void* dst) const {
  if (array < 0 || array > 2 || !arrays_[array]) fail(KNNG_ERR_INTERNAL, "no array %d", array);
  arrays_[array]->read(first, count, dst);
}

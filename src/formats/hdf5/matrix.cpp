#include "formats/hdf5/matrix.h"

#include "formats/hdf5/attribute.h"
#include "formats/hdf5/objects.h"
#include "formats/hdf5/usual_matrix.h"

using namespace knng_hdf5;

namespace {

// AnnData before 0.7 had another name for the attribute.
std::vector<std::int64_t> shape_of(const Id& group, const knng_formats_input& input) {
  std::vector<std::int64_t> shape = integers_attribute(group, "shape", input);
  return shape.empty() ? integers_attribute(group, "h5sparse_shape", input) : shape;
}

}  // namespace

knng_hdf5_matrix::knng_hdf5_matrix(const knng_formats_input& input, const char* path, std::int32_t otherwise)
    : input_(input), file_(input), path_(choose_matrix(file_.get(), input, path, otherwise)) {
  shape_.path = path_.c_str();
  if (!is_there(file_.get(), path_, input_)) {
    open_member();
    return;
  }
  Id object = open_object(file_.get(), path_, input_);
  if (is_group(object))
    open_group(object);
  else if (::H5Iget_type(object.get()) == H5I_DATASET)
    open_dense(std::move(object));
  else
    fail(KNNG_ERR_FORMAT, "%s is a type, and no data set", quoted(path_).c_str());
}

void knng_hdf5_matrix::open_dense(Id dataset) {
  arrays_[KNNG_HDF5_VALUES].emplace(std::move(dataset), quoted(path_), 2, file_.access());
  const knng_hdf5_array& facts = arrays_[KNNG_HDF5_VALUES]->facts();
  shape_.form = KNNG_HDF5_DENSE;
  shape_.array[KNNG_HDF5_VALUES] = facts;
  shape_.rows = facts.rows;
  shape_.cols = facts.cols;
}

void knng_hdf5_matrix::open_member() {
  const MemberPath parts = member_path(file_.get(), input_, path_);
  member_.emplace(open_object(file_.get(), parts.records, input_), quoted(path_), parts.member, file_.access());
  const knng_hdf5_array& facts = member_->facts();
  shape_.form = KNNG_HDF5_RECORDS;
  shape_.array[KNNG_HDF5_VALUES] = facts;
  shape_.rows = facts.rows;
  shape_.cols = facts.cols;
}

void knng_hdf5_matrix::open_group(const Id& group) {
  const std::string encoding = encoding_of(group, input_);
  if (encoding == "csr_matrix" || encoding == "csc_matrix") {
    const std::vector<std::int64_t> shape = shape_of(group, input_);
    if (shape.size() != 2 || shape[0] < 0 || shape[1] < 0)
      fail(KNNG_ERR_FORMAT, "%s: its attribute shape is not two counts, rows and columns", quoted(path_).c_str());
    return open_sparse(encoding == "csr_matrix" ? KNNG_HDF5_CSR : KNNG_HDF5_CSC, shape);
  }
  if (!encoding.empty())
    fail(KNNG_ERR_UNSUPPORTED,
         "%s is of encoding-type %s; arrays, csr_matrix and csc_matrix are read: write it as one of these, or name "
         "another path",
         quoted(path_).c_str(), quoted(encoding).c_str());
  if (is_10x(group)) {
    const std::string name = quoted(path_ + "/shape");
    std::int64_t shape[2] = {-1, -1};  // genes, barcodes
    const StoredArray stored(open_object(file_.get(), path_ + "/shape", input_), name, 1, file_.access(),
                             StoredArray::Deliver::int64);
    if (stored.facts().rows == 2) stored.read(0, 2, shape);
    if (shape[0] < 0 || shape[1] < 0) fail(KNNG_ERR_FORMAT, "%s is not two counts, genes and barcodes", name.c_str());
    return open_sparse(KNNG_HDF5_10X, {shape[1], shape[0]});
  }
  fail(KNNG_ERR_FORMAT, "%s is a group, and no sparse matrix of AnnData or 10x Genomics; matrices in the file: %s",
       quoted(path_).c_str(), listed_matrices(file_.get(), input_).c_str());
}

// shape: rows, columns. By columns it is given as its transpose, which is by rows. So is what 10x Genomics writes, but
// there nobody asks for the genes.
void knng_hdf5_matrix::open_sparse(std::int32_t form, const std::vector<std::int64_t>& shape) {
  const bool turned = form == KNNG_HDF5_CSC;
  shape_.form = form;
  shape_.rows = shape[turned ? 1 : 0];
  shape_.cols = shape[turned ? 0 : 1];
  add_array(KNNG_HDF5_VALUES, "data");
  add_array(KNNG_HDF5_COLUMNS, "indices");
  add_array(KNNG_HDF5_FIRSTS, "indptr");
  const knng_hdf5_array* const array = shape_.array;
  if (array[KNNG_HDF5_FIRSTS].rows - 1 != shape_.rows)
    fail(KNNG_ERR_FORMAT, "%s: its shape has %lld %s, its indptr %lld values; one more than %s is needed",
         quoted(path_).c_str(), static_cast<long long>(shape_.rows), turned ? "columns" : "rows",
         static_cast<long long>(array[KNNG_HDF5_FIRSTS].rows), turned ? "columns" : "rows");
  if (array[KNNG_HDF5_VALUES].rows != array[KNNG_HDF5_COLUMNS].rows)
    fail(KNNG_ERR_FORMAT, "%s: it has %lld data and %lld indices", quoted(path_).c_str(),
         static_cast<long long>(array[KNNG_HDF5_VALUES].rows), static_cast<long long>(array[KNNG_HDF5_COLUMNS].rows));
}

void knng_hdf5_matrix::add_array(std::int32_t which, const char* member) {
  const std::string path = path_ + "/" + member;
  if (!is_there(file_.get(), path, input_)) fail(KNNG_ERR_FORMAT, "has no %s", quoted(path).c_str());
  Id dataset = open_object(file_.get(), path, input_);
  if (::H5Iget_type(dataset.get()) != H5I_DATASET) fail(KNNG_ERR_FORMAT, "%s is no data set", quoted(path).c_str());
  using Deliver = StoredArray::Deliver;
  arrays_[which].emplace(std::move(dataset), quoted(path), 1, file_.access(),
                         which == KNNG_HDF5_VALUES ? Deliver::items : Deliver::int64);
  shape_.array[which] = arrays_[which]->facts();
}

void knng_hdf5_matrix::read(std::int32_t array, std::int64_t first, std::int64_t count, void* dst) const {
  if (array == KNNG_HDF5_VALUES && member_) return member_->read(first, count, dst);
  if (array < 0 || array > 2 || !arrays_[array]) fail(KNNG_ERR_INTERNAL, "no array %d", array);
  arrays_[array]->read(first, count, dst);
}

#include "io/hdf5_matrix.h"

#include <algorithm>
#include <cstring>
#include <iterator>
#include <utility>

#include "core/checked.h"
#include "core/dtype.h"
#include "core/error.h"
#include "core/text.h"
#include "io/plugin.h"

namespace libknng {
namespace {

std::string objection(const void* table) {
  static_assert(offsetof(knng_hdf5_seam, version) == offsetof(PluginSeam, version) &&
                offsetof(knng_hdf5_seam, build_id) == offsetof(PluginSeam, build_id));
  return build_objection(table, {sizeof(knng_hdf5_seam), KNNG_HDF5_SEAM_VERSION, KNNG_HDF5_BUILD_ID});
}

Plugin plugin(KNNG_HDF5_FILE, KNNG_HDF5_ENTRY, &call_entry<knng_hdf5_seam>, &objection);

const knng_hdf5_seam& hdf5_seam(const std::string& path) {
  std::string why_not;
  bool no_memory = false;
  if (const void* table = plugin.load(why_not, &no_memory)) return *static_cast<const knng_hdf5_seam*>(table);
  if (no_memory)
    fail(KNNG_ERR_MEMORY, "path", "%s needs the HDF5 library, for which there is no memory (%s)", shown(path).c_str(),
         why_not.c_str());
  fail(KNNG_ERR_UNSUPPORTED, "path",
       "%s needs the HDF5 library: install the package that has " KNNG_HDF5_FILE ", e.g. libknng-hdf5 (%s)",
       shown(path).c_str(), why_not.c_str());
}

}  // namespace

Hdf5Matrix::Hdf5Matrix(std::shared_ptr<const File> file, const char* path, std::int32_t otherwise)
    : file_(std::move(file)), seam_(hdf5_seam(file_.file().path())), matrix_(nullptr, seam_.close) {
  knng_hdf5_matrix* matrix = nullptr;
  knng_formats_error error = {};
  if (seam_.open(&matrix, &shape_, &file_.input(), path, otherwise, &error) != KNNG_OK)
    fail_with(file_.file().path(), error);
  matrix_.reset(matrix);
  name_ = file_.file().path() + ":" + shape_.path;
}

RowsTaken Hdf5Matrix::taken() const {
  constexpr const char* kForms[] = {"dense", "records", "csr", "csc", "10x"};
  static_assert(std::size(kForms) == KNNG_HDF5_10X + 1);
  return {.matrix = shape_.path, .form = kForms[shape_.form]};
}

void Hdf5Matrix::read(std::int32_t array, std::int64_t first, std::int64_t count, std::byte* dst) {
  knng_formats_error error = {};
  // The failure has the path already.
  if (seam_.read(matrix_.get(), array, first, count, dst, &error) != KNNG_OK) fail_with(file_.file().path(), error);
}

// The texts have names in them that the file made up.
void Hdf5Matrix::fail_with(const std::string& name, const knng_formats_error& error) {
  if (const std::exception_ptr pending = file_.take_failure()) std::rethrow_exception(pending);
  if (error.status == KNNG_ERR_FORMAT) require_unchanged();
  knng_formats_error plain = error;
  keep_plain(plain.text);
  fail_at_seam(name, plain, nullptr);
}

Hdf5Stream::Hdf5Stream(Hdf5Matrix& matrix, std::int32_t array)
    : matrix_(matrix),
      array_(array),
      facts_(matrix.shape().array[array]),
      row_bytes_(checked_mul(facts_.cols, checked_dtype_bytes(facts_.dtype, "path"), "path")) {}

void Hdf5Stream::read(std::int64_t count, std::byte* dst) {
  if (count > left()) fail(KNNG_ERR_INTERNAL, "count", "%s: read past its last row", shown(matrix_.name()).c_str());
  while (count > 0) {
    std::int64_t now = std::min(count, held_ - served_);
    if (now > 0) {
      std::memcpy(dst, block_.data() + served_ * row_bytes_, static_cast<std::size_t>(now * row_bytes_));
      served_ += now;
    } else if (const std::int64_t whole = count - count % facts_.rows_at_once;
               whole > 0 || facts_.rows - next_ == count) {
      now = whole > 0 ? whole : count;
      matrix_.read(array_, next_, now, dst);
      next_ += now;
    } else {
      if (block_.empty()) block_ = Buffer<std::byte>(checked_mul(facts_.rows_at_once, row_bytes_, "path"));
      held_ = std::min(facts_.rows_at_once, facts_.rows - next_);
      served_ = 0;
      matrix_.read(array_, next_, held_, block_.data());
      next_ += held_;
      continue;
    }
    dst += now * row_bytes_;
    count -= now;
  }
}

std::int64_t Hdf5Stream::bytes_beside() const {
  const std::int64_t block = facts_.rows_at_once > 1 ? checked_mul(facts_.rows_at_once, row_bytes_, "path") : 0;
  return checked_add(block, facts_.unpack_bytes, "path");
}

}  // namespace libknng

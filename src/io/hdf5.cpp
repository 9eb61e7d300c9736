#include "io/hdf5.h"

#include <utility>

#include "core/error.h"
#include "core/letter_case.h"
#include "io/csr_rows.h"
#include "io/file.h"
#include "io/hdf5_matrix.h"
#include "io/packed_rows.h"

namespace libknng {
namespace {

struct Suffix {
  std::string_view text;
  bool anndata;
};
constexpr Suffix kSuffixes[] = {{".h5", false}, {".hdf5", false}, {".h5ad", true}, {".h5mu", false}, {".loom", false}};

class DenseReader final : public RowReader {
 public:
  DenseReader(std::unique_ptr<Source> source, std::unique_ptr<Hdf5Matrix> matrix)
      : source_(std::move(source)), matrix_(std::move(matrix)), stream_(*matrix_, KNNG_HDF5_VALUES) {
    dtype_ = matrix_->shape().array[KNNG_HDF5_VALUES].dtype;
    rows_ = matrix_->shape().rows;
    cols_ = matrix_->shape().cols;
  }
  void read(std::int64_t count, std::byte* dst) override { stream_.read(count, dst); }
  void finish() override { source_->require_unchanged(); }
  RowsTaken taken() const override { return matrix_->taken(); }
  std::int64_t bytes_beside() const override { return stream_.bytes_beside(); }
  std::unique_ptr<const RowFile> stay() const override {
    const std::int64_t at = matrix_->shape().array[KNNG_HDF5_VALUES].at;
    return at < 0 ? nullptr : packed_rows(*source_, at, stream_.row_bytes());
  }

 private:
  const std::unique_ptr<Source> source_;
  const std::unique_ptr<Hdf5Matrix> matrix_;
  Hdf5Stream stream_;
};

}  // namespace

std::optional<Hdf5Name> hdf5_name(std::string_view name) {
  for (std::size_t colon = name.find(':');; colon = name.find(':', colon + 1)) {
    const std::string_view file = name.substr(0, colon);
    for (const Suffix& suffix : kSuffixes) {
      if (!has_suffix(file, suffix.text)) continue;
      Hdf5Name found{std::string(file), std::nullopt, suffix.anndata};
      if (colon != std::string_view::npos) found.path = name.substr(colon + 1);
      return found;
    }
    if (colon == std::string_view::npos) return std::nullopt;
  }
}

std::unique_ptr<RowReader> open_hdf5(const Hdf5Name& name, Young young, Monitor* monitor) {
  // The file first: that it is missing is worth more to know than that a library is.
  std::unique_ptr<Source> source = open_plain(name.file, young, monitor);
  if (name.path && name.path->empty())
    fail(KNNG_ERR_ARGUMENT, "path", "%s: no data set is named behind the colon", shown(name.file + ":").c_str());
  auto matrix = std::make_unique<Hdf5Matrix>(source->file(), name.path ? name.path->c_str() : nullptr,
                                             name.anndata ? KNNG_HDF5_ANNDATA : KNNG_HDF5_ONLY);
  const std::int32_t form = matrix->shape().form;
  if (form != KNNG_HDF5_DENSE && form != KNNG_HDF5_RECORDS) return csr_rows(std::move(matrix));
  return std::make_unique<DenseReader>(std::move(source), std::move(matrix));
}

}  // namespace libknng

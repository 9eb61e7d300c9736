#include "formats/hdf5/stored_array.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstring>

namespace knng_hdf5 {
namespace {

constexpr int kMostDimensions = 2;

// As io/formats.h has it: no more comes out of packed bytes.
constexpr std::int64_t kMostUnpacked = 1032;

std::int64_t product(std::int64_t a, std::int64_t b, const std::string& name) {
  std::int64_t both = 0;
  if (__builtin_mul_overflow(a, b, &both)) fail(KNNG_ERR_FORMAT, "%s: its shape is beyond 63 bits", name.c_str());
  return both;
}

}  // namespace

StoredArray::StoredArray(Id dataset, const std::string& name, int dimensions, Access& file, Deliver deliver)
    : file_(file), name_(name), dataset_(std::move(dataset)), deliver_(deliver) {
  type_ = owned(::H5Dget_type(dataset_.get()), name_ + ": its type cannot be read");
  space_ = owned(::H5Dget_space(dataset_.get()), name_ + ": its shape cannot be read");
  item_ = item_of(type_);
  const bool as_int64 = deliver_ == Deliver::int64, records = deliver_ == Deliver::records;
  if (records) {
    item_ = {.bytes = item_.bytes};
    // What libhdf5 makes of a damaged size may be anything.
    if (item_.bytes < 1 || item_.bytes > INT32_MAX)
      fail(KNNG_ERR_FORMAT, "%s is in records of a size that none can have", name_.c_str());
  }
  if (as_int64 && !item_.integer)
    fail(KNNG_ERR_UNSUPPORTED, "%s holds %s; integers are needed", name_.c_str(),
         item_.dtype ? "no integers" : type_name(type_).c_str());
  if (item_.dtype == 0 && !records) refuse_type(name_, type_);
  find_shape(dimensions);
  bytes_ = product(product(facts_.rows, facts_.cols, name_), item_.bytes, name_);
  find_storage();
  facts_.dtype = as_int64 ? KNNG_I64 : item_.dtype;
  if (item_.swapped || (as_int64 && item_.bytes != 8)) facts_.at = -1;
  if (records && bytes_ > 0 && facts_.at < 0 && !unpacker_)
    fail(KNNG_ERR_UNSUPPORTED, "%s: its records are stored in a way that is not read", name_.c_str());
}

void StoredArray::find_shape(int dimensions) {
  static constexpr const char* kWanted[] = {"", "1 is needed", "2 are needed, rows x columns"};
  const H5S_class_t kind = ::H5Sget_simple_extent_type(space_.get());
  const int count = kind == H5S_SIMPLE
                        ? checked(::H5Sget_simple_extent_ndims(space_.get()), name_ + ": its shape cannot be read")
                        : 0;
  if (count != dimensions)
    fail(KNNG_ERR_FORMAT, "%s holds %s; %s", name_.c_str(),
         kind == H5S_SIMPLE
             ? ("an array of " + std::to_string(count) + (count == 1 ? " dimension" : " dimensions")).c_str()
         : kind == H5S_SCALAR ? "a single value"
                              : "nothing",
         kWanted[dimensions]);
  std::array<hsize_t, kMostDimensions> shape{1, 1};
  checked(::H5Sget_simple_extent_dims(space_.get(), shape.data(), nullptr), name_ + ": its shape cannot be read");
  if (shape[0] > INT64_MAX || shape[1] > INT64_MAX)
    fail(KNNG_ERR_FORMAT, "%s: its shape is beyond 63 bits", name_.c_str());
  facts_.rows = static_cast<std::int64_t>(shape[0]);
  facts_.cols = static_cast<std::int64_t>(shape[1]);
}

// How the items lie in the file, and that all of them are there: libhdf5 would make up what was never written.
void StoredArray::find_storage() {
  facts_.at = -1;
  facts_.rows_at_once = 1;
  if (bytes_ == 0) return;
  const Id creation = owned(::H5Dget_create_plist(dataset_.get()), name_ + ": how it is stored cannot be read");
  const auto stored = static_cast<std::int64_t>(::H5Dget_storage_size(dataset_.get()));
  switch (::H5Pget_layout(creation.get())) {
    case H5D_COMPACT: return require_written(stored >= bytes_, stored);
    case H5D_CHUNKED: return find_chunks(creation);
    case H5D_CONTIGUOUS: break;
    case H5D_VIRTUAL:
      fail(KNNG_ERR_UNSUPPORTED, "%s is a virtual data set, whose rows are in other files; give those", name_.c_str());
    default: fail_in_library(name_ + ": how it is stored cannot be read");
  }
  if (checked(::H5Pget_external_count(creation.get()), name_ + ": how it is stored cannot be read") > 0)
    fail(KNNG_ERR_UNSUPPORTED, "%s has its rows in other files (external storage), which are not read", name_.c_str());
  const haddr_t at = ::H5Dget_offset(dataset_.get());
  require_written(at != HADDR_UNDEF && stored >= bytes_, stored);
  if (at > static_cast<haddr_t>(file_.input->size) || bytes_ > file_.input->size - static_cast<std::int64_t>(at))
    fail(KNNG_ERR_FORMAT, "%s is truncated: its rows end beyond the end of the file", name_.c_str());
  facts_.at = static_cast<std::int64_t>(at);
}

void StoredArray::find_chunks(const Id& creation) {
  std::array<hsize_t, kMostDimensions> chunk{1, 1};
  checked(::H5Pget_chunk(creation.get(), kMostDimensions, chunk.data()), name_ + ": its chunks cannot be read");
  chunk_rows_ = static_cast<std::int64_t>(chunk[0]);
  chunk_cols_ = static_cast<std::int64_t>(chunk[1]);
  if (chunk_rows_ < 1 || chunk_cols_ < 1) fail(KNNG_ERR_FORMAT, "%s has chunks of no size", name_.c_str());
  const std::int64_t chunk_bytes = product(product(chunk_rows_, chunk_cols_, name_), item_.bytes, name_);
  Unpacker unpacker(creation, chunk_bytes, name_);
  if (unpacker.missing())
    fail(KNNG_ERR_UNSUPPORTED,
         "%s is packed by %s, which libhdf5 does not have here; write it with gzip, or let HDF5_PLUGIN_PATH name the "
         "plugin's folder",
         name_.c_str(), unpacker.missing());
  const auto number = [](std::int64_t all, std::int64_t each) { return all / each + (all % each != 0 ? 1 : 0); };
  const std::int64_t wanted = product(number(facts_.rows, chunk_rows_), number(facts_.cols, chunk_cols_), name_);
  hsize_t there = 0;
  checked(::H5Dget_num_chunks(dataset_.get(), space_.get(), &there), name_ + ": its chunks cannot be read");
  const auto stored = static_cast<std::int64_t>(::H5Dget_storage_size(dataset_.get()));
  require_written(there >= static_cast<hsize_t>(wanted), stored);
  if (stored < 0 || stored > file_.input->size)
    fail(KNNG_ERR_FORMAT, "%s: its chunks have %lld bytes, the whole file has %lld", name_.c_str(),
         static_cast<long long>(stored), static_cast<long long>(file_.input->size));
  const bool packed = unpacker.any();
  if (packed ? stored < bytes_ / kMostUnpacked : stored < bytes_)
    fail(KNNG_ERR_FORMAT, "%s: its shape needs %lld bytes, its chunks have %lld", name_.c_str(),
         static_cast<long long>(bytes_), static_cast<long long>(stored));
  facts_.rows_at_once = std::min(chunk_rows_, facts_.rows);
  facts_.unpack_bytes = product(chunk_bytes, unpacker.chunks(), name_);
  if (unpacker.knows()) unpacker_ = std::move(unpacker);
}

void StoredArray::require_written(bool all, std::int64_t stored) const {
  if (all) return;
  fail(KNNG_ERR_FORMAT, "%s has values that were never written: its shape needs %lld bytes, %lld are stored",
       name_.c_str(), static_cast<long long>(bytes_), static_cast<long long>(stored));
}

void StoredArray::read(std::int64_t first, std::int64_t count, void* dst) const {
  if (first < 0 || count < 0 || count > facts_.rows - first)
    fail(KNNG_ERR_INTERNAL, "%s: read past its last row", name_.c_str());
  if (count == 0 || facts_.cols == 0) return;
  const std::int64_t items = count * facts_.cols;
  auto* const to = static_cast<std::byte*>(dst);
  std::byte* const place =
      deliver_ == Deliver::int64 ? to + items * (static_cast<std::int64_t>(sizeof(std::int64_t)) - item_.bytes) : to;
  if (unpacker_)
    read_chunks(first, count, place);
  else if (deliver_ == Deliver::records)
    read_in_one_piece(first, count, place);
  else
    read_by_library(first, count, place);
  to_native(place, items, item_);
  if (deliver_ == Deliver::int64) widen(to, items, item_);
}

// In the file's own type: nothing is converted on the way.
void StoredArray::read_by_library(std::int64_t first, std::int64_t count, std::byte* dst) const {
  const std::string what = name_ + " cannot be read";
  const std::array<hsize_t, kMostDimensions> start{static_cast<hsize_t>(first), 0},
      extent{static_cast<hsize_t>(count), static_cast<hsize_t>(facts_.cols)};
  const int dimensions = checked(::H5Sget_simple_extent_ndims(space_.get()), what);
  const Id memory = owned(::H5Screate_simple(dimensions, extent.data(), nullptr), what);
  checked(::H5Sselect_hyperslab(space_.get(), H5S_SELECT_SET, start.data(), nullptr, extent.data(), nullptr), what);
  checked(::H5Dread(dataset_.get(), type_.get(), memory.get(), space_.get(), H5P_DEFAULT, dst), what);
}

// libhdf5 would look at each record, for texts of variable length, and believe what the file says of these.
void StoredArray::read_in_one_piece(std::int64_t first, std::int64_t count, std::byte* dst) const {
  const std::int64_t row_bytes = facts_.cols * item_.bytes, wanted = count * row_bytes;
  const knng_formats_input& input = *file_.input;
  if (input.read_at(input.user, facts_.at + first * row_bytes, dst, wanted) != wanted)
    fail(KNNG_ERR_FORMAT, "%s cannot be read", name_.c_str());
}

void StoredArray::read_chunks(std::int64_t first, std::int64_t count, std::byte* dst) const {
  const std::int64_t end = first + count, row_bytes = facts_.cols * item_.bytes;
  for (std::int64_t row = first / chunk_rows_ * chunk_rows_; row < end; row += chunk_rows_)
    for (std::int64_t column = 0; column < facts_.cols; column += chunk_cols_) {
      const std::byte* const chunk = read_chunk(row, column);
      const std::int64_t wanted = std::min(chunk_cols_, facts_.cols - column) * item_.bytes;
      for (std::int64_t r = std::max(row, first); r < std::min(row + chunk_rows_, end); ++r)
        std::memcpy(dst + (r - first) * row_bytes + column * item_.bytes, chunk + (r - row) * chunk_cols_ * item_.bytes,
                    static_cast<std::size_t>(wanted));
    }
}

const std::byte* StoredArray::read_chunk(std::int64_t row, std::int64_t column) const {
  const std::string what = name_ + " cannot be read";
  const std::array<hsize_t, kMostDimensions> at{static_cast<hsize_t>(row), static_cast<hsize_t>(column)};
  unsigned mask = 0;
  haddr_t place = 0;
  hsize_t bytes = 0;
  checked(::H5Dget_chunk_info_by_coord(dataset_.get(), at.data(), &mask, &place, &bytes), what);
  std::byte* const packed = unpacker_->packed(bytes);
  // In a damaged file this finds another chunk, or one of another size.
  struct Limit {
    Access& file;
    ~Limit() { file.most = UINT64_MAX; }
  } const limit{file_};
  file_.most = bytes;
  std::uint32_t left_out = 0;
  checked(::H5Dread_chunk(dataset_.get(), H5P_DEFAULT, at.data(), &left_out, packed), what);
  return unpacker_->unpack(left_out);
}

bool is_array(const Id& dataset, int dimensions) {
  const Id type(::H5Dget_type(dataset.get())), space(::H5Dget_space(dataset.get()));
  return type.valid() && space.valid() && item_of(type).dtype != 0 &&
         ::H5Sget_simple_extent_type(space.get()) == H5S_SIMPLE &&
         ::H5Sget_simple_extent_ndims(space.get()) == dimensions;
}

}  // namespace knng_hdf5

#include "formats/hdf5/record_member.h"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <utility>
#include <vector>

namespace knng_hdf5 {
namespace {

// Bytes of records that are brought in together, if they are not unpacked together.
constexpr std::int64_t kTogether = std::int64_t{1} << 20;

// Whether it takes as many bytes in the file as H5Tget_size() says, which goes by memory. Texts and lists of variable
// length do not, nor do references.
bool is_as_in_memory(const Id& type) {
  switch (::H5Tget_class(type.get())) {
    case H5T_INTEGER:
    case H5T_FLOAT:
    case H5T_TIME:
    case H5T_BITFIELD:
    case H5T_OPAQUE:
    case H5T_ENUM: return true;
    case H5T_STRING: return ::H5Tis_variable_str(type.get()) == 0;
    case H5T_ARRAY: {
      const Id items(::H5Tget_super(type.get()));
      return items.valid() && is_as_in_memory(items);
    }
    case H5T_COMPOUND: {
      const int members = ::H5Tget_nmembers(type.get());
      for (int i = 0; i < members; ++i) {
        const Id member(::H5Tget_member_type(type.get(), static_cast<unsigned>(i)));
        if (!member.valid() || !is_as_in_memory(member)) return false;
      }
      return members >= 0;
    }
    default: return false;
  }
}

}  // namespace

bool RecordMember::is_in(const Id& object, const std::string& member) {
  if (::H5Iget_type(object.get()) != H5I_DATASET) return false;
  const Id type(::H5Dget_type(object.get()));
  return type.valid() && ::H5Tget_class(type.get()) == H5T_COMPOUND &&
         ::H5Tget_member_index(type.get(), member.c_str()) >= 0;
}

RecordMember::RecordMember(Id dataset, const std::string& name, const std::string& member, Access& file)
    : name_(name),
      type_(owned(::H5Dget_type(dataset.get()), name + ": its type cannot be read")),
      records_(std::move(dataset), name, 1, file, StoredArray::Deliver::records) {
  find_member(member);
  const knng_hdf5_array& stored = records_.facts();
  facts_.dtype = item_.dtype;
  facts_.rows = stored.rows;
  facts_.at = -1;
  facts_.rows_at_once = stored.rows_at_once;
  // No product is beyond 63 bits: the records, or a chunk of them, are so long.
  facts_.unpack_bytes = stored.unpack_bytes +
                        std::max(std::min(kTogether, stored.rows * record_bytes_), stored.rows_at_once * record_bytes_);
}

void RecordMember::find_member(const std::string& member) {
  const std::string what = name_ + ": its type cannot be read";
  if (!is_as_in_memory(type_))
    fail(KNNG_ERR_UNSUPPORTED, "%s is in records with texts or lists of variable length, or references: not read",
         name_.c_str());
  record_bytes_ = static_cast<std::int64_t>(::H5Tget_size(type_.get()));
  const auto i = static_cast<unsigned>(checked(::H5Tget_member_index(type_.get(), member.c_str()), what));
  const std::size_t at = ::H5Tget_member_offset(type_.get(), i);
  Id type = owned(::H5Tget_member_type(type_.get(), i), what);
  hsize_t items = 1;
  if (::H5Tget_class(type.get()) == H5T_ARRAY) {
    if (checked(::H5Tget_array_ndims(type.get()), what) != 1)
      fail(KNNG_ERR_UNSUPPORTED, "%s has a matrix in each record; an array of one dimension is read", name_.c_str());
    checked(::H5Tget_array_dims2(type.get(), &items), what);
    type = owned(::H5Tget_super(type.get()), what);
  }
  item_ = item_of(type);
  if (item_.dtype == 0) refuse_type(name_, type);
  // A damaged file may say anything.
  const auto room = static_cast<std::size_t>(record_bytes_);
  if (at > room || items > (room - at) / static_cast<std::size_t>(item_.bytes))
    fail(KNNG_ERR_FORMAT, "%s is longer than the record that it is in", name_.c_str());
  at_ = static_cast<std::int64_t>(at);
  facts_.cols = static_cast<std::int64_t>(items);
}

void RecordMember::read(std::int64_t first, std::int64_t count, void* dst) const {
  const std::int64_t row_bytes = facts_.cols * item_.bytes;
  const std::int64_t most = std::max(facts_.rows_at_once, std::max<std::int64_t>(1, kTogether / record_bytes_));
  const std::int64_t together = most / facts_.rows_at_once * facts_.rows_at_once;
  std::vector<std::byte> records(static_cast<std::size_t>(std::min(together, count) * record_bytes_));
  auto* to = static_cast<std::byte*>(dst);
  for (const std::int64_t end = first + count; first < end;) {
    const std::int64_t now = std::min(together, end - first);
    records_.read(first, now, records.data());
    for (std::int64_t r = 0; r < now; ++r, to += row_bytes)
      std::memcpy(to, records.data() + r * record_bytes_ + at_, static_cast<std::size_t>(row_bytes));
    first += now;
  }
  to_native(dst, count * facts_.cols, item_);
}

}  // namespace knng_hdf5

#include "formats/hdf5/item.h"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <string_view>

namespace knng_hdf5 {
namespace {

// How IEEE 754 places its fields, by the size of the type; bias of the exponent.
struct FloatLayout {
  std::int64_t bytes;
  std::int32_t dtype;
  std::size_t exponent_at, exponent_bits, fraction_bits, bias;
};
constexpr FloatLayout kFloats[] = {
    {2, KNNG_F16, 10, 5, 10, 15}, {4, KNNG_F32, 23, 8, 23, 127}, {8, KNNG_F64, 52, 11, 52, 1023}};

// All bits of an item are of the value, in one of two orders.
bool is_whole(const Id& type) {
  const H5T_order_t order = ::H5Tget_order(type.get());
  return ::H5Tget_precision(type.get()) == 8 * ::H5Tget_size(type.get()) && ::H5Tget_offset(type.get()) == 0 &&
         (order == H5T_ORDER_LE || order == H5T_ORDER_BE);
}

std::int32_t float_dtype(const Id& type, std::int64_t bytes) {
  for (const FloatLayout& f : kFloats) {
    if (f.bytes != bytes || !is_whole(type)) continue;
    std::size_t sign_at = 0, exponent_at = 0, exponent_bits = 0, fraction_at = 0, fraction_bits = 0;
    if (::H5Tget_fields(type.get(), &sign_at, &exponent_at, &exponent_bits, &fraction_at, &fraction_bits) < 0) return 0;
    const bool same = sign_at == static_cast<std::size_t>(8 * bytes - 1) && exponent_at == f.exponent_at &&
                      exponent_bits == f.exponent_bits && fraction_at == 0 && fraction_bits == f.fraction_bits &&
                      ::H5Tget_ebias(type.get()) == f.bias && ::H5Tget_norm(type.get()) == H5T_NORM_IMPLIED;
    return same ? f.dtype : 0;
  }
  return 0;
}

std::int32_t integer_dtype(const Id& type, std::int64_t bytes) {
  if (!is_whole(type)) return 0;
  const H5T_sign_t sign = ::H5Tget_sign(type.get());
  if (sign != H5T_SGN_NONE && sign != H5T_SGN_2) return 0;
  const bool negative = sign == H5T_SGN_2;
  switch (bytes) {
    case 1: return negative ? KNNG_I8 : KNNG_U8;
    case 2: return negative ? KNNG_I16 : KNNG_U16;
    case 4: return negative ? KNNG_I32 : KNNG_U32;
    case 8: return negative ? KNNG_I64 : KNNG_U64;
    default: return 0;
  }
}

// Bools of h5py and PyTables: an enumeration of a byte with the names FALSE (0) and TRUE (1).
bool is_bool(const Id& type) {
  if (::H5Tget_size(type.get()) != 1 || ::H5Tget_nmembers(type.get()) != 2) return false;
  for (unsigned i = 0; i < 2; ++i) {
    unsigned char value = 0;
    if (::H5Tget_member_value(type.get(), i, &value) < 0) return false;
    char* const name = ::H5Tget_member_name(type.get(), i);
    if (!name) return false;
    const bool fits = std::string_view(name) == (value == 1 ? "TRUE" : "FALSE") && value <= 1;
    ::H5free_memory(name);
    if (!fits) return false;
  }
  return true;
}

template <class Item>
void reverse_all(std::byte* data, std::int64_t count) noexcept {
  for (std::int64_t i = 0; i < count; ++i, data += sizeof(Item)) std::reverse(data, data + sizeof(Item));
}

// An item is read before its place, or one after it, is written to.
template <class From>
void widen_from(std::byte* place, std::int64_t count) noexcept {
  const std::byte* from = place + count * static_cast<std::int64_t>(sizeof(std::int64_t) - sizeof(From));
  for (std::int64_t i = 0; i < count; ++i, from += sizeof(From), place += sizeof(std::int64_t)) {
    From narrow;
    std::memcpy(&narrow, from, sizeof narrow);
    const std::int64_t wide{narrow};
    std::memcpy(place, &wide, sizeof wide);
  }
}

}  // namespace

Item item_of(const Id& type) {
  Item item;
  const H5T_class_t kind = ::H5Tget_class(type.get());
  item.bytes = static_cast<std::int64_t>(::H5Tget_size(type.get()));
  if (kind == H5T_FLOAT) item.dtype = float_dtype(type, item.bytes);
  if (kind == H5T_INTEGER) item.dtype = integer_dtype(type, item.bytes);
  if (kind == H5T_ENUM && is_bool(type)) item.dtype = KNNG_BOOL;
  item.integer = kind == H5T_INTEGER && item.dtype != 0;
  item.swapped = item.bytes > 1 && ::H5Tget_order(type.get()) == H5T_ORDER_BE;
  return item;
}

std::string type_name(const Id& type) {
  const std::string bits = std::to_string(8 * ::H5Tget_size(type.get())) + " bits";
  switch (::H5Tget_class(type.get())) {
    case H5T_FLOAT: return "floats of " + bits + " that are none of IEEE 754's float16, float32, float64";
    case H5T_INTEGER: return "integers of " + bits + " that are none of int8 to int64, uint8 to uint64";
    case H5T_STRING: return "text";
    case H5T_COMPOUND: return "records (a compound type, as of complex numbers)";
    case H5T_ENUM: return "an enumeration that is no bool";
    case H5T_REFERENCE: return "references";
    case H5T_OPAQUE: return "opaque bytes";
    case H5T_BITFIELD: return "bit fields";
    case H5T_ARRAY: return "arrays in each element";
    case H5T_VLEN: return "lists of various lengths in each element";
    case H5T_TIME: return "times";
    default: return "an unknown type";
  }
}

void refuse_type(const std::string& name, const Id& type) {
  fail(KNNG_ERR_UNSUPPORTED, "%s holds %s; floats of 16 to 64 bits, integers of 8 to 64 and bools are read: convert it",
       name.c_str(), type_name(type).c_str());
}

void to_native(void* items, std::int64_t count, const Item& item) noexcept {
  if (!item.swapped) return;
  auto* const data = static_cast<std::byte*>(items);
  switch (item.bytes) {
    case 2: return reverse_all<std::uint16_t>(data, count);
    case 4: return reverse_all<std::uint32_t>(data, count);
    default: return reverse_all<std::uint64_t>(data, count);
  }
}

void widen(void* place, std::int64_t count, const Item& item) noexcept {
  auto* const data = static_cast<std::byte*>(place);
  switch (item.dtype) {
    case KNNG_U8: return widen_from<std::uint8_t>(data, count);
    case KNNG_I8: return widen_from<std::int8_t>(data, count);
    case KNNG_U16: return widen_from<std::uint16_t>(data, count);
    case KNNG_I16: return widen_from<std::int16_t>(data, count);
    case KNNG_U32: return widen_from<std::uint32_t>(data, count);
    case KNNG_I32: return widen_from<std::int32_t>(data, count);
    default: return;  // 64 bits: as they are
  }
}

}  // namespace knng_hdf5

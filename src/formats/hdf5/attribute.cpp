#include "formats/hdf5/attribute.h"

#include <cstring>

#include "formats/hdf5/variable_text.h"

namespace knng_hdf5 {
namespace {

constexpr hssize_t kMostIntegers = 16;
constexpr std::size_t kLongestText = 1024;

struct Attribute {
  Id id, type, space;
  hssize_t values = -1;
};

Attribute attribute_of(const Id& object, const char* name) {
  Attribute a;
  if (::H5Aexists(object.get(), name) <= 0) return a;
  a.id = owned(::H5Aopen(object.get(), name, H5P_DEFAULT), std::string("attribute ") + name + " cannot be read");
  a.type = owned(::H5Aget_type(a.id.get()), std::string("attribute ") + name + " cannot be read");
  a.space = owned(::H5Aget_space(a.id.get()), std::string("attribute ") + name + " cannot be read");
  a.values = ::H5Sget_simple_extent_npoints(a.space.get());
  return a;
}

}  // namespace

std::string text_attribute(const Id& object, const char* name, const knng_formats_input& input) {
  const Attribute a = attribute_of(object, name);
  if (a.values != 1 || ::H5Tget_class(a.type.get()) != H5T_STRING) return "";
  const std::string what = std::string("attribute ") + name + " cannot be read";
  if (::H5Tis_variable_str(a.type.get()) > 0) return variable_text(object, name, input);
  const std::size_t size = ::H5Tget_size(a.type.get());
  if (size > kLongestText) return "";
  std::string text(size, '\0');
  checked(::H5Aread(a.id.get(), a.type.get(), text.data()), what);
  text.resize(::strnlen(text.data(), size));
  while (!text.empty() && text.back() == ' ') text.pop_back();  // as Fortran pads
  return text;
}

std::vector<std::int64_t> integers_attribute(const Id& object, const char* name) {
  const Attribute a = attribute_of(object, name);
  if (a.values < 1 || a.values > kMostIntegers || ::H5Tget_class(a.type.get()) != H5T_INTEGER) return {};
  std::vector<std::int64_t> values(static_cast<std::size_t>(a.values));
  checked(::H5Aread(a.id.get(), H5T_NATIVE_INT64, values.data()), std::string("attribute ") + name + " cannot be read");
  return values;
}

}  // namespace knng_hdf5

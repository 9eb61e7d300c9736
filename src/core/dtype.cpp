#include "core/dtype.h"

#include <algorithm>
#include <string>

namespace libknng {
namespace {

constexpr Dtype kDtypes[] = {
    {KNNG_F32, 4, "float32"}, {KNNG_F64, 8, "float64"}, {KNNG_F16, 2, "float16"}, {KNNG_BF16, 2, "bfloat16"},
    {KNNG_U8, 1, "uint8"},    {KNNG_I8, 1, "int8"},     {KNNG_U16, 2, "uint16"},  {KNNG_I16, 2, "int16"},
    {KNNG_U32, 4, "uint32"},  {KNNG_I32, 4, "int32"},   {KNNG_U64, 8, "uint64"},  {KNNG_I64, 8, "int64"},
    {KNNG_BOOL, 1, "bool"},
};
static_assert(std::ranges::all_of(kDtypes, [](const Dtype& t) { return t.bytes == dtype_bytes(t.code); }));

}  // namespace

const Dtype* find_dtype(std::int32_t code) noexcept {
  for (const Dtype& t : kDtypes)
    if (t.code == code) return &t;
  return nullptr;
}

std::int32_t checked_dtype_bytes(std::int32_t code, const char* argument) {
  if (const Dtype* known = find_dtype(code)) return known->bytes;
  std::string names;
  for (const Dtype& t : kDtypes) names.append(names.empty() ? "" : ", ").append(t.name);
  fail(KNNG_ERR_ARGUMENT, argument, {.given = code}, "%s: dtype=0x%03x is none of the types %s", argument,
       static_cast<unsigned>(code), names.c_str());
}

const char* dtype_name(std::int32_t code) noexcept {
  const Dtype* t = find_dtype(code);
  return t ? t->name : "unknown";
}

}  // namespace libknng

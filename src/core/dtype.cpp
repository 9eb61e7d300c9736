#include "core/dtype.h"

namespace libknng {
namespace {

constexpr Dtype kDtypes[] = {
    {KNNG_F32, 4, "float32", false},   {KNNG_F64, 8, "float64", false}, {KNNG_F16, 2, "float16", false},
    {KNNG_BF16, 2, "bfloat16", false}, {KNNG_U8, 1, "uint8", true},     {KNNG_I8, 1, "int8", true},
    {KNNG_I16, 2, "int16", true},      {KNNG_U16, 2, "uint16", true},   {KNNG_I32, 4, "int32", true},
    {KNNG_I64, 8, "int64", true},
};
constexpr int kRowDtypes = 6;  // the first ones

}  // namespace

const Dtype* find_dtype(std::int32_t code) noexcept {
  for (const Dtype& t : kDtypes)
    if (t.code == code) return &t;
  return nullptr;
}

std::int32_t row_dtype_bytes(std::int32_t code, const char* argument) {
  for (int i = 0; i < kRowDtypes; ++i)
    if (kDtypes[i].code == code) return kDtypes[i].bytes;
  const Dtype* known = find_dtype(code);
  fail(KNNG_ERR_ARGUMENT, argument, {.given = code},
       "%s: dtype=0x%03x%s%s%s is no type for rows: float32, float64, float16, bfloat16, uint8 and int8 are", argument,
       static_cast<unsigned>(code), known ? " (" : "", known ? known->name : "", known ? ")" : "");
}

const char* dtype_name(std::int32_t code) noexcept {
  const Dtype* t = find_dtype(code);
  return t ? t->name : "unknown";
}

}  // namespace libknng

// The probe of the processor's unit for bfloat16: tiles that are none, and right or wrong, are judged through the
// layout that real ones read; those of this processor agree; and what is wrong is left for single precision, as the log
// says.
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <string>
#include <vector>

#include "backend/cpu/bf16_probe.h"
#include "backend/cpu/bf16_tile.h"
#include "backend/cpu/product_filter.h"
#include "bf16_points.h"
#include "core/float_env.h"
#include "core/monitor.h"

#include "harness/cmocka.h"

using namespace libknng;

namespace {

using Add = float (*)(float a, float b, float sum);

float flushed(float x) { return std::fabs(x) < 0x1p-126f ? 0.0f : x; }
float flushing(float a, float b, float sum) { return flushed(std::fma(a, b, sum)); }
float keeping(float a, float b, float sum) { return std::fma(a, b, sum); }
float cutting(float a, float b, float sum) {
  const double exact = static_cast<double>(a) * static_cast<double>(b) + static_cast<double>(sum);
  const auto rounded = static_cast<float>(exact);
  return std::fabs(static_cast<double>(rounded)) > std::fabs(exact) ? std::nextafter(rounded, 0.0f) : rounded;
}
float rounding_sums_to_bf16(float a, float b, float sum) {
  return rounded_to_bf16(static_cast<double>(std::fma(a, b, sum)));
}
// One bit less of single precision.
float rounding_sums_short(float a, float b, float sum) {
  const std::uint32_t bits = std::bit_cast<std::uint32_t>(std::fma(a, b, sum));
  return std::bit_cast<float>(bits & 0xfffffffe);
}

// A tile in plain code: every pair with its product, term after term.
template <Add add>
FilterProgress run(const FilterStrip& s, std::int64_t) {
  const auto value = [](std::uint16_t bits) { return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16); };
  const auto* rows = static_cast<const std::uint16_t*>(s.rows);
  const auto* columns = static_cast<const std::uint16_t*>(s.columns);
  const std::int64_t depth = bf16_depth(s.dim);
  std::int64_t found = 0;
  for (std::int64_t r = 0; r < s.row_count; ++r)
    for (std::int64_t c = 0; c < s.column_count; ++c) {
      const std::uint16_t* column = columns + c / kFilterPanel * kFilterPanel * depth;
      float sum = 0;
      for (std::int64_t t = 0; t < depth; ++t)
        sum =
            add(value(rows[r * depth + t]), value(column[(t / 2 * kFilterPanel + c % kFilterPanel) * 2 + t % 2]), sum);
      s.survivors[found++] = {sum, static_cast<std::int32_t>(r), static_cast<std::int32_t>(c)};
    }
  return {(s.column_count + kFilterPanel - 1) / kFilterPanel, found};
}
FilterProgress run_nothing(const FilterStrip&, std::int64_t) { return {1, 0}; }

constexpr FilterTile kRight[] = {{"flushing", run<flushing>, bf16_vector_unit},
                                 {"keeping denormals", run<keeping>, bf16_vector_unit}};
constexpr FilterTile kWrong[] = {{"cutting off", run<cutting>, bf16_vector_unit},
                                 {"sums in bfloat16", run<rounding_sums_to_bf16>, bf16_vector_unit},
                                 {"sums of a bit less", run<rounding_sums_short>, bf16_vector_unit},
                                 {"another order", run<flushing>, bf16_tile_unit},
                                 {"no products", run_nothing, bf16_vector_unit}};

void tiles_are_judged(void**) {
  const FloatEnv env;
  for (const FilterTile& tile : kRight) assert_string_equal(objection_to_bf16(tile).c_str(), "");
  for (const FilterTile& tile : kWrong) {
    const std::string found = objection_to_bf16(tile);
    print_message("%s: %s\n", tile.target, found.c_str());
    assert_true(found.starts_with("products of "));
  }
}

void units_of_this_processor_agree(void**) {
  const FloatEnv env;
  for (const FilterTile* tile : bf16_tiles()) {
    print_message("%s\n", tile->target);
    assert_string_equal(objection_to_bf16(*tile).c_str(), "");
    assert_string_equal(known_objection_to_bf16(*tile).c_str(), "");
  }
}

struct Lines {
  std::vector<std::string> all;
};

void what_is_wrong_is_not_used(void**) {
  Lines lines;
  knng_control control{};
  control.struct_size = sizeof control;
  control.user = &lines;
  control.log = [](void* user, std::int32_t level, const char* text) {
    assert_int_equal(level, 1);
    static_cast<Lines*>(user)->all.emplace_back(text);
  };
  const FloatEnv env;
  Monitor monitor(control, env);
  for (int build = 0; build < 2; ++build) {
    const ProductArithmetic right = proven_arithmetic({&kRight[0], OperandType::bf16}, monitor);
    assert_true(right.tile == &kRight[0] && right.type == OperandType::bf16);
    const ProductArithmetic fp32 = proven_arithmetic(fp32_arithmetic(), monitor);
    assert_true(fp32.tile == fp32_arithmetic().tile);
    const ProductArithmetic wrong = proven_arithmetic({&kWrong[0], OperandType::bf16}, monitor);
    assert_true(wrong.tile == fp32_arithmetic().tile && wrong.type == OperandType::fp32);
  }
  monitor.poll();
  assert_int_equal(lines.all.size(), 1);
  assert_true(lines.all[0].starts_with("cpu: this is not used: products of cutting off, two terms"));
}

}  // namespace

int main() {
  ask_for_matrix_tiles();
  const CMUnitTest tests[] = {
      cmocka_unit_test(tiles_are_judged),
      cmocka_unit_test(units_of_this_processor_agree),
      cmocka_unit_test(what_is_wrong_is_not_used),
  };
  return cmocka_run_group_tests(tests, nullptr, nullptr);
}

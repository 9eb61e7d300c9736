// The room core but for Monitor (test_monitor.cpp): element types, counted memory, checked arithmetic, errors, the
// floating-point state.
#include <cfenv>
#include <cfloat>
#include <cstring>
#include <initializer_list>
#include <limits>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#ifdef __x86_64__
#include <xmmintrin.h>
#endif

#include "core/buffer.h"
#include "core/checked.h"
#include "core/division.h"
#include "core/dtype.h"
#include "core/error.h"
#include "core/float_env.h"
#include "core/text.h"
#include "values.h"

#include "harness/cmocka.h"

using namespace libknng;  // (fail)(...) is libknng::fail: cmocka has a macro of that name
using values::bits;

namespace {

template <class F>
knng_error error_of(F&& f) {
  try {
    f();
  } catch (const Error& e) {
    return e.info();
  }
  return {};
}

// ---- binary16 and bfloat16

// A format of 16 bits: 1 sign, exponent, fraction; values by the definition of IEEE 754, patterns in ascending order.
struct Format {
  int fraction_bits;
  int smallest_exponent;  // of normal numbers
  std::uint32_t infinity;

  double value(std::uint32_t pattern) const {
    const int field = static_cast<int>((pattern & 0x7FFF) >> fraction_bits);
    const double fraction = static_cast<double>(pattern & ((1u << fraction_bits) - 1));
    const double magnitude = std::ldexp(field == 0 ? fraction : fraction + (1 << fraction_bits),
                                        (field == 0 ? 1 : field) - 1 + smallest_exponent - fraction_bits);
    return pattern & 0x8000 ? -magnitude : magnitude;
  }
  // What would stand in infinity's place if the exponent went on: values above the middle round to infinity.
  double past_largest() const { return std::ldexp(1.0, 2 - smallest_exponent); }

  // The pattern of x by search among all values: nearest, ties to the even pattern.
  std::uint32_t nearest(double x) const {
    const double magnitude = std::fabs(x);
    std::uint32_t low = 0, high = infinity;  // value(low) <= magnitude < value(high), infinity as past_largest
    if (magnitude >= past_largest()) {
      low = infinity;
    } else {
      while (high - low > 1) {
        const std::uint32_t middle = (low + high) / 2;
        (value(middle) <= magnitude ? low : high) = middle;
      }
      const double above = high == infinity ? past_largest() : value(high);
      const double tie = (value(low) + above) / 2;  // exact: neighbours with few bits
      if (magnitude > tie || (magnitude == tie && low % 2 == 1)) low = high;
    }
    return low | (std::signbit(x) ? 0x8000 : 0);
  }
};
constexpr Format kHalf = {10, -14, 0x7C00};
constexpr Format kBFloat = {7, -126, 0x7F80};

std::uint32_t pattern_of(const Format& format, double x) {
  return format.fraction_bits == 10 ? half_from_double(x).bits : bfloat_from_double(x).bits;
}
double value_of(const Format& format, std::uint32_t pattern) {
  const auto narrow = static_cast<std::uint16_t>(pattern);
  return format.fraction_bits == 10 ? to_double(Half{narrow}) : to_double(BFloat{narrow});
}

void all_patterns_convert_exactly_and_back(const Format& format) {
  for (std::uint32_t pattern = 0; pattern < 0x10000; ++pattern) {
    const double x = value_of(format, pattern);
    const std::uint32_t magnitude = pattern & 0x7FFF;
    assert_int_equal(std::signbit(x), pattern >> 15);
    if (magnitude > format.infinity) {
      assert_true(std::isnan(x));
      const std::uint32_t back = pattern_of(format, x);
      assert_true((back & 0x7FFF) > format.infinity);
      continue;
    }
    if (magnitude == format.infinity)
      assert_true(std::isinf(x));
    else
      assert_int_equal(bits(x), bits(format.value(pattern)));
    assert_int_equal(pattern_of(format, x), pattern);
  }
}

void half_patterns(void**) { all_patterns_convert_exactly_and_back(kHalf); }
void bfloat_patterns(void**) { all_patterns_convert_exactly_and_back(kBFloat); }

// Between any two neighbours: the middle, and the doubles beside it.
void ties_go_to_the_even_pattern(const Format& format) {
  for (std::uint32_t low = 0; low < format.infinity; ++low) {
    const double above = low + 1 == format.infinity ? format.past_largest() : format.value(low + 1);
    const double tie = (format.value(low) + above) / 2;
    const std::uint32_t even = low % 2 == 0 ? low : low + 1;
    for (const std::uint32_t sign : {0u, 0x8000u}) {
      const double factor = sign ? -1 : 1;
      assert_int_equal(pattern_of(format, factor * tie), even | sign);
      assert_int_equal(pattern_of(format, factor * std::nextafter(tie, 0.0)), low | sign);
      assert_int_equal(pattern_of(format, factor * std::nextafter(tie, HUGE_VAL)), (low + 1) | sign);
    }
  }
}

void half_ties(void**) { ties_go_to_the_even_pattern(kHalf); }
void bfloat_ties(void**) { ties_go_to_the_even_pattern(kBFloat); }

void rounds_as_the_search_does(const Format& format) {
  values::Random random(16);
  for (int i = 0; i < 300'000; ++i) {
    // Every second one near the format's own range.
    double x = random.any_magnitude();
    if (i % 2 == 0) x = std::ldexp(random.uniform(), static_cast<int>(random.below(48)) - 28);
    assert_int_equal(pattern_of(format, x), format.nearest(x));
  }
  for (const double x : {0.0, -0.0, values::kSmallest, -values::kSmallest, values::kLargest, -values::kLargest,
                         values::kInfinity, -values::kInfinity, values::kSmallestNormal, 65504.0, 65519.99, 65520.0,
                         0x1p-25, 0x1.8p-24, 0x1p-134, 0x1.8p-133, 0x1.FEp127, 0x1.FFp127})
    assert_int_equal(pattern_of(format, x), format.nearest(x));
}

void half_rounding(void**) { rounds_as_the_search_does(kHalf); }
void bfloat_rounding(void**) { rounds_as_the_search_does(kBFloat); }

void types_are_named_and_sized(void**) {
  int rows = 0;
  for (std::int32_t code = -1; code < 0x1000; ++code) {
    const Dtype* type = find_dtype(code);
    const knng_error e = error_of([&] { checked_dtype_bytes(code, "dtype"); });
    if (e.code == KNNG_OK) {
      ++rows;
      assert_non_null(type);
      assert_int_equal(checked_dtype_bytes(code, "dtype"), type->bytes);
      assert_int_equal(type->bytes * 8, code & 0xFF);
      assert_true(
          visit_row_dtype(code, [&](auto* tag) { return sizeof(*tag) == static_cast<std::size_t>(type->bytes); }));
    } else {
      assert_int_equal(e.code, KNNG_ERR_ARGUMENT);
      assert_int_equal(e.given, code);
      assert_string_equal(e.argument, "dtype");
      assert_int_equal(error_of([&] { visit_row_dtype(code, [](auto*) {}); }).code, KNNG_ERR_INTERNAL);
    }
    if (!type) assert_string_equal(dtype_name(code), "unknown");
  }
  assert_int_equal(rows, 13);
  assert_string_equal(dtype_name(KNNG_BF16), "bfloat16");
}

// Values of T that rows may have, and that they may not, at the edges.
template <class T>
void check_validity(std::initializer_list<T> good, std::initializer_list<T> bad) {
  for (const T x : good) assert_true(is_valid(x));
  for (const T x : bad) assert_false(is_valid(x));
  assert_true(bad.size() == 0 || !kAlwaysValid<T>);
}

void validity(void**) {
  constexpr std::int64_t limit = std::int64_t{1} << 53;
  check_validity<std::int64_t>({0, -1, limit, -limit}, {limit + 1, -limit - 1, INT64_MAX, INT64_MIN});
  check_validity<std::uint64_t>({0, std::uint64_t{limit}}, {std::uint64_t{limit} + 1, std::uint64_t{1} << 63, ~0ull});
  check_validity<std::int32_t>({INT32_MIN, INT32_MAX}, {});
  check_validity<std::uint32_t>({0, UINT32_MAX}, {});
  check_validity<std::int16_t>({INT16_MIN, INT16_MAX}, {});
  check_validity<Bool>({{0}, {1}}, {{2}, {128}, {255}});
  const double nan = std::numeric_limits<double>::quiet_NaN(), infinity = values::kInfinity;
  check_validity<double>({0, -0.0, values::kLargest, -values::kSmallest}, {nan, -nan, infinity, -infinity});
  check_validity<float>({0, FLT_MAX}, {static_cast<float>(nan), static_cast<float>(infinity)});
  check_validity<Half>({{0}, {0x7bff}, {0xfbff}}, {{0x7c00}, {0xfc00}, {0x7c01}});
  check_validity<BFloat>({{0}, {0x7f7f}}, {{0x7f80}, {0xff80}, {0x7fc0}});
}

// Whatever is valid is exact in fp64, and in single precision where that is said of the type.
void exactness(void**) {
  values::Random random(17);
  for (std::int32_t code = 0; code < 0x1000; ++code) {
    if (!find_dtype(code)) continue;
    visit_row_dtype(code, [&]<class T>(const T*) {
      bool single = true;
      const auto look = [&](T x) {
        if (!is_valid(x)) return;
        const double wide = to_double(x);
        if constexpr (std::is_integral_v<T>) assert_true(static_cast<T>(wide) == x);
        single = single && static_cast<double>(static_cast<float>(wide)) == wide;
      };
      if constexpr (std::is_integral_v<T>) {
        for (const T x : {std::numeric_limits<T>::min(), std::numeric_limits<T>::max()}) look(x);
        if constexpr (sizeof(T) == 8)
          for (std::int64_t x = kLargestInteger - 4; x <= kLargestInteger; ++x) look(static_cast<T>(x));
      }
      for (int i = 0; i < 100'000; ++i) {
        const std::uint64_t bits = random.next() >> random.below(64);
        T x;
        std::memcpy(&x, &bits, sizeof x);
        look(x);
      }
      assert_true(single == fits_single(code));
    });
  }
}

// ---- counted memory

void budget_counts_what_is_held_and_the_most(void**) {
  Budget budget(1000, 100);
  assert_int_equal(budget.held(), 100);
  assert_int_equal(budget.peak(), 100);
  {
    Buffer<double> a(50, &budget);
    assert_int_equal(budget.held(), 500);
    assert_int_equal(reinterpret_cast<std::uintptr_t>(a.data()) % 64, 0);
    {
      Buffer<std::uint8_t> b(500, std::uint8_t{7}, &budget);  // to the last byte
      assert_int_equal(budget.held(), 1000);
      for (const std::uint8_t value : b) assert_int_equal(value, 7);
    }
    assert_int_equal(budget.held(), 500);
    Buffer<double> moved = std::move(a);
    assert_true(a.empty());
    assert_int_equal(budget.held(), 500);
    Buffer<double> other(10, &budget);
    assert_int_equal(budget.held(), 580);
    other = std::move(moved);  // what `other` held goes, what `moved` held stays
    assert_int_equal(budget.held(), 500);
    assert_int_equal(other.size(), 50);
    other.release_from_budget();
    assert_int_equal(budget.held(), 100);
    other[49] = 1;  // still there
    Buffer<double> nothing(0, &budget);
    assert_true(nothing.empty() && nothing.bytes() == 0);
    other.reset();
    assert_int_equal(budget.held(), 100);
  }
  assert_int_equal(budget.held(), 100);
  assert_int_equal(budget.peak(), 1000);
}

void budget_refuses_with_both_numbers(void**) {
  Budget budget(1000, 600);
  const knng_error e = error_of([&] { Buffer<std::uint8_t> b(401, &budget); });
  assert_int_equal(e.code, KNNG_ERR_BUDGET);
  assert_string_equal(e.argument, "max_host_bytes");
  assert_int_equal(e.given, 1000);
  assert_int_equal(e.limit, 1001);
  assert_non_null(std::strstr(e.message, "1000"));
  assert_non_null(std::strstr(e.message, "1001"));
  assert_int_equal(budget.held(), 600);
  assert_int_equal(budget.peak(), 600);
  Buffer<std::uint8_t> fits(400, &budget);
  assert_int_equal(budget.held(), 1000);
}

void failed_construction_gives_everything_back(void**) {
  struct Three {
    explicit Three(Budget* budget) : a(100, budget), b(200, budget), c(300, budget) {}
    Buffer<std::uint8_t> a, b, c;
  };
  Budget budget(599);
  assert_int_equal(error_of([&] { Three three(&budget); }).code, KNNG_ERR_BUDGET);
  assert_int_equal(budget.held(), 0);
  assert_int_equal(budget.peak(), 300);

  // More than 2^63 bytes, and more than the system has.
  assert_int_equal(error_of([&] { Buffer<double> b(INT64_MAX / 4, &budget); }).code, KNNG_ERR_RANGE);
  assert_int_equal(budget.held(), 0);
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)  // their operator new ends the program
  Budget unlimited;
  bool refused = false;
  try {
    Buffer<std::uint8_t> b(std::int64_t{1} << 60, &unlimited);
  } catch (const std::bad_alloc&) {
    refused = true;
  }
  assert_true(refused);
  assert_int_equal(unlimited.held(), 0);
#endif
}

void budget_is_shared_by_threads(void**) {
  constexpr int kThreads = 8, kTimes = 20'000;
  Budget budget(kThreads * 8);
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i)
    threads.emplace_back([&] {
      for (int time = 0; time < kTimes; ++time) {
        budget.take(8);
        budget.give(8);
      }
    });
  for (std::thread& t : threads) t.join();
  assert_int_equal(budget.held(), 0);
  assert_in_range(budget.peak(), 8, kThreads * 8);
}

// ---- checked arithmetic

void checked_arithmetic_stops_where_64_bits_end(void**) {
  const std::int64_t edges[] = {0,
                                1,
                                -1,
                                2,
                                3,
                                7,
                                INT64_MAX,
                                INT64_MIN,
                                INT64_MAX - 1,
                                INT64_MAX / 2,
                                INT64_MAX / 2 + 1,
                                3037000499,
                                3037000500,
                                -3037000500,
                                std::int64_t{1} << 32,
                                std::int64_t{1} << 31};
  for (const std::int64_t a : edges)
    for (const std::int64_t b : edges) {
      const __int128 sum = static_cast<__int128>(a) + b, product = static_cast<__int128>(a) * b;
      const auto holds = [](__int128 x) { return x >= INT64_MIN && x <= INT64_MAX; };
      std::int64_t result = 0;
      knng_error e = error_of([&] { result = checked_add(a, b, "rows"); });
      assert_int_equal(e.code, holds(sum) ? KNNG_OK : KNNG_ERR_RANGE);
      if (holds(sum)) assert_int_equal(result, static_cast<std::int64_t>(sum));
      e = error_of([&] { result = checked_mul(a, b, "rows"); });
      assert_int_equal(e.code, holds(product) ? KNNG_OK : KNNG_ERR_RANGE);
      if (holds(product)) {
        assert_int_equal(result, static_cast<std::int64_t>(product));
      } else {
        assert_string_equal(e.argument, "rows");
        assert_int_equal(e.given, a);
        assert_non_null(std::strstr(e.message, std::to_string(b).c_str()));
      }
    }
  for (std::int64_t a = 0; a < 50; ++a)
    for (std::int64_t b = 1; b < 20; ++b) {
      std::int64_t count = 0;
      while (count * b < a) ++count;
      assert_int_equal(ceil_div(a, b), count);
      assert_int_equal(round_up(a, b), count * b);
    }
  assert_int_equal(ceil_div(INT64_MAX, 2), INT64_MAX / 2 + 1);
}

// ---- errors

void errors_carry_numbers_and_fit_their_members(void**) {
  const knng_error e = error_of([] { (fail)(KNNG_ERR_DATA, "rows", {.row = 3, .col = 4}, "it is %s", "bad"); });
  assert_int_equal(e.struct_size, sizeof(knng_error));
  assert_int_equal(e.code, KNNG_ERR_DATA);
  assert_int_equal(e.row, 3);
  assert_int_equal(e.col, 4);
  assert_int_equal(e.given, -1);
  assert_int_equal(e.limit, -1);
  assert_string_equal(e.argument, "rows");
  assert_string_equal(e.reason, "it is bad");
  assert_string_equal(e.message, "it is bad (row 3, column 4)");

  const std::string long_text(1000, 'x'), long_name(100, 'n');
  const knng_error cut = error_of([&] { (fail)(KNNG_ERR_IO, long_name.c_str(), "%s", long_text.c_str()); });
  assert_int_equal(std::strlen(cut.message), sizeof cut.reason - 1);
  assert_int_equal(std::strlen(cut.argument), sizeof cut.argument - 1);
  assert_int_equal(cut.row, -1);
  try {
    (fail)(KNNG_ERR_IO, "path", "no such file");
  } catch (const std::exception& caught) {
    assert_string_equal(caught.what(), "no such file");
  }
}

// ---- text

void text_is_made_plain(void**) {
  struct Case {
    std::string given, plain;
  };
  const Case cases[] = {
      {"plain \u00e9 \u20ac \U0001f600", "plain \u00e9 \u20ac \U0001f600"},
      {"a\nb\rc\td\x1b[2Je\x7f", "a?b?c?d?[2Je?"},
      {"c1 \xc2\x80\xc2\x9b\xc2\x9f\xc2\xa0", "c1 ???\xc2\xa0"},
      {"turn \u061c\u200e\u200f\u202a\u202e\u2066\u2069", "turn ???????"},
      {"lines \u2028\u2029", "lines ??"},
      {"\u200d\u2010\u202f\u2065", "\u200d\u2010\u202f\u2065"},  // beside them
      {"bytes \x80\xff\xc3(\xe2\x82(", std::string("bytes ???") + "(?" + "?("},
      {"too long \xc0\xaf \xe0\x80\xaf \xf0\x80\x80\xaf", "too long ?? ??? ????"},
      {"surrogate \xed\xa0\x80 and beyond \xf4\x90\x80\x80\xf5", "surrogate ??? and beyond ?????"},
      {"cut \xc3", "cut "},
      {"cut \xe2\x82", "cut "},
      {"cut \xf0\x9f\x98", "cut "},
      {std::string("zero\0end", 8), "zero?end"},
      {"", ""},
  };
  for (const Case& c : cases) assert_string_equal(plain_text(c.given).c_str(), c.plain.c_str());
}

void messages_end_with_a_whole_character(void**) {
  for (std::size_t shift = 0; shift < 4; ++shift) {
    std::string name(shift, 'x');
    while (name.size() < 600) name += "\u20ac";
    const knng_error e = error_of([&] { (fail)(KNNG_ERR_IO, "path", {.row = 1}, "%s", name.c_str()); });
    const std::string reason = e.reason;
    assert_true(reason.size() > 400 && reason.find('?') == std::string::npos);
    assert_int_equal((reason.size() - shift) % 3, 0);
    assert_true(std::string(e.message).starts_with(reason) && std::string(e.message).ends_with("(row 1)"));
  }
}

void last_error_is_the_threads_own(void**) {
  set_last_error(plain_error(KNNG_ERR_RANGE, "k", "here"));
  knng_status first_there = KNNG_ERR_INTERNAL;
  std::string there;
  std::thread([&] {
    first_there = last_error().code;
    set_last_error(plain_error(KNNG_ERR_DATA, "rows", "there"));
    there = last_error().message;
  }).join();
  assert_int_equal(first_there, KNNG_OK);
  assert_string_equal(there.c_str(), "there");
  assert_int_equal(last_error().code, KNNG_ERR_RANGE);
  assert_string_equal(last_error().argument, "k");
  assert_string_equal(last_error().message, "here");
  assert_int_equal(last_error().row, -1);
  assert_int_equal(last_error().struct_size, sizeof(knng_error));
  set_last_error(plain_error(KNNG_ERR_IO, "path", std::string(2000, 'y').c_str()));
  assert_int_equal(std::strlen(last_error().reason), sizeof last_error().reason - 1);
}

// ---- the floating-point state

volatile double third = 3, one = 1, zero = 0, tiny = values::kSmallestNormal;

void rounding_is_to_nearest_inside_and_put_back(void**) {
  const double nearest = one / third;
  for (const int mode : {FE_UPWARD, FE_DOWNWARD, FE_TOWARDZERO, FE_TONEAREST}) {
    assert_int_equal(std::fesetround(mode), 0);
    const double as_host = one / third;
    {
      const FloatEnv env;
      assert_int_equal(std::fegetround(), FE_TONEAREST);
      assert_int_equal(bits(one / third), bits(nearest));
    }
    assert_int_equal(std::fegetround(), mode);
    assert_int_equal(bits(one / third), bits(as_host));
    std::fesetround(FE_TONEAREST);
  }
}

void flags_and_traps_of_the_host_stay_its_own(void**) {
  std::fenv_t before;
  std::fegetenv(&before);
  std::feclearexcept(FE_ALL_EXCEPT);
  std::feraiseexcept(FE_OVERFLOW);
  {
    const FloatEnv env;
    assert_int_equal(std::fetestexcept(FE_ALL_EXCEPT), 0);
    volatile double infinite = one / zero;
    assert_true(std::isinf(infinite));
    assert_int_equal(std::fetestexcept(FE_DIVBYZERO), FE_DIVBYZERO);
  }
  assert_int_equal(std::fetestexcept(FE_ALL_EXCEPT), FE_OVERFLOW);
#ifdef __GLIBC__
  std::feclearexcept(FE_ALL_EXCEPT);
  feenableexcept(FE_DIVBYZERO);
  {
    const FloatEnv env;
    assert_int_equal(fegetexcept(), 0);
    volatile double infinite = one / zero;  // would end the program
    assert_true(std::isinf(infinite));
  }
  assert_int_equal(fegetexcept(), FE_DIVBYZERO);
#endif
  std::fesetenv(&before);
}

#ifdef __x86_64__
void denormals_are_kept_inside_and_the_hosts_choice_put_back(void**) {
  constexpr unsigned kFlushToZero = 0x8000, kDenormalsAreZero = 0x0040;
  const unsigned before = _mm_getcsr();
  for (const unsigned host : {kFlushToZero, kDenormalsAreZero, kFlushToZero | kDenormalsAreZero, 0u}) {
    _mm_setcsr(before | host);
    const unsigned set = _mm_getcsr();
    unsigned inside = 0;
    double halved = 0, doubled = 0;
    {
      const FloatEnv env;
      inside = _mm_getcsr();
      halved = tiny * 0.5;  // a denormal result
      volatile double denormal = values::kSmallest;
      doubled = denormal * 2;  // a denormal operand
    }
    const unsigned after = _mm_getcsr();
    _mm_setcsr(before);
    assert_int_equal(inside & (kFlushToZero | kDenormalsAreZero), 0);
    assert_int_equal(bits(halved), 0x0008000000000000);
    assert_int_equal(bits(doubled), 2);
    assert_int_equal(after, set);
  }
}
#endif

// The x87's part of the host's state, which no vector instruction looks at.
void the_x87_is_put_back(void**) {
#if defined(__x86_64__) && defined(__GLIBC__)
  std::fenv_t before, after;
  std::fegetenv(&before);
  for (const int precision : {0x000, 0x200}) {  // of float, of double
    std::fenv_t host = before;
    host.__control_word = static_cast<unsigned short>((host.__control_word & ~0x300) | precision);
    std::fesetenv(&host);
    {
      const FloatEnv env;
      std::fegetenv(&after);
      assert_int_equal(after.__control_word & 0x300, 0x300);
    }
    std::fegetenv(&after);
    std::fesetenv(&before);
    assert_int_equal(after.__control_word & 0x300, precision);
  }
  {  // what happens to it while the library computes ends with that
    const FloatEnv env;
    std::fenv_t inside = before;
    inside.__control_word = static_cast<unsigned short>(inside.__control_word & ~0x300);
    std::fesetenv(&inside);
  }
  std::fegetenv(&after);
  assert_int_equal(after.__control_word & 0x300, before.__control_word & 0x300);
#else
  skip();
#endif
}

void float_envs_nest(void**) {
  std::fesetround(FE_UPWARD);
  {
    const FloatEnv outer;
    std::fesetround(FE_DOWNWARD);
    {
      const FloatEnv inner;
      assert_int_equal(std::fegetround(), FE_TONEAREST);
    }
    assert_int_equal(std::fegetround(), FE_DOWNWARD);
    outer.host().set();
    assert_int_equal(std::fegetround(), FE_UPWARD);
  }
  assert_int_equal(std::fegetround(), FE_UPWARD);
  std::fesetround(FE_TONEAREST);
}

}  // namespace

int main() {
  const CMUnitTest tests[] = {
      cmocka_unit_test(half_patterns),
      cmocka_unit_test(bfloat_patterns),
      cmocka_unit_test(half_ties),
      cmocka_unit_test(bfloat_ties),
      cmocka_unit_test(half_rounding),
      cmocka_unit_test(bfloat_rounding),
      cmocka_unit_test(types_are_named_and_sized),
      cmocka_unit_test(validity),
      cmocka_unit_test(exactness),
      cmocka_unit_test(budget_counts_what_is_held_and_the_most),
      cmocka_unit_test(budget_refuses_with_both_numbers),
      cmocka_unit_test(failed_construction_gives_everything_back),
      cmocka_unit_test(budget_is_shared_by_threads),
      cmocka_unit_test(checked_arithmetic_stops_where_64_bits_end),
      cmocka_unit_test(errors_carry_numbers_and_fit_their_members),
      cmocka_unit_test(text_is_made_plain),
      cmocka_unit_test(messages_end_with_a_whole_character),
      cmocka_unit_test(last_error_is_the_threads_own),
      cmocka_unit_test(rounding_is_to_nearest_inside_and_put_back),
      cmocka_unit_test(flags_and_traps_of_the_host_stay_its_own),
#ifdef __x86_64__
      cmocka_unit_test(denormals_are_kept_inside_and_the_hosts_choice_put_back),
#endif
      cmocka_unit_test(the_x87_is_put_back),
      cmocka_unit_test(float_envs_nest),
  };
  return cmocka_run_group_tests(tests, nullptr, nullptr);
}

// The text of log and pow, without include guard, includes or namespace: it is compiled once for the scalar policy
// (metric/elementary.h) and once for each SIMD target (backend/cpu/hwy_elementary-inl.h).
//
// Why text: a compiler gives a template the instruction set that is in force where it is *defined*, so a template over
// vectors has to be defined anew inside each target's region.
//
// Why not libm: its results differ between versions, processors and the GPU. Everything here is + - x / fma and bit
// operations of the policy, without branch or table, so equal bits follow from equal operations. It must not know
// about metrics, vector types or CUDA.
//
// Sources: argument reduction and the atanh form of log as in fdlibm's e_log.c (K. C. Ng, 1993); double-double
// arithmetic as in Dekker, "A floating-point technique for extending the available precision", Numer. Math. 18 (1971),
// and Muller et al., "Handbook of Floating-Point Arithmetic", 2nd ed., chapters 4 and 5; splitting of ln 2 and
// reduction for exp as in Cody and Waite, and Muller, "Elementary Functions", 3rd ed., chapter 11. The coefficients
// were computed for this file by the Remez algorithm in 60 digits and rounded to double.
//
// Largest errors seen against 113-bit arithmetic: see log and pow below; what is proved:
// docs/internals/canonical-key.md. Their bits are frozen by tests/unit/test_elementary.cpp. Denormals must not be
// flushed and rounding must be to nearest.

// An unevaluated sum hi + lo, |lo| at most a few units in the last place of hi.
template <class Ops>
struct DoubleDouble {
  typename Ops::Real hi;
  typename Ops::Real lo;
};

// a + b without error, for |a| >= |b| or a = 0 (Dekker's Fast2Sum).
template <class Ops>
KNNG_HD inline DoubleDouble<Ops> fast_two_sum(typename Ops::Real a, typename Ops::Real b) {
  const typename Ops::Real hi = Ops::add(a, b);
  return {hi, Ops::add(Ops::sub(a, hi), b)};
}

// a + b to about 2^-104 |a + b|, for |a.hi| >= |b.hi| or a.hi = 0, when the sum does not cancel.
template <class Ops>
KNNG_HD inline DoubleDouble<Ops> fast_sum(DoubleDouble<Ops> a, DoubleDouble<Ops> b) {
  const DoubleDouble<Ops> sum = fast_two_sum<Ops>(a.hi, b.hi);
  return {sum.hi, Ops::add(sum.lo, Ops::add(a.lo, b.lo))};
}

// a b to about 2^-103 |a b|.
template <class Ops>
KNNG_HD inline DoubleDouble<Ops> product(DoubleDouble<Ops> a, DoubleDouble<Ops> b) {
  const typename Ops::Real hi = Ops::mul(a.hi, b.hi);
  return {hi, Ops::fma(a.hi, b.lo, Ops::fma(a.lo, b.hi, Ops::fms(a.hi, b.hi, hi)))};
}

// c0 + x (c1 + x (c2 + ...)), Horner's rule with fma.
template <class Ops, class... Rest>
KNNG_HD inline typename Ops::Real polynomial(typename Ops::Real x, double c0, Rest... rest) {
  if constexpr (sizeof...(rest) == 0) {
    return Ops::set(c0);
  } else {
    return Ops::fma(x, polynomial<Ops>(x, rest...), Ops::set(c0));
  }
}

// split for every finite x > 0, denormals included: x = result 2^exponent, sqrt(1/2) <= result < sqrt(2).
template <class Ops>
KNNG_HD inline typename Ops::Real split_any(typename Ops::Real x, typename Ops::Real& exponent) {
  const typename Ops::Mask denormal = Ops::less(x, Ops::set(0x1p-1022));
  const typename Ops::Real mantissa = Ops::split(Ops::select(denormal, Ops::mul(x, Ops::set(0x1p54)), x), exponent);
  exponent = Ops::select(denormal, Ops::sub(exponent, Ops::set(54.0)), exponent);
  return mantissa;
}

// x 2^n for a normal x near 1 and an integer n, |n| <= 2000: two exact powers, so that a result in the denormal range
// is rounded once here and a result out of range becomes infinite or 0.
template <class Ops>
KNNG_HD inline typename Ops::Real scale_by_power_of_two(typename Ops::Real x, typename Ops::Real n) {
  const typename Ops::Real shift = Ops::set(0x1.8p52);  // adding and taking it away rounds to an integer
  const typename Ops::Real half = Ops::sub(Ops::fma(n, Ops::set(0.5), shift), shift);
  return Ops::mul(Ops::mul(x, Ops::power_of_two(half)), Ops::power_of_two(Ops::sub(n, half)));
}

// Natural logarithm of a finite x > 0, log(1) = +0. The largest error of 48 million was 0.745 ulp; elementary.h has
// what is proved.
//
// With x = 2^k m, f = m - 1, s = f / (2 + f), z = s^2:  log m = 2 atanh s = f - f^2 / 2 + s (f^2 / 2 + z R(z)),
// R(z) = 2/3 + 2/5 z + ...: the large terms f and k ln 2 are exact and join last.
template <class Ops>
KNNG_HD inline typename Ops::Real log(typename Ops::Real x) {
  using Real = typename Ops::Real;
  Real k;
  const Real f = Ops::sub(split_any<Ops>(x, k), Ops::set(1.0));
  const Real s = Ops::div(f, Ops::add(f, Ops::set(2.0)));
  const Real z = Ops::mul(s, s);
  const Real z2 = Ops::mul(z, z);
  // |error of s z R| < 2^-58.9 |log m| on z <= 0.02944; even and odd terms apart for instruction parallelism.
  const Real even =
      polynomial<Ops>(z2, 0x1.5555555555592p-1, 0x1.24924941f126bp-2, 0x1.74663ee86a1b5p-3, 0x1.2f05634234b20p-3);
  const Real odd = polynomial<Ops>(z2, 0x1.999999997fdb7p-2, 0x1.c71c52095c72bp-3, 0x1.39a1babb1674bp-3);
  const Real half_f = Ops::mul(f, Ops::set(0.5));
  const Real bracket = Ops::fma(half_f, f, Ops::mul(z, Ops::fma(z, odd, even)));
  // ln 2 in two pieces, the first of 42 bits: k times it is exact.
  const Real small = Ops::fma(s, bracket, Ops::mul(k, Ops::set(0x1.ef35793c76730p-45)));
  const DoubleDouble<Ops> large = fast_two_sum<Ops>(Ops::mul(k, Ops::set(0x1.62e42fefa3800p-1)), f);
  return Ops::add(large.hi, Ops::add(large.lo, Ops::fnma(half_f, f, small)));
}

// Natural logarithm of a finite x > 0 to about 2^-68 relative, exactly 0 for x = 1.
template <class Ops>
KNNG_HD inline DoubleDouble<Ops> log_double_double(typename Ops::Real x) {
  using Real = typename Ops::Real;
  using Double2 = DoubleDouble<Ops>;
  Real k;
  const Real m = split_any<Ops>(x, k);
  const Real one = Ops::set(1.0);
  // s = (m - 1) / (m + 1): numerator exact, denominator and quotient in two pieces, one division.
  const Real f = Ops::sub(m, one);
  const Real g = Ops::add(m, one);
  const Real g_lo = Ops::sub(m, Ops::sub(g, one));
  const Real inverse = Ops::div(one, g);
  const Real s_hi = Ops::mul(f, inverse);
  const Real rest = Ops::fnma(s_hi, g_lo, Ops::fnma(s_hi, g, f));
  const Double2 s = {s_hi, Ops::mul(rest, inverse)};
  const Double2 z = product<Ops>(s, s);
  // log m = 2 s + s z (2/3 + z (2/5 + z T(z))), T(z) = 2/7 + 2/9 z + ... in plain double:
  // |error of s z^3 T| < 2^-71 |log m|, from approximation and rounding of the coefficients.
  const Real z2 = Ops::mul(z.hi, z.hi);
  const Real even =
      polynomial<Ops>(z2, 0x1.24924924927bfp-2, 0x1.745d17d6194bcp-3, 0x1.111dc0650f8fap-3, 0x1.e7cdb3515500cp-4);
  const Real odd = polynomial<Ops>(z2, 0x1.c71c71c65c685p-3, 0x1.3b1378905baa4p-3, 0x1.dea0bacb452bdp-4);
  const Double2 tail = {Ops::mul(z.hi, Ops::fma(z.hi, odd, even)), Ops::set(0.0)};
  const Double2 two_fifths = {Ops::set(0x1.999999999999ap-2), Ops::set(-0x1.999999999999ap-56)};
  const Double2 two_thirds = {Ops::set(0x1.5555555555555p-1), Ops::set(0x1.5555555555555p-55)};
  const Double2 inner = fast_sum<Ops>(two_thirds, product<Ops>(z, fast_sum<Ops>(two_fifths, tail)));
  const Double2 twice_s = {Ops::add(s.hi, s.hi), Ops::add(s.lo, s.lo)};
  const Double2 log_m = fast_sum<Ops>(twice_s, product<Ops>(s, product<Ops>(z, inner)));
  const Double2 k_log_2 = {Ops::mul(k, Ops::set(0x1.62e42fefa3800p-1)), Ops::mul(k, Ops::set(0x1.ef35793c76730p-45))};
  return fast_sum<Ops>(k_log_2, log_m);
}

// e^(y.hi + y.lo) for |y.hi| <= 800.
template <class Ops>
KNNG_HD inline typename Ops::Real exp_double_double(DoubleDouble<Ops> y) {
  using Real = typename Ops::Real;
  // y = n ln 2 + r, |r| <= ln(2) / 2 (1 + 2^-40); y.hi - n (42 bits of ln 2) is exact.
  const Real shift = Ops::set(0x1.8p52);
  const Real n = Ops::sub(Ops::fma(y.hi, Ops::set(0x1.71547652b82fep+0), shift), shift);
  const DoubleDouble<Ops> r = fast_two_sum<Ops>(Ops::fnma(n, Ops::set(0x1.62e42fefa3800p-1), y.hi),
                                                Ops::fnma(n, Ops::set(0x1.ef35793c76730p-45), y.lo));
  // e^r = 1 + r + r^2 P(r), |error of r^2 P| < 2^-60; 1 + r.hi is kept without error, r.lo enters to first order.
  const Real r2 = Ops::mul(r.hi, r.hi);
  const Real even = polynomial<Ops>(r2, 0x1.0p-1, 0x1.555555555555ep-5, 0x1.6c16c16c13573p-10, 0x1.a01a01b459987p-16,
                                    0x1.27e4bf2b73f1dp-22, 0x1.1f9df3b1f89a0p-29);
  const Real odd = polynomial<Ops>(r2, 0x1.555555555555cp-3, 0x1.111111110ebbap-7, 0x1.a01a01b3b8158p-13,
                                   0x1.71ddef9b89600p-19, 0x1.af6cbf28210c9p-26);
  const DoubleDouble<Ops> base = fast_two_sum<Ops>(Ops::set(1.0), r.hi);
  const Real small = Ops::fma(r2, Ops::fma(r.hi, odd, even), Ops::fma(base.hi, r.lo, base.lo));
  return scale_by_power_of_two<Ops>(Ops::add(base.hi, small), n);
}

// x^p for finite x >= 0 and finite p > 0. The largest error of 36 million was 0.647 ulp where the result is normal, and
// of 12 million 0.773 ulp where it is denormal (it is rounded to 53 bits and then to the denormal's places, the same
// everywhere); elementary.h has what is proved. pow(0, p) = 0, pow(1, p) = 1, pow(x, 1) = x, powers that a double can
// hold are exact, overflow gives infinity, underflow is gradual.
template <class Ops>
KNNG_HD inline typename Ops::Real pow(typename Ops::Real x, typename Ops::Real p) {
  using Real = typename Ops::Real;
  const DoubleDouble<Ops> log_x = log_double_double<Ops>(x);
  // Beyond +-800 the result is infinite or 0 whatever the low part says (and there p log x may have overflowed).
  const Real bound = Ops::set(800.0);
  const Real hi = Ops::mul(p, log_x.hi);
  const Real lo = Ops::fma(p, log_x.lo, Ops::fms(p, log_x.hi, hi));
  const DoubleDouble<Ops> y = {Ops::max(Ops::min(hi, bound), Ops::set(-800.0)),
                               Ops::select(Ops::less(bound, Ops::abs(hi)), Ops::set(0.0), lo)};
  const Real zero = Ops::set(0.0);
  const Real power = Ops::select(Ops::equal(x, zero), zero, exp_double_double<Ops>(y));
  return Ops::select(Ops::equal(p, Ops::set(1.0)), x, power);
}

// The terms of the canonical key: what each coordinate adds to a sum, how two partial sums join, how the whole sum
// becomes the key. Written once over an arithmetic policy (metric/ops.h), so that scalar code, every SIMD width and the
// GPU give the same bits.
//
// This file is a body: it is included inside a namespace, by metric/terms.h for scalar and device code and inside each
// SIMD target's region by the CPU kernels, where functions must be defined to be compiled for that target. log and pow
// of metric/elementary.h must be visible there.
//
// A term has kSums sums s[], all starting from +0; `p` is the exponent of minkowski, `scale` is Metric::scale. kHeavy:
// each coordinate takes a division, a log or a pow. Speed alone depends on it.

// What most terms share: one sum, which is the key.
struct PlainSum {
  static constexpr int kSums = 1;
  static constexpr bool kHeavy = false;
  template <class Ops>
  KNNG_HD static inline typename Ops::Real join(typename Ops::Real a, typename Ops::Real b) {
    return Ops::add(a, b);
  }
  template <class Ops>
  KNNG_HD static inline typename Ops::Real finish(const typename Ops::Real* s, double) {
    return s[0];
  }
};

// scale x sum (u - v)^2: the Euclidean family, and cosine and correlation after their transforms.
struct SquaredDifference : PlainSum {
  template <class Ops>
  KNNG_HD static inline void accumulate(typename Ops::Real* s, typename Ops::Real u, typename Ops::Real v, double) {
    const typename Ops::Real difference = Ops::sub(u, v);
    s[0] = Ops::fma(difference, difference, s[0]);
  }
  template <class Ops>
  KNNG_HD static inline typename Ops::Real finish(const typename Ops::Real* s, double scale) {
    return Ops::mul(s[0], Ops::set(scale));
  }
};

// -sum u v, so that the largest product is the smallest key; 0 - s has no negative zero.
struct Product : PlainSum {
  template <class Ops>
  KNNG_HD static inline void accumulate(typename Ops::Real* s, typename Ops::Real u, typename Ops::Real v, double) {
    s[0] = Ops::fma(u, v, s[0]);
  }
  template <class Ops>
  KNNG_HD static inline typename Ops::Real finish(const typename Ops::Real* s, double) {
    return Ops::sub(Ops::set(0.0), s[0]);
  }
};

// sum |u - v|: manhattan.
struct AbsoluteDifference : PlainSum {
  template <class Ops>
  KNNG_HD static inline void accumulate(typename Ops::Real* s, typename Ops::Real u, typename Ops::Real v, double) {
    s[0] = Ops::add(s[0], Ops::abs(Ops::sub(u, v)));
  }
};

// max |u - v|: chebyshev.
struct LargestDifference : PlainSum {
  template <class Ops>
  KNNG_HD static inline void accumulate(typename Ops::Real* s, typename Ops::Real u, typename Ops::Real v, double) {
    s[0] = Ops::max(s[0], Ops::abs(Ops::sub(u, v)));
  }
  template <class Ops>
  KNNG_HD static inline typename Ops::Real join(typename Ops::Real a, typename Ops::Real b) {
    return Ops::max(a, b);
  }
};

// sum |u - v|^p: minkowski.
struct PowerDifference : PlainSum {
  static constexpr bool kHeavy = true;
  template <class Ops>
  KNNG_HD static inline void accumulate(typename Ops::Real* s, typename Ops::Real u, typename Ops::Real v, double p) {
    s[0] = Ops::add(s[0], pow<Ops>(Ops::abs(Ops::sub(u, v)), Ops::set(p)));
  }
};

// sum |u - v| / (|u| + |v|), 0/0 = 0.
struct Canberra : PlainSum {
  static constexpr bool kHeavy = true;
  template <class Ops>
  KNNG_HD static inline void accumulate(typename Ops::Real* s, typename Ops::Real u, typename Ops::Real v, double) {
    using Real = typename Ops::Real;
    const Real zero = Ops::set(0.0);
    const Real below = Ops::add(Ops::abs(u), Ops::abs(v));
    const Real ratio = Ops::div(Ops::abs(Ops::sub(u, v)), below);
    s[0] = Ops::add(s[0], Ops::select(Ops::equal(below, zero), zero, ratio));
  }
};

// sum |u - v| / sum |u + v|, 0 if the lower sum is 0.
struct BrayCurtis : PlainSum {
  static constexpr int kSums = 2;
  template <class Ops>
  KNNG_HD static inline void accumulate(typename Ops::Real* s, typename Ops::Real u, typename Ops::Real v, double) {
    s[0] = Ops::add(s[0], Ops::abs(Ops::sub(u, v)));
    s[1] = Ops::add(s[1], Ops::abs(Ops::add(u, v)));
  }
  template <class Ops>
  KNNG_HD static inline typename Ops::Real finish(const typename Ops::Real* s, double) {
    const typename Ops::Real zero = Ops::set(0.0);
    return Ops::select(Ops::equal(s[1], zero), zero, Ops::div(s[0], s[1]));
  }
};

// scale x sum (u log(u / m) + v log(v / m)), m = (u + v) / 2, with 0 log 0 = 0; never below 0.
struct JensenShannon : PlainSum {
  static constexpr bool kHeavy = true;
  template <class Ops>
  KNNG_HD static inline typename Ops::Real part(typename Ops::Real u, typename Ops::Real m) {
    using Real = typename Ops::Real;
    // m underflows to 0 beside the smallest positive u; such a u counts as 0. Where the part is 0 the ratio is replaced
    // by 1, so that log sees only what it is made for.
    const Real zero = Ops::set(0.0);
    const typename Ops::Mask positive = Ops::mask_and(Ops::less(zero, u), Ops::less(zero, m));
    const Real ratio = Ops::select(positive, Ops::div(u, Ops::select(positive, m, Ops::set(1.0))), Ops::set(1.0));
    return Ops::select(positive, Ops::mul(u, log<Ops>(ratio)), zero);
  }
  template <class Ops>
  KNNG_HD static inline void accumulate(typename Ops::Real* s, typename Ops::Real u, typename Ops::Real v, double) {
    const typename Ops::Real m = Ops::mul(Ops::set(0.5), Ops::add(u, v));
    s[0] = Ops::add(s[0], Ops::add(part<Ops>(u, m), part<Ops>(v, m)));
  }
  template <class Ops>
  KNNG_HD static inline typename Ops::Real finish(const typename Ops::Real* s, double scale) {
    return Ops::max(Ops::mul(s[0], Ops::set(scale)), Ops::set(0.0));
  }
};

// Calls f with the term's type: visit_term(term, [&](auto t) { using T = decltype(t); ... }).
template <class F>
inline void visit_term(Term term, F&& f) {
  switch (term) {
    case Term::squared_difference: return f(SquaredDifference());
    case Term::product: return f(Product());
    case Term::absolute_difference: return f(AbsoluteDifference());
    case Term::largest_difference: return f(LargestDifference());
    case Term::power_difference: return f(PowerDifference());
    case Term::canberra: return f(Canberra());
    case Term::bray_curtis: return f(BrayCurtis());
    case Term::jensen_shannon: return f(JensenShannon());
  }
}

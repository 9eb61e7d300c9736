"""Writes golden_keys.h: keys and reported values of every metric, computed without the library.

    /usr/bin/python3 golden_keys.py > golden_keys.h

This is the definition of the canonical key in plain Python. Python's + - * / and sqrt are the IEEE 754 operations on
binary64; the fused multiply-add is done with integers and rounded once by their true division, which is to nearest,
ties to even, denormals included. log and pow follow the sequence of operations that metric/elementary-inl.h documents,
because their bits are part of the definition; that they are logarithm and power is checked here as well, against 40
digits. Knows nothing of the library's code; rows come from the same generator as in values.h.
"""
import decimal
import math
import struct

MASK = (1 << 64) - 1
LANES = 32
DIMS = (1, 7, 31, 32, 33, 64, 100, 785)
KINDS = ("signed", "counts", "wide", "near")


# ---- arithmetic

def fma(a, b, c):
    if a == 0 or b == 0:
        return a * b + c
    an, ad = a.as_integer_ratio()
    bn, bd = b.as_integer_ratio()
    cn, cd = c.as_integer_ratio()
    n, d = an * bn * cd + cn * ad * bd, ad * bd * cd
    if n == 0:
        return 0.0
    try:
        return n / d
    except OverflowError:
        return math.copysign(math.inf, n)


def fms(a, b, c):
    return fma(a, b, -c)


def fnma(a, b, c):
    return fma(-a, b, c)


def bits(x):
    return struct.unpack("<Q", struct.pack("<d", x))[0]


def from_bits(x):
    return struct.unpack("<d", struct.pack("<Q", x))[0]


def fold(lanes, join):
    s = list(lanes)
    h = LANES // 2
    while h > 0:
        for l in range(h):
            s[l] = join(s[l], s[l + h])
        h //= 2
    return s[0]


def add(a, b):
    return a + b


def plain_sum(terms):
    s = [0.0] * LANES
    for t, x in enumerate(terms):
        s[t % LANES] = s[t % LANES] + x
    return fold(s, add)


def product_sum(pairs):
    s = [0.0] * LANES
    for t, (a, b) in enumerate(pairs):
        s[t % LANES] = fma(a, b, s[t % LANES])
    return fold(s, add)


# ---- log and pow

def hexes(text):
    return [float.fromhex(x) for x in text.split()]


SQRT_HALF = from_bits(0x3FE6A09E667F3BCD)
LN2_HI, LN2_LO = hexes("0x1.62e42fefa3800p-1 0x1.ef35793c76730p-45")
LOG_EVEN = hexes("0x1.5555555555592p-1 0x1.24924941f126bp-2 0x1.74663ee86a1b5p-3 0x1.2f05634234b20p-3")
LOG_ODD = hexes("0x1.999999997fdb7p-2 0x1.c71c52095c72bp-3 0x1.39a1babb1674bp-3")
LOG2_EVEN = hexes("0x1.24924924927bfp-2 0x1.745d17d6194bcp-3 0x1.111dc0650f8fap-3 0x1.e7cdb3515500cp-4")
LOG2_ODD = hexes("0x1.c71c71c65c685p-3 0x1.3b1378905baa4p-3 0x1.dea0bacb452bdp-4")
TWO_FIFTHS = hexes("0x1.999999999999ap-2 -0x1.999999999999ap-56")
TWO_THIRDS = hexes("0x1.5555555555555p-1 0x1.5555555555555p-55")
EXP_EVEN = hexes("0x1.0p-1 0x1.555555555555ep-5 0x1.6c16c16c13573p-10 0x1.a01a01b459987p-16 0x1.27e4bf2b73f1dp-22"
                 " 0x1.1f9df3b1f89a0p-29")
EXP_ODD = hexes("0x1.555555555555cp-3 0x1.111111110ebbap-7 0x1.a01a01b3b8158p-13 0x1.71ddef9b89600p-19"
                " 0x1.af6cbf28210c9p-26")
LOG2_E = float.fromhex("0x1.71547652b82fep+0")
SHIFT = float.fromhex("0x1.8p52")


def split(x):
    """x = m 2^k, sqrt(1/2) <= m < sqrt(2)."""
    m, k = math.frexp(x)
    return (2 * m, float(k - 1)) if m < SQRT_HALF else (m, float(k))


def polynomial(x, c):
    result = c[-1]
    for coefficient in reversed(c[:-1]):
        result = fma(x, result, coefficient)
    return result


def fast_two_sum(a, b):
    hi = a + b
    return hi, (a - hi) + b


def fast_sum(a, b):
    hi, lo = fast_two_sum(a[0], b[0])
    return hi, lo + (a[1] + b[1])


def product(a, b):
    hi = a[0] * b[0]
    return hi, fma(a[0], b[1], fma(a[1], b[0], fms(a[0], b[0], hi)))


def log(x):
    m, k = split(x)
    f = m - 1.0
    s = f / (f + 2.0)
    z = s * s
    z2 = z * z
    half_f = f * 0.5
    bracket = fma(half_f, f, z * fma(z, polynomial(z2, LOG_ODD), polynomial(z2, LOG_EVEN)))
    small = fma(s, bracket, k * LN2_LO)
    hi, lo = fast_two_sum(k * LN2_HI, f)
    return hi + (lo + fnma(half_f, f, small))


def log_double_double(x):
    m, k = split(x)
    f = m - 1.0
    g = m + 1.0
    g_lo = m - (g - 1.0)
    inverse = 1.0 / g
    s_hi = f * inverse
    rest = fnma(s_hi, g_lo, fnma(s_hi, g, f))
    s = (s_hi, rest * inverse)
    z = product(s, s)
    z2 = z[0] * z[0]
    tail = (z[0] * fma(z[0], polynomial(z2, LOG2_ODD), polynomial(z2, LOG2_EVEN)), 0.0)
    inner = fast_sum(TWO_THIRDS, product(z, fast_sum(TWO_FIFTHS, tail)))
    log_m = fast_sum((s[0] + s[0], s[1] + s[1]), product(s, product(z, inner)))
    return fast_sum((k * LN2_HI, k * LN2_LO), log_m)


def exp_double_double(y):
    n = fma(y[0], LOG2_E, SHIFT) - SHIFT
    r = fast_two_sum(fnma(n, LN2_HI, y[0]), fnma(n, LN2_LO, y[1]))
    r2 = r[0] * r[0]
    base = fast_two_sum(1.0, r[0])
    small = fma(r2, fma(r[0], polynomial(r2, EXP_ODD), polynomial(r2, EXP_EVEN)), fma(base[0], r[1], base[1]))
    return math.ldexp(base[0] + small, int(n))


def power(x, p):
    if p == 1:
        return x
    if x == 0:
        return 0.0
    log_x = log_double_double(x)
    hi = p * log_x[0]
    assert abs(hi) < 700  # the rows below stay away from overflow and underflow
    lo = fma(p, log_x[1], fms(p, log_x[0], hi))
    result = exp_double_double((hi, lo))
    exact = decimal.Decimal(x) ** decimal.Decimal(p)
    assert abs(decimal.Decimal(result) - exact) <= decimal.Decimal(math.ulp(result)), (x, p)
    return result


def checked_log(x):
    result = log(x)
    assert abs(decimal.Decimal(result) - decimal.Decimal(x).ln()) <= decimal.Decimal(math.ulp(result)), x
    return result


# ---- rows to u

def centred_ranks(x):
    """2 rank - (d + 1), average ranks: twice the rank is 2 (number below) + (number equal) + 1."""
    below, equal = {}, {}
    for value in x:
        equal[value] = equal.get(value, 0) + 1
    count = 0
    for value in sorted(equal):
        below[value] = count
        count += equal[value]
    return [float(2 * below[v] + equal[v] + 1 - (len(x) + 1)) for v in x]


def unit(x):
    exponent = math.frexp(max(abs(v) for v in x))[1] - 1
    scaled = [math.ldexp(v, -exponent) for v in x]
    inv = 1.0 / math.sqrt(product_sum(zip(scaled, scaled)))
    return [v * inv for v in scaled]


def transform(metric, x):
    """u, or None for a row without direction."""
    if metric == "cosine":
        return None if all(v == 0 for v in x) else unit(x)
    if metric in ("correlation", "spearman"):
        if max(x) == min(x):
            return None
        if metric == "spearman":
            return unit(centred_ranks(x))
        mean = plain_sum(x) / float(len(x))
        return unit([v - mean for v in x])
    if metric == "hellinger":
        return [math.sqrt(v) for v in x]
    if metric == "jensenshannon":
        total = plain_sum(x)
        return [v / total for v in x]
    return list(x)


# ---- keys and values

def js_part(u, m):
    return u * checked_log(u / m) if u > 0 and m > 0 else 0.0


def key(metric, p, u, v):
    pairs = list(zip(u, v))
    if metric == "minkowski" and p in (1, 2):
        metric = {1: "manhattan", 2: "euclidean"}[p]
    if metric in ("sqeuclidean", "euclidean", "hellinger", "cosine", "correlation", "spearman"):
        s = product_sum((a - b, a - b) for a, b in pairs)
        return s if metric in ("sqeuclidean", "euclidean", "hellinger") else 0.5 * s
    if metric == "inner_product":
        return -product_sum(pairs) + 0.0
    if metric == "manhattan":
        return plain_sum(abs(a - b) for a, b in pairs)
    if metric == "chebyshev":
        return max([0.0] + [abs(a - b) for a, b in pairs])
    if metric == "minkowski":
        return plain_sum(power(abs(a - b), p) for a, b in pairs)
    if metric == "canberra":
        return plain_sum(abs(a - b) / (abs(a) + abs(b)) if a != 0 or b != 0 else 0.0 for a, b in pairs)
    if metric == "braycurtis":
        above, below = plain_sum(abs(a - b) for a, b in pairs), plain_sum(abs(a + b) for a, b in pairs)
        return above / below if below != 0 else 0.0
    if metric == "jensenshannon":
        middles = [0.5 * (a + b) for a, b in pairs]
        return max(0.5 * plain_sum(js_part(a, m) + js_part(b, m) for (a, b), m in zip(pairs, middles)), 0.0)
    raise ValueError(metric)


def reported(metric, p, k):
    if metric in ("euclidean", "jensenshannon") or (metric == "minkowski" and p == 2):
        return math.sqrt(k)
    if metric == "hellinger":
        return math.sqrt(0.5 * k)
    if metric == "minkowski" and p != 1:
        return power(k, 1.0 / p)
    return k


def similarity(metric, k):
    return 0.0 - k if metric == "inner_product" else 1.0 - k


# ---- rows

class Random:
    """SplitMix64, as in values.h."""

    def __init__(self, seed):
        self.state = seed

    def next(self):
        self.state = (self.state + 0x9E3779B97F4A7C15) & MASK
        z = self.state
        z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & MASK
        z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & MASK
        return z ^ (z >> 31)

    def uniform(self):
        z = self.next()
        return ((z - (1 << 64) if z >> 63 else z) >> 10) * 2.0 ** -53


def rows(dim, kind, nonnegative):
    random = Random(1000 * dim + kind)
    x, y = [], []
    for _ in range(dim):
        for row in (x, y):
            if KINDS[kind] == "signed":
                row.append(random.uniform())
            elif KINDS[kind] == "counts":
                row.append(float(random.next() % 7))
            elif KINDS[kind] == "wide":
                row.append(math.ldexp(random.uniform(), random.next() % 80 - 40))
            elif row is x:
                row.append(random.uniform())
            else:  # a few units in the last place from x
                row.append(from_bits(bits(x[-1]) + random.next() % 5))
    if nonnegative:
        x, y = [abs(v) for v in x], [abs(v) for v in y]
    return x, y


METRICS = [(name, 2) for name in ("sqeuclidean", "euclidean", "cosine", "correlation", "spearman", "hellinger",
                                  "inner_product", "manhattan", "chebyshev")]
METRICS += [("minkowski", p) for p in (0.5, 1, 1.25, 2, 3)]
METRICS += [(name, 2) for name in ("canberra", "braycurtis", "jensenshannon")]

HEAD = """// Written by golden_keys.py, which has the definition; frozen: graphs on disk and on other machines were made with these
// bits. Rows: golden_rows() of test_metric.cpp makes them from dim and kind.
#ifndef KNNG_TESTS_UNIT_GOLDEN_KEYS_H
#define KNNG_TESTS_UNIT_GOLDEN_KEYS_H

#include <cstdint>

struct GoldenKey {
  const char* metric;
  double p;
  int dim, kind;
  std::uint64_t key, distance, similarity;  // bits
};

// clang-format off
inline constexpr GoldenKey kGoldenKeys[] = {"""


def main():
    decimal.getcontext().prec = 40
    print(HEAD)
    for metric, p in METRICS:
        for dim in DIMS:
            for kind in range(len(KINDS)):
                x, y = rows(dim, kind, metric in ("hellinger", "jensenshannon"))
                u, v = transform(metric, x), transform(metric, y)
                k = 1.0 if u is None or v is None else key(metric, p, u, v)
                numbers = [k, reported(metric, p, k), similarity(metric, k)]
                print('    {"%s", %g, %d, %d, %s},' %
                      (metric, p, dim, kind, ", ".join("0x%016X" % bits(n) for n in numbers)))
    print("};\n// clang-format on\n\n#endif  // KNNG_TESTS_UNIT_GOLDEN_KEYS_H")


if __name__ == "__main__":
    main()

"""How far the polynomials of log and pow are from the series that they stand for, proved in exact arithmetic.

    /usr/bin/python3 elementary_series.py ../../src/metric/elementary-inl.h

The proof of their accuracy (docs/internals/canonical-key.md, "What is proved of log and pow") takes the bounds printed
here. Coefficients are read from the source. The difference of polynomial and series is a polynomial with rational
coefficients, and the series' rest beyond it; the largest difference at the middles of short intervals, and the
derivative's bound times half an interval's length, bound it everywhere. Fails where that exceeds what the proof says.
"""
import re
import sys
from fractions import Fraction
from math import factorial, log2

INTERVALS = 4096
SOURCE = open(sys.argv[1], encoding="utf-8").read()


def coefficients(function):
    """Of polynomial<Ops>(square, c0, ...) named even and odd in a function, by power of the argument."""
    text = SOURCE[re.search(r"KNNG_HD inline [\w:<> ]+ " + function + r"\(", SOURCE).start():]
    found = {}
    for first, name in enumerate(("even", "odd")):
        call = re.search(r"Real " + name + r" =\s*polynomial<Ops>\(\w+, ([^;]*)\);", text).group(1)
        for i, c in enumerate(re.split(r",\s*", call)):
            found[2 * i + first] = Fraction(float.fromhex(c))
    assert sorted(found) == list(range(len(found)))
    return [found[j] for j in range(len(found))]


def value(polynomial, x):
    result = Fraction(0)
    for c in reversed(polynomial):
        result = result * x + c
    return result


def largest(polynomial, low, high):
    """A bound of |polynomial| between two numbers."""
    length = (high - low) / INTERVALS
    reach = max(abs(low), abs(high))
    slope = sum(j * abs(c) * reach**(j - 1) for j, c in enumerate(polynomial) if j > 0)
    # Middles have so many digits less, and the distance of 2^-60 counts too.
    middles = (Fraction(round((low + (i + Fraction(1, 2)) * length) * 2**60), 2**60) for i in range(INTERVALS))
    return max(abs(value(polynomial, x)) for x in middles) + slope * (length / 2 + Fraction(1, 2**60))


# s^2 for s = (m - 1) / (m + 1) and sqrt(1/2) <= m < sqrt(2), and what p log x leaves beside a multiple of ln 2.
Z = Fraction("0.02944")
R = Fraction("0.34658")


def atanh(first):
    """sum 2 z^j / (2 j + first), and what is left of it from j on."""
    return lambda j: Fraction(2, 2 * j + first), lambda j: Fraction(2, 2 * j + first) * Z**j / (1 - Z)


EXP = (lambda j: Fraction(1, factorial(j + 2)), lambda j: R**j / factorial(j + 2) / (1 - R))
PROVED = (
    ("log: R", "log", atanh(3), Fraction(0), Z, 2.0**-44),
    ("log in two doubles: T", "log_double_double", atanh(7), Fraction(0), Z, 2.0**-43),
    ("exp: P", "exp_double_double", EXP, -R, R, 2.0**-54),
)
failed = False
for name, function, (series, rest), low, high, proved in PROVED:
    found = coefficients(function)
    # Terms of the series beyond the polynomial that matter are part of the difference.
    count = len(found) + 4
    difference = [(found[j] if j < len(found) else 0) - series(j) for j in range(count)]
    bound = largest(difference, low, high) + rest(count)
    print(f"{name}: 2^{log2(bound):.2f}, proved with 2^{log2(proved):.0f}")
    failed |= bound > proved
sys.exit(failed)

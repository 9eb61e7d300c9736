"""What the tests share: data, and packages without which a test cannot run."""
import importlib
import os
import sys
import unittest

import numpy as np

CI = os.environ.get("KNNG_CI") == "true"


def need(*modules):
    """Imports modules; where one is missing the program ends as skipped (77), in CI as failed."""
    found = []
    for name in modules:
        try:
            found.append(importlib.import_module(name))
        except ImportError as error:
            print(f"skipped: {error}")
            sys.exit(1 if CI else 77)
    return found[0] if len(found) == 1 else found


def points(n, d, dtype=np.float32, seed=1):
    """Rows without ties: random, or for integers and bools random with ties."""
    rng = np.random.default_rng(seed)
    if np.dtype(dtype).kind == "b":
        return rng.random((n, d)) < 0.5
    if np.dtype(dtype).kind in "iu":
        return rng.integers(0, 100, (n, d)).astype(dtype)
    return rng.standard_normal((n, d)).astype(dtype)


def nearest(x, y, k, same):
    """Ids and distances by the definition, in NumPy and fp64: by distance, then id."""
    x, y = np.asarray(x, np.float64), np.asarray(y, np.float64)
    squares = ((x[:, None, :] - y[None, :, :]) ** 2).sum(axis=2)
    if same:
        np.fill_diagonal(squares, np.inf)
    ids = np.argsort(squares, axis=1, kind="stable")[:, :k]
    return ids, np.sqrt(np.take_along_axis(squares, ids, axis=1))


def main():
    unittest.main(verbosity=1)

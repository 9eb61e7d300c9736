"""Element types and memory spaces: the library's numbers, which are DLPack's, and NumPy's dtypes."""
from __future__ import annotations

from typing import Any

import numpy as np

ANY, HOST, CUDA, PINNED, MANAGED = 0, 1, 2, 3, 13

#: NumPy's kinds of numbers as knng.h has them: DLPack's type code << 8 | bits.
_CODES = {"i": 0, "u": 1, "f": 2}
#: bfloat16 has no dtype in NumPy; the packages that add one name it so.
_BF16 = 0x410
_BOOL = 0x608


def dtype_code(dtype: np.dtype[Any], name: str) -> int:
    """The library's number of a NumPy dtype."""
    if dtype.name == "bfloat16":
        return _BF16
    if dtype.kind == "b":
        return _BOOL
    code = _CODES.get(dtype.kind)
    if code is None or dtype.itemsize > 8:
        raise TypeError(f"{name} has dtype {dtype}; rows are real numbers of at most 64 bits, or bools")
    return code << 8 | dtype.itemsize * 8


def numpy_dtype(code: int) -> np.dtype[Any]:
    """The NumPy dtype of the library's number."""
    if code == _BOOL:
        return np.dtype(bool)
    if code == _BF16:
        raise TypeError("NumPy has no bfloat16; ask for float32, which holds every value")
    return np.dtype({0: "i", 1: "u", 2: "f"}[code >> 8] + str((code & 255) // 8))

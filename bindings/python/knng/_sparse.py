"""A sparse matrix made from a graph."""
from __future__ import annotations

import ctypes
from typing import TYPE_CHECKING, Any, Tuple

import numpy as np

from . import _declarations as c
from . import _rows
from ._handle import Handle
from ._library import call
from ._shared import shown

if TYPE_CHECKING:
    import scipy.sparse


class Sparse:
    """CSR and COO at once, sorted by row, then column; from Graph.sparse(). It never changes.

    Attributes, read-only arrays that are the library's own memory, no copies:
        indptr: rows + 1, int64
        row, col: entries, int64
        value: entries, float32 or float64
    """

    _handle: Handle
    shape: Tuple[int, int]
    indptr: np.ndarray[Any, np.dtype[np.int64]]
    row: np.ndarray[Any, np.dtype[np.int64]]
    col: np.ndarray[Any, np.dtype[np.int64]]
    value: np.ndarray[Any, Any]

    def __init__(self) -> None:
        raise TypeError("sparse matrices are made by Graph.sparse()")

    @classmethod
    def _of(cls, handle: Handle) -> Sparse:
        made = object.__new__(cls)
        made._handle = handle
        rows, cols, entries = ctypes.c_int64(), ctypes.c_int64(), ctypes.c_int64()
        views = [c.Matrix() for _ in range(4)]
        with handle as s:
            call("knng_sparse_shape", s, ctypes.byref(rows), ctypes.byref(cols), ctypes.byref(entries))
            call("knng_sparse_view", s, *(ctypes.byref(view) for view in views))
        made.shape = rows.value, cols.value
        sizes = [rows.value + 1] + [entries.value] * 3
        made.indptr, made.row, made.col, made.value = (
            shown(view, (size,), handle) for view, size in zip(views, sizes))
        return made

    @property
    def nnz(self) -> int:
        """Number of entries."""
        return len(self.value)

    def __repr__(self) -> str:
        return f"<knng.Sparse {self.shape[0]} x {self.shape[1]}, {self.nnz} entries>"

    def to_scipy(self) -> scipy.sparse.csr_matrix:
        """A scipy.sparse.csr_matrix of its own memory; ids are int32 where they fit. Zeros are entries like others."""
        from scipy.sparse import csr_matrix

        dtype = np.int32 if max(self.nnz, self.shape[1]) <= np.iinfo(np.int32).max else np.int64
        indptr, col = np.empty(self.shape[0] + 1, dtype), np.empty(self.nnz, dtype)
        value = np.empty(self.nnz, self.value.dtype)
        to = [ctypes.byref(_rows.writable(array)) for array in (indptr, col, value)]
        with self._handle as s:
            call("knng_sparse_copy", s, 0, to[0], None, to[1], to[2])
        made = csr_matrix((value, col, indptr), shape=self.shape)
        made.has_sorted_indices = True
        return made

"""Arrays as knng_matrix: what Python calls an array in, a view of the same memory out wherever that can be."""
from __future__ import annotations

import sys
from typing import Any, Iterator, Tuple

import numpy as np

from . import _declarations as c
from ._dtypes import HOST, dtype_code
from ._foreign import View, view_of_foreign


# AnnData of a file shows its matrix as an object of its own, which is not in memory.
def _advice(x: Any) -> str:
    if type(x).__module__.partition(".")[0] != "anndata":
        return ""
    return ": give the name of the file, or adata.to_memory()" if hasattr(x, "to_memory") else ": give its X"


def _as_numpy(x: Any, name: str) -> np.ndarray[Any, Any]:
    if isinstance(x, np.ma.MaskedArray):
        raise TypeError(f"{name} is a masked array; fill or drop what is masked first")
    if isinstance(x, (str, bytes)):
        raise TypeError(f"{name} must be an array of numbers, not {type(x).__name__}")
    try:
        array = np.asarray(x)
    except ValueError as error:  # rows of different lengths
        raise ValueError(f"{name} must be a rectangular array of numbers: {error}") from None
    if array.dtype.kind == "O" and array.ndim == 0:
        raise TypeError(f"{name} must be an array of numbers, not {type(x).__name__}{_advice(x)}")
    if array.dtype.kind == "O" and array.ndim == 1 and array.size and all(np.ndim(row) == 1 for row in array):
        raise ValueError(f"{name} must be a rectangular array of numbers; its rows have different lengths")
    return array


def view_of_array(array: np.ndarray[Any, Any], name: str) -> View:
    """A NumPy array of two dimensions as the library sees it, without copying it. What no pair of strides describes,
    and what is in another byte order, is copied."""
    code = dtype_code(array.dtype, name)
    if array.ndim != 2:
        advice = (f": one point is {name}[None, :], points on a line are {name}[:, None]"
                  if array.ndim == 1 and name in ("x", "query") else "")
        raise ValueError(f"{name} must have 2 dimensions, points x values, not {array.ndim}{advice}")
    if not array.dtype.isnative:
        array = array.astype(array.dtype.newbyteorder("="))
    size = array.itemsize
    strides = [stride // size if extent > 1 else 1 for stride, extent in zip(array.strides, array.shape)]
    regular = all(extent <= 1 or (stride and stride % size == 0) for stride, extent in zip(array.strides, array.shape))
    if not regular or not array.flags.aligned:
        array = np.ascontiguousarray(array)
        if not array.flags.aligned:
            array = array.copy()
        strides = [array.shape[1], 1]
    rows, cols = array.shape
    if array.flags.c_contiguous:
        strides = [max(cols, 1), 1]
    matrix = c.Matrix(dtype=code, space=HOST, rows=rows, cols=cols, row_stride=strides[0], col_stride=strides[1],
                      data=array.ctypes.data)
    return View(matrix, array)


def view(x: Any, name: str = "x") -> View:
    """Anything with rows as a matrix of the library's."""
    if _is_frame(x):
        x = _frame_values(x, name)
    return view_of_foreign(x, name) or view_of_array(_as_numpy(x, name), name)


def _signed(array: np.ndarray[Any, Any], name: str) -> np.ndarray[Any, Any]:
    """Ids of any integers as int32 or int64."""
    if array.dtype.kind not in "iu" or array.dtype in (np.int32, np.int64):
        return array
    wide = array.astype(np.int64)
    if array.dtype.kind == "u" and (wide < 0).any():
        raise ValueError(f"{name} has ids beyond int64")
    return wide


def view_of_ids(x: Any, name: str) -> View:
    """Lists of ids as a matrix of the library's."""
    return view_of_foreign(x, name) or view_of_array(_signed(_as_numpy(x, name), name), name)


def column(values: Any, name: str, rows: int) -> View:
    """A vector of ids as rows x 1, int32 or int64."""
    seen = view_of_foreign(values, name, column=True)
    if seen is not None:
        return seen
    array = _as_numpy(values, name)
    if array.dtype.kind not in "iu":
        raise TypeError(f"{name} must be integers, not {array.dtype}")
    if array.shape != (rows,):
        raise ValueError(f"{name} must have {rows} entries, one for each query, not shape {array.shape}")
    return view_of_array(_signed(array, name).reshape(rows, 1), name)


def writable(array: np.ndarray[Any, Any]) -> c.Matrix:
    """An array of this package's own as an output of the library: two dimensions, or one as a column."""
    target = array if array.ndim == 2 else array.reshape(-1, 1)
    seen = view_of_array(target, "the result")
    if seen.owner is not target:  # a copy, which would be written to in its place
        raise TypeError(f"results are written in the machine's byte order, not as {array.dtype}")
    return seen.matrix


# pandas is not imported for those who do not use it: who has a frame has imported it.
def _is_frame(x: Any) -> bool:
    pandas = sys.modules.get("pandas")
    return pandas is not None and isinstance(x, pandas.DataFrame)


def _frame_values(frame: Any, name: str) -> np.ndarray[Any, Any]:
    values: np.ndarray[Any, Any] = frame.to_numpy()
    if values.dtype.kind == "O":
        wrong = [str(label) for label, dtype in frame.dtypes.items() if getattr(dtype, "kind", "O") not in "biuf"]
        if wrong:
            raise TypeError(f"{name} has columns that are no numbers: {', '.join(wrong[:5])}")
        # What the columns would be without pandas' mark of a missing value, which only floats have a place for.
        dtype = np.result_type(*(getattr(dtype, "numpy_dtype", dtype) for dtype in frame.dtypes))
        if dtype.kind == "f":
            values = frame.to_numpy(dtype=dtype, na_value=np.nan)
        elif frame.isna().to_numpy().any():
            values = frame.to_numpy(dtype=np.float64, na_value=np.nan)
        else:
            values = frame.to_numpy(dtype=dtype)
    return values


def of_anndata(x: Any) -> Tuple[Any, str]:
    """The rows of an AnnData object, and where they are: its principal components, obsm["X_pca"], or X where there are
    none. Of anything else x itself, and ""."""
    module = sys.modules.get("anndata")
    if module is None or not isinstance(x, module.AnnData):
        return x, ""
    return (x.obsm["X_pca"], "obsm/X_pca") if "X_pca" in x.obsm else (x.X, "X")


#: Sparse rows are made dense in blocks of so many bytes.
BLOCK_BYTES = 64 << 20


def is_sparse(x: Any) -> bool:
    """Whether x is a sparse matrix or array of SciPy's."""
    sparse = sys.modules.get("scipy.sparse")
    return sparse is not None and sparse.issparse(x)


def dense_blocks(x: Any) -> Iterator[np.ndarray[Any, Any]]:
    """The rows of a sparse matrix as dense arrays, a few at a time."""
    rows = x.tocsr()
    n, d = rows.shape
    step = max(1, BLOCK_BYTES // max(1, d * rows.dtype.itemsize))
    for first in range(0, n, step):
        yield rows[first:first + step].toarray()

"""Arrays as knng_matrix: what Python calls an array in, a view of the same memory out wherever that can be."""
from __future__ import annotations

import sys
from typing import Any, Dict, Iterator, NamedTuple, Optional, Sequence, Tuple

import numpy as np

from . import _declarations as c
from . import _dlpack
from ._settings import devices

ANY, HOST, CUDA, PINNED, MANAGED = 0, 1, 2, 3, 13

#: NumPy's kinds of numbers as knng.h has them: DLPack's type code << 8 | bits.
_CODES = {"i": 0, "u": 1, "f": 2}
#: bfloat16 has no dtype in NumPy; the packages that add one name it so.
_BF16 = 0x410
_BOOL = 0x608


class View(NamedTuple):
    """A matrix and what must live as long as it is used."""
    matrix: c.Matrix
    owner: Any


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


def _as_numpy(x: Any, name: str) -> np.ndarray[Any, Any]:
    if isinstance(x, np.ma.MaskedArray):
        raise TypeError(f"{name} is a masked array; fill or drop what is masked first")
    if isinstance(x, (str, bytes)):
        raise TypeError(f"{name} must be an array of numbers, not {type(x).__name__}")
    try:
        array = np.asarray(x)
    except ValueError as error:  # rows of different lengths
        raise ValueError(f"{name} must be a rectangular array of numbers: {error}") from None
    if array.dtype.kind == "O" and array.ndim == 1 and array.size and all(np.ndim(row) == 1 for row in array):
        raise ValueError(f"{name} must be a rectangular array of numbers; its rows have different lengths")
    return array


def view_of_array(array: np.ndarray[Any, Any], name: str) -> View:
    """A NumPy array of two dimensions as the library sees it, without copying it. What no pair of strides describes,
    and what is in another byte order, is copied."""
    code = dtype_code(array.dtype, name)
    if array.ndim != 2:
        raise ValueError(f"{name} must have 2 dimensions, points x values, not {array.ndim}")
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


def _matrix(dtype: int, space: int, shape: Sequence[int], strides: Optional[Sequence[int]], name: str,
            **members: Any) -> c.Matrix:
    """Two dimensions of another package's memory; strides in elements, None: packed."""
    if len(shape) != 2:
        raise ValueError(f"{name} must have 2 dimensions, points x values, not {len(shape)}")
    rows, cols = shape
    row_stride, col_stride = strides if strides is not None else (max(cols, 1), 1)
    return c.Matrix(dtype=dtype, space=space, rows=rows, cols=cols, row_stride=row_stride if rows > 1 else max(cols, 1),
                    col_stride=col_stride if cols > 1 else 1, **members)


def _view_of_dlpack(x: Any, name: str, column: bool) -> View:
    kind, number = x.__dlpack_device__()
    if int(kind) not in (HOST, CUDA, PINNED, MANAGED):
        raise TypeError(f"{name} is on a device of DLPack's type {int(kind)}; the library reads memory of hosts and of "
                        "CUDA")
    on_device = int(kind) in (CUDA, MANAGED)
    # 1, the legacy default stream: the producer sees to it that the memory is ready for what comes in it.
    tensor = _dlpack.Imported(x, 1 if on_device else None)
    if tensor.code not in (0, 1, 2, 4, 6) or tensor.bits > 64 or tensor.bits < 8 or tensor.lanes != 1:
        raise TypeError(f"{name} has DLPack's type {tensor.code} of {tensor.bits} bits; rows are real numbers of at "
                        "most 64 bits, or bools")
    shape, strides = tensor.shape, tensor.strides
    if column and len(shape) == 1:
        shape, strides = (shape[0], 1), strides and (strides[0], 1)
    return View(_matrix(tensor.code << 8 | tensor.bits, tensor.device_type, shape, strides, name, data=tensor.data,
                        device=int(number), stream=1 if on_device else 0), tensor)


def _view_of_cuda_array(x: Any, name: str, column: bool) -> View:
    shows = x.__cuda_array_interface__
    if shows.get("mask") is not None:
        raise TypeError(f"{name} is a masked array; fill or drop what is masked first")
    dtype = np.dtype(shows["typestr"])
    code = dtype_code(dtype, name)
    shape, strides = tuple(shows["shape"]), shows.get("strides")
    if strides is not None:
        if any(stride % dtype.itemsize for stride in strides):
            raise ValueError(f"{name} has strides of {strides} bytes, which are no multiples of its {dtype.itemsize}")
        strides = tuple(stride // dtype.itemsize for stride in strides)
    if column and len(shape) == 1:
        shape, strides = (shape[0], 1), strides and (strides[0], 1)
    # The interface does not say which device: the library asks CUDA, if it has loaded it. Else it says why it cannot.
    space = ANY if any(device.usable for device in devices()[1:]) else CUDA
    return View(_matrix(code, space, shape, strides, name, data=shows["data"][0], stream=shows.get("stream") or 0),
                (x, shows))


def _foreign(x: Any, name: str, column: bool = False) -> Optional[View]:
    """x as a matrix if another package owns its memory, which may be on a device."""
    if isinstance(x, (np.ndarray, list, tuple)):
        return None
    if hasattr(x, "__dlpack__") and hasattr(x, "__dlpack_device__"):
        return _view_of_dlpack(x, name, column)
    if hasattr(x, "__cuda_array_interface__"):
        return _view_of_cuda_array(x, name, column)
    return None


def view(x: Any, name: str = "x") -> View:
    """Anything with rows as a matrix of the library's."""
    if _is_frame(x):
        x = _frame_values(x, name)
    return _foreign(x, name) or view_of_array(_as_numpy(x, name), name)


def column(values: Any, name: str, rows: int) -> View:
    """A vector of ids as rows x 1, int32 or int64."""
    seen = _foreign(values, name, column=True)
    if seen is not None:
        return seen
    array = _as_numpy(values, name)
    if array.dtype.kind not in "iu":
        raise TypeError(f"{name} must be integers, not {array.dtype}")
    if array.shape != (rows,):
        raise ValueError(f"{name} must have {rows} entries, one for each query, not shape {array.shape}")
    if array.dtype not in (np.int32, np.int64):
        wide = array.astype(np.int64)
        if (wide < 0).any() and array.dtype.kind == "u":
            raise ValueError(f"{name} has ids beyond int64")
        array = wide
    return view_of_array(array.reshape(rows, 1), name)


def writable(array: np.ndarray[Any, Any]) -> c.Matrix:
    """An array of this package's own as an output of the library: two dimensions, or one as a column."""
    return view_of_array(array if array.ndim == 2 else array.reshape(-1, 1), "the result").matrix


class _Shown:
    """Memory of the library's as NumPy looks for it, read only; holds what owns it."""

    def __init__(self, matrix: c.Matrix, shape: Tuple[int, ...], owner: Any) -> None:
        self._owner = owner
        self.__array_interface__ = {
            "shape": shape, "typestr": numpy_dtype(matrix.dtype).str, "data": (matrix.data or 0, True), "version": 3}


class Shared:
    """Memory of the library's, on a host or a device, for packages that take DLPack, the array interface or
    __cuda_array_interface__ without a copy: torch.from_dlpack(a), cupy.asarray(a), numpy.asarray(a). Read only.

    Attributes:
        shape: of the array
        dtype: of its elements, NumPy's
        device: DLPack's type of device (1 the host, 2 CUDA) and its number
    """

    def __init__(self, matrix: c.Matrix, shape: Tuple[int, ...], owner: Any) -> None:
        self._owner = owner
        self._code, self._data = matrix.dtype, matrix.data or 0
        self.shape = shape
        self.dtype = numpy_dtype(matrix.dtype)
        self.device = matrix.space, matrix.device if matrix.space != HOST else 0
        interface: Dict[str, Any] = {"shape": shape, "typestr": self.dtype.str, "data": (self._data, True),
                                     "version": 3, "strides": None}
        if matrix.space == HOST:
            self.__array_interface__ = interface
        else:  # ready for any stream
            self.__cuda_array_interface__ = {**interface, "stream": None}

    def __repr__(self) -> str:
        return f"<knng.Shared: {self.dtype} {self.shape} on {'host' if self.device[0] == HOST else 'device'} " \
               f"{self.device[1]}>"

    def __len__(self) -> int:
        return self.shape[0]

    def __dlpack_device__(self) -> Tuple[int, int]:
        return self.device

    def __dlpack__(self, *, stream: Any = None, max_version: Optional[Tuple[int, int]] = None,
                   dl_device: Optional[Tuple[int, int]] = None, copy: Optional[bool] = None) -> Any:
        if copy or (dl_device is not None and tuple(dl_device) != self.device):
            raise BufferError("the memory is shown where it is, not copied")
        return _dlpack.export(self._owner, self._data, self.device, self._code, self.shape, max_version)


def shown(matrix: c.Matrix, shape: Tuple[int, ...], owner: Any) -> np.ndarray[Any, Any]:
    """A packed matrix that the library shows in host memory, as an array that is no copy and cannot be written to."""
    if 0 in shape:
        empty = np.empty(shape, numpy_dtype(matrix.dtype))
        empty.flags.writeable = False
        return empty
    return np.asarray(_Shown(matrix, shape, owner))


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
        values = frame.to_numpy(dtype=np.float64, na_value=np.nan)
    return values


def of_anndata(x: Any) -> Any:
    """The rows of an AnnData object: its principal components, obsm["X_pca"], or X where there are none."""
    module = sys.modules.get("anndata")
    if module is None or not isinstance(x, module.AnnData):
        return x
    return x.obsm["X_pca"] if "X_pca" in x.obsm else x.X


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

"""Memory that another package owns, on the host or on a GPU, as knng_matrix: by DLPack or __cuda_array_interface__."""
from __future__ import annotations

from typing import Any, NamedTuple, Optional, Sequence

import numpy as np

from . import _declarations as c
from . import _dlpack
from ._dtypes import ANY, CUDA, HOST, MANAGED, PINNED, dtype_code
from ._settings import devices


class View(NamedTuple):
    """A matrix and what must live as long as it is used."""
    matrix: c.Matrix
    owner: Any


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


def view_of_foreign(x: Any, name: str, column: bool = False) -> Optional[View]:
    """x as a matrix if another package owns its memory, which may be on a device."""
    if isinstance(x, (np.ndarray, list, tuple)):
        return None
    if hasattr(x, "__dlpack__") and hasattr(x, "__dlpack_device__"):
        return _view_of_dlpack(x, name, column)
    if hasattr(x, "__cuda_array_interface__"):
        return _view_of_cuda_array(x, name, column)
    return None

"""Memory that the library owns, shown to NumPy and to packages that take DLPack or __cuda_array_interface__."""
from __future__ import annotations

from typing import Any, Dict, Optional, Tuple

import numpy as np

from . import _declarations as c
from . import _dlpack
from ._dtypes import HOST, numpy_dtype


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

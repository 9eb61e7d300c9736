"""DLPack, in and out: the structs of its header, capsules, and who frees what. Knows nothing of graphs.

In, a capsule is kept unconsumed as long as its memory is used: when it goes its own destructor frees what it holds.
Out, `pins` keeps what the consumer uses until it calls the deleter.
"""
from __future__ import annotations

import ctypes
from ctypes import POINTER, c_char_p, c_int32, c_int64, c_uint8, c_uint16, c_uint32, c_uint64, c_void_p
from typing import Any, Dict, Optional, Sequence, Tuple

READ_ONLY = 1


class _Tensor(ctypes.Structure):
    """DLTensor"""

    _fields_ = [("data", c_void_p), ("device_type", c_int32), ("device_id", c_int32), ("ndim", c_int32),
                ("code", c_uint8), ("bits", c_uint8), ("lanes", c_uint16), ("shape", POINTER(c_int64)),
                ("strides", POINTER(c_int64)), ("byte_offset", c_uint64)]


class _Managed(ctypes.Structure):
    """DLManagedTensor, of versions before 1"""

    _fields_ = [("tensor", _Tensor), ("context", c_void_p), ("deleter", c_void_p)]


class _Versioned(ctypes.Structure):
    """DLManagedTensorVersioned, from version 1 on"""

    _fields_ = [("major", c_uint32), ("minor", c_uint32), ("context", c_void_p), ("deleter", c_void_p),
                ("flags", c_uint64), ("tensor", _Tensor)]


# Python does not copy the names of capsules: these live as long as the module.
_OLD, _NEW = ctypes.create_string_buffer(b"dltensor"), ctypes.create_string_buffer(b"dltensor_versioned")
NAMES = {b"dltensor": _Managed, b"dltensor_versioned": _Versioned}

_api = ctypes.pythonapi
_capsule_name = ctypes.PYFUNCTYPE(c_char_p, ctypes.py_object)(("PyCapsule_GetName", _api))
_capsule_pointer = ctypes.PYFUNCTYPE(c_void_p, ctypes.py_object, c_char_p)(("PyCapsule_GetPointer", _api))
_new_capsule = ctypes.PYFUNCTYPE(ctypes.py_object, c_void_p, c_void_p, c_void_p)(("PyCapsule_New", _api))
# A destructor is given an object that is going: it must not become a Python object once more.
_going_is_valid = ctypes.PYFUNCTYPE(c_int32, c_void_p, c_char_p)(("PyCapsule_IsValid", _api))
_going_pointer = ctypes.PYFUNCTYPE(c_void_p, c_void_p, c_char_p)(("PyCapsule_GetPointer", _api))


class Imported:
    """A tensor of another package's: where it is and what it holds. `capsule` must live as long as it is used."""

    def __init__(self, x: Any, stream: Optional[int]) -> None:
        options = {} if stream is None else {"stream": stream}
        try:
            self.capsule = x.__dlpack__(**options)
        except BufferError:  # read-only memory, which only later versions can say
            self.capsule = x.__dlpack__(max_version=(1, 0), **options)
        name = _capsule_name(self.capsule)
        kind = NAMES.get(name)
        if kind is None:
            raise TypeError(f"__dlpack__() gave a capsule called {name!r}")
        managed = kind.from_address(_capsule_pointer(self.capsule, name))
        if kind is _Versioned and managed.major != 1:
            raise TypeError(f"version {managed.major} of DLPack is not known")
        t = managed.tensor
        self.device_type, self.device, self.code, self.bits, self.lanes = (
            t.device_type, t.device_id, t.code, t.bits, t.lanes)
        self.shape = tuple(t.shape[i] for i in range(t.ndim))
        self.strides = tuple(t.strides[i] for i in range(t.ndim)) if t.strides else None
        self.data = (t.data or 0) + t.byte_offset


pins: Dict[int, Tuple[Any, ...]] = {}


def _unpin(address: int) -> None:
    pins.pop(address, None)


_deleter = ctypes.CFUNCTYPE(None, c_void_p)(_unpin)


def _capsule_goes(capsule: int) -> None:
    for name in NAMES:  # a consumer has renamed it, and calls the deleter himself
        if _going_is_valid(capsule, name):
            _unpin(_going_pointer(capsule, name))


_destructor = ctypes.PYFUNCTYPE(None, c_void_p)(_capsule_goes)


def export(owner: Any, data: int, device: Tuple[int, int], dtype: int, shape: Sequence[int],
           max_version: Optional[Tuple[int, int]]) -> Any:
    """A capsule that shows packed memory, read only, and keeps `owner` until it is not used any more.

    Args:
        device: DLPack's type and number
        dtype: type code << 8 | bits
        max_version: of the consumer; None: before 1, whose arrays cannot say that memory is read only
    """
    extents = (c_int64 * len(shape))(*shape)
    steps = (c_int64 * len(shape))()
    step = 1
    for i in reversed(range(len(shape))):
        steps[i] = step
        step *= shape[i]
    tensor = _Tensor(data, device[0], device[1], len(shape), dtype >> 8, dtype & 255, 1, extents, steps, 0)
    managed: Any
    deleter = ctypes.cast(_deleter, c_void_p).value
    if max_version is not None and max_version[0] >= 1:
        name, managed = _NEW, _Versioned(1, 0, None, deleter, READ_ONLY, tensor)
    else:
        name, managed = _OLD, _Managed(tensor, None, deleter)
    address = ctypes.addressof(managed)
    pins[address] = managed, extents, steps, owner
    try:
        return _new_capsule(address, ctypes.addressof(name), ctypes.cast(_destructor, c_void_p))
    except BaseException:
        _unpin(address)
        raise

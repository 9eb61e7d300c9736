"""The C interface as ctypes sees it: structs, callbacks and functions of knng.h, and nothing else.

`bindings/api` has the same as data, made from the headers; a test compares the two.
"""
from __future__ import annotations

import ctypes
from ctypes import POINTER, c_char, c_char_p, c_double, c_int32, c_int64, c_uint32, c_uint64, c_void_p
from typing import Any

#: The version of knng.h that these declarations were written for: major << 16 | minor << 8 | patch.
HEADER_VERSION = 0x000900

PROGRESS = ctypes.CFUNCTYPE(c_int32, c_void_p, c_char_p, c_double, c_double)
LOG = ctypes.CFUNCTYPE(None, c_void_p, c_int32, c_char_p)
RELEASE = ctypes.CFUNCTYPE(None, c_void_p)


class Struct(ctypes.Structure):
    """A struct of knng.h: zeros but for struct_size, which every one of them begins with."""

    def __init__(self, **members: Any) -> None:
        super().__init__(struct_size=ctypes.sizeof(type(self)), **members)


class Matrix(Struct):
    """knng_matrix"""

    _fields_ = [
        ("struct_size", c_uint32),
        ("dtype", c_int32),
        ("space", c_int32),
        ("device", c_int32),
        ("rows", c_int64),
        ("cols", c_int64),
        ("row_stride", c_int64),
        ("col_stride", c_int64),
        ("stream", c_uint64),
        ("data", c_void_p),
        ("release", RELEASE),
        ("owner", c_void_p),
    ]


class Control(Struct):
    """knng_control"""

    _fields_ = [
        ("struct_size", c_uint32),
        ("interval_ms", c_uint32),
        ("progress", PROGRESS),
        ("log", LOG),
        ("user", c_void_p),
        ("stop", POINTER(c_int32)),
        ("max_bytes", c_int64),
    ]


class Error(Struct):
    """knng_error"""

    _fields_ = [
        ("struct_size", c_uint32),
        ("code", c_int32),
        ("row", c_int64),
        ("col", c_int64),
        ("given", c_int64),
        ("limit", c_int64),
        ("argument", c_char * 32),
        ("message", c_char * 480),
        ("reason", c_char * 416),
    ]


class Option(Struct):
    """knng_option"""

    _fields_ = [
        ("struct_size", c_uint32),
        ("type", c_int32),
        ("name", c_char_p),
        ("fallback", c_char_p),
        ("range", c_char_p),
        ("doc", c_char_p),
        ("environment", c_char_p),
    ]


class Plan(Struct):
    """knng_plan"""

    _fields_ = [
        ("struct_size", c_uint32),
        ("devices", c_uint32),
        ("host_bytes", c_int64),
        ("device_bytes", c_int64),
        ("smallest_host", c_int64),
        ("smallest_device", c_int64),
        ("tile_rows", c_int64),
        ("tile_cols", c_int64),
        ("tiles", c_int64),
        ("seconds", c_double),
    ]


class Device(Struct):
    """knng_device"""

    _fields_ = [
        ("struct_size", c_uint32),
        ("usable", c_int32),
        ("memory", c_int64),
        ("memory_free", c_int64),
        ("name", c_char * 96),
        ("why_not", c_char * 256),
    ]


STRUCTS = {
    "knng_matrix": Matrix,
    "knng_control": Control,
    "knng_error": Error,
    "knng_option": Option,
    "knng_plan": Plan,
    "knng_device": Device,
}

_matrix, _control, _error = POINTER(Matrix), POINTER(Control), POINTER(Error)
_new, _text, _i64, _handle = POINTER(c_void_p), c_char_p, POINTER(c_int64), c_void_p

#: name: (result, arguments)
FUNCTIONS: dict[str, tuple[Any, list[Any]]] = {
    "knng_version": (c_int32, []),
    "knng_last_error": (c_char_p, []),
    "knng_create": (c_int32, [_new, c_int64, c_int32, _error]),
    "knng_share": (c_int32, [_new, _handle, _error]),
    "knng_destroy": (None, [_handle]),
    "knng_set": (c_int32, [_handle, _text, _text, _error]),
    "knng_get": (c_int32, [_handle, _text, c_char_p, c_int64, _i64, _error]),
    "knng_option_get": (c_int32, [c_int32, POINTER(Option), _error]),
    "knng_device_get": (c_int32, [c_int32, POINTER(Device), _error]),
    "knng_metric_name": (c_int32, [c_int32, POINTER(c_char_p), POINTER(c_char_p), _error]),
    "knng_use_matrix_tiles": (c_int32, [_error]),
    "knng_stat_name": (c_int32, [c_int32, POINTER(c_char_p), POINTER(c_char_p), _error]),
    "knng_add": (c_int32, [_handle, _matrix, _control, _error]),
    "knng_borrow": (c_int32, [_handle, _matrix, _control, _error]),
    "knng_add_file": (c_int32, [_handle, _text, _control, _error]),
    "knng_file_text": (c_int32, [_handle, c_int32, _text, c_char_p, c_int64, _i64, _error]),
    "knng_shape": (c_int32, [_handle, _i64, _i64, POINTER(c_int32), _error]),
    "knng_read": (c_int32, [_handle, c_int64, _matrix, _error]),
    "knng_estimate": (c_int32, [_handle, c_int64, c_int64, POINTER(Plan), _error]),
    "knng_build": (c_int32, [_handle, c_int64, _control, _new, _error]),
    "knng_query": (c_int32, [_handle, _matrix, _matrix, c_int32, c_int64, _control, _new, _error]),
    "knng_query_file": (c_int32, [_handle, _text, c_int64, _control, _new, _error]),
    "knng_check": (c_int32, [_handle, c_void_p, c_int64, _control, _i64, _error]),
    "knng_graph_import": (c_int32, [_new, _matrix, _matrix, c_int32, c_int64, c_int32, _error]),
    "knng_graph_describe": (c_int32, [_handle, _text, _matrix, _matrix, _error]),
    "knng_graph_shape": (c_int32, [_handle, _i64, _i64, _i64, POINTER(c_int32), _error]),
    "knng_graph_view": (c_int32, [_handle, _matrix, _matrix, _error]),
    "knng_graph_copy": (c_int32, [_handle, c_int32, _matrix, _matrix, _error]),
    "knng_graph_rows": (c_int32, [_handle, _text, _matrix, _error]),
    "knng_graph_stat": (c_int32, [_handle, _text, POINTER(c_double), _error]),
    "knng_graph_text": (c_int32, [_handle, _text, c_char_p, c_int64, _i64, _error]),
    "knng_graph_save": (c_int32, [_handle, _text, _text, _control, _error]),
    "knng_graph_load": (c_int32, [_new, _text, _control, _error]),
    "knng_graph_destroy": (None, [_handle]),
    "knng_graph_sparse": (c_int32, [_handle, _text, _control, _new, _error]),
    "knng_sparse_shape": (c_int32, [_handle, _i64, _i64, _i64, _error]),
    "knng_sparse_view": (c_int32, [_handle, _matrix, _matrix, _matrix, _matrix, _error]),
    "knng_sparse_copy": (c_int32, [_handle, c_int32, _matrix, _matrix, _matrix, _matrix, _error]),
    "knng_sparse_destroy": (None, [_handle]),
}


def declare(library: ctypes.CDLL) -> None:
    """Tells ctypes the types of all functions. AttributeError names one that the library lacks."""
    for name, (result, arguments) in FUNCTIONS.items():
        function = getattr(library, name)
        function.restype = result
        function.argtypes = arguments

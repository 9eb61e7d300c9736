"""Finding and loading libknng, and calling it: a status becomes an exception."""
from __future__ import annotations

import ctypes
import os
import pathlib
import sys
import sysconfig
from typing import Any, Mapping, Optional, Sequence

from . import _declarations as c
from ._errors import raise_for

SONAME = "libknng.so.0"
PLUGINS = "knng" + SONAME.rpartition(".")[2]


def _candidates() -> list[str]:
    """Where the library may be, the first that loads is taken: what KNNG_LIBRARY names (then nothing else), what lies
    in this package (as in a wheel), what the system's loader finds."""
    named = os.environ.get("KNNG_LIBRARY")
    if named:
        return [named]
    inside = pathlib.Path(__file__).parent / "lib" / SONAME
    return ([str(inside)] if inside.exists() else []) + [SONAME]


def _point_to_cuda() -> None:
    """Lets a library that came in a wheel find the CUDA library, which does not: where a package of the system or an
    environment has installed it. libknng looks beside itself and where KNNG_BACKEND_DIR says, which is left as it is if
    it is set."""
    if os.environ.get("KNNG_BACKEND_DIR"):
        return
    multiarch = sysconfig.get_config_var("MULTIARCH") or ""
    roots = [folder for folder in os.environ.get("LD_LIBRARY_PATH", "").split(":") if os.path.isabs(folder)]
    for root in [sys.prefix + "/lib", "/usr/local/lib", "/usr/lib"]:
        roots += [root, f"{root}/{multiarch}", f"{root}64"]
    for root in roots:
        if os.path.exists(f"{root}/{PLUGINS}/libknng_cuda.so"):
            os.environ["KNNG_BACKEND_DIR"] = f"{root}/{PLUGINS}"
            return


def _load() -> ctypes.CDLL:
    failures = []
    for name in _candidates():
        if name != SONAME and name != os.environ.get("KNNG_LIBRARY"):
            _point_to_cuda()
        try:
            library = ctypes.CDLL(name)
        except OSError as error:
            failures.append(f"{name}: {error}")
            continue
        try:
            c.declare(library)
        except AttributeError as error:
            raise ImportError(f"{name} is not the libknng that this package needs: {error}") from None
        version = library.knng_version()
        # Before 1.0 a minor version may change the interface.
        if version >> 8 != c.HEADER_VERSION >> 8:
            raise ImportError(f"{name} is libknng {text_of_version(version)}, and this package needs "
                              f"{text_of_version(c.HEADER_VERSION >> 8 << 8)[:-2]}.x")
        return library
    raise ImportError("libknng was not found. Install it (libknng0 of the system, or `cmake --install` and "
                      "`ldconfig`), or let the environment variable KNNG_LIBRARY name libknng.so.0. Tried: "
                      + "; ".join(failures))


def text_of_version(version: int) -> str:
    """0x000900 as 0.9.0"""
    return f"{version >> 16}.{version >> 8 & 255}.{version & 255}"


lib = _load()


def call(name: str, *arguments: Any, names: Mapping[str, str] | None = None) -> None:
    """Calls a function whose last parameter is a knng_error, which is added here; raises what it says, with Python's
    `names` of parameters."""
    error = c.Error()
    if getattr(lib, name)(*arguments, ctypes.byref(error)):
        raise_for(error, names, path=path_of(arguments))


def path_of(arguments: Sequence[Any]) -> Optional[bytes]:
    """The file name among them: it is the first text of every function that takes one."""
    return next((argument for argument in arguments if isinstance(argument, bytes)), None)


def text(function: str, *of: Any) -> str:
    """What knng_get(), knng_file_text() or knng_graph_text() has of `of`, the last of which is a name."""
    needed = ctypes.c_int64()
    buffer = ctypes.create_string_buffer(256)
    of = (*of[:-1], of[-1].encode())
    error = c.Error()
    status = getattr(lib, function)(*of, buffer, len(buffer), ctypes.byref(needed), ctypes.byref(error))
    if status and needed.value > len(buffer):
        buffer = ctypes.create_string_buffer(needed.value)
        status = getattr(lib, function)(*of, buffer, len(buffer), None, ctypes.byref(error))
    if status:
        raise_for(error)
    return buffer.value.decode()

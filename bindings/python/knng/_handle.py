"""A pointer of the library's and the call that destroys it, exactly once, whoever asks and from whichever thread."""
from __future__ import annotations

import ctypes
import threading
from typing import Any

from ._library import lib


class Handle:
    """`with handle as pointer:` keeps the object alive for a call; close() destroys it after the last such call.

    An object that is closed twice, or never, is destroyed once.
    """

    def __init__(self, destroy: str, name: str) -> None:
        #: What the object reads: it lives as long.
        self.owners: list[Any] = []
        self.pointer = ctypes.c_void_p()
        # Bound here: module globals may be gone when the interpreter ends.
        self._destroy = getattr(lib, destroy)
        self._name = name
        self._lock = threading.Lock()
        self._uses = 0
        self._closed = False

    def __reduce__(self) -> Any:
        """For pickle and copy.deepcopy(): what has a handle and can be pickled, as a Graph, has a __reduce__ of its own."""
        raise TypeError(f"a {self._name} cannot be pickled or copied deeply: it is memory of this process. Arrays and "
                        "graphs can")

    def out(self) -> Any:
        """Where the library puts a new object."""
        return ctypes.byref(self.pointer)

    def __enter__(self) -> ctypes.c_void_p:
        with self._lock:
            if self._closed:
                raise ValueError(f"the {self._name} is closed")
            self._uses += 1
        return self.pointer

    def __exit__(self, *_: object) -> None:
        with self._lock:
            self._uses -= 1
            last = self._closed and not self._uses
        if last:
            self._free()

    @property
    def closed(self) -> bool:
        return self._closed

    def close(self) -> None:
        with self._lock:
            last = not self._closed and not self._uses
            self._closed = True
        if last:
            self._free()

    def _free(self) -> None:
        pointer, self.pointer = self.pointer, ctypes.c_void_p()
        if pointer:
            self._destroy(pointer)
        self.owners = []

    def __del__(self) -> None:
        if getattr(self, "pointer", None):
            self._free()

"""What the library takes and knows: settings, metrics, statistics, devices. All tables are the library's own."""
from __future__ import annotations

import ctypes
import operator
import os
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Dict, List, Optional, Tuple

from . import _declarations as c
from ._errors import RangeError, raise_for
from ._library import lib


@dataclass(frozen=True)
class Setting:
    """A setting: its name, its value when none is given, the values it takes, what it means, and the environment
    variable that replaces its default, if one does."""
    name: str
    default: str
    values: str
    meaning: str
    environment: Optional[str]


@dataclass(frozen=True)
class Device:
    """A processor that can do the work. memory and memory_free are bytes, or None where they are not known."""
    name: str
    usable: bool
    why_not: str
    memory: Optional[int]
    memory_free: Optional[int]


def integer(value: Any, name: str) -> int:
    """value as a number that int64 holds."""
    try:
        number = operator.index(value)
    except TypeError:
        raise TypeError(f"{name} must be an integer, not {type(value).__name__}") from None
    if not -(1 << 63) <= number < 1 << 63:
        raise ValueError(f"{name}={number} is no 64-bit number")
    return number


def _whole(text: bytes, name: str) -> bytes:
    """A text that the library sees to its end."""
    if b"\0" in text:
        raise ValueError(f"{name} has a null character, which no name or word may have")
    return text


def word(value: Any, name: str) -> bytes:
    """A word, such as a rule, as the library takes it."""
    if not isinstance(value, str):
        raise TypeError(f"{name} must be a str, not {type(value).__name__}")
    return _whole(value.encode(), name)


def file_name(path: Any, name: str = "path") -> bytes:
    """A file's name as the library takes it."""
    return _whole(os.fsencode(path), name)


def setting_text(key: str, value: Any) -> bytes:
    """A setting's value as the text that the library takes."""
    if callable(value):
        raise TypeError(f"{key} must be a word or a number, not a function: metrics are the library's, see "
                        "knng.metrics()" if key == "metric" else f"{key} must be a word or a number, not a function")
    if isinstance(value, float):  # 2.0 and 1e9 are the whole numbers that they look like
        return (str(int(value)) if value.is_integer() else repr(float(value))).encode()
    try:
        return _whole(str(value).encode(), key)
    except UnicodeEncodeError:
        raise ValueError(f"{key}={value!r} is no text") from None


def _each(function: str, *outs: Any) -> Any:
    """Counts i up until the library has no more."""
    i = 0
    while True:
        error = c.Error()
        if getattr(lib, function)(i, *outs, ctypes.byref(error)):
            if error.code == RangeError.code and i:
                return
            raise_for(error)
        yield
        i += 1


@lru_cache(maxsize=None)
def settings() -> Tuple[Setting, ...]:
    """All settings, in the library's order."""
    option = c.Option()
    return tuple(Setting(option.name.decode(), option.fallback.decode(), option.range.decode(), option.doc.decode(),
                         option.environment and option.environment.decode())
                 for _ in _each("knng_option_get", ctypes.byref(option)))


@lru_cache(maxsize=None)
def _names(function: str) -> Tuple[Tuple[str, str], ...]:
    name, other = ctypes.c_char_p(), ctypes.c_char_p()
    return tuple(((name.value or b"").decode(), (other.value or b"").decode())
                 for _ in _each(function, ctypes.byref(name), ctypes.byref(other)))


def metrics() -> Dict[str, List[str]]:
    """The metrics, each with its other names. Case does not matter."""
    return {name: aliases.split(", ") if aliases else [] for name, aliases in _names("knng_metric_name")}


def statistics() -> Dict[str, str]:
    """The statistics of a graph, each with what it means."""
    return dict(_names("knng_stat_name"))


def devices() -> List[Device]:
    """The processors that can do the work, the CPU first. One that cannot be used says why in `why_not`."""
    device = c.Device()

    def known(value: int) -> Optional[int]:
        return None if value < 0 else value

    return [Device(device.name.decode(), bool(device.usable), device.why_not.decode(), known(device.memory),
                   known(device.memory_free)) for _ in _each("knng_device_get", ctypes.byref(device))]

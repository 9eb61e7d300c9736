"""What can go wrong, as exceptions: each is a kind of knng.Error and of the built-in one that Python has for it."""
from __future__ import annotations

import errno
import os
import re
from typing import Any, Dict, Mapping, NoReturn, Type


class Error(Exception):
    """A call of the library that failed. The message names argument, value and limit.

    Attributes:
        code: the library's number for the kind of failure, negative (KNNG_ERR_* in knng.h)
        argument: name of the parameter or setting at fault, or ""
        row, col: where in the argument it is, counted from 0, or None
        given, limit: the number, or the name of the dtype, that was given, and the limit that it broke, or None
    """

    code = 0

    def __init__(self, message: str = "", *, argument: str = "", row: int | None = None, col: int | None = None,
                 given: int | str | None = None, limit: int | None = None) -> None:
        super().__init__(message)
        self.argument, self.row, self.col, self.given, self.limit = argument, row, col, given, limit

    def __str__(self) -> str:  # OSError would make its own
        return str(self.args[0]) if self.args else ""

    def __reduce__(self) -> Any:
        return type(self), self.args, self.__dict__


class ArgumentError(Error, ValueError):
    """A shape, a dtype or a memory layout that does not fit."""
    code = -1


class RangeError(Error, ValueError):
    """A number outside its limits: k, a count, a value that the wanted dtype cannot hold."""
    code = -2


class OptionError(Error, ValueError):
    """An unknown setting, metric, rule or name, or a value that a setting does not take."""
    code = -3


class DataError(Error, ValueError):
    """NaN, infinity, integers beyond 2**53, or values that the metric does not take."""
    code = -4


class StateError(Error, RuntimeError):
    """The object is not ready for this call, or not of the kind that it needs."""
    code = -5


class OutOfMemoryError(Error, MemoryError):
    """The system had no memory, or no thread, left."""
    code = -6


class BudgetError(Error, MemoryError):
    """max_host_bytes or max_device_bytes is too small; `limit` is the smallest that is known to be needed."""
    code = -7


class CancelledError(Error, RuntimeError):
    """The progress callback asked to stop. (Ctrl-C raises KeyboardInterrupt.)"""
    code = -8


class FileError(Error, OSError):
    """A file could not be opened, read or written. Also a FileNotFoundError, PermissionError or
    IsADirectoryError, with `errno`, where the system says so; `filename` is the one that was given."""
    code = -9

    def __reduce__(self) -> Any:  # what OSError keeps of its own is in no __dict__
        return type(self), self.args, {**self.__dict__, "errno": self.errno, "filename": self.filename}


class _NotFound(FileError, FileNotFoundError):
    pass


class _NotPermitted(FileError, PermissionError):
    pass


class _IsDirectory(FileError, IsADirectoryError):
    pass


#: What the system says, in the words that messages end with.
_OF_SYSTEM: Dict[int, Type[FileError]] = {errno.ENOENT: _NotFound, errno.EACCES: _NotPermitted, errno.EPERM: _NotPermitted,
                                          errno.EISDIR: _IsDirectory}


def _of_system(message: str) -> int | None:
    return next((number for number in errno.errorcode if message.endswith(os.strerror(number))), None)


class FormatError(Error, ValueError):
    """A file is not what its format asks for."""
    code = -10


class UnsupportedError(Error, NotImplementedError):
    """Valid, but not available in this build or version."""
    code = -11


class DeviceError(Error, RuntimeError):
    """A GPU failed, is not usable, or has too little free memory."""
    code = -12


class InternalError(Error, RuntimeError):
    """A defect of the library: please report it."""
    code = -13


class CheckError(Error, RuntimeError):
    """A row was found wrong when it was checked (check_rows): please report it."""
    code = -14


KINDS = {kind.code: kind for kind in (
    ArgumentError, RangeError, OptionError, DataError, StateError, OutOfMemoryError, BudgetError, CancelledError,
    FileError, FormatError, UnsupportedError, DeviceError, InternalError, CheckError)}


#: How a message speaks of a dtype: the library's number of it, and its name.
_DTYPE = re.compile(r"\bdtype 0x[0-9a-f]+ \((\w+)\)")


def _renamed(message: str, names: Mapping[str, str]) -> str:
    """The message with parameters of C under the names that a Python user gave them. Where a message names a parameter,
    it begins with it, or says "for" or "but" before it; elsewhere the same word is English."""
    for name, ours in names.items():
        message = re.sub(rf"(^|\b(?:for|but) ){name}\b", rf"\g<1>{ours}", message)
    return re.sub(r"^(\w+): (?=\1=)", "", message)  # "k: k=3", where a struct of C and its member have become one


def raise_for(error: Any, names: Mapping[str, str] | None = None, first_row: int = 0,
              path: bytes | None = None) -> NoReturn:
    """Raises what a knng_error says. Codes that are not known here, of a later library, are plain knng.Error.

    names: of the parameters of C that Python calls otherwise, Python's
    first_row: where the rows that C was given begin in those that Python was given
    path: of the file that C was given"""

    def number(value: int) -> int | None:
        return None if value == -1 else value

    names = names or {}
    message, argument = error.message.decode(), error.argument.decode()
    if first_row and error.row >= 0:
        message = message.replace(f"(row {error.row}", f"(row {error.row + first_row}")
        error.row += first_row
    dtype = _DTYPE.search(message)
    given = dtype.group(1) if dtype else number(error.given)
    kind = KINDS.get(error.code, Error)
    system = _of_system(message) if kind is FileError else None
    if system is not None:
        kind = _OF_SYSTEM.get(system, FileError)
    failure = kind(_renamed(_DTYPE.sub(r"dtype \1", message), names), argument=names.get(argument, argument),
                   row=number(error.row), col=number(error.col), given=given, limit=number(error.limit))
    failure.code = error.code
    if isinstance(failure, FileError):
        failure.filename = None if path is None else os.fsdecode(path)
        if system is not None:
            failure.errno = system
    raise failure

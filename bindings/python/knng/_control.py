"""Long calls: progress, Ctrl-C and other signals, the log.

Python runs the handlers of signals between two steps of its own program, in the main thread, which waits in the
library. A callback that the library calls ten times a second gives it the occasion. An exception that a handler raises
there would be printed and lost, even inside `try`: ctypes has no frame that could catch what comes before the first
line. So while a call runs every handler written in Python is wrapped: what it raises is kept, the library is asked to
stop, and the exception goes on its way when the call has returned.

When the interpreter ends, calls of daemon threads are stopped and waited for. A thread that called Python later would
be ended by Python in the middle of the library, which aborts the process.
"""
from __future__ import annotations

import atexit
import ctypes
import logging
import os
import signal
import sys
import threading
import time
from _signal import getsignal  # signal.getsignal() looks each of its 62 answers up in an enumeration
from typing import Any, Callable, Mapping, Optional, Protocol, Union

from . import _declarations as c
from ._errors import raise_for
from ._library import lib, path_of

#: Stands for the call's knng_control among the arguments of run().
CONTROL = object()

logger = logging.getLogger("knng")
logger.addHandler(logging.NullHandler())  # nothing is printed unless the program asks for it

#: progress(stage, done, total): true stops the call
ProgressFunction = Callable[[str, float, float], Any]
Progress = Union[None, bool, type, ProgressFunction]


class _Bar(Protocol):
    def show(self, stage: str, done: float, total: float) -> Any: ...
    def end(self, done: bool) -> None: ...  # done: the stage that was shown, to its end


class _Function:
    """A progress function of the user's."""

    def __init__(self, function: ProgressFunction) -> None:
        self.show = function

    def end(self, done: bool) -> None:
        pass


class _Tqdm:
    """Bars of tqdm, or of a class with its interface: one for each stage, in percent."""

    def __init__(self, kind: Any) -> None:
        self._kind, self._stage, self._at = kind, "", 0.0
        self._bar: Any = None

    def show(self, stage: str, done: float, total: float) -> None:
        if self._bar is None or stage != self._stage:
            self.end(True)
            self._stage, self._at = stage, 0.0
            self._bar = self._kind(total=100, desc=stage, bar_format="{desc}: {percentage:3.0f}%|{bar}| "
                                   "{elapsed}<{remaining}")
        at = 100 * done / total if total > 0 else 0.0
        self._bar.update(at - self._at)
        self._at = at

    def end(self, done: bool) -> None:
        if self._bar is not None:
            if done:
                self._bar.update(100 - self._at)
            self._bar.close()
            self._bar = None


class _Plain:
    """A line on stderr, for those who have no tqdm."""

    def __init__(self) -> None:
        self._stage = ""

    def show(self, stage: str, done: float, total: float) -> None:
        self._stage = stage
        sys.stderr.write(f"\r{stage}: {100 * done / total if total > 0 else 0:3.0f} %\x1b[K")
        sys.stderr.flush()

    def end(self, done: bool) -> None:
        if self._stage:
            sys.stderr.write(f"\r{self._stage}: 100 %\x1b[K\n" if done else "\n")


def _bar(progress: Progress) -> Optional[_Bar]:
    if progress is None or progress is False:
        return None
    if progress is True:
        try:
            from tqdm.auto import tqdm
        except ImportError:
            return _Plain()
        return _Tqdm(tqdm)
    if isinstance(progress, type) and hasattr(progress, "update") and hasattr(progress, "close"):
        return _Tqdm(progress)
    if callable(progress):
        return _Function(progress)
    raise TypeError("progress must be None, True, a class like tqdm.tqdm or a function of (stage, done, total), "
                    f"not {type(progress).__name__}")


#: All signals, Ctrl-C first: once its handler is wrapped it cannot interrupt the wrapping of the others.
SIGNALS = sorted(signal.valid_signals(), key=lambda number: number != signal.SIGINT)


class _Signals:
    """While it is entered, handlers written in Python set `stop` instead of raising; those that raised, in order, are
    in `raised`. Does nothing in other threads than the main one, where Python runs no handlers."""

    def __init__(self, stop: ctypes.c_int32, raised: list[BaseException]) -> None:
        self._stop, self._raised = stop, raised
        self._before: dict[int, Any] = {}

    def _wrapped(self, handler: Callable[[int, Any], Any]) -> Callable[[int, Any], None]:
        def run(number: int, frame: Any) -> None:
            try:
                handler(number, frame)
                if number == signal.SIGINT:  # a handler that only takes notice of it, as an event loop's
                    raise KeyboardInterrupt
            except BaseException as raised:  # noqa: B902
                self._raised.append(raised)
                self._stop.value = 1

        return run

    def __enter__(self) -> None:
        if threading.current_thread() is not threading.main_thread():
            return
        try:
            for number in SIGNALS:
                handler = getsignal(number)
                if callable(handler):  # SIG_DFL and SIG_IGN are numbers here, handlers not of Python's None
                    self._before[number] = handler
                    signal.signal(number, self._wrapped(handler))
        except ValueError:  # an interpreter of its own, which has no signals
            self._before.clear()
        except BaseException:  # noqa: B902
            self._restore()
            raise

    def __exit__(self, *_: object) -> None:
        self._restore()

    def _restore(self) -> None:
        while self._before:
            try:
                while self._before:  # Ctrl-C last
                    number = next(reversed(self._before))
                    signal.signal(number, self._before[number])
                    del self._before[number]
            except BaseException as raised:  # noqa: B902  # by a handler that is back already
                self._raised.append(raised)


class _Ending:
    """Calls of other threads than the main one, and what becomes of them when the interpreter ends."""

    #: Most seconds to wait until calls have noticed the stop. They do so within about one.
    SECONDS = 30

    def __init__(self) -> None:
        self._running: dict[int, ctypes.c_int32] = {}
        self._ends = False
        atexit.register(self._end)
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(after_in_child=self._running.clear)  # their threads are not in the child

    def enter(self, stop: ctypes.c_int32) -> None:
        if threading.current_thread() is threading.main_thread():
            return
        self._running[id(stop)] = stop
        if self._ends:
            stop.value = 1

    def leave(self, stop: ctypes.c_int32) -> None:
        """Ends the thread, silently, if its call was stopped for the interpreter's end."""
        if self._running.pop(id(stop), None) is not None and self._ends:
            raise SystemExit

    def _end(self) -> None:
        self._ends = True
        for stop in list(self._running.values()):
            stop.value = 1
        until = time.monotonic() + self.SECONDS
        while self._running and time.monotonic() < until:
            time.sleep(0.01)


_ending = _Ending()


def run(name: str, *arguments: Any, progress: Progress = None, max_bytes: int = 0,
        names: Optional[Mapping[str, str]] = None, first_row: int = 0) -> None:
    """Calls a long function of the library. One of `arguments` is CONTROL, where it takes its knng_control; the
    knng_error at the end is added here.

    Raises what the library says, with Python's `names` of parameters and its numbers of rows, what a signal's handler or the progress function raised, or CancelledError if the
    progress function returned something true."""
    bar = _bar(progress)
    stop = ctypes.c_int32(0)
    raised: list[BaseException] = []

    def look(_user: Any, stage: bytes, done: float, total: float) -> int:
        try:
            return 1 if bar is not None and bar.show(stage.decode(), done, total) else 0
        except BaseException as error:  # noqa: B902
            raised.append(error)
            return 1

    def say(_user: Any, level: int, line: bytes) -> None:
        try:
            logger.log(logging.WARNING if level else logging.INFO, "%s", line.decode())
        except BaseException as error:  # noqa: B902
            raised.append(error)
            stop.value = 1

    control = c.Control(interval_ms=100, progress=c.PROGRESS(look), stop=ctypes.pointer(stop), max_bytes=max_bytes)
    if logger.isEnabledFor(logging.WARNING):
        control.log = c.LOG(say)
    error, status = c.Error(), -1
    here = [ctypes.byref(control) if argument is CONTROL else argument for argument in arguments]
    with _Signals(stop, raised):
        try:
            _ending.enter(stop)
            status = getattr(lib, name)(*here, ctypes.byref(error))
        finally:
            _ending.leave(stop)
            if bar is not None:
                try:
                    bar.end(status == 0 and not raised)
                except BaseException as late:  # noqa: B902
                    raised.append(late)
    if raised:
        try:
            raise raised[0]
        finally:
            raised.clear()  # else a cycle keeps the rows: the exception holds this frame, and the frame the exception
    if status:
        raise_for(error, names, first_row, path_of(arguments))

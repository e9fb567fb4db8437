"""Ctrl-C stops the work wherever it is, at once and with exit code 130.

Python raises `KeyboardInterrupt` in whatever the main thread does at that moment. Inside
a callback of a C library (LLVM calls several while kernels are compiled), a finaliser or a
weak reference it has nobody to go to: it is reported as "ignored", and the work goes on.
Here such an interrupt is sent again, a moment later, until it arrives.

The last line then says what was kept: nothing, since a release is written whole or not at
all, unless the command had already written it.
"""

from __future__ import annotations

import _thread
import atexit
import os
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import NoReturn

__all__ = [
    "INTERRUPTED",
    "keeps",
    "leave_at_once",
    "leave_tidily",
    "never_swallowed",
    "what_was_kept",
]

AGAIN_AFTER = 0.05
"""Seconds after which an interrupt that was lost is sent again."""
INTERRUPTED = 130

_kept: list[str] = []


def keeps(*files: object) -> None:
    """Files that the command has written, whole: an interrupt from now on leaves them."""
    _kept.extend(str(file) for file in files if file is not None)


def what_was_kept() -> str:
    """What an interrupted command leaves behind."""
    files, _kept[:] = list(_kept), []
    return f"kept, and whole: {', '.join(files)}" if files else "nothing was kept or changed"


@contextmanager
def never_swallowed() -> Iterator[None]:
    """While this lasts, an interrupt that nobody could catch is raised once more."""
    before = sys.unraisablehook

    def heard(lost: sys.UnraisableHookArgs, /) -> None:
        if not issubclass(lost.exc_type, KeyboardInterrupt):
            before(lost)
            return
        # Raised here and now it would be lost again: this is still the callback.
        timer = threading.Timer(AGAIN_AFTER, _thread.interrupt_main)
        timer.daemon = True
        timer.start()

    sys.unraisablehook = heard
    try:
        yield
    finally:
        sys.unraisablehook = before


def leave_tidily(code: int) -> None:
    """End the process after what was to be done at its end, without taking everything apart.

    To take apart modules and compiled kernels, one object after the other, costs a third of a
    second. Where other threads still work, nothing is done here: Python waits for them.
    """
    here = threading.current_thread()
    if any(not thread.daemon and thread is not here for thread in threading.enumerate()):
        return
    atexit._run_exitfuncs()
    try:
        sys.stdout.flush()
        sys.stderr.flush()
    except OSError:  # nobody reads it: Python has an exit code for that
        return
    os._exit(code)


def leave_at_once() -> NoReturn:
    """End the process without waiting for threads that still compute: nobody wants the result."""
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(INTERRUPTED)

"""A worker ends with the server that started it, however that ends."""

from __future__ import annotations

import os
import signal
import sys
import threading
from typing import IO

__all__ = ["ends_with_its_parent", "quiet"]

SET_DEATH_SIGNAL = 1  # PR_SET_PDEATHSIG of <sys/prctl.h>


def ends_with_its_parent(watch_stdin: bool = False) -> None:
    """Be killed when the parent is gone: by the kernel on Linux, else when stdin ends."""
    if sys.platform == "linux":
        import ctypes

        ctypes.CDLL(None).prctl(SET_DEATH_SIGNAL, signal.SIGKILL)
        if os.getppid() == 1:  # it went before we asked
            os._exit(1)
    if not watch_stdin:
        return

    def wait() -> None:
        while os.read(0, 1):
            pass
        _end_group()

    threading.Thread(target=wait, daemon=True).start()


def _end_group() -> None:
    if hasattr(os, "killpg") and os.getpgrp() == os.getpid():
        os.killpg(os.getpid(), signal.SIGKILL)
    os._exit(1)


def quiet() -> IO[str]:
    """The place for answers; whatever else is printed, by whomever, goes nowhere.

    A library may print a cell: nothing of it reaches a terminal or a log.
    """
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8", buffering=1)
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1)
    if not os.environ.get("SHOAL_DEBUG"):
        os.dup2(nowhere, 2)
    return answers

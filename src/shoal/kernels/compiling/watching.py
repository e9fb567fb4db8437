"""Who is told when Numba compiles; while it does, Python's garbage collector rests.

Compiling makes millions of small objects that all stay, which the collector walks through
again and again: a tenth of the time. It starts again when the outermost kernel is done.
"""

import gc
import threading
import time
from contextlib import contextmanager

from numba.core import event

KIND = "numba:compile"


class _Watch(event.Listener):
    """Counts kernels that are being compiled, and tells listeners of the outermost ones."""

    def __init__(self):
        self.listeners = []
        self.open = []  # of all threads: numba lets one compile at a time
        self.lock = threading.Lock()
        self.resting = False
        self.waiting = 0

    @property
    def busy(self):
        """Whether something is being compiled, here or by another that we wait for."""
        return bool(self.open) or self.waiting > 0

    @contextmanager
    def waited(self):
        """While another process compiles what is wanted here."""
        self.waiting += 1
        try:
            yield
        finally:
            self.waiting -= 1

    def on_start(self, event):
        with self.lock:
            if not self.open and gc.isenabled():
                gc.disable()
                self.resting = True
            self.open.append((time.perf_counter(), time.thread_time()))
            depth = len(self.open)
        for listener in tuple(self.listeners):
            listener.begun(event.data["dispatcher"], depth)

    def on_end(self, event):
        with self.lock:
            wall, cpu = self.open.pop()
            depth = len(self.open) + 1
            if not self.open and self.resting:
                gc.enable()
                self.resting = False
        spent = (time.perf_counter() - wall, time.thread_time() - cpu)
        for listener in tuple(self.listeners):
            listener.ended(event.data["dispatcher"], event.data["args"], depth, spent)


WATCH = _Watch()
event.register(KIND, WATCH)


class Watcher:
    """Told of every kernel that is compiled: ``with watcher: ...``."""

    def begun(self, dispatcher, depth):
        """A kernel is begun; depth 1 is one that Python called, others are compiled for it."""

    def ended(self, dispatcher, arguments, depth, spent):
        """A kernel is done; ``spent`` is seconds by the clock and of CPU, with those inside it."""

    def __enter__(self):
        WATCH.listeners.append(self)
        return self

    def __exit__(self, *_):
        WATCH.listeners.remove(self)

"""Who compiles what, where several processes compile for one run: each kernel is taken once.

A process takes a kernel by making a file of its name in a folder of the run, and gives it
back when it is kept. A run that comes to a kernel somebody else has taken does not compile it
too: until it is there, it compiles others that it will want. Where the other one has ended
without giving it back, the run does it itself. So nobody is waited for in vain.
"""

import contextlib
import os
import time
from pathlib import Path

from shoal.kernels.compiling.watching import WATCH

LOOK = 0.01
"""Seconds between two looks at what another process has taken."""
SHARES = []
"""With whom this process shares what it compiles: one `Share`, or none."""


class Share:
    """The kernels of one run, as one of its processes sees them."""

    def __init__(self, folder):
        self.folder = Path(folder)
        self.mine = set()

    def take(self, name):
        """Whether this process shall compile a kernel: nobody else does at the moment."""
        if name in self.mine:
            return True
        try:
            os.close(os.open(self.folder / name, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
        except FileExistsError:
            return False
        except OSError:
            pass  # there is nothing to share by
        self.mine.add(name)
        return True

    def give_back(self, name):
        """Say that a kernel of ours is kept, or cannot be."""
        if name in self.mine:
            self.mine.remove(name)
            with contextlib.suppress(OSError):
                (self.folder / name).unlink()

    def wait(self, name):
        """For what another has taken: only the process that wants the kernels does."""


class Run(Share):
    """The process that wants the kernels, with those who help it."""

    def __init__(self, folder, helpers, open_ends):
        super().__init__(folder)
        self.helpers = helpers
        self.open_ends = sorted(open_ends, key=lambda each: -each.size)  # the last comes first

    def wait(self, name):
        """Until a kernel that another has taken is there, or nobody is left who would make it.

        Helpers wait for nobody, so that no two can wait for each other.
        """
        free = not WATCH.open  # in the midst of a kernel no other one is begun
        with WATCH.waited():
            while (self.folder / name).exists() and self._helped():
                if not (free and self._compile_another()):
                    time.sleep(LOOK)

    def _helped(self):
        return any(helper.poll() is None for helper in self.helpers)

    def _compile_another(self):
        while self.open_ends:
            each = self.open_ends.pop()
            if not each.is_there() and compile_once(each, self):
                return True
        return False


def compile_once(each, share):
    """Compile a wanted kernel unless somebody else does; whether that was done here."""
    name = each.paths[-1].name
    if not share.take(name):
        return False
    try:
        return not each.is_there() and each.compile()
    finally:
        share.give_back(name)


@contextlib.contextmanager
def shared(share):
    """Compile nothing meanwhile that another process of this run is compiling."""
    SHARES.append(share)
    try:
        yield share
    finally:
        SHARES.remove(share)

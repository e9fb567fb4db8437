"""What is said while kernels are compiled, which happens once: how many, and how long yet.

On a terminal the command's own bar shows it; elsewhere a line on stderr every ten seconds.
"""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from shoal.policy import Policy
    from shoal.progress import Report

__all__ = ["kernels_of", "preparing", "words"]

LOOK = 0.5
"""Seconds between two looks at what is compiled."""
SAY = 10.0
"""Seconds between two lines where there is no terminal."""


def kernels_of(policy: Policy) -> tuple[str, ...]:
    """The entry of the list of wanted kernels that a run by this policy will want."""
    from shoal.plan import Plan
    from shoal.warm import usual

    return (usual(Plan.of(policy).method.name, bool(policy.sensitive)),)


def words(done: int, total: int, seconds: float) -> str:
    """How far it is, and how long it will take if it goes on as it did."""
    text = f"preparing (once): {done} of {total} kernels"
    left = seconds / done * (total - done) if done else 0.0
    return f"{text}, about {left:.0f} s left" if left >= 1 else text


@contextmanager
def preparing(names: Sequence[str], report: Report, quiet: bool) -> Iterator[None]:
    """Compile what is missing in the background, and tell of it while the command compiles."""
    from shoal.warm import in_background

    with in_background(names) as open_ends:
        if not open_ends:
            yield
            return
        over = threading.Event()
        teller = threading.Thread(target=_tell, args=(open_ends, report, quiet, over), daemon=True)
        teller.start()
        try:
            yield
        finally:
            over.set()
            teller.join()


def _tell(open_ends: list[Any], report: Report, quiet: bool, over: threading.Event) -> None:
    from shoal.kernels.compiling.watching import WATCH

    total = len(open_ends)
    begun = said = time.monotonic()
    lines = not quiet and not sys.stderr.isatty()
    while not over.wait(LOOK):
        if not WATCH.open:
            continue
        now = time.monotonic()
        open_ends = [each for each in open_ends if not each.is_there()]
        done = total - len(open_ends)
        text = words(done, total, now - begun)
        report(text, done, total)
        if lines and now - said >= SAY:
            said = now
            click.echo(text, err=True)

"""What is said while kernels are compiled, which happens once: how many, and how long yet.

The command's own bar or lines show it (`shoal.watching`).
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from shoal.policy import Policy
    from shoal.progress import Report

__all__ = ["kernels_of", "prepare", "preparing", "words"]

LOOK = 0.5
"""Seconds between two looks at what is compiled."""
ENOUGH = 0.1
"""Share that must be done before the time left is told."""


def kernels_of(policy: Policy) -> tuple[str, ...]:
    """The entries of the list of wanted kernels that a run by this policy will want."""
    from shoal.plan import Plan
    from shoal.warm import usual

    kinds = {
        "": True,
        "trees": bool(policy.hierarchy),
        "orders": bool(policy.order) or "ordinal" in policy.kind.values(),
        "normal": policy.effort in ("normal", "max") or policy.time is not None,
    }
    method = Plan.of(policy).method.name
    return tuple(usual(method, bool(policy.sensitive), kind) for kind in kinds if kinds[kind])


def words(done: int, total: int, seconds: float, share: float) -> str:
    """How far it is, and how long it will take if it goes on as it did.

    `share` is that of the code to be made that is made: large kernels take longer.
    """
    text = f"preparing (once): {done} of {total} kernels"
    left = seconds / share * (1 - share) if share >= ENOUGH else 0.0
    return f"{text}, about {left:.0f} s left" if left >= 1 else text


def prepare(names: Sequence[str], quiet: bool, processes: int | None = None) -> int:
    """Compile what is missing, by several processes and with a bar; how many kernels that were."""
    from shoal.cli.output import progress_bar
    from shoal.warm import compile_missing

    begun = time.monotonic()
    with progress_bar(quiet) as report:

        def told(done: int, total: int, share: float) -> None:
            report(words(done, total, time.monotonic() - begun, share), done, total)

        return compile_missing(names, told, processes)


@contextmanager
def preparing(names: Sequence[str], report: Report) -> Iterator[None]:
    """Compile what is missing in the background, and tell of it while the command compiles."""
    from shoal.warm import in_background

    with in_background(names) as open_ends:
        if not open_ends:
            yield
            return
        over = threading.Event()
        teller = threading.Thread(target=_tell, args=(open_ends, report, over), daemon=True)
        teller.start()
        try:
            yield
        finally:
            over.set()
            teller.join()


def _tell(open_ends: list[Any], report: Report, over: threading.Event) -> None:
    from shoal.kernels.compiling.wanted import Left
    from shoal.kernels.compiling.watching import WATCH

    left = Left(open_ends)
    begun = time.monotonic()
    while not over.wait(LOOK):
        if WATCH.busy:
            done, total, share = left.look()
            report(words(done, total, time.monotonic() - begun, share), done, total)

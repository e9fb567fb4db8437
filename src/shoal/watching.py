"""How far the work is, shown: a bar on a terminal or in a notebook, else a line now and then.

Stages, shares, the loss so far and the time left; never a cell of the table. Short work
stays quiet, and results go elsewhere: all of this is written to stderr, or to a notebook.
"""

from __future__ import annotations

import io
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import IO, Any

from shoal.progress import Report, silent

__all__ = ["EVERY", "PATIENCE", "State", "in_notebook", "watched"]

PATIENCE = 1.0
"""Seconds before anything appears."""
EVERY = 10.0
"""Seconds between two lines, where there is no terminal."""
REFRESH = 0.5
"""Seconds between two pictures of a bar in a notebook."""
SURE = 0.03
"""Share of a stage that must be done before the time left is told."""
WIDTH = 80

STAGES = {
    "read": "reading",
    "encode": "encoding",
    "ranges": "dealing out",
    "partition": "grouping",
    "outliers": "outliers",
    "recode": "recoding",
    "verify": "checking",
    "measure": "measuring",
    "bound": "proving",
    "write": "writing",
    "query": "counting",
}
"""What each stage does, in words; others are said as they are named."""


IN_ROWS = ("read", "encode", "recode", "write")
"""Stages that count rows, where they count at all: parts of a run that go through all of them."""


class State:
    """What was reported last, and what follows from it."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self.clock = clock
        self.begun = self.entered = clock()
        self.stage = ""
        self.done = 0.0
        self.total = 1.0
        self.loss: float | None = None

    def report(self, stage: str, done: float, total: float, loss: float | None = None) -> None:
        """As `shoal.progress.Report`."""
        if stage != self.stage:
            self.entered = self.clock()
            self.loss = None
        self.stage, self.done, self.total = stage, done, total
        self.loss = self.loss if loss is None else loss

    @property
    def words(self) -> str:
        return STAGES.get(self.stage, self.stage)

    @property
    def says_more(self) -> bool:
        """Whether the stage is told with its numbers, as "preparing (once): 7 of 31 kernels"."""
        return ": " in self.stage

    @property
    def share(self) -> float | None:
        """How much of the stage is done; None where it cannot say."""
        return min(1.0, self.done / self.total) if self.done and self.total else None

    @property
    def rows(self) -> str:
        """How many rows the stage is through; empty where it counts something else."""
        counted = self.stage in IN_ROWS and self.total > 1 and self.done
        return f"{int(self.done):,} rows" if counted else ""

    @property
    def left(self) -> float | None:
        """Seconds that the stage will still take, at its pace so far."""
        share = self.share
        if share is None or share < SURE or self.says_more:
            return None
        return (self.clock() - self.entered) * (1 - share) / share

    @property
    def elapsed(self) -> float:
        return self.clock() - self.begun

    def line(self) -> str:
        """All of it in one line of text."""
        plain = self.share is None or self.says_more
        parts = [self.words if plain else f"{self.words} {self.share:.0%}"]
        parts += [self.rows] if self.rows else []
        parts += [] if self.loss is None else [f"loss {self.loss:.4f}"]
        parts += [f"{_span(self.elapsed)} so far"]
        parts += [] if self.left is None else [f"about {_span(self.left)} left in this stage"]
        return ", ".join(parts)


def _span(seconds: float) -> str:
    """A time as people say it."""
    whole = round(seconds)
    if whole < 120:
        return f"{whole} s"
    return f"{whole // 60}:{whole % 60:02d} min"


@contextmanager
def watched(quiet: bool = False, stream: IO[str] | None = None) -> Iterator[Report]:
    """Give ``report(stage, done, total, loss)``, shown as the place allows."""
    stream = stream or sys.stderr
    if quiet:
        yield silent
        return
    state = State()
    if in_notebook():
        show, pause = _in_notebook(state), REFRESH
    elif stream.isatty():
        with _bar(state, stream):
            yield state.report
        return
    else:
        show, pause = lambda: print(f"shoal: {state.line()}", file=stream, flush=True), EVERY
    with _now_and_then(show, pause):
        yield state.report


@contextmanager
def _now_and_then(show: Callable[[], None], pause: float) -> Iterator[None]:
    """Call `show` every so many seconds while the work goes on, however long a stage is silent."""
    over = threading.Event()

    def tell() -> None:
        while not over.wait(pause):
            try:
                show()
            except (OSError, ValueError):  # nobody listens any more
                return

    thread = threading.Thread(target=tell, name="shoal-progress", daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join(timeout=1)


@contextmanager
def _bar(state: State, stream: IO[str]) -> Iterator[None]:
    """A bar of rich's on a terminal, after a moment; it goes when the work is done."""
    from rich.console import Console
    from rich.live import Live

    live = Live(
        get_renderable=lambda: _picture(state),
        console=Console(file=stream, stderr=stream is sys.stderr),
        transient=True,
        refresh_per_second=4,
    )
    started = threading.Event()

    def start() -> None:
        live.start()
        started.set()

    waiting = threading.Timer(PATIENCE, start)
    waiting.daemon = True
    waiting.start()
    try:
        yield
    finally:
        waiting.cancel()
        waiting.join(timeout=1)
        if started.is_set():
            live.stop()


def _picture(state: State) -> Any:
    """Stage, bar, share, loss and times, as rich draws them."""
    from rich.progress_bar import ProgressBar
    from rich.table import Table

    share = state.share
    bar = ProgressBar(
        total=None if share is None else 1.0, completed=share or 0.0, width=30, pulse=share is None
    )
    cells: list[Any] = [
        f"{state.words:<10}",
        bar,
        "" if share is None else f"{share:.0%}",
        state.rows if state.loss is None else f"loss {state.loss:.4f}",
        _span(state.elapsed),
        "" if state.left is None else f"about {_span(state.left)} left",
    ]
    row = Table.grid(padding=(0, 1))
    row.add_row(*cells)
    return row


def in_notebook() -> bool:
    """Whether the code runs in a cell of a notebook."""
    shell = sys.modules.get("IPython")
    if shell is None:
        return False
    running = shell.get_ipython()
    return running is not None and type(running).__name__ == "ZMQInteractiveShell"


def _in_notebook(state: State) -> Callable[[], None]:
    """Shows the same picture below a cell, in place of the one before."""
    from IPython.display import HTML, display
    from rich.console import Console

    handle: Any = None

    def show() -> None:
        nonlocal handle
        if state.elapsed < PATIENCE:
            return
        console = Console(file=io.StringIO(), record=True, width=WIDTH, force_jupyter=False)
        console.print(_picture(state))
        page = HTML(console.export_html(inline_styles=True, code_format="<pre>{code}</pre>"))
        if handle is None:
            handle = display(page, display_id=True)
        else:
            handle.update(page)

    return show

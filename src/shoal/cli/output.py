"""How commands speak: results on stdout, progress and notices on stderr."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from shoal.progress import Report
    from shoal.release import Release

__all__ = [
    "check_new_file",
    "notice",
    "output_options",
    "print_json",
    "progress_bar",
    "warnings_as_notices",
    "what_was_written",
]

PATIENCE = 1.0
"""Seconds before a progress bar appears: short work stays quiet."""


def output_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Give a command ``--quiet`` and ``--json``."""
    as_json = click.option("--json", "as_json", is_flag=True, help="Print JSON for machines.")
    quiet = click.option("-q", "--quiet", is_flag=True, help="No progress, no notices.")
    return quiet(as_json(command))


def check_new_file(source: Path, out: Path, what: str, force: bool) -> None:
    """Refuse a target that cannot be written, is the table itself, or is there already."""
    from shoal.errors import OutputError

    if out.is_dir():
        raise OutputError(f"{out}: is a directory; expected a file name")
    if not out.parent.is_dir():
        raise OutputError(f"{out}: there is no directory {out.parent}")
    if out.exists() and source.exists() and out.samefile(source):
        raise OutputError(f"{out}: the {what} would replace the table; choose another name")
    if out.exists() and not force:
        raise OutputError(f"{out}: exists already; choose another name with -o, or use --force")


def print_json(value: Any) -> None:
    """One JSON document on stdout."""
    click.echo(json.dumps(value, indent=2, ensure_ascii=False))


def what_was_written(release: Release, out: Path, manifest: Path, record: Path | None) -> str:
    """The files of a release, and which of them is not for publication."""
    from shoal.io.paths import sensitive_path

    tables = f"{out}, {sensitive_path(out)}" if release.sensitive_table is not None else f"{out}"
    if record is None:
        return f"wrote {tables} and {manifest}"
    return f"wrote {tables}, {manifest} and the record {record}: keep the record to yourself"


def notice(text: str, quiet: bool) -> None:
    """A line on stderr that a user should read once."""
    if not quiet:
        click.echo(f"note: {text}", err=True)


@contextmanager
def warnings_as_notices(quiet: bool) -> Iterator[list[str]]:
    """Show Shoal's warnings as notices, at once; gives the list that they are added to."""
    import warnings

    from shoal.errors import ShoalWarning

    shown: list[str] = []

    def show(message: Any, category: type[Warning], *rest: Any, **more: Any) -> None:
        if issubclass(category, ShoalWarning):
            shown.append(str(message))
            notice(str(message), quiet)

    with warnings.catch_warnings():
        warnings.simplefilter("always", ShoalWarning)
        warnings.showwarning = show
        yield shown


def _announce_compiling() -> None:
    """Say why the very first run takes so long; on a terminal only."""
    from shoal.kernels.best.search import search_region
    from shoal.kernels.jit import was_compiled

    if not was_compiled(search_region):
        notice("the first run compiles for about a minute; later ones start at once", False)


@contextmanager
def progress_bar(quiet: bool) -> Iterator[Report]:
    """Give ``report(stage, done, total, loss)``; a bar appears on stderr after a second.

    It shows stages, shares and the loss so far, never a cell of the table.
    """
    if quiet or not sys.stderr.isatty():
        yield lambda stage, done, total, loss=None: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    _announce_compiling()
    columns = (
        TextColumn("{task.description:<10}"),
        BarColumn(),
        TimeElapsedColumn(),
        TextColumn("{task.fields[loss]}"),
    )
    bar = Progress(*columns, console=Console(stderr=True), transient=True)
    task = bar.add_task("start", total=1, loss="")
    begun = time.monotonic()
    running = False

    def report(stage: str, done: float, total: float, loss: float | None = None) -> None:
        nonlocal running
        if not running and time.monotonic() - begun > PATIENCE:
            bar.start()
            running = True
        # A stage that cannot say how far it is gets a pulsing bar.
        so_far = "" if loss is None else f"loss {loss:.4f}"
        known = total if done else None
        bar.update(task, description=stage, completed=done, total=known, loss=so_far)

    try:
        yield report
    finally:
        if running:
            bar.stop()

"""How commands speak: results on stdout, progress and notices on stderr."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from shoal.io.addresses import Place
    from shoal.joining import JoinCheck
    from shoal.progress import Report
    from shoal.release import Release
    from shoal.series import SeriesCheck

__all__ = [
    "check_new_file",
    "notice",
    "output_options",
    "print_json",
    "progress_bar",
    "screen_width",
    "tell_verdict",
    "warnings_as_notices",
    "what_was_written",
]


def output_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Give a command ``--quiet`` and ``--json``."""
    as_json = click.option("--json", "as_json", is_flag=True, help="Print JSON for machines.")
    quiet = click.option("-q", "--quiet", is_flag=True, help="No progress, no notices.")
    return quiet(as_json(command))


def check_new_file(source: Place, out: Path, what: str, force: bool) -> None:
    """Refuse a target that cannot be written, is the table itself, or is there already."""
    from shoal.errors import OutputError

    if out.is_dir():
        raise OutputError(f"{out}: is a directory; expected a file name")
    if not out.parent.is_dir():
        raise OutputError(f"{out}: there is no directory {out.parent}")
    read = source if isinstance(source, Path) else source.file
    if read is not None and out.exists() and read.exists() and out.samefile(read):
        raise OutputError(f"{out}: the {what} would replace the table; choose another name")
    if out.exists() and not force:
        raise OutputError(f"{out}: exists already; choose another name with -o, or use --force")


def screen_width() -> int:
    """Columns to write in: those of the terminal, but no line that is tiring to read."""
    import shutil

    return max(40, min(100, shutil.get_terminal_size((80, 24)).columns))


def print_json(value: Any) -> None:
    """One JSON document on stdout."""
    click.echo(json.dumps(value, indent=2, ensure_ascii=False))


def what_was_written(
    release: Release, out: Place, manifest: Path | None, record: Path | None
) -> str:
    """The files of a release, and which of them is not for publication."""
    from shoal.io.addresses import Address
    from shoal.io.databases import MANIFESTS
    from shoal.io.paths import sensitive_path

    if isinstance(out, Address):
        also = "" if manifest is None else f" and {manifest}"
        kept = "" if record is None else f"; and the record {record}: keep it to yourself"
        return f"wrote {out}, its manifest into {MANIFESTS}{also}{kept}"
    tables = f"{out}, {sensitive_path(out)}" if release.sensitive_table is not None else f"{out}"
    if record is None:
        return f"wrote {tables} and {manifest}"
    return f"wrote {tables}, {manifest} and the record {record}: keep the record to yourself"


def notice(text: str, quiet: bool) -> None:
    """A line on stderr that a user should read once."""
    from shoal.errors import one_line

    if not quiet:
        click.echo(f"note: {one_line(text)}", err=True)


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


@contextmanager
def progress_bar(quiet: bool) -> Iterator[Report]:
    """Give ``report(stage, done, total, loss)``; see `shoal.watching` for how it is shown."""
    from shoal.watching import watched

    with watched(quiet) as report:
        yield report


def tell_verdict(result: JoinCheck | SeriesCheck, quiet: bool, as_json: bool) -> None:
    """Print what several releases give away together; exit code 1 if it is too much."""
    for name in result.unsure:
        notice(f"{name}: its hierarchy or order is not at hand; the numbers are a guess", quiet)
    if as_json:
        print_json(result.to_dict())
    elif not quiet:
        click.echo(repr(result))
    if not result.ok:
        raise click.exceptions.Exit(1)

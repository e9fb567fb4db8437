"""Where commands read tables from and write releases to: files, databases, pipes."""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

    from shoal.io.addresses import Place

__all__ = ["PIPE", "RELEASE", "TABLE", "OnlyFile", "command_line", "handed_on"]

PIPE = "-"
"""Standard input, or output."""


class _Place(click.ParamType):  # type: ignore[type-arg]
    """A file, or the address of a table in a database."""

    name = "path"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        from shoal.io.addresses import place_of

        return place_of(value)

    def shell_complete(
        self, ctx: click.Context, param: click.Parameter, incomplete: str
    ) -> list[CompletionItem[str]]:
        from click.shell_completion import CompletionItem

        return [CompletionItem(incomplete, type="file")]


class _Table(_Place):
    """A file, the address of a database, or ``-``: standard input, kept in a private file."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        if value == PIPE and ctx is not None and not ctx.resilient_parsing:
            return _standard_input(ctx)
        return super().convert(value, param, ctx)


class _Release(_Place):
    """A file, the address of a table in a database, or ``-``: standard output."""


class OnlyFile(click.ParamType):  # type: ignore[type-arg]
    """A file; for the address of a database, why it cannot be one."""

    name = "path"

    def __init__(self, why: str) -> None:
        self.why = why

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        from shoal.errors import InputError
        from shoal.io.addresses import address_of

        if (address := address_of(value)) is not None:
            raise InputError(f"{address}: expected a file, not a database: {self.why}")
        return Path(value)


TABLE = _Table()
RELEASE = _Release()


def _standard_input(ctx: click.Context) -> Path:
    """All of standard input in a file that nobody else may read; gone when the command ends."""
    from shoal.io.sniffing import ending_of

    folder = Path(tempfile.mkdtemp(prefix="shoal-"))  # mode 0700
    ctx.find_root().call_on_close(lambda: shutil.rmtree(folder, ignore_errors=True))
    path = folder / "standard-input"
    with os.fdopen(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600), "wb") as file:
        shutil.copyfileobj(sys.stdin.buffer, file, 1 << 20)
    return path.rename(path.with_name(path.name + ending_of(path)))


@contextmanager
def handed_on(out: Place) -> Iterator[Place]:
    """Where a release is written: as asked, or in a private file that then goes to the pipe."""
    if str(out) != PIPE:
        yield out
        return
    with tempfile.TemporaryDirectory(prefix="shoal-") as folder:
        path = Path(folder) / "release.csv"
        yield path
        with path.open("rb") as file:
            shutil.copyfileobj(file, sys.stdout.buffer, 1 << 20)
        sys.stdout.buffer.flush()


def command_line() -> list[str]:
    """The command as it may be kept: without users and passwords of databases."""
    from shoal.io.addresses import without_credentials

    return ["shoal", *without_credentials(sys.argv[1:])]

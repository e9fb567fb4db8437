"""What a shell may offer behind an option: methods, columns of the table, words.

Asked for at every press of a key, so nothing heavy is loaded: the header of a CSV file is
read without Arrow, and the names of methods without importing one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import click

__all__ = ["complete_columns", "complete_methods", "complete_pairs", "complete_terms"]


def complete_methods(ctx: click.Context, _parameter: click.Parameter, incomplete: str) -> list[str]:
    """Names of methods, also behind commas."""
    from shoal.methods import METHODS

    return _behind_commas(incomplete, METHODS)


def complete_terms(ctx: click.Context, _parameter: click.Parameter, incomplete: str) -> list[str]:
    """Words of the glossary."""
    from shoal.glossary import words

    return [word for word in words() if word.startswith(incomplete.casefold())]


def complete_columns(ctx: click.Context, _parameter: click.Parameter, incomplete: str) -> list[str]:
    """Columns of the table that the command line names, also behind commas."""
    return _behind_commas(incomplete, _columns(ctx))


def complete_pairs(values: Iterable[str] = ()) -> Callable[..., list[str]]:
    """``COLUMN=VALUE``: columns, and behind the sign the values that there are."""
    known = tuple(values)

    def complete(ctx: click.Context, _parameter: click.Parameter, incomplete: str) -> list[str]:
        name, equals, begun = incomplete.partition("=")
        if equals:
            return [f"{name}={value}" for value in known if value.startswith(begun)]
        return [f"{column}=" for column in _columns(ctx) if column.startswith(name)]

    return complete


def _behind_commas(incomplete: str, names: Iterable[str]) -> list[str]:
    """Names that go on with what was begun; those before the last comma stay."""
    before, comma, begun = incomplete.rpartition(",")
    taken = set(before.split(","))
    return [f"{before}{comma}{n}" for n in names if n.startswith(begun) and n not in taken]


def _columns(ctx: click.Context) -> list[str]:
    """Names of the columns of the file that was given; none where it cannot be read."""
    # Behind an option without its value click gives up before it has told arguments apart.
    named = [ctx.params.get("file"), *ctx.args]
    file = next((part for part in named if part is not None and Path(part).is_file()), None)
    if file is None:
        return []
    from shoal.errors import ShoalError
    from shoal.io.header import column_names

    try:
        return column_names(Path(file), **_dialect(ctx.params))
    except (ShoalError, OSError, ValueError):
        return []


def _dialect(parameters: dict[str, Any]) -> dict[str, Any]:
    told = {name: parameters.get(name) for name in ("encoding", "delimiter")}
    return {name: value for name, value in told.items() if isinstance(value, str)}

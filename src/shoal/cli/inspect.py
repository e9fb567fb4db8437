"""``shoal inspect``: look at a table; propose roles for its columns."""

from __future__ import annotations

import shlex
import sys
from typing import TYPE_CHECKING

import click

from shoal.cli.output import output_options, print_json, progress_bar
from shoal.cli.places import TABLE
from shoal.cli.settings import dialect_options, dialect_words

if TYPE_CHECKING:
    from rich.console import OverflowMethod

    from shoal.explore.inspection import Inspection
    from shoal.io.addresses import Place

ROLE_COLOURS = {
    "identifier": "red",
    "person": "red",
    "qi": "yellow",
    "sensitive": "magenta",
    "weight": "cyan",
    "plain": "",
}


@click.command(short_help="Look at a table; propose roles for its columns.")
@click.argument("file", type=TABLE)
@click.option("--missing", metavar="TEXT", multiple=True, help="Text that means missing.")
@dialect_options
@output_options
def inspect(
    file: Place, missing: tuple[str, ...], quiet: bool, as_json: bool, **dialect: str | None
) -> None:
    """Look at the table in FILE and propose a role for each column.

    Shows kinds, counts and reasons, and how many records are unique on the
    proposed quasi-identifiers. No cell of the table is shown. The proposal is
    a start: you decide.

    \b
    shoal inspect people.csv
    """
    from shoal.explore.inspection import inspect as look

    with progress_bar(quiet) as report:
        report("read", 0, 1)
        found = look(file, ("", *missing), **dialect)
    if as_json:
        print_json(found.to_dict())
        return
    if sys.stdout.isatty():
        _show(found)
    else:
        click.echo(repr(found))
    if not quiet:
        named = shlex.quote(str(file))
        more = dialect_words(dialect)
        click.echo(f"\nnext: shoal anonymize {named} -o release.csv --propose{more}")
        click.echo(f"  or: shoal policy init {named}{more}    to decide about each column")


def _show(found: Inspection) -> None:
    """The same table and lines as the plain form, in colour and fitted to the terminal."""
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    header, *rows = found.rows_of_text()
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")
    for title in header:
        right = title in {"distinct", "missing", "max l"}
        fixed = title not in {"column", "why"}
        overflow: OverflowMethod = "ellipsis" if fixed else "fold"
        table.add_column(
            title, justify="right" if right else "left", no_wrap=fixed, overflow=overflow
        )
    for row, column in zip(rows, found.columns, strict=True):
        styles = {
            "role": ROLE_COLOURS[column.role],
            "why": "bold" if column.undecided else "dim",
        }
        cells = zip(header, row, strict=True)
        table.add_row(*(Text(cell, style=styles.get(title, "")) for title, cell in cells))
    console = Console(highlight=False)
    console.print(table)
    console.print()
    first, *others = found.summary()
    console.print(Text(first, style="bold"))
    for line in others:
        console.print(Text(line))

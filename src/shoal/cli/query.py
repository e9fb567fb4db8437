"""``shoal query``: count and sum up in a release, with bounds."""

from __future__ import annotations

from collections.abc import Sequence
from math import isfinite
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from shoal.cli.output import notice, output_options, print_json, progress_bar
from shoal.cli.places import TABLE
from shoal.cli.settings import policy_from
from shoal.policy import KINDS

if TYPE_CHECKING:
    from shoal.io.addresses import Place
    from shoal.recipient import Answer


@click.command(short_help="Count, sum up or average in a release: expected number and bounds.")
@click.argument("release", type=TABLE)
@click.argument("sql")
@click.option("--manifest", type=click.Path(path_type=Path), help="[RELEASE.manifest.json]")
@click.option("--qi", metavar="A,B,C", multiple=True, help="Generalised columns.")
@click.option("--kind", metavar="COLUMN=KIND", multiple=True, help=f"One of {', '.join(KINDS)}.")
@click.option("--hierarchy", metavar="COLUMN=FILE", multiple=True, help='ARX file, or "flat".')
@click.option(
    "--notation", metavar="COLUMN=FORM", multiple=True, help="How dates are written: dd/mm/yyyy."
)
@click.option("--missing", metavar="TEXT", multiple=True, help="Text that means missing.")
@click.option("--policy", "policy_file", metavar="FILE", help="The release's policy, if at hand.")
@click.option(
    "--sensitive-table", type=click.Path(path_type=Path), help="Second table, of anatomy."
)
@click.option("--time", metavar="TIME", default="60s", show_default=True, help="Time limit.")
@output_options
def query(
    release: Place,
    sql: str,
    manifest: Path | None,
    sensitive_table: Path | None,
    time: str,
    quiet: bool,
    as_json: bool,
    **options: Any,
) -> None:
    """Count the records of RELEASE that satisfy a condition, or sum up what they have.

    Prints the expected number, every value that a generalised cell covers
    being equally likely, and the bounds that hold whatever the cells hide.

    \b
    shoal query release.csv "SELECT count(*) FROM release
                             WHERE age BETWEEN 30 AND 40 AND sex = 'F'"
    shoal query release.csv "SELECT disease, count(*) FROM release
                             WHERE age < 30 GROUP BY disease"
    shoal query release.csv "SELECT avg(salary) FROM release WHERE age BETWEEN 30 AND 40"

    In place of count(*): sum, avg, median, quantile_cont(column, 0.9), quantile_disc,
    of a column of numbers, published as it is or generalised.

    With GROUP BY a generalised column is answered for every value it can have:
    a record counts in each that its cell covers, with its share.

    What the cells are is read from the manifest. Hierarchies are not in it:
    give them, or the policy, for the sharpest bounds. Exit code 6 if the time
    was over before the answer.
    """
    given = any(value not in (None, ()) for value in options.values())
    policy = policy_from(options) if given else None

    from shoal.recipient import query as ask

    with progress_bar(quiet) as report:
        report("query", 0, 1)
        answer = ask(
            release, sql, manifest=manifest, policy=policy,
            sensitive_table=sensitive_table, time=time,
        )  # fmt: skip
    for note in answer.notes:
        notice(note, quiet)
    if as_json:
        print_json(answer.to_dict())
        return
    if answer.groups is not None:
        _show(answer)
    click.echo(repr(answer))


def _show(answer: Answer) -> None:
    """The groups as a table of text."""
    rows = [list(row.values()) for row in answer.rows]
    if not rows:
        return
    texts = [list(answer.rows[0])]
    texts += [[*map(_text, row[:-3]), *map(_number, row[-3:])] for row in rows]
    widths = [max(len(row[i]) for row in texts) for i in range(len(texts[0]))]
    for row in texts:
        click.echo(_line(row, widths))
    click.echo()


def _line(row: Sequence[str], widths: Sequence[int]) -> str:
    """One row: names to the left, the three numbers to the right."""
    names = len(row) - 3
    cells = zip(row, widths, strict=True)
    parts = [c.ljust(w) if i < names else c.rjust(w) for i, (c, w) in enumerate(cells)]
    return "  ".join(parts)


def _text(value: Any) -> str:
    if value is None:
        return "(missing)"
    if isinstance(value, float):
        return f"{value:,.1f}"
    return f"{value:,}" if isinstance(value, int) else str(value)


def _number(value: float | None) -> str:
    """An expected number or bound; nothing where nothing is known."""
    if value is None or not isfinite(value):
        return "-"
    return f"{value:,.1f}" if isinstance(value, float) else f"{value:,}"

"""``shoal compare``: methods side by side on one table."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from shoal.cli.output import notice, output_options, print_json, progress_bar
from shoal.cli.places import TABLE
from shoal.cli.settings import (
    attribute_options,
    column_options,
    dialect_options,
    diversity,
    effort_options,
    number,
    policy_from,
    split_names,
)
from shoal.errors import PolicyError
from shoal.model_settings import READINGS

if TYPE_CHECKING:
    from shoal.explore.comparison import Comparison
    from shoal.io.addresses import Place

MEASURES = ("gcp", "kl", "query", "seconds")


@click.command(short_help="Run methods side by side: time, loss, accuracy.")
@click.argument("file", type=TABLE)
@click.option(
    "--methods", metavar="A,B", multiple=True,
    help="Methods, with options as in hilbert:fast=true. [all]",
)  # fmt: skip
@click.option("-k", metavar="5,10", multiple=True, help="Values of k to run.")
@click.option("-l", metavar="3,5", multiple=True, help="Values of l to run, with every k.")
@click.option(
    "--l-reading", type=click.Choice(READINGS), help="What l-diversity means. [frequency]"
)
@column_options
@effort_options
@attribute_options
@dialect_options
@click.option("--seed", type=int, help="Seed of everything random. [drawn]")
@click.option(
    "--kl", type=click.Choice(["cube", "points"]), default="cube", show_default=True,
    help="Divergence of the data cube, or of the table's points.",
)  # fmt: skip
@click.option(
    "--level", type=click.IntRange(1, 3), default=2, show_default=True,
    help="Attributes of a group-by of the data cube.",
)  # fmt: skip
@click.option(
    "--queries", type=click.IntRange(1), default=1000, show_default=True,
    help="Random COUNT queries to answer.",
)  # fmt: skip
@click.option("--out", type=click.Path(path_type=Path), help="Write the table: .csv, .json, .md.")
@click.option(
    "--picture", type=click.Path(path_type=Path),
    help="Draw the frontier: .svg, .html, .png.",
)  # fmt: skip
@click.option(
    "--report", "page", type=click.Path(path_type=Path), help="All of it as a page: .html, .md."
)
@click.option(
    "--measure", type=click.Choice(MEASURES), default="gcp", show_default=True,
    help="What the picture shows.",
)  # fmt: skip
@output_options
def compare(
    file: Place,
    methods: tuple[str, ...],
    k: tuple[str, ...],
    l: tuple[str, ...],  # noqa: E741
    kl: str,
    level: int,
    queries: int,
    out: Path | None,
    picture: Path | None,
    page: Path | None,
    measure: str,
    quiet: bool,
    as_json: bool,
    **options: Any,
) -> None:
    """Run METHODS with every k and l on the table in FILE, and measure each release.

    Every release is verified and then thrown away: time to partition, loss,
    size of classes (DM, average), KL divergence of the data cube (with a sensitive
    column) and the relative error of random COUNT queries. A combination that has
    no release is a row that says why.

    \b
    shoal compare people.csv --methods hilbert,mondrian -k 5,10,50 --qi age,zip
    """
    policy = policy_from(options)
    ks = [_whole(value) for value in _numbers("k", k)]
    ls = [diversity(text) for text in split_names(l) or []]

    from shoal.explore.compare import compare as run
    from shoal.explore.comparison import FORMATS, check_target
    from shoal.io.paths import check_not_kept
    from shoal.release import files_asked_with

    for target in (out, picture, page):
        if target is not None:
            check_not_kept(target, files_asked_with(policy))
    source = file if isinstance(file, Path) else file.file
    if out is not None:
        check_target(out, FORMATS, source)
    if page is not None:
        check_target(page, (".html", ".md", ".json", ".pdf"), source)
    if picture is not None:
        from shoal.report.charts.frontier import check_picture

        check_picture(picture, source)
    with progress_bar(quiet) as report:
        found = run(
            file, split_names(methods), ks or None, ls or None, policy,
            kl=kl, level=level, queries=queries, progress=report,
        )  # fmt: skip
    if as_json:
        print_json(found.to_dict())
    elif sys.stdout.isatty():
        _show(found)
    else:
        click.echo(repr(found))
    written = [found.write(out)] if out is not None else []
    if picture is not None and any(row.ok for row in found.rows):
        from shoal.report.charts.frontier import frontier
        from shoal.report.charts.theme import save

        written.append(save(frontier(found, measure), picture))
    elif picture is not None:
        notice(f"no release to draw: {picture} was not written", quiet)
    if page is not None:
        from shoal.report.comparing import report_of_comparison
        from shoal.report.making import write_report

        written.append(write_report(report_of_comparison(found, file.name), page))
    if written and not (quiet or as_json):
        click.echo(f"wrote {' and '.join(map(str, written))}")


def _numbers(option: str, values: Iterable[str]) -> list[int | float]:
    """``("5,10", "50")`` as numbers."""
    found = []
    for text in split_names(values) or []:
        try:
            found.append(number(float(text)) or 0)
        except (ValueError, OverflowError):
            raise PolicyError(f"-{option}: expected numbers such as 5,10; got {text!r}") from None
    return found


def _whole(value: int | float) -> int:
    if not isinstance(value, int):
        raise PolicyError(f"-k: expected whole numbers; got {value}")
    return value


def _show(found: Comparison) -> None:
    """The same table as the plain form; the best of each k and l stands out."""
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    from shoal.explore.comparison import BOUND

    made = [row for row in found.rows if row.method != BOUND]
    losses = [(row.asked, row.gcp) for row in made if row.gcp is not None]
    best = {asked: min(loss for other, loss in losses if other == asked) for asked, _ in losses}
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")
    head = found.headings()
    for title in head:
        table.add_column(title, justify="left" if title == "method" else "right", no_wrap=True)
    console = Console(highlight=False)
    for row, cells in zip(found.rows, found.cells(), strict=True):
        lowest = row in made and row.gcp is not None and row.gcp == best[row.asked]
        texts = [
            Text(cell, style="bold green" if lowest and title == "loss" else "")
            for title, cell in zip(head, cells, strict=False)
        ]
        table.add_row(*texts, *([Text("no release", style="yellow")] if row.reason else []))
    console.print(Text(found.summary(), style="dim"))
    console.print()
    console.print(table)
    for row in found.rows:
        if row.reason:
            console.print(Text(f"{row.method} {row.asked}: {row.reason}", style="yellow"))

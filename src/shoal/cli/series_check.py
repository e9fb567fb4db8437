"""``shoal series-check``: what whoever holds all releases of a changing table can learn."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from shoal.cli.output import output_options, progress_bar, tell_verdict
from shoal.cli.places import TABLE

if TYPE_CHECKING:
    from shoal.io.addresses import Place


@click.command(name="series-check", short_help="Releases over time: do m and k still hold?")
@click.argument("releases", nargs=-1, required=True, type=TABLE)
@click.option(
    "--records",
    metavar="RECORD",
    multiple=True,
    type=click.Path(path_type=Path),
    help="The last record of the chain, or all: then the answer is exact.",
)
@click.option("-m", type=int, help="At least m values for everybody. [manifests]")
@click.option("-k", type=int, help="At least k persons for everybody. [manifests]")
@click.option(
    "--nobody-leaves", is_flag=True, help="Who is in one release is known to be in all later ones."
)
@click.option("--policy", "policy_file", metavar="FILE", help="A policy with hierarchies, orders.")
@output_options
def series_check(
    releases: tuple[Place, ...],
    records: tuple[Path, ...],
    m: int | None,
    k: int | None,
    nobody_leaves: bool,
    policy_file: str | None,
    quiet: bool,
    as_json: bool,
) -> None:
    """Say what RELEASES of a table that changes give away together.

    Give them in their order. From the releases alone: which sensitive values
    are left of somebody who is known to be in all of them. With the chain of
    private records: the same of every person.

    \b
    shoal series-check r1.csv r2.csv r3.csv
    shoal series-check r1.csv r2.csv --records r2.csv.record.json

    Exit code 1 if the promise is broken, 0 if it holds or is not refuted.
    Releases alone can refute a promise and never prove it.
    """  # fmt: skip
    from shoal.series import series_check as check

    with progress_bar(quiet) as report:
        report("join", 0, 1)
        result = check(
            releases, records=records, policy=policy_file, m=m, k=k, nobody_leaves=nobody_leaves
        )
    tell_verdict(result, quiet, as_json)

"""``shoal expand``: a release as a table of plain values."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from shoal.cli.output import output_options, print_json, progress_bar
from shoal.cli.places import PIPE, RELEASE, TABLE, handed_on
from shoal.cli.settings import policy_from
from shoal.policy import KINDS

if TYPE_CHECKING:
    from shoal.io.addresses import Place

FORMS = ("midpoint", "mean", "bounds", "shares", "samples")


@click.command(short_help="Make a release a table of plain values, for any tool.")
@click.argument("release", type=TABLE)
@click.option("-o", "--output", metavar="OUT", required=True, type=RELEASE,
              help="File (.csv, .parquet, .arrow, .jsonl), new table, or -.")  # fmt: skip
@click.option("--as", "form", type=click.Choice(FORMS), default="midpoint", show_default=True,
              help="What becomes of a generalised cell.")  # fmt: skip
@click.option("--samples", type=int, default=5, show_default=True, help="How many drawings.")
@click.option("--seed", type=int, help="For the same drawings again.")
@click.option("--manifest", type=click.Path(path_type=Path), help="[RELEASE.manifest.json]")
@click.option("--qi", metavar="A,B,C", multiple=True, help="Generalised columns.")
@click.option("--kind", metavar="COLUMN=KIND", multiple=True, help=f"One of {', '.join(KINDS)}.")
@click.option("--hierarchy", metavar="COLUMN=FILE", multiple=True, help='ARX file, or "flat".')
@click.option("--policy", "policy_file", metavar="FILE", help="The release's policy, if at hand.")
@click.option(
    "--sensitive-table", type=click.Path(path_type=Path), help="Second table, of anatomy."
)
@output_options
def expand(
    release: Place,
    output: Place,
    form: str,
    samples: int,
    seed: int | None,
    manifest: Path | None,
    sensitive_table: Path | None,
    quiet: bool,
    as_json: bool,
    **options: Any,
) -> None:
    """Write RELEASE with plain values in place of intervals, sets, labels and stars.

    \b
    midpoint   the middle of an interval; the likeliest value of a set or label
    mean       likewise, but what an interval's values come to on average
    bounds     two columns, age_low and age_high
    shares     a column a category, with the share that a cell gives it
    samples    the table several times, values drawn from what the cells cover;
               the column _sample says which drawing a row is from

    Columns that are published as they were stay as they are. Nobody's true value is in it:
    it is made from the release alone.
    """
    given = any(value not in (None, ()) for value in options.values())
    policy = policy_from(options) if given else None

    from shoal.io.plain import check_target, write_plain
    from shoal.recipient import expand as make

    check_target(output, release)
    with progress_bar(quiet) as report:
        report("expand", 0, 1)
        table = make(
            release, form, samples=samples, seed=seed, manifest=manifest, policy=policy,
            sensitive_table=sensitive_table,
        )  # fmt: skip
    with handed_on(output) as place:
        write_plain(table, place)
    if str(output) == PIPE:
        return
    if as_json:
        print_json({"file": str(output), "rows": table.num_rows, "columns": table.column_names})
        return
    if not quiet:
        click.echo(f"wrote {output}: {table.num_rows:,} rows, {table.num_columns} columns")

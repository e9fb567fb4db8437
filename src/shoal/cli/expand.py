"""``shoal expand``: a release as a table of plain values."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from shoal.cli.output import output_options, print_json, progress_bar
from shoal.cli.settings import policy_from
from shoal.policy import KINDS

FORMS = ("midpoint", "mean", "bounds", "shares", "samples")


@click.command(short_help="Make a release a table of plain values, for any tool.")
@click.argument("release", type=click.Path(path_type=Path))
@click.option("-o", "--output", metavar="OUT", required=True, type=click.Path(path_type=Path),
              help="File to write: .csv, .parquet, .arrow, .jsonl.")  # fmt: skip
@click.option("--as", "form", type=click.Choice(FORMS), default="midpoint", show_default=True,
              help="What becomes of a generalised cell.")  # fmt: skip
@click.option("--samples", type=int, default=5, show_default=True, help="How many drawings.")
@click.option("--seed", type=int, help="For the same drawings again.")
@click.option("--manifest", type=click.Path(path_type=Path), help="[RELEASE.manifest.json]")
@click.option("--qi", metavar="A,B,C", multiple=True, help="Generalised columns.")
@click.option("--kind", metavar="COLUMN=KIND", multiple=True, help=f"One of {', '.join(KINDS)}.")
@click.option("--hierarchy", metavar="COLUMN=FILE", multiple=True, help='ARX file, or "flat".')
@click.option("--policy", "policy_file", metavar="FILE", help="The release's policy, if at hand.")
@output_options
def expand(
    release: Path,
    output: Path,
    form: str,
    samples: int,
    seed: int | None,
    manifest: Path | None,
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

    from shoal.errors import OutputError
    from shoal.io.paths import check_not_kept
    from shoal.io.read import file_format
    from shoal.io.together import atomic_file
    from shoal.io.write import write_table
    from shoal.recipient import expand as make

    check_not_kept(output, {release: "the release"})
    file_format(output)
    if not output.parent.is_dir():
        raise OutputError(f"{output}: there is no directory {output.parent}")
    with progress_bar(quiet) as report:
        report("expand", 0, 1)
        table = make(release, form, samples=samples, seed=seed, manifest=manifest, policy=policy)
    with atomic_file(output) as temporary:
        write_table(table, temporary, named=output)
    if as_json:
        print_json({"file": str(output), "rows": table.num_rows, "columns": table.column_names})
        return
    if not quiet:
        click.echo(f"wrote {output}: {table.num_rows:,} rows, {table.num_columns} columns")

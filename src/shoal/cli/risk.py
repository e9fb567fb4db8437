"""``shoal risk``: how likely it is that somebody in a table is picked out."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from shoal.cli.output import check_new_file, notice, output_options, print_json, progress_bar
from shoal.cli.places import TABLE
from shoal.cli.settings import dialect_options, policy_from
from shoal.policy import KINDS
from shoal.thresholds import THRESHOLDS

if TYPE_CHECKING:
    from shoal.io.addresses import Place

ATTACKERS = ("prosecutor", "journalist", "marketer")


@click.command(short_help="How likely is somebody picked out? Thresholds to gate on.")
@click.argument("file", type=TABLE)
@click.option("--qi", metavar="A,B,C", multiple=True, help="Quasi-identifiers. [manifest]")
@click.option("--sensitive", metavar="S", multiple=True, help="Sensitive columns. [manifest]")
@click.option("--kind", metavar="COLUMN=KIND", multiple=True, help=f"One of {', '.join(KINDS)}.")
@click.option("--hierarchy", metavar="COLUMN=FILE", multiple=True, help='ARX file, or "flat".')
@click.option("--missing", metavar="TEXT", multiple=True, help="Text that means missing.")
@click.option("--policy", "policy_file", metavar="FILE", help="Policy file; options override it.")
@click.option("--population", type=TABLE, help="Table of all the people.")
@click.option("--counts", metavar="COLUMN", help="Its column that counts people (margins).")
@click.option("--fraction", metavar="SHARE", help="Or: the share of them that is in the table.")
@click.option("--weights", metavar="COLUMN", help="Or: the column of sampling weights.")
@click.option("--household", metavar="COLUMN", help="Column that says who lives together.")
@click.option(
    "--threshold",
    metavar="NAME|RISK",
    help=f"Largest risk that is tolerated: {', '.join(THRESHOLDS)}, or a number.",
)
@click.option("--attacker", type=click.Choice(ATTACKERS), help="Whom it is about. [prosecutor]")
@click.option("--fix", is_flag=True, help="Say which k would keep the threshold.")
@click.option("--suda", type=int, metavar="SIZE", help="Why records stand out: up to SIZE columns.")
@click.option(
    "--records", type=click.Path(path_type=Path), help="Write numbers of every record: private."
)
@click.option("--force", is_flag=True, help="Overwrite the file of --records.")
@dialect_options
@output_options
def risk(
    file: Place,
    population: Place | None,
    counts: str | None,
    fraction: str | None,
    weights: str | None,
    household: str | None,
    threshold: str | None,
    attacker: str | None,
    fix: bool,
    suda: int | None,
    records: Path | None,
    force: bool,
    quiet: bool,
    as_json: bool,
    **options: Any,
) -> None:
    """Say how likely it is that somebody in FILE is picked out.

    FILE is a release with its manifest beside it, or microdata with --qi or
    --policy. Without a population only the prosecutor is looked at, who knows
    that his target is in the table. --encoding, --delimiter and --decimal are
    those of microdata and of the population; a release tells its own.

    \b
    shoal risk release.csv --threshold ema
    shoal risk people.csv --qi age,zip --suda 3 --fraction 0.01
    shoal risk release.csv --population register.csv --attacker journalist --threshold 0.05

    Exit code 1 if the threshold is broken. What is printed holds no number of a
    single record; --records writes those, for the custodian alone.
    """
    policy = policy_from(options)

    from shoal.errors import PolicyError
    from shoal.risks import risk as measure

    if fix and threshold is None:
        raise PolicyError("--fix: expected with --threshold; got none")
    if records is not None:
        check_new_file(file, records, "numbers", force)
    with progress_bar(quiet) as report:
        found = measure(
            file,
            policy,
            population=population,
            counts=counts,
            fraction=fraction,
            weights=weights,
            household=household,
            threshold=threshold,
            attacker=attacker,
            suda=suda,
            progress=report,
        )
    if records is not None:
        _write_privately(found.per_record.table(), records)
        notice(f"wrote {records}: keep it to yourself", quiet)
    if as_json:
        print_json(found.to_dict())
    elif not quiet:
        click.echo(repr(found))
        if fix and found.ok:
            click.echo(f"k = {found.fix} keeps the threshold")
    if not found.ok:
        raise click.exceptions.Exit(1)


def _write_privately(table: Any, path: Path) -> None:
    from shoal.io.together import all_or_none
    from shoal.io.write import write_table

    with all_or_none([path], lock_beside=path, private=path) as (temporary,):
        write_table(table, temporary, named=path)

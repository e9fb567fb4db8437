"""``shoal verify``: check a release from its text alone."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from shoal.cli.output import output_options, print_json, progress_bar
from shoal.cli.places import TABLE
from shoal.cli.settings import column_options, model_options, policy_from
from shoal.errors import PolicyError

if TYPE_CHECKING:
    from shoal.io.addresses import Place

IN_PART = 5
"""Exit code: nothing is wrong, but not everything could be checked."""


@click.command(short_help="Check a release from its text alone.")
@click.argument("release", type=TABLE)
@click.option("--manifest", type=click.Path(path_type=Path), help="[RELEASE.manifest.json]")
@click.option(
    "--sensitive-table", type=click.Path(path_type=Path), help="Second table, of anatomy."
)
@click.option("--key", type=click.Path(path_type=Path), help="Public key of who signed it.")
@click.option(
    "--report", type=click.Path(path_type=Path), help="A report, to be signed by the key too."
)
@click.option(
    "--record", type=click.Path(path_type=Path), help="Private record: whose records are whose."
)
@click.option(
    "--memory", metavar="1GB", help="Memory the check may take: DuckDB groups what needs more."
)
@column_options
@model_options
@output_options
def verify(
    release: Place,
    manifest: Path | None,
    sensitive_table: Path | None,
    key: Path | None,
    record: Path | None,
    report: Path | None,
    memory: str | None,
    quiet: bool,
    as_json: bool,
    **options: Any,
) -> None:
    """Check that RELEASE satisfies the models its manifest claims.

    RELEASE is a file, a folder of parts, or the address of a table in a
    database. Or, without a manifest, the models given here:

    \b
    shoal verify release.csv
    shoal verify release.csv --key key.pub.pem
    shoal verify release.csv --qi age,zip --sensitive disease -k 10 -l 3

    Who has the private record can check models that count persons:

    \b
    shoal verify release.csv --record release.csv.record.json

    The policy in the manifest says what was promised; whatever else it says is
    worked out again from the files and compared.

    Exit code 0 if all is as it should be, 1 if a model fails or the manifest
    is wrong, 5 if nothing is wrong but not everything could be checked.
    """
    given = {name: value for name, value in options.items() if value not in (None, ())}
    if given and manifest is not None:
        raise PolicyError("give --manifest, or columns and models to check, not both")
    policy = policy_from(options) if given else None

    from shoal.verification.files import verify as check

    with progress_bar(quiet) as tell:
        tell("verify", 0, 1)
        verification = check(
            release, manifest, policy, sensitive_table=sensitive_table, key=key, record=record,
            report=report, memory=memory,
        )  # fmt: skip
    if as_json:
        print_json(verification.to_dict())
    elif not quiet:
        click.echo(repr(verification))
    if not verification.ok:
        raise click.exceptions.Exit(IN_PART if verification.holds else 1)

"""``shoal anonymize``: microdata in; verified release, manifest and private record out."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from shoal.cli.output import (
    notice,
    output_options,
    print_json,
    progress_bar,
    warnings_as_notices,
    what_was_written,
)
from shoal.cli.settings import (
    attribute_options,
    column_options,
    effort_options,
    model_options,
    policy_from,
    suppression_options,
)
from shoal.policy import LAYOUTS, RESTS

if TYPE_CHECKING:
    from shoal.release import Budget

FATES = {"drop": "left out", "plain": "published as is", "qi": "quasi-identifiers"}
"""What `rest` makes of columns without a role."""


@click.command(short_help="Turn microdata into a verified release.")
@click.argument("file", type=click.Path(path_type=Path))
@click.option(
    "-o", "--out", required=True, type=click.Path(path_type=Path), help="The release to write."
)
@column_options
@click.option("--identifier", metavar="N", multiple=True, help="Columns to drop.")
@click.option("--plain", metavar="P", multiple=True, help="Columns published knowingly as is.")
@click.option(
    "--rest", type=click.Choice(RESTS), help="What becomes of columns without a role. [an error]"
)
@click.option("--reader", metavar="NAME=A,B", multiple=True, help="A reader and what it knows.")
@click.option("--reader-k", metavar="NAME=K", multiple=True, help="A reader's own k.")
@click.option("--collusion-k", type=int, help="k for all readers together.")
@model_options
@click.option(
    "--max-loss", type=float, help="Search the largest k (or l) whose loss is within this."
)
@click.option("--search", type=click.Choice(["k", "l"]), help="What --max-loss searches. [k]")
@click.option("--method", help="Algorithm; see `shoal methods`.")
@click.option("--option", metavar="NAME=VALUE", multiple=True, help="An option of the method.")
@effort_options
@suppression_options
@attribute_options
@click.option("--layout", type=click.Choice(LAYOUTS), help="Intervals as cells, or two columns.")
@click.option("--seed", type=int, help="Seed: whoever knows it can replay the run. [secret]")
@click.option("--keep-order", is_flag=True, help="Keep the input's row order (it can betray).")
@click.option("--csv-safe", is_flag=True, help="Disarm cells a spreadsheet would run.")
@click.option("--manifest", type=click.Path(path_type=Path), help="[OUT.manifest.json]")
@click.option(
    "--record", type=click.Path(path_type=Path), help="Keep it to yourself. [OUT.record.json]"
)
@click.option("--no-record", is_flag=True, help="Write no record: nobody can reproduce it.")
@output_options
def anonymize(
    file: Path,
    out: Path,
    manifest: Path | None,
    record: Path | None,
    no_record: bool,
    quiet: bool,
    as_json: bool,
    **options: Any,
) -> None:
    """Turn the microdata in FILE into a verified release OUT.

    FILE and OUT may be CSV (also .gz), Parquet, Arrow/Feather or JSON lines.
    Identifiers never reach the output. Every column needs a role; --rest says
    what becomes of those without one.

    \b
    shoal anonymize people.csv -o release.csv --qi age,zip --sensitive disease -k 10 -l 3
    """
    policy = policy_from(options)

    from shoal.io.paths import check_targets, manifest_path, record_path
    from shoal.pipeline import anonymize as run
    from shoal.verification.manifest import load_manifest

    proof = manifest or manifest_path(out)
    secret = None if no_record else record or record_path(out)
    check_targets(file, out, proof, secret)
    with warnings_as_notices(quiet) as warned, progress_bar(quiet) as report:
        release = run(file, policy, progress=report)
        release.write(
            out,
            proof,
            lambda done, total: report("write", done, total),
            record=secret,
            keep_record=not no_record,
            command=("shoal", *sys.argv[1:]),
        )
    if release.rest:
        notice(f"{FATES[policy.rest or 'drop']}, having no role: {', '.join(release.rest)}", quiet)
    for line in release.manifest["notices"]:
        if not any(text.endswith(line) for text in warned):
            notice(line, quiet)
    if as_json:
        print_json(load_manifest(proof))
    elif not quiet:
        click.echo(repr(release))
        _say_what_the_budget_bought(release.budget)
        click.echo(what_was_written(release, out, proof, secret))


def _say_what_the_budget_bought(found: Budget | None) -> None:
    if found is None:
        return
    name = found.name
    line = f"largest {name} within a loss of {found.max_loss}: {name} = {found.level}"
    if found.next_loss is not None:
        line += f"; {name} = {found.level + 1} would lose {round(found.next_loss, 9):.4f}"
    click.echo(line)

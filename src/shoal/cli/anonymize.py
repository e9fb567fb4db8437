"""``shoal anonymize``: microdata in; verified release, manifest and private record out."""

from __future__ import annotations

import os
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from shoal.cli.before_after import show_before_after
from shoal.cli.completing import complete_columns, complete_methods
from shoal.cli.interrupting import keeps
from shoal.cli.output import (
    notice,
    output_options,
    print_json,
    progress_bar,
    warnings_as_notices,
    what_was_written,
)
from shoal.cli.places import PIPE, RELEASE, TABLE, command_line, handed_on
from shoal.cli.preparing import kernels_of, preparing
from shoal.cli.proposing import proposed
from shoal.cli.settings import (
    attribute_options,
    column_options,
    effort_options,
    engine_options,
    model_options,
    policy_from,
    series_options,
    suppression_options,
    table_options,
)
from shoal.policy import LAYOUTS, RESTS, Policy
from shoal.quantities import bytes_of
from shoal.thresholds import Threshold

if TYPE_CHECKING:
    from shoal.io.addresses import Place
    from shoal.policy import Policy
    from shoal.release import Budget

FATES = {"drop": "left out", "plain": "published as is", "qi": "quasi-identifiers"}
"""What `rest` makes of columns without a role."""
LITTLE = 1_000_000_000
"""Bytes of memory below which what is freed is given back at once."""


@click.command(short_help="Turn microdata into a verified release.")
@click.argument("file", type=TABLE)
@click.option("-o", "--out", type=RELEASE, help="The release to write.")
@click.option("--propose", is_flag=True, help="Take the roles that `shoal inspect` proposes.")
@click.option("--dry-run", is_flag=True, help="Say what would happen, and do nothing.")
@column_options
@click.option(
    "--identifier",
    metavar="N",
    multiple=True,
    help="Columns to drop.",
    shell_complete=complete_columns,
)
@click.option(
    "--plain",
    metavar="P",
    multiple=True,
    help="Columns published knowingly as is.",
    shell_complete=complete_columns,
)
@click.option(
    "--rest", type=click.Choice(RESTS), help="What becomes of columns without a role. [an error]"
)
@click.option("--reader", metavar="NAME=A,B", multiple=True, help="A reader and what it knows.")
@click.option("--reader-k", metavar="NAME=K", multiple=True, help="A reader's own k.")
@click.option("--collusion-k", type=int, help="k for all readers together.")
@model_options
@click.option(
    "--threshold", metavar="NAME|RISK", help="Largest risk of a record: ema, cms, 0.05; sets k."
)
@click.option(
    "--max-loss", type=float, help="Search the largest k (or l) whose loss is within this."
)
@click.option("--search", type=click.Choice(["k", "l"]), help="What --max-loss searches. [k]")
@click.option("--method", help="Algorithm; see `shoal methods`.", shell_complete=complete_methods)
@click.option("--option", metavar="NAME=VALUE", multiple=True, help="An option of the method.")
@effort_options
@series_options
@suppression_options
@attribute_options
@table_options
@engine_options
@click.option("--layout", type=click.Choice(LAYOUTS), help="Intervals as cells, or two columns.")
@click.option("--seed", type=int, help="Seed: whoever knows it can replay the run. [secret]")
@click.option("--keep-order", is_flag=True, help="Keep the input's row order (it can betray).")
@click.option("--csv-safe", is_flag=True, help="Disarm cells a spreadsheet would run.")
@click.option("--manifest", type=click.Path(path_type=Path), help="[OUT.manifest.json]")
@click.option(
    "--record", type=click.Path(path_type=Path), help="Keep it to yourself. [OUT.record.json]"
)
@click.option("--no-record", is_flag=True, help="Write no record: nobody can reproduce it.")
@click.option(
    "--report", "page", type=click.Path(path_type=Path), is_flag=False, flag_value=Path(),
    help="The custodian's report, too. [OUT.report.html]",
)  # fmt: skip
@click.option(
    "--explain", "explained", is_flag=True, help="Say also which records hold the loss, and why."
)
@output_options
def anonymize(
    file: Place,
    out: Place | None,
    propose: bool,
    dry_run: bool,
    after: Path | None,
    append: bool,
    manifest: Path | None,
    record: Path | None,
    no_record: bool,
    page: Path | None,
    explained: bool,
    quiet: bool,
    as_json: bool,
    **options: Any,
) -> None:
    """Turn the microdata in FILE into a verified release OUT.

    FILE and OUT may be CSV (also .gz), Parquet, Arrow/Feather or JSON lines;
    FILE also a folder, or a quoted pattern, of CSV or Parquet files. Both may
    be the address of a table in a database, or - for a pipe (docs/sources.md).
    Identifiers never reach the output. Every column needs a role; --rest says
    what becomes of those without one, --propose takes the roles that inspect
    finds, shows them and writes them as a policy beside the release.

    \b
    shoal anonymize people.csv -o release.csv --qi age,zip --sensitive disease -k 10 -l 3
    shoal anonymize people.csv -o release.csv --propose -k 10
    shoal anonymize people.csv --propose --dry-run
    shoal anonymize new.csv -o r2.csv --policy p.toml --after r1.csv.record.json
    shoal anonymize 'postgresql://me@host/db?table=people' -o release.csv --propose -k 10
    """
    piped = str(out) == PIPE
    if piped and (as_json or propose or page is not None):
        raise click.UsageError("-o -: expected without --json, --propose and --report")
    if page is not None and not (isinstance(out, Path) and isinstance(file, Path)):
        raise click.UsageError("--report: expected files as input and release, not a database")
    in_parts = options.get("engine") == "spark" and isinstance(out, Path) and not out.suffix
    if page is not None and in_parts:
        raise click.UsageError("--report: expected a release in one file; it is read into memory")
    if out is None and not dry_run:
        raise click.UsageError("expected -o, --out with the release to write, or --dry-run")
    if propose:
        proposal = proposed(file, options, out, quiet)
        policy = proposal.policy
        if not (quiet or as_json):
            click.echo(f"{proposal.found!r}\n")
    else:
        proposal, policy = None, policy_from(options)
    _spare_memory(policy)
    if dry_run or out is None:
        _rehearse(file, policy, quiet, as_json)
        return

    from shoal.io.paths import check_targets, manifest_path, record_path
    from shoal.pipeline import carry_out
    from shoal.plan import Plan
    from shoal.release import files_asked_with
    from shoal.verification.record import private_notices

    if policy.threshold is not None:
        _say_which_k_it_asks_for(policy, quiet)
    with handed_on(out) as target:
        proof = manifest or (manifest_path(target) if isinstance(target, Path) else None)
        secret = None if no_record else record or record_path(target)
        check_targets(
            file, target, proof, secret, files_asked_with(policy),
            folders=policy.engine in {"duckdb", "spark"},
        )  # fmt: skip
        with (
            warnings_as_notices(quiet) as warned,
            progress_bar(quiet) as report,
            preparing(kernels_of(policy), report),
        ):
            plan = Plan.of(policy)
            release = carry_out(plan, file, report, target=target, after=after, append=append)
            with closing(release):
                release.write(
                    target,
                    proof,
                    lambda done, total: report("write", done, total),
                    record=secret,
                    keep_record=not no_record,
                    command=command_line(),
                )
                keeps(*((manifest, record) if piped else (target, proof, secret)))
    if proposal is not None and proposal.target is not None:
        proposal.write()
        keeps(proposal.target)
    if page is not None and isinstance(out, Path) and isinstance(file, Path) and proof:
        _write_report(out, proof, secret, file, page, quiet)
    if release.rest:
        notice(f"{FATES[policy.rest or 'drop']}, having no role: {', '.join(release.rest)}", quiet)
    for line in private_notices(release):
        if not any(text.endswith(line) for text in warned):
            notice(line, quiet)
    if piped:
        lost = [
            f"--{what}" for what, kept in (("manifest", manifest), ("record", record)) if not kept
        ]
        if lost:
            notice(f"not kept of what went to the pipe: {', '.join(lost)} FILE keeps it", quiet)
    elif as_json:
        print_json(_manifest_of(out, proof))
    elif not quiet:
        click.echo(repr(release))
        _say_what_the_budget_bought(release.budget)
        show_before_after(release, explained=explained)
        click.echo(what_was_written(release, out, proof, secret))
        if proposal is not None:
            click.echo(f"the proposal is in {proposal.target}: check each role, then --policy it")


def _spare_memory(policy: Policy) -> None:
    """Where little memory may be taken, have Arrow give back what it frees: before it is loaded."""
    if policy.memory is not None and bytes_of(policy.memory) < LITTLE:
        os.environ.setdefault("ARROW_DEFAULT_MEMORY_POOL", "system")


def _manifest_of(out: Place, proof: Path | None) -> dict[str, Any]:
    """The manifest as it was written."""
    from shoal.io.addresses import Address
    from shoal.io.databases import read_manifest
    from shoal.verification.manifest import load_manifest

    if isinstance(out, Address):
        return read_manifest(out)
    assert proof is not None
    return load_manifest(proof)


def _rehearse(file: Place, policy: Policy, quiet: bool, as_json: bool) -> None:
    """Say what would happen."""
    from shoal.errors import InfeasibleError
    from shoal.rehearsal import rehearse

    with warnings_as_notices(quiet), progress_bar(quiet) as report:
        found = rehearse(file, policy, report)
    if as_json:
        print_json(found.to_dict())
    else:
        click.echo("\n".join(found.lines()))
    if found.refusal is not None:
        raise InfeasibleError(found.refusal)


def _say_which_k_it_asks_for(policy: Policy, quiet: bool) -> None:
    limit = Threshold.of(policy.threshold or 1)
    least, more = limit.smallest_class, ""
    if policy.k is not None and policy.k > least:
        more = f"; k = {policy.k} was asked for, and is more"
    notice(f"threshold {limit}: k = {least}, since {limit.reason()}{more}", quiet)


def _write_report(
    out: Path, manifest: Path, record: Path | None, original: Path, page: Path, quiet: bool
) -> None:
    """The custodian's report of what was just written, read again from the files."""
    from shoal.report.making import report, write_report

    target = out.with_name(f"{out.name}.report.html") if page == Path() else page
    made = report(out, manifest, record=record, original=original)
    write_report(made, target)
    notice(f"wrote the custodian's report {target}: keep it to yourself", quiet)


def _say_what_the_budget_bought(found: Budget | None) -> None:
    if found is None:
        return
    name = found.name
    line = f"largest {name} found within a loss of {found.max_loss}: {name} = {found.level}"
    if found.next_loss is not None:
        line += f"; {name} = {found.level + 1} would lose {round(found.next_loss, 9):.4f}"
        line += f" (a larger {name} might fit yet: the loss need not grow at every step)"
    click.echo(line)

"""``shoal join-check``: what whoever holds several releases of one table can learn."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from shoal.cli.output import output_options, progress_bar, tell_verdict
from shoal.cli.places import TABLE
from shoal.cli.settings import policy_from, split_names
from shoal.model_settings import READINGS
from shoal.policy import KINDS

if TYPE_CHECKING:
    from shoal.io.addresses import Place


@click.command(name="join-check", short_help="Join releases: do k and l still hold?")
@click.argument("releases", nargs=-1, required=True, type=TABLE)
@click.option("--qi", metavar="A,B,C", multiple=True, help="What an adversary knows. [manifests]")
@click.option("-k", type=int, help="At least k records for everybody. [manifests]")
@click.option("--sensitive", metavar="A,B", multiple=True, help="Sensitive columns. [manifests]")
@click.option("-l", type=int, help="At least l-diverse for everybody. [manifests]")
@click.option("--l-reading", type=click.Choice(READINGS), help="What l means. [manifests]")
@click.option("--kind", metavar="COLUMN=KIND", multiple=True, help=f"One of {', '.join(KINDS)}.")
@click.option("--hierarchy", metavar="COLUMN=FILE", multiple=True, help='ARX file, or "flat".')
@click.option("--missing", metavar="TEXT", multiple=True, help="Text that means missing.")
@click.option("--policy", "policy_file", metavar="FILE", help="A policy with hierarchies, orders.")
@output_options
def join_check(
    releases: tuple[Place, ...],
    qi: tuple[str, ...],
    k: int | None,
    sensitive: tuple[str, ...],
    l: int | None,  # noqa: E741
    l_reading: str | None,
    quiet: bool,
    as_json: bool,
    **options: Any,
) -> None:
    """Say whether joining RELEASES of one table breaks k or l for some record.

    Each release may be k-anonymous on its own; joined row by row they may
    single people out. Quasi-identifiers, k and l are those of the manifests, if
    not given here. Hierarchies are not in manifests: give them.

    \b
    shoal join-check insurer.csv employer.csv
    shoal join-check a.csv b.csv --qi age,vehicle,job -k 2 --hierarchy job=job.csv

    Exit code 1 if k or l is broken after the join, 0 if not. What was not
    followed up is "not refuted", and named: it does not say "holds".
    """
    given = any(value not in (None, ()) for value in options.values())
    policy = policy_from(options) if given else None

    from shoal.joining import join_check as check

    with progress_bar(quiet) as report:
        report("join", 0, 1)
        result = check(
            releases,
            k,
            qi=split_names(qi) or (),
            sensitive=split_names(sensitive) or (),
            l=l,
            l_reading=l_reading,
            policy=policy,
        )
    tell_verdict(result, quiet, as_json)

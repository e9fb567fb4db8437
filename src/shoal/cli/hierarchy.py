"""``shoal hierarchy``: a first tree for a column, made from the table."""

from __future__ import annotations

import shlex
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import click

from shoal.cli.groups import NearestGroup
from shoal.cli.output import check_new_file, notice, output_options, print_json, progress_bar
from shoal.cli.places import TABLE
from shoal.cli.settings import dialect_options, policy_from
from shoal.policy import KINDS

if TYPE_CHECKING:
    from shoal.explore.suggestion import Suggestion
    from shoal.io.addresses import Place


@click.group(cls=NearestGroup, short_help="Work with hierarchies.")
def hierarchy() -> None:
    """Work with hierarchies: trees that say what a value may be published as."""


@hierarchy.command(short_help="Suggest a tree for a column.")
@click.argument("file", type=TABLE)
@click.option("--column", metavar="C", required=True, help="The column that wants a tree.")
@click.option("--levels", type=int, help="Levels, leaves and * included. [2 to 4 by its values]")
@click.option("--qi", metavar="A,B,C", multiple=True, help="Columns to compare values by.")
@click.option("--sensitive", metavar="S", multiple=True, help="Columns not to compare by.")
@click.option("--identifier", metavar="I", multiple=True, help="Columns not to compare by.")
@click.option("--kind", metavar="COLUMN=KIND", multiple=True, help=f"One of {', '.join(KINDS)}.")
@click.option("--missing", metavar="TEXT", multiple=True, help="Text that means missing.")
@click.option("--policy", "policy_file", metavar="FILE", help="Policy file; options override it.")
@dialect_options
@click.option("-o", "--out", type=click.Path(path_type=Path), help="ARX file to write. [stdout]")
@click.option("--force", is_flag=True, help="Replace an existing file.")
@output_options
def suggest(
    file: Place,
    column: str,
    levels: int | None,
    out: Path | None,
    force: bool,
    quiet: bool,
    as_json: bool,
    **options: Any,
) -> None:
    """Suggest a hierarchy for a column of the table in FILE, to edit and use.

    Numbers get intervals with round bounds, dates calendar periods, codes of
    one length prefixes, and categories groups of values that occur with
    similar values of the other columns: the quasi-identifiers, or else all
    that do not look like identifiers or sensitive ones.

    \b
    shoal hierarchy suggest people.csv --column job -o job.csv
    shoal anonymize people.csv -o release.csv --qi age,job -k 5 --hierarchy job=job.csv
    """
    if out is not None:
        check_new_file(file, out, "hierarchy", force)
    policy = policy_from(options)

    from shoal.explore.suggestion import suggest as propose

    with progress_bar(quiet) as report:
        report("compare", 0, 1)
        found = propose(file, column, levels=levels, policy=policy)
    if found.compared and not policy.qi:
        notice(f"values compared by {', '.join(found.compared)}; --qi names others", quiet)
    if out is not None:
        _write(found, out)
    if as_json:
        print_json({**found.to_dict(), **({"hierarchy": str(out)} if out else {})})
    elif out is None:
        _print(found)
    elif not quiet:
        nodes = ", ".join(str(n) for n in found.to_dict()["nodes"])
        click.echo(f"wrote {out}: {nodes} labels from the values up; read and edit it, then use")
        click.echo(f"  --hierarchy {shlex.quote(f'{column}={out}')}")


def _write(found: Suggestion, out: Path) -> None:
    from shoal.io.together import atomic_file

    with atomic_file(out) as temporary:
        found.tree.to_arx_csv(temporary)


def _print(found: Suggestion) -> None:
    with TemporaryDirectory() as folder:  # the same bytes as in a file
        found.tree.to_arx_csv(Path(folder) / "tree.csv")
        click.echo((Path(folder) / "tree.csv").read_bytes().decode("utf-8"), nl=False)

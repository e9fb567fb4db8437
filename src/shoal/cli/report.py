"""``shoal report``: what a privacy officer needs to know about a release."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from shoal.cli.places import TABLE, OnlyFile

if TYPE_CHECKING:
    from shoal.io.addresses import Place

FORMATS = ("html", "pdf", "md", "json")
IN_PART = 5
FILES = "the record knows the table by the hash of its file; save it as a file"


@click.command(short_help="Write a report of a release, to read and sign.")
@click.argument("release", type=TABLE)
@click.option(
    "-o", "--out", type=click.Path(path_type=Path), help="[RELEASE.report.html] - prints it."
)
@click.option("--format", "kind", type=click.Choice(FORMATS), help="[by the ending of OUT]")
@click.option("--manifest", type=click.Path(path_type=Path), help="[RELEASE.manifest.json]")
@click.option(
    "--policy", type=click.Path(path_type=Path), help="What was promised, without a manifest."
)
@click.option(
    "--record", type=click.Path(path_type=Path), help="Private record: the custodian's report."
)
@click.option("--original", type=OnlyFile(FILES), help="The table that was released.")
@click.option("--show-small", is_flag=True, help="Show counts below the smallest class, too.")
@click.option("-q", "--quiet", is_flag=True, help="Say nothing.")
def report(
    release: Place,
    out: Path | None,
    kind: str | None,
    manifest: Path | None,
    policy: Path | None,
    record: Path | None,
    original: Path | None,
    show_small: bool,
    quiet: bool,
) -> None:
    """Write a report of RELEASE that can be read, checked, printed and signed.

    \b
    shoal report release.csv                      the public report, release.csv.report.html
    shoal report release.csv -o report.pdf        printed by an installed Chromium
    shoal report release.csv --format md -o -     for a pull request
    shoal report release.csv --record release.csv.record.json --original people.csv

    From the release and its manifest alone comes the public report. With the
    record or the original comes the custodian's, which says more and is not
    for others. Every promise is checked again while the report is made.

    Exit code 0 if all holds, 1 if not, 5 if not everything could be checked.
    """
    from shoal.errors import PolicyError
    from shoal.report.making import FORMATS as ENDINGS
    from shoal.report.making import report as make
    from shoal.report.making import text_of, write_report

    piped = isinstance(release, Path) and release.stem == "standard-input"
    if piped and out is None:
        raise PolicyError("report: of standard input it is written where -o says, or to - itself")
    made = make(
        release, manifest, policy=policy, record=record, original=original, show_small=show_small
    )
    if out == Path("-"):
        if kind == "pdf":
            raise PolicyError("report: a PDF is no text; give it a name with -o")
        click.echo(text_of(made, kind or "html"), nl=False)
    else:
        ending = ENDINGS[kind or "html"]
        target = out or release.with_name(f"{release.name}.report{ending}")
        write_report(made, target, kind)
        if not quiet:
            private = ": keep it to yourself" if made.audience == "custodian" else ""
            click.echo(f"{made.headline}\nwrote {target}{private}")
    if not made.ok:
        raise click.exceptions.Exit({"fails": 1}.get(made.verdict, IN_PART))

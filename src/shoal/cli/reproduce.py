"""``shoal reproduce``: the same bytes again, from a release's record and its input."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from shoal.cli.output import notice, output_options, print_json, progress_bar, warnings_as_notices
from shoal.cli.places import RELEASE, TABLE, command_line
from shoal.errors import InputError, VerificationError

if TYPE_CHECKING:
    from shoal.io.addresses import Place
    from shoal.release import Release


@click.command(short_help="Make a release again from its record.")
@click.argument("record", type=click.Path(path_type=Path))
@click.argument("file", metavar="INPUT", type=TABLE)
@click.option("-o", "--out", required=True, type=RELEASE, help="The release to write.")
@output_options
def reproduce(record: Path, file: Place, out: Place, quiet: bool, as_json: bool) -> None:
    """Make the release of RECORD again from its INPUT: the same bytes.

    OUT is written with its manifest and record, only if it is the same release.
    Give it the ending of the first one. A search that was limited by time
    depends on the clock and cannot be promised to end at the same release.

    \b
    shoal reproduce release.csv.record.json people.csv -o again.csv

    Exit code 1 if another release came out.
    """
    from shoal.io.paths import check_targets, manifest_path, record_path
    from shoal.pipeline import carry_out
    from shoal.plan import Plan
    from shoal.release import files_asked_with
    from shoal.verification.manifest import versions
    from shoal.verification.record import load_record, policy_from_record

    known = load_record(record)
    policy, seed = policy_from_record(known, record)
    plan = Plan.of(policy, seed)
    proof = manifest_path(out) if isinstance(out, Path) else None
    check_targets(file, out, proof, record_path(out), files_asked_with(policy))
    _check_input(known, file, record)
    if known.get("versions") != versions():
        notice("made with other versions: the bytes may differ", quiet)
    if isinstance(known.get("reproducible"), str):
        notice(known["reproducible"], quiet)
    with warnings_as_notices(quiet=True), progress_bar(quiet) as report:
        release = carry_out(plan, file, report, target=out, **_in_series(known))
        with closing(release):
            _check_bytes(release, out, known, record)
            # The same release: the same manifest.
            generation = str(known["generation"]) if "generation" in known else None
            release.write(out, command=command_line(), generation=generation)
    if as_json:
        print_json({"file": str(out), "same": True, "sha256": known["release"]["sha256"]})
    elif not quiet:
        click.echo(f"wrote {out}: the same bytes as {known['release'].get('file')}")


def _in_series(known: dict[str, Any]) -> dict[str, Any]:
    """Where in its series the release stands."""
    part = known.get("series")
    if not isinstance(part, dict):
        return {}
    before = part.get("previous") or {}
    after = Path(before["file"]) if "file" in before else None
    return {"after": after, "append": bool(part.get("append")), "again": True}


def _check_input(known: dict[str, Any], file: Place, record: Path) -> None:
    from shoal.io.write import sha256_of

    made_of = known["input"].get("sha256")
    if not isinstance(file, Path):  # a database has no hash: what comes out decides
        return
    if made_of is None:
        raise InputError(
            f"record {record}: the release was made of a table in memory, not of a file; "
            "make it again in Python with its seed"
        )
    if file.is_file() and sha256_of(file) != made_of:
        raise InputError(
            f"{file}: is not the input of record {record} (SHA-256 differs); "
            f"it was {known['input'].get('file')}"
        )


def _check_bytes(release: Release, out: Place, known: dict[str, Any], record: Path) -> None:
    """Nothing is written unless it is the release that was written before."""
    asked = known["release"]
    made = [(release.table, asked.get("sha256"))]
    if release.sensitive_table is not None:
        second = asked.get("sensitive_table")
        made.append((release.sensitive_table, second.get("sha256") if second else None))
    for table, digest in made:
        if release.digest_of(table, out) != digest:
            raise VerificationError(
                f"{out}: not the release of record {record}: the bytes differ, nothing was "
                f"written; give the ending of {asked.get('file')} and the versions of the record"
            )

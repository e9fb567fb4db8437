"""The private record of a release: seed, exact numbers, what it was made of and how.

Whoever has it and a copy of the input can make the same bytes again, and whoever
has it can test guesses about the people in the input: it stays with the custodian.
The public half is the manifest (`shoal.verification.manifest`).
"""

from __future__ import annotations

import json
import zlib
from base64 import b64decode, b64encode
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from shoal.errors import InputError
from shoal.io.addresses import Address, Place
from shoal.io.paths import record_path
from shoal.io.together import unfinished
from shoal.policy import Policy
from shoal.verification.hashes import fingerprint_of
from shoal.verification.manifest import gap_of, notices, release_facts, versions

if TYPE_CHECKING:
    from shoal.bounds import Bound
    from shoal.metrics.loss import Loss
    from shoal.release import Budget, MethodUsed, Release

__all__ = [
    "FORMAT",
    "dump_claims",
    "load_record",
    "of_different_runs",
    "persons_of",
    "policy_from_record",
    "private_notices",
    "record_beside",
    "record_of",
]

FORMAT = 1
SHAPES = {"policy": dict, "base": str, "seed": int, "input": dict, "release": dict}
"""What a record must have to be of any use."""
KEEP = "keep this to yourself: whoever has it can replay the release and test guesses about people"
BY_THE_CLOCK = "the search was limited by time, not by steps: another run may find another release"


def record_of(release: Release) -> dict[str, Any]:
    """Everything that is known of a release, as plain values for JSON; never to be published."""
    policy = release.policy
    disclosure = {name: risk._asdict() for name, risk in release.disclosure.items()}
    return {
        "private": KEEP,
        "format": FORMAT,
        "versions": versions(),
        "seed": release.seed,
        "input": {
            "file": _input_name(release.source),
            "sha256": release.source_sha256,
        },
        "policy": _as_given(policy, release),
        "base": str(policy.base.resolve()),
        "method": _method(release.method, release.budget),
        "release": {**release_facts(release), **_private_facts(release)},
        "models": [check.to_dict() for check in release.verification.checks],
        "loss": {**release.loss.to_dict(), **_bound(release.loss, release.bound)},
        "risk_before": dict(release.risk_before),
        **({"search": [list(point) for point in release.searched]} if release.searched else {}),
        **({"outliers": asdict(release.outliers)} if release.outliers else {}),
        **({"disclosure": disclosure} if disclosure else {}),
        "notices": private_notices(release),
        **({} if release.persons is None else {"persons": _packed(release.persons)}),
        **({} if release.series is None else {"series": dict(release.series.private)}),
        "reproducible": BY_THE_CLOCK if policy.time is not None else True,
    }


def _input_name(source: Place | None) -> str | None:
    """What was read: without user and password."""
    if isinstance(source, Address):
        return source.for_record
    return None if source is None else str(source)


def _private_facts(release: Release) -> dict[str, Any]:
    """Which columns were left out, how many records were suppressed of how many."""
    rest, suppressed = release.rest, release.suppressed
    return {
        **({"rest": {release.policy.rest: list(rest)}} if rest else {}),
        **({"suppressed": asdict(suppressed)} if suppressed else {}),
    }


def private_notices(release: Release) -> list[str]:
    """What the custodian should know: with what was counted in the input."""
    none = release.suppressed is not None and not release.suppressed.records
    return [
        *notices(release),
        *([_why_none_is_suppressed(release.policy)] if none else []),
        *release.unprotected,
        *release.exposed_in_input,
        *release.cautions,
    ]


def _why_none_is_suppressed(policy: Policy) -> str:
    if policy.suppress_by == "star":
        return "no record was suppressed: none lowers the loss and makes a safe class of stars"
    return "no record was suppressed: none was found that lowers the loss"


def _as_given(policy: Policy, release: Release) -> dict[str, Any]:
    """All settings, trees and orders in full, without what the table decided.

    That is the level that a budget of loss bought, and the roles that ``rest`` gave.
    """
    settings, budget = policy.settings(), release.budget
    if policy.rest in settings:  # "plain" or "qi", which were completed
        given = [name for name in settings.pop(policy.rest) if name not in release.rest]
        settings.update({policy.rest: given} if given else {})
    if budget is not None:
        settings.pop(budget.name, None)
    if "l" in release.left_open and (budget is None or budget.name != "l"):
        settings["l"] = "auto"  # with records left out, not even possible for all of them
    return _without_weights(settings, policy)


def _without_weights(settings: dict[str, Any], policy: Policy) -> dict[str, Any]:
    """Without the role that weights got on the way: that they are weights says it all."""
    for role in ("plain", "identifier") if policy.weight_column else ():
        kept = [name for name in settings.get(role, ()) if name != policy.weight_column]
        settings.pop(role, None)
        settings.update({role: kept} if kept else {})
    return settings


def _method(method: MethodUsed, budget: Budget | None) -> dict[str, Any]:
    return {
        "name": method.name,
        "options": dict(method.options),
        "recoding": method.recoding,
        **method.facts,
        **({"proof": method.proof} if method.proof else {}),
        **({"budget": _bought(budget)} if budget else {}),
    }


def _bought(budget: Budget) -> dict[str, Any]:
    """The level that fits a budget of loss, and what the next would lose."""
    found: dict[str, Any] = {
        "max_loss": budget.max_loss,
        budget.name: budget.level,
        "loss": round(budget.loss, 9),
        "trials": budget.trials,
    }
    if budget.next_loss is not None:
        found["next"] = {budget.name: budget.level + 1, "loss": round(budget.next_loss, 9)}
    return found


def _bound(loss: Loss, bound: Bound | None) -> dict[str, Any]:
    """What no release can undercut, and the gap to it; rounded so that both stay true."""
    return {} if bound is None else {"bound": {**bound.to_dict(), "gap": gap_of(loss, bound)}}


def _packed(persons: NDArray[np.int32]) -> str:
    """Whose record each released row is: numbers by first appearance, compressed, as text."""
    _, first, code = np.unique(persons, return_index=True, return_inverse=True)
    number = np.argsort(np.argsort(first))[code]
    return b64encode(zlib.compress(number.astype("<i4").tobytes(), 9)).decode("ascii")


def persons_of(path: Path, release: Path) -> NDArray[np.int32] | None:
    """Person of each row of a released file by its record; None if it counts no persons.

    Raises
    ------
    InputError
        The record is damaged, or of another file.
    """
    record = load_record(path)
    if record["release"].get("sha256") != fingerprint_of(release):
        raise InputError(f"record {path}: is not of the release {release}, or that was changed")
    if record["policy"].get("person") is None:
        return None
    if "persons" not in record:
        raise InputError(f"record {path}: does not say whose records are whose; write it again")
    try:
        packed = zlib.decompress(b64decode(record["persons"], validate=True))
        persons = np.frombuffer(packed, "<i4").astype(np.int32)
    except (TypeError, ValueError, zlib.error) as error:
        raise InputError(f"record {path}: damaged: {type(error).__name__}") from None
    if len(persons) != record["release"].get("records") or persons.min(initial=0) < 0:
        raise InputError(f"record {path}: 'persons' is not what it should be; is it damaged?")
    return persons


def load_record(path: Path) -> dict[str, Any]:
    """Read a record; one line of error if it is none."""
    try:
        record = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise InputError(f"record {path}: no such file") from None
    except (OSError, ValueError, RecursionError) as error:
        raise InputError(f"record {path}: not readable: {type(error).__name__}") from None
    if not isinstance(record, dict) or "private" not in record or record.get("format") != FORMAT:
        raise InputError(f"record {path}: not the record of a release; it ends in .record.json")
    for name, shape in SHAPES.items():
        if not isinstance(record.get(name), shape):
            raise InputError(f"record {path}: {name!r} is not what it should be; is it damaged?")
    return record


def policy_from_record(record: dict[str, Any], path: Path) -> tuple[Policy, int]:
    """The policy that a release was made by, as it was given, and the seed of the run."""
    try:
        settings, base, seed = record["policy"], record["base"], record["seed"]
        Policy.parse(**{**settings, "seed": seed}, base=base)  # one that can be
        return Policy.parse(**settings, base=base), seed
    except (KeyError, TypeError) as error:
        raise InputError(f"record {path}: damaged: {type(error).__name__}") from None


def record_beside(release: Place) -> Path | None:
    """The record of an earlier release under this name, where it lies by default."""
    path = record_path(release)
    try:
        name = release.full_name if isinstance(release, Address) else release.name
        known = load_record(path)["release"]["file"] == name
    except (InputError, KeyError, TypeError):  # not ours: not to be touched
        return None
    return path if known else None


def of_different_runs(release: Path, claims: Mapping[str, Any]) -> bool:
    """Whether a release that its manifest does not describe was written by another run.

    So it is where a writer died between two files, and where the record beside them is of
    another generation and of exactly this file; otherwise the release or the manifest was
    changed. The record of an earlier run says nothing about a file that it does not describe.
    """
    if unfinished(release):
        return True
    try:
        record = load_record(record_path(release))
        described = record["release"]["sha256"] == fingerprint_of(release)
        return bool(described and record["generation"] != claims["generation"])
    except (InputError, OSError, KeyError, TypeError):
        return False


def dump_claims(path: Path, claims: Mapping[str, Any], files: Mapping[str, Any]) -> None:
    """Write a manifest or a record, with the files that it is of."""
    complete = {**claims, "release": {**claims["release"], **files}}
    path.write_text(json.dumps(complete, indent=2, ensure_ascii=False) + "\n", "utf-8")

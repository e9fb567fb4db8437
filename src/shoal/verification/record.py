"""The private record of a release: seed, exact numbers, what it was made of and how.

Whoever has it and a copy of the input can make the same bytes again, and whoever
has it can test guesses about the people in the input: it stays with the custodian.
The public half is the manifest (`shoal.verification.manifest`).
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from shoal.errors import InputError
from shoal.io.paths import record_path
from shoal.io.together import unfinished
from shoal.policy import Policy
from shoal.verification.manifest import gap_of, notices, release_facts, versions

if TYPE_CHECKING:
    from shoal.bounds import Bound
    from shoal.metrics.loss import Loss
    from shoal.release import Budget, MethodUsed, Release

__all__ = ["FORMAT", "load_record", "of_different_runs", "policy_from_record", "record_of"]

FORMAT = 1
KEEP = "keep this to yourself: whoever has it can replay the release and test guesses about people"
BY_THE_CLOCK = "the search was limited by time, not by steps: another run may find another release"


def record_of(release: Release) -> dict[str, Any]:
    """Everything that is known of a release, as plain values for JSON; never to be published."""
    policy = release.policy
    return {
        "private": KEEP,
        "format": FORMAT,
        "versions": versions(),
        "seed": release.seed,
        "input": {
            "file": None if release.source is None else str(release.source),
            "sha256": release.source_sha256,
        },
        "policy": _as_given(policy, release.budget),
        "base": str(policy.base.resolve()),
        "method": _method(release.method, release.budget),
        "release": release_facts(release),
        "loss": {**release.loss.to_dict(), **_bound(release.loss, release.bound)},
        "notices": [*notices(release), *release.exposed, *release.cautions],
        "reproducible": BY_THE_CLOCK if policy.time is not None else True,
    }


def _as_given(policy: Policy, budget: Budget | None) -> dict[str, Any]:
    """All settings, trees and orders in full; not the level that a budget of loss bought."""
    settings = policy.settings()
    settings.pop("seed", None)
    if budget is not None:
        settings.pop(budget.name, None)
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
    return record


def policy_from_record(record: dict[str, Any], path: Path) -> Policy:
    """The policy that a release was made by, with its seed."""
    try:
        settings, base, seed = record["policy"], record["base"], record["seed"]
        return Policy.parse(**{**settings, "seed": seed}, base=base)
    except (KeyError, TypeError) as error:
        raise InputError(f"record {path}: damaged: {type(error).__name__}") from None


def of_different_runs(release: Path, claims: Mapping[str, Any]) -> bool:
    """Whether a release that its manifest does not describe was written by another run.

    So it is where a writer died between two files, and where the record beside
    them is of another generation; otherwise the release or the manifest was changed.
    """
    if unfinished(release):
        return True
    try:
        return bool(load_record(record_path(release)).get("generation") != claims["generation"])
    except (InputError, KeyError):
        return False

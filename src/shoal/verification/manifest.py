"""The manifest: what a release claims, so that anybody can check it.

It is public, and holds nothing that follows from what is not published: no
seed, no step of the work, no cell of the input, and no hash of it, of a tree or
of an order, because whoever knows all but one value could use the hash to
confirm a guess of the last. What cannot be told without the input, its losses
and bound, is rounded. The exact numbers are in the private record
(`shoal.verification.record`).
"""

from __future__ import annotations

import json
import math
import platform
from collections.abc import Callable, Mapping
from dataclasses import asdict
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from shoal._version import __version__
from shoal.errors import InputError
from shoal.model_settings import MODEL_SETTINGS
from shoal.policy import Policy

if TYPE_CHECKING:
    from shoal.bounds import Bound
    from shoal.metrics.loss import Loss
    from shoal.release import Budget, MethodUsed, Release

__all__ = [
    "FORMAT",
    "checked_manifest",
    "gap_of",
    "load_manifest",
    "manifest_of",
    "notices",
    "policy_from_manifest",
    "release_facts",
    "risk_of",
    "versions",
]

FORMAT = 2
READABLE = (1, 2)
"""Formats that can be read: what verification asks for is in the same place in both."""
SEED_GIVEN = "the seed was given: whoever knows it can replay the run and test guesses about people"
CHECKED = (
    *("identifier", "qi", "sensitive", "plain", "person", "reader", "collusion_k"),
    *MODEL_SETTINGS,
    "twins",
    "layout",
)
"""Settings of a policy by which a release is checked; not what it calls missing, because a
release has nulls there, and a manifest could call any cell missing."""
LOSS_DIGITS, BOUND_DIGITS = 3, 2
"""Significant digits of losses, and of the bound and the gap, in what is public."""


def manifest_of(release: Release) -> dict[str, Any]:
    """Everything a release claims about itself in public, as plain values for JSON."""
    sizes = release.class_sizes
    return {
        "format": FORMAT,
        "versions": versions(),
        "policy": _public_settings(release.policy),
        "method": _method(release.method, release.budget),
        "release": release_facts(release),
        "kinds": dict(release.kinds),
        "models": [check.to_dict() for check in release.verification.checks],
        "classes": {
            "count": len(sizes),
            "smallest": int(sizes.min()),
            "largest": int(sizes.max()),
        },
        "loss": _loss(release),
        "risk": risk_of(sizes),
        "notices": [*notices(release), *release.exposed],
    }


def versions() -> dict[str, str]:
    """What the release was made with."""
    return {
        "shoal": __version__,
        "python": platform.python_version(),
        **{name: version(name) for name in ("numpy", "numba", "pyarrow")},
    }


def release_facts(release: Release) -> dict[str, Any]:
    """What the released table is, as its readers see it."""
    policy = release.policy
    return {
        "records": release.verification.records,
        "columns": release.table.column_names,
        "qi": list(release.qi),
        "layout": policy.layout,
        "order": "input" if policy.keep_order else "canonical",
        **({"rest": {policy.rest: list(release.rest)}} if release.rest else {}),
        **({"suppressed": asdict(release.suppressed)} if release.suppressed else {}),
    }


def _method(method: MethodUsed, budget: Budget | None) -> dict[str, Any]:
    """What was asked of which method; what it met on its way is in the record."""
    return {
        "name": method.name,
        "options": dict(method.options),
        "recoding": method.recoding,
        **({"budget": {"max_loss": budget.max_loss, budget.name: budget.level}} if budget else {}),
    }


def _loss(release: Release) -> dict[str, Any]:
    """Losses relative to what is released, rounded; what can be counted in it as it is."""
    exact = release.released_loss or release.loss
    rounded = {name: _significant(value) for name, value in exact.ncp.items()}
    found = {**exact.to_dict(), "gcp": _significant(exact.gcp), "ncp": rounded}
    # With records suppressed the bound is of spans and counts that are not released.
    if release.bound is not None and release.released_loss is None:
        found["bound"] = _public_bound(exact.gcp, release.bound)
    return found


def _significant(number: float, digits: int = LOSS_DIGITS) -> float:
    return float(f"{number:.{digits - 1}e}")


def _unit(number: float, digits: int) -> float:
    """What the last of so many significant digits of a number counts."""
    return 10.0 ** (math.floor(math.log10(number)) - digits + 1)


def _public_bound(gcp: float, bound: Bound) -> dict[str, Any]:
    """The bound rounded down, and the gap to it, rounded up, that the rounded numbers prove."""
    least = _rounded(bound.loss, math.floor) if bound.loss > 0 else 0.0
    gap: float | None = None
    if least > 0:
        loss = _significant(gcp)
        most = loss + _unit(loss, LOSS_DIGITS) / 2  # the loss may have been rounded down
        gap = _rounded(most / least - 1, math.ceil)
    return {"loss": least, "rung": bound.rung, "gap": gap}


def _rounded(number: float, way: Callable[[float], int]) -> float:
    """A positive number to the digits of a bound, down or up."""
    unit = _unit(number, BOUND_DIGITS)
    return _significant(way(number / unit) * unit)


def risk_of(class_sizes: NDArray[np.int64]) -> dict[str, float]:
    """Chance that a record is re-identified by someone who knows all its quasi-identifiers."""
    return {
        "highest": round(1 / int(class_sizes.min()), 9),
        "average": round(len(class_sizes) / int(class_sizes.sum()), 9),
    }


def gap_of(loss: Loss, bound: Bound) -> float | None:
    """By how much the loss can be above the best possible one at most, as a share of it.

    Rounded up, of the bound rounded down; None where the bound is 0 and proves nothing.
    """
    least: float = bound.to_dict()["loss"]
    if not least > 0:
        return None
    return max(0.0, math.ceil((loss.gcp / least - 1) * 1e6) / 1e6)


def notices(release: Release) -> list[str]:
    """What readers of the release should know."""
    policy = release.policy
    found = []
    if release.sensitive_table is not None:
        found.append("quasi-identifiers are exact: who is in the table is not protected")
    if release.seed_given:
        found.append(SEED_GIVEN)
    if policy.keep_order:
        found.append("rows keep the input's order, which can betray who they are")
    if policy.person is not None:
        found.append("models count persons; the release does not say whose record is whose")
    if release.suppressed is not None and not release.suppressed.records:
        found.append(_why_none_is_suppressed(policy))
    return found


def _why_none_is_suppressed(policy: Policy) -> str:
    if policy.suppress_by == "star":
        return "no record was suppressed: it would not lower the loss, or stars make no safe class"
    return "no record was suppressed: it would not lower the loss"


def _public_settings(policy: Policy) -> dict[str, Any]:
    """The policy without its seed, and of trees and orders only where they come from.

    A tree or an order may have been made of the values that occur: neither it
    nor a hash of it, against which guesses could be tried, is published.
    """
    settings = policy.settings()
    settings.pop("seed", None)  # with it anybody could replay the run on guesses
    for name in settings.get("hierarchy", {}):
        spec = policy.hierarchy[name]
        came = Path(spec).name if isinstance(spec, str) else next(iter(spec), "tree")
        settings["hierarchy"][name] = {"from": came}
    for name in settings.get("order", {}):
        settings["order"][name] = {"from": "list"}
    return settings


def load_manifest(path: Path) -> dict[str, Any]:
    """Read a manifest; one line of error if it is none."""
    try:
        manifest = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        hint = "give --manifest, or --qi and -k"
        raise InputError(f"manifest {path}: no such file; {hint}") from None
    except (OSError, ValueError, RecursionError) as error:
        raise InputError(f"manifest {path}: not readable: {type(error).__name__}") from None
    return checked_manifest(manifest, str(path))


def checked_manifest(manifest: Any, named: str) -> dict[str, Any]:
    """The manifest, if it is one that this version of Shoal can read."""
    if not isinstance(manifest, Mapping) or manifest.get("format") not in READABLE:
        raise InputError(f"manifest {named}: not a Shoal manifest of format 1 or {FORMAT}")
    return dict(manifest)


def policy_from_manifest(manifest: Mapping[str, Any], named: str) -> Policy:
    """What verification needs of the policy: roles, kinds, models, as the policy has them.

    Nothing of what the release says about itself is used but the kinds, which
    follow from the input; `shoal.verification.claims` compares the rest.
    """
    try:
        settings = manifest["policy"]
        kept = {name: settings[name] for name in CHECKED if name in settings}
        kinds = {name: manifest["kinds"][name] for name in settings.get("sensitive", ())}
        return Policy.parse(**kept, kind=kinds)
    except (KeyError, TypeError, AttributeError) as error:
        raise InputError(f"manifest {named}: lacks {error}") from None

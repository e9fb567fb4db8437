"""The manifest: what a release claims, so that anybody can check it.

It holds no cell of the input: values named in the policy (trees, orders) are
replaced by their hash, and the input itself is not hashed, because whoever
knows all but one cell could use the hash to confirm a guess of the last.
"""

from __future__ import annotations

import hashlib
import json
import math
import platform
from collections.abc import Mapping
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
    "policy_from_manifest",
    "risk_of",
]

FORMAT = 1
SEED_GIVEN = "the seed was given: whoever knows it can replay the run and test guesses about people"
CHECKED = (
    *("identifier", "qi", "sensitive", "plain", "person", "reader", "collusion_k"),
    *MODEL_SETTINGS,
    "twins",
    "layout",
)
"""Settings of a policy by which a release is checked; not what it calls missing, because a
release has nulls there, and a manifest could call any cell missing."""


def manifest_of(release: Release) -> dict[str, Any]:
    """Everything a release claims about itself, as plain values for JSON."""
    policy, sizes = release.policy, release.class_sizes
    return {
        "format": FORMAT,
        "versions": {
            "shoal": __version__,
            "python": platform.python_version(),
            **{name: version(name) for name in ("numpy", "numba", "pyarrow")},
        },
        "policy": _public_settings(policy, release.trees),
        "method": _method(release.method, release.budget),
        "release": {
            "records": release.verification.records,
            "columns": release.table.column_names,
            "qi": list(release.qi),
            "layout": policy.layout,
            "order": "input" if policy.keep_order else "canonical",
            **({"rest": {policy.rest: list(release.rest)}} if release.rest else {}),
            **({"suppressed": asdict(release.suppressed)} if release.suppressed else {}),
        },
        "kinds": dict(release.kinds),
        "models": [check.to_dict() for check in release.verification.checks],
        "classes": {
            "count": len(sizes),
            "smallest": int(sizes.min()),
            "largest": int(sizes.max()),
        },
        "loss": {**release.loss.to_dict(), **_bound(release.loss, release.bound)},
        "risk": risk_of(sizes),
        "notices": [*_notices(release), *release.cautions],
    }


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


def _bound(loss: Loss, bound: Bound | None) -> dict[str, Any]:
    """What no release can undercut, and the gap to it; rounded so that both stay true."""
    return {} if bound is None else {"bound": {**bound.to_dict(), "gap": gap_of(loss, bound)}}


def _notices(release: Release) -> list[str]:
    policy = release.policy
    notices = []
    if release.sensitive_table is not None:
        notices.append("quasi-identifiers are exact: who is in the table is not protected")
    if release.seed_given:
        notices.append(SEED_GIVEN)
    if policy.keep_order:
        notices.append("rows keep the input's order, which can betray who they are")
    if policy.person is not None:
        notices.append("models count persons; the release does not say whose record is whose")
    if release.suppressed is not None and not release.suppressed.records:
        notices.append(_why_none_is_suppressed(policy))
    return notices


def _why_none_is_suppressed(policy: Policy) -> str:
    if policy.suppress_by == "star":
        return "no record was suppressed: it would not lower the loss, or stars make no safe class"
    return "no record was suppressed: it would not lower the loss"


def _public_settings(policy: Policy, trees: Mapping[str, str]) -> dict[str, Any]:
    settings = policy.settings()
    settings.pop("seed", None)  # with it anybody could replay the run on guesses
    for name in settings.get("hierarchy", {}):
        spec = policy.hierarchy[name]
        settings["hierarchy"][name] = {
            "from": Path(spec).name if isinstance(spec, str) else next(iter(spec), "tree"),
            "sha256": trees.get(name),
        }
    for name, values in settings.get("order", {}).items():
        digest = hashlib.sha256("\n".join(values).encode()).hexdigest()
        settings["order"][name] = {"values": len(values), "sha256": digest}
    return settings


def load_manifest(path: Path) -> dict[str, Any]:
    """Read a manifest; one line of error if it is none."""
    try:
        manifest = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        hint = "give --manifest, or --qi and -k"
        raise InputError(f"manifest {path}: no such file; {hint}") from None
    except (OSError, ValueError) as error:
        raise InputError(f"manifest {path}: not readable: {type(error).__name__}") from None
    return checked_manifest(manifest, str(path))


def checked_manifest(manifest: Any, named: str) -> dict[str, Any]:
    """The manifest, if it is one that this version of Shoal can read."""
    if not isinstance(manifest, Mapping) or manifest.get("format") != FORMAT:
        raise InputError(f"manifest {named}: not a Shoal manifest of format {FORMAT}")
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

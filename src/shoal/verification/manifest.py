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
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from shoal._version import __version__
from shoal.encoding.publish import Published
from shoal.encoding.table import EncodedTable
from shoal.errors import InputError
from shoal.metrics.loss import Loss
from shoal.policy import MODEL_SETTINGS, Policy
from shoal.verification.check import Verification

if TYPE_CHECKING:
    from shoal.bounds import Bound

__all__ = ["FORMAT", "build_manifest", "load_manifest", "policy_from_manifest", "risk_of"]

FORMAT = 1


def build_manifest(
    policy: Policy,
    table: EncodedTable,
    verification: Verification,
    *,
    method: dict[str, Any],
    loss: Loss,
    bound: Bound | None = None,
    published: Published,
    class_sizes: NDArray[np.int64],
    cautions: Sequence[str] = (),
) -> dict[str, Any]:
    """Everything the release claims about itself.

    `class_sizes` counts the records that share their published quasi-identifiers;
    `cautions` are what the method warned of; `bound` is of all records.
    """
    suppression = _suppression(policy, loss, table.n)
    return {
        "format": FORMAT,
        "versions": {
            "shoal": __version__,
            "python": platform.python_version(),
            **{name: version(name) for name in ("numpy", "numba", "pyarrow")},
        },
        "policy": _public_settings(policy, table),
        "seed": policy.seed,
        "method": method,
        "release": {
            "records": verification.records,
            "columns": published.table.column_names,
            "qi": list(published.qi),
            "layout": policy.layout,
            "order": "input" if policy.keep_order else "canonical",
            **({"suppressed": suppression} if suppression else {}),
        },
        "kinds": {
            **{column.name: column.kind for column in table.qi},
            **{column.name: column.kind for column in table.sensitive},
        },
        "models": [check.to_dict() for check in verification.checks],
        "classes": {
            "count": len(class_sizes),
            "smallest": int(class_sizes.min()),
            "largest": int(class_sizes.max()),
        },
        "loss": {**loss.to_dict(), **_bound(loss, bound)},
        "risk": risk_of(class_sizes),
        "notices": [*_notices(policy, published, loss), *cautions],
    }


def risk_of(class_sizes: NDArray[np.int64]) -> dict[str, float]:
    """Chance that a record is re-identified by someone who knows all its quasi-identifiers."""
    return {
        "highest": round(1 / int(class_sizes.min()), 9),
        "average": round(len(class_sizes) / int(class_sizes.sum()), 9),
    }


def _suppression(policy: Policy, loss: Loss, records: int) -> dict[str, Any] | None:
    """How many records were suppressed, and how; never which."""
    if policy.max_suppressed is None:
        return None
    return {"records": loss.suppressed_records, "of": records, "by": policy.suppress_by}


def _bound(loss: Loss, bound: Bound | None) -> dict[str, Any]:
    """What no release can undercut, and the gap to it; rounded so that both stay true."""
    if bound is None:
        return {}
    facts = bound.to_dict()
    least = facts["loss"]
    gap = math.ceil((loss.gcp / least - 1) * 1e6) / 1e6 if least > 0 else None
    return {"bound": {**facts, "gap": max(0.0, gap) if gap is not None else None}}


def _notices(policy: Policy, published: Published, loss: Loss) -> list[str]:
    notices = []
    if published.sensitive_table is not None:
        notices.append("quasi-identifiers are exact: who is in the table is not protected")
    if policy.keep_order:
        notices.append("rows keep the input's order, which can betray who they are")
    if policy.person is not None:
        notices.append("models count persons; the release does not say whose record is whose")
    if policy.max_suppressed is not None and not loss.suppressed_records:
        notices.append(_why_none_is_suppressed(policy))
    return notices


def _why_none_is_suppressed(policy: Policy) -> str:
    if policy.suppress_by == "star":
        return "no record was suppressed: it would not lower the loss, or stars make no safe class"
    return "no record was suppressed: it would not lower the loss"


def _public_settings(policy: Policy, table: EncodedTable) -> dict[str, Any]:
    settings = policy.settings()
    trees = {column.name: column.hierarchy for column in table.qi}
    for name in settings.get("hierarchy", {}):
        tree = trees.get(name)
        spec = policy.hierarchy[name]
        settings["hierarchy"][name] = {
            "from": Path(spec).name if isinstance(spec, str) else next(iter(spec), "tree"),
            "sha256": tree.digest() if tree is not None else None,
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
    if not isinstance(manifest, dict) or manifest.get("format") != FORMAT:
        raise InputError(f"manifest {path}: not a Shoal manifest of format {FORMAT}")
    return manifest


def policy_from_manifest(manifest: dict[str, Any], path: Path) -> Policy:
    """What verification needs of the policy: roles, kinds, models."""
    try:
        settings = manifest["policy"]
        kept = {name: settings[name] for name in MODEL_SETTINGS if name in settings}
        sensitive = settings.get("sensitive", [])
        kinds = {name: manifest["kinds"][name] for name in sensitive}
        for name in ("person", "missing", "reader", "collusion_k"):
            if name in settings:
                kept[name] = settings[name]
        if "reader" not in kept:
            kept["qi"] = manifest["release"]["qi"]
        return Policy.parse(sensitive=sensitive, kind=kinds, **kept)
    except (KeyError, TypeError, AttributeError) as error:
        raise InputError(f"manifest {path}: lacks {error}") from None

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
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from shoal._version import __version__
from shoal.encoding.exempt import public_values
from shoal.encoding.spreadsheet import armed_column
from shoal.encoding.values import distinct_values
from shoal.errors import InputError, VerificationError
from shoal.model_settings import MODEL_SETTINGS
from shoal.policy import Policy
from shoal.verification.chances import public_risk

if TYPE_CHECKING:
    from shoal.bounds import Bound
    from shoal.metrics.loss import Loss
    from shoal.release import Budget, MethodUsed, Release
    from shoal.verification.result import Check

__all__ = [
    "FORMAT",
    "checked_manifest",
    "gap_of",
    "load_manifest",
    "manifest_of",
    "notices",
    "policy_from_manifest",
    "release_facts",
    "values_by_text",
    "versions",
    "with_orders",
]

FORMAT = 3
READABLE = (1, 2, 3)
"""Formats that can be read: what verification asks for is in the same place in all."""
SEED_GIVEN = "the seed was given: whoever knows it can replay the run and test guesses about people"
PERSONS = "models count persons; the release does not say whose record is whose"
PSEUDONYMS = (
    "models count persons; records of one person within a class have the same pseudonym, so that "
    "how many records somebody has there can be seen"
)
CHECKED = (
    *("identifier", "qi", "sensitive", "plain", "person", "reader", "collusion_k"),
    *("exempt", "person_as", "notation", "weight_column", "weight_as", "treat"),
    *MODEL_SETTINGS,
    "twins",
    "layout",
    "csv_safe",
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
        "grouping": {"looked_at": release.method.looked_at, "drawn": release.method.drawn},
        "release": release_facts(release),
        "kinds": dict(release.kinds),
        "models": [_public_check(check, release.policy) for check in release.verification.checks],
        "classes": {
            "count": len(sizes),
            "smallest": int(sizes.min()),
            "largest": int(sizes.max()),
        },
        "loss": _loss(release),
        "risk": public_risk(release.policy, release.table, release.qi, sizes),
        **_disclosure(release),
        "notices": [*notices(release), *release.exposed, *release.unprotected],
        **_orders(release),
        **({} if release.series is None else {"series": dict(release.series.public)}),
    }


def _orders(release: Release) -> dict[str, Any]:
    """Ranks of sensitive values, where a model measures by them: of those that are published.

    The manifest shows no value: ranks are listed in the order of the texts.
    """
    policy = release.policy
    found = {}
    for name in policy.sensitive if any(m.uses_order for m in release.models) else ():
        if name in policy.order and name in release.table.column_names:
            column = release.table.column(name)
            there = values_by_text(column, policy)
            place = {value: number for number, value in enumerate(policy.order[name])}
            in_order = sorted(there, key=place.__getitem__)
            found[name] = [in_order.index(value) for value in there]
    return {"orders": found} if found else {}


def values_by_text(column: pa.ChunkedArray, policy: Policy) -> list[str]:
    """The values of a released column as the policy knows them, sorted as texts."""
    return sorted(distinct_values(armed_column(column) if policy.csv_safe else column).texts())


def with_orders(policy: Policy, manifest: Mapping[str, Any], table: pa.Table) -> Policy:
    """The policy with the orders that a manifest publishes of values in the released table.

    Raises
    ------
    VerificationError
        The ranks are not those of the values that are there.
    """
    orders = {}
    for name, ranks in manifest.get("orders", {}).items():
        if name not in policy.sensitive or name not in table.column_names:
            continue
        values = values_by_text(table.column(name), policy)
        if not isinstance(ranks, list) or not all(type(rank) is int for rank in ranks):
            raise InputError(f"the manifest's order of {name!r} is no list of ranks")
        if sorted(ranks) != list(range(len(values))):
            raise VerificationError(f"the manifest's order is not of the values of {name!r}")
        orders[name] = [value for _, value in sorted(zip(ranks, values, strict=True))]
    return policy.override(order=orders) if orders else policy


def versions() -> dict[str, str]:
    """What the release was made with."""
    return {
        "shoal": __version__,
        "python": platform.python_version(),
        **{name: import_module(name).__version__ for name in ("numpy", "numba", "pyarrow")},
    }


def release_facts(release: Release) -> dict[str, Any]:
    """What the released table is, as its readers see it.

    Of columns that were left out not even the names: nobody declared them. Of dropped
    records only how many the policy allows: their number would confirm a guess.
    """
    policy = release.policy
    known = {} if policy.rest == "drop" or not release.rest else {policy.rest: list(release.rest)}
    limit = {"at_most": policy.settings().get("max_suppressed"), "by": policy.suppress_by}
    return {
        "records": release.verification.records,
        "columns": release.table.column_names,
        "qi": list(release.qi),
        "layout": policy.layout,
        "order": "input" if policy.keep_order else "canonical",
        **({"rest": known} if known else {}),
        **({"suppressed": limit} if policy.max_suppressed is not None else {}),
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
    """Losses of what is released, rounded; what can be counted in it as it is."""
    exact = release.released_loss or release.loss
    rounded = {name: _significant(value) for name, value in exact.ncp.items()}
    found = {**exact.to_dict(), "gcp": _significant(exact.gcp), "ncp": rounded}
    del found["suppressed_records"]
    if release.bound is not None and _is_of_what_is_released(release):
        found["bound"] = _public_bound(exact.gcp, release.bound)
    return found


def _is_of_what_is_released(release: Release) -> bool:
    """Whether nobody can have been dropped, and nobody was starred.

    The bound is of the spans and counts of all records. Where some may have been dropped,
    that it is there would already say that none was.
    """
    if release.policy.max_suppressed is not None and release.policy.suppress_by == "drop":
        return False
    return release.released_loss is None


def _public_check(check: Check, policy: Policy) -> dict[str, Any]:
    """A model with what it reached; where persons are counted only that it holds.

    Who is one person is not published, and neither is a number counted from it; with
    pseudonyms it is, within each class.
    """
    told = check.to_dict()
    table_counts = check.source is not None and check.source[0].compares_with_table
    if policy.person is None or (policy.person_as is not None and not table_counts):
        return told
    public = {name: value for name, value in told.items() if name not in check.facts}
    return {**public, "reached": None}


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


def _disclosure(release: Release) -> dict[str, Any]:
    """How far sensitive values can be inferred (paper 002, Theorem 3).

    Rounded: it takes the true quasi-identifiers to tell whom a class covers.
    """
    told = {
        name: {"average": _significant(risk.average), "highest": _significant(risk.highest)}
        for name, risk in release.disclosure.items()
    }
    return {"disclosure": told} if told else {}


def gap_of(loss: Loss, bound: Bound) -> float | None:
    """By how much the loss can be above the best possible one at most, as a share of it.

    Rounded up, of the bound rounded down; None where the bound is 0 and proves nothing.
    """
    least: float = bound.to_dict()["loss"]
    if not least > 0:
        return None
    return max(0.0, math.ceil((loss.gcp / least - 1) * 1e6) / 1e6)


def notices(release: Release) -> list[str]:
    """What readers of the release should know, from what is published alone."""
    policy = release.policy
    found = []
    if release.sensitive_table is not None:
        found.append("quasi-identifiers are exact: who is in the table is not protected")
    if release.seed_given:
        found.append(SEED_GIVEN)
    if policy.keep_order:
        found.append("rows keep the input's order, which can betray who they are")
    if policy.person is not None:
        found.append(PSEUDONYMS if policy.person_as is not None else PERSONS)
    if release.not_worked_out:
        left_out = ", ".join(release.not_worked_out)
        found.append(f"not worked out, since it takes all records in memory: {left_out}")
    return found


def _public_settings(policy: Policy) -> dict[str, Any]:
    """The policy without its seed, and of trees and orders only where they come from.

    A tree or an order may have been made of the values that occur: neither it
    nor a hash of it, against which guesses could be tried, is published.
    """
    settings = policy.settings()
    # With the seed anybody could replay the run on guesses; the others say nothing of the release.
    for private in ("seed", "engine", "memory", "temp", "master"):
        settings.pop(private, None)
    for name in settings.get("hierarchy", {}):
        spec = policy.hierarchy[name]
        came = Path(spec).name if isinstance(spec, str) else next(iter(spec), "tree")
        settings["hierarchy"][name] = {"from": came}
    for name in settings.get("exempt", {}):
        settings["exempt"][name] = public_values(name, policy)
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
        raise InputError(f"manifest {named}: not a Shoal manifest of format 1 to {FORMAT}")
    for name in ("policy", "release"):
        if name not in manifest:
            raise InputError(f"manifest {named}: lacks {name!r}")
    if wrong := _misshapen(manifest):
        raise InputError(f"manifest {named}: {wrong[0]!r} is no {wrong[1]}; is it damaged?")
    return dict(manifest)


TABLES = ("policy", "method", "release", "kinds", "classes", "loss", "risk", "disclosure", "orders")
TABLES_OF_POLICY = ("hierarchy", "order", "exempt", "kind", "weight", "coarsen", "reader", "option")
LISTS_OF_POLICY = ("identifier", "qi", "sensitive", "plain", "missing")


def _misshapen(manifest: Mapping[str, Any]) -> tuple[str, str] | None:
    """The first part of a manifest that is not of its shape, and what it should be."""
    policy = manifest["policy"]
    for name in TABLES:
        if not isinstance(manifest.get(name, {}), Mapping):
            return name, "table"
    for name in TABLES_OF_POLICY:
        if not isinstance(policy.get(name, {}), Mapping):
            return name, "table"
    for name in LISTS_OF_POLICY:
        listed = policy.get(name, [])
        if not (isinstance(listed, list) and all(isinstance(item, str) for item in listed)):
            return name, "list of names"
    return None


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

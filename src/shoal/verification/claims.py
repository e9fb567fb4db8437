"""Is a release what its manifest says? Nothing the manifest says is believed.

The policy in the manifest says what was promised. Everything else in it that
follows from the released files is worked out again and compared: columns,
records, models with what they reached, classes, risk. Losses need the input
and cannot be compared. Each difference is one line, and shows no cell.

Whoever can change the release, its manifest and both hashes can still promise
less than was promised: that is what signatures are for (`shoal.verification.signing`).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from shoal.encoding.publish import COUNT, GROUP
from shoal.errors import InputError
from shoal.policy import Policy
from shoal.verification.chances import public_risk, risk_of
from shoal.verification.check import published_names
from shoal.verification.manifest import FORMAT
from shoal.verification.result import Check, Verification
from shoal.verification.treated import MODEL as TREATMENT

__all__ = ["about_columns", "about_findings", "about_second_table", "hidden_orders"]

LARGEST = 2.0**63
TOLERANCE = 0.005
"""Published numbers are rounded to three significant digits."""


def about_columns(
    manifest: Mapping[str, Any], policy: Policy, columns: Sequence[str], published: Sequence[str]
) -> list[str]:
    """Differences in the names of columns; `published` are the quasi-identifiers as released."""
    told = _table(manifest, "release")
    claimed = [str(name) for name in _list(told, "columns")]
    found = [
        *_each("the file has column {}, which the manifest does not name", columns, claimed),
        *_each("the manifest names column {}, which the file does not have", claimed, columns),
    ]
    hidden = _hidden(policy)
    found += [
        f"the file has column {name!r}, which the policy says is dropped"
        for name in hidden
        if name in columns
    ]
    both = [name for name in columns if name in claimed]
    found += _without_role(policy, both, published, bool(told.get("sensitive_table")))
    if sorted(map(str, _list(told, "qi"))) != sorted(published):
        found.append(
            f"release.qi is not what the policy's qi are called in the file: {_named(published)}"
        )
    if told.get("layout", policy.layout) != policy.layout:
        found.append("release.layout is not the policy's layout")
    return found


def _without_role(
    policy: Policy, columns: Sequence[str], published: Sequence[str], separated: bool
) -> list[str]:
    """Columns that the file and the manifest both have, and the policy does not know.

    Nobody decided that they may be published; the manifest's list of columns proves nothing.
    """
    hidden = _hidden(policy)
    added = [*([GROUP] if separated else []), *([policy.person_as] if policy.person_as else [])]
    known = [*published, *policy.sensitive, *policy.plain, *hidden, *added]
    return _each("the file has column {}, to which the policy gives no role", columns, known)


def _hidden(policy: Policy) -> list[str]:
    """Columns of the input that no release has, unless pseudonyms go by such a name."""
    dropped = [*policy.identifier, *([policy.person] if policy.person else [])]
    return [name for name in dropped if name != policy.person_as]


def about_second_table(policy: Policy, columns: Sequence[str]) -> list[str]:
    """Differences in the columns of the sensitive values that are published apart."""
    known = [GROUP, *policy.sensitive, COUNT]
    return _each("the sensitive table has column {}, which does not belong there", columns, known)


def about_findings(
    manifest: Mapping[str, Any],
    policy: Policy,
    verification: Verification,
    class_sizes: NDArray[np.int64],
    table: pa.Table,
) -> list[str]:
    """Differences in numbers: records, classes, risk, models and what they reached."""
    told = _table(manifest, "release")
    found = [] if told.get("records") == table.num_rows else [
        f"release.records: the file has {table.num_rows:,} records"
    ]  # fmt: skip
    classes = {
        "count": len(class_sizes),
        "smallest": int(class_sizes.min()),
        "largest": int(class_sizes.max()),
    }
    found += _differences("classes", _table(manifest, "classes"), classes)
    found += _about_risk(manifest, policy, class_sizes, table)
    found += _about_kinds(manifest, policy)
    found += _about_suppressed(manifest, told.get("suppressed"))
    private = policy.person is not None  # what persons reach is not told in public
    return found + list(_about_models(_list(manifest, "models"), verification.checks, private))


def _about_risk(
    manifest: Mapping[str, Any], policy: Policy, class_sizes: NDArray[np.int64], table: pa.Table
) -> list[str]:
    """Chances among records, or among persons; earlier manifests counted records always."""
    claimed = _table(manifest, "risk")
    if "counted" in claimed:
        qi = published_names(policy.qi, table.column_names)
        return list(
            _differences("risk", claimed, _numbers(public_risk(policy, table, qi, class_sizes)))
        )
    return list(_differences("risk", claimed, risk_of(class_sizes)))


def _about_kinds(manifest: Mapping[str, Any], policy: Policy) -> list[str]:
    """Kinds are worked out from the input; where the policy declares one it is that."""
    settings, kinds = _table(manifest, "policy"), _table(manifest, "kinds")
    declared = {**_table(settings, "kind"), **dict.fromkeys(_table(settings, "order"), "ordinal")}
    found = []
    for name in policy.sensitive:
        invented = kinds.get(name) == "ordinal" and name not in declared
        if invented or declared.get(name, kinds.get(name)) != kinds.get(name):
            found.append(f"kinds: {name!r} is not of the kind that the policy gives it")
    return found


def _about_suppressed(manifest: Mapping[str, Any], told: Any) -> list[str]:
    """How many records may have been suppressed is what the policy allowed."""
    if told is None or manifest.get("format") != FORMAT:  # earlier ones counted the records
        return []
    allowed = _table(manifest, "policy")
    fits = isinstance(told, Mapping) and "max_suppressed" in allowed and (
        told.get("at_most"), told.get("by")
    ) == (allowed["max_suppressed"], allowed.get("suppress_by", "drop"))  # fmt: skip
    return [] if fits else ["release.suppressed: is not what the policy allows"]


def _about_models(claimed: Sequence[Any], checks: Iterable[Check], private: bool) -> Iterator[str]:
    """Models must be those that the policy asks for, with what the file reaches."""
    left = {_key(entry): entry for entry in claimed if isinstance(entry, Mapping)}
    if len(left) != len(claimed):
        yield "models: an entry is no table, or there twice"
    for check in checks:
        found = check.to_dict()
        name, key = _model_name(found), _key(found)
        # What could not be checked stands for all sensitive columns at once.
        alone = not check.unchecked or check.model == TREATMENT
        same = [key] if alone else [other for other in left if other[:2] == key[:2]]
        told = [left.pop(other) for other in same if other in left]
        if not told and check.unchecked and check.model == TREATMENT:
            continue  # earlier manifests are silent about what cannot be seen
        if not told:
            yield f"models: {name} is asked for by the policy and not among them"
        elif not all(entry.get("holds") is True for entry in told):
            yield f"models: {name} is not said to hold"
        elif (
            check.holds and not check.unchecked and not (private and told[0].get("reached") is None)
        ):
            yield from _differences(f"models: {name}", told[0], _numbers(found))
    for entry in left.values():
        yield f"models: {_model_name(entry)} is not asked for by the policy"


def _key(entry: Mapping[str, Any]) -> tuple[str, ...]:
    return tuple(str(entry.get(name)) for name in ("reader", "asked", "column"))


def _model_name(entry: Mapping[str, Any]) -> str:
    about = f" on {entry['column']}" if entry.get("column") else ""
    reader = f"{entry['reader']}: " if entry.get("reader") else ""
    return f"{reader}{entry.get('asked')}{about}"


def _numbers(entry: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in entry.items() if _is_number(value)}


def _differences(where: str, told: Mapping[str, Any], found: Mapping[str, Any]) -> Iterator[str]:
    for name, value in found.items():
        if not _same(told.get(name), value):
            yield f"{where}: {name} is {value} in the file"


def _same(told: Any, found: float) -> bool:
    """Equal; shares may be rounded, counts may not."""
    if not _is_number(told):
        return False
    if isinstance(found, int):
        return bool(told == found)
    return math.isclose(told, found, rel_tol=TOLERANCE, abs_tol=1e-9)


def _is_number(value: Any) -> bool:
    """Whether it can be a count or a share: JSON has numbers that no float has."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    return -LARGEST < value < LARGEST


def hidden_orders(manifest: Mapping[str, Any]) -> set[str]:
    """Columns whose values have an order that the manifest does not publish."""
    return set(_table(_table(manifest, "policy"), "order")) - set(_table(manifest, "orders"))


def _each(sentence: str, names: Iterable[str], known: Iterable[str]) -> list[str]:
    there = set(known)
    return [sentence.format(repr(name)) for name in names if name not in there]


def _named(names: Sequence[str]) -> str:
    return ", ".join(repr(name) for name in names)


def _table(part: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    found = part.get(name, {})
    if not isinstance(found, Mapping):
        raise InputError(f"the manifest's {name!r} is no table; is it damaged?")
    return found


def _list(part: Mapping[str, Any], name: str) -> list[Any]:
    found = part.get(name, [])
    if not isinstance(found, list | tuple):
        raise InputError(f"the manifest's {name!r} is no list; is it damaged?")
    return list(found)

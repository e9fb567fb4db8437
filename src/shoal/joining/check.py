"""`join_check`: what whoever holds several releases of one table can learn."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.errors import PolicyError
from shoal.joining.columns import Column, encode_column
from shoal.joining.pairs import exposure, joined_rows, rows_of
from shoal.joining.sources import Asked, Source, asked_of, open_sources, own_k
from shoal.policy import Policy

__all__ = ["JoinCheck", "JoinedView", "join_check"]

SETTINGS = ("kind", "order", "hierarchy", "missing")
"""Settings of a policy that help to read a release."""


@dataclass(frozen=True)
class JoinedView:
    """What somebody who knows these quasi-identifiers gains by joining."""

    reader: str | None
    """Who, where the manifests name several readers."""
    qi: tuple[str, ...]
    k: int
    exposed: int
    """Records that are among fewer than k for certain."""
    possible: int
    """Records that may be: more, where it is open which rows belong together."""
    smallest: int
    """Fewest records that remain possible for a person, in any release."""
    narrowed: tuple[str, ...]
    """Quasi-identifiers of which the join says more than a release, for records exposed."""

    @property
    def ok(self) -> bool:
        return self.smallest >= self.k

    def verdict(self, records: int) -> str:
        """One line on it."""
        who = f"joined ({self.reader})" if self.reader else "joined"
        if self.ok:
            return f"{who}: every record is among at least {self.smallest:,}, k = {self.k} holds"
        among = "alone" if self.k == 2 else f"among fewer than {self.k:,}"
        if not self.exposed:
            return f"{who}: up to {_share(self.possible, records)} may be {among}, {self._broken}"
        be = "is" if self.exposed == 1 else "are"
        more = f" (up to {self.possible:,} may be)" if self.possible > self.exposed else ""
        return f"{who}: {_share(self.exposed, records)} {be} {among}{more}, {self._broken}"

    @property
    def _broken(self) -> str:
        return f"k = {self.k} is broken"


@dataclass(frozen=True)
class JoinCheck:
    """What joining several releases of one table does to k."""

    records: int
    releases: tuple[str, ...]
    own: tuple[int, ...]
    """Records in the smallest class of each release by itself."""
    views: tuple[JoinedView, ...]
    linked: tuple[str, ...]
    """Columns of several releases that tell which rows can belong together."""
    unsure: tuple[str, ...] = ()
    """Columns whose labels or order are not at hand: the numbers are a guess without them."""

    @property
    def ok(self) -> bool:
        """True when k holds after the join, for everybody it was promised for."""
        return all(view.ok for view in self.views)

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        releases = zip(self.releases, self.own, strict=True)
        views = [{**asdict(view), "ok": view.ok} for view in self.views]
        return {
            "ok": self.ok,
            "records": self.records,
            "releases": [{"release": name, "k": k} for name, k in releases],
            "joined": [{n: _plain(v) for n, v in view.items()} for view in views],
            "linked": list(self.linked),
            "unsure": list(self.unsure),
        }

    def __bool__(self) -> bool:
        return self.ok

    def __repr__(self) -> str:
        own = zip(self.releases, self.own, strict=True)
        lines = [f"{name}: {self.records:,} records, k = {k} on its own" for name, k in own]
        for view in self.views:
            lines.append(view.verdict(self.records))
            if not view.ok and view.narrowed:
                lines.append(f"  together they say more about {', '.join(view.narrowed)}")
        if not self.ok and self.linked:
            lines.append(f"  rows are linked by {', '.join(self.linked)}")
        return "\n".join(lines)


def join_check(
    releases: Sequence[Any],
    k: int | None = None,
    *,
    qi: Sequence[str] | Sequence[Sequence[str]] = (),
    policy: Policy | str | Path | None = None,
    **settings: Any,
) -> JoinCheck:
    """Say whether joining several releases of one table breaks k for some record.

    Parameters
    ----------
    releases
        Two or more: `Release` objects, names of released files, or tables.
    k
        What must hold after the join; the largest k of the manifests if not given.
    qi
        Quasi-identifiers that an adversary may know, or one list for each
        release. If not given, those of the manifests: for each reader, where
        all of them name the same readers, and their union otherwise.
    policy, **settings
        What helps to read the cells, by name: ``hierarchy``, ``kind``,
        ``order``, ``missing``, or a policy that has them.

    Returns
    -------
    JoinCheck
        Its ``ok`` is False if k is broken.

    Examples
    --------
    >>> import shoal
    >>> people = shoal.datasets.census(500)
    >>> one = shoal.anonymize(people, qi=["age", "gender"], k=5)
    >>> shoal.join_check([one, one]).ok
    True
    """
    unknown = [name for name in settings if name not in SETTINGS]
    if unknown:
        expected = ", ".join(("k", "qi", "policy", *SETTINGS))
        raise PolicyError(f"join_check: unknown setting {unknown[0]!r}; expected one of {expected}")
    own = [] if not qi or isinstance(qi[0], str) else [tuple(names) for names in qi]
    names = [str(name) for part in own for name in part] or [str(name) for name in qi]
    union = list(dict.fromkeys(names))
    known = Policy.of(policy, {}) if policy is not None else Policy()
    sources = open_sources(releases, _for_reading(known, union, settings), own)
    asked = asked_of(sources, k, union, known)
    return _checked(sources, asked)


def _for_reading(policy: Policy, qi: Sequence[str], settings: dict[str, Any]) -> Policy:
    """What of a policy tells how to read cells; columns with a tree are generalised ones."""
    kept = {name: getattr(policy, name) for name in SETTINGS}
    read = Policy.parse(**kept).override(**settings)
    trees = {
        name: spec
        if not isinstance(spec, str) or spec == "flat"
        else str((policy.base / spec).absolute())
        for name, spec in read.hierarchy.items()
    }
    names = tuple(dict.fromkeys([*qi, *policy.qi, *trees]))
    return Policy.parse(**{**kept, **read.settings(), "hierarchy": trees, "qi": names})


def _checked(sources: Sequence[Source], asked: Sequence[Asked]) -> JoinCheck:
    wanted = dict.fromkeys(name for view in asked for name in view.qi)
    columns = _columns(sources, list(wanted))
    records = sources[0].table.num_rows
    table = rows_of(columns, len(sources), records)
    joined = joined_rows(table)
    views = []
    for view in asked:
        found = exposure(table, joined, view.qi, view.k)
        views.append(JoinedView(*view, *found[:3], tuple(found.narrowed)))
    result = JoinCheck(
        records=records,
        releases=tuple(source.name for source in sources),
        own=tuple(own_k(source, list(wanted)) for source in sources),
        views=tuple(views),
        linked=tuple(column.name for column in columns if _links(column)),
        unsure=tuple(column.name for column in columns if column.unsure),
    )
    if result.ok and result.unsure:  # never call safe what a tree could show to be broken
        name = result.unsure[0]
        raise PolicyError(
            f"column {name!r}: its hierarchy or order is not at hand, so nobody can say whether "
            f"the releases are safe; give --hierarchy {name}=FILE, flat if it has none, or --policy"
        )
    return result


def _columns(sources: Sequence[Source], qi: Sequence[str]) -> list[Column]:
    """Columns that at least two releases publish, and all quasi-identifiers."""
    made_for = (name for source in sources for name in source.generalised)
    published_somewhere = (name for source in sources for name in source.table.column_names)
    names = dict.fromkeys([*qi, *made_for, *published_somewhere])
    published = [set(source.attributes(names)) for source in sources]
    columns = []
    for name in names:
        there = [name in attributes for attributes in published]
        if not any(there) and name in qi:
            raise PolicyError(f"qi: no release has a column {name!r}")
        if sum(there) > 1 or (name in qi and any(there)):
            columns.append(encode_column(name, sources, there))
    return columns


def _links(column: Column) -> bool:
    """Whether cells of two releases can exclude each other."""
    ranges = [part for part in column.ranges if part is not None]
    for i, (low, high) in enumerate(ranges):
        for other_low, other_high in ranges[i + 1 :]:
            if low.max() > other_high.min() or other_low.max() > high.min():
                return True
    sets = [part for part in column.sets if part is not None]
    return any(_apart(a, b) for i, a in enumerate(sets) for b in sets[i + 1 :])


def _apart(a: NDArray[np.uint64], b: NDArray[np.uint64]) -> bool:
    return any(bool((~(row & b).any(axis=1)).any()) for row in a)


def _share(count: int, records: int) -> str:
    return f"{count:,} of {records:,} records ({100 * count / records:.3g}%)"


def _plain(value: Any) -> Any:
    return list(value) if isinstance(value, tuple) else value

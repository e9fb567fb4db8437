"""What a join gives away: numbers of a reader, of a sensitive model, and of the whole check."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

__all__ = ["JoinCheck", "JoinedValues", "JoinedView", "counted"]

HOLDS, OPEN, BROKEN = "holds", "not refuted", "broken"


@dataclass(frozen=True)
class JoinedValues:
    """What joining does to l-diversity: how alike those are who a person can be."""

    model: str
    sensitive: tuple[str, ...]
    l: int  # noqa: E741
    exposed: int
    """Records of whom too much is known of a sensitive value, for certain."""
    possible: int
    """Records of whom it may be."""
    reached: int
    """An l that every joined class has."""
    proven: bool
    """Whether it holds for whatever values a person has, where joined classes overlap."""
    followed: str = "joined classes one by one; where they overlap was not followed up"
    """What was followed up, where it is not proven."""

    @property
    def verdict(self) -> str:
        if self.reached < self.l:
            return BROKEN
        return HOLDS if self.proven else OPEN

    def line(self, who: str, records: int) -> str:
        """One line on it."""
        columns = ", ".join(self.sensitive)
        if self.verdict == HOLDS:
            return f"{who}: {columns}: {self.model} holds"
        if self.verdict == OPEN:
            return f"{who}: {columns}: {self.model} is not refuted by {self.followed}"
        some = f"{_share(self.exposed, records)} for certain, {self.possible:,} possibly"
        return f"{who}: {columns}: {self.model} is broken for {some}"


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
    values: JoinedValues | None = None
    """The same for l, where it is asked for."""
    unchecked: tuple[str, ...] = ()
    """Models that were promised and not checked."""
    followed: str = ""
    """What was followed up, where it was not everything."""

    @property
    def ok(self) -> bool:
        """True if neither k nor l was found broken."""
        return self.smallest >= self.k and (self.values is None or self.values.verdict != BROKEN)

    @property
    def verdict(self) -> str:
        """``broken``, ``not refuted`` where something was not followed up, or ``holds``."""
        if not self.ok:
            return BROKEN
        doubted = self.followed or (self.values is not None and self.values.verdict == OPEN)
        return OPEN if doubted else HOLDS

    def lines(self, records: int) -> list[str]:
        """What was found, in words."""
        who = f"joined ({self.reader})" if self.reader else "joined"
        lines = [f"{who}: {self._about_k(records)}"]
        if self.smallest < self.k and self.narrowed:
            lines.append(f"  together they say more about {', '.join(self.narrowed)}")
        if self.values is not None:
            lines.append(self.values.line(who, records))
        if self.unchecked:
            lines.append(f"  not checked: {'; '.join(self.unchecked)}")
        return lines

    def _about_k(self, records: int) -> str:
        broken = f"k = {self.k} is broken"
        if self.smallest >= self.k:
            if self.followed:
                found = f"no record was found among fewer than {self.k:,}"
                return f"{found}, k = {self.k} is not refuted by {self.followed}"
            return f"every record is among at least {self.smallest:,}, k = {self.k} holds"
        among = "alone" if self.k == 2 else f"among fewer than {self.k:,}"
        if not self.exposed:
            return f"up to {_share(self.possible, records)} may be {among}, {broken}"
        be = "is" if self.exposed == 1 else "are"
        more = f" (up to {self.possible:,} may be)" if self.possible > self.exposed else ""
        return f"{_share(self.exposed, records)} {be} {among}{more}, {broken}"

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        values = None
        if self.values is not None:
            values = {**asdict(self.values), "verdict": self.values.verdict}
        return {**asdict(self), "values": values, "ok": self.ok, "verdict": self.verdict}


@dataclass(frozen=True)
class JoinCheck:
    """What joining several releases of one table does to k and l."""

    records: int
    releases: tuple[str, ...]
    own: tuple[int, ...]
    """Records in the smallest class of each release by itself."""
    views: tuple[JoinedView, ...]
    linked: tuple[str, ...]
    """Columns of several releases that tell which rows can belong together."""
    unsure: tuple[str, ...] = ()
    """Columns whose labels or order are not at hand: the numbers are a guess without them."""
    not_followed_up: tuple[str, ...] = ()
    """What an adversary could follow up, and this check did not."""

    @property
    def ok(self) -> bool:
        """True when nothing was found broken, for everybody it was promised for."""
        return all(view.ok for view in self.views)

    @property
    def verdict(self) -> str:
        """The worst of all views."""
        found = {view.verdict for view in self.views}
        return next(verdict for verdict in (BROKEN, OPEN, HOLDS) if verdict in found)

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        releases = zip(self.releases, self.own, strict=True)
        return {
            "ok": self.ok,
            "verdict": self.verdict,
            "records": self.records,
            "releases": [{"release": name, "k": k} for name, k in releases],
            "joined": [_plain(view.to_dict()) for view in self.views],
            "linked": list(self.linked),
            "unsure": list(self.unsure),
            "not_followed_up": list(self.not_followed_up),
        }

    def __bool__(self) -> bool:
        return self.ok

    def __repr__(self) -> str:
        own = zip(self.releases, self.own, strict=True)
        records = counted(self.records, "record", "records")
        lines = [f"{name}: {records}, k = {k} on its own" for name, k in own]
        for view in self.views:
            lines += view.lines(self.records)
        if not self.ok and self.linked:
            lines.append(f"  rows are linked by {', '.join(self.linked)}")
        lines += [f"  not followed up: {what}" for what in self.not_followed_up]
        if self.verdict == OPEN:
            lines.append("  not refuted is not safe: who follows up more may find somebody")
        return "\n".join(lines)


def counted(count: int, one: str, many: str) -> str:
    """A number with its noun."""
    return f"{count:,} {one if count == 1 else many}"


def _share(count: int, records: int) -> str:
    return f"{count:,} of {counted(records, 'record', 'records')} ({100 * count / records:.3g}%)"


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _plain(part) for name, part in value.items()}
    return list(value) if isinstance(value, Sequence) and not isinstance(value, str) else value

"""What a series gives away: to whoever has the releases, and by the private records."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

__all__ = ["Exactly", "Overlaid", "SeriesCheck"]

HOLDS, OPEN, BROKEN = "holds", "not refuted", "broken"


@dataclass(frozen=True)
class Overlaid:
    """What a recipient learns of somebody who is known to be in all releases.

    A cell is what one class of each release has in common: whoever lies in all of their boxes
    has a value that all of them have.
    """

    cells: int
    """Cells in which somebody can be."""
    pinned: int
    """Cells that leave one sensitive value."""
    least: int | None
    """Fewest sensitive values that a cell leaves; None without a sensitive column."""
    smallest: int
    """Fewest persons that can be in a cell, by their values."""
    excluded: int = 0
    """Cells in which nobody can be if the releases keep the m that they promise."""
    complete: bool = True
    """Whether all cells were looked at."""
    unfit: int = 0
    """Classes of single releases that cannot be what a series promises, whoever is in them."""
    matched: bool = False
    """Whether all records were matched, since it is known that nobody leaves."""
    contradicted: bool = False
    """Whether they cannot be, if the releases keep the m that they promise."""


@dataclass(frozen=True)
class Exactly:
    """What the records say: of every person, in the releases that he is in."""

    persons: int
    exposed: int
    """Persons of whom fewer values, or fewer others, are left than was promised."""
    pinned: int
    """Persons of whom one value is left, or who are alone."""
    least: int
    """Fewest values, or persons, that are left of somebody."""
    counterfeits: tuple[int, ...]


@dataclass(frozen=True, repr=False)
class SeriesCheck:
    """The verdict on several releases of a table that changes."""

    releases: tuple[str, ...]
    promise: str
    """``m`` or ``k``."""
    level: int
    """What must hold over all releases."""
    seen: Overlaid
    exact: Exactly | None = None
    unsure: tuple[str, ...] = ()
    """Columns whose hierarchy or order is not at hand."""

    @property
    def verdict(self) -> str:
        """``holds`` (by the records), ``broken``, or ``not refuted`` by the releases alone."""
        if self.exact is not None:
            return BROKEN if self.exact.exposed else HOLDS
        if self.seen.unfit or self.seen.contradicted:
            return BROKEN
        found = self.seen.least if self.promise == "m" else self.seen.smallest
        return BROKEN if found is not None and found < self.level else OPEN

    @property
    def ok(self) -> bool:
        return self.verdict != BROKEN

    def to_dict(self) -> dict[str, Any]:
        """As plain values for JSON."""
        return {"verdict": self.verdict, "ok": self.ok, **asdict(self)}

    def __repr__(self) -> str:
        return "\n".join(self.lines())

    def lines(self) -> list[str]:
        """What was found, in words: the answer first."""
        over = f"{self.promise} = {self.level} over {len(self.releases)} releases"
        lines = [f"{over}: {self.verdict}", *self._seen_in_words()]
        if self.exact is not None:
            lines.append(self._exact_in_words(self.exact))
        return lines

    def _seen_in_words(self) -> list[str]:
        seen = self.seen
        head = f"  by the releases alone: {seen.cells:,} places where classes of all overlap"
        lines = [f"{head}, the smallest for {seen.smallest:,} persons at most"]
        if seen.matched:
            lines.append("  all records were matched, since nobody leaves")
        if seen.contradicted:
            lines.append(
                f"  they cannot all be, if everybody is left among {self.level} values: the "
                "promise is broken, or somebody has left"
            )
        if seen.least is not None:
            lines.append(
                f"  whoever is known to be in one of {seen.pinned:,} of them has one value only"
                if seen.pinned
                else f"  each of them leaves {seen.least:,} sensitive values or more"
            )
        if seen.unfit:
            lines.append(
                f"  {seen.unfit:,} classes have no groups of {self.level} different values, as the "
                "releases say"
            )
        if seen.excluded:
            lines.append(
                f"  in {seen.excluded:,} further ones nobody can be, if the promise is kept: only "
                "the records can show that it is"
            )
        if not seen.complete:
            lines.append("  not all places were looked at: there are too many")
        return lines

    def _exact_in_words(self, exact: Exactly) -> str:
        what = "sensitive values" if self.promise == "m" else "persons"
        head = f"  by the records: of {exact.persons:,} persons everybody is left"
        if not exact.exposed:
            return f"{head} among {exact.least:,} {what} or more"
        return (
            f"  by the records: of {exact.persons:,} persons {exact.exposed:,} are left among "
            f"fewer than {self.level} {what}, {exact.pinned:,} among one"
        )

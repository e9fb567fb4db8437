"""t-closeness: a class shows (almost) no more than the table as a whole does."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from shoal.errors import PolicyError
from shoal.kernels.rules import CLOSE
from shoal.models.base import ClassHistograms, Model, Rule, WholeTable
from shoal.models.exact import INT64_SAFE, Number, at_most, exact, limited, plain, round_up, text

__all__ = ["TCloseness"]

EXPECTED = "a number from 0 to 1"


@dataclass(frozen=True)
class TCloseness(Model):
    """The earth mover's distance of each class to the table is at most t.

    Nominal columns: ``1/2 sum |p_i - q_i|``. Ordered columns (numeric, date,
    ordinal): ``1/(m-1) sum_i |(p_1 + ... + p_i) - (q_1 + ... + q_i)|`` over the
    m values that occur in the table, in their order; a missing value is the
    last of them. With m = 1 every distance is 0. p and q are shares of the
    counts; where persons are counted, of distinct (person, value) pairs.
    """

    t: Fraction

    name: ClassVar[str] = "t-closeness"
    option: ClassVar[str] = "t"
    summary: ClassVar[str] = "sensitive values are distributed in a class almost as in the table"
    monotone: ClassVar[bool] = True
    compares_with_table: ClassVar[bool] = True
    uses_order: ClassVar[bool] = True

    def __post_init__(self) -> None:
        t = exact(self.t, "t", EXPECTED)
        if not 0 <= t <= 1:
            raise PolicyError(f"t: expected {EXPECTED}; got {text(t)}")
        object.__setattr__(self, "t", t)

    @classmethod
    def of(cls, t: Number) -> TCloseness:
        return cls(exact(t, "t", EXPECTED))

    @property
    def smallest_class(self) -> int:
        return 1

    def largest_shares(
        self, counts: NDArray[np.int64], ordered: bool, moving: bool
    ) -> list[Fraction]:
        if moving:
            return super().largest_shares(counts, ordered, moving)
        # ordered: p - q of one value is the difference of two cumulated ones
        farthest = self.t * max(1, int(np.count_nonzero(counts)) - 1) if ordered else self.t
        total = max(1, int(counts.sum()))
        return [min(Fraction(1), Fraction(int(c), total) + farthest) for c in counts]

    def holds(self, classes: ClassHistograms) -> NDArray[np.bool_]:
        moved, whole = _distances(classes)
        return at_most(moved, self.t, whole)

    def level(self, classes: ClassHistograms) -> float | None:
        """The largest distance of a class, rounded up to 6 decimals."""
        if not classes.classes:
            return None
        moved, whole = _distances(classes)
        share = moved.astype(np.float64) / np.maximum(whole, 1).astype(np.float64)
        near = np.flatnonzero(share >= share.max() - 1e-12)  # floats cannot tell these apart
        pairs = set(zip(moved[near].tolist(), whole[near].tolist(), strict=True))
        return round_up(max(Fraction(a, max(b, 1)) for a, b in pairs))

    def worst(self, levels: Iterable[float | int]) -> float | int:
        return max(levels)

    def parameters(self) -> dict[str, Any]:
        return {"t": plain(self.t)}

    def rules(self) -> tuple[Rule, ...]:
        return (Rule(CLOSE, *limited(self.t)),)

    def refusal(self, whole: WholeTable) -> str:  # the table is at distance 0 from itself
        return f"no {text(self.t)}-close release exists: column {whole.column}"

    def __str__(self) -> str:
        return f"t = {text(self.t)}"


def _distances(classes: ClassHistograms) -> tuple[NDArray[Any], NDArray[Any]]:
    """Distance of each class to the table as two integers: moved mass, and what 1 would be.

    With class counts c summing to n and table counts C summing to N, the
    difference p - q is (c*N - C*n) / (n*N): the numerators stay integers.
    """
    if not classes.classes:
        return np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64)
    present = classes.total > 0
    steps = max(1, int(present.sum()) - 1) if classes.ordered else 1
    table = int(classes.total.sum())
    most = int(classes.mass.max()) * table * (steps + 1)
    dtype: type[Any] = np.int64 if most < INT64_SAFE else object
    whole = classes.mass.astype(dtype) * table * steps
    moved = _moved_in_order(classes, table, dtype) if classes.ordered else None
    return (_moved(classes, table, dtype) if moved is None else moved), whole


def _moved(classes: ClassHistograms, table: int, dtype: type[Any]) -> NDArray[Any]:
    """Equal distance: 1/2 sum |p - q| is the sum of p - q where p is the larger."""
    mass = np.repeat(classes.mass, classes.distinct).astype(dtype)
    surplus = classes.counts.astype(dtype) * table - classes.total[classes.values] * mass
    moved: NDArray[Any] = np.add.reduceat(np.maximum(surplus, 0), classes.offsets[:-1])
    return moved


def _moved_in_order(classes: ClassHistograms, table: int, dtype: type[Any]) -> NDArray[Any]:
    """Ordered distance: sum over the values i of |P_i * N - Q_i * n|, P and Q cumulated.

    P is constant from one value of the class up to its next one, while Q only
    grows: within such a run the terms change sign once, and prefix sums of Q
    give both parts. So a class costs its own values, not the whole domain.
    """
    present = classes.total > 0
    rank = np.cumsum(present) - 1
    cumulated = np.cumsum(classes.total[present])
    prefix = np.concatenate([[0], np.cumsum(cumulated.astype(dtype))]).astype(dtype)
    of_class = np.repeat(np.arange(classes.classes), classes.distinct)
    n = classes.mass[of_class]

    def part(
        begin: NDArray[Any], end: NDArray[Any], p: NDArray[Any], n: NDArray[Any]
    ) -> NDArray[Any]:
        """Sum of |p * N - Q_i * n| for i in begin..end-1."""
        level = p.astype(dtype) * table
        turn = -(-level // n)  # Q_i >= turn iff Q_i * n >= p * N
        middle = np.clip(np.searchsorted(cumulated, turn.astype(np.int64)), begin, end)
        above = level * (middle - begin) - (prefix[middle] - prefix[begin]) * n
        below = (prefix[end] - prefix[middle]) * n - level * (end - middle)
        return np.asarray(above + below)

    first = classes.offsets[:-1]
    begin = rank[classes.values]
    end = np.append(begin[1:], 0)
    end[classes.offsets[1:] - 1] = len(cumulated)
    before = np.cumsum(classes.counts)
    cumulated_class = before - (before - classes.counts)[first][of_class]
    moved: NDArray[Any] = np.add.reduceat(part(begin, end, cumulated_class, n), first)
    nothing = np.zeros(classes.classes, dtype=np.int64)
    return np.asarray(moved + part(nothing, begin[first], nothing, classes.mass))

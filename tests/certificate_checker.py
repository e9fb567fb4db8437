"""Whether a certificate of a lower bound holds, by code that shares none with the provers.

What a group loses is worked out from the attributes themselves. On small tables every group of
the family is weighed; on larger ones random groups, and groups that an adversary would
choose: grown record by record where weight is dense, and the heaviest records of their boxes.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from itertools import combinations
from math import comb

import numpy as np

from shoal.bounds.certificate import Certificate
from shoal.encoding.table import EncodedTable
from shoal.kernels.costs import ROUND, SET, SPAN  # numbers of the forms, nothing else

ALL = 60_000
"""Up to so many groups, every one is weighed."""
ROUNDING = Fraction(1, 10**10)
"""What a float of a price can be off by, for each record."""


class Checker:
    """One certificate and its table."""

    def __init__(self, table: EncodedTable, certificate: Certificate) -> None:
        self.table, self.certificate = table, certificate
        self.size = certificate.family.size
        column = certificate.family.column
        self.value = np.zeros(table.n, dtype=np.int64)
        self.caps = np.array([self.size])
        if column is not None and certificate.family.caps is not None:
            self.value = table.sensitive_codes[column].astype(np.int64)
            self.caps = certificate.family.caps
        self.weights = certificate.weights.astype(object)

    def problems(self, tries: int = 40, seed: int = 0) -> list[str]:
        """What is wrong with it; nothing, as far as it was looked at."""
        found = list(self._sums())
        for group in self._groups(tries, np.random.default_rng(seed)):
            if self._excess(group) > ROUNDING * self.size:
                return [*found, f"the group {sorted(map(int, group))} weighs more than it costs"]
        return found

    def _sums(self) -> Iterator[str]:
        if len(self.weights) != self.table.n:
            yield "not every record has a weight"
        if min(self.weights, default=0) < 0:
            yield "a weight is negative"
        total = sum(Fraction(column.weight) for column in self.table.qi) * self.table.n
        proven = Fraction(int(sum(self.weights)), self.certificate.scale) / total
        if Fraction(self.certificate.loss) > proven:
            yield "more is claimed than the weights add up to"

    def _excess(self, group: np.ndarray) -> Fraction:
        """By how much a group weighs more than it costs."""
        weight = Fraction(int(sum(self.weights[group])), self.certificate.scale)
        return weight - self.size * Fraction(float(self.prices(group, group[:1])[0]))

    def prices(self, group: np.ndarray, others: np.ndarray) -> np.ndarray:
        """What each record of the group loses once one of the others is in it, one by one."""
        total = np.zeros(len(others))
        for column, codes in zip(self.table.qi, self.table.codes, strict=True):
            low = np.minimum(codes[group].min(), codes[others])
            high = np.maximum(codes[group].max(), codes[others])
            if column.suppressed:
                loss = (low < high).astype(float)
            elif column.form == SET:
                have = np.unique(codes[group])
                distinct = len(have) + ~np.isin(codes[others], have)
                loss = np.where(distinct > 1, distinct / column.size, 0.0)
            elif column.form in (SPAN, ROUND):
                end = column.position if column.end is None else column.end
                loss = np.minimum(1.0, end[high] - column.position[low])
            else:
                loss = np.array(
                    [
                        max(column.climb[a:b], default=0.0)
                        for a, b in zip(low.tolist(), high.tolist(), strict=True)
                    ]
                )
            if not column.suppressed:
                alone = np.zeros(column.size) if column.floor is None else column.floor
                loss = np.where(low == high, alone[low], loss)
            total += column.weight * loss
        return total

    def _allowed(self, group: np.ndarray) -> bool:
        used = np.bincount(self.value[group], minlength=len(self.caps))
        return bool((used <= self.caps).all())

    def _groups(self, tries: int, rng: np.random.Generator) -> Iterator[np.ndarray]:
        n, size = self.table.n, self.size
        if size > n:
            return
        if comb(n, size) <= ALL:
            for group in combinations(range(n), size):
                if self._allowed(np.array(group)):
                    yield np.array(group)
            return
        heavy = np.argsort(-self.certificate.weights, kind="stable")[: tries // 2]
        for anchor in [*heavy, *rng.integers(0, n, tries)]:
            yield from self._grown(int(anchor), rng)
        for _ in range(10 * tries):
            group = self._heaviest(rng.permutation(n)[: 3 * size])
            if group is not None:
                yield group

    def _grown(self, anchor: int, rng: np.random.Generator) -> Iterator[np.ndarray]:
        """Groups around a record: the best next one, and the heaviest of the box so far."""
        weights = self.certificate.weights / self.certificate.scale
        group = np.array([anchor])
        some = np.arange(self.table.n)
        if len(some) > 3000:
            some = np.union1d(rng.permutation(self.table.n)[:3000], anchor)
        for _ in range(2 * self.size):
            prices = self.prices(group, some)
            inside = some[prices <= self.prices(group, group[:1])[0] + 1e-12]
            heaviest = self._heaviest(inside)
            if heaviest is not None:
                yield heaviest
            outside = ~np.isin(some, group)
            if not outside.any():
                return
            gain = np.where(outside, weights[some] - self.size * prices, -np.inf)
            group = np.append(group, some[np.argmax(gain)])

    def _heaviest(self, records: np.ndarray) -> np.ndarray | None:
        """The heaviest group of the family among these records."""
        chosen: list[int] = []
        used = np.zeros(len(self.caps), dtype=np.int64)
        for r in records[np.argsort(-self.certificate.weights[records], kind="stable")]:
            if used[self.value[r]] < self.caps[self.value[r]]:
                used[self.value[r]] += 1
                chosen.append(int(r))
                if len(chosen) == self.size:
                    return np.array(chosen)
        return None


def problems(table: EncodedTable, certificate: Certificate, tries: int = 40) -> list[str]:
    """What is wrong with a certificate, in words."""
    return Checker(table, certificate).problems(tries)

"""blind: cuts chosen by quasi-identifiers, tested with a random margin.

A method that generalises only where it must tells, by where it does, who has
which value: minimality (Wong et al., VLDB 2007). Here a reader who knows the
method and everybody's quasi-identifiers, but not the seed, learns little:

* A cut is chosen by quasi-identifiers, and by how often each value occurs in
  the node as a whole. Exchanging values inside a published group changes
  neither, at no node above the group: they are unions of groups.
* So all he can learn from is that a cut through his group was refused. It is
  refused if a random margin z is above the margin m of its sides
  (`shoal.methods.blind.margins`), P(z > m) = (s / (s + 1)) ** (m + 1). An
  exchange of two values changes m by one at most, the chance of a refusal
  therefore by a factor of (s + 1) / s at most; the factors of all refusals on
  the way to a group multiply to the odds that were spent.
* Odds spent are never above `odds`, and in every group so small that whoever
  multiplies r / (n - r) by them still believes no value with more than 1/l.
* A cut that is allowed whichever record has which value costs nothing.

docs/attacks.md has the proof in full and measures it.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from math import ceil
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from shoal.encoding.table import EncodedTable, Partition, Recoding
from shoal.kernels.blind.cuts import NO_CUT, Chances, best_cut
from shoal.methods.base import QI_ONLY, Method, Options, Outcome, Run
from shoal.methods.blind.margins import UNIT, Counts, Margins, without_margin
from shoal.models import needs_sensitive, rules_for
from shoal.models.base import Model

__all__ = ["Blind", "BlindOptions", "Walk"]

Rows = NDArray[np.int64]

STEADY = 3
"""Least s of the random margin: a refusal then spends odds of 4/3, and z is 3 on average."""
PART = 20
"""With large sides z is on average one in so many of the records a value may have: it hardly
ever refuses there, and what it does refuse spends next to nothing."""
TRIES = 20
"""Cuts of a node that may be refused before it stays as it is."""
TRUST = 0.25
"""What is left of the trust in an attribute whose cut was refused, here and below."""
FREQUENT = 4
"""Values whose counts say how likely a cut is allowed."""


class BlindOptions(Options):
    """Options of `blind`."""

    odds: float = Field(2.0, ge=1.0, le=1000.0)
    """The most by which knowing how groups are made may raise the odds of a value. 1: nothing
    is learnt, and only such cuts are made as are allowed whichever record has which value."""


class Node(NamedTuple):
    """Records that may be cut, and what their path has cost."""

    rows: Rows
    spent: int
    trust: NDArray[np.float64]


class Blind(Method[BlindOptions]):
    """A tree of cuts that hides why a group was not cut further."""

    name: ClassVar[str] = "blind"
    summary = "Cuts by quasi-identifiers and hides why it stops: safe from minimality attacks."
    promise = (
        "Every model holds in every group, and nobody who knows the method, but not the seed, "
        "believes a value with more than the 1/l (or alpha) that was asked for; under other "
        "models the odds of a value rise by at most `odds`."
    )
    options = BlindOptions
    takes_exempt: ClassVar[bool] = False
    looks_at = "quasi-identifiers; sensitive values only to test cuts, with a random margin"

    def refusal(
        self, models: Sequence[Model], options: BlindOptions | None = None, **asked: Any
    ) -> str | None:
        """A random margin needs a margin, and one record to a person."""
        if unknown := without_margin(models):
            known = "k, l (not entropy), alpha, t, beta or delta"
            return f"has no margin for {unknown[0]}; expected {known}"
        if asked.get("persons") and needs_sensitive(models):
            return "expected no person column with models about sensitive values"
        return super().refusal(models, options, **asked)

    def looked_at(self, models: Sequence[Model], options: BlindOptions) -> str:
        """What grouping looks at, and what that can give away."""
        seen = super().looked_at(models, options)
        return seen if seen == QI_ONLY else f"{seen}; odds at most {options.odds:g}"

    def run(
        self, table: EncodedTable, models: Sequence[Model], options: BlindOptions, run: Run
    ) -> Outcome:
        """See `Method.run`."""
        walk = Walk(table, models, options.odds, run.seed)
        groups = walk.groups(run)
        order = np.concatenate(groups)
        offsets = np.cumsum([0, *map(len, groups)])
        facts = {"groups": len(groups), "tests": walk.tests, "refused": walk.refused}
        return Outcome(Recoding.single(Partition(order, offsets), len(table.qi)), facts)


def spent_after(spent: int, steady: int) -> int:
    """Odds spent after one more refusal, rounded up."""
    return -((-spent * (steady + 1)) // steady)


class Walk:
    """The way down the tree."""

    def __init__(
        self, table: EncodedTable, models: Sequence[Model], odds: float, seed: int
    ) -> None:
        self.table = table
        rules = rules_for(table.codebook, models)
        self.least = max(1, int(rules.smallest))
        self.margins = Margins(rules)
        self.most = int(Fraction(odds) * UNIT)
        values = [ceil(1 / share) for _, share in self.margins.shares]
        self.parts = PART * max([2, *values])
        self.rng = np.random.default_rng(seed)
        self.scratch = np.zeros(int(table.costs.size.max(initial=1)), dtype=np.int64)
        self.tests = self.refused = 0

    def groups(self, run: Run) -> list[Rows]:
        """Groups in tree order."""
        whole = Node(np.arange(self.table.n), UNIT, np.ones(len(self.table.qi)))
        waiting, found, done = [whole], [], 0
        while waiting:
            node = waiting.pop()
            if parts := self.divided(node):
                waiting.extend(reversed(parts))
            else:
                found.append(node.rows)
                done += len(node.rows)
                run.progress(done, self.table.n)
        return found

    def divided(self, node: Node) -> tuple[Node, Node] | None:
        """The node's two parts, or None if it stays as it is."""
        n, spent, trust = len(node.rows), node.spent, node.trust.copy()
        if n < 2 * self.least:
            return None
        counts, sure_only = self.counted(node.rows), False
        for _ in range(TRIES):
            parts, attribute = self.proposed(node.rows, counts, spent, trust, sure_only)
            if parts is None:
                return None
            steady = self.steady(min(map(len, parts)))
            after = spent_after(spent, steady)
            if not all(map(self.enough_persons, parts)):
                trust[attribute] = 0.0
            elif self.margins.surely([len(part) for part in parts], counts, spent):
                return Node(parts[0], spent, trust), Node(parts[1], spent, trust)
            elif sure_only:
                trust[attribute] = 0.0
            elif not self.affordable(n, counts, after):
                trust[attribute] *= TRUST
                sure_only = not self.affordable(n, counts, spent_after(spent, self.steady(n // 2)))
            elif self.allowed(parts, spent, steady):
                return Node(parts[0], spent, trust), Node(parts[1], spent, trust)
            else:
                spent = after
                trust[attribute] *= TRUST
        return None

    def affordable(self, n: int, counts: Sequence[Counts], after: int) -> bool:
        """Whether the node keeps its promise if a refusal brings the odds spent there."""
        return after <= self.most and self.margins.of(n, counts, after) >= 0

    def steady(self, smaller: int) -> int:
        """The s of the random margin of a cut whose smaller side has so many records."""
        return max(STEADY, smaller // self.parts)

    def enough_persons(self, part: Rows) -> bool:
        """Whether a part has as many persons as a class needs; its records are enough."""
        person = self.table.person
        return person is None or len(np.unique(person[part])) >= self.least

    def proposed(
        self,
        rows: Rows,
        counts: Sequence[Counts],
        spent: int,
        trust: NDArray[np.float64],
        sure_only: bool,
    ) -> tuple[tuple[Rows, Rows] | None, int]:
        """The parts of the cut that promises most, and its attribute."""
        shares = [(UNIT / (UNIT + spent * (1 / float(s) - 1)), c) for c, s in self.margins.shares]
        frequent = np.zeros((len(shares), FREQUENT))
        for row, (_, column) in zip(frequent, shares, strict=True):
            largest = np.sort(counts[column])[::-1][:FREQUENT]
            row[: len(largest)] = largest
        chances = Chances(
            np.array([share for share, _ in shares]),
            frequent,
            STEADY,
            self.parts,
            sure_only,
            bool(self.margins.others) and not shares,
        )
        table = self.table
        attribute, code = best_cut(
            table.costs, table.codes, rows, self.least, trust, chances, self.scratch
        )
        if attribute == NO_CUT:
            return None, NO_CUT
        on_the_left = table.codes[attribute][rows] <= code
        return (rows[on_the_left], rows[~on_the_left]), int(attribute)

    def allowed(self, parts: tuple[Rows, Rows], spent: int, steady: int) -> bool:
        """Whether the margin of the parts is at least the random one."""
        self.tests += 1
        margin = min(self.margins.of(len(p), self.counted(p), spent) for p in parts)
        passed = self.at_least_random(margin, steady)
        self.refused += not passed
        return passed

    def at_least_random(self, margin: int, steady: int) -> bool:
        """True with chance 1 - (s / (s + 1)) ** (margin + 1), never below a margin of 0."""
        left = margin + 1
        while left > 0:
            drawn = self.rng.integers(0, steady + 1, size=min(left, 4 * steady))
            if (drawn == steady).any():
                return True
            left -= len(drawn)
        return False

    def counted(self, rows: Rows) -> list[Counts]:
        """How often each value of each sensitive column occurs in a group."""
        columns = self.table.sensitive_columns() if not self.margins.blindfold else []
        return [np.bincount(codes[rows], minlength=size) for codes, size in columns]

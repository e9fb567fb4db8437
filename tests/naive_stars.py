"""The linear programme of stars, from its definition in docs/bounds.md, and one way to solve it."""

from __future__ import annotations

from collections import Counter, defaultdict
from itertools import product

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linprog

from columns import columns_of, sensitive_of
from shoal.encoding.table import EncodedTable

Cell = tuple[int, tuple[int, ...]]
Kind = tuple[tuple[int, ...], int]


def price(table: EncodedTable, pattern: int) -> float:
    """What the attributes that a pattern does not keep cost."""
    return sum(column.weight for a, column in enumerate(columns_of(table)) if not pattern >> a & 1)


def cell(table: EncodedTable, codes: tuple[int, ...], pattern: int) -> Cell:
    """A pattern and the values that it keeps."""
    return pattern, tuple(codes[a] for a in range(len(table.qi)) if pattern >> a & 1)


def kinds(table: EncodedTable) -> Counter[Kind]:
    """How many records agree in all attributes and the sensitive value."""
    return Counter(kind_of(table, record) for record in range(table.n))


def kind_of(table: EncodedTable, record: int) -> Kind:
    """Attributes and sensitive value of a record."""
    value = int(table.sensitive_codes[0][record])
    return tuple(int(column.codes[record]) for column in columns_of(table)), value


def least(table: EncodedTable, l: int) -> float:  # noqa: E741
    """The optimum, by a solver: parts of records allowed, no value more than 1/l of a cell."""
    found = kinds(table)
    patterns = range(2 ** len(table.qi))
    choices = [(kind, pattern) for kind, pattern in product(found, patterns)]
    pairs = {(cell(table, codes, p), v) for (codes, v), p in choices}
    rows = []
    for where, value in sorted(pairs):
        inside = [float(cell(table, kind[0], p) == where) for kind, p in choices]
        rows.append(
            [l * x * (kind[1] == value) - x for x, (kind, _) in zip(inside, choices, strict=True)]
        )
    whole = [[float(kind == one) for kind, _ in choices] for one in found]
    prices = [price(table, p) for _, p in choices]
    solved = linprog(
        prices, A_ub=rows, b_ub=np.zeros(len(rows)), A_eq=whole, b_eq=list(found.values())
    )
    return float(solved.fun) if solved.success else float("inf")


def on_simplex(goal: NDArray[np.float64]) -> NDArray[np.float64]:
    """The nearest point with no negative entry whose entries add up to 1, by sorting."""
    down = np.sort(goal)[::-1]
    levels = (np.cumsum(down) - 1) / np.arange(1, len(goal) + 1)
    return np.maximum(0.0, goal - levels[down > levels][-1])


class Walk:
    """Primal-dual steps as the fast kernel makes them, one dictionary at a time."""

    def __init__(self, table: EncodedTable, l: int, pace: float) -> None:  # noqa: E741
        self.table, self.l = table, l
        self.kinds = kinds(table)
        self.patterns = range(2 ** len(table.qi))
        unit = sum(column.weight for column in columns_of(table)) / len(table.qi)
        self.pace = pace / max(1, l + sensitive_of(table)[0].size - 2) / unit
        most: Counter[tuple[Cell, int]] = Counter()
        room: Counter[Cell] = Counter()
        for (codes, value), records in self.kinds.items():
            for p in self.patterns:
                most[cell(table, codes, p), value] += records
                room[cell(table, codes, p)] += records
        self.stride = {
            (c, v): unit / pace / max(1.0, (l - 2) * n + room[c]) for (c, v), n in most.items()
        }
        self.due = dict.fromkeys(most, 0.0)
        self.part = {kind: np.eye(len(self.patterns))[-1] for kind in self.kinds}

    def toll(self, where: Cell, value: int) -> float:
        """What a record of a value pays in a cell, besides the price."""
        return self.l * self.due[where, value] - sum(
            due for (c, _), due in self.due.items() if c == where
        )

    def step(self) -> float:
        """One step of all; gives the bound by the dues before it."""
        bound = 0.0
        load: defaultdict[tuple[Cell, int], float] = defaultdict(float)
        for (codes, value), records in self.kinds.items():
            pays = np.array(
                [
                    price(self.table, p) + self.toll(cell(self.table, codes, p), value)
                    for p in self.patterns
                ]
            )
            bound += records * pays.min()
            old = self.part[codes, value]
            new = on_simplex(old - self.pace * pays)
            self.part[codes, value] = new
            for p in self.patterns:
                load[cell(self.table, codes, p), value] += records * (2 * new[p] - old[p])
        sizes: defaultdict[Cell, float] = defaultdict(float)
        for (where, _), records in load.items():
            sizes[where] += records
        for where, value in self.due:
            above = self.l * load[where, value] - sizes[where]
            raised = self.due[where, value] + self.stride[where, value] * above
            self.due[where, value] = max(0.0, raised)
        return bound

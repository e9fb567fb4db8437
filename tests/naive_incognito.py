"""Full-domain generalisation in plain Python: every node of the lattice is tested.

A node is a tuple of levels, one an attribute, counted as in the hierarchies.
"""

from __future__ import annotations

import itertools
import math
from collections import defaultdict
from collections.abc import Hashable, Sequence

import naive_models
from columns import Column, columns_of, sensitive_of
from shoal.encoding.codebook import SET, SPAN
from shoal.encoding.table import EncodedTable
from shoal.models import Model

Node = tuple[int, ...]
Rows = list[int]

ALL = "all values"


def top(column: Column) -> int:
    """The level at which all values are one."""
    present = column.size - column.has_missing
    if column.hierarchy is not None:
        return max(1, column.hierarchy.height)
    if column.form == SET or present < 2:
        return 1
    return math.ceil(math.log2(present)) if present <= 32 else 6


def generalised(column: Column, code: int, level: int) -> Hashable:
    """What a value is published as at a level; equal means published alike."""
    present = column.size - column.has_missing
    if level == top(column):
        return ALL
    if level == 0 or code == present:  # a missing value stays by itself below the top
        return code
    if column.hierarchy is not None:
        return column.hierarchy.to_rows()[code][level]
    if present <= 32:
        return "interval", code // 2**level
    parts = 2 ** (6 - level)
    return "interval", min(math.floor(column.position[code] * parts), parts - 1)


def lattice(table: EncodedTable) -> list[Node]:
    return list(itertools.product(*(range(top(column) + 1) for column in columns_of(table))))


def classes(table: EncodedTable, node: Node) -> list[Rows]:
    found = defaultdict(list)
    for row in range(table.n):
        released = [
            generalised(column, column.codes[row], level)
            for column, level in zip(columns_of(table), node, strict=True)
        ]
        found[tuple(released)].append(row)
    return list(found.values())


def satisfies(table: EncodedTable, models: Sequence[Model], groups: list[Rows]) -> bool:
    """Every model holds in every group, for each sensitive column it can look at."""
    persons = range(table.n) if table.person is None else table.person.tolist()
    for model in models:
        if not model.about_sensitive:
            if not all(
                naive_models.holds(model, [[(persons[r], 0) for r in g] for g in groups], False)
            ):
                return False
            continue
        for column in sensitive_of(table):
            values = column.codes.tolist()
            if model.name == "(k,e)":
                if column.numbers is None:
                    continue
                values = [column.numbers[v] for v in values]
            records = [[(persons[r], values[r]) for r in g] for g in groups]
            if not all(naive_models.holds(model, records, column.ordered)):
                return False
    return True


def satisfying(table: EncodedTable, models: Sequence[Model]) -> set[Node]:
    return {node for node in lattice(table) if satisfies(table, models, classes(table, node))}


def minimal(nodes: set[Node]) -> set[Node]:
    """The nodes that no other one of the set lies below."""

    def below(a: Node, b: Node) -> bool:
        return a != b and all(x <= y for x, y in zip(a, b, strict=True))

    return {node for node in nodes if not any(below(other, node) for other in nodes)}


# --- what a node loses ---------------------------------------------------------------------


def loss(column: Column, block: list[int]) -> float:
    """NCP of publishing all codes of a block alike, from DESIGN section 2."""
    present = column.size - column.has_missing
    if len(block) == 1:
        return 0.0
    if column.form == SET:
        return len(block) / column.size
    if max(block) == present:  # missing and present values
        return 1.0
    if column.form == SPAN and column.hierarchy is None:
        return float(column.position[max(block)] - column.position[min(block)])
    assert column.hierarchy is not None
    rows = column.hierarchy.to_rows()
    if column.hierarchy.height <= 1:
        return 1.0
    meet = next(v for v in range(len(rows[0])) if len({rows[c][v] for c in block}) == 1)
    return sum(row[meet] == rows[block[0]][meet] for row in rows) / column.size


def gcp(table: EncodedTable, node: Node) -> float:
    lost = 0.0
    for column, level in zip(columns_of(table), node, strict=True):
        blocks = defaultdict(list)
        for code in range(column.size):
            blocks[generalised(column, code, level)].append(code)
        each = {code: loss(column, block) for block in blocks.values() for code in block}
        lost += column.weight * sum(each[code] for code in column.codes.tolist())
    return lost / (table.n * sum(column.weight for column in columns_of(table)))


def metric(table: EncodedTable, node: Node, name: str) -> float:
    sizes = [len(rows) for rows in classes(table, node)]
    return {
        "gcp": lambda: gcp(table, node),
        "dm": lambda: float(sum(size**2 for size in sizes)),
        "c_avg": lambda: table.n / len(sizes),
        "height": lambda: float(sum(node)),
    }[name]()

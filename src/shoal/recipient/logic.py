"""Conditions in SQL's logic of true, false and unknown, and what remains of them.

A condition over several columns is answered column by column: fix what one
column says, simplify, and go on with what remains. Equal remainders are one,
so that the result is a small diagram (a multi-valued decision diagram) and not
the cross product of all possibilities. It is exact: no condition on the same
column is ever taken for independent of another.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from shoal.errors import PolicyError
from shoal.released.conditions import Test

__all__ = [
    "And",
    "Expression",
    "Layer",
    "Not",
    "Or",
    "Truth",
    "both",
    "diagram",
    "distinct_tests",
    "either",
    "negated",
]

Truth = bool | None
"""True, false, or unknown, as SQL has it where a value is missing."""
MOST_NODES = 2000
"""A diagram beyond this is a query nobody meant."""


@dataclass(frozen=True)
class Not:
    """The opposite; unknown stays unknown."""

    part: Expression


@dataclass(frozen=True)
class And:
    """All parts."""

    parts: frozenset[Expression]


@dataclass(frozen=True)
class Or:
    """At least one part."""

    parts: frozenset[Expression]


Expression = Truth | Test | Not | And | Or


def negated(part: Expression) -> Expression:
    """The simplified opposite."""
    if part is None or isinstance(part, bool):
        return None if part is None else not part
    return part.part if isinstance(part, Not) else Not(part)


def both(parts: Iterable[Expression]) -> Expression:
    """The simplified conjunction."""
    flat = frozenset(_flat(parts, And))
    if False in flat:
        return False
    left = flat - {True}
    return And(left) if len(left) > 1 else next(iter(left), True)


def either(parts: Iterable[Expression]) -> Expression:
    """The simplified disjunction."""
    flat = frozenset(_flat(parts, Or))
    if True in flat:
        return True
    left = flat - {False}
    return Or(left) if len(left) > 1 else next(iter(left), False)


def _flat(parts: Iterable[Expression], kind: type[And] | type[Or]) -> Iterator[Expression]:
    for part in parts:
        if isinstance(part, kind):
            yield from part.parts
        else:
            yield part


def distinct_tests(expression: Expression) -> list[Test]:
    """The distinct tests in an expression, in a stable order."""
    found: dict[Test, None] = {}

    def visit(part: Expression) -> None:
        if isinstance(part, Test):
            found[part] = None
        elif isinstance(part, Not):
            visit(part.part)
        elif isinstance(part, And | Or):
            for inner in part.parts:
                visit(inner)

    visit(expression)
    return sorted(found, key=repr)


def _remaining(expression: Expression, known: Mapping[Test, Truth]) -> Expression:
    """What remains of an expression when some of its tests are known."""
    if isinstance(expression, Test):
        return known.get(expression, expression)
    if isinstance(expression, Not):
        return negated(_remaining(expression.part, known))
    if isinstance(expression, And):
        return both(_remaining(part, known) for part in expression.parts)
    if isinstance(expression, Or):
        return either(_remaining(part, known) for part in expression.parts)
    return expression


Layer = dict[Expression, dict[Expression, list[int]]]
"""For each remainder before a column: the remainders after it, and by which signatures."""


def diagram(
    expression: Expression, columns: Sequence[Sequence[Mapping[Test, Truth]]]
) -> list[Layer]:
    """Settle an expression column by column.

    Parameters
    ----------
    expression
        The condition.
    columns
        For each column its signatures: ways in which its tests can come out together.

    Returns
    -------
    list of Layer
        One for each column. What remains after the last is true, false or unknown.
    """
    layers: list[Layer] = []
    frontier: dict[Expression, None] = {expression: None}
    nodes = 0
    for signatures in columns:
        layer: Layer = {}
        for remainder in frontier:
            after: dict[Expression, list[int]] = {}
            for number, known in enumerate(signatures):
                after.setdefault(_remaining(remainder, known), []).append(number)
            layer[remainder] = after
            nodes += len(after)
            if nodes > MOST_NODES:
                raise PolicyError("query: the conditions are too entangled; ask in several queries")
        layers.append(layer)
        frontier = {remainder: None for after in layer.values() for remainder in after}
    return layers

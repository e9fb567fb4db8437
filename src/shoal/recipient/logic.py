"""Conditions in SQL's logic of true, false and unknown, and what remains of them.

A condition over several columns is answered column by column: fix what one
column says, simplify, and go on with what remains. Equal remainders are one,
so that the result is a small diagram (a multi-valued decision diagram) and not
the cross product of all possibilities. It is exact: no condition on the same
column is ever taken for independent of another.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from shoal.errors import PolicyError
from shoal.released.conditions import Test

__all__ = [
    "ENTANGLED",
    "MOST_NODES",
    "And",
    "Expression",
    "Layer",
    "Not",
    "On",
    "Or",
    "Truth",
    "both",
    "by_column",
    "diagram",
    "distinct_tests",
    "either",
    "negated",
]

Truth = bool | None
"""True, false, or unknown, as SQL has it where a value is missing."""
MOST_NODES = 2000
"""A diagram beyond this is a query nobody meant."""
ENTANGLED = "query: the conditions are too entangled; ask in several queries"


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


@dataclass(frozen=True, eq=False)
class On:
    """A part of a condition that looks at one column only, judged as a whole.

    Equal parts of one condition are one object, so that it need not be compared by what it says.
    """

    column: str
    condition: Expression


Expression = Truth | Test | Not | And | Or | On


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


def by_column(expression: Expression) -> tuple[Expression, list[On]]:
    """The expression with parts as large as possible that look at one column each; and these.

    A thousand conditions on one column are then a single one to the diagram.
    """
    parts: dict[Expression, On] = {}

    def part(column: str, condition: Expression) -> On:
        return parts.setdefault(condition, On(column, condition))

    def split(inner: Expression) -> tuple[str | None, Expression]:
        """A column and a condition on it alone; or None and a condition made of parts."""
        if isinstance(inner, Test):
            return inner.column, inner
        if isinstance(inner, Not):
            column, opposite = split(inner.part)
            return column, negated(opposite)
        if not isinstance(inner, And | Or):
            return None, inner
        joined = both if isinstance(inner, And) else either
        alone: dict[str, list[Expression]] = {}
        mixed: list[Expression] = []
        for column, condition in map(split, inner.parts):
            if column is None:
                mixed.append(condition)
            else:
                alone.setdefault(column, []).append(condition)
        if len(alone) == 1 and not mixed:
            return next(iter(alone)), inner
        return None, joined([*(part(c, joined(own)) for c, own in alone.items()), *mixed])

    column, whole = split(expression)
    if column is not None:
        whole = part(column, whole)
    return whole, sorted(parts.values(), key=lambda on: (on.column, repr(on.condition)))


def _remaining(expression: Expression, known: Mapping[On, Truth]) -> Expression:
    """What remains of an expression when some of its parts are known."""
    if isinstance(expression, On):
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
    expression: Expression,
    columns: Sequence[Sequence[Mapping[On, Truth]]],
    check: Callable[[], None],
) -> list[Layer]:
    """Settle an expression column by column.

    Parameters
    ----------
    expression
        The condition, by columns.
    columns
        For each column its signatures: ways in which its parts can come out together.
    check
        Raises if the time is over.

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
                check()
                after.setdefault(_remaining(remainder, known), []).append(number)
                if nodes + len(after) > MOST_NODES:
                    raise PolicyError(ENTANGLED)
            layer[remainder] = after
            nodes += len(after)
        layers.append(layer)
        frontier = {remainder: None for after in layer.values() for remainder in after}
    return layers

"""Released texts back into what they stand for.

The inverse of `shoal.encoding.recode`: a value, an interval ``[20,29]``, a value set
``{a,b}``, the label of a hierarchy node, or ``*``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import pyarrow as pa

from shoal.encoding.noting import AMBIGUOUS, notation_of
from shoal.encoding.recode import STAR
from shoal.encoding.values import Values as Distinct
from shoal.encoding.values import guess_kind
from shoal.errors import InputError, PolicyError
from shoal.hierarchy import Hierarchy
from shoal.policy import Kind

__all__ = [
    "ANYTHING",
    "Anything",
    "Cell",
    "Label",
    "Range",
    "Reading",
    "Values",
    "infer_reading",
    "pair_cell",
    "read_cell",
]

ELEMENT = re.compile(r'(?:"((?:[^"]|"")*)"|([^,"{}\[\]]*))(,|\Z)')
"""One element of an interval or set and the comma behind it; quoted, or free of brackets."""


@dataclass(frozen=True)
class Values:
    """One of these values, None for a missing one; a single one is the value itself."""

    texts: tuple[str | None, ...]


@dataclass(frozen=True)
class Range:
    """Anything from `low` to `high`, both included."""

    low: str
    high: str


@dataclass(frozen=True)
class Label:
    """A text that may be a value or a hierarchy node: the tree is not at hand."""

    text: str


@dataclass(frozen=True)
class Anything:
    """A suppressed value."""


Cell = Values | Range | Label | Anything
ANYTHING = Anything()
MISSING = Values((None,))


class Reading(NamedTuple):
    """How the texts of a column are to be read."""

    kind: Kind
    generalised: bool
    """False for sensitive and plain columns: their texts are values, whatever they look like."""
    tree: Hierarchy | None = None
    labels: bool = False
    """Released under a hierarchy that is not at hand."""
    order: tuple[str, ...] | None = None
    """Declared order of an ordinal column, lowest first."""
    hidden_order: bool = False
    """There is a declared order, but it is not at hand."""
    notation: str | None = None
    """How its dates and numbers are written, where that is not the plain way."""


def read_cell(text: str | None, reading: Reading, column: str) -> Cell:
    """What a released text stands for; `column` is its name, for messages."""
    if text is None:
        return MISSING
    if not reading.generalised:
        return Values((text,))
    if text == STAR:
        return ANYTHING
    if reading.tree is not None:
        return _node(text, reading.tree, column)
    if reading.labels:
        return Label(text)
    if reading.kind == "categorical":
        return _value_set(text) or Values((text,))
    if reading.order is not None and text in reading.order:
        return Values((text,))
    return _interval(text) or Values((text,))


def pair_cell(low: str | None, high: str | None, stars: bool) -> Cell:
    """A cell of the bounds layout; an empty one is missing, or suppressed if there are `stars`."""
    if low is None or high is None:
        return ANYTHING if stars else MISSING
    return Values((low,)) if low == high else Range(low, high)


def _node(text: str, tree: Hierarchy, column: str) -> Values:
    span = tree.spans.get(text)
    if span is None:
        raise InputError(f"column {column!r}: a cell is not in hierarchy {tree.source}")
    return Values(tree.leaves[span[0] : span[1] + 1])


def _interval(text: str) -> Range | None:
    # Trees of intervals have half-open nodes, [20,30): their closure errs on the safe side.
    if not (text.startswith("[") and text.endswith(("]", ")"))):
        return None
    ends = _elements(text[1:-1])
    if ends is None or len(ends) != 2 or ends[0] is None or ends[1] is None:
        return None
    return Range(ends[0], ends[1])


def _value_set(text: str) -> Values | None:
    if not (text.startswith("{") and text.endswith("}")):
        return None
    members = _elements(text[1:-1])
    return Values(tuple(members)) if members is not None and len(members) > 1 else None


def _elements(text: str) -> list[str | None] | None:
    """Elements between the brackets; an empty one is missing. None if this is no such list."""
    elements: list[str | None] = []
    position = 0
    while True:
        found = ELEMENT.match(text, position)
        if found is None:
            return None
        quoted, bare, comma = found.groups()
        elements.append(quoted.replace('""', '"') if quoted is not None else bare or None)
        if not comma:
            return elements
        position = found.end()


def infer_reading(
    texts: Sequence[str | None], declared: str | None = None, column: str = ""
) -> Reading:
    """How to read a column of which nothing is known but its distinct texts.

    One interval, set or star, and the column is taken to be generalised. `declared` is how its
    dates and numbers are written, where somebody says it.
    """
    present = [text for text in texts if text is not None]
    sets = any(_value_set(text) is not None for text in present)
    intervals = any(_interval(text) is not None for text in present)
    mentioned = pa.array(list(_parts(present)), pa.string())
    notation = declared or notation_of(mentioned)
    if notation == AMBIGUOUS:
        raise PolicyError(
            f"column {column!r}: its dates can be read with the day or the month first; give the "
            f"manifest, or --notation {column}=dd/mm/yyyy or {column}=mm/dd/yyyy"
        )
    kind = guess_kind(Distinct(mentioned, False, notation=notation).parsed)[0]
    if sets or (kind == "categorical" and not intervals):
        return Reading("categorical", sets or STAR in present)
    if kind == "categorical":
        return Reading("ordinal", True)
    return Reading(kind, intervals or STAR in present, notation=notation)


def _parts(texts: Sequence[str]) -> Iterator[str]:
    """The values that texts mention: themselves, ends of intervals, members of sets."""
    for text in texts:
        interval = _interval(text)
        if interval is not None:
            yield from (interval.low, interval.high)
        elif text != STAR:
            yield from (t for t in (_value_set(text) or Values((text,))).texts if t is not None)

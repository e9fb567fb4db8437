"""The cells of one column in all releases, on one scale: ranges of ranks, or sets of bits."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.errors import InputError, PolicyError
from shoal.hierarchy import Hierarchy
from shoal.joining.sources import Source
from shoal.recipient.columns import Released
from shoal.released.cells import Anything, Cell, Label, Range, Reading, Values
from shoal.released.lines import line_of, number

__all__ = ["Column", "encode_column"]

MOST_BITS = 1 << 14
"""Wider sets than this come from labels of large unknown hierarchies."""
Ranges = tuple[NDArray[np.int32], NDArray[np.int32]]


@dataclass(frozen=True, eq=False)
class Column:
    """One column in every release; None where a release does not publish it."""

    name: str
    codes: list[NDArray[np.int32] | None]
    """Which distinct cell each record has."""
    ranges: list[Ranges | None]
    """Lowest and highest rank of each distinct cell."""
    sets: list[NDArray[np.uint64] | None]
    """Or the values that it may be, as bits. Both lists are empty where the other counts."""
    top: int
    """The last rank, or the number of bits less one."""
    unsure: bool = False
    """Whether labels were met whose hierarchy is not at hand."""


class _Read:
    """A column of one release, read."""

    def __init__(self, source: Source, name: str) -> None:
        self.source = source
        self.codes, self.cells, self.reading = Released(source.table, source.about).cells(name)

    @property
    def doubtful(self) -> bool:
        """Whether a text may be the label of a hierarchy that nobody told us of."""
        return self.reading.generalised and self.source.about.manifest is None

    def texts(self) -> set[str]:
        found = {cell.text for cell in self.cells if isinstance(cell, Label)}
        sets = (cell.texts for cell in self.cells if isinstance(cell, Values))
        return found.union(text for texts in sets for text in texts if text is not None)


def encode_column(name: str, sources: Sequence[Source], publishing: Sequence[bool]) -> Column:
    """Read a column in every release that publishes it, and put its cells on one scale."""
    read = [_Read(s, name) if there else None for s, there in zip(sources, publishing, strict=True)]
    here = [part for part in read if part is not None]
    # A release that generalises a column has declared what it is; the others show texts.
    reading = next((p.reading for p in here if p.reading.generalised), here[0].reading)
    codes = [part.codes if part is not None else None for part in read]
    tree = next((p.reading.tree for p in here if p.reading.tree is not None), None)
    if tree is not None and all(_is_node(cell, tree) for part in here for cell in part.cells):
        return _on_tree(name, codes, read, tree)
    if not any(part.reading.generalised for part in here):
        return _as_values(name, codes, read, reading.kind == "numeric")
    if reading.kind == "categorical":
        return _as_sets(name, codes, read)
    return _on_line(name, codes, read, reading)


def _spans(
    name: str,
    codes: list[NDArray[np.int32] | None],
    parts: list[list[tuple[int, int]] | None],
    top: int,
    unsure: bool = False,
) -> Column:
    ranges: list[Ranges | None] = []
    for part in parts:
        table = np.array(part or [(0, top)], dtype=np.int32).reshape(-1, 2)
        ranges.append((table[:, 0].copy(), table[:, 1].copy()) if part is not None else None)
    return Column(name, codes, ranges, [], top, unsure)


def _is_node(cell: Cell, tree: Hierarchy) -> bool:
    """Whether a cell is a run of leaves; value sets of a release without the tree need not be."""
    if not isinstance(cell, Values) or len(cell.texts) == 1:
        return True
    first = tree.codes.get(str(cell.texts[0]), 0)
    return tree.leaves[first : first + len(cell.texts)] == cell.texts


def _on_tree(name: str, codes: Any, read: Sequence[_Read | None], tree: Hierarchy) -> Column:
    """Leaves in tree order; a node is the range of its leaves, a missing value comes last."""
    top = len(tree)

    def span(cell: Cell) -> tuple[int, int]:
        if not isinstance(cell, Values):
            return 0, top
        if cell.texts == (None,):
            return top, top
        try:
            return tree.codes[str(cell.texts[0])], tree.codes[str(cell.texts[-1])]
        except KeyError:
            raise InputError(f"column {name!r}: a cell is not in hierarchy {tree.source}") from None

    parts = [[span(cell) for cell in p.cells] if p is not None else None for p in read]
    return _spans(name, codes, parts, top)


def _as_values(name: str, codes: Any, read: Sequence[_Read | None], numeric: bool) -> Column:
    """A column that every release publishes as it is: equal or not."""
    ranks: dict[Any, int] = {}

    def rank(cell: Cell) -> int:
        text = cell.texts[0] if isinstance(cell, Values) else None
        amount = number(text) if numeric and text is not None else None
        return ranks.setdefault(text if amount is None else amount, len(ranks))

    parts = [[(rank(c), rank(c)) for c in p.cells] if p is not None else None for p in read]
    return _spans(name, codes, parts, max(len(ranks) - 1, 0))


def _on_line(name: str, codes: Any, read: Sequence[_Read | None], reading: Reading) -> Column:
    """Numbers, dates and ranks: intervals of places, a missing value beyond the last."""
    cells = [cell for part in read if part is not None for cell in part.cells]
    texts = {t for c in cells if isinstance(c, Values) for t in c.texts if t is not None}
    texts |= {end for c in cells if isinstance(c, Range) for end in (c.low, c.high)}
    line = line_of(name, reading, (), texts)
    places = sorted({line.key(text) for text in texts})
    rank = {place: i for i, place in enumerate(places)}
    top = len(places)
    unsure = reading.hidden_order and any(isinstance(cell, Range) for cell in cells)

    def span(cell: Cell) -> tuple[int, int]:
        if isinstance(cell, Range):
            ends = rank[line.key(cell.low)], rank[line.key(cell.high)]
            return (0, max(top - 1, 0)) if unsure else ends
        if isinstance(cell, Values):
            (text,) = cell.texts
            here = top if text is None else rank[line.key(text)]
            return here, here
        return 0, top

    parts = [[span(cell) for cell in p.cells] if p is not None else None for p in read]
    return _spans(name, codes, parts, top, unsure)


def _as_sets(name: str, codes: Any, read: Sequence[_Read | None]) -> Column:
    """Categories without a tree: values, sets of values, and labels of unknown trees."""
    parts = _with_labels(name, read)
    cells = [cell for part in parts if part is not None for cell in part]
    labels = sorted({cell.text for cell in cells if isinstance(cell, Label)})
    values = sorted({t for c in cells if isinstance(c, Values) for t in c.texts if t is not None})
    if labels and len(parts) > 2:
        raise PolicyError(
            f"column {name!r}: its labels come from a hierarchy that is not at hand; "
            f"give --hierarchy {name}=FILE to join more than two releases"
        )
    if not labels and all(isinstance(c, Anything) or _single(c) for c in cells):
        return _as_points(name, codes, parts, values)
    bits = _bits(name, labels, values)
    table = [_bit_rows(part, bits, labels, values) if part is not None else None for part in parts]
    return Column(name, codes, [], table, len(bits) - 1, bool(labels))


def _single(cell: Cell) -> bool:
    return isinstance(cell, Values) and len(cell.texts) == 1


def _as_points(
    name: str, codes: Any, parts: Sequence[list[Cell] | None], values: Sequence[str]
) -> Column:
    """Single values and stars: points of a scale, and all of it."""
    rank: dict[str | None, int] = {value: i for i, value in enumerate(values)}
    top = rank.setdefault(None, len(values))

    def span(cell: Cell) -> tuple[int, int]:
        return (rank[cell.texts[0]],) * 2 if isinstance(cell, Values) else (0, top)

    spans = [[span(cell) for cell in part] if part is not None else None for part in parts]
    return _spans(name, codes, spans, top)


def _with_labels(name: str, read: Sequence[_Read | None]) -> list[list[Cell] | None]:
    """Cells in which every text that may be a node of an unknown tree is a label.

    A text that only one release has may be a node in a release of which nobody
    says how it was made; a text that some release publishes as a value is one.
    """
    here = [part for part in read if part is not None]
    told = any(name in part.source.about.policy.hierarchy for part in here)
    everywhere = set.intersection(*(part.texts() for part in here))
    sure = {
        text
        for part in here
        for cell in part.cells
        if isinstance(cell, Values) and (len(cell.texts) > 1 or not part.reading.generalised)
        for text in cell.texts
    }

    def judged(cell: Cell, doubtful: bool) -> Cell:
        if isinstance(cell, Label):
            return Values((cell.text,)) if cell.text in sure else cell
        if doubtful and isinstance(cell, Values) and len(cell.texts) == 1:
            (text,) = cell.texts
            if text is not None and text not in sure and text not in everywhere:
                return Label(text)
        return cell

    parts = [
        [judged(cell, p.doubtful and not told) for cell in p.cells] if p is not None else None
        for p in read
    ]
    labels = {cell.text for part in parts for cell in part or () if isinstance(cell, Label)}
    return [[_labelled(c, labels) for c in part] if part is not None else None for part in parts]


def _labelled(cell: Cell, labels: set[str]) -> Cell:
    """A text that is a label in one release is one in the other, too."""
    single = isinstance(cell, Values) and len(cell.texts) == 1 and cell.texts[0] in labels
    return Label(str(cell.texts[0])) if single and isinstance(cell, Values) else cell


def _bits(name: str, labels: Sequence[str], values: Sequence[str]) -> dict[Any, int]:
    """Number of each bit: one a value, one a label, and one for a label beside any other text.

    So a label meets every text, and what it has in common with one text lies in
    these two only.
    """
    texts = [*labels, *values]
    bits: dict[Any, int] = {text: i for i, text in enumerate([*values, *labels, None])}
    if len(bits) + len(labels) * len(texts) > MOST_BITS:
        raise PolicyError(
            f"column {name!r}: too many labels of a hierarchy that is not at hand; "
            f"give --hierarchy {name}=FILE"
        )
    for i, label in enumerate(labels):
        for text in texts[i + 1 :]:
            bits[(label, text)] = len(bits)
    return bits


def _bit_rows(
    cells: Sequence[Cell], bits: dict[Any, int], labels: Sequence[str], values: Sequence[str]
) -> NDArray[np.uint64]:
    place = {label: i for i, label in enumerate(labels)}
    texts = [*labels, *values]

    def members(cell: Cell) -> Iterable[int]:
        if isinstance(cell, Label):
            i = place[cell.text]
            before = (bits[(other, cell.text)] for other in labels[:i])
            after = (bits[(cell.text, other)] for other in texts[i + 1 :])
            return [bits[cell.text], *before, *after]
        if isinstance(cell, Values):
            beside = [(label, t) for t in cell.texts if t is not None for label in labels]
            return [bits[t] for t in (*cell.texts, *beside)]
        return range(len(bits))

    rows = np.zeros((len(cells), (len(bits) + 63) // 64), dtype=np.uint64)
    for row, cell in enumerate(cells):
        for bit in members(cell):
            rows[row, bit >> 6] |= np.uint64(1 << (bit & 63))
    return rows

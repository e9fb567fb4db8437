"""GROUP BY: the values that a column can have, and how each cell spreads over them.

The groups of a column are its domain, as far as the release and what is known
of it tell: the leaves of its tree; the values of its declared order; all whole
numbers or days from the smallest to the largest that the release names; else
the values that the release names. Records are in every group that their cell
can be in, each with its share.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import date
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from shoal.encoding.values import Distinct
from shoal.errors import PolicyError
from shoal.recipient.logic import On, Truth
from shoal.recipient.spread import Asked
from shoal.released.cells import Anything, Cell, Label, Range, Reading, Values
from shoal.released.lines import Key, RankLine

__all__ = ["Grouping", "exact_grouping", "spread_grouping"]

MOST_GROUPS = 100_000
MOST_ENTRIES = 20_000_000


@dataclass(frozen=True, eq=False)
class Grouping:
    """A column to group by. Entries say that a cell can have a value, and with which share."""

    codes: NDArray[np.int32]
    """Which distinct cell each record has."""
    values: pa.Array
    """The groups, in their order; a missing value is a null, and the last."""
    cell: NDArray[np.int32]
    value: NDArray[np.int32]
    share: NDArray[np.float64]
    certain: NDArray[np.bool_]
    """Whether the cell can have no other value."""
    signature: NDArray[np.int32]
    """Of each group: how the conditions on the column come out there."""
    signatures: list[dict[On, Truth]]
    exact: bool = False

    def table(self, number: int) -> pa.Table:
        """The entries, for the database."""
        return pa.table(
            {
                f"gcell{number}": self.cell,
                f"gvalue{number}": self.value,
                f"gshare{number}": self.share,
                f"gcertain{number}": self.certain,
                f"gway{number}": self.signature[self.value],
            }
        )


def exact_grouping(distinct: Distinct, asked: Asked | None = None) -> Grouping:
    """A column that is published as it is: every record is in one group.

    `asked` are the conditions on the column, if there are any.
    """
    in_order = np.asarray(pc.sort_indices(distinct.values)).astype(np.int32)
    order = np.append(in_order, np.full(int(distinct.has_missing), len(in_order), np.int32))
    size = len(order)
    rank = np.empty(size, dtype=np.int32)
    rank[order] = np.arange(size)
    signature = np.zeros(size, dtype=np.int32) if asked is None else _signature_of(asked)
    signatures: list[dict[On, Truth]] = [{}] if asked is None else asked.regions.signatures
    values = distinct.values.take(pa.array(in_order))
    missing = pa.nulls(int(distinct.has_missing), values.type)
    codes = np.where(distinct.codes < 0, np.int32(size - 1), distinct.codes).astype(np.int32)
    return Grouping(
        codes, pa.concat_arrays([values, missing]), np.arange(size, dtype=np.int32), rank,
        np.ones(size), np.ones(size, dtype=bool), signature[order], signatures, True,
    )  # fmt: skip


def _signature_of(asked: Asked) -> NDArray[np.int32]:
    """How the conditions come out on each value of a column that is published as it is."""
    regions, line = asked.regions, asked.line
    texts = [cell.texts[0] for cell in asked.cells if isinstance(cell, Values)]
    ways = [regions.missing if text is None else regions.of(line.key(text)) for text in texts]
    return np.array([regions.signature[way] for way in ways], dtype=np.int32)


def spread_grouping(
    name: str,
    codes: NDArray[np.int32],
    cells: Sequence[Cell],
    reading: Reading,
    parts: Sequence[On],
) -> Grouping:
    """A generalised column: a record is in every group that its cell covers."""
    if any(isinstance(cell, Label) for cell in cells):
        raise PolicyError(
            f"query: GROUP BY {name!r}: its hierarchy is not at hand; give --hierarchy {name}=FILE"
        )
    asked = Asked(name, reading, cells, parts)
    keys = _groups(name, asked)
    place = {key: i for i, key in enumerate(keys)}
    entries = np.array(
        [
            (row, place[key] if key is not None else len(keys), share, alone)
            for row, cell in enumerate(asked.cells)
            for key, share, alone in _spread(cell, keys, asked)
        ],
        dtype=[("cell", np.int32), ("value", np.int32), ("share", float), ("alone", bool)],
    )
    if len(entries) > MOST_ENTRIES:
        raise PolicyError(f"query: GROUP BY {name!r}: too many values; ask with conditions")
    regions = asked.regions
    ways = [*(regions.signature[regions.of(key)] for key in keys)]
    signature = np.array([*ways, regions.signature[regions.missing]], dtype=np.int32)
    return Grouping(
        codes, _values(keys, asked), entries["cell"], entries["value"], entries["share"],
        entries["alone"], signature, regions.signatures,
    )  # fmt: skip


def _groups(name: str, asked: Asked) -> list[Key]:
    """Keys of the groups on the column's line, in order, without a missing value."""
    keys = asked.domain.values
    named = all(isinstance(cell, Values) for cell in asked.cells)
    if named or not asked.domain.measured or len(keys) < 2:
        return keys
    if not asked.domain.whole:
        raise PolicyError(
            f"query: GROUP BY {name!r}: its values are no whole numbers or days, so there is no "
            "list of them; ask with conditions such as BETWEEN"
        )
    if keys[-1] - keys[0] >= MOST_GROUPS:
        raise PolicyError(
            f"query: GROUP BY {name!r}: would have more than {MOST_GROUPS:,} groups; "
            "ask with conditions such as BETWEEN"
        )
    return list(range(int(keys[0]), int(keys[-1]) + 1))


def _spread(
    cell: Cell, keys: Sequence[Key], asked: Asked
) -> Iterator[tuple[Key | None, float, bool]]:
    """Groups that a cell can be in, with its share of each, and whether it can be in no other."""
    if isinstance(cell, Values):
        found = [None if text is None else asked.line.key(text) for text in cell.texts]
        for key in dict.fromkeys(found):
            share = found.count(key) / len(found)
            yield key, share, share == 1.0
    elif isinstance(cell, Range):
        low, high = sorted((asked.line.key(cell.low), asked.line.key(cell.high)))
        inside = keys[bisect_left(keys, low) : bisect_right(keys, high)]
        # Between two texts others may lie; between two numbers or ranks these do.
        known = asked.domain.measured or asked.domain.closed or low == high
        for key in inside:
            yield key, 1 / len(inside), len(inside) == 1 and known
    elif isinstance(cell, Anything):
        absent = asked.domain.share_of_missing()
        for key in keys:
            yield key, (1 - absent) / len(keys), False
        yield None, absent, False


def _values(keys: Sequence[Key], asked: Asked) -> pa.Array:
    """The groups as they are shown, and a null for a missing value."""
    if isinstance(asked.line, RankLine):
        shown: list[Any] = list(asked.line.order)
        return pa.array([*shown, None], pa.string())
    if not asked.domain.measured or not asked.domain.whole:
        texts = {asked.line.key(text): text for text in sorted(asked.texts, reverse=True)}
        return pa.array([*(texts[key] for key in keys), None], pa.string())
    if asked.line.expected == "ISO dates":
        return pa.array([*(date.fromordinal(int(key)) for key in keys), None], pa.date32())
    try:
        return pa.array([*(int(key) for key in keys), None], pa.int64())
    except (OverflowError, pa.ArrowInvalid):
        return pa.array([*(str(int(key)) for key in keys), None], pa.string())

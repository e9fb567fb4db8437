"""A release as a table that every tool can work with: no interval, set or label is left.

Four forms: the middle of a cell (the likeliest value, for categories), its two ends, a share
for every value that it may stand for, or values drawn from what it covers. Columns that are
published as they were stay as they are.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from shoal.encoding.publish import GROUP
from shoal.errors import PolicyError
from shoal.io.frames import from_arrow
from shoal.policy import Policy
from shoal.recipient.covering import Continuous, Covered, as_days, covered, dealt
from shoal.recipient.opening import open_release
from shoal.released.about import About

__all__ = ["FORMS", "SAMPLE", "expand"]

SAMPLE = "_sample"
"""The column that says from which drawing a row is."""
SAMPLES = 5
MOST_SHARES = 1_000
"""Values of a column beyond which nobody wants a column for each."""
ENDS = ("_low", "_high")
Column = Covered | Continuous
Named = Iterator[tuple[str, pa.Array]]


def expand(
    release: Any, as_: str = "midpoint", *, samples: int = SAMPLES, seed: int | None = None,
    manifest: str | Path | None = None, policy: Policy | str | Path | None = None,
    sensitive_table: Any = None, **settings: Any,
) -> Any:  # fmt: skip
    """A release with plain values in place of intervals, sets, labels and stars.

    Parameters
    ----------
    release
        A `Release`, the name of a released file, or a table as `anonymize` takes it.
    as_
        ``"midpoint"``: the middle of an interval, the likeliest value of a set or label;
        ``"mean"``: likewise, but of an interval what its values come to on average, those that
        are frequent elsewhere in the column counted as likelier;
        ``"bounds"``: two columns, ``age_low`` and ``age_high``, for numbers and dates (and the
        ends in the declared order for ordinals);
        ``"shares"``: a column for each value of a category, with the share a cell gives it,
        and the middle of numbers and dates;
        ``"samples"``: the whole table several times, each with values drawn from what the
        cells cover; the column ``_sample`` says which drawing a row is from.
    samples
        How many drawings.
    seed
        For the same drawings again; drawn by chance if not given.
    manifest, policy, sensitive_table, **settings
        What is known of the release, as for `shoal.query`. Of a release in two tables (anatomy)
        the sensitive column comes back: the likeliest value of each group, shares of all its
        values, or (samples) the group's values dealt out to its records.

    Returns
    -------
    table
        Of the kind that was given; a PyArrow table for a file.

    Examples
    --------
    >>> import shoal
    >>> release = shoal.anonymize(shoal.datasets.hospital(), qi=["age", "gender", "education"],
    ...                           identifier="name", sensitive="disease", k=2, rest="drop")
    >>> shoal.expand(release, "bounds").column_names
    ['age_low', 'age_high', 'gender', 'education_low', 'education_high', 'disease']
    """
    if as_ not in FORMS:
        raise PolicyError(f"as: expected one of {', '.join(FORMS)}; got {as_!r}")
    if samples < 1:
        raise PolicyError(f"samples: expected at least 1; got {samples}")
    opened = open_release(release, manifest, policy, sensitive_table, settings, asked_by="expand")
    released = opened.released
    names = _attributes(released.about)
    columns = [
        covered(released, name) if _is_generalised(released.about, name) else released.table[name]
        for name in names
    ]
    if released.apart is not None:
        place = names.index(GROUP)
        names[place], columns[place] = released.apart.name, dealt(released.apart)
    if as_ != "samples":
        form = FORMS[as_]
        made = [pair for name, column in zip(names, columns, strict=True)
                for pair in _formed(name, column, form)]  # fmt: skip
        return from_arrow(_table(made), opened.kind)
    rng = np.random.default_rng(secrets.randbits(128) if seed is None else seed)
    drawings = [_drawing(names, columns, number, rng) for number in range(1, samples + 1)]
    return from_arrow(pa.concat_tables(drawings), opened.kind)


def _attributes(about: About) -> list[str]:
    """The columns in their order; an attribute that is two columns once, where the first is."""
    paired = {end: name for name in about.names() if (pair := about.pair(name)) for end in pair}
    return list(dict.fromkeys(paired.get(name, name) for name in about.columns))


def _is_generalised(about: About, name: str) -> bool:
    told = about.generalised(name)
    return told if told is not None else True


def _formed(name: str, column: Any, form: Callable[[Column], Named]) -> Named:
    if isinstance(column, Covered | Continuous):
        yield from form(column)
    else:
        yield name, column


def _table(columns: list[tuple[str, Any]]) -> pa.Table:
    names = [name for name, _ in columns]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise PolicyError(f"expand: two columns would be {twice!r}; rename one of the release's")
    return pa.table([column for _, column in columns], names=names)


def middle(column: Column) -> Named:
    """One column: the middle of numbers and dates, the likeliest category or rank."""
    if isinstance(column, Continuous):
        yield column.name, _measured((column.low + column.high) / 2, column)
    elif column.kind in {"numeric", "date"} and _is_measured(column.values):
        low, high = _ends(column)
        yield column.name, _measured((low + high) / 2, column)
    else:
        yield column.name, column.values.take(pa.array(column.likeliest()[column.codes]))


def mean(column: Column) -> Named:
    """As the middle, but of numbers and dates what a cell's values come to on average."""
    if isinstance(column, Continuous) or not _is_measured(column.values):
        yield from middle(column)
        return
    missing = len(column.values) - 1
    known = np.where(column.value == missing, 0.0, column.share)
    total = np.bincount(column.cell, known * np.nan_to_num(_as_floats(column.values))[column.value])
    weight = np.bincount(column.cell, known)
    of_cell = np.divide(total, weight, out=np.full(len(total), np.nan), where=weight > 0)
    yield column.name, _measured(of_cell, column)


def ends(column: Column) -> Named:
    """Two columns for what has an order, one for categories, which keep their likeliest value."""
    if isinstance(column, Continuous):
        for end, values in zip(ENDS, (column.low, column.high), strict=True):
            yield column.name + end, _measured(values, column)
    elif column.kind in {"numeric", "date"} and _is_measured(column.values):
        for end, values in zip(ENDS, _ends(column), strict=True):
            yield column.name + end, _measured(values, column)
    elif column.kind == "ordinal":
        first, last = _first_and_last(column)
        for end, rank in zip(ENDS, (first, last), strict=True):
            yield column.name + end, column.values.take(pa.array(rank[column.codes]))
    else:
        yield from middle(column)


def shares(column: Column) -> Named:
    """A column for each category; numbers and dates by their middle."""
    if isinstance(column, Continuous) or _is_measured(column.values):
        yield from middle(column)
        return
    if len(column.values) > MOST_SHARES:
        raise PolicyError(
            f"expand: column {column.name!r} has more than {MOST_SHARES:,} values; a column for "
            "each would be too many"
        )
    dense = np.zeros((column.cells, len(column.values)))
    np.add.at(dense, (column.cell, column.value), column.share)
    used = np.flatnonzero(dense.any(axis=0))
    for place in used.tolist():
        text = column.values[place].as_py()
        label = "(missing)" if text is None else text
        yield f"{column.name}={label}", pa.array(dense[column.codes, place])


FORMS: dict[str, Callable[[Column], Named]] = {
    "midpoint": middle,
    "mean": mean,
    "bounds": ends,
    "shares": shares,
    "samples": middle,
}
"""What a generalised cell becomes; samples are drawn instead."""


def _drawing(
    names: list[str], columns: list[Any], number: int, rng: np.random.Generator
) -> pa.Table:
    made: list[tuple[str, Any]] = []
    for name, column in zip(names, columns, strict=True):
        if isinstance(column, Continuous):
            drawn = column.draw(rng)
            made.append((name, _typed(drawn, column.kind)))
        elif isinstance(column, Covered):
            made.append((name, column.values.take(pa.array(column.draw(rng)))))
        else:
            made.append((name, column))
    rows = len(made[0][1]) if made else 0
    return _table([*made, (SAMPLE, pa.array(np.full(rows, number, dtype=np.int32)))])


def _is_measured(values: pa.Array) -> bool:
    return bool(pa.types.is_integer(values.type) or pa.types.is_date(values.type))


def _first_and_last(column: Covered) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """The lowest and the highest value that each cell covers; a missing one only if alone."""
    missing = len(column.values) - 1
    lowest = np.where(column.value == missing, np.iinfo(np.int32).max, column.value)
    highest = np.where(column.value == missing, -1, column.value)
    first = np.minimum.reduceat(lowest, column.offsets[:-1])
    last = np.maximum.reduceat(highest, column.offsets[:-1])
    alone = last < 0
    return np.where(alone, missing, first), np.where(alone, missing, last)


def _ends(column: Covered) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The ends of each cell as numbers, days since year 1 for dates; NaN where it is missing."""
    first, last = _first_and_last(column)
    numbers = _as_floats(column.values)
    return numbers[first], numbers[last]


def _as_floats(values: pa.Array) -> NDArray[np.float64]:
    """Numbers, and dates as days since year 1; NaN where they are missing."""
    is_date = pa.types.is_date(values.type)
    plain = values.cast(pa.int32()) if is_date else values
    numbers: NDArray[np.float64] = plain.cast(pa.float64()).to_numpy(zero_copy_only=False)
    return numbers - as_days(0.0) if is_date else numbers


def _measured(of_cell: NDArray[np.float64], column: Column) -> pa.Array:
    return _typed(of_cell[column.codes], column.kind)


def _typed(values: NDArray[np.float64], kind: str) -> pa.Array:
    """Whole numbers as such, if all are; days as dates."""
    known = ~np.isnan(values)
    if kind == "date":
        days = np.floor(np.where(known, as_days(values), 0)).astype(np.int32)
        return pa.array(days, pa.int32(), mask=~known).cast(pa.date32())
    small = np.abs(values[known]) < 2**53
    if bool(small.all()) and bool((values[known] == np.floor(values[known])).all()):
        whole = np.where(known, values, 0).astype(np.int64)
        return pa.array(whole, mask=~known)
    return pa.array(values, mask=~known)

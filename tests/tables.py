"""Tables for tests, already encoded: by hand, at random, and drawn by hypothesis."""

# ruff: noqa: E741  (l is the word for it)

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from hypothesis import strategies as st

import shoal
from columns import Column, columns_of, encoded_table, qi_column, sensitive_column
from shoal.encoding.encode import encode
from shoal.encoding.table import EncodedTable
from shoal.kernels.costs import ROUND, SET, SPAN, TREE
from shoal.policy import Policy

WEIGHTS = [1.0, 1.0, 2.0, 0.3]


# --- columns, from codes ---


def qi(
    codes: Sequence[int] | np.ndarray,
    size: int | None = None,
    form: int = SPAN,
    position: np.ndarray | None = None,
    climb: np.ndarray | None = None,
) -> Column:
    codes = np.asarray(codes, dtype=np.int32)
    size = int(codes.max()) + 1 if size is None else size
    place = np.arange(size) / max(1, size - 1)
    if position is None:
        position = place if form == SPAN else np.zeros(size)
    return qi_column(
        name="a",
        kind="categorical" if form == SET else "ordinal",
        codes=codes,
        labels=[str(c) for c in range(size)],
        form=form,
        position=position,
        coordinate=place,
        climb=np.zeros(0) if climb is None else climb,
    )


def numbers(values: Sequence[float]) -> Column:
    """A numeric column: codes in value order, positions relative to the range."""
    distinct, codes = np.unique(np.asarray(values, dtype=float), return_inverse=True)
    return qi(codes, position=(distinct - distinct[0]) / (distinct[-1] - distinct[0]))


def rounded(
    codes: Sequence[int] | np.ndarray, values: np.ndarray, steps: int, missing: bool = False
) -> Column:
    """Values from 0 to 1, ascending, published in so many steps; or the last is missing."""
    begin, end = np.floor(values * steps) / steps, np.ceil(values * steps) / steps
    if missing:
        begin[-1] = end[-1] = 2.0
    column = qi(codes, len(values), ROUND, begin)
    return column.changed(end=end, floor=end - begin)


def sensitive(codes: Sequence[int] | np.ndarray, size: int) -> Column:
    codes = np.asarray(codes, dtype=np.int32)
    return sensitive_column("s", "categorical", codes, [str(c) for c in range(size)], ordered=False)


def sixteenths(codes, size, form=SPAN, weight=1.0, missing=False):
    """A column whose places are multiples of 1/16: float32 then computes without rounding."""
    place = np.arange(size) * ((16 // (size - 1)) / 16) if size > 1 else np.zeros(1)
    position = place.copy()
    if missing:
        position[-1] += 2.0
    labels = [str(i) for i in range(size)]
    kind = "categorical" if form == SET else "ordinal"
    codes = np.asarray(codes, dtype=np.int32)
    return qi_column("q", kind, codes, labels, form, position, place, weight=weight)


# --- fixed tables and those of a random generator ---


def census(n, seed=0):
    """Skewed attributes in two crowds, and a sensitive column."""
    rng = np.random.default_rng(seed)
    crowd = rng.integers(0, 2, n)
    sizes = (33, 2, 17, 9, 5)
    columns = [
        sixteenths(np.minimum(rng.geometric(0.2, n) + crowd * size // 2, size) - 1, size)
        for size in sizes
    ]
    return encoded_table(n, tuple(columns), (sensitive(rng.integers(0, 9, n), 9),))


def encoded_census(n, *sensitive_columns):
    """The census of the package, with its occupations as the sensitive column by default."""
    about = list(sensitive_columns or ["occupation"])
    policy = Policy.parse(qi=["age", "gender", "country"], sensitive=about)
    return encode(shoal.datasets.census(n), policy)


def just_eligible(rng, n: int, l: int) -> np.ndarray:
    """Values of n records, hardly more than the l different ones that they must have."""
    values = l + n % l + int(rng.integers(0, 2))
    return rng.permutation(np.repeat(np.arange(values), n // l))[:n]


def random_column(rng, n, form, weight):
    size = int(rng.integers(1, 6))
    codes = rng.integers(0, size, n)
    if form == SPAN:
        position = np.sort(rng.random(size))
        position[-1] += 2.0 * rng.integers(0, 2)  # a missing value is far from all others
        return qi(codes, size, position=position).changed(weight=weight)
    if form == ROUND:
        return rounded(codes, np.sort(rng.random(size)), 4, rng.integers(0, 2)).changed(
            weight=weight
        )
    climb = rng.integers(1, 9, size - 1) / 8
    column = qi(codes, size, form, climb=climb).changed(weight=weight)
    if form == TREE and rng.integers(0, 2):  # coarsened before: a node costs by itself
        column = column.changed(floor=rng.random(size) * climb.min(initial=1.0))
    return column


def random_table(rng, n, values=0, columns=1, stars=None, weights=True):
    """Few records of any form, with duplicates, and sensitive columns of so many values."""
    attributes = tuple(
        random_column(rng, n, form, rng.choice(WEIGHTS) if weights else 1.0)
        for form in rng.integers(0, 4, rng.integers(1, 4))
    )
    about = tuple(
        sensitive(rng.integers(0, values, n), values).changed(numbers=np.arange(values) * 2.0)
        for _ in range(columns if values else 0)
    )
    table = encoded_table(n, attributes, about)
    stars = rng.integers(0, 2) if stars is None else stars
    return table.suppressing() if stars else table


# --- drawn by hypothesis ---


@st.composite
def qi_columns(draw: st.DrawFn, n: int) -> Column:
    """Any loss form; constants, few values, and domains far larger than the table."""
    size = draw(st.sampled_from([1, 2, 3, 5, 9, 5000]))
    pool = draw(st.lists(st.integers(0, size - 1), min_size=1, max_size=9))
    codes = draw(st.lists(st.sampled_from(pool), min_size=n, max_size=n))
    form = draw(st.sampled_from([SPAN, TREE, SET, ROUND]))
    rng = np.random.default_rng(draw(st.integers(0, 99)))
    if form == ROUND:
        values = np.sort(rng.integers(0, 17, size)) / 16 if size < 9 else np.linspace(0, 1, size)
        return rounded(codes, values, 8, draw(st.booleans()))
    if form == SPAN:
        position = np.sort(rng.integers(0, 9, size)) / 8 if size < 9 else np.linspace(0, 1, size)
        if draw(st.booleans()):
            position[-1] = position[0] + 2.0  # missing: at least 1 away from all others
        return qi(codes, size, position=position)
    return qi(codes, size, form, climb=rng.integers(1, 9, max(0, size - 1)) / 8)


@st.composite
def tables(draw: st.DrawFn) -> EncodedTable:
    n = draw(st.one_of(st.integers(1, 6), st.integers(1, 60)))
    columns = draw(st.lists(qi_columns(n), max_size=10))
    return encoded_table(n, tuple(columns))


@st.composite
def tables_about_health(draw: st.DrawFn) -> EncodedTable:
    table = draw(tables())
    rng = np.random.default_rng(draw(st.integers(0, 999)))
    columns = tuple(
        sensitive(rng.integers(0, size, table.n), size)
        for size in draw(st.lists(st.sampled_from([2, 4, 30]), min_size=1, max_size=2))
    )
    person = None
    if draw(st.booleans()):
        person = rng.integers(0, max(1, (2 * table.n) // 3), table.n).astype(np.int32)
    return encoded_table(table.n, columns_of(table), columns, person)

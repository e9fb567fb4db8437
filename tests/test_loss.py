"""The loss of a release adds up: parts of whole classes give exactly the numbers of the whole."""

from __future__ import annotations

from fractions import Fraction
from functools import reduce
from operator import add

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import shoal
from random_tables import microdata
from shoal.encoding.classes import class_ids
from shoal.encoding.encode import encode
from shoal.encoding.recode import recode
from shoal.encoding.table import Partition, Recoding
from shoal.metrics.loss import LossSums, attribute_ncp, exact_total, gcp, measure, sums_of


@st.composite
def recodings(draw):
    """An encoded table and groups of its records, generalised or with stars."""
    source, roles = draw(microdata())
    table = encode(source, shoal.Policy.parse(**roles))
    groups = draw(st.lists(st.integers(0, 5), min_size=table.n, max_size=table.n))
    partition = Partition.from_group_ids(np.array(groups, dtype=np.int64))
    stars = draw(st.booleans())
    return table, Recoding((partition,) * len(table.qi), stars=stars)


def released(table, recoding):
    """Class of each record by its released texts, and who carries a star in which attribute."""
    columns = recode(table, recoding)
    ids, _ = class_ids([(c.index, len(c.texts)) for c in columns], table.n)
    return ids, [column.starred() for column in columns]


def part_of(table, recoding, ids, stars, rows, suppressed):
    """What some records, which are whole classes, add to the loss."""
    groups = recoding.partitions[0].group_ids()[rows]
    partition = Partition.from_group_ids(groups)
    part = Recoding((partition,) * len(table.qi), stars=recoding.stars)
    sizes = np.unique(ids[rows], return_counts=True)[1]
    return sums_of(table.take(rows), part, sizes, [star[rows] for star in stars], suppressed)


@settings(max_examples=200, deadline=None)
@given(case=recodings(), data=st.data())
def test_any_parts_give_exactly_the_loss_of_the_whole(case, data):
    table, recoding = case
    ids, stars = released(table, recoding)
    suppressed = data.draw(st.integers(0, 3))
    whole = measure(table, recoding, np.bincount(ids), stars, suppressed)

    count = int(ids.max()) + 1
    part = np.array(data.draw(st.lists(st.integers(0, 3), min_size=count, max_size=count)))
    several = [np.flatnonzero(part[ids] == number) for number in set(part.tolist())]
    shares = [suppressed, *[0] * (len(several) - 1)]
    parts = [
        part_of(table, recoding, ids, stars, rows, out)
        for rows, out in zip(several, shares, strict=True)
    ]
    merged = reduce(add, data.draw(st.permutations(parts)))
    assert isinstance(merged, LossSums)
    assert merged.loss() == whole  # every number, to the last bit


@settings(max_examples=100, deadline=None)
@given(case=recodings())
def test_exact_sums_are_what_methods_see_but_for_rounding(case):
    table, recoding = case
    ids, stars = released(table, recoding)
    found = measure(table, recoding, np.bincount(ids), stars)
    seen = recoding.seen(table)
    for a, name in enumerate(found.ncp):
        ncp = attribute_ncp(seen, a, recoding.partitions[a])
        assert found.ncp[name] == pytest.approx(ncp, rel=1e-14, abs=1e-15)
    assert found.gcp == pytest.approx(gcp(table, recoding), rel=1e-14, abs=1e-15)


@settings(deadline=None)
@given(
    cells=st.lists(st.tuples(st.floats(0, 1), st.integers(1, 2**30)), max_size=40),
    scale=st.sampled_from([1.0, 1 / 3, 2.0**-60]),
)
def test_a_total_is_not_rounded(cells, scale):
    losses = np.array([loss * scale for loss, _ in cells])
    sizes = np.array([size for _, size in cells], dtype=np.int64)
    expected = sum((Fraction(x) * int(n) for x, n in zip(losses, sizes, strict=True)), Fraction(0))
    assert exact_total(losses, sizes) == expected


@pytest.mark.parametrize("method", ["hilbert", "mondrian", "best", "optimal"])
def test_a_released_star_costs_one_also_beside_missing_values(method):
    rows = [("Italy", "Europe", "*"), ("US", "America", "*"), ("Chad", "Africa", "*")]
    countries = ["Italy", "US", "Chad", None, None, None]
    people = pa.table({"country": countries, "x": [1] * 6})
    tree = {"tree": {up: [leaf] for leaf, up, _ in rows}}
    release = shoal.anonymize(
        people, qi=["country"], plain="x", hierarchy={"country": tree}, k=3, method=method, seed=1
    )
    cells = release.table.column("country").to_pylist()
    assert release.verification.ok
    assert cells.count("*") == 3
    assert release.loss.gcp == 0.5

"""Ranges that lend each other records: nobody is lost, and every range is feasible."""

from __future__ import annotations

import json
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

import shoal
from engine_tables import ROLES, crowded, people
from shoal.encoding.encode import encode
from shoal.engines.ranges.lending import cap_of, lent_between, loans_of
from shoal.io import batches
from shoal.methods.best.method import Best
from shoal.methods.bsgi import BSGI
from shoal.methods.hilbert import Hilbert
from shoal.models import models_of
from shoal.policy import Policy

CAPS = [Fraction(1, 2), Fraction(2, 5), Fraction(1, 3), Fraction(1, 5)]


def counts_of(data, rows: int, values: int) -> np.ndarray:
    row = st.lists(st.integers(0, 9), min_size=values, max_size=values)
    return np.array(data.draw(st.lists(row, min_size=rows, max_size=rows)), dtype=np.int64)


@settings(max_examples=300, deadline=None, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_after_the_loans_every_range_keeps_within_the_cap(data):
    counts = counts_of(data, data.draw(st.integers(1, 8)), data.draw(st.integers(3, 6)))
    most, records = int(counts.sum(axis=0).max()), int(counts.sum())
    possible = [cap for cap in CAPS if records and most <= cap * records]
    assume(possible)  # else no range of all of them keeps within it either
    cap = data.draw(st.sampled_from(possible))
    loans = loans_of(counts, cap)
    assume(loans is not None)  # not every way is tried
    after = counts.copy()
    for lender, code, borrower, records in loans:
        assert records > 0
        assert lender != borrower
        after[lender, code] -= records
        after[borrower, code] += records
    assert (after >= 0).all()
    assert (after.sum(axis=0) == counts.sum(axis=0)).all()
    for row in after.tolist():
        assert all(Fraction(n) <= cap * sum(row) for n in row)
    if all(max(row) <= cap * sum(row) for row in counts.tolist()):
        assert loans == []


@settings(max_examples=200, deadline=None, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_exactly_the_records_of_the_loans_are_placed_elsewhere(data):
    """Against plain counting: of every range and value as many go to each as was said."""
    buckets, values = data.draw(st.integers(2, 10)), data.draw(st.integers(2, 5))
    cells = counts_of(data, buckets, values)
    cut = data.draw(st.sets(st.integers(1, buckets - 1), min_size=1))
    firsts = np.array([0, *sorted(cut)])
    ranges = np.add.reduceat(cells, firsts)
    whole = ranges.sum(axis=0)
    cap = next((c for c in CAPS[::-1] if int(whole.max()) <= c * int(whole.sum())), Fraction(1, 2))
    loans = loans_of(ranges, cap)
    assume(loans)
    lent = lent_between(loans, cells, firsts)
    assume(lent is not None)
    assert lent.records == sum(loan.records for loan in loans)
    home = np.searchsorted(firsts, np.arange(buckets), side="right") - 1
    bucket = np.repeat(np.repeat(np.arange(buckets), values), cells.reshape(-1))
    code = np.repeat(np.tile(np.arange(values), buckets), cells.reshape(-1))
    order = np.random.default_rng(data.draw(st.integers(0, 99))).permutation(len(bucket))
    bucket, code = bucket[order], code[order]
    table = encode(
        pa.table({"q": bucket, "s": [f"v{c}" for c in code]}),
        Policy.parse(qi=["q"], sensitive=["s"], k=2),
    )
    cell = lent.cells_of(bucket, code)
    part = np.where((cell >= 0) & (lent.whole[cell] >= 0), lent.whole[cell], home[bucket])
    some = lent.partly(cell)
    to = lent.borrowers(table.take(some), cell[some], 7)
    part[some] = np.where(to < 0, part[some], to)
    expected: dict[tuple[int, int, int], int] = {}
    for lender, c, borrower, records in loans:
        key = (lender, c, borrower)
        expected[key] = expected.get(key, 0) + records
    found: dict[tuple[int, int, int], int] = {}
    for b, c, p in zip(bucket.tolist(), code.tolist(), part.tolist(), strict=True):
        if p != home[b]:
            key = (int(home[b]), c, p)
            found[key] = found.get(key, 0) + 1
    assert found == expected


@pytest.mark.parametrize(
    ("asked", "expected"),
    [
        ({"l": 4}, Fraction(1, 4)),
        ({"k": 9, "alpha": 0.4}, Fraction(2, 5)),
        ({"k": 3}, None),
        ({"l": 3, "l_reading": "entropy"}, None),
        ({"l": 3, "t": 0.4}, None),
    ],
)
def test_records_are_lent_where_sizes_and_a_cap_are_all_that_is_asked(asked, expected):
    policy = Policy.parse(qi=["age"], sensitive=["disease"], **asked)
    book = encode(people(50), policy).codebook
    assert cap_of(book, models_of(policy)) == expected


@pytest.fixture
def short_ranges(monkeypatch):
    for method, records in ((Hilbert, 90), (BSGI, 110), (Best, 130)):
        monkeypatch.setattr(method, "by_range", records)


def released(source, out, **asked):
    release = shoal.anonymize(source, out=out, seed=5, **{**ROLES, **asked})
    release.close()
    return out.read_bytes()


METHODS = [
    {"method": "hilbert"},
    {"method": "bsgi"},
    {"method": "best", "effort": "instant", "bound": False},
]


@pytest.mark.parametrize("asked", METHODS, ids=lambda asked: asked["method"])
def test_near_the_largest_l_ranges_lend_and_engines_agree(asked, short_ranges, tmp_path):
    table = crowded()
    flu = table.column("disease").to_pylist().count("flu")
    l = table.num_rows // flu  # noqa: E741  (the largest there is)
    asked = {**asked, "l": l}
    by_memory = released(table, tmp_path / "m.csv", engine="memory", **asked)
    record = json.loads((tmp_path / "m.csv.record.json").read_text())["method"]
    assert record["lent_records"] > 0
    assert record["ranges"] > 3
    for rows in (31, 4000):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(batches, "ROWS", rows)
            mixed = table.take(pa.array(np.random.default_rng(rows).permutation(table.num_rows)))
            assert released(mixed, tmp_path / "d.csv", engine="duckdb", **asked) == by_memory
    told = [json.loads((tmp_path / f"{name}.csv.record.json").read_text()) for name in "md"]
    assert told[0]["risk_before"] == told[1]["risk_before"]
    found = shoal.verify(tmp_path / "d.csv")
    assert found.ok


@settings(max_examples=15, deadline=None, suppress_health_check=list(HealthCheck))
@given(seed=st.integers(0, 999))
def test_lending_holds_on_tables_that_nobody_looked_at(seed, short_ranges, tmp_path_factory):
    folder = tmp_path_factory.mktemp("lent")
    table = crowded(500, seed)
    sick = table.column("disease").to_pylist()
    most = max(map(sick.count, set(sick)))
    asked = {"method": "hilbert", "l": table.num_rows // most}
    assert released(table, folder / "m.csv", engine="memory", **asked) == released(
        table, folder / "d.csv", engine="duckdb", **asked
    )

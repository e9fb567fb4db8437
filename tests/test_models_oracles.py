"""The models against other people's code, on frames that look like releases.

pycanon is asked about k, distinct l, alpha and t. It truncates entropy l and
computes recursive (c, l) wrongly, so DuckDB answers for those two in SQL.
"""

from __future__ import annotations

import math
from fractions import Fraction

import duckdb
import numpy as np
import pandas as pd
import pytest
from pycanon import anonymity

from shoal.models import (
    AlphaK,
    DistinctL,
    EntropyL,
    FrequencyL,
    KAnonymity,
    RecursiveL,
    TCloseness,
    histograms,
)

QI = ["age", "zip"]


def released_frame(seed, rows):
    """A frame as a release looks: intervals and stars as text, index 0..n-1."""
    rng = np.random.default_rng(seed)
    ages = np.array(["[20,29]", "[30,39]", "[40,59]", "*"])
    zips = np.array(["47***", "48***", "{47906,48001}"])
    diseases = np.array(["asthma", "cancer", "diabetes", "flu", "measles"])
    skew = rng.dirichlet(np.ones(len(diseases)))
    frame = pd.DataFrame(
        {
            "age": ages[rng.integers(0, len(ages), rows)],
            "zip": zips[rng.integers(0, len(zips), rows)],
            "disease": diseases[rng.choice(len(diseases), rows, p=skew)],
            "pay": rng.choice([900, 1000, 1500, 2000, 7000, 7100], rows),
        }
    )
    return frame.astype({"age": object, "zip": object, "disease": object})


def classes_of(frame, column):
    ids = frame.groupby(QI, sort=True).ngroup().to_numpy()
    codes, values = pd.factorize(frame[column], sort=True)
    numeric = pd.api.types.is_numeric_dtype(frame[column])
    numbers = np.asarray(values, dtype=np.float64) if numeric else None
    return histograms(ids, codes, len(values), ordered=numeric, numbers=numbers)


FRAMES = [(seed, rows) for seed in range(4) for rows in (20, 60, 400)]


@pytest.fixture(params=FRAMES, ids=lambda p: f"seed{p[0]}-{p[1]}rows")
def frame(request):
    return released_frame(*request.param)


@pytest.mark.parametrize("column", ["disease", "pay"])
def test_pycanon_agrees_on_k_distinct_l_alpha_and_t(frame, column):
    classes = classes_of(frame, column)
    assert KAnonymity(2).level(classes) == anonymity.k_anonymity(frame, QI)
    assert DistinctL(2).level(classes) == anonymity.l_diversity(frame, QI, [column])
    alpha, k = anonymity.alpha_k_anonymity(frame, QI, [column])
    assert AlphaK.of(1, 1).level(classes) == pytest.approx(alpha, abs=2e-6)
    assert k == classes.sizes.min()
    t = anonymity.t_closeness(frame, QI, [column])
    assert TCloseness.of(1).level(classes) == pytest.approx(t, abs=2e-6)
    assert TCloseness.of(t + 1e-9).holds(classes).all()
    if t > 1e-6:
        assert not TCloseness.of(t - 1e-6).holds(classes).all()


COUNTS = """
    SELECT age, zip, {column} AS value, count(*) AS c
    FROM frame GROUP BY ALL
"""


@pytest.fixture(scope="module")
def con():
    with duckdb.connect() as connection:
        connection.execute("SET threads = 1")
        yield connection


def ask(con, frame, column, query):
    """The third column of a query, one row a class, in the order of `classes_of`."""
    con.register("frame", frame)
    sql = f"WITH counts AS ({COUNTS.format(column=column)}) {query} ORDER BY age, zip"
    return [row[2] for row in con.execute(sql).fetchall()]


ENTROPY = """
    , shares AS (SELECT age, zip, c / sum(c) OVER (PARTITION BY age, zip) AS p FROM counts)
    SELECT age, zip, exp(-sum(p * ln(p))) FROM shares GROUP BY age, zip
"""

FREQUENCY = "SELECT age, zip, sum(c) // max(c) FROM counts GROUP BY age, zip"

# one list of decisions a class: c = 1/2, 1, 3/2, 4, and for each of them l = 1..6
RECURSIVE = """
    , ranked AS (
        SELECT *, row_number() OVER (PARTITION BY age, zip ORDER BY c DESC) AS place FROM counts
    )
    , tails AS (
        SELECT age, zip, l, max(c) AS r1, coalesce(sum(c) FILTER (place >= l), 0) AS tail
        FROM ranked, range(1, 7) AS _(l) GROUP BY age, zip, l
    )
    SELECT age, zip, list(2 * r1 < doubled_c * tail ORDER BY doubled_c, l)
    FROM tails, unnest([1, 2, 3, 8]) AS _(doubled_c) GROUP BY age, zip
"""


@pytest.mark.parametrize("column", ["disease", "pay"])
def test_sql_agrees_on_entropy_l(con, frame, column):
    classes = classes_of(frame, column)
    reached = ask(con, frame, column, ENTROPY)
    level = EntropyL.of(1).level(classes)
    assert min(reached) - 2e-6 < level <= min(reached) + 1e-9
    for limit in (1, 1.5, 2, 2.7, 3, 4.2):
        got = EntropyL.of(limit).holds(classes).tolist()
        for decision, exp_entropy in zip(got, reached, strict=True):
            if not math.isclose(exp_entropy, limit, rel_tol=1e-9):
                assert decision == (exp_entropy > limit)


@pytest.mark.parametrize("column", ["disease", "pay"])
def test_sql_agrees_on_frequency_l(con, frame, column):
    classes = classes_of(frame, column)
    reached = [int(x) for x in ask(con, frame, column, FREQUENCY)]
    assert FrequencyL(1).level(classes) == min(reached)
    for limit in (1, 2, 3, 4):
        assert FrequencyL(limit).holds(classes).tolist() == [x >= limit for x in reached]


@pytest.mark.parametrize("column", ["disease", "pay"])
def test_sql_agrees_on_recursive_l(con, frame, column):
    classes = classes_of(frame, column)
    decisions = np.array(ask(con, frame, column, RECURSIVE)).reshape(classes.classes, 4, 6)
    for i, c in enumerate([Fraction(1, 2), Fraction(1), Fraction(3, 2), Fraction(4)]):
        for limit in range(1, 7):
            expected = decisions[:, i, limit - 1].tolist()
            assert RecursiveL(c, limit).holds(classes).tolist() == expected
        assert RecursiveL(c, 1).level(classes) == decisions[:, i, :].all(axis=0).sum()

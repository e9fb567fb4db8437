"""Categories without order stand along the curve by the company they keep."""

from __future__ import annotations

import itertools

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import assume, given, reject, settings
from hypothesis import strategies as st

import naive_cooccurrence as naive
import shoal
from columns import columns_of
from random_tables import microdata
from shared_data import DATA
from shoal.encoding import cooccurrence
from shoal.encoding.codebook import SET
from shoal.encoding.cooccurrence import Company, arranged, chain, company, profiles
from shoal.encoding.encode import encode
from shoal.encoding.sketch import Sketch
from shoal.errors import InputError
from shoal.policy import Policy

QUICK = settings(max_examples=60, deadline=None)


def text_order(size, missing):
    """Where codes stand without any arrangement."""
    present = size - missing
    scaled = np.arange(present) / max(1, present - 1)
    return np.append(scaled * 0.75, [1.0]) if missing else scaled


def towns(n=4000, seed=0, sensitive_of=lambda town, rng: 0):
    """Towns whose names say nothing; records of one region share dialect and job."""
    rng = np.random.default_rng(seed)
    town = rng.integers(0, 12, n)
    region = town % 3  # neighbours in the alphabet are in different regions
    return pa.table(
        {
            "town": [f"town{t:02d}" for t in town],
            "dialect": [f"d{(r + (rng.random() < 0.1)) % 3}" for r in region],
            "age": region * 20 + rng.integers(0, 25, n),
            "disease": [f"s{sensitive_of(t, rng)}" for t in town],
        }
    )


def encoded(table, **more):
    return encode(table, Policy.parse(qi=["town", "dialect", "age"], k=5, **more))


def encoded_drawn(source, given_settings):
    try:
        return encode(source, Policy.parse(**given_settings))
    except InputError:  # a column of dates without a single one
        reject()


@QUICK
@given(st.data())
def test_profiles_agree_with_their_slow_twin(data):
    n, size = data.draw(st.integers(1, 30)), data.draw(st.integers(1, 6))
    codes = np.array(data.draw(st.lists(st.integers(0, size - 1), min_size=n, max_size=n)))
    others = []
    for _ in range(data.draw(st.integers(1, 3))):
        bins = data.draw(st.integers(1, 5))
        cells = data.draw(st.lists(st.integers(0, bins - 1), min_size=n, max_size=n))
        others.append(Company(np.array(cells), bins, data.draw(st.booleans())))
    rows = profiles(codes, size, others)
    for value in range(size):
        expected = [0.0]
        for other in others:
            cells = other.codes.tolist()
            expected += naive.profile(value, codes.tolist(), cells, other.bins, other.ordered)
        assert rows[value] == pytest.approx(expected)


@QUICK
@given(st.data())
def test_chain_agrees_with_its_slow_twin(data):
    size = data.draw(st.integers(1, 9))
    cells = st.integers(0, 6).map(float)
    rows = np.array([[data.draw(cells) for _ in range(3)] for _ in range(size)])
    weights = np.array([data.draw(st.integers(1, 50)) for _ in range(size)])
    assert chain(rows, weights).tolist() == naive.chain(rows.tolist(), weights.tolist())


def test_rare_values_of_a_large_domain_stand_behind_the_most_similar(monkeypatch):
    monkeypatch.setattr(cooccurrence, "CHAINED", 3)
    rows = np.array([[0.0], [10.0], [20.0], [0.5], [19.0], [0.2]])
    weights = np.array([9, 8, 7, 2, 1, 1])
    assert chain(rows, weights).tolist() == [0, 3, 5, 1, 2, 4]


@QUICK
@given(microdata(most=40))
def test_trial_agrees_with_its_slow_twin(source_and_settings):
    source, given_settings = source_and_settings
    table = encoded_drawn(source, given_settings)
    trial = cooccurrence.Trial(table)
    assume(table.n >= cooccurrence.RUN and trial.axes)
    places = [c.coordinate for c in table.qi]
    bits = min(16, max(len(places[a]).bit_length() for a in trial.axes))
    axes = [(places[a].tolist(), table.codes[a].tolist()) for a in trial.axes]
    runs = naive.runs_along_curve(*zip(*axes, strict=True), bits, cooccurrence.RUN)
    expected = 0.0
    for run in runs:
        for a, column in enumerate(columns_of(table)):
            codes = column.codes[run]
            if column.form == SET:
                distinct = len(set(codes.tolist()))
                loss = distinct / column.size if distinct > 1 else 0.0
            elif column.position.any() or not len(column.climb):
                loss = min(1.0, column.position[codes.max()] - column.position[codes.min()])
            else:
                loss = max([0.0, *column.climb[codes.min() : codes.max()]])
            expected += len(run) * loss * table.qi[a].weight
    assert trial.loss(places) == pytest.approx(expected)


@QUICK
@given(microdata(most=60), st.randoms(use_true_random=False))
def test_only_places_of_value_sets_change_whatever_the_order_of_rows(source_and_settings, random):
    source, given_settings = source_and_settings
    shuffled = source.take(random.sample(range(source.num_rows), source.num_rows))
    table, again = (encoded_drawn(s, given_settings) for s in (source, shuffled))
    for column, other in zip(table.qi, again.qi, strict=True):
        assert column.labels == other.labels
        assert np.array_equal(column.coordinate, other.coordinate)
        plain = text_order(column.size, column.has_missing)
        if column.form == SET and not np.array_equal(column.coordinate, plain):
            expected = np.arange(column.size) / (column.size - 1)
            assert np.array_equal(np.sort(column.coordinate), expected)


@QUICK
@given(microdata(most=60))
def test_the_arrangement_never_loses_more_on_its_sample(source_and_settings):
    source, given_settings = source_and_settings
    table = encoded_drawn(source, given_settings)
    before = [
        text_order(c.size, c.has_missing) if c.form == SET else c.coordinate for c in table.qi
    ]
    trial = cooccurrence.Trial(table)  # as short as it is, the sample is all of it
    assert trial.loss([c.coordinate for c in table.qi]) <= trial.loss(before)


def test_towns_of_one_region_stand_together():
    table = encoded(towns())
    town = table.qi[0]
    assert list(town.labels) == sorted(town.labels)  # codes stay in text order
    along = np.argsort(town.coordinate)
    regions = [int(code) % 3 for code in along]
    assert sum(a != b for a, b in itertools.pairwise(regions)) == 2


def test_a_sensitive_column_does_not_move_anything():
    aloof = encoded(towns(), sensitive="disease")
    telling = encoded(towns(sensitive_of=lambda town, rng: town % 4), sensitive="disease")
    for one, other in zip(aloof.qi, telling.qi, strict=True):
        assert np.array_equal(one.coordinate, other.coordinate)


def test_the_sample_of_a_long_table_is_in_proportion():
    codes = np.repeat(np.arange(4), [10, 990, 2000, 1000]).astype(np.int32)
    sketch = Sketch(1)
    sketch.add(codes.reshape(1, -1))
    taken = np.bincount(sketch.sample(100)[0], minlength=4)
    assert taken.sum() == 100
    assert np.abs(taken - np.array([0.25, 24.75, 50, 25])).max() <= 1


def test_many_values_are_compared_in_bins():
    codes = np.arange(1000)
    ordered = company(codes, 1000, ordered=True)
    assert ordered.bins == cooccurrence.BINS
    assert np.all(np.diff(ordered.codes) >= 0)
    assert np.bincount(ordered.codes).max() <= 17
    frequent = company(np.append(codes, [7] * 5), 1000, ordered=False)
    assert np.count_nonzero(frequent.codes == frequent.codes[7]) == 6
    assert np.bincount(frequent.codes).max() == 1000 - (cooccurrence.BINS - 1)


def test_a_table_without_value_sets_stays_as_it_is():
    table = encode(towns(100), Policy.parse(qi=["age"], k=5))
    assert arranged(table) is table


@pytest.mark.skipif(not (DATA / "adult.csv").exists(), reason="no real data here")
def test_adult_loses_less_and_the_release_holds(monkeypatch):
    asked = {
        "qi": ["age", "education-num", "sex", "race", "marital-status", "workclass",
               "native-country"],
        "k": 10,
        "method": "hilbert",
    }  # fmt: skip
    after = shoal.anonymize(DATA / "adult.csv", **asked, rest="plain")
    assert after.verification.ok
    monkeypatch.setattr("shoal.encoding.encode.arranged", lambda table: table)
    before = shoal.anonymize(DATA / "adult.csv", **asked, rest="plain")
    assert before.verification.ok
    assert after.loss.gcp < before.loss.gcp

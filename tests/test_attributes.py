"""Attributes: the guarantee, then as good as trying all sets, then edges."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import naive_attributes as naive
import naive_models
import shoal
from columns import encoded_table
from shoal.errors import PolicyError
from shoal.kernels.attributes.lattice import subset_sums
from shoal.methods import attributes
from shoal.methods.attributes import fewest_suppressed
from shoal.models import (
    AlphaK,
    DistinctL,
    EntropyL,
    FrequencyL,
    KAnonymity,
    RecursiveL,
    TCloseness,
)
from tables import qi, sensitive

MODELS = [
    KAnonymity(3),
    FrequencyL(2),
    DistinctL(3),
    EntropyL.of(1.5),
    RecursiveL.of(2, 2),
    AlphaK.of(0.5, 3),
    TCloseness.of(0.3),
]
WEIGHTS = [1.0, 1.0, 2.0, 0.1, 0.3, 0.2, 1e-9, 123.456]


@st.composite
def tables(draw, weighted=True):
    """Codes of few values, so that something can be kept; weights that add up to ties."""
    d, n = draw(st.integers(1, 5)), draw(st.integers(1, 40))
    seed = draw(st.integers(0, 10**6))
    rng = np.random.default_rng(seed)
    columns = []
    for _ in range(d):
        size = int(rng.integers(1, 5))
        codes = rng.choice(size, n, p=rng.dirichlet(np.ones(size)))
        column = qi(np.unique(codes, return_inverse=True)[1].reshape(-1))
        weight = draw(st.sampled_from(WEIGHTS)) if weighted else 1.0
        columns.append(column.changed(weight=weight))
    return encoded_table(n, tuple(columns), (sensitive(rng.integers(0, 4, n), 4),))


def worth(table, kept):
    weights = [Fraction(repr(table.qi[a].weight)) for a in kept]
    return sum(weights, Fraction(0)), sum(table.qi[a].size for a in kept)


def passes(table, models):
    """Whether all classes satisfy all models, by the naive ones."""
    values, persons = table.sensitive_codes[0].tolist(), table.person

    def all_pass(classes):
        named = [[(i if persons is None else persons[i], values[i]) for i in c] for c in classes]
        return all(all(naive_models.holds(m, named, False)) for m in models)

    return all_pass


def assert_optimal(table, models):
    rows = table.codes.T.tolist()
    judge = passes(table, models)
    if not judge(naive.classes_on(rows, ())):
        return  # the pipeline refuses such a table
    found = fewest_suppressed(table, models)
    assert judge(naive.classes_on(rows, found.kept))  # the guarantee first
    weights, sizes = [c.weight for c in table.qi], [c.size for c in table.qi]
    assert worth(table, found.kept) == naive.best_kept(rows, weights, sizes, judge)


class TestOptimal:
    @settings(deadline=None, max_examples=200)
    @given(table=tables(), k=st.integers(1, 8))
    def test_k_anonymity(self, table, k):
        assert_optimal(table, [KAnonymity(k)])

    @settings(deadline=None, max_examples=150)
    @given(table=tables(), models=st.lists(st.sampled_from(MODELS), min_size=1, max_size=2))
    def test_other_models(self, table, models):
        assert_optimal(table, models)

    @settings(deadline=None, max_examples=100)
    @given(table=tables(weighted=False), k=st.integers(1, 6), seed=st.integers(0, 99))
    def test_persons(self, table, k, seed):
        person = np.random.default_rng(seed).integers(0, 10, table.n).astype(np.int32)
        assert_optimal(replace(table, person=person), [KAnonymity(k)])

    @settings(deadline=None, max_examples=60)
    @given(table=tables(), models=st.sampled_from([[KAnonymity(3)], [FrequencyL(2)]]))
    def test_integer_programmes_find_the_same(self, table, models):
        assume(passes(table, models)([list(range(table.n))]))
        evidence = attributes.Evidence(table, models)
        free = tuple(range(len(table.qi)))
        weights = [round(c.weight) + 1 for c in table.qi]
        first, sure = attributes._lattice(evidence, free, weights)
        second, as_sure = attributes._hitting_sets(evidence, free, weights)
        assert sure
        assert as_sure
        assert sum(weights[a] for a in first) == sum(weights[a] for a in second)

    def test_attributes_that_divide_alike_are_one(self):
        rng = np.random.default_rng(3)
        people = rng.integers(0, 3, size=(300, 3))
        columns = tuple(qi(people[:, i % 3], size=3) for i in range(27))
        found = fewest_suppressed(encoded_table(300, columns), [KAnonymity(20)])
        assert len(found.kept) == 18  # all copies of two columns
        assert len({a % 3 for a in found.kept}) == 2
        assert found.tests < 10


def small():
    """b and c tell people apart only together; a and id always do."""
    return pa.table(
        {
            "id": list(range(8)),
            "b": [0, 0, 0, 0, 1, 1, 1, 1],
            "c": [0, 1, 2, 2, 0, 1, 0, 1],
            "same": ["x"] * 8,
        }
    )


class TestPipeline:
    def test_whole_attributes_are_stars_in_every_row(self):
        release = shoal.anonymize(
            small(), qi=["id", "b", "c", "same"], k=2, method="attributes", rest="plain"
        )
        assert release.verify().ok
        found = release.record["method"]
        assert found["suppressed"] == ["id", "b"]  # c has more values than b
        assert found["kept"] == ["c", "same"]
        assert release.data.column("id").to_pylist() == ["*"] * 8
        assert release.data.column("b").to_pylist() == ["*"] * 8
        assert "*" not in release.data.column("c").to_pylist()
        assert release.loss.stars == 16

    def test_weights_say_what_is_dear(self):
        release = shoal.anonymize(
            small(),
            qi=["id", "b", "c", "same"],
            k=2,
            method="attributes",
            weight={"b": 3},
            rest="plain",
        )
        assert release.record["method"]["suppressed"] == ["id", "c"]

    def test_nothing_needs_to_be_suppressed(self):
        release = shoal.anonymize(small(), qi=["b", "same"], k=4, method="attributes", rest="plain")
        assert release.record["method"]["suppressed"] == []
        assert release.loss.stars == 0

    def test_everything_needs_to_be_suppressed(self):
        release = shoal.anonymize(small(), qi=["id"], k=8, method="attributes", rest="plain")
        assert release.data.column("id").to_pylist() == ["*"] * 8

    def test_models_that_more_records_of_a_person_can_break(self):
        table = small().append_column("who", pa.array([1, 1, 2, 2, 3, 3, 4, 4]))
        table = table.append_column("s", pa.array(list("uvuvuvuv")))
        with pytest.raises(PolicyError, match="attributes: with a person column"):
            shoal.anonymize(
                table,
                qi=["b"],
                k=2,
                l=2,
                sensitive="s",
                person="who",
                method="attributes",
                rest="plain",
            )


class TestEdges:
    def test_sums_of_all_sets(self):
        assert subset_sums([1, 10, 100]).tolist() == [0, 1, 10, 11, 100, 101, 110, 111]

    def test_weights_that_do_not_fit_are_rounded(self):
        prizes = attributes._prizes([1e300, 1e-300, 0.5e300], [5, 5, 5])
        assert prizes[0] > prizes[2] > prizes[1] > 0
        assert sum(prizes) < attributes.LARGEST_SUM
        # 0.1 + 0.2 = 0.3 in these sums
        a, b, c = attributes._prizes([0.1, 0.2, 0.3], [1, 1, 2])
        assert a + b == c

    def test_twenty_attributes(self):
        rng = np.random.default_rng(0)
        people = rng.integers(0, 4, size=(3000, 4))
        columns = tuple(
            qi(np.unique(people[:, i % 4] // (1 + i // 8), return_inverse=True)[1].reshape(-1))
            for i in range(20)
        )
        table = encoded_table(3000, columns)
        found = fewest_suppressed(table, [KAnonymity(20)])
        sizes = [len(c) for c in naive.classes_on(table.codes.T.tolist(), found.kept)]
        assert min(sizes) >= 20
        assert found.tests < 1000  # of a million sets

    def test_the_proof_in_words(self):
        table = small()
        for settings_, words in [
            ({"qi": ["id", "b", "c"]}, "no release that suppresses fewer attributes (2) satisfies"),
            ({"qi": ["id", "b", "c"], "weight": {"b": 3}}, "of less weight (2) satisfies k = 2"),
            ({"qi": ["b"]}, "nothing is suppressed"),
        ]:
            release = shoal.anonymize(table, k=2, method="attributes", **settings_, rest="plain")
            assert words in release.record["method"]["proof"]

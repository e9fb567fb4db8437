"""Incognito: the guarantee, then the same minimal nodes as testing all of them, then examples."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import naive_incognito as naive
import shoal
from guarantees import groups_of
from random_tables import microdata
from shared_data import DATA
from shoal.encoding.classes import class_ids
from shoal.encoding.encode import encode
from shoal.encoding.table import EncodedTable
from shoal.errors import InfeasibleError, PolicyError
from shoal.kernels.fulldomain.rollup import Levels, number_classes
from shoal.methods import fulldomain, get_method, incognito
from shoal.methods.base import Outcome, Run
from shoal.methods.fulldomain import Search
from shoal.methods.incognito import Incognito, IncognitoOptions
from shoal.methods.levels import levels_of
from shoal.metrics.loss import gcp
from shoal.models import EntropyL, KAnonymity, UniqueDistinctL, check_eligible, models_of

MODELS: list[dict[str, Any]] = [
    {"k": 1},
    {"k": 3},
    {"l": 2},
    {"l": 3, "l_reading": "distinct"},
    {"l": 1.5, "l_reading": "entropy"},
    {"l": 2, "l_reading": "recursive", "c": 2},
    {"k": 2, "alpha": 0.5},
    {"t": 0.3},
    {"k": 2, "e": 30},
    {"k": 3, "l": 2, "t": 0.4},
]
WITH_PERSONS = [{"k": 3}, {"l": 2, "l_reading": "distinct"}, {"k": 2, "e": 10}]
METRICS = ["gcp", "dm", "c_avg", "height"]


def encoded(data, asked, most=16):
    """A random table that satisfies the models as a whole, and the models."""
    source, roles = data.draw(microdata(most=most))
    persons = None
    if asked in WITH_PERSONS and data.draw(st.booleans()):
        n = source.num_rows
        who = data.draw(st.lists(st.integers(0, max(1, n // 2)), min_size=n, max_size=n))
        source, persons = source.append_column("who", pa.array(who)), "who"
    policy = shoal.Policy.parse(
        **roles, **asked, sensitive=["disease", "income"], person=persons,
        weight={"q0": data.draw(st.sampled_from([1.0, 2.5]))},
    )  # fmt: skip
    table, models = encode(source, policy), models_of(policy)
    try:
        check_eligible(table.codebook, models)
    except InfeasibleError:
        assume(False)
    return table, models


def chosen_levels(table: EncodedTable, outcome: Outcome) -> naive.Node:
    return tuple(outcome.facts["levels"][column.name] for column in table.qi)


def minimal_nodes(table, models) -> set[naive.Node]:
    attribute_levels = [levels_of(*each) for each in zip(table.qi, table.counts, strict=True)]
    found = Search(table, models, attribute_levels).minimal_nodes(lambda done, total: None)
    return {
        tuple(each.levels[r] for each, r in zip(attribute_levels, node, strict=True))
        for node in found
    }


class TestAgainstAllNodes:
    @settings(max_examples=120, deadline=None)
    @given(data=st.data())
    def test_the_guarantee_then_the_least_loss_of_all_nodes(self, data) -> None:
        asked = data.draw(st.sampled_from(MODELS + WITH_PERSONS))
        table, models = encoded(data, asked)
        metric = data.draw(st.sampled_from(METRICS))
        outcome = Incognito().run(table, models, IncognitoOptions(metric=metric), Run())
        (partition,) = set(outcome.recoding.partitions)
        groups = groups_of(partition)
        assert sorted(row for group in groups for row in group) == list(range(table.n))
        assert naive.satisfies(table, models, groups)

        satisfying = naive.satisfying(table, models)
        chosen = chosen_levels(table, outcome)
        assert chosen in naive.minimal(satisfying)
        assert sorted(map(sorted, groups)) == sorted(naive.classes(table, chosen))
        least = min(naive.metric(table, node, metric) for node in satisfying)
        assert naive.metric(table, chosen, metric) == pytest.approx(least)
        assert gcp(table, outcome.recoding) == pytest.approx(naive.gcp(table, chosen))

    @settings(max_examples=120, deadline=None)
    @given(data=st.data())
    def test_all_minimal_nodes_are_found(self, data) -> None:
        table, models = encoded(data, data.draw(st.sampled_from(MODELS + WITH_PERSONS)))
        expected = naive.minimal(naive.satisfying(table, models))
        assert minimal_nodes(table, models) == expected
        facts = Incognito().run(table, models, IncognitoOptions(), Run()).facts
        assert facts["minimal_nodes"] == len(expected)
        assert 1 <= facts["checked"] <= facts["nodes"] <= len(naive.lattice(table))

    @settings(max_examples=40, deadline=None)
    @given(data=st.data())
    def test_what_is_rolled_up_from_what_changes_nothing(self, data) -> None:
        table, models = encoded(data, data.draw(st.sampled_from(MODELS)), most=30)
        usual = minimal_nodes(table, models)
        for setting, value in (("MOST_SETS", 3), ("MOST_POINTS", 9), ("WORTH_KEEPING", 0.0)):
            with pytest.MonkeyPatch.context() as patch:
                patch.setattr(fulldomain, setting, value)
                assert minimal_nodes(table, models) == usual

    @settings(max_examples=60, deadline=None)
    @given(numbers=st.lists(st.integers(-(10**6), 10**6), min_size=1, max_size=60),
           missing=st.booleans())  # fmt: skip
    def test_every_level_unites_blocks_of_the_level_below(self, numbers, missing) -> None:
        cells = numbers + [None] * missing
        table = encode(pa.table({"q": cells}), shoal.Policy.parse(qi=["q"], k=1))
        column = table.qi[0]
        each = levels_of(column, table.counts[0])
        assert len(set(each.blocks[-1].tolist())) == 1
        for fine, coarse in itertools.pairwise(each.blocks):
            assert len(set(fine.tolist())) > len(set(coarse.tolist()))
            assert len(set(zip(fine.tolist(), coarse.tolist(), strict=True))) == fine[-1] + 1
            assert (np.diff(coarse) >= 0).all()
        for level, blocks in zip(each.levels, each.blocks, strict=True):
            texts = [naive.generalised(column, code, level) for code in range(column.size)]
            assert len(set(texts)) == len(set(zip(texts, blocks.tolist(), strict=True)))
            assert len(set(texts)) == blocks[-1] + 1


class TestModels:
    def test_a_tie_that_floats_cannot_tell_is_decided_in_integers(self) -> None:
        """Entropy of (4, 1, 1, 1, 1) of 8 is ln 4 to the last digit: l = 4 holds at level 0."""
        disease = ["a", "a", "a", "a", "b", "c", "d", "e"]
        source = pa.table({"x": ["u"] * 8 + ["v"] * 8, "disease": disease * 2})
        release = shoal.anonymize(
            source,
            qi=["x"],
            sensitive="disease",
            l=4,
            l_reading="entropy",
            method="incognito",
            rest="plain",
        )
        assert release.verify().ok
        assert release.loss.gcp == 0
        table = encode(source, shoal.Policy.parse(qi=["x"], sensitive=["disease"], k=1))
        assert minimal_nodes(table, [EntropyL.of(4)]) == {(0,)}

    def test_models_that_persons_can_break_are_refused(self) -> None:
        source = pa.table({"x": [1, 2], "s": ["a", "b"], "who": [1, 2]})
        arguments = {"qi": ["x"], "sensitive": "s", "person": "who", "method": "incognito"}
        with pytest.raises(PolicyError, match="expected models that larger classes keep"):
            shoal.anonymize(source, l=2, **arguments, rest="plain")
        assert shoal.anonymize(source, k=2, **arguments, rest="plain").verify().ok

    def test_a_model_about_the_whole_table_is_refused(self) -> None:
        assert str(UniqueDistinctL(2)) in (Incognito().refusal([UniqueDistinctL(2)]) or "")

    def test_a_table_that_fails_as_a_whole_has_no_release(self) -> None:
        table = encode(pa.table({"x": [1, 2]}), shoal.Policy.parse(qi=["x"], k=2))
        with pytest.raises(InfeasibleError):
            Incognito().run(table, [KAnonymity(3)], IncognitoOptions(), Run())


class TestLattice:
    def test_one_too_large_is_refused_before_the_work(self) -> None:
        names = [f"q{i}" for i in range(12)]
        source = pa.table({name: list(range(64)) for name in names})
        policy = shoal.Policy.parse(qi=names, k=2)
        with pytest.raises(PolicyError, match=r"at most .* nodes; got .*q11 7.*coarsen"):
            Incognito().run(encode(source, policy), models_of(policy), IncognitoOptions(), Run())

    def test_the_user_is_warned_of_a_large_one(self, monkeypatch) -> None:
        source = pa.table({"x": [1, 2, 3, 4]})
        monkeypatch.setattr(incognito, "MANY_NODES", 2)
        with pytest.warns(shoal.errors.ShoalWarning, match="the lattice has 3 nodes"):
            assert (
                shoal.anonymize(source, qi=["x"], k=2, method="incognito", rest="plain").verify().ok
            )

    def test_attributes_of_one_value_have_no_levels(self) -> None:
        names = [f"q{i}" for i in range(70)]  # more than an array has dimensions
        source = pa.table({**{name: [1] * 4 for name in names}, "x": [1, 2, 3, 3]})
        release = shoal.anonymize(source, qi=[*names, "x"], k=2, method="incognito", rest="plain")
        assert release.data.column("x").to_pylist() == ["3", "3", "[1,2]", "[1,2]"]
        assert release.record["method"]["nodes"] == 3
        constant = shoal.anonymize(source, qi=names, k=4, method="incognito", rest="plain")
        assert constant.loss.gcp == 0

    def test_keys_of_many_large_attributes_do_not_overflow(self) -> None:
        codes = np.random.default_rng(1).integers(0, 3, (500, 9)).astype(np.int32) * 499
        blocks = np.tile(np.arange(1000, dtype=np.int32), 9)
        starts = np.arange(9, dtype=np.int64)[:, None] * 1000
        levels = Levels(blocks, starts, np.full((9, 1), 1000, dtype=np.int64))
        ids = np.empty(500, dtype=np.int64)
        node = np.zeros(9, dtype=np.int64)
        count = number_classes(levels, codes, np.arange(500, dtype=np.int32), node, ids)
        expected, number = class_ids([(column, 1000) for column in codes.T], 500)
        assert count == number
        np.testing.assert_array_equal(ids, expected)

    def test_the_outcome_says_what_was_searched(self) -> None:
        seen: list[tuple[float, float]] = []
        run = Run(progress=lambda done, total: seen.append((done, total)))
        table = encode(
            pa.table({"x": [1, 2, 3, 4], "y": list("aabb")}),
            shoal.Policy.parse(qi=["x", "y"], k=2),
        )
        method = get_method("incognito")
        outcome = method.run(table, [KAnonymity(2)], IncognitoOptions(), run)
        assert outcome.facts["levels"] == {"x": 1, "y": 0}
        assert outcome.facts["nodes"] == 6
        assert outcome.facts["minimal_nodes"] == 1
        assert outcome.proof == (
            "No node of the lattice of 6 full-domain generalisations that satisfies k = 2 "
            "has a lower loss (GCP)."
        )
        assert seen[-1][1] == 6


PATIENTS = pa.table(
    {
        "birthdate": ["1/21/76", "4/13/86", "2/28/76", "1/21/76", "4/13/86", "2/28/76"],
        "sex": ["Male", "Female", "Male", "Male", "Female", "Female"],
        "zipcode": ["53715", "53715", "53703", "53703", "53706", "53706"],
    }
)
SETTINGS: dict[str, Any] = {
    "qi": ["birthdate", "sex", "zipcode"],
    "hierarchy": {
        "birthdate": {"tree": ["1/21/76", "2/28/76", "4/13/86"]},
        "sex": {"tree": ["Male", "Female"], "root": "Person"},
        "zipcode": {
            "tree": {"5371*": ["53715", "53710"], "5370*": ["53706", "53703"]},
            "root": "537**",
        },
    },
    "k": 2,
}


class TestExamples:
    """Six patients with the attributes of the Incognito paper's example; worked by hand."""

    def test_minimal_nodes(self) -> None:
        """Of birth dates and sexes, (2/28/76, Male) is one record: one of the two must go.

        Sexes alone have three records each, but (Male, 5371*) is one; dates alone
        have two each, but (1/21/76, 5371*) is one; post codes alone have two each.
        """
        policy = shoal.Policy.parse(**SETTINGS)
        table = encode(PATIENTS, policy)
        assert minimal_nodes(table, models_of(policy)) == {(0, 1, 2), (1, 0, 2), (1, 1, 0)}

    def test_the_release(self) -> None:
        """All three lose two attributes of three: that with the fewest levels is chosen."""
        release = shoal.anonymize(PATIENTS, **SETTINGS, method="incognito", rest="plain")
        rows = sorted(zip(*release.data.to_pydict().values(), strict=True))
        assert rows == [("*", "Person", code) for code in ("53703", "53706", "53715") for _ in "12"]
        assert release.loss.gcp == pytest.approx(2 / 3)
        about = release.record["method"]
        assert about["levels"] == {"birthdate": 1, "sex": 1, "zipcode": 0}
        assert (about["minimal_nodes"], about["nodes"]) == (3, 12)

    def test_missing_values_stay_apart_below_the_top(self) -> None:
        source = pa.table({"age": [1, 2, 3, 4, None, None], "s": list("ababab")})
        release = shoal.anonymize(
            source, qi=["age"], sensitive="s", l=2, method="incognito", rest="plain"
        )
        assert release.data.column("age").to_pylist() == [None] * 2 + ["[1,2]"] * 2 + ["[3,4]"] * 2
        release = shoal.anonymize(source, qi=["age"], k=3, method="incognito", rest="plain")
        assert release.data.column("age").to_pylist() == ["*"] * 6

    def test_coarsened_values_climb_from_where_they_are(self) -> None:
        settings = {**SETTINGS, "coarsen": {"zipcode": 1}, "k": 3}
        release = shoal.anonymize(PATIENTS, **settings, method="incognito", rest="plain")
        assert release.verify().ok
        assert release.record["method"]["levels"] == {"birthdate": 1, "sex": 0, "zipcode": 1}
        assert release.loss.gcp == pytest.approx(2 / 3)


@pytest.mark.skipif(not (DATA / "adult.csv").exists(), reason=f"no adult.csv at {DATA}")
@pytest.mark.parametrize("asked", [{"k": 5}, {"l": 3}, {"t": 0.3}])
def test_adult(asked) -> None:
    qi = ["sex", "age", "race", "marital-status", "education", "native-country", "workclass"]
    trees = {name: str(DATA / "hierarchies" / "adult" / f"{name}.csv") for name in qi}
    release = shoal.anonymize(
        DATA / "adult.csv", qi=qi, sensitive="occupation", hierarchy=trees, method="incognito",
        **asked, rest="plain",
    )  # fmt: skip
    assert release.verify().ok
    about = release.record["method"]
    assert about["nodes"] == 2 * 5 * 2 * 3 * 4 * 3 * 3
    assert about["checked"] < about["nodes"] / 10

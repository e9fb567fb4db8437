"""TP and TP+ as methods: any model, the refiner, and what they warn of."""

# ruff: noqa: E741

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import shoal
from columns import encoded_table, qi_column, sensitive_column
from conformance import released
from random_tables import microdata
from runs import outcome_of
from shoal.errors import PolicyError
from shoal.kernels.costs import SPAN
from shoal.methods import METHODS, get_method
from shoal.methods.sparseness import hardly_repeats
from shoal.models import (
    AlphaK,
    DistinctL,
    FrequencyL,
    KAnonymity,
    TCloseness,
    table_histograms,
)
from tp_tables import PHASE_THREE, PHASE_TWO, instances, records


def table_of(groups, columns=1, person=None):
    """An encoded table with one attribute whose values are the groups."""
    ids, codes = records(groups)
    places = np.arange(len(groups), dtype=np.float64)
    qi = qi_column(
        "q", "categorical", ids.astype(np.int32), [str(i) for i in range(len(groups))], SPAN,
        places, places / max(1, len(groups) - 1),
    )  # fmt: skip
    labels = [str(v) for v in range(len(groups[0]))]
    rng = np.random.default_rng(0)
    sensitive = [sensitive_column("s", "categorical", codes, labels, ordered=False)]
    sensitive += [
        sensitive_column("t", "categorical", rng.permutation(codes), labels, ordered=False)
        for _ in range(columns - 1)
    ]
    owner = None if person is None else rng.integers(0, person, len(ids)).astype(np.int32)
    return encoded_table(len(ids), (qi,), tuple(sensitive), owner)


def assert_holds(table, outcome, models):
    partition = outcome.recoding.partitions[0]
    assert sorted(partition.order.tolist()) == list(range(table.n))
    assert partition.sizes.min() > 0
    for classes in table_histograms(table, partition.group_ids()):
        for model in models:
            assert model.holds(classes).all(), str(model)


def many_groups(seed=0, s=60, m=8, most=5):
    return np.random.default_rng(seed).integers(0, most, (s, m)).tolist()


class TestModels:
    @pytest.mark.parametrize("method", ["tp", "tp+"])
    @pytest.mark.parametrize("columns", [1, 2])
    @pytest.mark.parametrize(
        "models",
        [
            [FrequencyL(3)],
            [AlphaK("2/5", 4)],
            [KAnonymity(20), FrequencyL(3)],
            [KAnonymity(21)],
            [DistinctL(6)],
            [TCloseness("0.25")],
            [FrequencyL(4), TCloseness("0.2")],
        ],
        ids=lambda models: " ".join(map(str, models)),
    )
    def test_every_model_holds(self, method, columns, models):
        table = table_of(many_groups(), columns).suppressing()
        outcome = outcome_of(method, table, models)
        assert_holds(table, outcome, models)
        assert outcome.facts["least_suppressed"] <= outcome.facts["residue_records"]
        paper = columns == 1 and models == [FrequencyL(3)]
        assert outcome.facts["proven"] == paper
        assert bool(outcome.proof) or not paper

    def test_alpha_one_over_l_has_the_proof_of_l(self):
        table = table_of(many_groups(1))
        one, two = (outcome_of("tp", table, [m]) for m in (AlphaK("1/3", 2), FrequencyL(3)))
        assert one.facts == two.facts
        assert one.proof == two.proof
        assert not outcome_of("tp", table, [AlphaK("0.4", 2)]).proof

    @pytest.mark.parametrize(
        ("groups", "l", "said"),
        [
            (PHASE_TWO, 3, "phase 2: no 3-diverse release by suppression suppresses fewer"),
            (PHASE_THREE, 4, "here at most 1.25 times the records, as that suppresses at least 16"),
        ],
    )
    def test_the_proof_says_how_far_the_best_can_be(self, groups, l, said):
        outcome = outcome_of("tp", table_of(groups), [FrequencyL(l)])
        assert said in outcome.proof
        assert "by suppression" in outcome.proof

    def test_phase_two_says_how_many_more(self):
        said = []
        for groups, l in instances(300, seed=7):
            outcome = outcome_of("tp", table_of(groups), [FrequencyL(l)])
            more = outcome.facts["residue_records"] - outcome.facts["least_suppressed"]
            if outcome.facts["phase"] == 2 and more:
                assert f"at most {more} more suppressed records" in outcome.proof
                assert more < l
                said.append(more)
        assert said

    def test_k_alone_suppresses_the_records_of_small_groups(self):
        table = table_of([[3], [4], [1], [2], [6]])
        outcome = outcome_of("tp", table, [KAnonymity(3)])
        assert_holds(table, outcome, [KAnonymity(3)])
        assert outcome.facts["residue_records"] == outcome.facts["least_suppressed"] == 3
        assert outcome.proof == "no release by suppression suppresses fewer records (3)"
        table = table_of([[3], [4], [1], [6]])  # one record is too few: the smallest joins it
        outcome = outcome_of("tp", table, [KAnonymity(3)])
        assert outcome.facts["residue_records"] == 4
        assert outcome.facts["least_suppressed"] == 3
        assert not outcome.proof

    def test_nothing_to_suppress(self):
        table = table_of([[2, 2, 2], [1, 1, 1]])
        for method in ("tp", "tp+"):
            outcome = outcome_of(method, table, [FrequencyL(3)])
            assert outcome.recoding.partitions[0].groups == 2
            assert outcome.facts["residue_records"] == 0

    def test_everything_is_suppressed(self):
        table = table_of([[1, 0, 0], [0, 1, 0], [0, 0, 1]])
        for method in ("tp", "tp+"):
            outcome = outcome_of(method, table, [FrequencyL(3)])
            assert outcome.recoding.partitions[0].groups == 1
            assert outcome.facts["least_suppressed"] == 3

    def test_persons_whose_records_are_not_eligible(self):
        """Two of four persons have the value, one of them seven times: records are 8 to 2."""
        table = table_of([[6, 1], [2, 1]])
        codes, owner = table.sensitive_codes[0], np.zeros(table.n, dtype=np.int32)
        owner[np.flatnonzero(codes == 0)[:1]] = 1
        owner[codes == 1] = [2, 3]
        table = replace(table, person=owner)
        for method in ("tp", "tp+"):
            outcome = outcome_of(method, table, [FrequencyL(2)])
            assert_holds(table, outcome, [FrequencyL(2)])
            assert not outcome.facts["proven"]

    def test_whole_table_models_are_refused(self):
        with pytest.raises(PolicyError, match="anatomy and bsgi can"):
            shoal.anonymize(
                shoal.datasets.hospital(), qi=["age"], sensitive="disease", l=2,
                l_reading="unique", method="tp", rest="plain",
            )  # fmt: skip

    @pytest.mark.filterwarnings("ignore::shoal.errors.ShoalWarning")
    @pytest.mark.parametrize("method", ["tp", "tp+"])
    @settings(max_examples=60, deadline=None)
    @given(data=st.data())
    def test_the_whole_pipeline(self, method, data):
        table, roles = data.draw(microdata())
        l = data.draw(st.integers(1, 4))
        recoding = data.draw(st.sampled_from([None, "generalise"]))
        release = released(table, method, {"l": l}, ["disease"], **roles, recoding=recoding)
        assert release.verify().ok
        facts = release.record["method"]
        assert facts["proven"]
        assert facts["phase"] < 3 or l > 2
        literal = any("*" in table.column(name).to_pylist() for name in roles["qi"])
        if recoding is None and not literal:  # a cell that is a star by itself counts as one
            suppressed = release.loss.suppressed_tuples
            assert facts["least_suppressed"] <= suppressed <= facts["residue_records"]
            assert method == "tp+" or suppressed == facts["residue_records"]
            assert suppressed <= release.loss.stars <= suppressed * len(roles["qi"])


class TestRefine:
    @pytest.mark.parametrize("refine", sorted({"hilbert", "mondrian", "topdown", "idistance"}))
    def test_never_more_stars_than_tp(self, refine):
        census = shoal.datasets.census(3_000)
        asked = {
            "qi": ["age", "gender", "education"], "sensitive": "occupation", "l": 4,
        }  # fmt: skip
        plain = shoal.anonymize(census, **asked, method="tp", rest="plain")
        refined = shoal.anonymize(
            census, **asked, method="tp+", option={"refine": refine}, rest="plain"
        )
        assert refined.loss.stars < plain.loss.stars
        assert refined.loss.suppressed_tuples <= plain.loss.suppressed_tuples
        assert refined.record["method"]["proof"] == plain.record["method"]["proof"]

    def test_groups_are_judged_against_the_whole_table(self):
        """A refiner sees only R; t-closeness is to all records."""
        rng = np.random.default_rng(5)
        groups = [[9, 9, 0, 0]] * 3 + rng.integers(0, 3, (30, 4)).tolist()
        table = table_of(groups).suppressing()
        models = [FrequencyL(2), TCloseness("0.2")]
        plain, refined = (outcome_of(method, table, models) for method in ("tp", "tp+"))
        for outcome in (plain, refined):
            assert_holds(table, outcome, models)

    @pytest.mark.parametrize("refine", ["tp", "tp+", "anatomy", "nosuch"])
    def test_what_cannot_refine_is_refused(self, refine):
        with pytest.raises(PolicyError, match=r"expected one of .*hilbert"):
            shoal.anonymize(
                shoal.datasets.hospital(), qi=["age"], sensitive="disease", l=2, method="tp+",
                option={"refine": refine}, rest="plain",
            )  # fmt: skip

    def test_refiner_that_cannot_do_the_models(self, monkeypatch):
        method = type(get_method("mondrian"))
        monkeypatch.setattr(method, "refusal", lambda self, models, **asked: "does k only")
        with pytest.raises(PolicyError, match="refine = mondrian: does k only"):
            shoal.anonymize(
                "no file is read", qi=["age"], sensitive="disease", l=2, method="tp+",
                option={"refine": "mondrian"}, rest="plain",
            )  # fmt: skip

    def test_refiner_that_cannot_do_the_residue_set(self, monkeypatch):
        def refuse(*arguments):
            raise PolicyError("too many records")

        monkeypatch.setattr(type(get_method("mondrian")), "run", refuse)
        with pytest.raises(PolicyError, match=r"residue set of [\d,]+ records: too many records"):
            outcome_of(
                "tp+", table_of(np.eye(3, dtype=int).tolist()), [FrequencyL(3)], refine="mondrian"
            )

    def test_registered(self):
        assert {"tp", "tp+"} <= set(METHODS)


class TestCautions:
    def test_distinct_quasi_identifiers_are_announced(self):
        n = 100
        table = pa.table({"zip": list(range(n)), "sex": ["m", "f"] * 50, "ill": list("abcd") * 25})
        asked = {"qi": ["zip", "sex"], "sensitive": "ill", "l": 2, "method": "tp"}
        with pytest.warns(match=r"100% of the records .* fewer than 2 .*zip has 100 values.*hilb"):
            shoal.anonymize(table, **asked, rest="plain")

    def test_five_percent_are_enough(self):
        alone = [[1, 0]] * 19 + [[0, 1]] * 75
        assert hardly_repeats(table_of([*alone, [3, 3]]), [FrequencyL(2)]) == []
        (said,) = hardly_repeats(table_of([*alone, *alone, [3, 3]]), [FrequencyL(2)])
        assert said.startswith("96% of the records")

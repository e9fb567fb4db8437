"""Mondrian: the guarantee, then the same groups as its slow twin, then the papers' figures."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import naive_mondrian as naive
from columns import encoded_table
from guarantees import assert_guaranteed, groups_of
from shoal.encoding.table import EncodedTable
from shoal.methods import get_method, mondrian
from shoal.methods.base import Run
from shoal.methods.mondrian import Mondrian, MondrianOptions, cut_table
from shoal.models import (
    EntropyL,
    FrequencyL,
    KAnonymity,
    Model,
    TCloseness,
    UniqueDistinctL,
)
from tables import numbers, qi, sensitive, tables, tables_about_health


class TestAgainstTwin:
    @given(tables(), st.integers(1, 7), st.booleans())
    @settings(max_examples=400, deadline=None)
    def test_k_anonymity(self, table: EncodedTable, k: int, relaxed: bool) -> None:
        k = min(k, table.n)
        models = [KAnonymity(k)]
        partition = cut_table(table, models, relaxed)
        assert_guaranteed(table, models, partition)
        assert groups_of(partition) == naive.mondrian(table, naive.k_and_l(table, k), relaxed)

    @given(tables_about_health(), st.integers(1, 4), st.integers(1, 4), st.booleans())
    @settings(max_examples=400, deadline=None)
    def test_l_diversity_and_persons(
        self, table: EncodedTable, k: int, ell: int, relaxed: bool
    ) -> None:
        while not naive.k_and_l(table, k, ell)(list(range(table.n))):
            k, ell = max(1, k - 1), max(1, ell - 1)  # a method is only given eligible tables
        models = [KAnonymity(k), FrequencyL(ell)]
        partition = cut_table(table, models, relaxed)
        assert_guaranteed(table, models, partition)
        assert groups_of(partition) == naive.mondrian(table, naive.k_and_l(table, k, ell), relaxed)

    @given(tables(), st.integers(1, 7))
    @settings(max_examples=100, deadline=None)
    def test_relaxed_refines_strict(self, table: EncodedTable, k: int) -> None:
        models = [KAnonymity(min(k, table.n))]
        strict = cut_table(table, models).group_ids()
        for group in groups_of(cut_table(table, models, relaxed=True)):
            assert len(set(strict[group])) == 1

    @given(tables(), st.integers(1, 4), st.booleans())
    @settings(max_examples=100, deadline=None)
    def test_tasks_and_threads_do_not_show(
        self, table: EncodedTable, k: int, relaxed: bool
    ) -> None:
        models = [KAnonymity(min(k, table.n))]
        alone = cut_table(table, models, relaxed, workers=1)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(mondrian, "SMALL", 5)
            shared = cut_table(table, models, relaxed, workers=3)
        assert groups_of(shared) == groups_of(alone)


class TestTables:
    @pytest.fixture
    def census(self) -> EncodedTable:
        rng = np.random.default_rng(7)
        skewed = [rng.geometric(0.3, 3000) for _ in range(4)]
        columns = [qi(np.minimum(c, 17)) for c in skewed] + [qi(rng.integers(0, 3000, 3000), 3000)]
        return encoded_table(3000, tuple(columns), (sensitive(rng.integers(0, 9, 3000), 9),))

    @pytest.mark.parametrize("relaxed", [False, True])
    @pytest.mark.parametrize(
        "model", [EntropyL.of(3), TCloseness.of(0.2), FrequencyL(4)], ids=lambda m: m.name
    )
    def test_guarantee_of_other_models(
        self, census: EncodedTable, model: Model, relaxed: bool
    ) -> None:
        models = [KAnonymity(5), model]
        partition = cut_table(census, models, relaxed)
        assert_guaranteed(census, models, partition)
        assert partition.groups > 5

    def test_large_nodes_are_handed_to_threads(
        self, census: EncodedTable, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        alone = cut_table(census, [KAnonymity(3), FrequencyL(2)], workers=1)
        monkeypatch.setattr(mondrian, "SMALL", 100)
        shared = cut_table(census, [KAnonymity(3), FrequencyL(2)], workers=4)
        np.testing.assert_array_equal(shared.order, alone.order)
        np.testing.assert_array_equal(shared.offsets, alone.offsets)

    def test_relaxed_leaves_no_large_group_of_different_records(self, census: EncodedTable) -> None:
        partition = cut_table(census, [KAnonymity(10)], relaxed=True)
        assert_guaranteed(census, [KAnonymity(10)], partition)
        assert partition.sizes.max() < 20  # the last attribute tells nearly all records apart

    def test_forty_attributes(self) -> None:
        rng = np.random.default_rng(3)
        table = encoded_table(200, tuple(qi(rng.integers(0, 900, 200), 900) for _ in range(40)))
        partition = cut_table(table, [KAnonymity(4)])
        assert_guaranteed(table, [KAnonymity(4)], partition)
        assert groups_of(partition) == naive.mondrian(table, naive.k_and_l(table, 4))

    def test_more_values_than_one_histogram_holds(self) -> None:
        values = np.random.default_rng(5).permutation(60_000)
        table = encoded_table(60_000, (qi(values),))
        partition = cut_table(table, [KAnonymity(3)])
        assert_guaranteed(table, [KAnonymity(3)], partition)
        in_order = np.sort(values[partition.order].reshape(-1))
        np.testing.assert_array_equal(in_order, np.arange(60_000))
        for begin, end in itertools.pairwise(partition.offsets[:200]):
            assert sorted(values[partition.order[begin:end]]) == list(range(begin, end))

    @pytest.mark.parametrize("relaxed", [False, True])
    @pytest.mark.parametrize(
        "table",
        [
            encoded_table(5, ()),
            encoded_table(1, (qi([0]),)),
            encoded_table(8, (qi([2] * 8, 4), qi([0] * 8))),
            encoded_table(7, (qi(range(7)),)),
        ],
        ids=["no attribute", "one record", "duplicates", "fewer than 2k"],
    )
    def test_nothing_to_cut(self, table: EncodedTable, relaxed: bool) -> None:
        partition = cut_table(table, [KAnonymity(min(4, table.n))], relaxed)
        assert groups_of(partition) == [list(range(table.n))]

    def test_input_is_left_alone(self, census: EncodedTable) -> None:
        before = census.codes.copy()
        cut_table(census, [KAnonymity(5)])
        np.testing.assert_array_equal(census.codes, before)


class TestMethod:
    TABLE = encoded_table(4, (qi([0, 1, 2, 3]),), (sensitive([0, 1, 0, 1], 2),))

    def test_outcome(self) -> None:
        method = get_method("mondrian")
        assert isinstance(method, Mondrian)
        seen: list[tuple[float, float]] = []
        run = Run(progress=lambda done, total: seen.append((done, total)))
        outcome = method.run(self.TABLE, [KAnonymity(2)], MondrianOptions(), run)
        assert outcome.facts == {"groups": 2, "relaxed": False}
        (partition,) = outcome.recoding.partitions
        assert groups_of(partition) == [[0, 1], [2, 3]]
        assert seen[-1] == (4, 4)

    def test_a_model_about_the_whole_table_is_refused(self) -> None:
        assert str(UniqueDistinctL(2)) in (Mondrian().refusal([UniqueDistinctL(2)]) or "")


class TestPapers:
    def test_figure_1_of_paper_003(self) -> None:
        """Nine points, k = 2: x at its 4th smallest, then y. The paper names no coordinates."""
        points = [(1, 2), (2, 8), (3, 1), (4, 9), (5, 3), (6, 7), (7, 5), (8, 1), (9, 8)]
        table = encoded_table(9, tuple(numbers(axis) for axis in zip(*points, strict=True)))
        partition = cut_table(table, [KAnonymity(2)])
        named = [[points[r] for r in group] for group in groups_of(partition)]
        assert named == [
            [(1, 2), (3, 1)],
            [(2, 8), (4, 9)],
            [(5, 3), (8, 1)],
            [(6, 7), (7, 5), (9, 8)],
        ]

    # Figure 1(a) of paper 004, two records and the diseases reconstructed from its text.
    AGES = (35, 40, 45, 45, 55, 60, 60, 65, 55, 60, 65, 70)
    WEIGHTS = (50, 55, 60, 65, 65, 60, 55, 50, 75, 75, 85, 80)
    DISEASES = "gfgpgffafpag"

    @pytest.fixture
    def patients(self) -> EncodedTable:
        disease = sensitive(["afgp".index(d) for d in self.DISEASES], 4)
        return encoded_table(12, (numbers(self.AGES), numbers(self.WEIGHTS)), (disease,))

    def test_figure_1b_of_paper_004(self, patients: EncodedTable) -> None:
        """k = 4: Age into 35-55 and 60-70, six records each, and no further."""
        ages = [
            sorted(self.AGES[r] for r in group)
            for group in groups_of(cut_table(patients, [KAnonymity(4)]))
        ]
        assert ages == [[35, 40, 45, 45, 55, 55], [60, 60, 60, 65, 65, 70]]

    def test_mondrian_cannot_cut_for_3_diversity(self, patients: EncodedTable) -> None:
        """Paper 004, section 1: all tuples stay in one group."""
        assert cut_table(patients, [FrequencyL(3)]).groups == 1

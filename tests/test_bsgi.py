"""BSGI: the guarantee, then the same groups as its slow twin, then theorems and tables."""

# ruff: noqa: E741  (l is the word for it)

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from functools import partial
from itertools import pairwise
from typing import ClassVar

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

import naive_bsgi as naive
import shoal
from columns import encoded_table
from guarantees import assert_guaranteed, groups_of
from runs import outcome_of, partition_of
from shoal.encoding.encode import encode
from shoal.encoding.table import EncodedTable, Partition, Recoding
from shoal.engines.memory.canonical import canonical
from shoal.kernels.bsgi.block import (
    Block,
    group_near,
    group_planned,
    improve,
    max_l_plan,
    outermost_first,
    place,
    points_of,
)
from shoal.kernels.bsgi.exchange import CANDIDATES, GAIN
from shoal.kernels.random import random_state
from shoal.methods import bsgi, windows
from shoal.methods.bsgi import BSGIOptions, window_cuts
from shoal.methods.curve import drawn_curve
from shoal.metrics.loss import gcp
from shoal.models import (
    KE,
    AlphaK,
    DistinctL,
    EntropyL,
    FrequencyL,
    KAnonymity,
    RecursiveL,
    TCloseness,
    UniqueDistinctL,
    sizes_only,
    table_histograms,
)
from shoal.policy import Policy
from tables import encoded_census, qi, qi_columns, sensitive, tables_about_health

run_bsgi = partial(outcome_of, "bsgi")
bsgi_groups = partial(partition_of, "bsgi")
SELECTS = ["near", "largest"]
FIRSTS = ["outermost", "curve", "random"]
ASKED = [
    FrequencyL(2), DistinctL(2), EntropyL.of(1.5), RecursiveL.of(2, 2), RecursiveL.of(0.5, 2),
    AlphaK.of(0.4, 2), KAnonymity(3), TCloseness.of(0.5),
]  # fmt: skip


def block_of(table: EncodedTable) -> Block:
    points = points_of(table, np.arange(table.n))
    sizes = (table.sensitive[0].size,)
    return Block(table.costs, points, table.sensitive_codes[:1].copy(), sizes)


def groups_from(ids: np.ndarray) -> list[list[int]]:
    return [np.flatnonzero(ids == g).tolist() for g in range(ids.max() + 1)]


def sets(groups) -> set[frozenset[int]]:
    return {frozenset(g) for g in groups}


@st.composite
def eligible(draw: st.DrawFn, most: int = 24) -> tuple[EncodedTable, int]:
    """A table with one sensitive column that is eligible for l, often just so."""
    n = draw(st.integers(2, most))
    columns = draw(st.lists(qi_columns(n), min_size=1, max_size=4))
    values = draw(st.lists(st.integers(0, draw(st.integers(1, 6))), min_size=n, max_size=n))
    best = n // max(Counter(values).values())
    assume(best >= 2)
    l = draw(st.integers(max(2, best - 1), best))
    return encoded_table(n, tuple(columns), (sensitive(values, 7),)), l


class TestGuarantee:
    @given(
        eligible(60), st.sampled_from(SELECTS), st.sampled_from(FIRSTS),
        st.sampled_from(["exact", "window"]), st.integers(0, 2), st.booleans(),
    )  # fmt: skip
    @settings(max_examples=120, deadline=None)
    def test_groups_of_l_different_values(self, drawn, select, first, search, swaps, stars):
        table, l = drawn
        seen = table.suppressing() if stars else table
        models = [UniqueDistinctL(l)]
        options = {"select": select, "first": first, "search": search, "swaps": swaps}
        outcome = run_bsgi(seen, models, **options)
        partition = outcome.recoding.partitions[0]
        assert_guaranteed(table, models, partition)
        codes = table.sensitive_codes[0]
        for group in groups_of(partition):
            assert l <= len(group) == len(set(codes[group].tolist()))
        assert partition.groups == table.n // l  # as many as there can be (Theorem 1)
        assert outcome.facts["residual_records"] == table.n % l  # below l (Corollary 1)

    @given(
        tables_about_health(),
        st.sampled_from(SELECTS),
        st.sampled_from(ASKED),
        st.sampled_from([None, KAnonymity(4)]),
    )
    @settings(max_examples=100, deadline=None)
    def test_any_model_counting_records(self, table, select, model, second):
        assume(table.qi)
        table = replace(table, person=None)
        models = [m for m in (model, second) if m is not None]
        whole = np.zeros(table.n, dtype=np.int64)
        for m in models:
            judged = table_histograms(table, whole) if m.about_sensitive else [sizes_only(whole)]
            assume(all(m.holds(h).all() for h in judged))
        assert_guaranteed(table, models, bsgi_groups(table, models, select=select))

    @pytest.mark.parametrize("reading", ["frequency", "distinct", "entropy", "unique"])
    @pytest.mark.parametrize("recoding", ["generalise", "suppress"])
    def test_every_reading_of_l_through_the_pipeline(self, reading, recoding):
        table = shoal.datasets.census(700)
        release = shoal.anonymize(
            table, qi=["age", "gender", "country"], sensitive="occupation", l=4,
            l_reading=reading, recoding=recoding, method="bsgi", rest="plain",
        )  # fmt: skip
        assert release.verify().ok
        assert release.record["method"]["residual_records"] == 700 % 4

    @pytest.mark.parametrize(
        "models",
        [
            [UniqueDistinctL(3), KAnonymity(10)],
            [FrequencyL(3), KAnonymity(10)],
            [FrequencyL(3), TCloseness.of(0.3)],
            [KAnonymity(7)],
        ],
        ids=str,
    )
    def test_models_that_ask_for_more(self, models):
        table = encoded_census(1200)
        partition = bsgi_groups(table, models)
        assert_guaranteed(table, models, partition)
        assert partition.groups > 2

    def test_spread_of_a_numeric_column(self):
        table = shoal.datasets.census(400)
        release = shoal.anonymize(
            table, qi=["age", "gender"], sensitive="salary", kind={"salary": "numeric"},
            k=4, e=5, method="bsgi", rest="plain",
        )  # fmt: skip
        assert release.verify().ok
        assert isinstance(release.models[-1], KE)


class TestAgainstTwin:
    @given(eligible(), st.sampled_from(FIRSTS), st.integers(0, 9))
    @settings(max_examples=150, deadline=None)
    def test_nearest_of_any_bucket(self, drawn, first, seed):
        table, l = drawn
        block = block_of(table)
        queue = bsgi.turns(block, first, (seed, 0))
        values = table.sensitive_codes[0].tolist()
        ids, count = group_near(block, l, queue)
        assert count == table.n // l
        assert sets(groups_from(ids)) == sets(naive.near(table, values, l, queue.tolist()))

    @given(eligible(), st.sampled_from(FIRSTS), st.integers(0, 9))
    @settings(max_examples=150, deadline=None)
    def test_max_l(self, drawn, first, seed):
        table, l = drawn
        block = block_of(table)
        queue = bsgi.turns(block, first, (seed, 0))
        values = table.sensitive_codes[0].tolist()
        plan = naive.max_l(dict.fromkeys(range(7), 0) | Counter(values), l)
        assert max_l_plan(block.codes[0], 7, l).tolist() == plan
        ids, _ = group_planned(block, queue, max_l_plan(block.codes[0], 7, l))
        assert sets(groups_from(ids)) == sets(naive.planned(table, values, queue.tolist(), plan))

    @given(eligible(18), st.integers(0, 9))
    @settings(max_examples=150, deadline=None)
    def test_changing_places(self, drawn, seed):
        table, l = drawn
        block = block_of(table)
        values = table.sensitive_codes[0].tolist()
        ids, count = group_near(block, l, bsgi.turns(block, "random", (seed, 0)))
        groups = groups_from(ids)
        before = sum(naive.ncp(table, g) for g in groups)
        improve(block, ids, count, l, 1)
        after = sum(naive.ncp(table, g) for g in groups_from(ids))
        assert after <= before + 1e-9
        naive.change_places(table, values, groups, CANDIDATES, GAIN)
        assert after == pytest.approx(sum(naive.ncp(table, g) for g in groups))
        assert sets(groups_from(ids)) == sets(groups)

    @given(eligible(30))
    @settings(max_examples=150, deadline=None)
    def test_incorporating(self, drawn):
        table, l = drawn
        block = block_of(table)
        values = table.sensitive_codes[0].tolist()
        ids, count = group_near(block, l, bsgi.turns(block, "curve", (0, 0)))
        groups = groups_from(ids)
        assert place(block, ids, count) == 0
        naive.incorporate(table, values, groups)
        added = [
            sum(len(g) * naive.ncp(table, g) for g in grouping)
            for grouping in (groups, groups_from(ids))
        ]
        assert added[0] == pytest.approx(added[1])  # of equal hosts either may be taken

    def test_many_values_and_records(self):
        """More values than a word has bits, more records than a leaf has."""
        rng = np.random.default_rng(5)
        n = 250
        columns = (qi(rng.integers(0, 50, n), 50), qi(rng.integers(0, 90, n), 90, form=2))
        values = rng.integers(0, 80, n)
        table = encoded_table(n, columns, (sensitive(values, 80),))
        block = block_of(table)
        queue = outermost_first(block)
        ids, _ = group_near(block, 4, queue)
        assert sets(groups_from(ids)) == sets(naive.near(table, values.tolist(), 4, queue.tolist()))
        assert_guaranteed(table, [UniqueDistinctL(4)], bsgi_groups(table, [UniqueDistinctL(4)]))


class TestTheorems:
    @given(st.lists(st.integers(0, 9), min_size=1, max_size=9), st.integers(1, 5))
    @settings(max_examples=400, deadline=None)
    def test_corollary_1_fewer_than_l_are_left_over_each_of_another_value(self, sizes, l):
        n = sum(sizes)
        assume(n and l * max(sizes) <= n)
        plan = max_l_plan(np.repeat(np.arange(len(sizes)), sizes), len(sizes), l)
        left = np.array(sizes) - np.bincount(plan.ravel(), minlength=len(sizes))
        assert left.sum() == n % l
        assert set(left.tolist()) <= {0, 1}
        assert all(len(set(row)) == l for row in plan.tolist())

    @given(
        st.lists(st.integers(0, 9), min_size=1, max_size=9), st.integers(1, 5), st.integers(0, 99)
    )
    @settings(max_examples=200, deadline=None)
    def test_drawn_ties_are_ties(self, sizes, l, seed):
        n = sum(sizes)
        assume(n and l * max(sizes) <= n)
        left = np.array(sizes)
        records = np.repeat(np.arange(len(sizes)), sizes)
        plan = max_l_plan(records, len(sizes), l, random_state(seed))
        assert len(plan) == n // l  # as many as there can be
        for row in plan.tolist():
            assert len(set(row)) == l
            others = np.delete(left, row)
            assert left[row].min() >= max([0, *others])  # none of those left out is larger
            left[row] -= 1
        assert left.min() >= 0

    def test_equally_frequent_values_do_not_meet_in_one_order_only(self):
        plan = max_l_plan(np.repeat(np.arange(6), 40), 6, 2, random_state(1))
        pairs = Counter(tuple(sorted(row)) for row in plan.tolist())
        assert len(pairs) == 15  # by a fixed order three: 0-1, 2-3, 4-5
        assert max(pairs.values()) < 25

    @given(st.lists(st.integers(1, 5), min_size=1, max_size=5), st.integers(1, 4))
    @settings(max_examples=150, deadline=None)
    def test_theorem_1_max_l_makes_as_many_groups_as_any_strategy(self, sizes, l):
        plan = max_l_plan(np.repeat(np.arange(len(sizes)), sizes), len(sizes), l)
        assert len(plan) == naive.most_groups(tuple(sorted(sizes)), l)

    @given(st.lists(st.integers(1, 5), min_size=1, max_size=5), st.integers(1, 4))
    @settings(max_examples=150, deadline=None)
    def test_what_can_be_made_is_known_from_the_sizes_alone(self, sizes, l):
        """The rule by which nearness is free to choose buckets."""
        most = naive.most_groups(tuple(sorted(sizes)), l)
        left = dict(enumerate(sizes))
        assert [naive.can_make(left, t, l) for t in range(most + 3)] == [
            t <= most for t in range(most + 3)
        ]

    def test_values_that_a_model_needs(self):
        asked = {
            FrequencyL(4): 4, UniqueDistinctL(3): 3, DistinctL(5): 5, EntropyL.of(2.5): 3,
            AlphaK.of(0.3, 2): 4, RecursiveL.of(2, 3): 3, RecursiveL.of(1, 3): 4,
            RecursiveL.of("0.5", 3): 5, KAnonymity(9): 1, TCloseness.of(0.1): None,
            KE.of(2, 1): None,
        }  # fmt: skip
        assert {model: model.values_enough for model in asked} == asked


class TestPaper:
    """Tables 1-4. The example does not follow the paper's own Max-l: after its first group the
    largest buckets are Flu and Obesity, and it takes Flu and Cancer. So the buckets, like the
    random choices, are given."""

    CANCER, FLU, OBESITY = range(3)
    PLAN = np.array([[CANCER, OBESITY], [FLU, CANCER], [FLU, OBESITY]], dtype=np.int32)
    FIRST = (0, 2, 4)  # Alice, Carl, Ella
    ROLES: ClassVar = {
        "qi": ["gender", "postcode", "age"], "identifier": "name", "sensitive": "disease",
        "hierarchy": {"gender": "flat", "postcode": {"prefixes": {}}},
    }  # fmt: skip

    @property
    def table(self):
        return encode(shoal.datasets.disease(), Policy.parse(**self.ROLES, l=2))

    def turns(self, rows):
        """The given records first, in the numbers that `rows` has them at."""
        at = {int(row): i for i, row in enumerate(rows)}
        first = [at[row] for row in self.FIRST]
        return np.array(first + [i for i in range(7) if i not in first], dtype=np.int32)

    def test_tables_2_and_3(self):
        table = self.table
        block = block_of(table)
        ids, count = group_planned(block, self.turns(range(7)), self.PLAN)
        assert count == 3
        assert groups_from(ids) == [[0, 1], [2, 3], [4, 5]]  # t1 t2, t3 t4, t5 t6
        assert ids[6] == -1
        queue = self.turns(range(7)).tolist()
        values = table.sensitive_codes[0].tolist()
        assert naive.planned(table, values, queue, self.PLAN.tolist()) == [[0, 1], [2, 3], [4, 5]]
        groups = [[0, 1], [2, 3], [4, 5]]
        naive.incorporate(table, values, groups)
        assert groups == [[0, 1], [2, 3, 6], [4, 5]]

    def test_table_4(self, monkeypatch):
        ordered = canonical(encode(shoal.datasets.disease(), Policy.parse(**self.ROLES)), 0)
        order = ordered.order[drawn_curve(ordered.table, 0, draws=1).order]
        monkeypatch.setattr(bsgi, "_plan", lambda *_: self.PLAN)
        monkeypatch.setattr(bsgi, "turns", lambda *_: self.turns(order))
        release = shoal.anonymize(
            shoal.datasets.disease(), **self.ROLES, l=2, method="bsgi",
            option={"select": "largest", "swaps": 0}, rest="plain", seed=0,
        )  # fmt: skip
        rows = Counter(tuple(row.values()) for row in release.data.to_pylist())
        assert rows == Counter(
            [
                ("*", "10075", "50", "Cancer"),
                ("*", "10075", "50", "Obesity"),
                ("*", "1007*", "[25,40]", "Flu"),
                ("*", "1007*", "[25,40]", "Cancer"),
                ("*", "1007*", "[25,40]", "Obesity"),
                ("F", "10077", "[20,25]", "Flu"),
                ("F", "10077", "[20,25]", "Obesity"),
            ]
        )
        assert release.verify().ok

    def test_max_l_differs_from_the_example(self):
        plan = max_l_plan(self.table.sensitive_codes[0], 3, 2).tolist()
        assert plan[0] == [self.OBESITY, self.CANCER]
        assert plan[1] == [self.FLU, self.OBESITY]

    def test_choosing_freely_loses_no_more_than_the_example(self):
        def release(**option):
            source = shoal.datasets.disease()
            return shoal.anonymize(
                source, **self.ROLES, l=2, method="bsgi", option=option, rest="plain"
            )

        example = self.table
        paper = Partition.from_group_ids(np.array([0, 0, 1, 1, 2, 2, 1]))
        assert release().loss.gcp <= gcp(example, Recoding.single(paper, 3))


class TestWindows:
    def test_windows_are_eligible_and_leave_nobody_over(self):
        table = encoded_census(5000)
        block = block_of(table)
        cuts = window_cuts(block, 5, 600)
        assert len(cuts) > 5
        for begin, end in pairwise(cuts):
            codes = block.codes[0][begin:end]
            assert 5 * np.bincount(codes).max() <= len(codes)
            assert end == 5000 or (end - begin) % 5 == 0

    def test_a_sorted_table_has_one_window(self):
        values = np.repeat(np.arange(5), 400)
        table = encoded_table(2000, (qi(np.arange(2000)),), (sensitive(values, 5),))
        assert window_cuts(block_of(table), 5, 100) == [0, 2000]
        models = [UniqueDistinctL(5)]
        assert_guaranteed(table, models, bsgi_groups(table, models, search="window"))

    def test_window_is_close_to_exact_and_both_beat_max_l(self, monkeypatch):
        monkeypatch.setattr(bsgi.window_cuts, "__defaults__", (4000,))
        table = encoded_census(12_000)
        models = [UniqueDistinctL(5)]
        losses = {}
        for search, select in [("exact", "near"), ("window", "near"), ("exact", "largest")]:
            partition = bsgi_groups(table, models, search=search, select=select)
            assert_guaranteed(table, models, partition)
            losses[search, select] = gcp(table, Recoding.single(partition, 3))
        assert losses["window", "near"] < 1.3 * losses["exact", "near"]  # draws differ
        assert losses["exact", "near"] < losses["exact", "largest"]

    def test_a_long_window_changes_places_in_parts(self, monkeypatch):
        """Near the limit of eligibility there is one window: its parts are of whole groups."""
        rng = np.random.default_rng(4)
        table = encoded_census(3_000)
        l, n = 4, 2_400
        values = np.sort(np.concatenate([np.zeros(n // l), rng.integers(1, 9, n - n // l)]))
        table = table.take(np.arange(n))
        codes = values.astype(np.int32)[None]
        block = block_of(table)._replace(codes=codes, sizes=(9,))
        monkeypatch.setattr(windows, "WINDOW", 400)
        assert window_cuts(block, l, 400) == [0, n]  # sorted by value: nothing less is eligible
        found, count = bsgi._drafted(block, l, BSGIOptions(), (1, 0))
        assert count == n // l
        for member in (0, l // 2):
            parts = bsgi.exchanging(found, [0, n], l, 800, member)
            assert len(parts) == n // 400
            assert sorted(np.concatenate(parts).tolist()) == list(range(n))
            assert all(set(Counter(found[rows].tolist()).values()) == {l} for rows in parts)
            assert [len(p) for p in bsgi.exchanging(found, [0, n], l, n, member)] == (
                [n] if member else []
            )

    def test_parts_of_a_long_window_lose_no_more_than_the_window(self, monkeypatch):
        table, models = encoded_census(6_000), [FrequencyL(6)]
        monkeypatch.setattr(windows, "WINDOW", 6_000)
        options = {"search": "window"}
        whole = partition_of("bsgi", table, models, **options)
        monkeypatch.setattr(bsgi, "LONGEST", 3_000)
        monkeypatch.setattr(windows, "WINDOW", 1_500)
        monkeypatch.setattr(bsgi, "window_cuts", lambda block, l: [0, block.n])
        parts = partition_of("bsgi", table, models, **options)
        for partition in (whole, parts):
            assert_guaranteed(table, models, partition)
        losses = [gcp(table, Recoding.single(p, len(table.qi))) for p in (parts, whole)]
        assert losses[0] <= losses[1]

    def test_same_seed_same_groups(self):
        table = encoded_census(900)
        options = {"first": "random", "search": "window"}
        ids = [
            bsgi_groups(table, [FrequencyL(4)], seed, **options).group_ids().tolist()
            for seed in (1, 1, 2)
        ]
        assert ids[0] == ids[1] != ids[2]


class TestOptions:
    @pytest.mark.parametrize(
        "option", [{"search": "fast"}, {"select": "most"}, {"first": "last"}, {"swaps": -1}]
    )
    def test_out_of_range(self, option):
        with pytest.raises(ValidationError):
            BSGIOptions(**option)

    def test_small_and_uniform_tables(self):
        for n in (1, 2, 3, 17):
            table = encoded_table(n, (qi(np.zeros(n), 1),), (sensitive(np.arange(n), n),))
            for l in (1, n):
                assert_guaranteed(
                    table, [UniqueDistinctL(l)], bsgi_groups(table, [UniqueDistinctL(l)])
                )

    def test_without_quasi_identifiers(self):
        table = encoded_table(4, (), (sensitive([0, 1, 2, 3], 4),))
        assert run_bsgi(table, [FrequencyL(2)]).recoding.partitions == ()

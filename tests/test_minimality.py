"""What knowing the method tells: the guarantee of `blind` over all worlds, then other methods."""

# ruff: noqa: E741  (l is the word for it)

from __future__ import annotations

from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa
import pytest
from benchmarks import minimality
from benchmarks.attackers import (
    Beliefs,
    Hits,
    beliefs,
    by_seeds,
    exactly_blind,
    in_both,
    paired_guesses,
    refused_guesses,
    released,
    surest,
)
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

import shoal
from columns import columns_of, encoded_table
from conformance import GENERALISING
from guarantees import assert_guaranteed, groups_of, whole_holds
from runs import partition_of
from shoal.encoding.table import EncodedTable, Partition
from shoal.errors import PolicyError
from shoal.methods import get_method, methods_where
from shoal.methods.base import QI_ONLY
from shoal.models import (
    AlphaK,
    DistinctL,
    FrequencyL,
    KAnonymity,
    Model,
    RecursiveL,
    TCloseness,
)
from shoal.plan import Plan
from tables import numbers, sensitive

SLOW = settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck))


@st.composite
def few_people(draw: st.DrawFn, most: int = 7) -> EncodedTable:
    """Few enough that all worlds can be gone through."""
    n = draw(st.integers(4, most))
    varying = st.lists(st.integers(0, 5), min_size=n, max_size=n).filter(lambda c: len(set(c)) > 1)
    ages = [draw(varying) for _ in range(2)]
    values = draw(st.lists(st.integers(0, 3), min_size=n, max_size=n))
    return encoded_table(n, tuple(map(numbers, ages)), (sensitive(values, 4),))


def odds_learnt(found: Beliefs) -> Fraction:
    """The most by which a release raised the odds of a value above those of its group."""
    most = Fraction(1)
    for seen, people in found.items():
        for members, values in seen:
            for member in members:
                for value, p in people[member].items():
                    r = values.count(value)
                    if 0 < p < 1 and r < len(values):
                        most = max(most, p / (1 - p) * Fraction(len(values) - r, r))
                    assert p < 1 or r == len(values)
    return most


class TestGuarantee:
    @given(few_people(), st.sampled_from([2, 3]), st.sampled_from([1.0, 1.5, 2.0, 5.0]))
    @SLOW
    def test_nobody_is_believed_above_one_in_l(
        self,
        table: EncodedTable,
        l: int,
        odds: float,
    ) -> None:
        models = [FrequencyL(l)]
        assume(whole_holds(table, models))
        found = beliefs(table, exactly_blind(models, odds))
        assert surest(found) <= Fraction(1, l)
        assert odds_learnt(found) <= odds

    @given(few_people(6), st.data())
    @SLOW
    def test_odds_are_bounded_under_other_models(
        self, table: EncodedTable, data: st.DataObject
    ) -> None:
        models: list[Model] = data.draw(
            st.sampled_from(
                [
                    [DistinctL(2)],
                    [RecursiveL.of(2, 2)],
                    [TCloseness.of("0.4")],
                    [AlphaK.of("0.6", 2)],
                    [KAnonymity(2), FrequencyL(2)],
                ]
            )
        )
        assume(whole_holds(table, models))
        assert odds_learnt(beliefs(table, exactly_blind(models, 1.5))) <= Fraction(3, 2)

    @given(few_people(12), st.sampled_from([2, 3]), st.integers(0, 99))
    @settings(max_examples=100, deadline=None)
    def test_groups_hold_and_odds_1_looks_at_nobody(
        self,
        table: EncodedTable,
        l: int,
        seed: int,
    ) -> None:
        models = [FrequencyL(l)]
        assume(whole_holds(table, models))
        assert_guaranteed(table, models, partition_of("blind", table, models, seed))
        surely = partition_of("blind", table, models, seed, odds=1.0)
        assert_guaranteed(table, models, surely)
        for group in groups_of(surely):  # exchanging values inside a group changes nothing
            turned = table.sensitive_codes.copy()
            turned[0, group] = np.roll(turned[0, group], 1)
            other = encoded_table(table.n, columns_of(table), (sensitive(turned[0], 4),))
            assert groups_of(partition_of("blind", other, models, seed, odds=1.0)) == groups_of(
                surely
            )

    def test_seeds_agree_with_the_exact_chances(self) -> None:
        table, models = minimality.example(), [FrequencyL(2)]
        healthy_first = encoded_table(6, columns_of(table), (sensitive([0, 1, 2, 3, 4, 4], 5),))
        exact = exactly_blind(models)(healthy_first)
        counted = by_seeds("blind", models, 400)(healthy_first)
        assert len(exact) == 2  # cut with one chance in four, or one group
        assert set(exact.values()) == {Fraction(1, 4), Fraction(3, 4)}
        for seen, chance in exact.items():
            assert abs(counted[seen] - chance) < Fraction(1, 10)


class TestSixPeople:
    """Two aged 10 have HIV, four aged 20 have four other illnesses; l = 2."""

    @pytest.mark.parametrize("name", ["hilbert", "mondrian", "bsgi", "incognito"])
    def test_others_give_them_away(self, name: str) -> None:
        table, models = minimality.example(), [FrequencyL(2)]
        chances = by_seeds(name, models, 1)
        (seen,) = chances(table)
        hiv = int(table.sensitive_codes[0][0])
        assert beliefs(table, chances)[seen][0][hiv] == 1

    def test_blind_does_not(self) -> None:
        table, models = minimality.example(), [FrequencyL(2)]
        chances = exactly_blind(models)
        (seen,) = chances(table)
        hiv = int(table.sensitive_codes[0][0])
        found = beliefs(table, chances)
        assert surest(found) <= Fraction(1, 2)
        assert found[seen][0][hiv] == Fraction(8, 23)  # 1/3 without knowing the method


class TestThousandPeople:
    def test_who_is_not_paired_with_whom_tells_values(self) -> None:
        table = minimality.thousand(0)
        partition = partition_of("bsgi", table, [FrequencyL(2)])
        assert_guaranteed(table, [FrequencyL(2)], partition)
        guess, _ = paired_guesses(table, partition)
        assert Hits(int((guess == table.sensitive_codes[0]).sum()), table.n).interval[0] > 0.5

    def test_what_blind_refused_does_not(self) -> None:
        table, models = minimality.thousand(0), [FrequencyL(2)]
        partition = partition_of("blind", table, models)
        assert_guaranteed(table, models, partition)
        assert partition.groups > 20
        guess, sure = refused_guesses(table, partition, models, draws=200)
        assert Hits(int((guess == table.sensitive_codes[0]).sum()), table.n).interval[0] <= 0.5
        assert not (sure > 0.6).any()  # 0.5, and what 200 draws leave open


def test_two_releases_cross() -> None:
    first = Partition.from_group_ids(np.array([0, 0, 0, 1, 1, 1]))
    second = Partition.from_group_ids(np.array([0, 0, 1, 1, 1, 1]))
    assert in_both(first, second).tolist() == [2, 2, 1, 3, 3, 3]
    assert in_both(first, first).tolist() == [3] * 6


def _looks_for_k(name: str) -> bool:
    """Whether a method, or the one inside it by default, looks at sensitive values for k too."""
    method = get_method(name)
    return method.looked_at([KAnonymity(3)], method.options()) != QI_ONLY


class TestLookedAt:
    """What a manifest says that grouping looked at."""

    ASKED: ClassVar = {"qi": ["age"], "sensitive": "illness", "rest": "drop"}
    TABLE: ClassVar = {"age": minimality.AGES, "illness": minimality.ILLNESSES}

    @pytest.mark.parametrize(
        ("asked", "said"),
        [
            ({"k": 2, "method": "hilbert"}, QI_ONLY),
            ({"l": 2, "method": "hilbert"}, "quasi-identifiers and sensitive values"),
            ({"l": 2, "method": "anatomy"}, "sensitive values, drawn at random"),
            ({"k": 2, "method": "blind"}, QI_ONLY),
            (
                {"l": 2, "method": "blind", "option": {"odds": 1.5}},
                "quasi-identifiers; sensitive values only to test cuts, with a random margin; "
                "odds at most 1.5",
            ),
            (
                {"l": 2, "method": "blind", "max_suppressed": "20%"},
                "quasi-identifiers and sensitive values",
            ),
        ],
    )
    def test_manifest(self, asked: dict[str, Any], said: str) -> None:
        release = shoal.anonymize(pa.table(self.TABLE), **self.ASKED, **asked)
        assert release.verify().ok
        assert release.manifest["grouping"]["looked_at"] == said

    def test_who_says_to_look_even_for_k(self) -> None:
        assert methods_where(lambda method: method.always_looks) == ["best", "tds"]

    @pytest.mark.parametrize("name", [name for name in GENERALISING if not _looks_for_k(name)])
    def test_sensitive_values_do_not_show_where_none_was_looked_at(self, name: str) -> None:
        rng = np.random.default_rng(3)
        n = 9 if name == "optimal" else 40
        ages = tuple(numbers(rng.integers(0, 6, n)) for _ in range(2))
        one, other = (
            encoded_table(n, ages, (sensitive(rng.integers(0, 4, n), 4),)) for _ in range(2)
        )
        models = [KAnonymity(3)]
        assert get_method(name).looked_at(models, get_method(name).options()) == QI_ONLY
        first, second = (partition_of(name, table, models, 5) for table in (one, other))
        assert_guaranteed(one, models, first)
        assert [m for m, _ in released(one, first)] == [m for m, _ in released(other, second)]

    def test_the_plan_knows_it(self) -> None:
        plan = Plan.of(shoal.Policy.parse(**self.ASKED, l=2, method="blind"))
        assert plan.looked_at.endswith("odds at most 2")


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        ({"l": 1.5, "l_reading": "entropy"}, "no margin for"),
        ({"k": 2, "e": 5}, "no margin for"),
        ({"l": 2, "person": "who"}, "no person column"),
        ({"l": 2, "option": {"odds": 0.5}}, "greater than or equal to 1"),
    ],
)
def test_refused_before_data_is_read(asked: dict[str, Any], words: str) -> None:
    with pytest.raises(PolicyError, match=words):
        shoal.anonymize("unread.csv", qi=["age"], sensitive="s", method="blind", **asked)

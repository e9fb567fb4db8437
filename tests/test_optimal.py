"""The exact minimum: the guarantee, then the loss of its slow twin, then edges and refusals."""

# ruff: noqa: E741  (l is the word for it)

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction
from functools import partial

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

import naive_optimal as naive
import shoal
from columns import about, encoded_table, sensitive_of
from guarantees import assert_guaranteed, groups_of, whole_holds
from runs import outcome_of
from shoal.encoding.codebook import SET
from shoal.encoding.table import Partition
from shoal.errors import InfeasibleError, NotFoundError, PolicyError
from shoal.methods import get_method, optimal
from shoal.methods.base import Run
from shoal.methods.exact import Deadline, group_losses, partitioning
from shoal.methods.exact.matching import least_pairs
from shoal.methods.exact.partitioning import largest_group, least_groups
from shoal.methods.exact.subsets import least_subsets
from shoal.methods.optimal import OptimalOptions
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
)
from tables import census, just_eligible, qi, random_table, sensitive


def long() -> Deadline:
    """Ten minutes from now, not from when the tests were read."""
    return Deadline(600)


run_optimal = partial(outcome_of, "optimal")


def loss_of(table, partition):
    return float(group_losses(table, partition).sum())


def assert_optimal(table, models, partition):
    assert_guaranteed(table, models, partition)
    groups = groups_of(partition)
    assert naive.total_loss(table, groups) == pytest.approx(loss_of(table, partition), abs=1e-9)
    assert loss_of(table, partition) == pytest.approx(naive.optimum(table, models), abs=1e-9)


def partitioned(table, k, l=1):
    return least_groups(table, k, l, Partition.whole(table.n), long()).partition


class TestAgainstTwin:
    @given(st.integers(0, 10**6), st.integers(1, 8), st.integers(1, 4))
    @settings(max_examples=80, deadline=None)
    def test_k_anonymity(self, seed, n, k):
        table = random_table(np.random.default_rng(seed), n)
        models = [KAnonymity(min(k, n))]
        assert_optimal(table, models, partitioned(table, models[0].k))
        assert_optimal(table, models, least_subsets(table, models, long()).partition)

    @given(st.integers(0, 10**6), st.integers(2, 8), st.integers(1, 4), st.integers(2, 4))
    @settings(max_examples=80, deadline=None)
    def test_l_diversity_with_and_without_k(self, seed, n, k, l):
        n, rng = max(n, l), np.random.default_rng(seed)
        models = [KAnonymity(min(k, n)), FrequencyL(l)]
        table = random_table(rng, n, values=l + seed % 3)
        if not whole_holds(table, models):
            values = just_eligible(rng, n, l)
            table = about(table, sensitive(values, values.max() + 1))
        assert_optimal(table, models, partitioned(table, models[0].k, l))
        assert_optimal(table, models, least_subsets(table, models, long()).partition)

    @given(st.integers(0, 10**6), st.integers(1, 4))
    @settings(max_examples=80, deadline=None)
    def test_two_values_by_matching(self, seed, pairs):
        rng = np.random.default_rng(seed)
        table = random_table(rng, 2 * pairs, values=2)
        halves = rng.permutation(2 * pairs) % 2
        table = about(table, sensitive(halves, 2))
        assert_optimal(table, [FrequencyL(2)], least_pairs(table, long()).partition)

    @pytest.mark.parametrize(
        "model",
        [
            DistinctL(2),
            EntropyL.of(1.7),
            RecursiveL.of(2, 2),
            AlphaK.of(0.5, 3),
            AlphaK.of(0.6, 2),
            TCloseness.of(0.3),
            KE.of(2, 3),
        ],
        ids=str,
    )
    def test_other_models(self, model):
        rng = np.random.default_rng(7)
        for _ in range(12):
            n = int(rng.integers(2, 8))
            table = random_table(rng, n, values=4, columns=1 + n % 2)
            if model.name == "(k,e)":  # the twin counts codes for numbers
                numbers = tuple(replace(c, numbers=np.arange(4.0)) for c in table.sensitive)
                table = replace(table, sensitive=numbers)
            if whole_holds(table, [model]):
                found = run_optimal(table, [model]).recoding.partitions[0]
                assert_optimal(table, [model], found)

    def test_stars_are_whole_numbers(self):
        rng = np.random.default_rng(3)
        for _ in range(60):
            table = random_table(rng, 7, stars=True, weights=False)
            outcome = run_optimal(table, [KAnonymity(3)])
            groups = groups_of(outcome.recoding.partitions[0])
            fewest = round(naive.optimum(table, [KAnonymity(3)]))
            assert naive.stars(table, groups) == fewest
            assert outcome.proof.endswith(f"has fewer than {fewest} stars")


class TestLargerTables:
    """Beyond the twin, the solvers check each other."""

    @pytest.mark.parametrize(("k", "l"), [(2, 1), (3, 1), (4, 1), (1, 2), (1, 3), (3, 2)])
    @pytest.mark.parametrize("stars", [True, False])
    def test_two_solvers_agree(self, k, l, stars):
        for seed in range(3):
            rng = np.random.default_rng(seed)
            table = random_table(rng, 13, values=5, stars=stars)
            models = [KAnonymity(k), FrequencyL(l)]
            if not whole_holds(table, models):
                continue
            found = partitioned(table, k, l)
            assert_guaranteed(table, models, found)
            expected = loss_of(table, least_subsets(table, models, long()).partition)
            assert loss_of(table, found) == pytest.approx(expected, abs=1e-9)

    @pytest.mark.parametrize("stars", [True, False])
    def test_matching_agrees_with_partitioning(self, stars):
        rng = np.random.default_rng(5)
        table = random_table(rng, 40, stars=stars)
        table = about(table, sensitive(rng.permutation(40) % 2, 2))
        matched = least_pairs(table, long()).partition
        assert_guaranteed(table, [FrequencyL(2)], matched)
        assert loss_of(table, matched) == pytest.approx(loss_of(table, partitioned(table, 1, 2)))

    def test_hilbert_never_loses_less(self):
        table = census(40)
        for models in ([KAnonymity(3)], [FrequencyL(2)], [KAnonymity(2), FrequencyL(3)]):
            least = run_optimal(table, models).recoding.partitions[0]
            hilbert = get_method("hilbert")
            other = hilbert.run(table, models, hilbert.options(), Run()).recoding.partitions[0]
            assert_guaranteed(table, models, least)
            assert loss_of(table, least) <= loss_of(table, other) + 1e-9

    def test_a_group_of_every_larger_size_splits(self):
        """The bound on group sizes, on every histogram of up to five values."""
        for k, l in [(1, 2), (1, 3), (3, 2), (4, 3), (5, 2), (2, 4)]:
            size = largest_group(k, l) + 1
            for n in (size, size + 1, size + l):
                for counts in histograms_of(n, n // l, 5):
                    assert splits(counts, k, l), (k, l, counts)

    def test_the_bound_is_attained(self):
        assert largest_group(3, 1) == 5
        assert largest_group(3, 2) == 7  # (3, 3) is one group of six: halves of three fail
        assert not splits((3, 3), 3, 2)


def histograms_of(n, most, values):
    """Descending counts of at most so many values, none above `most`, that sum to n."""
    if n == 0:
        yield ()
    elif values:
        for first in range(min(n, most), 0, -1):
            for rest in histograms_of(n - first, first, values - 1):
                yield (first, *rest)


def splits(counts, k, l):
    """Whether records with these value counts split into two groups that satisfy k and l."""

    def holds(part):
        return sum(part) >= k and l * max(part) <= sum(part)

    parts = np.ndindex(*(c + 1 for c in counts))
    return any(
        holds(part) and holds(tuple(c - p for c, p in zip(counts, part, strict=True)))
        for part in parts
        if any(part)
    )


class TestPersons:
    def test_against_the_twin(self):
        rng = np.random.default_rng(11)
        refused = infeasible = 0
        for _ in range(80):
            n = int(rng.integers(2, 8))
            person = rng.integers(0, max(2, n // 2 + 1), n).astype(np.int32)
            table = replace(random_table(rng, n, values=3, stars=True), person=person)
            models = [[KAnonymity(2)], [FrequencyL(2)], [TCloseness.of(0.4)]][rng.integers(0, 3)]
            try:
                outcome = run_optimal(table, models)
            except InfeasibleError:
                infeasible += 1
                assert naive.optimum(table, models) == math.inf
            except NotFoundError as error:
                refused += 1
                assert "published under the same values" in str(error)
            else:
                assert_optimal(table, models, outcome.recoding.partitions[0])
        assert refused < 20
        assert infeasible > 0

    def test_groups_under_one_text_that_fail_as_one_are_refused(self):
        # Each pair is 2-diverse; together two persons have the same value of three in all.
        column = qi([0, 0, 0, 0], 1).changed(suppressed=True)
        person = np.array([0, 1, 0, 2], dtype=np.int32)
        table = encoded_table(4, (column,), (sensitive([0, 1, 1, 0], 2),), person)
        with pytest.raises(NotFoundError, match="persons are in several"):
            run_optimal(table, [FrequencyL(2)])


class TestPapers:
    def test_xray_table_of_001(self):
        table = pa.table(
            {
                "first": ["Harry", "John", "Beatrice", "John"],
                "last": ["Stone", "Reyser", "Stone", "Ramos"],
                "age": [34, 36, 47, 22],
                "race": ["Afr-Am", "Cauc", "Afr-Am", "Hisp"],
            }
        )
        release = shoal.anonymize(
            table, qi=table.column_names, k=2, method="optimal", recoding="suppress", rest="plain"
        )
        rows = sorted(zip(*(release.data.column(c).to_pylist() for c in release.qi), strict=True))
        stone, john = ("*", "Stone", "*", "Afr-Am"), ("John", "*", "*", "*")
        assert rows == [stone, stone, john, john]
        assert release.loss.stars == 10

    def test_three_vectors_of_001(self):
        bits = ["1010", "1110", "0110"]
        table = pa.table({f"b{j}": [vector[j] for vector in bits] for j in range(4)})
        release = shoal.anonymize(
            table, qi=table.column_names, k=3, method="optimal", recoding="suppress", rest="plain"
        )
        rows = list(zip(*(release.data.column(c).to_pylist() for c in release.qi), strict=True))
        assert rows == [("*", "*", "1", "0")] * 3
        assert release.loss.stars == 6

    def test_hospital_of_000_needs_six_stars_not_the_eight_of_its_table_3(self):
        """Table 3 has the fewest suppressed tuples (TP's aim), but Adam with Calvin and
        Bob with Danny, two pairs instead of four together, save two stars."""
        release = shoal.anonymize(
            shoal.datasets.hospital(), qi=["age", "gender", "education"], identifier="name",
            sensitive="disease", l=2, method="optimal", rest="plain",
        )  # fmt: skip
        assert release.loss.stars == 6
        assert release.verify().ok
        said = release.record["method"]
        assert said["proof"] == (
            "optimal: no release of this table under these models by suppression "
            "has fewer than 6 stars"
        )
        assert said["solver"] == "subsets"

    def test_two_sensitive_values_of_000_are_matched(self):
        table = pa.table({"age": [1, 2, 8, 9], "s": ["x", "x", "y", "y"]})
        release = shoal.anonymize(
            table,
            qi=["age"],
            sensitive="s",
            l=2,
            method="optimal",
            recoding="generalise",
            rest="plain",
        )
        assert release.record["method"]["solver"] == "matching"
        assert release.loss.gcp == pytest.approx(7 / 8)


class TestEdges:
    def test_which_solver(self):
        two = census(20)
        halves = about(two, sensitive(np.arange(20) % 2, 2))
        small = census(8)
        several = about(two, *sensitive_of(two) * 2)
        for table, models, solver in [
            (halves, [FrequencyL(2)], "matching"),
            (halves, [AlphaK(Fraction(1, 2), 2)], "matching"),
            (halves, [KAnonymity(3), FrequencyL(2)], "partitioning"),
            (two, [KAnonymity(3)], "partitioning"),
            (several, [KAnonymity(3)], "partitioning"),
            (small, [DistinctL(2)], "subsets"),
            (replace(small, person=np.arange(8)), [KAnonymity(3)], "subsets"),
            (small, [KAnonymity(3)], "subsets"),
        ]:
            outcome = run_optimal(table, models)
            assert outcome.facts["solver"] == solver
            assert_guaranteed(table, models, outcome.recoding.partitions[0])

    @pytest.mark.parametrize(
        ("n", "models", "limit"),
        [
            (10_002, [FrequencyL(2)], "10,000"),
            (2000, [KAnonymity(3)], "100 distinct"),
            (2000, [KAnonymity(3), FrequencyL(2)], "60 distinct"),
            (300, [KAnonymity(10)], "40 distinct"),
            (21, [KAnonymity(2), TCloseness.of(0.5)], "20"),
        ],
    )
    def test_tables_that_are_too_large_are_refused_before_the_work(self, n, models, limit):
        table = about(census(n), sensitive(np.arange(n) % 2, 2))
        with pytest.raises(PolicyError, match="at most about") as refused:
            run_optimal(table, models)
        message = str(refused.value)
        assert "the table has" in message
        assert "tp+, cover or hilbert" in message
        assert f"about {limit} records" in message
        assert all(str(model) in message for model in models)

    def test_no_time_is_an_error_and_no_result(self):
        with pytest.raises(PolicyError, match="time_limit = 1e-06"):
            run_optimal(census(50), [KAnonymity(3)], time_limit=1e-6)
        with pytest.raises(PolicyError, match="time_limit"):
            run_optimal(census(12), [DistinctL(3)], time_limit=1e-6)

    @pytest.mark.parametrize("seconds", [0, -1, float("nan"), float("inf")])
    def test_time_limit_out_of_range(self, seconds):
        with pytest.raises(ValidationError):
            OptimalOptions(time_limit=seconds)

    def test_a_solver_that_proves_nothing_is_not_believed(self, monkeypatch):
        real = partitioning.milp

        def unproven(*args, **kwargs):
            solved = real(*args, **kwargs)
            solved.mip_dual_bound = solved.fun - 1.0
            return solved

        monkeypatch.setattr(partitioning, "milp", unproven)
        monkeypatch.setattr(partitioning, "SHARES", (1.0,))
        monkeypatch.setattr(partitioning, "_gap", lambda *_: 1.0)
        with pytest.raises(PolicyError, match="no minimum was proven"):
            run_optimal(census(40), [KAnonymity(3)])

    def test_a_partition_that_leaves_out_a_record_is_not_believed(self, monkeypatch):
        """HiGHS with presolve calls {0, 0, 1, 1} optimal here, without the fifth record."""
        table = encoded_table(5, (qi([1, 1, 0, 2, 0], 3, SET),))
        assert_optimal(table, [KAnonymity(4)], partitioned(table, 4))
        real = partitioning.milp

        def leaves_out(*args, **kwargs):
            solved = real(*args, **kwargs)
            solved.x = np.zeros_like(solved.x)
            return solved

        monkeypatch.setattr(partitioning, "milp", leaves_out)
        with pytest.raises(PolicyError, match="no minimum was proven"):
            partitioned(table, 4)

    def test_too_many_groups_to_choose_from(self, monkeypatch):
        monkeypatch.setattr(partitioning, "MOST_GROUPS", 5)
        with pytest.raises(PolicyError, match="too many groups"):
            run_optimal(census(40), [KAnonymity(3)])
        monkeypatch.undo()
        monkeypatch.setattr(partitioning, "STEPS", 5)
        with pytest.raises(PolicyError, match="too many groups"):
            run_optimal(census(40), [KAnonymity(3)])

    def test_one_record_equal_records_and_no_quasi_identifier(self):
        one = encoded_table(1, (qi([0], 1),))
        assert run_optimal(one, [KAnonymity(1)]).recoding.partitions[0].groups == 1
        many = run_optimal(census(5000), [KAnonymity(1)])
        assert (many.facts["least_loss"], many.recoding.partitions[0].groups) == (0, 5000)
        alike = encoded_table(500, (qi([2] * 500, 3), qi([0] * 500, 1)))
        outcome = run_optimal(alike, [KAnonymity(5)])
        assert outcome.facts["least_loss"] == 0
        assert_guaranteed(alike, [KAnonymity(5)], outcome.recoding.partitions[0])
        bare = encoded_table(4, ())
        assert run_optimal(bare, [KAnonymity(2)]).recoding.partitions == ()

    def test_refuses_what_looks_at_all_groups(self):
        assert get_method("optimal").refusal([UniqueDistinctL(2)])

    def test_same_input_same_groups(self):
        table = census(40).suppressing()
        first, again = (run_optimal(table, [KAnonymity(3)]).recoding.partitions[0] for _ in "12")
        np.testing.assert_array_equal(first.order, again.order)
        np.testing.assert_array_equal(first.offsets, again.offsets)

    def test_weights_are_said_in_the_proof(self):
        table = census(12)
        heavy = replace(table, qi=(replace(table.qi[0], weight=2.5), *table.qi[1:]))
        assert "weighted number" in run_optimal(heavy.suppressing(), [KAnonymity(2)]).proof
        assert "a lower loss (GCP 0." in run_optimal(heavy, [KAnonymity(2)]).proof
        assert optimal.Optimal.recodings == ("suppress", "generalise")

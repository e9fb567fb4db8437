"""iDistance: the guarantee first, then that fast and slow agree, then what moves the loss."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

import naive_idistance as naive
from columns import encoded_table, qi_column
from guarantees import assert_guaranteed, groups_of
from naive_curve import best_cut, group_cost
from runs import partition_of
from shoal.encoding.codebook import SET, SPAN
from shoal.encoding.table import Recoding
from shoal.kernels.papers.idistance import BLOCK, nearest_centres, padded
from shoal.methods import get_method
from shoal.methods.curve import curve_of, drawn_curve
from shoal.methods.papers import idistance
from shoal.methods.papers.idistance import (
    IDistanceOptions,
    centres_of,
    drawn_line,
    line_of,
    space_of,
)
from shoal.metrics.loss import gcp
from shoal.models import EntropyL, FrequencyL, KAnonymity, TCloseness, UniqueDistinctL
from tables import census, sixteenths

BITS = idistance.DISTANCE_BITS
run_idistance = partial(partition_of, "idistance")


@st.composite
def tables(draw, most=60, fewest=0):
    n = draw(st.integers(1, most))
    qi = []
    for _ in range(draw(st.integers(fewest, 6))):
        size = draw(st.sampled_from([1, 2, 3, 5, 9, 17]))
        codes = draw(st.lists(st.integers(0, size - 1), min_size=n, max_size=n))
        form, weight = draw(st.sampled_from([SPAN, SET])), draw(st.sampled_from([1.0, 0.5, 2.0]))
        qi.append(sixteenths(codes, size, form, weight, draw(st.booleans())))
    return encoded_table(n, tuple(qi))


@st.composite
def tables_with_centres(draw):
    table = draw(tables())
    sixteenths = st.integers(0, 16).map(lambda i: i / 16)
    point = st.lists(sixteenths, min_size=len(table.qi), max_size=len(table.qi))
    centres = draw(st.lists(point, min_size=1, max_size=12))
    return table, np.array(centres, dtype=np.float32).reshape(len(centres), len(table.qi))


class TestGuarantee:
    @given(tables(), st.integers(1, 7), st.sampled_from(["curve", "distance"]), st.booleans())
    @settings(deadline=None, max_examples=150)
    def test_k_anonymity(self, table, k, within, fast):
        k = min(k, table.n)
        partition = run_idistance(table, [KAnonymity(k)], within=within, fast=fast)
        assert_guaranteed(table, [KAnonymity(k)], partition)

    @pytest.mark.parametrize("within", ["curve", "distance"])
    @pytest.mark.parametrize(
        "model", [FrequencyL(4), EntropyL.of(3), TCloseness.of(0.2)], ids=lambda m: m.name
    )
    def test_other_models(self, model, within):
        table = census(3000)
        models = [KAnonymity(5), model]
        partition = run_idistance(table, models, within=within)
        assert_guaranteed(table, models, partition)
        assert partition.groups > 5

    def test_refuses_what_looks_at_all_groups(self):
        assert str(UniqueDistinctL(2)) in (
            get_method("idistance").refusal([UniqueDistinctL(2)]) or ""
        )


class TestAgainstTwin:
    @given(tables_with_centres(), st.booleans(), st.integers(0, 3))
    @settings(deadline=None, max_examples=300)
    def test_line(self, drawn, by_distance, seed):
        table, centres = drawn
        curve, space = (
            drawn_curve(table, seed, draws=1) if seed else curve_of(table),
            space_of(table),
        )
        line = line_of(table, curve, space, centres, "distance" if by_distance else "curve")
        expected = naive.line(table, curve, centres.tolist(), by_distance, BITS)
        assert line.order.tolist() == expected
        spots = line.spots()
        assert (np.diff(spots) >= 0).all()
        rank = [naive.nearest(naive.coordinates(table, r), centres.tolist())[0] for r in expected]
        assert ((spots >= 2 * np.array(rank)) & (spots <= 2 * np.array(rank) + 1)).all()

    @given(tables(most=25), st.integers(1, 5), st.sampled_from(["curve", "distance"]))
    @settings(deadline=None, max_examples=80)
    def test_cut_is_the_cheapest_of_the_line(self, table, k, within):
        k = min(k, table.n)
        options = IDistanceOptions(within=within)
        curve, centres, _ = drawn_line(table, [KAnonymity(k)], options, 0)
        order = naive.line(table, curve, centres.tolist(), within == "distance", BITS)
        least, _ = best_cut(table.n, k, lambda a, b: group_cost(table, order[a:b]))
        found = groups_of(run_idistance(table, [KAnonymity(k)], within=within))
        cost = sum(group_cost(table, group) for group in found)
        assert cost <= least + 1e-4 * max(1.0, least)  # losses are float32 in the programme

    @pytest.mark.parametrize("d", [1, 3, 4, 5, 8, 9])
    def test_nearest_of_any_coordinates(self, d):
        """Rounded coordinates: never farther than the nearest by more than the rounding."""
        rng = np.random.default_rng(d)
        n, c, size = 2 * BLOCK + 7, 40, 100
        matrix = rng.integers(0, size, (d, n)).astype(np.int32)
        grid, start = rng.random(d * size).astype(np.float32), np.arange(d) * size
        centres = np.zeros((c, padded(d)), dtype=np.float32)
        centres[:, :d] = rng.random((c, d))
        cell, away = np.empty(n, dtype=np.int32), np.empty(n, dtype=np.float32)
        nearest_centres(matrix, grid, start, np.arange(n), centres, cell, away)
        points = grid[start[:, None] + matrix].T.astype(np.float64)
        exact = np.sqrt(((points[:, None] - centres[None, :, :d]) ** 2).sum(axis=2))
        np.testing.assert_allclose(away, exact[np.arange(n), cell], rtol=1e-5)
        np.testing.assert_allclose(away, exact.min(axis=1), atol=1e-4)


class TestCentres:
    def test_as_many_as_asked_for_or_as_fit(self):
        options = IDistanceOptions(centres=50)
        for n, most in [(1, 1), (100, 7), (5000, 50)]:
            table = census(n)
            centres = centres_of(table, space_of(table), curve_of(table).axes, options, 0)
            assert 1 <= len(centres) <= most
            assert len(np.unique(centres, axis=0)) == len(centres)

    def test_few_different_records_are_the_centres_themselves(self):
        table = encoded_table(400, (sixteenths(np.arange(400) % 3, 3),))
        centres = centres_of(table, space_of(table), (0,), IDistanceOptions(), 0)
        assert centres.ravel().tolist() == [0.0, 0.5, 1.0]

    def test_are_ordered_along_the_curve(self):
        table = encoded_table(
            4096, (sixteenths(np.arange(4096) % 17, 17), sixteenths(np.arange(4096) // 17 % 17, 17))
        )
        centres = centres_of(table, space_of(table), (0, 1), IDistanceOptions(centres=64), 0)
        steps = np.linalg.norm(np.diff(centres, axis=0), axis=1)
        shuffled = np.random.default_rng(0).permutation(centres)
        assert steps.mean() < 0.5 * np.linalg.norm(np.diff(shuffled, axis=0), axis=1).mean()


class TestDeterminism:
    def test_same_seed_same_groups_on_any_number_of_threads(self, monkeypatch):
        table = census(5000)
        first = run_idistance(table, [KAnonymity(5)], seed=3)
        monkeypatch.setattr(idistance, "CHUNK", 700)
        monkeypatch.setattr(idistance, "on_threads", lambda f, *c: tuple(map(f, *c)))
        again = run_idistance(table, [KAnonymity(5)], seed=3)
        np.testing.assert_array_equal(first.order, again.order)
        np.testing.assert_array_equal(first.offsets, again.offsets)

    def test_another_seed_other_centres(self):
        table = census(5000)
        orders = [run_idistance(table, [KAnonymity(5)], seed=seed).order for seed in (1, 2)]
        assert (orders[0] != orders[1]).any()


class TestEdges:
    @pytest.mark.parametrize("within", ["curve", "distance"])
    @pytest.mark.parametrize("fast", [False, True])
    def test_small_and_uniform_tables(self, within, fast):
        options = {"within": within, "fast": fast}
        one = encoded_table(1, (sixteenths([0], 1),))
        assert groups_of(run_idistance(one, [KAnonymity(1)], **options)) == [[0]]
        exact = encoded_table(4, (sixteenths([0, 1, 2, 1], 3),))
        assert run_idistance(exact, [KAnonymity(4)], **options).groups == 1
        alike = encoded_table(1000, (sixteenths([2] * 1000, 3), sixteenths([0] * 1000, 1)))
        assert_guaranteed(alike, [KAnonymity(5)], run_idistance(alike, [KAnonymity(5)], **options))

    @pytest.mark.parametrize("within", ["curve", "distance"])
    def test_huge_domain_and_missing_values(self, within):
        n = 3000
        rng = np.random.default_rng(2)
        place = np.append(np.sort(rng.random(n - 1)) * 0.75, 1.0)
        position = np.append(place[:-1] / 0.75, 2.0)
        codes = rng.permutation(n).astype(np.int32)
        labels = [str(i) for i in range(n)]
        wide = qi_column("q", "numeric", codes, labels, SPAN, position, place, has_missing=True)
        table = encoded_table(n, (wide, sixteenths(rng.integers(0, 2, n), 2)))
        partition = run_idistance(table, [KAnonymity(7)], within=within)
        assert_guaranteed(table, [KAnonymity(7)], partition)

    def test_an_attribute_without_weight_moves_no_centre(self):
        rng = np.random.default_rng(1)
        codes = rng.integers(0, 9, 600)
        noise = sixteenths(rng.integers(0, 17, 600), 17, weight=0.0)
        table = encoded_table(600, (sixteenths(codes, 9), noise))
        centres = centres_of(table, space_of(table), (0, 1), IDistanceOptions(), 0)
        assert (centres[:, 1] == 0).all()

    @pytest.mark.parametrize(
        "option", [{"centres": 0}, {"sample": 0}, {"sample": 1.5}, {"within": "x"}]
    )
    def test_options_out_of_range(self, option):
        with pytest.raises(ValidationError):
            IDistanceOptions(**option)


def test_order_along_the_curve_loses_less_than_by_distance():
    """A distance forgets the direction: records on opposite sides become neighbours."""
    table = census(4000)
    losses = [
        gcp(table, Recoding.single(run_idistance(table, [KAnonymity(5)], within=w), len(table.qi)))
        for w in ("curve", "distance")
    ]
    assert losses[0] < losses[1]

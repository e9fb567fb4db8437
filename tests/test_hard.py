"""Hard instances: the papers' tables, and optima that say whether a matching exists."""

from __future__ import annotations

import itertools
from collections import Counter

import pytest

import naive_optimal as naive
import shoal
from shoal.datasets import hard
from shoal.errors import InputError

FIGURE_1 = [(0, 0, 3), (0, 1, 2), (1, 2, 0), (1, 1, 0), (2, 1, 2), (3, 3, 1)]
"""p1 = (1, a, delta), p2 = (1, b, gamma), ... as places in their domains."""

FIGURE_1B = """
0 0 1 1 1 1 1
2 2 0 0 2 2 2
3 3 3 3 0 3 3
4 4 4 4 4 0 4
0 5 5 5 5 5 5
6 0 6 0 0 6 6
7 7 0 7 7 7 7
7 7 7 7 7 0 7
8 8 0 0 8 8 8
8 8 8 8 8 0 8
8 0 8 8 0 8 8
0 8 8 8 8 8 8
"""


def fewest_stars(instance):
    model = {"l": instance.strength} if instance.sensitive else {"k": instance.strength}
    release = shoal.anonymize(
        instance.table, qi=list(instance.qi), sensitive=instance.sensitive or [],
        method="optimal", recoding="suppress", **model, rest="plain",
    )  # fmt: skip
    assert release.verify().ok
    return release.loss.stars


def rows_of(instance):
    return list(zip(*(c.to_pylist() for c in instance.table.columns), strict=True))


def matchable_by_trying(edges, n):
    """Perfect matchings are subsets of the edges; try them all."""
    some = itertools.chain.from_iterable(
        itertools.combinations(edges, r) for r in range(len(edges) + 1)
    )
    return any(sorted(v for e in chosen for v in e) == list(range(n)) for chosen in some)


class TestDiversity:
    def test_figure_1(self):
        instance = hard.from_3dm(FIGURE_1, 4, 8)
        assert instance.table.column_names == ["A1", "A2", "A3", "A4", "A5", "A6", "B"]
        expected = [tuple(map(int, line.split())) for line in FIGURE_1B.split("\n") if line]
        assert rows_of(instance) == expected
        assert (instance.strength, instance.threshold) == (3, 60)
        assert hard.has_perfect_matching(hard.as_edges(FIGURE_1, 4), 12)
        assert fewest_stars(instance) == 60

    @pytest.mark.parametrize(
        ("m", "values"),
        [
            (12, [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12]),  # m - 1 > 2n
            (10, [1, 2, 3, 4, 5, 6, 7, 8, 9, 9, 9, 10]),
            (9, [1, 2, 3, 4, 5, 6, 7, 8, 9, 9, 9, 9]),  # 2n >= m - 1 > n
            (6, [1, 2, 3, 4, 5, 5, 5, 5, 6, 6, 6, 6]),
            (5, [1, 2, 3, 3, 4, 4, 4, 4, 5, 5, 5, 5]),  # n >= m - 1
            (3, [1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3]),
        ],
    )
    def test_choice_of_u(self, m, values):
        assert hard.from_3dm(FIGURE_1, 4, m).table.column("B").to_pylist() == values

    @pytest.mark.parametrize("n", [1, 2, 3, 4])
    @pytest.mark.parametrize("size", [2, 3, 4, 5])
    def test_m_values_and_none_in_two_domains(self, n, size):
        points = [(0,) * size]
        for m in range(size, size * n + 1):
            values = hard.from_ldm(points, n, m).table.column("B").to_pylist()
            assert sorted(set(values)) == list(range(1, m + 1))
            domains = [set(values[i : i + n]) for i in range(0, size * n, n)]
            assert sum(map(len, domains)) == m
            assert max(Counter(values).values()) * size <= len(values)  # it is l-eligible

    @pytest.mark.parametrize("answer", [True, False])
    @pytest.mark.parametrize("n", [2, 3, 4])
    def test_the_optimum_tells_whether_a_matching_exists(self, n, answer):
        for seed, m in enumerate([3, n + 2, 2 * n, 3 * n]):
            points = hard.planted_points(n, 2, answer=answer, seed=seed)
            instance = hard.from_3dm(points, n, max(m, 3), answer)
            assert instance.threshold == 3 * n * (len(points) - 1)
            stars = fewest_stars(instance)
            assert (stars == instance.threshold) == answer
            assert stars >= instance.threshold

    @pytest.mark.parametrize("answer", [True, False])
    @pytest.mark.parametrize(("size", "n", "m"), [(4, 3, 4), (4, 2, 8), (4, 4, 9), (5, 3, 7)])
    def test_more_dimensions(self, size, n, m, answer):
        points = hard.planted_points(n, 1, dimensions=size, answer=answer, seed=1)
        instance = hard.from_ldm(points, n, m, answer)
        assert (fewest_stars(instance) == size * n * (len(points) - 1)) == answer


class TestAnonymity:
    @pytest.mark.parametrize("answer", [True, False])
    @pytest.mark.parametrize(("n", "k"), [(6, 3), (9, 3), (12, 3), (8, 4), (12, 4)])
    def test_the_optimum_tells_whether_a_matching_exists(self, n, k, answer):
        edges = hard.planted_edges(n, k, 3, answer, seed=n)
        instance = hard.from_matching(edges, n, answer)
        assert instance.threshold == n * (len(edges) - 1)
        stars = fewest_stars(instance)
        assert (stars == instance.threshold) == answer
        assert stars >= instance.threshold

    def test_rows(self):
        instance = hard.from_matching([(0, 1, 2), (1, 2, 3)], 4)
        assert rows_of(instance) == [(0, 1), (0, 0), (0, 0), (4, 0)]
        assert (instance.sensitive, instance.strength, instance.answer) == (None, 3, None)

    @pytest.mark.parametrize("answer", [True, False])
    @pytest.mark.parametrize(("n", "k"), [(6, 3), (9, 3), (8, 4)])
    def test_attributes(self, n, k, answer):
        for seed in range(3):
            edges = hard.planted_edges(n, k, 4, answer, seed)
            instance = hard.from_matching_attributes(edges, n, answer)
            fewest = naive.fewest_attributes(rows_of(instance), k)
            assert instance.threshold == len(edges) - n // k
            assert (fewest == instance.threshold) == answer
            assert fewest >= instance.threshold


class TestMatchings:
    def test_exact_cover_against_all_subsets(self):
        for seed in range(150):
            n, k, extra = [(6, 3, 3), (6, 2, 4), (8, 4, 5), (9, 3, 4)][seed % 4]
            every = hard.planted_edges(n, k, extra, seed=seed)
            for edges in (every, every[1:], every[:-2]):
                assert hard.has_perfect_matching(edges, n) == matchable_by_trying(edges, n)

    @pytest.mark.parametrize("answer", [True, False])
    def test_planted_answers(self, answer):
        for seed in range(60):
            points = hard.planted_points(3 + seed % 3, seed % 7, answer=answer, seed=seed)
            n = 3 + seed % 3
            assert len(set(points)) == len(points) == n + seed % 7
            assert hard.has_perfect_matching(hard.as_edges(points, n), 3 * n) == answer
            edges = hard.planted_edges(9, 3, seed % 7, answer, seed)
            assert len(set(edges)) == len(edges) == 3 + seed % 7
            assert hard.has_perfect_matching(edges, 9) == answer

    def test_same_seed_same_instance(self):
        assert hard.planted_points(4, 5, seed=3) == hard.planted_points(4, 5, seed=3)
        assert hard.planted_points(4, 5, seed=3) != hard.planted_points(4, 5, seed=4)
        assert hard.planted_edges(9, 3, 5, seed=3) == hard.planted_edges(9, 3, 5, seed=3)

    def test_nothing_covers_nothing(self):
        assert hard.has_perfect_matching([], 0)
        assert not hard.has_perfect_matching([], 3)


class TestBadInput:
    @pytest.mark.parametrize(
        ("make", "message"),
        [
            (lambda: hard.from_3dm([(0, 1)], 2, 3), "three coordinates"),
            (lambda: hard.from_ldm([], 2, 3), "at least one"),
            (lambda: hard.from_ldm([(0, 0, 0), (0, 0)], 2, 3), "one length"),
            (lambda: hard.from_ldm([(0,)], 2, 1), "at least 2 coordinates"),
            (lambda: hard.from_3dm([(0, 0, 2)], 2, 3), "from 0 to 1"),
            (lambda: hard.from_3dm([(0, 0, 0)] * 2, 2, 3), "each once"),
            (lambda: hard.from_3dm([(0, 0, 0)], 2, 2), "3 to 6"),
            (lambda: hard.from_3dm([(0, 0, 0)], 2, 7), "3 to 6"),
            (lambda: hard.from_matching([(0, 0, 1)], 3), "repeats one"),
            (lambda: hard.from_matching([(0, 1, 2), (2, 1, 0)], 3), "twice"),
            (lambda: hard.from_matching_attributes([(0, 1, 2)], 4), "multiple of k = 3"),
            (lambda: hard.planted_edges(7, 3, 1), "multiple of k = 3"),
            (lambda: hard.planted_edges(3, 3, 1, answer=False), "without matching"),
            (lambda: hard.planted_points(1, 1, answer=False), "at least 2"),
            (lambda: hard.planted_points(2, 9), "expected 3 fewer"),
            (lambda: hard.planted_points(2, 5, answer=False), "expected 3 fewer"),
        ],
    )
    def test_messages(self, make, message):
        with pytest.raises(InputError, match=message):
            make()

"""Options that follow the papers to the letter: bits, narrow, the whole sample, tp+'s refiner."""

# ruff: noqa: E741  (l is the word for it)

from __future__ import annotations

import itertools
from collections import Counter

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import naive_diverse as naive
import shoal
from guarantees import assert_guaranteed
from runs import outcome_of, partition_of
from shoal.encoding.encode import encode
from shoal.encoding.table import Partition
from shoal.errors import PolicyError
from shoal.kernels.papers.narrow import narrow_groups, narrow_offsets
from shoal.methods.papers.class_tree import tree_over
from shoal.methods.papers.idistance import IDistanceOptions, centres_of, space_of
from shoal.models import FrequencyL, KAnonymity
from shoal.policy import Policy

PLACES = st.lists(st.integers(0, 30).map(lambda i: i / 32), min_size=1, max_size=9).map(sorted)


def census(n, **roles):
    policy = Policy.parse(qi=["age", "education", "country"], sensitive="occupation", **roles)
    return encode(shoal.datasets.census(n), policy)


def least_widest(spots, allowed):
    """Equation 3 of the best of all partitions into groups that are allowed."""
    return min(
        naive.il(groups, spots)
        for groups in naive.partitions(list(range(len(spots))))
        if all(allowed(group) for group in groups)
    )


class TestNarrow:
    @given(PLACES, st.integers(1, 4))
    @settings(deadline=None, max_examples=60)
    def test_no_partition_has_a_narrower_widest_group(self, spots, k):
        assume(k <= len(spots))
        offsets = narrow_offsets(np.array(spots), k)
        sizes = np.diff(offsets)
        assert sizes.min() >= k and sizes.sum() == len(spots)
        widest = max(spots[e - 1] - spots[b] for b, e in itertools.pairwise(offsets))
        assert widest == least_widest(spots, lambda group: len(group) >= k)

    @given(PLACES, st.integers(1, 3), st.data())
    @settings(deadline=None, max_examples=120)
    def test_no_diverse_partition_has_a_narrower_widest_group(self, spots, l, data):
        n = len(spots)
        values = data.draw(st.lists(st.integers(0, 4), min_size=n, max_size=n))
        assume(l * max(Counter(values).values()) <= n)
        places, offsets = narrow_groups(np.array(values, dtype=np.int32), 6, l, np.array(spots))
        groups = [places[b:e].tolist() for b, e in itertools.pairwise(offsets)]
        assert sorted(places.tolist()) == list(range(n))
        for group in groups:
            assert l <= len(group) == len({values[r] for r in group}) < 2 * l
        least = least_widest(spots, lambda group: naive.diverse(group, values, l))
        assert naive.il(groups, spots) == least

    @pytest.mark.parametrize("method", ["hilbert", "idistance"])
    @pytest.mark.parametrize("model", [KAnonymity(4), FrequencyL(2)], ids=str)
    def test_the_guarantee(self, method, model):
        table = encode(
            shoal.datasets.hospital(),
            Policy.parse(identifier="name", qi=["age", "education"], sensitive="disease"),
        )
        assert_guaranteed(table, [model], partition_of(method, table, [model], narrow=True))

    def test_k_on_a_long_line(self):
        table = census(3000)
        asked = [KAnonymity(5)]
        assert_guaranteed(table, asked, partition_of("hilbert", table, asked, narrow=True))

    def test_l_on_a_long_line_is_refused(self):
        with pytest.raises(PolicyError, match=r"option narrow: .*expected at most 2,000,000 cases"):
            partition_of("hilbert", census(3000), [FrequencyL(3)], narrow=True)


class TestBits:
    def test_the_curve_has_them(self):
        table, asked = census(2000), [KAnonymity(5)]
        twelve = outcome_of("hilbert", table, asked, bits=12)
        assert twelve.facts["bits"] == 12
        assert_guaranteed(table, asked, twelve.recoding.partitions[0])
        one = outcome_of("hilbert", table, asked, bits=1)
        assert_guaranteed(table, asked, one.recoding.partitions[0])

    @pytest.mark.parametrize("bits", [0, 17])
    def test_limits(self, bits):
        with pytest.raises(PolicyError, match="option 'bits' of method hilbert"):
            shoal.anonymize(
                shoal.datasets.hospital(), identifier="name", qi=["age"], k=2, rest="drop",
                method="hilbert", option={"bits": bits},
            )  # fmt: skip


def test_the_whole_sample_is_clustered(monkeypatch):
    from shoal.methods.papers import idistance

    table = census(20_000)
    seen = []
    clustered = idistance._clustered
    monkeypatch.setattr(
        idistance, "_clustered", lambda s, b: seen.append(len(s)) or clustered(s, b)
    )
    for whole in (False, True):
        options = IDistanceOptions(centres=16, whole_sample=whole)
        centres_of(table, space_of(table), range(len(table.qi)), options, seed=0)
    assert seen == [16 * idistance.MOST_SAMPLE, 2000]


class TestRefinerOfThePaper:
    def test_tp_plus_divides_its_residue_by_figure_8(self):
        table, asked = census(4000).suppressing(), [FrequencyL(3)]
        ours, papers = (outcome_of("tp+", table, asked, frontier=f) for f in (False, True))
        assert_guaranteed(table, asked, papers.recoding.partitions[0])
        assert papers.facts["residue_records"] == ours.facts["residue_records"] > 0
        residue = np.sort(ours.recoding.partitions[0].order[-ours.facts["residue_records"] :])
        alone = partition_of("hilbert", table.take(residue), asked, frontier=True)
        assert papers.facts["residue_groups"] == alone.groups

    def test_a_refiner_without_figure_8_is_refused(self):
        with pytest.raises(PolicyError, match="frontier is of refine = hilbert or idistance"):
            outcome_of_policy(option={"refine": "mondrian", "frontier": True})


ASKED = {"qi": ["age", "education", "country"], "sensitive": "occupation", "rest": "drop"}


class TestResidualRecords:
    @pytest.mark.parametrize("reading", ["frequency", "unique"])
    def test_they_are_not_released(self, reading):
        l = 4
        table = shoal.datasets.census(603)
        release = shoal.anonymize(
            table, **ASKED, l=l, l_reading=reading, method="bsgi", max_suppressed="1%",
            option={"residual": "suppress"},
        )  # fmt: skip
        assert release.verification.ok
        assert release.table.num_rows == 600  # 3 of 603 are left over
        assert release.suppressed.records == 3
        assert release.record["method"]["residual_records"] == 0
        assert (release.class_sizes % l == 0).all()
        kept = Counter(release.table.column("occupation").to_pylist())
        assert not kept - Counter(table.column("occupation").to_pylist())

    def test_nothing_is_left_out_where_nobody_is_left_over(self):
        release = shoal.anonymize(
            shoal.datasets.census(600), **ASKED, l=4, method="bsgi", max_suppressed="1%",
            option={"residual": "suppress"},
        )  # fmt: skip
        assert release.table.num_rows == 600

    @pytest.mark.parametrize(
        ("settings", "words"),
        [
            ({}, "say with max_suppressed how many"),
            ({"max_suppressed": "0.2%"}, "max_suppressed allows 1 here"),
            ({"max_suppressed": "1%", "suppress_by": "star"}, "choose suppress_by = drop"),
        ],
    )
    def test_what_does_not_allow_it_is_said(self, settings, words):
        with pytest.raises(PolicyError, match=words):
            shoal.anonymize(
                shoal.datasets.census(603), **ASKED, l=4, method="bsgi", **settings,
                option={"residual": "suppress"},
            )  # fmt: skip


class TestHierarchyOverClasses:
    @given(st.lists(st.integers(1, 5), min_size=1, max_size=12), st.data())
    @settings(deadline=None, max_examples=60)
    def test_leaves_are_the_classes(self, sizes, data):
        n = sum(sizes)
        table = census(200).take(np.arange(n))
        order = np.array(data.draw(st.permutations(range(n))), dtype=np.int64)
        classes = Partition(order, np.append(0, np.cumsum(sizes)))
        tree, nodes = tree_over(table, classes)
        assert nodes == 2 * len(sizes) - 1
        assert (tree.begin[0], tree.end[0]) == (0, n)
        leaves = []
        for node in range(nodes):
            begin, end, right = tree.begin[node], tree.end[node], tree.right[node]
            if right == 0:
                leaves.append(tree.order[begin:end].tolist())
                continue
            assert (tree.begin[node + 1], tree.end[right]) == (begin, end)
            assert tree.end[node + 1] == tree.begin[right]
        wanted = [classes.order[b:e].tolist() for b, e in itertools.pairwise(classes.offsets)]
        assert sorted(leaves) == sorted(wanted)

    @pytest.mark.parametrize("classes", ["hilbert", "topdown", "mondrian"])
    @pytest.mark.parametrize("together", [None, 2])
    def test_every_reader_is_served(self, classes, together):
        readers = {"one": ["age", "country", "education"], "two": ["education", "marital", "race"]}
        release = shoal.anonymize(
            shoal.datasets.census(800), reader=readers, k=10, collusion_k=together,
            sensitive="occupation", l=2, rest="drop", method="butterfly",
            option={"strategy": "paper", "inner": "hilbert", "classes": classes},
        )  # fmt: skip
        assert release.verification.ok
        facts = release.record["method"]
        assert facts["losses"][facts["won"]] <= facts["losses"]["union"]

    def test_an_unknown_method_is_refused(self):
        with pytest.raises(PolicyError, match="option 'classes'"):
            shoal.anonymize(
                shoal.datasets.census(50), reader={"one": ["age"]}, k=2, rest="drop",
                method="butterfly", option={"classes": "anatomy"},
            )  # fmt: skip


def outcome_of_policy(**settings):
    return shoal.anonymize(
        shoal.datasets.hospital(), identifier="name", qi=["age", "education"],
        sensitive="disease", l=2, method="tp+", rest="drop", **settings,
    )  # fmt: skip

"""Keyed fingerprints of records, and the canonical order that they give a table."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import naive_fingerprint as naive
import shoal
from shoal.encoding.encode import encode
from shoal.encoding.marks import marks_of
from shoal.engines.memory.canonical import canonical
from shoal.errors import ShoalWarning
from shoal.kernels.fingerprint import (
    LANES,
    fingerprints,
    order_by_fingerprint,
    text_fingerprints,
)
from shoal.kernels.random import seed_words
from shoal.kernels.threads import ALONE
from shoal.policy import Policy

WORDS = st.integers(0, (1 << 64) - 1)
ROLES = {"qi": ["age", "gender"], "sensitive": ["occupation"]}


class TestAgainstTwin:
    @given(data=st.data(), d=st.integers(0, 5), s=st.integers(0, 3), m=st.integers(0, 2))
    @settings(deadline=None, max_examples=60)
    def test_records(self, data, d, s, m):
        rng = np.random.default_rng(data.draw(st.integers(0, 1 << 32)))
        n = data.draw(st.sampled_from([1, 2, LANES, LANES + 3]))
        key = (data.draw(WORDS), data.draw(WORDS))
        codes = rng.integers(0, 1 << 31, (d, n)).astype(np.int32)
        sensitive = rng.integers(0, 9, (s, n)).astype(np.int32)
        marks = rng.integers(0, 1 << 63, (m, n)).astype(np.uint64)
        found = fingerprints(codes, sensitive, marks, key)
        for i in {0, n // 2, n - 1}:
            parts = (part[:, i].tolist() for part in (codes, sensitive, marks))
            assert int(found[i]) == naive.siphash(naive.record_words(*parts), key)

    @given(st.lists(st.binary(max_size=40), min_size=1, max_size=9))
    @settings(deadline=None, max_examples=60)
    def test_texts(self, texts):
        offsets = np.cumsum([0, *map(len, texts)]).astype(np.int64)
        data = np.frombuffer(b"".join(texts), dtype=np.uint8)
        found = text_fingerprints(data, offsets).tolist()
        assert found == [naive.siphash(naive.text_words(text)) for text in texts]

    def test_two_threads_find_what_one_does(self):
        n = ALONE + 5
        codes = np.random.default_rng(0).integers(0, 99, (3, n)).astype(np.int32)
        none, marks = np.zeros((0, n), dtype=np.int32), np.zeros((0, n), dtype=np.uint64)
        shared = fingerprints(codes, none, marks, (1, 2))
        alone = fingerprints(codes[:, -9:].copy(), none[:, -9:], marks[:, -9:], (1, 2))
        assert shared[-9:].tolist() == alone.tolist()


class TestOrder:
    @given(st.lists(st.integers(0, 5), min_size=1, max_size=60), st.randoms(use_true_random=False))
    @settings(deadline=None, max_examples=100)
    def test_it_follows_from_the_records_alone(self, values, random):
        shuffled = random.sample(values, len(values))
        lines = []
        for some in (values, shuffled):
            codes = np.array([some], dtype=np.int32)
            none, marks = np.zeros((0, len(some)), np.int32), np.zeros((0, len(some)), np.uint64)
            order = order_by_fingerprint(fingerprints(codes, none, marks, (7, 9)))
            assert sorted(order.tolist()) == list(range(len(some)))
            lines.append([some[i] for i in order])
        assert lines[0] == lines[1]

    def test_copies_are_spread_apart(self):
        table = encode(pa.table({"q": [1] * 500 + [2] * 500}), Policy.parse(qi=["q"]))
        line = canonical(table, 3).table.codes[0]
        changes = np.count_nonzero(np.diff(line))
        assert 400 < changes < 600  # as by chance; 1 where copies stand together

    def test_another_seed_gives_another_order(self):
        table = encode(shoal.datasets.census(500).select(["age", "gender", "occupation"]),
                       Policy.parse(**ROLES))  # fmt: skip
        orders = {canonical(table, seed).order.tobytes() for seed in (0, 1, 1 << 64, 1 << 127)}
        assert len(orders) == 4

    def test_all_128_bits_of_a_seed_count(self):
        seeds = [0, *(1 << bit for bit in range(128))]
        assert len({tuple(seed_words(seed, "order")) for seed in seeds}) == 129
        assert tuple(seed_words(5, "order")) != tuple(seed_words(5, "curve"))

    def test_persons_are_numbered_as_they_appear(self):
        people = pa.table({"q": [1, 2, 1, 2, 3], "who": ["e", "d", "c", "b", "a"]})
        policy = Policy.parse(qi=["q"], person="who")
        person = canonical(encode(people, policy), 5).table.person
        assert person.tolist() == [0, 1, 2, 3, 4]


class TestMarks:
    def test_only_what_codes_do_not_cover(self):
        people = shoal.datasets.census(20).select(["age", "gender", "occupation"])
        assert marks_of(people, Policy.parse(**ROLES)) is None
        noted = people.append_column("note", pa.array(list("ab" * 10)))
        marks = marks_of(noted, Policy.parse(**ROLES, plain=["note"]))
        assert marks.shape == (1, 20)
        assert len(set(marks[0].tolist())) == 2

    @pytest.mark.parametrize(
        "cells",
        [
            pa.array([1.5, None, 2.5, 1.5]),
            pa.array([True, False, None, True]),
            pa.array(["a", "", None, "a"]).dictionary_encode(),
            pa.array([[1], [2], None, [1]]),
            pa.array([{"x": 1}, {"x": 2}, None, {"x": 1}]),
            pa.array([b"a", b"\xff", None, b"a"]),
        ],
        ids=str,
    )
    def test_of_any_type(self, cells):
        table = pa.table({"q": [1, 2, 3, 4], "note": cells})
        marks = marks_of(table, Policy.parse(qi=["q"], plain=["note"]))[0]
        assert marks[0] == marks[3]
        assert len(set(marks.tolist())) == 3

    def test_spellings_that_count_as_one(self):
        table = pa.table({"q": [1, 1], "s": ["flu", "Flu"]})
        with pytest.warns(ShoalWarning, match="spelling"):
            marks = encode(table, Policy.parse(qi=["q"], sensitive=["s"])).marks
        assert marks is not None
        assert marks[0, 0] != marks[0, 1]

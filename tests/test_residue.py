"""The three phases of TP (paper 000, section 5): its examples step by step, and its bounds."""

# ruff: noqa: E741

from __future__ import annotations

import itertools

import numpy as np
import pytest

import naive_tp as naive
import shoal
from shoal.kernels.tp import residue as kernels
from shoal.methods.tp import three_phases
from tp_tables import PHASE_THREE, PHASE_TWO, eligible_tables, instances, records

SMALL_THREE = [(1, 0, 1, 1), (0, 1, 1, 1), (2, 2, 0, 0)]


def vectors(found, ids, codes, groups):
    """What is left of each group, and R, as the vectors of the paper."""
    m = len(groups[0])
    left = [[0] * m for _ in groups]
    for record in found.kept.order:
        left[ids[record]][codes[record]] += 1
    return left, np.bincount(codes[found.residue], minlength=m).tolist()


class Stepper:
    """The kernels one step at a time, in the vectors of the paper."""

    def __init__(self, groups, l):
        self.l, self.s, self.m = l, len(groups), len(groups[0])
        ids, codes = records(groups)
        order = kernels.sorted_records(ids, self.s, codes, self.m)
        self.piles, _ = kernels.piles_of(ids, self.s, codes, self.m, order)
        self.highest = max(sum(c) for c in zip(*groups, strict=True))
        kernels.shave(self.piles, l, np.zeros(self.highest + 1, dtype=np.int64))
        self.ranks = kernels.ranks_of(self.piles, self.highest)
        self.candidates = kernels.candidates_of(self.piles)
        self.cover = kernels.new_cover(self.piles)

    def state(self):
        """Groups and residue set; the ranks are checked on the way."""
        piles, ranks, found = self.piles, self.ranks, []
        for g in range(self.s + 1):
            bars = range(piles.start[g], piles.start[g + 1])
            q = [0] * self.m
            for b in bars:
                assert (piles.owner[b], ranks.bar[ranks.place[b]]) == (g, b)
                q[piles.value[b]] = int(piles.height[b])
            heights = piles.height[ranks.bar[bars.start : bars.stop]]
            assert (np.diff(heights) <= 0).all()
            assert (piles.size[g], piles.top[g]) == (sum(q), max(q))
            for j in range(max(q) + 1):
                assert ranks.above[ranks.level[g] + j] == sum(h > j for h in q)
            found.append(tuple(q))
        return tuple(found[:-1]), found[-1]

    def ease(self):
        return kernels.ease(self.piles, self.ranks, self.l, self.candidates, 1)

    def choose_cover(self):
        picks = kernels.choose_cover(self.piles, self.ranks, self.cover)
        return self.cover.chosen[:picks].tolist()

    def overhaul(self):
        return kernels.overhaul(self.piles, self.ranks, self.l, self.cover, 1)


def scripted(*picks):
    """Choices in the order the paper makes them; values count from 1 there."""
    left = list(picks)

    def choose(what, options):
        if what == "pillar":
            return options[0]
        kind, pick = left.pop(0)
        assert kind == what
        assert pick - 1 in options
        return pick - 1

    return choose


class TestPaper:
    @pytest.mark.parametrize("method", ["tp", "tp+"])
    def test_table_1_gives_table_3(self, method):
        release = shoal.anonymize(
            shoal.datasets.hospital(), qi=["age", "gender", "education"], identifier="name",
            sensitive="disease", l=2, method=method, rest="plain",
        )  # fmt: skip
        rows = sorted(zip(*release.data.to_pydict().values(), strict=True))
        exact = [("30-50", "F", "Bachelor")] * 4 + [(">=50", "F", "High school")] * 2
        diseases = ["bronchitis", "bronchitis", "pneumonia", "pneumonia", "dyspepsia", "pneumonia"]
        if method == "tp":
            suppressed = [("*", "M", "*")] * 4
            starred = ["HIV", "HIV", "bronchitis", "pneumonia"]
            table_3 = zip(suppressed + exact, starred + diseases, strict=True)
            assert rows == sorted((*qi, disease) for qi, disease in table_3)
            assert release.loss.stars == 8
        assert release.loss.suppressed_tuples == 4
        assert release.loss.stars <= 8
        facts = release.record["method"]
        assert facts["phase"] == 1
        assert facts["least_suppressed"] == facts["residue_records"] == 4
        assert "no 2-diverse release by suppression suppresses fewer records (4)" in facts["proof"]

    def test_section_5_3_step_by_step(self):
        picks = [("value", 3), ("group", 1), ("value", 4), ("group", 2), ("value", 3), ("group", 2)]
        state, phase = naive.run(PHASE_TWO, 3, scripted(*picks))
        gone = (0,) * 5
        assert phase == 2
        assert state.trace == [
            (((3, 1, 1, 2, 3), (0, 2, 2, 4, 4), gone), (4, 4, 0, 0, 0)),
            (((3, 1, 0, 2, 3), (0, 2, 2, 4, 4), gone), (4, 4, 1, 0, 0)),
            (((3, 1, 0, 2, 3), (0, 2, 2, 3, 3), gone), (4, 4, 1, 1, 1)),
            (((3, 1, 0, 2, 3), (0, 2, 1, 3, 3), gone), (4, 4, 2, 1, 1)),
        ]

    def test_section_5_3_alive_and_dead(self):
        q1, q2, residue = (3, 1, 1, 2, 3), (0, 2, 2, 4, 4), (4, 4, 0, 0, 0)
        assert naive.alive_values([q1, q2], residue, 3) == {0, 1, 2, 3, 4}
        q1, residue = (3, 1, 0, 2, 3), (4, 4, 1, 0, 0)
        assert naive.dead(q1, residue, 3)
        assert naive.conflicting(q1, residue) == {0}
        assert naive.thin(q2, 3)
        assert not naive.conflicting(q2, residue)

    def test_section_5_4_step_by_step(self):
        choose = scripted(("cover", 1), ("cover", 2), ("fat", 3), ("fat", 4))
        state, phase = naive.run(PHASE_THREE, 4, choose)
        gone = (0,) * 5
        assert phase == 3
        assert state.trace == [
            (((3, 1, 2, 3, 3), (1, 3, 2, 3, 3), gone), (4, 4, 4, 0, 0)),
            (((2, 1, 2, 2, 2), (1, 2, 2, 2, 2), gone), (5, 5, 4, 2, 2)),
            (((2, 1, 1, 2, 2), (1, 2, 2, 2, 2), gone), (5, 5, 5, 2, 2)),
            (((2, 1, 1, 2, 2), (1, 2, 2, 1, 2), gone), (5, 5, 5, 3, 2)),
        ]

    @pytest.mark.parametrize(
        ("groups", "l", "phase", "removed", "least"),
        [(PHASE_TWO, 3, 2, 12, 12), (PHASE_THREE, 4, 3, 20, 16), (SMALL_THREE, 3, 3, None, 6)],
    )
    def test_kernels_end_as_the_examples_do(self, groups, l, phase, removed, least):
        ids, codes = records(groups)
        found = three_phases(ids, len(groups), codes, len(groups[0]), l)
        left, residue = vectors(found, ids, codes, groups)
        assert all(naive.eligible(q, l) for q in [*left, residue])
        assert (found.phase, found.least) == (phase, least)
        assert removed is None or len(found.residue) == removed
        assert least <= naive.fewest_removed(groups, l) <= len(found.residue)


def hard_groups(rng):
    """Thin groups that each have one of the few values that phase one removes as a pillar."""
    l = int(rng.integers(3, 6))
    m, pillars = l + int(rng.integers(0, 4)), int(rng.integers(2, l))
    groups = []
    for _ in range(rng.integers(2, 9)):
        height, group = int(rng.integers(1, 6)), [0] * m
        group[rng.integers(pillars)] = height
        for v in rng.choice(np.arange(pillars, m), min(l - 1, m - pillars), replace=False):
            group[v] = height
        for _ in range(l * height - sum(group)):
            group[rng.choice([v for v in range(m) if group[v] < height])] += 1
        groups.append(group)
    return [*groups, [int(rng.integers(1, 12))] * pillars + [0] * (m - pillars)], l


def hard_instances(count, seed):
    """Tables on which phase three takes one to seven rounds."""
    rng = np.random.default_rng(seed)
    drawn = (hard_groups(rng) for _ in itertools.count())
    return itertools.islice((case for case in drawn if eligible_tables(*case)), count)


class TestBounds:
    def test_against_the_exact_optimum(self):
        """Phase 1 is optimal, phase 2 within l - 1, phase 3 below l times; for naive and fast."""
        reached = dict.fromkeys((1, 2, 3), 0)
        for groups, l in instances(3_000, seed=1):
            ids, codes = records(groups)
            found = three_phases(ids, len(groups), codes, len(groups[0]), l)
            left, residue = vectors(found, ids, codes, groups)
            assert all(naive.eligible(q, l) for q in [*left, residue])
            totals = np.sum(groups, axis=0).tolist()
            assert np.add(np.sum(left, axis=0), residue).tolist() == totals
            best = naive.fewest_removed(groups, l)
            state, phase = naive.run(groups, l)
            assert all(naive.eligible(q, l) for q in [*state.groups, state.residue])
            assert (phase == 1) == (found.phase == 1)
            assert found.least <= best
            for p, size in ((phase, sum(state.residue)), (found.phase, sum(residue))):
                assert best <= size <= {1: best, 2: best + l - 1, 3: l * best - 1}[p]
            assert l > 2 or found.phase < 3
            reached[found.phase] += 1
        assert min(reached.values()) > 100, reached

    def test_hard_instances_stay_below_l_times_the_lower_bound(self):
        """Too large to try everything; the proof of Theorem 3 compares with l * h(R)."""
        for groups, l in hard_instances(300, seed=6):
            ids, codes = records(groups)
            found = three_phases(ids, len(groups), codes, len(groups[0]), l)
            left, residue = vectors(found, ids, codes, groups)
            assert all(naive.eligible(q, l) for q in [*left, residue])
            assert len(found.residue) < l * found.least
            assert found.phase == 3

    def test_phase_one_is_unique(self):
        for groups, l in instances(300, seed=2):
            rng = np.random.default_rng(3)
            state = naive.State(groups, l, lambda what, options, r=rng: r.choice(options))
            naive.phase_one(state)
            assert Stepper(groups, l).state() == state.trace[-1]

    def test_every_step_is_one_the_paper_allows(self):
        rounds = []
        for groups, l in itertools.chain(instances(600, seed=4), hard_instances(200, seed=4)):
            stepper = Stepper(groups, l)
            state = naive.State(groups, l, naive.first)
            state.groups, state.residue = map(list, stepper.state())
            top = max(state.residue)
            while not state.done():
                allowed = eased(state)
                assert stepper.ease() == bool(allowed)
                if not allowed:
                    break
                after = stepper.state()
                assert after in allowed
                state.groups, state.residue = map(list, after)
                assert max(state.residue) == top  # Lemma 5
            rounds.append(self.follow_phase_three(stepper, state, top))
        assert sum(rounds) > 200
        assert max(rounds) >= 5

    @staticmethod
    def follow_phase_three(stepper, state, top):
        rounds = 0
        while not state.done():
            chosen = stepper.choose_cover()
            picks = iter(chosen)

            def allowed(what, options, picks=picks):
                pick = next(picks)
                assert pick in options
                return pick

            state.choose = allowed
            assert naive.greedy_cover(state) == chosen
            before = max(state.residue)
            assert stepper.overhaul() == 1
            groups, residue = stepper.state()
            assert all(naive.eligible(q, state.l) for q in groups)
            assert max(residue) <= before + state.l - 2  # Lemma 8
            assert naive.eligible(residue, state.l) or all(
                naive.dead(q, residue, state.l) for q in groups
            )
            state.groups, state.residue = list(groups), list(residue)
            rounds += 1
        assert rounds <= top  # Lemma 9
        return rounds

    def test_step_two_takes_no_pillar_of_the_residue_set(self):
        """A round's end is among those that the paper's rules can reach."""
        seen = 0
        for groups, l in [(PHASE_THREE, 4), (SMALL_THREE, 3), *instances(400, seed=5)]:
            stepper = Stepper(groups, l)
            while stepper.ease():
                pass
            if naive.eligible(stepper.state()[1], l):
                continue
            before = stepper.state()
            chosen = stepper.choose_cover()
            stepper.overhaul()
            assert stepper.state() in overhauled(before, chosen, l)
            seen += 1
        assert seen > 20


def eased(state):
    """All states that one iteration of phase two can lead to."""
    alive = naive.alive_values(state.groups, state.residue, state.l)
    least = min((state.residue[v] for v in alive), default=0)
    found = set()
    for v in (v for v in alive if state.residue[v] == least):
        for i in naive.givers(state, v):
            after = naive.State(state.groups, state.l, naive.first, state.residue)
            if naive.thin(after.groups[i], state.l):
                after.drop_pillars(i)
            else:
                after.move(i, v)
            after.snap()
            found.add(after.trace[-1])
    return found


def overhauled(before, chosen, l):
    """All states that a round of phase three can end in, for this cover."""
    start = naive.State(before[0], l, naive.first, before[1])
    for i in chosen:
        if not start.done():
            start.drop_pillars(i)
    start.snap()
    states = {start.trace[-1]}
    for i in range(len(before[0])):
        states = set(itertools.chain.from_iterable(settled(s, i, l) for s in states))
    return states


def settled(before, i, l):
    waiting, found, seen = [before], set(), set()
    while waiting:
        groups, residue = waiting.pop()
        if naive.eligible(residue, l) or naive.dead(groups[i], residue, l):
            found.add((groups, residue))
            continue
        state = naive.State(groups, l, naive.first, residue)
        thin = naive.thin(groups[i], l)
        for v in [None] if thin else naive.movable(state, i):
            after = naive.State(groups, l, naive.first, residue)
            after.drop_pillars(i) if thin else after.move(i, v)
            after.snap()
            if after.trace[-1] not in seen:
                seen.add(after.trace[-1])
                waiting.append(after.trace[-1])
    return found

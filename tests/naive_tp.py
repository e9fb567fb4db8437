"""TP beside the paper (000, section 5): vectors of counts, one rule after the other, slow.

A QI-group is a list of counts, one for each sensitive value 0..m-1, as in the
paper's examples (whose values count from 1). Wherever the paper says "the choice
can be arbitrary", `choose(what, options)` decides.
"""

# ruff: noqa: E741

from __future__ import annotations

import itertools

import numpy as np


def eligible(q, l):
    return sum(q) >= l * max(q)


def pillars(q):
    return {v for v in range(len(q)) if q[v] == max(q) > 0}


def thin(q, l):
    return sum(q) == l * max(q)


def conflicting(q, residue):
    return pillars(q) & pillars(residue)


def dead(q, residue, l):
    """Nothing can be taken from it: it is thin and conflicting, or empty (errata)."""
    return not sum(q) or (thin(q, l) and bool(conflicting(q, residue)))


def alive_values(groups, residue, l):
    return {
        v for q in groups if not dead(q, residue, l) for v in range(len(residue)) if q[v] > 0
    }  # fmt: skip


class State:
    """Groups and residue set, with every state they went through."""

    def __init__(self, groups, l, choose, residue=None):
        self.groups = [list(q) for q in groups]
        self.residue = list(residue or [0] * len(groups[0]))
        self.l, self.choose = l, choose
        self.trace = []

    def snap(self):
        self.trace.append((tuple(map(tuple, self.groups)), tuple(self.residue)))

    def move(self, i, v):
        assert self.groups[i][v] > 0
        self.groups[i][v] -= 1
        self.residue[v] += 1

    def drop_pillars(self, i):
        for v in pillars(self.groups[i]):
            self.move(i, v)

    def done(self):
        return eligible(self.residue, self.l)


def phase_one(state):
    for i, q in enumerate(state.groups):
        while not eligible(q, state.l):
            state.move(i, state.choose("pillar", sorted(pillars(q))))
    state.snap()


def phase_two(state):
    while not state.done():
        alive = alive_values(state.groups, state.residue, state.l)
        if not alive:
            return
        least = min(state.residue[v] for v in alive)
        v = state.choose("value", sorted(x for x in alive if state.residue[x] == least))
        assert v not in pillars(state.residue)  # the proof of Lemma 5
        i = state.choose("group", givers(state, v))
        if thin(state.groups[i], state.l):
            state.drop_pillars(i)
        else:
            state.move(i, v)
        state.snap()


def givers(state, v):
    return [
        i
        for i, q in enumerate(state.groups)
        if q[v] > 0 and not dead(q, state.residue, state.l)
    ]  # fmt: skip


def greedy_cover(state):
    """Step one of phase three: groups whose non-conflicting values cover R's pillars."""
    uncovered, chosen = pillars(state.residue), []
    while uncovered:
        left = {
            i: len(conflicting(q, state.residue) & uncovered)
            for i, q in enumerate(state.groups)
            if sum(q)
        }
        best = [i for i, missing in left.items() if missing == min(left.values())]
        chosen.append(state.choose("cover", best))
        uncovered &= conflicting(state.groups[chosen[-1]], state.residue)
    return chosen


def phase_three(state):
    while not state.done():
        for i in greedy_cover(state):
            if not state.done():
                state.drop_pillars(i)
        state.snap()
        for i in range(len(state.groups)):
            settle(state, i)


def settle(state, i):
    """Step two of phase three for one group."""
    q = state.groups[i]
    while not state.done() and not dead(q, state.residue, state.l):
        if thin(q, state.l):
            state.drop_pillars(i)
        else:
            state.move(i, state.choose("fat", movable(state, i)))
        state.snap()


def movable(state, i):
    q = state.groups[i]
    return [v for v in range(len(q)) if q[v] and v not in pillars(state.residue)]


def first(what, options):
    return options[0]


def run(groups, l, choose=first):
    """All phases; the state and the phase in which it ended."""
    state = State(groups, l, choose)
    for number, phase in enumerate((phase_one, phase_two, phase_three), 1):
        phase(state)
        if state.done():
            return state, number
    raise AssertionError("phase three always ends")


def fewest_removed(groups, l):
    """OPT by brute force: the fewest tuples to remove, over all that can be removed.

    Residue sets are numbers in a mixed radix; a group adds any part of it whose
    rest is l-eligible.
    """
    totals = [sum(counts) for counts in zip(*groups, strict=True)]
    radix = np.cumprod([1, *(t + 1 for t in totals)])
    found = np.zeros(radix[-1], dtype=bool)
    found[0] = True
    for q in groups:
        grown = np.zeros_like(found)
        for taken in itertools.product(*(range(c + 1) for c in q)):
            rest = [c - t for c, t in zip(q, taken, strict=True)]
            if eligible(rest, l):
                shift = int(np.dot(taken, radix[:-1]))
                grown[shift:] |= found[: len(found) - shift]
        found = grown
    digits = np.flatnonzero(found)[:, None] // radix[:-1] % (np.array(totals) + 1)
    sizes = digits.sum(1)
    return int(sizes[sizes >= l * digits.max(1)].min())

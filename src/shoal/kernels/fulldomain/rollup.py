"""Frequency sets of full-domain generalisations, each rolled up from a finer one.

A node of the lattice says at which level each attribute is published. Its
classes are unions of the classes of any node below, so that their histograms
follow from those, without the records (LeFevre, DeWitt and Ramakrishnan,
"Incognito", SIGMOD 2005: the rollup property).
"""

from typing import NamedTuple

import numpy as np

from shoal.kernels.grouping import dense_ids, sort_by_id
from shoal.kernels.histogram import add, reset
from shoal.kernels.jit import inner_kernel, kernel
from shoal.kernels.rules import holds

LARGEST_KEY = 2**62
"""Numbers of combined blocks stay below."""


class Levels(NamedTuple):
    """The blocks of codes that are published alike, at every level of every attribute."""

    block: np.ndarray  # int32: block of each code, level after level, attribute after attribute
    start: np.ndarray  # int64 (d, most levels): where a level of an attribute begins in `block`
    count: np.ndarray  # int64 (d, most levels): its number of blocks


class Lattice(NamedTuple):
    """All combinations of levels; a node is a number, its levels the digits."""

    shape: np.ndarray  # int64 (d,): levels of each attribute
    stride: np.ndarray  # int64 (d,): what one level more adds to the number of a node
    growth: np.ndarray  # float64 (d, most levels): blocks one level below for one block here


class Frequencies(NamedTuple):
    """The classes of one node; those of class c are ``offsets[c]:offsets[c+1]`` of the points.

    A bearer is what a record adds to its class besides its quasi-identifiers:
    a combination of sensitive values (and a person, where persons count).
    """

    example: np.ndarray  # int32 (classes,): a distinct tuple of quasi-identifiers in each class
    size: np.ndarray  # int64 (classes,): records
    offsets: np.ndarray  # int64 (classes + 1,)
    bearer: np.ndarray  # int32 (points,)
    weight: np.ndarray  # int64 (points,): records


OPEN = 0
"""Mark of a node of which nothing is known yet."""


@kernel
def next_open(marks, order, place):
    """The first place from `place` on whose node is open; the end of the order if none is."""
    while place < len(order) and marks[order[place]] != OPEN:
        place += 1
    return place


@kernel
def open_chain(lattice, marks, node, chain):
    """Descend from an open node step by step, as far as nodes are open; returns the length.

    Of several steps down, that which divides blocks least is taken.
    """
    length = 0
    while node >= 0:
        chain[length] = node
        length += 1
        below = -1
        least = np.inf
        for a in range(len(lattice.shape)):
            level = node // lattice.stride[a] % lattice.shape[a]
            if level == 0 or marks[node - lattice.stride[a]] != OPEN:
                continue
            if lattice.growth[a, level] < least:
                least = lattice.growth[a, level]
                below = node - lattice.stride[a]
        node = below
    return length


@kernel
def number_classes(levels, tuples, example, node, ids):
    """Number the given distinct tuples by the blocks they are in at a node; returns how many.

    ``tuples[i]`` are the codes of the i-th distinct tuple, ``example`` says which to number.
    """
    keys = np.zeros(len(example), dtype=np.int64)
    span = np.int64(1)
    for a in range(len(node)):
        blocks = levels.count[a, node[a]]
        if blocks == 1:
            continue
        if span > LARGEST_KEY // blocks:  # the next attribute would overflow: renumber first
            span = np.int64(dense_ids(keys, ids))
            for i in range(len(ids)):
                keys[i] = ids[i]
        start = levels.start[a, node[a]]
        for i in range(len(example)):
            keys[i] = keys[i] * blocks + levels.block[start + tuples[example[i], a]]
        span *= blocks
    if span > 4 * len(example):
        return dense_ids(keys, ids)
    return _number_by_table(keys, span, ids)


@inner_kernel
def _number_by_table(keys, span, ids):
    """What `dense_ids` does, for keys below a small span."""
    number = np.full(span, -1, dtype=np.int64)
    count = 0
    for i in range(len(keys)):
        if number[keys[i]] < 0:
            number[keys[i]] = count
            count += 1
        ids[i] = number[keys[i]]
    return count


@kernel
def sum_by_class(ids, source, sizes):
    """Fill ``sizes`` with the records of each class of `ids`; returns the smallest."""
    for c in range(len(sizes)):
        sizes[c] = 0
    for i in range(len(ids)):
        sizes[ids[i]] += source[i]
    smallest = sizes[0]
    for size in sizes:
        smallest = min(smallest, size)
    return smallest


@kernel
def smallest_below(nodes, classes, count, node):
    """Which of the first `count` nodes is at or below `node` and has the fewest classes."""
    best = 0  # the lowest node of all is the first
    for i in range(count):
        if classes[i] < classes[best]:
            below = True
            for a in range(len(node)):
                if nodes[i, a] > node[a]:
                    below = False
                    break
            if below:
                best = i
    return best


@kernel
def roll_up(source, ids, bearers, rolled):
    """Fill `rolled` with the classes of `source` united as `ids` say; returns its points.

    ``rolled.size`` is filled already; its points have the room of the source's.
    """
    if bearers == 1:
        return _roll_up_sizes(source, ids, rolled)
    offsets = np.empty(len(rolled.size) + 1, dtype=np.int64)
    order = np.empty(len(ids), dtype=np.int64)
    sort_by_id(ids, offsets, order)
    place = np.full(bearers, -1, dtype=np.int64)
    filled = 0
    for c in range(len(rolled.size)):
        rolled.offsets[c] = filled
        rolled.example[c] = source.example[order[offsets[c]]]
        for j in range(offsets[c], offsets[c + 1]):
            for i in range(source.offsets[order[j]], source.offsets[order[j] + 1]):
                bearer = source.bearer[i]
                if place[bearer] >= rolled.offsets[c]:
                    rolled.weight[place[bearer]] += source.weight[i]
                else:
                    place[bearer] = filled
                    rolled.bearer[filled] = bearer
                    rolled.weight[filled] = source.weight[i]
                    filled += 1
    rolled.offsets[len(rolled.size)] = filled
    return filled


@inner_kernel
def _roll_up_sizes(source, ids, rolled):
    """`roll_up` where all records are alike but for their quasi-identifiers."""
    for i in range(len(ids)):
        rolled.example[ids[i]] = source.example[i]
    for c in range(len(rolled.size)):
        rolled.offsets[c] = c
        rolled.bearer[c] = 0
        rolled.weight[c] = rolled.size[c]
    rolled.offsets[len(rolled.size)] = len(rolled.size)
    return len(rolled.size)


@inner_kernel
def _take(tally, bearers, bearer, weight):
    """Add so many records of one bearer to the tally."""
    if len(bearers.person) > 0:  # a person counts once, however often
        add(tally, bearers, bearer)
        return
    tally.count[0] += weight
    for s in range(len(bearers.columns)):
        value = bearers.start[s] + bearers.columns[s, bearer]
        if tally.histogram[value] == 0:
            tally.touched[tally.n_touched[0]] = value
            tally.n_touched[0] += 1
        tally.histogram[value] += weight


@kernel
def first_failing(classes, rules, bearers, tally, begin):
    """The first class from `begin` on that breaks a rule; -1: none does."""
    for c in range(begin, len(classes.size)):
        reset(tally)
        for i in range(classes.offsets[c], classes.offsets[c + 1]):
            _take(tally, bearers, classes.bearer[i], classes.weight[i])
        if not holds(rules, tally.count[0], tally.histogram, tally.touched, tally.n_touched[0]):
            return c
    return -1

"""Which full-domain generalisations satisfy the models: the search through their lattice.

One level of each attribute is a node of the lattice. A node above another one
unites its classes, hence

- if a node satisfies the models, so do all nodes above it, and if it does not,
  neither does any below it (Incognito's generalisation property);
- its histograms follow from those of the other (its rollup property).

The paper searches the lattices of all subsets of the attributes, from small
subsets to large ones, because a failing subset speaks against its supersets.
Here one lattice is searched: a chain of undecided nodes from top to bottom has
one place where passing turns into failing, and halving finds it in a few tests,
each of which decides all nodes above or below. A subset of the attributes is a
node of the lattice anyway, with the others at the top, where the chains begin.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from shoal.encoding.classes import class_ids, first_of_each
from shoal.encoding.table import EncodedTable
from shoal.errors import InfeasibleError
from shoal.kernels.fulldomain.rollup import (
    OPEN,
    Frequencies,
    Lattice,
    Levels,
    first_failing,
    next_open,
    number_classes,
    open_chain,
    roll_up,
    smallest_below,
    sum_by_class,
)
from shoal.kernels.histogram import Records, tally_inputs
from shoal.methods.levels import AttributeLevels, Blocks
from shoal.models import (
    ClassHistograms,
    Model,
    TableModels,
    known_sizes,
    needs_sensitive,
    rules_for,
    satisfied,
)

__all__ = ["PASSES", "Search"]

MOST_POINTS = 20_000_000
"""Points of all frequency sets that are kept to roll others up from."""
MOST_SETS = 4096
"""How many of them are kept."""
WORTH_KEEPING = 0.7
"""A frequency set is kept if it has at most this part of the classes it was made of."""
PASSES, FAILS = 1, 2

Integers = NDArray[np.int64]


class Search:
    """Which nodes of the lattice satisfy the models."""

    def __init__(
        self,
        table: EncodedTable,
        models: Sequence[Model],
        attribute_levels: Sequence[AttributeLevels],
    ) -> None:
        self.test = _ClassTest(table, models)
        self.free = [a for a, each in enumerate(attribute_levels) if len(each.blocks) > 1]
        self.attributes = len(attribute_levels)
        free_levels = [attribute_levels[a] for a in self.free]
        self.shape = tuple(len(r.blocks) for r in free_levels)
        self.levels, self.lattice = _flattened(free_levels, self.shape)
        self.tuples, lowest = _distinct(table, self.free, self.test)
        self.store = _Store(lowest, len(self.free))
        self.marks = np.full(math.prod(self.shape), OPEN, dtype=np.uint8)
        self.checked = 0
        self.sizes: dict[int, tuple[int, int]] = {}
        """DM and number of classes of each node that passed a test."""

    def minimal_nodes(self, progress: Callable[[float, float], None]) -> Integers:
        """Rungs of all minimal nodes, one row each, in ascending order."""
        nodes = len(self.marks)
        heights = sum(np.ix_(*(np.arange(s, dtype=np.int16) for s in self.shape)), np.int16(0))
        order = np.argsort(-np.ravel(heights), kind="stable")
        chain = np.empty(sum(self.shape) + 1, dtype=np.int64)
        place = 0
        while (place := next_open(self.marks, order, place)) < nodes:
            self._halve(chain[: open_chain(self.lattice, self.marks, order[place], chain)])
            progress(place, nodes)
        passing = (self.marks == PASSES).reshape(self.shape)
        if not passing.any():
            raise InfeasibleError("incognito: the table as a whole does not satisfy the models")
        found = np.argwhere(_lowest_of(passing))
        minimal = np.zeros((len(found), self.attributes), dtype=np.int64)
        minimal[:, self.free] = found
        return minimal

    def _halve(self, chain: Integers) -> None:
        """Decide all nodes of a chain from top to bottom, and with them many others."""
        first, end = 0, len(chain)  # nodes before `first` pass, from `end` on they fail
        while first < end:
            middle = (first + end) // 2
            node = np.array(np.unravel_index(chain[middle], self.shape), dtype=np.int64)
            view = self.marks.reshape(self.shape)
            if self._passes(int(chain[middle]), node):
                view[tuple(slice(level, None) for level in node)] = PASSES
                first = middle + 1
            else:
                view[tuple(slice(None, level + 1) for level in node)] = FAILS
                end = middle

    def _passes(self, number: int, node: Integers) -> bool:
        """Test one node, from the smallest frequency set below it."""
        united = self._united(node)
        passes = bool(united.smallest >= self.test.rules.smallest)
        keep = united.worth_keeping
        if keep or (passes and not self.test.by_size):
            classes = self._rolled(node, united, keep)
            passes = passes and self.test.accepts(classes)
        if passes:
            self.sizes[number] = (int(united.size @ united.size), len(united.size))
        return passes

    def _united(self, node: Integers) -> _United:
        """The classes of a node as unions of those of the smallest frequency set below it."""
        self.checked += 1
        source = self.store.below(node)
        ids = np.empty(len(source.size), dtype=np.int64)
        count = number_classes(self.levels, self.tuples, source.example, node, ids)
        size = np.empty(count, dtype=np.int64)
        smallest = int(sum_by_class(ids, source.size, size))
        return _United(source, ids, size, smallest)

    def _rolled(self, node: Integers, united: _United, keep: bool) -> Frequencies:
        """The frequency set of a node, kept to roll others up from where it is worth it."""
        classes = _rolled(united.source, united.ids, united.size, self.test.bearer_count)
        if keep:
            self.store.keep(node, classes)
        return classes

    def levels_at(self, number: int) -> tuple[int, ...]:
        """The levels of all attributes at a node, by its number."""
        node = np.zeros(self.attributes, dtype=np.int64)
        node[self.free] = np.unravel_index(number, self.shape)
        return tuple(int(level) for level in node)

    def sizes_of(self, node: Integers) -> tuple[int, int]:
        """DM and number of classes of a minimal node.

        It was tested for certain: what is known to pass lies above a node that
        passed a test, or is that node, and nothing below a minimal one passes.
        """
        number = int(node[self.free] @ self.lattice.stride)
        return self.sizes[number]


class _United(NamedTuple):
    """Which classes of a frequency set a node unites, and how large they become."""

    source: Frequencies
    ids: Integers
    size: Integers
    smallest: int

    @property
    def worth_keeping(self) -> bool:
        return len(self.size) <= WORTH_KEEPING * len(self.ids)


class _ClassTest:
    """Whether classes satisfy the models, from their histograms."""

    def __init__(self, table: EncodedTable, models: Sequence[Model]) -> None:
        self.table = table
        self.models = tuple(models)
        self.rules = rules_for(table.codebook, models)
        self.by_size = table.person is None and not needs_sensitive(models)
        self.exact = all(m.exact_rules for m in models)
        """Whether the kernel's rules are the models to the letter, not a little stricter."""
        records, self.tally = tally_inputs(table)
        columns = [] if self.by_size else table.sensitive_columns()
        if table.person is not None:
            columns.append((records.person, int(records.person.max()) + 1))
        self.bearer, self.bearer_count = class_ids(columns, table.n)
        first = first_of_each(self.bearer, self.bearer_count)
        persons = table.person is not None
        self.bearers = Records(
            columns=np.ascontiguousarray(records.columns[:, first]),
            person=records.person[first] if persons else records.person,
            pair=np.ascontiguousarray(records.pair[:, first]) if persons else records.pair,
            start=records.start,
        )
        self.totals = TableModels(table, models).totals

    def accepts(self, classes: Frequencies) -> bool:
        """Whether every class satisfies every model; all are large enough."""
        if self.by_size:
            return True
        failing = first_failing(classes, self.rules, self.bearers, self.tally, 0)
        while failing >= 0 and not self.exact and self._holds(classes, failing):
            failing = first_failing(classes, self.rules, self.bearers, self.tally, failing + 1)
        return bool(failing < 0)

    def _holds(self, classes: Frequencies, number: int) -> bool:
        """Whether a class satisfies the models after all: kernels fail what floats cannot tell."""
        columns = [self._histogram(classes, number, s) for s in range(len(self.table.sensitive))]
        return bool(
            satisfied(self.models, known_sizes(classes.size[number : number + 1]), columns).all()
        )

    def _histogram(self, classes: Frequencies, number: int, s: int) -> ClassHistograms:
        """One class as the models read it, for one sensitive column."""
        column = self.table.sensitive[s]
        points = slice(classes.offsets[number], classes.offsets[number + 1])
        counts = np.zeros(column.size, dtype=np.int64)
        values = self.bearers.columns[s, classes.bearer[points]]
        np.add.at(counts, values, classes.weight[points])
        values = np.flatnonzero(counts)
        return ClassHistograms(
            sizes=classes.size[number : number + 1],
            offsets=np.array([0, len(values)]),
            values=values,
            counts=counts[values],
            domain=column.size,
            ordered=column.ordered,
            numbers=column.numbers,
            table=self.totals[s],
            exempt=column.exempt,
        )


class _Store:
    """Frequency sets to roll others up from; the lowest node's is always there, and first."""

    def __init__(self, lowest: Frequencies, attributes: int) -> None:
        self.sets = [lowest]
        self.nodes = np.zeros((MOST_SETS, attributes), dtype=np.int64)
        self.classes = np.full(MOST_SETS, len(lowest.size), dtype=np.int64)
        self.points = 0

    def below(self, node: Integers) -> Frequencies:
        """The frequency set with the fewest classes that the node's can be made of."""
        smallest = int(smallest_below(self.nodes, self.classes, len(self.sets), node))
        return self.sets[smallest]

    def keep(self, node: Integers, classes: Frequencies) -> None:
        if self.points > MOST_POINTS or len(self.sets) == MOST_SETS:
            self._drop_large_ones()
        self.nodes[len(self.sets)] = node
        self.classes[len(self.sets)] = len(classes.size)
        self.sets.append(classes)
        self.points += len(classes.bearer)

    def _drop_large_ones(self) -> None:
        """Keep the smaller half, which costs little room and saves most work."""
        count = len(self.sets)
        small = 1 + np.argsort(self.classes[1:count], kind="stable")[: (count - 1) // 2]
        kept = np.concatenate([[0], np.sort(small)])
        self.sets = [self.sets[i] for i in kept]
        self.nodes[: len(kept)] = self.nodes[kept]
        self.classes[: len(kept)] = self.classes[kept]
        self.points = sum(len(classes.bearer) for classes in self.sets[1:])


def _flattened(
    free_levels: Sequence[AttributeLevels], shape: Sequence[int]
) -> tuple[Levels, Lattice]:
    """The levels of all attributes and their combinations, as kernels take them."""
    most = max(shape, default=1)
    start = np.zeros((len(shape), most), dtype=np.int64)
    count = np.ones((len(shape), most), dtype=np.int64)
    growth = np.zeros((len(shape), most))
    parts: list[Blocks] = [np.zeros(0, dtype=np.int32)]
    filled = 0
    for a, each in enumerate(free_levels):
        for level, blocks in enumerate(each.blocks):
            start[a, level], count[a, level] = filled, blocks[-1] + 1
            growth[a, level] = count[a, max(0, level - 1)] / count[a, level]
            parts.append(blocks)
            filled += len(blocks)
    stride = [math.prod(shape[a + 1 :]) for a in range(len(shape))]
    lattice = Lattice(np.array(shape, dtype=np.int64), np.array(stride, dtype=np.int64), growth)
    return Levels(np.concatenate(parts), start, count), lattice


def _distinct(
    table: EncodedTable, free: Sequence[int], test: _ClassTest
) -> tuple[NDArray[np.int32], Frequencies]:
    """The distinct tuples of codes, one a row, and the frequency set of the lowest node."""
    ids, count = class_ids(table.columns(free), table.n)
    pairs, points = class_ids([(ids, count), (test.bearer, test.bearer_count)], table.n)
    first = first_of_each(pairs, points)
    order = np.argsort(ids[first], kind="stable")
    first = first[order]
    frequencies = Frequencies(
        example=np.arange(count, dtype=np.int32),
        size=np.bincount(ids, minlength=count).astype(np.int64),
        offsets=np.searchsorted(ids[first], np.arange(count + 1)).astype(np.int64),
        bearer=test.bearer[first].astype(np.int32),
        weight=np.bincount(pairs, minlength=points)[order].astype(np.int64),
    )
    rows = first_of_each(ids, count)
    tuples = np.zeros((count, len(free)), dtype=np.int32)
    for j, a in enumerate(free):
        tuples[:, j] = table.codes[a][rows]
    return tuples, frequencies


def _rolled(source: Frequencies, ids: Integers, size: Integers, bearers: int) -> Frequencies:
    rolled = Frequencies(
        example=np.empty(len(size), dtype=np.int32),
        size=size,
        offsets=np.empty(len(size) + 1, dtype=np.int64),
        bearer=np.empty(len(source.bearer), dtype=np.int32),
        weight=np.empty(len(source.bearer), dtype=np.int64),
    )
    points = roll_up(source, ids, bearers, rolled)
    return rolled._replace(
        bearer=rolled.bearer[:points].copy(), weight=rolled.weight[:points].copy()
    )


def _lowest_of(passing: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """The passing nodes none of whose neighbours below passes."""
    lowest = passing.copy()
    for axis in range(passing.ndim):
        above = np.moveaxis(lowest, axis, 0)[1:]
        above &= ~np.moveaxis(passing, axis, 0)[:-1]
    return lowest

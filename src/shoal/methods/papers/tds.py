"""Top-down specialisation: coarse domains, refined while every class stays safe.

Fung, Wang and Yu, "Top-down specialization for information and privacy
preservation" (ICDE 2005), with any model in place of k-anonymity: the
single-dimensional baseline of paper 000, section 6.2.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from shoal.encoding.codebook import SET, SPAN, Attribute
from shoal.encoding.table import Domain, EncodedTable, Partition, Recoding
from shoal.errors import NotFoundError
from shoal.kernels.costs import range_losses
from shoal.kernels.group_check import new_group_check
from shoal.kernels.grouping import sort_by_id
from shoal.kernels.papers.tds import (
    Gauge,
    bits_of_children,
    bits_of_splits,
    check_children,
    check_splits,
    divide,
    gather,
    new_gathered,
    reached_by_all,
)
from shoal.kernels.random import seed_words
from shoal.methods.base import Method, Options, Outcome, Run
from shoal.metrics.loss import gcp
from shoal.models import needs_sensitive, rules_for
from shoal.models.base import Model

__all__ = ["TDS", "Cut", "TDSOptions", "children_of", "drawn_factors"]

FINE = 1e9
"""Scores are compared to nine digits: what differs by rounding only is equal."""
DRAWS, DRAWN = 4, 0.1
"""So many cuts are made, each with gains that are up to so much lower, by the seed. The one of
most gain instead of least loss loses up to two percent more (ACS, k = 5 and 10)."""

Integers = NDArray[np.int64]
Floats = NDArray[np.float64]


class TDSOptions(Options):
    """Options of `tds`."""

    score: Literal["divergence", "loss", "information"] = "divergence"
    """What a step gains: a closer distribution, less loss, or the sensitive values foretold."""
    cautious: bool = False
    """Divide the gain by 1 + the fall of the k or l reached, so that k or l fall slowly."""


class TDS(Method[TDSOptions]):
    """Greedy refinement of one domain an attribute.

    At first every attribute is one block of all its values. A step divides one
    block: a node of a hierarchy into its children; a range of numbers, dates or
    ranks in two, at any point; other categorical values (and flat hierarchies)
    into single values; a block with missing values into these and the rest. Of
    the steps that leave every class safe the one with the highest score is
    taken, the first attribute and lowest code of equals, until there is none.

    Whoever knows all other records could do the same with every value of the last one. So
    every step's gain is lowered by up to a tenth, drawn from the secret seed: it decides
    among steps that are nearly as good. Of four such cuts the one that loses least is taken.

    Gains are totals over the records of the block, times the attribute's weight.
    ``divergence`` is the fall of the KL divergence of the attribute together with
    the sensitive column, in bits; ``loss`` is the fall of the NCP; ``information``
    is the fall of the sensitive column's entropy, the InfoGain of Fung et al.
    (without a sensitive column: ``loss``). On projections of ACS to four
    attributes ``divergence`` has the least KL divergence and cautious ``loss``
    the least GCP at nearly every l; ``information`` loses more of both.
    """

    name = "tds"
    summary = "Refines one coarse domain an attribute, step by step."
    promise = (
        "Every model holds in every class. Single-dimensional: the released values of an "
        "attribute do not overlap, so statistics packages can take them for its domain."
    )
    options = TDSOptions
    always_looks = True  # what a step tells about sensitive values is in its score
    baseline = True
    drawn = "which of nearly equally good steps are taken"
    recodings = ("generalise",)

    def run(
        self, table: EncodedTable, models: Sequence[Model], options: TDSOptions, run: Run
    ) -> Outcome:
        """See `Method.run`."""
        rng = np.random.default_rng(seed_words(run.seed, "tds"))
        cut: Cut | None = None
        least = (True, np.inf)
        for draw in range(DRAWS):
            other = Cut(table, models, options, drawn_factors(table, rng))
            while other.specialise():
                run.progress(draw * len(other.gain) + other.steps, DRAWS * len(other.gain))
            worth = (not other.safe, gcp(table, other.recoding()))
            if cut is None or worth < least:
                cut, least = other, worth
        assert cut is not None
        if not cut.safe:
            raise NotFoundError(
                "tds: no release was found: the table as one class breaks a model (which can "
                "happen where persons are counted), and so does every first step; "
                "choose another method"
            )
        blocks = {axis.column.name: axis.blocks for axis in cut.axes}
        return Outcome(cut.recoding(), {"specialisations": cut.steps, "blocks": blocks})


def drawn_factors(table: EncodedTable, rng: np.random.Generator) -> Floats:
    """What the gain of a division at each code of all attributes is multiplied by."""
    return 1 - DRAWN * rng.random(sum(column.size for column in table.qi))


@dataclass(eq=False)
class _Block:
    """A cut value: neighbouring codes that are published alike."""

    low: int
    high: int
    children: Integers | None
    """Where the blocks begin that it can be divided into; None: anywhere, in two."""
    checked: int = -1
    """After how many steps its divisions were last checked."""


class _Axis:
    """One attribute: its records in order of their codes, and its blocks."""

    def __init__(self, column: Attribute, codes: NDArray[np.int32], start: int) -> None:
        self.column = column
        self.codes = codes
        self.start = start
        """Where its codes begin in the arrays of `Cut`."""
        self.changed = 0
        """The last step that divided classes of other attributes' blocks."""
        self.block_of: list[_Block] = [_Block(0, column.size - 1, None)] * column.size
        self.order = np.empty(len(codes), dtype=np.int64)
        self.offsets = np.empty(column.size + 1, dtype=np.int64)
        sort_by_id(codes.astype(np.int64), self.offsets, self.order)

    def records(self, block: _Block) -> Integers:
        """Records of a block in order of their codes."""
        return self.order[self.offsets[block.low] : self.offsets[block.high + 1]]

    def places(self, block: _Block) -> slice:
        """Where the divisions of a block stand in the arrays of `Cut`."""
        first = self.start + block.low
        return slice(first, first + (block.high - block.low if block.children is None else 1))

    def child_of(self, starts: Integers) -> Integers:
        """For each code how many of the starts are not above it."""
        marks = np.zeros(self.column.size, dtype=np.int64)
        marks[starts] = 1
        return np.cumsum(marks)

    @property
    def blocks(self) -> int:
        return len({block.low for block in self.block_of})

    def domain(self) -> Domain:
        starts = sorted({block.low for block in self.block_of})
        return Domain.of_starts(np.array(starts), self.column.size)

    @cached_property
    def levels(self) -> list[NDArray[np.int32]]:
        """For each level of the hierarchy, from the root down, the node of each leaf."""
        tree = self.column.hierarchy
        return [] if tree is None else [tree.generalize(i)[1] for i in range(tree.height, -1, -1)]


def children_of(
    column: Attribute, low: int, high: int, levels: Sequence[NDArray[np.int32]]
) -> Integers | None:
    """Where the blocks begin that a block can be divided into; None: anywhere, in two.

    ``levels`` are the nodes of each leaf from the root of the hierarchy down.
    """
    present = column.present
    if column.form == SET or (column.form == SPAN and column.hierarchy is not None):
        return np.arange(low, high + 1)
    if low < present <= high:
        return np.array([low, present])
    for nodes in levels:
        if low < high and nodes[low] != nodes[high]:
            return low + np.flatnonzero(np.diff(nodes[low : high + 1], prepend=-1))
    return None


class Cut:
    """The blocks of all attributes, the classes they make, and what may be divided next.

    A division is kept at the last code before it (one into children at the first
    code of the block), in arrays over the codes of all attributes. Its gain does
    not depend on the classes. Whether it is allowed, and the level of privacy it
    reaches, do: they only ever fall, so they are looked up again only for the
    division that comes out best.
    """

    def __init__(
        self,
        table: EncodedTable,
        models: Sequence[Model],
        options: TDSOptions,
        factors: Floats,
    ) -> None:
        self.table = table
        self.options = options
        self.factors = factors
        self.check = new_group_check(table, rules_for(table.codebook, models))
        self.by_value = needs_sensitive(models)
        self.safe, self.reached = reached_by_all(self.check, self.by_value, table.n)
        self.steps = 0
        self.class_of = np.zeros(table.n, dtype=np.int64)
        self.classes = 1
        self.gathered = new_gathered(table.n)
        starts = np.cumsum([0, *(column.size for column in table.qi)]).tolist()
        self.gain = np.zeros(starts[-1])
        self.level = np.zeros(starts[-1])
        self.open = np.zeros(starts[-1], dtype=np.bool_)
        self.axes = [
            _Axis(column, codes, at)
            for column, codes, at in zip(table.qi, table.codes, starts, strict=False)
        ]
        counts = np.arange(table.n + 1, dtype=np.float64)
        ordered = counts * np.log2(np.maximum(counts, 1))
        self.gauge = Gauge(ordered, options.score == "divergence")
        for axis in self.axes:
            self._begin(axis, 0, axis.column.size - 1)

    def recoding(self) -> Recoding:
        """The classes, and the domains that their values are published in."""
        domains = tuple(axis.domain() for axis in self.axes)
        return Recoding.single(Partition.from_group_ids(self.class_of), len(self.axes), domains)

    def specialise(self) -> bool:
        """Take the best allowed step; False if there is none."""
        while True:
            best = self._best()
            if best < 0:
                return False
            axis = next(x for x in reversed(self.axes) if x.start <= best)
            block = axis.block_of[best - axis.start]
            if block.checked >= axis.changed:
                self._divide(axis, block, best)
                return True
            self._check(axis, block)

    def _best(self) -> int:
        """The division of the highest score, as far as is known; -1 if none is open."""
        score = self.gain
        if self.options.cautious:
            score = score / (1 + np.maximum(0, self.reached - self.level))
        known = np.where(self.open, np.rint(score * FINE), -1)
        best = int(np.argmax(known)) if len(known) else -1
        return best if best >= 0 and known[best] >= 0 else -1

    def _begin(self, axis: _Axis, low: int, high: int) -> None:
        """A new block with its divisions, which are still to be checked."""
        block = _Block(low, high, children_of(axis.column, low, high, axis.levels))
        axis.block_of[low : high + 1] = [block] * (high + 1 - low)
        self.open[axis.start + low : axis.start + high + 1] = False
        if low < high:
            places = axis.places(block)
            worth = axis.column.weight / self.table.n
            gains = worth * np.maximum(0, self._gains(axis, block))
            self.gain[places] = gains * self.factors[places]
            self.level[places] = np.inf
            self.open[places] = True

    def _check(self, axis: _Axis, block: _Block) -> None:
        """Find out which divisions of a block are allowed, and what they reach."""
        codes, places = axis.codes, axis.places(block)
        found = gather(axis.records(block), self.class_of, self.gathered)
        if block.children is None:
            count = block.high - block.low
            broken = np.zeros(count + 1, dtype=np.int64)
            least = np.full((count.bit_length(), count), np.inf)
            check_splits(
                self.gathered, found, codes, block.low, self.check, self.by_value, broken, least
            )
            self.open[places] &= broken[:-1] == 0
            self.level[places] = least[0]
        else:
            child = axis.child_of(block.children)
            allowed, least = check_children(
                self.gathered, found, codes, child, self.check, self.by_value
            )
            self.open[places] = allowed
            self.level[places] = least
        block.checked = self.steps

    def _divide(self, axis: _Axis, block: _Block, place: int) -> None:
        """Take a step: divide a block and the classes in it."""
        starts = block.children
        if starts is None:
            starts = np.array([block.low, place - axis.start + 1])
        found = gather(axis.records(block), self.class_of, self.gathered)
        child, codes = axis.child_of(starts), axis.codes
        self.classes = divide(self.gathered, found, codes, child, self.class_of, self.classes)
        self.reached = min(self.reached, self.level[place])
        self.safe = True
        self.steps += 1
        for other in self.axes:
            if other is not axis:  # its other blocks share no class with this one
                other.changed = self.steps
        for low, beyond in _ranges(starts, block.high):
            self._begin(axis, low, beyond - 1)

    def _gains(self, axis: _Axis, block: _Block) -> Floats:
        """What each division of a block gains, as a total over its records."""
        by_loss = self.options.score == "loss"
        if by_loss or not (self.table.sensitive or self.gauge.spread):
            return self._loss_gains(axis, block)
        places = axis.places(block)
        bits = np.zeros(places.stop - places.start)
        part, codes = axis.records(block), axis.codes
        columns = self.table.sensitive_columns()
        for column, values in columns or [(np.zeros(self.table.n, dtype=np.int32), 1)]:
            kind = (column, values, self.gauge)
            if block.children is None:
                bits_of_splits(part, codes, block.low, block.high, *kind, bits)
            else:
                bits += bits_of_children(part, codes, block.children, block.high, *kind)
        return bits

    def _loss_gains(self, axis: _Axis, block: _Block) -> Floats:
        """Fall of the NCP."""
        low, beyond = block.low, block.high + 1
        whole = self._losses(axis, np.array([low]), np.array([beyond]))
        if block.children is None:
            middle = np.arange(low + 1, beyond)
            lower = self._losses(axis, np.full_like(middle, low), middle)
            after = lower + self._losses(axis, middle, np.full_like(middle, beyond))
        else:
            ends = np.append(block.children[1:], beyond)
            after = self._losses(axis, block.children, ends).sum(keepdims=True)
        return whole - after

    def _losses(self, axis: _Axis, low: Integers, beyond: Integers) -> Floats:
        """NCP of blocks, times their records."""
        losses = np.empty(len(low))
        range_losses(self.table.costs, self.axes.index(axis), low, beyond - 1, losses)
        return losses * (axis.offsets[beyond] - axis.offsets[low])


def _ranges(starts: Integers, high: int) -> Iterator[tuple[int, int]]:
    """First code and the code behind the last, of blocks that begin at the starts."""
    yield from zip(starts.tolist(), [*starts[1:].tolist(), high + 1], strict=True)

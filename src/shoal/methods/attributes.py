"""Suppress whole attributes, as few or as light as can be: exact.

Paper 001, section 3.1, shows the problem to be hard; a table has few attributes
though, and keeping more of them only divides classes further. So a set that
fails speaks against all its supersets. The search tests the best set that
nothing speaks against yet; if it fails, records of failing classes are witnesses
against many more sets; the first that passes is optimal. (In other words: the
suppressed attributes hit all minimal failing sets, found one after the other.)
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from shoal.clock import NO_LIMIT, Limit
from shoal.encoding.classes import class_ids, first_of_each
from shoal.encoding.codebook import Attribute
from shoal.encoding.table import Domain, EncodedTable, Partition, Recoding
from shoal.errors import PolicyError
from shoal.kernels.attributes.lattice import (
    agreements,
    forbid_small,
    forbid_supersets,
    next_allowed,
    subset_sums,
)
from shoal.kernels.random import seed_words
from shoal.methods.base import AMONG_EQUALS, Method, Options, Outcome, Run
from shoal.methods.leaving_out import Fit, least_within, proof_within, recoding_at
from shoal.methods.levels import AttributeLevels
from shoal.models import TableModels, needs_sensitive, satisfied_classes
from shoal.models.base import Model

__all__ = ["Attributes", "AttributesOptions", "Found", "fewest_suppressed"]

LARGEST_LATTICE = 22
"""Attributes up to which every set gets a flag: four million of them."""
WITNESSES = 8
"""Records of failing classes that are heard after each test."""
LARGEST_SUM = 2**62
"""Sums of prizes stay below."""
Integers = NDArray[np.int64]


@dataclass(frozen=True)
class Found:
    """The attributes that are kept, by number, and how many sets were tested."""

    kept: tuple[int, ...]
    tests: int
    hoped: tuple[int, ...] | None = None
    """Where the time was up: the best set that nothing speaks against yet. None is better."""


class AttributesOptions(Options):
    """Options of `attributes`."""

    time_limit: float = Field(default=60.0, gt=0, allow_inf_nan=False)
    """Seconds after which the search stops, with a set that serves and what is proven by then."""


class Attributes(Method[AttributesOptions]):
    """The least set of attributes to suppress, found exactly."""

    name = "attributes"
    summary = "Suppresses whole attributes, provably the fewest (or the least by weight)."
    promise = (
        "Every model holds in every class of the attributes that are kept as they are. No smaller "
        "set of suppressed attributes would do, nor one of less weight where weights are given; "
        "of equally good ones that with the fewest different values lost. If the time is up "
        "before that is proven, the release says what is."
    )
    options = AttributesOptions
    drawn = AMONG_EQUALS
    recodings = ("suppress",)
    grows_classes = True
    keeps_parts = True

    def run(
        self, table: EncodedTable, models: Sequence[Model], options: AttributesOptions, run: Run
    ) -> Outcome:
        """See `Method.run`."""
        limit = Limit.after(options.time_limit)
        found = fewest_suppressed(table, models, limit, run.seed)
        ids, _ = class_ids(table.columns(found.kept), table.n)
        partition = Partition.from_group_ids(ids)
        domains = tuple(
            None if a in found.kept else _everything(c.size) for a, c in enumerate(table.qi)
        )
        recoding = Recoding.single(partition, len(table.qi), domains)
        names = [c.name for c in table.qi]
        suppressed = [name for a, name in enumerate(names) if a not in found.kept]
        facts = {
            "suppressed": suppressed,
            "kept": [names[a] for a in found.kept],
            "tests": found.tests,
        }
        return Outcome(recoding, facts, proof=_proof(table, models, found))

    def leave_out(
        self,
        table: EncodedTable,
        models: Sequence[Model],
        options: Options,
        run: Run,
        most: int,
        fit: Fit | None,
    ) -> tuple[Integers, Outcome]:
        """See `Method.leave_out`."""
        if len(table.qi) > LARGEST_LATTICE:
            raise PolicyError(
                f"method attributes: with max_suppressed, expected at most {LARGEST_LATTICE} "
                f"quasi-identifiers; got {len(table.qi)}"
            )
        exact_or_nothing = [_two_levels(*each) for each in zip(table.qi, table.counts, strict=True)]
        found = least_within(table, models, exact_or_nothing, most, fit, run.progress)
        rest = table.take(found.kept)
        names = [c.name for c in table.qi]
        facts = {
            "suppressed": [name for name, at in zip(names, found.node, strict=True) if at],
            "kept": [name for name, at in zip(names, found.node, strict=True) if not at],
            "tests": found.asked,
        }
        proof = proof_within("choice of attributes to suppress", models, fit)
        return found.kept, Outcome(recoding_at(rest, exact_or_nothing, found.node), facts, proof)


def fewest_suppressed(
    table: EncodedTable, models: Sequence[Model], limit: Limit = NO_LIMIT, seed: int = 0
) -> Found:
    """The attributes to keep so that the least is suppressed and every class passes.

    The least is the sum of the weights; among equal sums the fewest different
    values of suppressed attributes; then the seed decides.
    A class that passes must still pass with more records (`Method.grows_classes`).
    When the limit has passed, a set is returned to which no attribute can be added, and with
    it the best one that was still hoped for.
    """
    evidence = Evidence(table, models)
    bundles = {
        b[0]: b for b in _in_drawn_order(_bundles(table), seed) if not evidence.against(b[:1])
    }
    free = [a for bundle in bundles.values() for a in bundle]
    prizes = _prizes([table.qi[a].weight for a in free], [table.qi[a].size for a in free])
    prize = dict(zip(free, prizes, strict=True))
    search = _lattice if len(bundles) <= LARGEST_LATTICE else _hitting_sets
    worth = [sum(prize[a] for a in b) for b in bundles.values()]
    best, proven = search(evidence, tuple(bundles), worth, limit, seed)

    def unbundled(firsts: Sequence[int]) -> tuple[int, ...]:
        return tuple(sorted(a for first in firsts for a in bundles[first]))

    if proven:
        return Found(unbundled(best), evidence.tests)
    kept = _one_by_one(evidence, tuple(bundles), worth)
    return Found(unbundled(kept), evidence.tests, hoped=unbundled(best))


def _one_by_one(
    evidence: Evidence, free: tuple[int, ...], prizes: Sequence[int]
) -> tuple[int, ...]:
    """A set to which none can be added: the most worth keeping first."""
    kept: tuple[int, ...] = ()
    for _, a in sorted(zip(prizes, free, strict=True), reverse=True):
        if not evidence.against((*kept, a)):
            kept = (*kept, a)
    return kept


class Evidence:
    """Tests sets of kept attributes, and finds what speaks against them.

    Equal rows are one point where sizes are all that counts. Class sizes are
    looked at first: they are quick, and every model needs some size.
    """

    def __init__(self, table: EncodedTable, models: Sequence[Model]) -> None:
        self.table = table
        self.k = min(table.n, max([1, *(m.smallest_class for m in models)]))
        self.by_size = table.person is None and not needs_sensitive(models)
        ids, count = table.class_ids()
        self.record = first_of_each(ids, count)
        self.weight = np.bincount(ids, minlength=count).astype(np.int64)
        self.codes = np.ascontiguousarray(table.codes[:, self.record].T)
        self.rarity = self._rarities()
        self.tests = 0
        self.asked = TableModels(table, models)

    def _rarities(self) -> NDArray[np.float64]:
        """Sum of the log frequencies of each point's values: the rarest speak against most."""
        rarity = np.zeros(len(self.record))
        for a, share in enumerate(self.table.counts):
            rarity += np.log(np.maximum(share, 1))[self.codes[:, a]]
        return rarity

    def against(self, kept: Sequence[int]) -> list[tuple[int, bool]]:
        """Witnesses against a set: points of failing classes, and whether for their size.

        Empty if every class passes.
        """
        self.tests += 1
        columns = [(self.codes[:, a], self.table.qi[a].size) for a in kept]
        ids, count = class_ids(columns, len(self.record))
        sizes = np.bincount(ids, weights=self.weight, minlength=count)
        failing = np.flatnonzero((sizes < self.k)[ids])
        if len(failing) or self.by_size:
            return [(point, True) for point in self._rarest(failing, ids)]
        return [(point, False) for point in self._failing_models(kept)]

    def _rarest(self, points: Integers, ids: Integers) -> list[int]:
        """A few of the points, the rarest first, no two of one class."""
        points = points[np.argsort(self.rarity[points], kind="stable")[: 16 * WITNESSES]]
        _, first = np.unique(ids[points], return_index=True)
        return [int(p) for p in points[np.sort(first)[:WITNESSES]]]

    def _failing_models(self, kept: Sequence[int]) -> list[int]:
        """Points of the smallest classes that fail a model."""
        ids, count = class_ids(self.table.columns(kept), self.table.n)
        passes = satisfied_classes(self.table, self.asked.models, ids)
        failing = np.flatnonzero(~passes)
        sizes = np.bincount(ids, minlength=count)
        chosen = failing[np.argsort(sizes[failing], kind="stable")[:WITNESSES]]
        point_classes = ids[self.record]
        return [int(np.flatnonzero(point_classes == c)[0]) for c in chosen]

    def conflict(
        self, kept: Sequence[int], point: int, order: Sequence[int] | None = None
    ) -> tuple[int, ...]:
        """A minimal part of the set on which the class of the point fails.

        Attributes are given up in the order given; by default those first that
        divide least, so that few remain.
        """
        row = self.table.codes[:, self.record[point]]
        equal = {a: self.table.codes[a] == row[a] for a in kept}
        needed = list(kept)
        order = order or sorted(kept, key=lambda a: -int(np.count_nonzero(equal[a])))
        for a in order:
            rest = [b for b in needed if b != a]
            if self._class_fails(np.flatnonzero(_all([equal[b] for b in rest], self.table.n))):
                needed = rest
        return tuple(needed)

    def _class_fails(self, rows: Integers) -> bool:
        if len(rows) < self.k:
            return True
        if self.by_size:
            return False
        return not self.asked.satisfied_by(rows)


def _lattice(
    evidence: Evidence,
    free: tuple[int, ...],
    prizes: Sequence[int],
    limit: Limit = NO_LIMIT,
    seed: int = 0,
) -> tuple[tuple[int, ...], bool]:
    """Best set by a flag for every set, from the most worth keeping to the first that passes.

    And whether it does: when the limit has passed it is the first that is not refuted.
    """
    allowed = np.ones(1 << len(free), dtype=np.bool_)
    order = np.argsort(-subset_sums(prizes), kind="stable")
    columns = np.ascontiguousarray(evidence.codes[:, list(free)].T)
    weight = evidence.weight.astype(np.int32)
    masks, counts = np.empty(len(weight), np.int32), np.empty(len(allowed), np.int32)
    place = 0
    while True:
        kept = _members(int(order[place]), free)
        if limit.up:
            return kept, False
        witnesses = evidence.against(kept)
        if not witnesses:
            return kept, True
        for point, for_size in witnesses:
            if for_size:
                agreements(columns, point, weight, masks, counts)
                forbid_small(counts, evidence.k, allowed)
            else:
                conflict = evidence.conflict(kept, point)
                forbid_supersets(sum(1 << free.index(a) for a in conflict), allowed)
        place = next_allowed(order, allowed, place)
        assert place < len(order)  # the whole table satisfies the models


def _hitting_sets(
    evidence: Evidence,
    free: tuple[int, ...],
    prizes: Sequence[int],
    limit: Limit = NO_LIMIT,
    seed: int = 0,
) -> tuple[tuple[int, ...], bool]:
    """Best set by integer programmes: suppress the cheapest that hits all known conflicts.

    And whether it passes: when the limit has passed it is the best for the conflicts known.
    """
    from scipy.optimize import LinearConstraint, milp

    conflicts: dict[tuple[int, ...], None] = {}
    kept = free
    shuffle = np.random.default_rng(seed).permutation
    while witnesses := evidence.against(kept):
        if limit.up:
            return kept, False
        for point, _ in witnesses:
            conflicts[evidence.conflict(kept, point)] = None
            conflicts[evidence.conflict(kept, point, shuffle(kept).tolist())] = None
        rows = np.array([[a in conflict for a in free] for conflict in conflicts], dtype=float)
        solved = milp(
            np.array(prizes, dtype=float) / max(prizes),
            integrality=np.ones(len(free)),
            bounds=(0, 1),
            constraints=LinearConstraint(rows, lb=1),
            options={"mip_rel_gap": 0, "time_limit": limit.left},
        )
        if not solved.success and limit.up:
            return kept, False
        assert solved.success
        kept = tuple(a for a, hit in zip(free, solved.x, strict=True) if hit < 0.5)
    return kept, True


def _bundles(table: EncodedTable) -> list[tuple[int, ...]]:
    """Attributes that divide the records alike: who keeps one can keep them all."""
    bundles: dict[bytes, tuple[int, ...]] = {}
    for a in range(len(table.qi)):
        division = class_ids(table.columns([a]), table.n)[0].astype(np.int32).tobytes()
        bundles[division] = (*bundles.get(division, ()), a)
    return list(bundles.values())


def _in_drawn_order(bundles: list[tuple[int, ...]], seed: int) -> list[tuple[int, ...]]:
    """Bundles in an order that the seed gives them: of equally good ones the first are kept."""
    drawn = np.random.default_rng(seed_words(seed, "attributes")).permutation(len(bundles))
    return [bundles[number] for number in drawn]


def _all(parts: Sequence[NDArray[np.bool_]], n: int) -> NDArray[np.bool_]:
    together = np.ones(n, dtype=np.bool_)
    for part in parts:
        together &= part
    return together


def _members(mask: int, free: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(a for j, a in enumerate(free) if mask >> j & 1)


def _prizes(weights: Sequence[float], sizes: Sequence[int]) -> list[int]:
    """What keeping each attribute is worth: its weight first, then its number of values.

    Whole numbers, so that sums compare exactly. Weights that are far apart and
    of many digits would not fit: those are rounded to nine digits of the largest.
    """
    parts = [Fraction(repr(w)) for w in weights]
    scale = math.lcm(*(p.denominator for p in parts))
    whole = [int(p * scale) for p in parts]
    above = 1 + sum(sizes)
    if sum(whole) * above >= LARGEST_SUM:
        whole = [round(p / max(parts) * 10**9) for p in parts]
    return [w * above + size for w, size in zip(whole, sizes, strict=True)]


def _two_levels(column: Attribute, counts: Integers) -> AttributeLevels:
    """Every value as it is, or none."""
    size = column.size
    exact, nothing = np.arange(size, dtype=np.int32), np.zeros(size, dtype=np.int32)
    blocks = (exact, nothing) if size > 1 else (exact,)
    return AttributeLevels(tuple(range(len(blocks))), blocks)


def _everything(size: int) -> Domain:
    """Every code is published as the whole range."""
    return Domain(np.zeros(size, dtype=np.int32), np.full(size, size - 1, dtype=np.int32))


def _proof(table: EncodedTable, models: Sequence[Model], found: Found) -> str:
    """What is proven of the attributes that are suppressed, in a sentence."""
    asked = " and ".join(map(str, models))
    suppressed = [a for a in range(len(table.qi)) if a not in found.kept]
    if not suppressed:
        return f"nothing is suppressed: the table satisfies {asked} as it is"
    hoped = found.kept if found.hoped is None else found.hoped
    least = [a for a in range(len(table.qi)) if a not in hoped]
    if len({c.weight for c in table.qi}) > 1:
        proven, here = (sum(table.qi[a].weight for a in some) for some in (least, suppressed))
        words = f"no set of suppressed attributes of less weight ({proven:g}) satisfies {asked}"
    else:
        proven, here = float(len(least)), float(len(suppressed))
        words = f"no release that suppresses fewer attributes ({proven:g}) satisfies {asked}"
    return words if proven == here else f"{words}; the time was up, and this one has {here:g}"

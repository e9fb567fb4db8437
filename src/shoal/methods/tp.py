"""TP: exact quasi-identifiers for all but the fewest records, which are suppressed.

Paper 000 (Xiao, Yi, Tao, EDBT 2010), section 5: records with equal
quasi-identifiers are a group; tuples are removed from the groups until each is
l-eligible, then further ones until the removed tuples, the residue set R, are
l-eligible as well. `shoal.kernels.tp.residue` has the three phases; here they meet
tables and models.
"""

# ruff: noqa: E741  (l is the word for it)

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.encoding.exempt import told_apart
from shoal.encoding.table import EncodedTable, Partition, Recoding
from shoal.kernels.random import seed_words
from shoal.kernels.tp import residue as kernels
from shoal.methods.base import AMONG_EQUALS, Method, Options, Outcome, Run
from shoal.models import TableModels, largest_l
from shoal.models.base import Model

__all__ = ["TP", "Separated", "separate", "three_phases"]

Rows = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Separated:
    """Groups that keep their exact quasi-identifiers, and the rest."""

    kept: Partition
    """Of the records that are not in the residue set."""
    residue: Rows
    """Records of R."""
    phase: int
    """The phase of TP that R became l-eligible in."""
    l: int
    least: int
    """No release by suppression that satisfies the models suppresses fewer records."""
    proven: bool = False
    """Whether l-diversity is all that was asked for: then the paper's bounds hold."""

    def partition(self, parts: Partition | None = None) -> Partition:
        """All records; R is one group, or divided into `parts` (numbers within R)."""
        if parts is None:
            parts = Partition.whole(len(self.residue))
        order = np.concatenate([self.kept.order, self.residue[parts.order]])
        ends = parts.offsets[1:][parts.sizes > 0] + len(self.kept.order)
        return Partition(order, np.concatenate([self.kept.offsets, ends]))

    def facts(self) -> dict[str, Any]:
        """Numbers for the manifest."""
        return {
            "l": self.l,
            "phase": self.phase,
            "exact_groups": self.kept.groups,
            "residue_records": len(self.residue),
            "least_suppressed": self.least,
            "proven": self.proven,
        }

    def proof(self, attributes: int) -> str:
        """What is proven of this run; the paper's bounds only where no more than l is asked."""
        l, least, d = self.l, self.least, max(1, attributes)
        if not self.proven:
            best = f"no release by suppression suppresses fewer records ({least:,})"
            return best if len(self.residue) == least else ""
        others = f"{l}-diverse release by suppression"
        more = len(self.residue) - least
        if not more:  # always so in phase 1
            return (
                f"ended in phase {self.phase}: no {others} suppresses fewer records ({least:,}), "
                f"nor fewer than 1/{d} of its stars"
            )
        if self.phase == 2:
            return (
                f"ended in phase 2: at most {more} more suppressed records (never above l - 1 = "
                f"{l - 1}) than the best {others}, which suppresses at least {least:,}"
            )
        ratio = math.ceil(100 * len(self.residue) / least) / 100
        return (
            f"ended in phase 3: fewer than l = {l} times the suppressed records and l * d = "
            f"{l * d} times the stars of the best {others}; here at most {ratio:.2f} times the "
            f"records, as that suppresses at least {least:,}"
        )


class TP(Method[Options]):
    """The three-phase algorithm: linear in the records unless phase three is entered."""

    name = "tp"
    summary = "Stars the fewest records, the others stay exact; proven near the best for l."
    promise = (
        "Every model holds in every group. For l-diversity alone (frequency, one sensitive "
        "column) the suppressed records are proven to be the fewest possible, or at most "
        "l - 1 more, or fewer than l times as many; the release says which."
    )
    options = Options
    drawn = AMONG_EQUALS
    recodings = ("suppress", "generalise")
    leaves_residue = True

    def run(
        self, table: EncodedTable, models: Sequence[Model], options: Options, run: Run
    ) -> Outcome:
        """See `Method.run`."""
        found = separate(table, models, run.seed)
        run.progress(1, 1)
        recoding = Recoding.single(found.partition(), len(table.qi))
        return Outcome(recoding, found.facts(), found.proof(len(table.qi)))


def separate(table: EncodedTable, models: Sequence[Model], seed: int | None = None) -> Separated:
    """TP for the tightest l that is asked for, then whatever else the models want.

    Where they want no more than one l of one column, the paper's bounds hold.
    Otherwise groups that fail a model are dissolved into R, and if R fails one,
    further groups, the smallest first; at worst R is the whole table.

    Of equally good groups, and of equally frequent values, those with the lowest numbers
    come first: the numbers are drawn from the seed, if there is one, so that the records alone
    do not decide.
    """
    codes, values, l, exact = _diversity(table, models)
    ids, groups = table.class_ids()
    if seed is not None:
        rng = np.random.default_rng(seed_words(seed, "tp"))
        ids = rng.permutation(groups)[ids]
        codes = rng.permutation(values).astype(np.int32)[codes]
    found = three_phases(ids, groups, codes, values, l)
    alike = all(m.size_and_cap for m in models)
    smallest = max([1, *(m.smallest_class for m in models)])
    alone = table.person is None and len(table.sensitive) <= 1
    if exact and alike and alone and smallest <= l:
        return replace(found, proven=True)
    least = max(_in_small_groups(ids, smallest), found.least if exact else 0)
    if not (alike and alone and smallest <= l):
        found = _dissolve(found, TableModels(table, models))
    return replace(found, least=least)


def _in_small_groups(ids: NDArray[np.int64], smallest: int) -> int:
    """Records in groups too small to stay as they are; if any, as many as make a group."""
    sizes = np.bincount(ids)
    records = int(sizes[sizes < smallest].sum())
    return max(records, smallest) if records else 0


def three_phases(
    ids: NDArray[np.int64], groups: int, codes: NDArray[np.int32], values: int, l: int
) -> Separated:
    """TP on the groups of equal `ids`, for the sensitive values `codes` (paper 000, section 5).

    The lower bound holds by the proofs of its Corollaries 1 and 2: whatever is
    published, as many records as phase one removes are suppressed, among them
    as many of each value, and together they are l-eligible.
    """
    n = len(ids)
    highest = int(np.bincount(codes, minlength=1).max())
    assert l * highest <= n, "the table must be l-eligible"
    order = kernels.sorted_records(ids, groups, codes, values)
    piles, first = kernels.piles_of(ids, groups, codes, values, order)
    kernels.shave(piles, l, np.zeros(highest + 1, dtype=np.int64))
    least = max(int(piles.size[-1]), l * int(piles.top[-1]))
    phase = 1
    if piles.size[-1] < l * piles.top[-1]:
        phase = 2
        ranks = kernels.ranks_of(piles, highest)
        kernels.ease(piles, ranks, l, kernels.candidates_of(piles), n)
        if piles.size[-1] < l * piles.top[-1]:
            phase = 3
            kernels.overhaul(piles, ranks, l, kernels.new_cover(piles), n)
    assert (piles.size >= l * piles.top).all(), "every group and R must be l-eligible"
    kept, residue = _records(piles, first, order)
    return Separated(kept, residue, phase, l, least)


def _records(piles: kernels.Piles, first: Rows, order: Rows) -> tuple[Partition, Rows]:
    kept, removed = np.empty_like(order), np.empty_like(order)
    offsets = np.empty(len(piles.size), dtype=np.int64)
    groups, staying = kernels.divide(piles, first, order, kept, offsets, removed)
    partition = Partition(kept[:staying], offsets[: groups + 1])
    return partition, removed[: len(order) - staying]


def _diversity(
    table: EncodedTable, models: Sequence[Model]
) -> tuple[NDArray[np.int32], int, int, bool]:
    """Codes and size of the column that is hardest to spread, its l, and whether l is exact.

    It is not where alpha is no 1/l (then a stricter l is taken), or persons are
    counted, not records: such a run proves nothing about other releases.
    """
    asked = max([1, *(m.values_by_cap for m in models)])
    if asked == 1 or not table.sensitive:
        return np.zeros(table.n, dtype=np.int32), 1, 1, table.person is None
    columns = told_apart(table)
    reach = [largest_l(np.bincount(codes)) for codes, _ in columns]
    codes, size = columns[int(np.argmin(reach))]
    rounded = all(m.cap.numerator > 1 for m in models if m.values_by_cap == asked)
    l = min(asked, *reach)  # with persons the records alone may reach less
    return codes, size, l, not rounded and table.person is None


def _dissolve(found: Separated, asked: TableModels) -> Separated:
    """Groups that fail are put into R; while R fails, so are others, the smallest first."""
    kept, residue = found.kept, found.residue
    if kept.groups:
        passed = asked.satisfied(kept.order, np.repeat(np.arange(kept.groups), kept.sizes))
        residue = np.concatenate([residue, _chosen(kept, np.flatnonzero(~passed)).order])
        kept = _chosen(kept, np.flatnonzero(passed))
    if not len(residue) or asked.satisfied_by(residue):
        return replace(found, kept=kept, residue=residue)
    kept = _chosen(kept, np.argsort(kept.sizes, kind="stable"))

    def grown(groups: int) -> Rows:
        return np.concatenate([residue, kept.order[: kept.offsets[groups]]])

    enough = _fewest(kept.groups, lambda groups: asked.satisfied_by(grown(groups)))
    left = _chosen(kept, np.arange(enough, kept.groups))
    return replace(found, kept=left, residue=grown(enough))


def _fewest(most: int, suffices: Callable[[int], bool]) -> int:
    """About the smallest number that suffices; 0 does not, `most` is the last resort."""
    failing, passing = 0, 1
    while passing < most and not suffices(passing):
        failing, passing = passing, 2 * passing
    passing = min(passing, most)
    while passing - failing > 1:
        middle = (failing + passing) // 2
        if suffices(middle):
            passing = middle
        else:
            failing = middle
    return passing


def _chosen(partition: Partition, groups: NDArray[np.int64]) -> Partition:
    """These groups of a partition, in this order."""
    sizes = partition.sizes[groups]
    offsets = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    shift = np.repeat(partition.offsets[groups] - offsets[:-1], sizes)
    return Partition(partition.order[shift + np.arange(offsets[-1])], offsets)

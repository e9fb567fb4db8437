"""k-anonymity by suppression, provably near the fewest stars: a greedy cover.

Paper 001 (Meyerson and Williams, PODS 2004), section 4: cover the records with
sets of at least k, the cheapest per new record first, then Reduce the cover to a
partition. Three families of sets, the paper's own in `shoal.methods.papers.cover_families`:

- ``subsets``: all sets of k to 2k-1 records, by diameter (section 4.2);
- ``balls``: around every record, by radius (section 4.3);
- ``patterns``: records that agree on some attributes, by the number of the others.
  Each group of a release is part of the pattern of what it keeps, at the same cost
  (Park and Shim, SIGMOD 2007, start from the same thought).

What is proven. Groups of an optimal release may be taken to have k to 2k-1
records. Let C be the weight of the greedy cover, spread over the records as each
was covered, and H(m) = 1 + 1/2 + ... + 1/m. The records of a group T then carry at
most H(|T|) w(T), where w(T) is the least weight of a set of the family around T, and
T has at least |T| w(T) stars. As m / H(m) grows with m, the fewest stars are at
least ``k C / H(k)``, in all three families: only the records of T count, not those
of the set around it, so that no ln(largest set) comes in.

On the other side a group of m records has at most m w stars by patterns,
m * m / 2 * w by subsets, m * m * w by balls (summed over the sets it was joined
from). The first bound needs no proof. For subsets: an attribute that is not
constant differs in at least m - 1 of the m (m - 1) / 2 pairs. (Lemma 4.1 of the paper
has m (m - 1) / 2 * w, which fails for two records that differ once: 2 stars, not 1.)
For balls: it differs from the centre at least once. With m <= 2k - 1 the factors
follow that `Family.factor` holds.

Another bound is better in practice: a record has at least as many stars as the
narrowest pattern of k records around it leaves attributes open.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from shoal.encoding.classes import first_of_each
from shoal.encoding.table import EncodedTable, Partition, Recoding
from shoal.errors import PolicyError
from shoal.kernels.cover.greedy import (
    Groups,
    Points,
    group_repeated,
    new_choice,
    new_groups,
    new_points,
    new_queue,
)
from shoal.kernels.cover.patterns import cover_by_patterns, least_open, new_patterns
from shoal.kernels.grouping import group_extents
from shoal.methods import load
from shoal.methods.base import Method, Options, Outcome, Run
from shoal.methods.curve import drawn_curve
from shoal.methods.merging import merge_along
from shoal.models import needs_sensitive, union_closed
from shoal.models.base import Model

__all__ = [
    "ELSEWHERE",
    "FAMILIES",
    "Cover",
    "CoverOptions",
    "Covered",
    "Family",
    "Task",
    "cover_table",
    "family_of",
    "harmonic",
    "stars_of",
]

MOST_PATTERNS = 50_000_000
"""Different rows times 2**attributes of family ``patterns``: 1.5 GB, some 10 seconds."""
ELSEWHERE = "choose method tp+ or hilbert with recoding = suppress"

Name = Literal["patterns", "subsets", "balls"]


class CoverOptions(Options):
    """Options of `cover`."""

    family: Name | None = None
    """Sets to cover with: patterns, subsets, balls; by default the first that the table allows."""


@dataclass(frozen=True, eq=False)
class Covered:
    """A partition, and what it proves about every other."""

    partition: Partition
    lower: int
    """No release with classes of at least k records has fewer stars."""
    family: str
    factor: float
    """What was certain before the work: stars are at most this many times the fewest."""
    weight: int
    """Of the greedy cover."""
    points: int
    """Different rows of quasi-identifiers."""


class Cover(Method[CoverOptions]):
    """Greedy cover and Reduce; see the module for what is proven."""

    name = "cover"
    summary = "Suppresses few cells, provably near the fewest; the others stay exact."
    promise = (
        "Every model holds in every group. With recoding = suppress it says how many times the "
        "fewest possible stars the release has at most; for k-anonymity never more than "
        "(2k-1)/k (1 + 1/2 + ... + 1/k) by patterns. Weights of attributes are not looked at."
    )
    options = CoverOptions
    recodings = ("suppress", "generalise")

    def cautions(
        self, table: EncodedTable, models: Sequence[Model], options: CoverOptions
    ) -> list[str]:
        """Weights are not heeded: stars are counted one by one."""
        if len({c.weight for c in table.qi}) < 2:
            return []
        return ["cover counts stars, each the same: the weights enter the loss, not the choice"]

    def run(
        self, table: EncodedTable, models: Sequence[Model], options: CoverOptions, run: Run
    ) -> Outcome:
        """See `Method.run`."""
        k = max([1, *(m.smallest_class for m in models)])
        covered = cover_table(table, min(k, table.n), options.family)
        run.progress(1, 2)
        partition, only_k = covered.partition, True
        if table.person is not None or needs_sensitive(models):
            partition, only_k = (
                merge_along(_along_curve(partition, table, run.seed), table, models),
                False,
            )
        run.progress(2, 2)
        facts: dict[str, Any] = {"family": covered.family, "different_rows": covered.points}
        proof = ""
        if _all_suppressed(table) and union_closed(models, table.person is not None):
            proven, proof = _proven(covered, stars_of(table, partition), k, only_k)
            facts.update(proven)
        return Outcome(Recoding.single(partition, len(table.qi)), facts, proof=proof)


def cover_table(table: EncodedTable, k: int, family: Name | None = None) -> Covered:
    """Groups of at least k records by a greedy cover.

    Parameters
    ----------
    table : EncodedTable
        The records; only equality of codes counts.
    k : int
        Smallest group, at most the number of records.
    family : {"patterns", "subsets", "balls"}, optional
        The sets to cover with; by default the first of them that the table allows.

    Raises
    ------
    PolicyError
        The table is too large for the family, or for all of them.
    """
    task = _task(table, k)
    chosen = family_of(family) if family else _fitting(task)
    if problem := chosen.problem(task):
        raise PolicyError(f"cover: {problem}")
    groups = new_groups(table.n)
    weight, lower = 0, 0
    if k == 1:  # every record is published as it is
        group_repeated(task.points, groups, 1)
    elif table.n:
        weight, one_by_one = chosen.cover(task, groups)
        lower = max(one_by_one, _fewest(weight, k))
    partition = Partition.from_group_ids(groups.of) if table.n else Partition.whole(0)
    assert partition.sizes.sum() == table.n
    assert table.n == 0 or partition.sizes.min() >= k
    factor, points = chosen.factor(k), len(task.points.left)
    return Covered(partition, lower, chosen.name, factor, int(weight), points)


@dataclass(frozen=True, eq=False)
class Task:
    """A table as the families see it."""

    k: int
    points: Points
    total: NDArray[np.int64]
    """Records of each point."""
    sizes: tuple[int, ...]
    """Codes of each attribute."""

    @property
    def attributes(self) -> int:
        return len(self.sizes)

    @property
    def patterned(self) -> bool:
        """Whether the patterns of all points fit into memory."""
        return self.attributes < 30 and len(self.total) << self.attributes <= MOST_PATTERNS


class Family(ABC):
    """Sets that a table can be covered with."""

    name: ClassVar[Name]

    @abstractmethod
    def factor(self, k: int) -> float:
        """How many times the fewest stars a k-anonymous partition has at most."""

    @abstractmethod
    def problem(self, task: Task) -> str | None:
        """Why the table is too large, and what to do; or None."""

    @abstractmethod
    def cover(self, task: Task, groups: Groups) -> tuple[int, int]:
        """Fill the groups; returns the weight of the cover and another lower bound on stars."""


class PatternFamily(Family):
    """Records that agree on some attributes; weight: the number of the others."""

    name = "patterns"

    def factor(self, k: int) -> float:
        return (2 * k - 1) / k * harmonic(k) if k > 1 else 1.0

    def problem(self, task: Task) -> str | None:
        if task.patterned:
            return None
        rows, d = len(task.total), task.attributes
        return (
            f"family patterns keeps {rows:,} different rows x 2**{d} sets of attributes, and "
            f"{MOST_PATTERNS:,} are the most: choose family balls, or {ELSEWHERE}"
        )

    def cover(self, task: Task, groups: Groups) -> tuple[int, int]:
        points, k = task.points, task.k
        group_repeated(points, groups, k)
        patterns = new_patterns(points.codes, task.sizes, task.total, points.left)
        least = np.empty(len(task.total), dtype=np.int64)
        least_open(patterns, k, least)
        queue = new_queue(task.attributes, 2 * k - 1, len(patterns.weight))
        weight = cover_by_patterns(points, groups, patterns, queue, new_choice(k), k)
        return weight, int(least @ task.total)


FAMILIES: dict[Name, str] = {
    "patterns": "shoal.methods.cover:PatternFamily",
    "subsets": "shoal.methods.papers.cover_families:SubsetFamily",
    "balls": "shoal.methods.papers.cover_families:BallFamily",
}
"""Name to "module:class", the smallest proven factor first."""


def family_of(name: Name) -> Family:
    """The family of sets of this name."""
    family: Family = load(FAMILIES[name])()
    return family


def _task(table: EncodedTable, k: int) -> Task:
    """Equal rows collapsed to points, in the order of their codes."""
    ids, count = table.class_ids()
    rows = table.codes[:, first_of_each(ids, count)]
    order = np.lexsort(rows[::-1]) if len(rows) else np.arange(count)
    rank = np.empty(count, dtype=np.int64)
    rank[order] = np.arange(count)
    points = new_points(np.ascontiguousarray(rows[:, order].T), rank[ids])
    return Task(k, points, points.left.copy(), tuple(c.size for c in table.qi))


def _fitting(task: Task) -> Family:
    """The family with the smallest factor that the table allows."""
    for name in FAMILIES:
        family = family_of(name)
        if family.problem(task) is None:
            break
    return family


def harmonic(k: int) -> float:
    """1 + 1/2 + ... + 1/k, rounded up."""
    return math.fsum(1 / i for i in range(1, k + 1)) * (1 + 1e-12)


def _fewest(weight: int, k: int) -> int:
    """Fewest stars that a greedy cover of this weight allows: a whole number, rounded safely."""
    return math.ceil(k * weight / harmonic(k) * (1 - 1e-12))


def stars_of(table: EncodedTable, partition: Partition) -> int:
    """Cells that are suppressed where a group has more than one value of an attribute."""
    stars = 0
    low, high = (np.empty(partition.groups, dtype=np.int32) for _ in range(2))
    for codes in table.codes:
        group_extents(codes, partition.order, partition.offsets, low, high)
        stars += int(partition.sizes[low != high].sum())
    return stars


def _all_suppressed(table: EncodedTable) -> bool:
    """Whether any mix of values is published as a star, so that stars are all there is to lose."""
    return all(c.suppressed for c in table.qi)


def _proven(covered: Covered, stars: int, k: int, only_k: bool) -> tuple[dict[str, Any], str]:
    """What the run proves, as numbers and in a sentence."""
    if stars and not covered.lower:  # sizes ask for no star, other models do: no factor
        return {"stars": stars, "stars_at_least": 0}, ""
    factor = _rounded_up(stars / covered.lower) if stars else 1.0
    facts: dict[str, Any] = {"stars": stars, "stars_at_least": covered.lower, "factor": factor}
    release = f"{k}-anonymous release" if only_k else f"release with classes of {k} or more"
    beforehand = ""
    if only_k:
        facts["factor_beforehand"] = _rounded_up(covered.factor)
        beforehand = f" ({facts['factor_beforehand']} was certain beforehand)"
    if stars == covered.lower:
        return facts, f"no {release} has fewer stars ({stars:,})"
    return facts, (
        f"{stars:,} stars, and no {release} has fewer than {covered.lower:,}: "
        f"at most {factor} times the fewest{beforehand}"
    )


def _rounded_up(factor: float) -> float:
    """To four decimals, so that what is said still holds."""
    return math.ceil(10_000 * factor) / 10_000


def _along_curve(partition: Partition, table: EncodedTable, seed: int) -> Partition:
    """The groups in their order along the Hilbert curve, so that neighbours are similar."""
    rank = np.empty(table.n, dtype=np.int64)
    rank[drawn_curve(table, seed).order] = np.arange(table.n)
    ids = partition.group_ids()
    middle = np.bincount(ids, weights=rank) / partition.sizes
    place = np.empty(partition.groups, dtype=np.int64)
    place[np.argsort(middle, kind="stable")] = np.arange(partition.groups)
    return Partition.from_group_ids(place[ids])

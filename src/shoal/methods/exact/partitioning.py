"""The minimum under k-anonymity and frequency l-diversity, by set partitioning.

A partition is a choice of groups that has every record once: an integer
program with a column for each possible group. Three facts keep it small.

*Groups are small.* Let K be the least multiple of l that is at least k. Every
group of 2K or more records that satisfies k and l splits into two that do, and
as NCP only grows with the group, the two lose no more: groups of fewer than 2K
records suffice. For k alone (K = k, paper 001, section 4.1) any split into two
groups of k or more serves. With l, let n be the size of the group and
q = n // l, which is at least 2K / l; no value has more than q records. Write
q = a + b with l*a >= k and l*b >= k. Of a value with c records let the first
part have between ``max(0, c - b)`` and ``min(c, a)``: then no value has more
than a records in the first part or more than b in the second. The first part
can so have any size from L = sum max(0, c - b) to U = sum min(c, a), and both
parts are l-diverse, and large enough, if it has l*a to n - l*b records. The
two ranges meet: as c <= q, ``min(c, a) >= c*a/q``, so U >= n*a/q >= l*a; in the
same way n - L = sum min(c, b) >= l*b; and l*a + l*b = l*q <= n.

*Equal records are one kind.* Records with equal quasi-identifiers (and equal
sensitive value, where l counts) can be exchanged: a group is a multiset of
kinds, and a partition uses each kind as often as it has copies.

*Most groups are too dear.* Give every kind a price, any number, and call the
loss of a group less the prices of its records its reduced loss. The loss of a
partition is then the sum of all prices plus the reduced losses of its groups.
If no reduced loss is below -e, a partition loses at least the sum of the
prices less e for every group it can have; and a group whose reduced loss
exceeds the distance from this bound to a known partition is in no better one.
Prices that make the bound tight come from the linear relaxation, by column
generation (`shoal.kernels.exact.subsets.search` finds the groups it lacks). HiGHS
solves the integer program over the groups that are left.
"""

# ruff: noqa: E741  (l is the word for it)

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import Bounds, LinearConstraint, linprog, milp
from scipy.sparse import csc_array

from shoal.encoding.classes import class_ids
from shoal.encoding.table import EncodedTable, Partition
from shoal.errors import PolicyError
from shoal.kernels.exact.subsets import FULL, WEARY, Kinds, Sizes, new_found, new_search, search
from shoal.methods.exact import INSTEAD, Deadline, Minimum, floors, group_losses

__all__ = ["count_kinds", "largest_group", "least_groups", "most_kinds"]

Group = tuple[int, ...]
"""Kinds, ascending, each as often as it is in the group."""
Groups = dict[Group, float]
"""Groups with their losses."""

MOST_GROUPS = 300_000
"""Columns of the last integer program."""
STEPS = 400_000_000
"""Kinds that one search from one kind may look at: some ten seconds."""
STEPS_A_SECOND = 40_000_000
"""So many in a second, so that a search ends with the time."""
TOLERANCE = 1e-7
"""Reduced losses above the negative of this count as 0 while columns are generated."""
FINE = 1e4
"""HiGHS ends at an absolute gap of 1e-6: losses that are no integers are multiplied by this."""
SHARES = tuple(2.0**-i for i in range(10, -1, -1))
"""How much of the gap between the known partition and the bound is searched, in turn: the
nearer to the bound, the fewer groups, and a better known partition makes the gap small."""
HIGHS = {"mip_rel_gap": 0.0, "presolve": False}
"""With presolve HiGHS 1.8 (scipy 1.15) calls some partitions optimal that leave out a record,
where equal records make the coefficients larger than 1 (scipy issue 24141, HiGHS issue 1710)."""
NODES = 20
"""Nodes of a search for a better partition, on the way to the best."""


LIMITS = {3: (700, 300), 5: (200, 100), 7: (80, 60), 9: (50, 50)}
"""Distinct records that can be solved in about a minute, by the size of the largest group:
with stars, and with losses that are no whole numbers."""
FEWEST = (40, 40)
"""The same where groups are larger still."""


def most_kinds(table: EncodedTable, k: int, l: int) -> int:
    """Distinct records of a table that is not refused."""
    largest = largest_group(k, l)
    limit = next((most for size, most in LIMITS.items() if largest <= size), FEWEST)
    return limit[0] if all(column.suppressed for column in table.qi) else limit[1]


def count_kinds(table: EncodedTable, l: int) -> int:
    """Distinct records; the sensitive value tells records apart where l counts."""
    columns = table.columns()
    if l > 1:
        columns.append((table.sensitive_codes[0], table.sensitive[0].size))
    return class_ids(columns, table.n)[1]


def largest_group(k: int, l: int) -> int:
    """Records of the largest group that need be looked at: see the module's docstring."""
    return 2 * l * math.ceil(k / l) - 1


@dataclass(frozen=True, eq=False)
class Choice:
    """A partition: its groups, and how often each is used."""

    groups: Groups
    times: Mapping[Group, int]

    @property
    def loss(self) -> float:
        return math.fsum(self.groups[group] * times for group, times in self.times.items())


@dataclass(frozen=True, eq=False)
class Problem:
    """Kinds of records, and the groups of them that count."""

    table: EncodedTable
    sizes: Sizes
    kinds: Kinds
    of_record: NDArray[np.int64]
    """Kind of each record."""

    @classmethod
    def of(cls, table: EncodedTable, k: int, l: int) -> Problem:
        value = table.sensitive_codes[0] if l > 1 else np.zeros(table.n, dtype=np.int32)
        rows = np.vstack([table.codes, value[None]])
        _, first, of_record, copies = np.unique(
            rows, axis=1, return_index=True, return_inverse=True, return_counts=True
        )
        # In the records' own order, which is the seed's: so are minima that are equally good.
        seen = np.argsort(first)
        distinct = rows[:, first[seen]]
        kinds = Kinds(
            codes=np.ascontiguousarray(distinct[:-1]),
            floor=floors(table),
            value=distinct[-1].astype(np.int64),
            copies=copies[seen],
            price=np.zeros(len(copies)),
        )
        sizes = Sizes(max(k, l), largest_group(k, l), l)
        number = np.empty_like(seen)
        number[seen] = np.arange(len(seen))
        return cls(table, sizes, kinds, number[of_record.reshape(-1)])

    @cached_property
    def unit(self) -> float:
        """The losses are multiples of this, as stars are of 1; 0 if there is no such number."""
        stars = all(c.suppressed for c in self.table.qi)
        weights = [c.weight for c in self.table.qi]
        if not stars or not all(float(w).is_integer() for w in weights):
            return 0.0
        return float(math.gcd(*map(int, weights)))

    @property
    def most_groups(self) -> int:
        """No partition has more groups."""
        return self.table.n // self.sizes.smallest

    def groups_of(self, partition: Partition) -> Groups:
        """The groups of a partition as multisets of kinds, with their losses."""
        losses = group_losses(self.table, partition)
        parts = np.split(self.of_record[partition.order], partition.offsets[1:-1])
        return {
            tuple(sorted(part.tolist())): float(loss)
            for part, loss in zip(parts, losses, strict=True)
        }

    def chosen(self, partition: Partition) -> Choice:
        """A partition as the groups of kinds it uses."""
        groups = self.groups_of(partition)
        parts = np.split(self.of_record[partition.order], partition.offsets[1:-1])
        return Choice(groups, Counter(tuple(sorted(part.tolist())) for part in parts))

    def partition(self, choice: Choice) -> Partition:
        """Records to groups of kinds, in the order of the records."""
        records = [
            np.flatnonzero(self.of_record == t).tolist() for t in range(len(self.kinds.copies))
        ]
        ids = np.empty(self.table.n, dtype=np.int64)
        number = 0
        for group, times in sorted(choice.times.items()):
            for _ in range(times):
                for kind in group:
                    ids[records[kind].pop(0)] = number
                number += 1
        assert not any(records), "every record is in a group"
        return Partition.from_group_ids(ids)


def least_groups(
    table: EncodedTable, k: int, l: int, start: Partition, deadline: Deadline
) -> Minimum:
    """The partition with the least loss into groups of k records, at most a 1/l with one value.

    Parameters
    ----------
    table
        The records; with l > 1 its first sensitive column counts.
    k, l
        1 where nothing is asked.
    start
        Any partition that satisfies k and l.
    deadline
        When to give up.
    """
    problem = Problem.of(table, k, l)
    generated, prices, bound = _relaxed(problem, problem.groups_of(start), deadline)
    best = problem.chosen(start)
    searched = 0
    for share in SHARES:
        gap = _gap(problem, best.loss, bound)
        if gap < 0:
            break
        groups = best.groups | _below(problem, prices, share * gap, deadline)
        if share == 1:
            best = _solved(problem, groups, deadline)
        elif len(groups) >= 2 * max(searched, len(prices)):
            best = _improved(problem, groups, best, deadline)
        else:
            continue
        searched = len(groups)
    facts = {"kinds": len(prices), "generated": len(generated), "searched": searched}
    return Minimum(problem.partition(best), {"solver": "partitioning", **facts})


def _gap(problem: Problem, loss: float, bound: float) -> float:
    """How far a partition better than this one can be from the bound; below 0: there is none.

    What is better at all is better by a whole unit. The hair that is added makes
    up for rounding.
    """
    return loss - bound - problem.unit + 1e-7 * max(1.0, loss)


def _relaxed(
    problem: Problem, groups: Groups, deadline: Deadline
) -> tuple[Groups, NDArray[np.float64], float]:
    """Generate groups until the linear relaxation lacks none.

    Returns the groups, the prices of the kinds, and the bound they prove.
    """
    groups = dict(groups)
    while True:
        deadline.check()
        relaxed = linprog(
            _losses(groups),
            A_eq=_matrix(problem, groups),
            b_eq=problem.kinds.copies,
            options={"time_limit": max(0.0, deadline.left)},
        )
        deadline.check()
        if relaxed.status != 0:
            raise PolicyError(f"method optimal: the linear relaxation failed; {INSTEAD}")
        prices: NDArray[np.float64] = relaxed.eqlin.marginals
        better, least = _better(problem, prices, deadline)
        if better.keys() <= groups.keys():
            break
        groups |= better
    bound = float(prices @ problem.kinds.copies) + least * problem.most_groups
    return groups, prices, bound


def _better(
    problem: Problem, prices: NDArray[np.float64], deadline: Deadline
) -> tuple[Groups, float]:
    """Groups of negative reduced loss, the best from each kind on; no reduced loss is lower."""
    return _searched(problem, prices, -TOLERANCE, True, deadline)


def _below(
    problem: Problem, prices: NDArray[np.float64], threshold: float, deadline: Deadline
) -> Groups:
    """Every group whose reduced loss is at most the threshold."""
    return _searched(problem, prices, threshold, False, deadline)[0]


def _searched(
    problem: Problem,
    prices: NDArray[np.float64],
    threshold: float,
    best_only: bool,
    deadline: Deadline,
) -> tuple[Groups, float]:
    """Run `search` from every kind."""
    dearest = np.argsort(-prices, kind="stable")
    kinds = problem.kinds._replace(
        codes=np.ascontiguousarray(problem.kinds.codes[:, dearest]),
        value=problem.kinds.value[dearest],
        copies=problem.kinds.copies[dearest],
        price=prices[dearest],
    )
    walk = new_search(kinds, problem.sizes)
    found = new_found(MOST_GROUPS, problem.sizes.largest)
    least = threshold
    for root in range(len(prices)):
        deadline.check()
        lowest, steps = search(
            problem.table.costs,
            kinds,
            problem.sizes,
            walk,
            root,
            threshold,
            best_only,
            deadline.steps(STEPS_A_SECOND, STEPS),
            found,
        )
        if steps == WEARY:
            deadline.check(foreseen=1.0)
        if steps in (FULL, WEARY):
            raise PolicyError(f"method optimal: too many groups to choose from; {INSTEAD}")
        least = min(least, lowest)
    return {
        tuple(sorted(dearest[found.members[i, : found.size[i]]].tolist())): float(found.loss[i])
        for i in range(found.count[0])
    }, least


def _solved(problem: Problem, groups: Groups, deadline: Deadline) -> Choice:
    """The cheapest partition into these groups, proven."""
    solved, choice, bound = _run_highs(problem, groups, deadline)
    deadline.check()
    if not solved or choice is None or choice.loss - bound > 1e-9 * max(1.0, choice.loss):
        raise PolicyError(f"method optimal: no minimum was proven; {INSTEAD}")
    return choice


def _improved(problem: Problem, groups: Groups, best: Choice, deadline: Deadline) -> Choice:
    """A better partition into these groups, if a short search finds one."""
    _, choice, _ = _run_highs(problem, groups, deadline, node_limit=NODES)
    return best if choice is None or choice.loss >= best.loss else choice


def _run_highs(
    problem: Problem, groups: Groups, deadline: Deadline, **limits: int
) -> tuple[bool, Choice | None, float]:
    """Whether the integer program was solved, its best partition if any, and the bound."""
    scale = 1.0 if problem.unit else FINE
    copies = problem.kinds.copies
    deadline.check()
    solved = milp(
        _losses(groups) * scale,
        constraints=LinearConstraint(_matrix(problem, groups), copies, copies),
        integrality=np.ones(len(groups)),
        bounds=Bounds(0, np.inf),
        options={**HIGHS, "time_limit": deadline.left, **limits},
    )
    if solved.x is None:
        return False, None, 0.0
    times = np.rint(solved.x).astype(np.int64)
    if not np.array_equal(_matrix(problem, groups) @ times, copies):
        return False, None, 0.0
    used = {group: t for group, t in zip(groups, times.tolist(), strict=True) if t}
    choice = Choice({group: groups[group] for group in used}, used)
    return solved.status == 0, choice, solved.mip_dual_bound / scale


def _losses(groups: Groups) -> NDArray[np.float64]:
    return np.fromiter(groups.values(), np.float64, len(groups))


def _matrix(problem: Problem, groups: Groups) -> csc_array:
    """How often each kind (row) is in each group (column)."""
    members = [kind for group in groups for kind in group]
    column = np.repeat(np.arange(len(groups)), [len(group) for group in groups])
    shape = (len(problem.kinds.copies), len(groups))
    return csc_array((np.ones(len(members)), (members, column)), shape=shape)

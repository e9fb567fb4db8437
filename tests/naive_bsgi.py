"""BSGI in plain Python, to be read beside paper 002 (Figures 1-3).

Records are numbered along the curve; of equals the lower number wins.
"""

# ruff: noqa: E741  (l is the word for it)

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cache

from naive_topdown import ncp
from shoal.encoding.table import EncodedTable

Rows = list[int]
Counts = dict[int, int]


def max_l(counts: Mapping[int, int], l: int) -> list[Rows]:
    """Values of each group's members: the l largest buckets, sorted again every time."""
    left = dict(counts)
    plan = []
    while True:
        ranked = sorted(left, key=lambda v: (-left[v], v))
        if sum(left[v] > 0 for v in left) < l:
            return plan
        plan.append(ranked[:l])
        for v in ranked[:l]:
            left[v] -= 1


@cache
def most_groups(sizes: tuple[int, ...], l: int) -> int:
    """As many groups of l different values as any strategy can make of buckets of these sizes."""
    from itertools import combinations

    filled = tuple(sorted(s for s in sizes if s))
    best = 0
    for chosen in combinations(range(len(filled)), l):
        rest = tuple(sorted(s - (i in chosen) for i, s in enumerate(filled)))
        best = max(best, 1 + most_groups(rest, l))
    return best


def can_make(left: Mapping[int, int], groups: int, l: int) -> bool:
    """Whether so many groups can be made of what is left, each value once in a group."""
    return sum(min(count, groups) for count in left.values()) >= groups * l


def planned(
    table: EncodedTable, values: Sequence[int], queue: Rows, plan: Sequence[Rows]
) -> list[Rows]:
    """Figure 2: the first record in its turn, the others so that the loss grows least."""
    free = list(queue)
    groups = []
    for chosen in plan:
        group: Rows = []
        for v in chosen:
            bucket = [r for r in free if values[r] == v]
            row = _nearest(table, group, bucket) if group else bucket[0]
            group.append(row)
            free.remove(row)
        groups.append(group)
    return groups


def near(table: EncodedTable, values: Sequence[int], l: int, queue: Rows) -> list[Rows]:
    """The same without a plan: any bucket that lets the groups to come be made."""
    free = list(queue)
    groups = []
    for to_come in range(table.n // l - 1, -1, -1):
        group: Rows = []
        while len(group) < l:
            good = [r for r in free if _leaves_enough(free, values, [*group, r], to_come, l)]
            row = _nearest(table, group, good) if group else good[0]
            group.append(row)
            free.remove(row)
        groups.append(group)
    return groups


def _leaves_enough(free: Rows, values: Sequence[int], group: Rows, to_come: int, l: int) -> bool:
    """Whether a group can be completed so that the others can be made."""
    taken = [values[r] for r in group]
    if len(set(taken)) < len(taken):
        return False
    left: Counts = {}
    for r in {*free, *group}:
        left[values[r]] = left.get(values[r], 0) + 1
    rest = sorted((v for v in left if v not in taken), key=lambda v: -left[v])
    for v in [*taken, *rest[: l - len(taken)]]:  # the largest buckets are the best to take from
        left[v] -= 1
    return len(taken) + len(rest) >= l and can_make(left, to_come, l)


def _nearest(table: EncodedTable, group: Rows, rows: Rows) -> int:
    return min(rows, key=lambda r: (ncp(table, [*group, r]), r))


def change_places(
    table: EncodedTable, values: Sequence[int], groups: list[Rows], candidates: int, gain: float
) -> None:
    """One round: members of the groups that lose most change places with others."""
    order = sorted(range(len(groups)), key=lambda g: (-ncp(table, groups[g]), g))
    for g in order:
        for _ in range(2 * len(groups[g])):
            best, change = gain, None
            for place in range(len(groups[g])):
                for own, other, there in _offers(table, values, groups, g, place)[:candidates]:
                    after = ncp(table, _put(groups[other], there, groups[g][place]))
                    gained = ncp(table, groups[g]) - own + (ncp(table, groups[other]) - after)
                    if gained > best:
                        best, change = gained, (place, other, there)
            if change is None:
                break
            place, other, there = change
            row = groups[g][place]
            groups[g][place] = groups[other][there]
            groups[other][there] = row


def _put(group: Rows, place: int, row: int) -> Rows:
    return [*group[:place], row, *group[place + 1 :]]


def _offers(
    table: EncodedTable, values: Sequence[int], groups: list[Rows], g: int, place: int
) -> list[tuple[float, int, int]]:
    """Loss of the group, other group and place in it, for whoever may come; the best first."""
    offers = []
    for other, there in _places(groups, g):
        row = groups[other][there]
        own, its = _put(groups[g], place, row), _put(groups[other], there, groups[g][place])
        if all(len({values[r] for r in rows}) == len(rows) for rows in (own, its)):
            loss = ncp(table, own)
            if loss < ncp(table, groups[g]):
                offers.append((loss, row, other, there))
    return [(loss, other, there) for loss, _, other, there in sorted(offers)]


def _places(groups: list[Rows], g: int) -> Iterator[tuple[int, int]]:
    for other in range(len(groups)):
        if other != g:
            yield from ((other, there) for there in range(len(groups[other])))


def incorporate(table: EncodedTable, values: Sequence[int], groups: list[Rows]) -> None:
    """Figure 3: each residual record into a group without its value, at the least loss."""
    grouped = {r for group in groups for r in group}
    for row in range(table.n):
        if row in grouped:
            continue
        hosts = [g for g in groups if values[row] not in {values[r] for r in g}]
        min(hosts, key=lambda g: _added(table, g, row)).append(row)


def _added(table: EncodedTable, group: Rows, row: int) -> float:
    return (len(group) + 1) * ncp(table, [*group, row]) - len(group) * ncp(table, group)

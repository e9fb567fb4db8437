"""Slow twins of the kernels `frontier` and `nested`, to be read beside paper 004, section 4.

Records are positions 0, 1, ... along the line; ``values[r]`` is the sensitive
value of record r, ``places[r]`` its 1-D quasi-identifier.
"""

# ruff: noqa: E741  (l is the word for it)

from __future__ import annotations

from collections import Counter


def eligible(histogram, l) -> bool:
    """EG: l * r_1 <= N."""
    return l * max(histogram.values(), default=0) <= sum(histogram.values())


def without(histogram, group, values) -> Counter:
    rest = Counter(histogram)
    rest.subtract(Counter(values[r] for r in group))
    return +rest


def figure_8(values, l, places=None) -> list[list[int]]:
    """The heuristic of Figure 8, with line 18 as the errata read it.

    With places, the enhancement of Figure 9 after each group.
    """
    buckets = {}
    for record, value in enumerate(values):
        buckets.setdefault(value, []).append(record)
    h = Counter(values)
    groups = []
    while h:
        frontier = sorted(bucket[0] for bucket in buckets.values() if bucket)
        m = len(frontier)
        count = l
        while count <= m:  # greedy step
            group = frontier[:count]
            if eligible(without(h, group, values), l):
                break
            count += 1
        else:  # fall-back step
            frontier.sort(key=lambda r: (-h[values[r]], r))
            at_edge = sum(l * h[values[r]] > sum(h.values()) - l for r in frontier)
            count = max(l, at_edge)
            group = frontier[:count]
            while not eligible(without(h, group, values), l):
                count += 1
                group = frontier[:count]
                assert count <= m
        group = list(group)
        close(group, buckets, values)
        h = without(h, group, values)
        if places is not None:
            extra = figure_9(group, buckets, h, values, l, places)
            if extra is not None:
                group.append(extra)
                close([extra], buckets, values)
                h = without(h, [extra], values)
        groups.append(sorted(group))
    return groups


def close(group, buckets, values) -> None:
    for record in group:
        assert buckets[values[record]].pop(0) == record


def figure_9(group, buckets, h, values, l, places):
    """r_A, if it is nearer to the group than to what its own group must reach."""
    frontier = sorted(bucket[0] for bucket in buckets.values() if bucket)
    if len(frontier) < l:
        return None
    a, b = frontier[0], frontier[l - 1]
    nearer = abs(places[a] - places[min(group)]) < abs(places[a] - places[b])
    new = all(values[r] != values[a] for r in group)
    return a if nearer and new and eligible(without(h, [a], values), l) else None


def nested(values, l) -> list[list[int]]:
    """Stacks by value; a group as soon as l values wait, or all pillars do."""
    stacks = {}
    h = Counter(values)
    groups = []
    for record, value in enumerate(values):
        stacks.setdefault(value, []).append(record)
        while True:
            largest = max(h.values(), default=0)
            slack = sum(h.values()) - l * largest
            pillars = [v for v in h if h[v] == largest] if slack < l else []
            waiting = sorted((v for v in stacks if stacks[v]), key=lambda v: -stacks[v][-1])
            others = [v for v in waiting if v not in pillars]
            chosen = (pillars + others)[: max(l, len(pillars))]
            if not h or len(waiting) < max(l, len(pillars)) or not set(chosen) <= set(waiting):
                break
            group = [stacks[v].pop() for v in chosen]
            h = without(h, group, values)
            assert eligible(h, l)
            groups.append(sorted(group))
    return groups


def diverse(group, values, l) -> bool:
    return l * max(Counter(values[r] for r in group).values()) <= len(group)


def partitions(records):
    """All partitions of a list."""
    if not records:
        yield []
        return
    first, *rest = records
    for part in partitions(rest):
        yield [[first], *part]
        for i, group in enumerate(part):
            yield [*part[:i], [first, *group], *part[i + 1 :]]


def extent(group, places):
    return max(places[r] for r in group) - min(places[r] for r in group)


def il(groups, places):
    """Equation 3: the longest extent."""
    return max(extent(g, places) for g in groups)


def total_extent(groups, places):
    """The 1-D GCP, un-normalised."""
    return sum(len(g) * extent(g, places) for g in groups)


def valid_partitions(values, l):
    """All l-diverse partitions."""
    for groups in partitions(list(range(len(values)))):
        if all(diverse(g, values, l) for g in groups):
            yield groups


def least(values, places, l, metric):
    """The optimum by brute force."""
    return min(metric(groups, places) for groups in valid_partitions(values, l))


def optima(values, places, l) -> list[list[list[int]]]:
    """All l-diverse partitions of the least IL."""
    valid = list(valid_partitions(values, l))
    best = min(il(p, places) for p in valid)
    return [[sorted(g) for g in p] for p in valid if il(p, places) == best]


def value_singularity(groups, values) -> bool:
    """Corollary 1: no value twice in a group."""
    return all(len({values[r] for r in g}) == len(g) for g in groups)


def precedence(groups, values) -> set[tuple[int, int]]:
    """G_i before G_j in the domain of some value, and what follows by transitivity."""
    before = set()
    for i, a in enumerate(groups):
        for j, b in enumerate(groups):
            if i != j and any(values[r] == values[t] and r < t for r in a for t in b):
                before.add((i, j))
    while True:
        more = {(i, k) for i, j in before for j2, k in before if j == j2} - before
        if not more:
            return before
        before |= more


def group_order(groups, values) -> bool:
    """Lemma 3: the domains agree on the order of the groups."""
    before = precedence(groups, values)
    return all((j, i) not in before for i, j in before)


def border_order(groups, values, places) -> bool:
    """Lemma 4: begins and ends are in the order of the groups (equal places allowed)."""
    return all(
        places[min(groups[i])] <= places[min(groups[j])]
        and places[max(groups[i])] <= places[max(groups[j])]
        for i, j in precedence(groups, values)
    )


def cover(groups, values, places) -> bool:
    """Lemma 5: a crossing pair of adjacent groups could not be exchanged."""
    before = precedence(groups, values)
    for i, j in before:
        if any((i, k) in before and (k, j) in before for k in range(len(groups))):
            continue
        of_i, of_j = ({values[r] for r in groups[g]} for g in (i, j))
        for r in groups[i]:
            for t in groups[j]:
                crossing = places[r] > places[t]
                if crossing and values[r] not in of_j and values[t] not in of_i:
                    return False
    return True

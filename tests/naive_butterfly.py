"""Slow twins of `shoal.kernels.butterfly.tree*`, to be read beside paper 003 and DESIGN.

A table here is a list of records, a record a tuple of codes. ``spots[a][code]``
is where a code of attribute a stands; what a group loses in it is the distance
between its outermost ones.
"""

from __future__ import annotations

import itertools
import math


def extent(spots, records, a) -> float:
    places = [spots[a][r[a]] for r in records]
    return max(places) - min(places)


def ncp(spots, records, attributes) -> float:
    """What one class of the records loses, per record."""
    return sum(extent(spots, records, a) for a in attributes)


def classes(rows, columns) -> dict:
    """Rows by their cells in some columns: what a reader sees as one class."""
    found: dict = {}
    for row in rows:
        found.setdefault(tuple(row[c] for c in columns), []).append(row)
    return found


class BodyFirst:
    """Body-first butterflies with plain loops.

    Parameters
    ----------
    records, spots
        The table.
    body, wings
        Common attributes, and for each wing its private ones, its k, and the
        records in their order along its curve.
    least
        Fewest records of a class of the body.
    """

    def __init__(self, records, spots, body, wings, least):
        self.records, self.spots, self.body, self.wings = records, spots, body, wings
        self.least = least
        self.worst = len(spots)

    def solve(self):
        """Butterflies as lists of records, the records left over, and the estimated loss."""
        whole = list(range(len(self.records)))
        return self.climb(whole)

    def body_loss(self, rows) -> float:
        return len(rows) * ncp(self.spots, [self.records[i] for i in rows], self.body)

    def wing_loss(self, rows) -> float:
        """Runs of k along the curve, the last one longer."""
        total = 0.0
        for attributes, k, order in self.wings:
            along = [i for i in order if i in set(rows)]
            runs = max(1, len(along) // k)
            ends = [*(k * r for r in range(1, runs)), len(along)]
            for begin, end in itertools.pairwise([0, *ends]):
                group = [self.records[i] for i in along[begin:end]]
                total += len(group) * ncp(self.spots, group, attributes)
        return total

    def own(self, rows) -> float:
        return self.body_loss(rows) + self.wing_loss(rows)

    def cut(self, rows):
        """The two sides of the cut that leaves the least loss of the body, or None."""
        best = None
        for a in self.body:
            for code in sorted({self.records[i][a] for i in rows})[:-1]:
                left = [i for i in rows if self.records[i][a] <= code]
                right = [i for i in rows if self.records[i][a] > code]
                loss = self.body_loss(left) + self.body_loss(right)
                if best is None or loss < best[0]:
                    best = (loss, left, right)
        return best and best[1:]

    def climb(self, rows):
        """Butterflies of a node, what it carries up, and their loss."""
        if len(rows) < self.least:
            return [], rows, 0.0
        sides = self.cut(rows)
        if sides is None:
            return [rows], [], self.own(rows)
        (left, low, a), (right, high, b) = map(self.climb, sides)
        butterflies, carried, loss = left + right, low + high, a + b
        if len(carried) >= self.least:
            loss += self.own(carried)
            butterflies, carried = [*butterflies, carried], []
        limit = loss + self.worst * len(carried)
        own = self.own(rows)
        if own < limit * (1 - 1e-9):  # less by rounding alone does not pay
            return [rows], [], own
        return butterflies, carried, loss


def cheapest_groups(weights, nodes, k, loss) -> float:
    """Least loss of units in groups of neighbours of one node with at least k records."""
    n = len(weights)
    best = math.inf
    for inner in itertools.product([False, True], repeat=n - 1):
        cuts = [0, *(i + 1 for i, cut in enumerate(inner) if cut), n]
        groups = list(itertools.pairwise(cuts))
        sizes = [sum(weights[a:b]) for a, b in groups]
        if min(sizes) < k or any(len(set(nodes[a:b])) > 1 for a, b in groups):
            continue
        total = sum(size * loss(a, b) for size, (a, b) in zip(sizes, groups, strict=True))
        best = min(best, total)
    return best


def nearest(distance, members, i) -> float:
    """Smallest distance of a member to its i-th nearest one: Definition 3, itself the 0-th."""
    found = [sorted(distance(t, u) for u in members)[i] for t in members if i < len(members)]
    return min(found, default=math.inf)

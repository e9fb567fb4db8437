"""One block of records into groups: trees, selection and changes of places put together."""

# ruff: noqa: E741  (l is the word for it)

from typing import NamedTuple

import numpy as np

from shoal.kernels.bsgi.chains import even_out, place_by_chains
from shoal.kernels.bsgi.exchange import (
    change_places,
    find_losses,
    incorporate,
    new_chains,
    new_groups,
    new_offers,
)
from shoal.kernels.bsgi.index import new_box, new_forest
from shoal.kernels.bsgi.select import FREE, max_l, near_groups, new_columns, planned_groups
from shoal.kernels.costs import ROUND, SPAN, Costs

TRIES = 64
"""Members that are asked to make room for a record that fits nowhere."""


class Block(NamedTuple):
    """Records along a curve, and the columns in which the members of a group must differ."""

    costs: Costs
    points: np.ndarray  # float64 (n, d): position (SPAN) or code (all others)
    codes: np.ndarray  # int32 (S, n): the column that is hardest to spread first
    sizes: tuple  # int (S,): codes of each column

    @property
    def n(self):
        return len(self.points)

    def take(self, rows):
        """Some of the records: a slice, or their numbers."""
        codes = np.ascontiguousarray(self.codes[:, rows])
        return self._replace(points=np.ascontiguousarray(self.points[rows]), codes=codes)


def points_of(table, order):
    """Where the records, in their order, stand in every quasi-identifier."""
    points = np.empty((len(order), len(table.qi)))
    for a, attribute in enumerate(table.qi):
        codes = table.codes[a][order]
        points[:, a] = attribute.position[codes] if attribute.form == SPAN else codes
    return points


def outermost_first(block, luck=None):
    """Records in descending distance from the middle of their block, and their `luck` added.

    Whoever stands alone chooses first; those in the middle have enough others
    around them to the last. Numbers are far from the median, words are rare.
    """
    away = np.zeros(block.n) if luck is None else luck.copy()
    for a in range(block.points.shape[1]):
        points = _places(block, a)
        if _has_distances(block.costs, a):
            far = np.minimum(1.0, np.abs(points - np.median(points)))
        else:
            _, codes, count = np.unique(points, return_inverse=True, return_counts=True)
            far = 1.0 - (count / count.max())[codes]
        away += block.costs.weight[a] * far
    return np.argsort(-away, kind="stable").astype(np.int32)


def _places(block, a):
    """Where the records stand in an attribute; codes where only these tell them apart."""
    points = block.points[:, a]
    if block.costs.form[a] != ROUND:
        return points
    return block.costs.position[block.costs.start[a] + points.astype(np.int64)]


def _has_distances(costs, a):
    """Whether an attribute's values are more or less apart, not just different."""
    begin = costs.start[a]
    steps = np.diff(costs.position[begin : begin + costs.size[a]])
    return costs.form[a] in (SPAN, ROUND) and bool((steps < 1.0).any())


def max_l_plan(codes, m, l, state=None):
    """Values of the members of each group that Max-l makes: int32 (G, l).

    Of equally frequent values those that `state` draws (see `random_state`), else the lower.
    """
    plan = np.empty((len(codes) // l, l), dtype=np.int32)
    state = np.empty(0, dtype=np.uint64) if state is None else state
    return plan[: max_l(np.bincount(codes, minlength=m).astype(np.int64), l, plan, state)]


def group_near(block, l, queue):
    """Group of each record (or -1) and their number, by nearness."""
    forest = new_forest(
        block.costs, block.points, block.codes[0], np.zeros(block.n, dtype=np.int32), 1
    )
    columns = new_columns(block.codes, block.sizes)
    groups = np.full(block.n, FREE, dtype=np.int64)
    members = np.empty(l, dtype=np.int64)
    box = new_box(block.costs)
    count = near_groups(forest, block.costs, box, columns, queue.copy(), l, groups, members)
    return groups, count


def group_planned(block, queue, plan):
    """Group of each record (or -1) and their number, by a plan of values."""
    value = block.codes[0]
    forest = new_forest(block.costs, block.points, value, value, block.sizes[0])
    columns = new_columns(block.codes, block.sizes)
    groups = np.full(block.n, FREE, dtype=np.int64)
    members = np.empty(plan.shape[1], dtype=np.int64)
    by_value = queue[np.argsort(value[queue], kind="stable")]
    front = np.cumsum(np.append(0, np.bincount(value, minlength=block.sizes[0])))[:-1].copy()
    box = new_box(block.costs)
    count = planned_groups(
        forest, block.costs, box, columns, by_value, front, plan, groups, members
    )
    return groups, count


def improve(block, groups, count, l, rounds):
    """Let members change places, in `rounds` over all groups, those that lose most first.

    ``groups`` is changed. Returns how many changes there were.
    """
    if count < 2 or l < 2 or rounds == 0:
        return 0
    one_tree = np.zeros(block.n, dtype=np.int32)
    forest = new_forest(block.costs, block.points, block.codes[0], one_tree, 1)
    box, offers = new_box(block.costs), new_offers()
    found = new_groups(groups, count, l)
    find_losses(forest, block.costs, box, found)
    changes = 0
    for _ in range(rounds):
        order = np.argsort(-found.loss, kind="stable")
        more = change_places(forest, block.costs, block.codes, box, found, order, offers)
        changes += more
        if more == 0:
            break
    return changes


def place(block, groups, count):
    """Put those in no group into one; ``groups`` is changed. Returns how many fit nowhere."""
    rows = np.flatnonzero(groups < 0)
    if count == 0 or len(rows) == 0:
        return len(rows)
    chains = new_chains(groups, count)
    box = new_box(block.costs)
    return incorporate(block.costs, block.points, block.codes, box, chains, rows, groups, TRIES)


def place_all(block, groups, count):
    """The same for two columns, into `count` groups that some may still be empty: all fit.

    No value may have more records than there are groups. In the end all groups are of one
    size, or one record more.
    """
    chains = new_chains(groups, count)
    place_by_chains(block.codes, chains, np.flatnonzero(groups < 0), groups)
    even_out(block.codes, chains, groups)

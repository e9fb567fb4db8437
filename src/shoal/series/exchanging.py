"""Records of one value change places, so that groups lose less: none loses its set of values.

Whoever stays may stand in any group of his bucket; who is new, in any group at all that has
his value, since nobody knows a signature of his yet. Of the records of one value that are
free to change, the best of all ways to deal them out to their places is found (least total
loss, all other members where they are), value by value. Groups keep their values and their
sizes, and so the number of counterfeits; no record moves but those whose place is another's
of the same value.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from shoal.encoding.table import EncodedTable
from shoal.kernels.costs import range_losses

__all__ = ["exchanged"]

Rows = NDArray[np.int64]
FEW = 8
"""A bucket of fewer groups than this has been searched well enough when it was cut."""
MOST = 512
"""Records that choose among each other's places at once, neighbours along the curve."""


def exchanged(
    table: EncodedTable,
    value: Rows,
    place: Rows,
    bucket: Rows,
    new: Rows,
    groups: Rows,
    *,
    rounds: int = 1,
) -> Rows:
    """Groups of records after changes of places; `groups` says where they stand before.

    Parameters
    ----------
    table, value, place
        The records, the sensitive value of each, and where each stands along the curve.
    bucket
        Signature of each record's group.
    new
        Records that may stand under any signature.
    groups
        Group of each record.
    rounds
        How often all are dealt out; none leaves groups as they are.
    """
    if not rounds:
        return groups
    places = _Places(groups)
    buckets = bucket * (int(value.max()) + 1) + value
    now = places.slots()
    inside = [now[rows] for rows in _by(buckets, np.arange(table.n), place, FEW)]
    for _ in range(rounds):
        for slots in inside:
            _deal_out(table, places, slots)
        now = places.slots()
        for rows in list(_by(value, new, place, 2)):
            _deal_out(table, places, now[rows])
    for slots in inside:
        _deal_out(table, places, slots)
    result = np.empty(table.n, dtype=np.int64)
    result[places.holder] = groups[np.argsort(groups, kind="stable")]
    return result


def _by(key: Rows, rows: Rows, place: Rows, least: int) -> Iterator[Rows]:
    """Pieces of rows that share a key, along the curve."""
    if not len(rows):
        return
    order = rows[np.lexsort((place[rows], key[rows]))]
    for part in np.split(order, np.flatnonzero(np.diff(key[order])) + 1):
        if len(part) >= least:
            yield from np.array_split(part, -(-len(part) // MOST))


class _Places:
    """Places in groups, group by group, and who holds each."""

    def __init__(self, groups: Rows) -> None:
        self.holder = np.argsort(groups, kind="stable")
        inside = groups[self.holder]
        self.begin = np.searchsorted(inside, inside)
        """Where the group of each place begins, and where it ends."""
        self.end = np.searchsorted(inside, inside, side="right")

    def slots(self) -> Rows:
        """The place that each record holds now."""
        found = np.empty_like(self.holder)
        found[self.holder] = np.arange(len(found))
        return found


def _deal_out(table: EncodedTable, places: _Places, slots: Rows) -> None:
    """Deal the holders of some places out to these places, at the least loss.

    Their groups are all different: they have the same value.
    """
    from scipy.optimize import linear_sum_assignment

    rows = places.holder[slots]
    losses = _losses(table, places, slots)
    if len(rows) == 2:  # by far the most frequent case, and a call each takes its time
        if losses[0, 1] + losses[1, 0] < losses[0, 0] + losses[1, 1]:
            places.holder[slots] = rows[::-1]
        return
    places.holder[slots] = rows[linear_sum_assignment(losses)[1]]


def _losses(table: EncodedTable, places: _Places, slots: Rows) -> NDArray[np.float64]:
    """What the group of each place would lose with each of their holders: (places, holders)."""
    begin, end = places.begin[slots], places.end[slots]
    low = np.full((len(table.qi), len(slots)), np.iinfo(np.int32).max, dtype=np.int64)
    high = np.full((len(table.qi), len(slots)), -1, dtype=np.int64)
    for number in range(int((end - begin).max())):
        at = begin + number
        other = (at < end) & (at != slots)
        codes = table.codes[:, places.holder[at[other]]]
        low[:, other] = np.minimum(low[:, other], codes)
        high[:, other] = np.maximum(high[:, other], codes)
    found = np.zeros((len(slots), len(slots)))
    lost = np.empty(found.size)
    mine = table.codes[:, places.holder[slots]].astype(np.int64)
    for a in range(len(table.qi)):
        lowest = np.minimum(low[a, :, None], mine[a]).reshape(-1)
        highest = np.maximum(high[a, :, None], mine[a]).reshape(-1)
        range_losses(table.costs, a, lowest, highest, lost)
        found += float(table.costs.weight[a]) * lost.reshape(found.shape)
    return np.asarray(found * (end - begin)[:, None])

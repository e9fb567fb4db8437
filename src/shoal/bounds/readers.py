"""A bound for several readers: what each one's own columns lose at least, added up.

A release for several readers satisfies each reader's models on what this reader knows. The
weight of an attribute that several know is divided between them; then no release loses less
than the sum of the readers' own bounds. `docs/bounds.md` has the proof.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from shoal.bounds import Bound, lower_bound
from shoal.clock import Limit
from shoal.encoding.table import EncodedTable
from shoal.models import View

__all__ = ["bound_for_readers"]

RUNGS = ("neighbours", "boxes", "dual", "cells", "exact")
"""From the weakest."""

Shares = NDArray[np.float64]


def bound_for_readers(
    table: EncodedTable,
    views: Sequence[View],
    *,
    effort: str = "fast",
    seconds: float | None = None,
    progress: Callable[[float, float], None] | None = None,
    suppressible: bool = False,
) -> Bound:
    """A loss that no release can undercut which satisfies every view on its own attributes.

    The best of two ways to divide the weights. Parameters are those of `lower_bound`.
    """
    place = {column.name: a for a, column in enumerate(table.qi)}
    known = [tuple(place[name] for name in view.qi) for view in views]
    limit = Limit.after(seconds)
    ways = list(_ways(len(table.qi), views, known))
    found = Bound(0.0, "neighbours", 1.0)
    for number, way in enumerate(ways):
        if number and limit.up:
            break
        left = limit.left / (len(ways) - number) if limit.given else None
        bounds = _of_each(table, views, known, way, effort, left, suppressible)
        found = max(found, _summed(table, way, bounds), key=lambda bound: bound.loss)
        if progress is not None:
            progress(number + 1, len(ways))
    return found


def _ways(
    attributes: int, views: Sequence[View], known: Sequence[tuple[int, ...]]
) -> Iterator[Shares]:
    """Shares of each reader in each attribute's weight: they add up to one.

    One reader takes all that it knows, the next what is left, and so on: first who asks for
    the largest classes and knows most, then the second of these before the first. Other ways
    take as long, and each reader's bound is dear.
    """

    def strength(reader: int) -> tuple[int, int]:
        return max([1, *(m.smallest_class for m in views[reader].models)]), len(known[reader])

    strongest = sorted(range(len(views)), key=strength, reverse=True)
    orders = [strongest]
    if len(views) > 1 and set(known[strongest[0]]) & set(known[strongest[1]]):
        orders.append([strongest[1], strongest[0], *strongest[2:]])
    for order in orders:
        shares = np.zeros((len(views), attributes))
        for reader in order:
            own = list(known[reader])
            shares[reader, own] = 1.0 - shares[:, own].sum(axis=0)
        yield shares


def _of_each(
    table: EncodedTable,
    views: Sequence[View],
    known: Sequence[tuple[int, ...]],
    shares: Shares,
    effort: str,
    seconds: float | None,
    suppressible: bool,
) -> Iterator[Bound]:
    """The bound of each reader's own table, under its share of the weights."""
    limit = Limit.after(seconds)
    for reader, (view, own) in enumerate(zip(views, known, strict=True)):
        held = [a for a in own if shares[reader, a] > 0 and table.qi[a].weight > 0]
        if not held:
            yield Bound(0.0, RUNGS[0], 1.0)
            continue
        some = table.select(held)
        weighted = tuple(
            replace(column, weight=column.weight * float(shares[reader, a]))
            for column, a in zip(some.qi, held, strict=True)
        )
        left = limit.left / (len(views) - reader) if limit.given else None
        yield lower_bound(
            replace(some, qi=weighted),
            view.models,
            effort=effort,
            seconds=left,
            suppressible=suppressible,
        )


def _summed(table: EncodedTable, shares: Shares, bounds: Iterator[Bound]) -> Bound:
    """The readers' bounds, each by its part of all weights."""
    weight = np.array([column.weight for column in table.qi])
    total = float(weight.sum())
    if not total > 0:
        return Bound(0.0, RUNGS[0], 1.0)
    loss, rung, resolved = 0.0, RUNGS[0], 1.0
    for reader, bound in enumerate(bounds):
        loss += bound.loss * float(shares[reader] @ weight) / total
        rung = max(rung, bound.rung, key=RUNGS.index)
        resolved = min(resolved, bound.resolved)
    return Bound(loss, rung, resolved)

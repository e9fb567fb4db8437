"""Provable lower bounds on the loss: no release of a table can be better than this.

Rungs, each stronger and dearer than the one before: the distance of every record to its
neighbours, the cheapest box around it that holds enough records, and the dual of the
linear programme that partitions the table. Where it can, the dual is solved at once for
all: over cells where their number allows it, else over boxes, if no values are released
as sets. Stars under a limited share have a programme of their own, and tiny tables are
solved exactly. `docs/bounds.md` has the proofs.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.bounds.box_dual import STAGES, BoxDual, fits
from shoal.bounds.cells import cells_of
from shoal.bounds.certificate import Certificate
from shoal.bounds.families import families
from shoal.bounds.rungs import LARGEST_DUAL, SAFE, Clock, FamilyBounds
from shoal.clock import Limit
from shoal.effort import EFFORTS, BoundSteps
from shoal.encoding.table import EncodedTable
from shoal.errors import PolicyError, ShoalError
from shoal.methods.best.star_programme import StarProgramme
from shoal.methods.best.stars import StarImprover, asked_by, only_stars
from shoal.methods.exact import Deadline, group_losses
from shoal.methods.exact.subsets import least_subsets
from shoal.models import Model, require_columns, whole_table_only

__all__ = ["Bound", "Certificate", "lower_bound"]

MARGIN = 1e-9
"""Taken off the bound, so that rounding can never lift it above the truth."""
DIGITS = 9
"""Decimals of the bound in a manifest."""
PROGRAMME_SHARE = 0.7
"""Of the time that there is, what goes into the linear programme of stars first."""
STEPS_A_SECOND = 800_000_000
"""Values of records that are looked at in a second, on two cores."""
SET_UP = 200
"""Steps for each value of the table before the first record has a bound."""
SHORT = 2_000_000
"""Kinds of records times patterns, up to which the linear programme takes hardly any time."""
FEW = 12
"""Tables of up to so many records are solved exactly at the highest effort."""


HOPED_FOR = 2.0
"""Where no release is known, weights begin at so many times what records lose at least."""

FIRM_ROUNDS, EASE, EASE_DECAY = 3, 0.1, 0.85
"""Rounds that only raise; what is then taken off the weight of crowded points, round by round."""

EASILY_PRICED, FEW_ROUNDS = 6, 5
"""Groups of more records take long to price, so the dual then stops after a few rounds."""


@dataclass(frozen=True)
class Bound:
    """What no release can undercut."""

    loss: float
    """No release of this table under these models and this recoding has a GCP below it."""
    rung: str
    """The strongest rung that contributed: "neighbours", "boxes", "dual", "cells" or "exact"."""
    resolved: float
    """Share of records whose value of that rung is exact; others fell back to the rung below."""
    certificate: Certificate | None = field(default=None, compare=False, repr=False)
    """Weights that prove it, or nearly as much, where they were asked for."""

    def to_dict(self) -> dict[str, Any]:
        """Plain values for a manifest, rounded down."""
        return {
            "loss": _rounded_down(self.loss, DIGITS),
            "rung": self.rung,
            "resolved": _rounded_down(self.resolved, 4),
        }


def lower_bound(
    table: EncodedTable,
    models: Sequence[Model],
    *,
    effort: str = "fast",
    seconds: float | None = None,
    progress: Callable[[float, float], None] | None = None,
    suppressible: bool = False,
    lost: NDArray[np.float64] | None = None,
    certificate: bool = False,
) -> Bound:
    """A loss that no release of the table under the models can undercut.

    Parameters
    ----------
    table
        As the recoding sees it: `EncodedTable.suppressing` where stars are released.
    models
        Every equivalence class of the release satisfies them all.
    effort
        One of `shoal.effort.EFFORTS`. It counts steps, so that the result is the same every time.
    seconds
        Stop after about so long, with what is proven by then, instead of after the effort's
        steps.
    progress
        Called as progress(done, total) now and then.
    suppressible
        Any number of records may be dropped, at a loss of 1 each.
    lost
        What each record loses in some release, all attributes with their weights together. The
        search for a bound begins there and gets further. It is never taken on trust.
    certificate
        Give the weights that prove it. What other rungs add (the linear programme of stars, all
        partitions of a tiny table, groups of different values) is not in them: the certificate
        claims what its weights prove, which may then be less than the bound.
    """
    if effort not in EFFORTS:
        raise PolicyError(f"effort: expected one of {', '.join(EFFORTS)}; got {effort}")
    require_columns(table.sensitive, models)
    steps = EFFORTS[effort].bound
    implied = families(table, models, suppressible)
    if not table.n or not table.qi or not table.costs.weight.sum() > 0:
        return Bound(0.0, "neighbours", 1.0)
    if max(family.size for family in implied) > table.n:
        # Too few records for a single class: no release at all, or all records dropped.
        return Bound(1 - MARGIN, "neighbours", 1.0)
    turns = len(implied) * (1 + len(steps.boxes)) + len(steps.rounds) + bool(steps.cells)
    limit = Limit.after(seconds)
    most = math.inf if limit.given else EFFORTS[effort].seconds_for_bound(table.n) * STEPS_A_SECOND
    clock = Clock(limit, most, progress, turns)
    if SET_UP * table.n * len(table.qi) > most:
        return Bound(0.0, "neighbours", 0.0)  # so little would be found of so many records
    ceiling = float(table.costs.weight.sum()) if suppressible else math.inf
    per_family = [FamilyBounds(table, family, ceiling) for family in implied]
    starred = _by_programme(table, models, steps, ceiling, clock)
    weighed = _by_rungs(per_family, table, effort, clock, lost)
    found = max(starred, weighed, key=lambda bound: bound.loss)
    solvable = table.n <= FEW and not suppressible and not whole_table_only(models)
    if steps.exact and solvable:
        found = _exact(table, models, found, clock)
    clock.advance(turns)
    return replace(found, certificate=weighed.certificate if certificate else None)


def _by_programme(
    table: EncodedTable, models: Sequence[Model], steps: BoundSteps, ceiling: float, clock: Clock
) -> Bound:
    """By the dual of the linear programme of stars, where the models are linear."""
    asked = asked_by(models, table) if only_stars(table) else None
    if asked is None or asked.share == asked.whole or not StarImprover.fits(table):
        return Bound(0.0, "dual", 1.0)
    programme = StarProgramme(table, Fraction(asked.share, asked.whole), ceiling)
    # short tables take no time: up to ten times the steps
    pairs = max(1, programme.programme.pair.size)
    wanted = steps.programme * min(10, max(1, SHORT // pairs))
    if not clock.limit.given:
        seconds = clock.most / STEPS_A_SECOND * PROGRAMME_SHARE
        wanted = min(wanted, max(steps.programme // 10, int(seconds * 1e6 / programme.pace)))
    programme.solve(wanted, clock.limit.share(PROGRAMME_SHARE))
    return Bound(_share(table, programme.bound), "dual", 1.0)


def _by_rungs(
    per_family: Sequence[FamilyBounds],
    table: EncodedTable,
    effort: str,
    clock: Clock,
    lost: NDArray[np.float64] | None,
) -> Bound:
    """The best bound of all families: per record on the lower rungs, in sum on the highest."""
    steps = EFFORTS[effort].bound
    for bounds in per_family:
        bounds.search_boxes(0, clock)
    by_cells = _by_cells(per_family, table, steps, clock, lost)
    if by_cells is not None:
        return by_cells
    boxed = _by_boxes(per_family, table, effort, clock)
    if boxed is not None and not _worth_more(per_family, effort):
        clock.advance(len(per_family) * len(steps.boxes) + len(steps.rounds))
        return boxed
    rung = "neighbours"
    for budget in steps.boxes:
        for bounds in per_family:
            bounds.search_boxes(budget, clock)
        rung = "boxes"
    boxes = np.max([bounds.boxes for bounds in per_family], axis=0)
    resolved = float(np.max([bounds.resolved for bounds in per_family])) if steps.boxes else 1.0
    proof = _proof_of_boxes(per_family, table)
    found = Bound(_share(table, float(boxes.sum())), rung, resolved, proof)
    usable = [x for x in per_family if x.family.dual and 1 < x.family.size <= LARGEST_DUAL]
    found = max(found, boxed or found, key=lambda bound: bound.loss)
    if not steps.rounds or not usable:
        clock.advance(len(steps.rounds))
        return found
    bounds = max(usable, key=lambda one: one.boxes.sum())
    bounds.start_dual()
    small = bounds.family.size <= EASILY_PRICED
    for turn, budget in enumerate(steps.rounds if small else steps.rounds[:FEW_ROUNDS]):
        bounds.raise_weights(budget, _ease(turn), turn, clock)
    loss = _share(table, float(bounds.weights.sum()))
    proof = Certificate.of(bounds.weights, bounds.family, loss)
    dual = Bound(loss, "dual", bounds.certain, proof)
    return dual if dual.loss > found.loss else found


def _proof_of_boxes(per_family: Sequence[FamilyBounds], table: EncodedTable) -> Certificate | None:
    """What boxes cost is a weight too: no group around a record costs less."""
    usable = [one for one in per_family if one.family.dual]
    best = max(usable, key=lambda one: one.boxes.sum(), default=None)
    if best is None:
        return None
    boxes = np.minimum(best.boxes, best.ceiling)
    return Certificate.of(boxes * SAFE, best.family, _share(table, float(boxes.sum())))


def _by_cells(
    per_family: Sequence[FamilyBounds],
    table: EncodedTable,
    steps: BoundSteps,
    clock: Clock,
    lost: NDArray[np.float64] | None,
) -> Bound | None:
    """By the dual over all cells, if there are not too many; it leaves nothing to other rungs."""
    usable = [x for x in per_family if x.family.dual and x.family.size > 1]
    if not steps.cells or not usable or clock.up:
        return None
    bounds = max(usable, key=lambda one: one.boxes.sum())
    dual = cells_of(bounds.points, bounds.family, clock, bounds.ceiling)
    if dual is None:
        return None
    dual.climb(_start(bounds, lost), steps.cells, clock.limit, clock)
    loss = _share(table, dual.total)
    weights = dual.best[bounds.points.of_record]
    proof = Certificate(weights, dual.units.scale, bounds.family, loss)
    least = _share(table, float(np.max([each.boxes for each in per_family], axis=0).sum()))
    if least > loss:
        # no other rung steps in: more effort would then have to try it too, to give no less
        return Bound(least, "neighbours", 1.0, _proof_of_boxes(per_family, table))
    return Bound(loss, "cells", 1.0, proof)


def _start(bounds: FamilyBounds, lost: NDArray[np.float64] | None) -> NDArray[np.float64]:
    """Weights to begin with: what the records of a point lose, or some more than they must."""
    if lost is None:
        return HOPED_FOR * bounds.box
    count = bounds.points.space.count
    mean: NDArray[np.float64] = np.bincount(bounds.points.of_record, lost, len(count)) / count
    return mean


def _by_boxes(
    per_family: Sequence[FamilyBounds], table: EncodedTable, effort: str, clock: Clock
) -> Bound | None:
    """By the dual over boxes, where there are no value sets and groups of two at least."""
    usable = [x for x in per_family if x.family.dual and x.family.size > 1 and fits(x.points)]
    if not STAGES[effort] or not usable:
        return None
    bounds = max(usable, key=lambda one: one.boxes.sum())
    dual = BoxDual(bounds.points, bounds.family.size, bounds.box, clock, bounds.ceiling)
    for stage in STAGES[effort]:
        dual.climb(stage)
    loss = _share(table, dual.total)
    weights = np.minimum(dual.best, bounds.ceiling)[bounds.points.of_record]
    proof = Certificate.of(weights * SAFE, bounds.family, loss)
    return Bound(loss, "dual", dual.certain, proof)


def _worth_more(per_family: Sequence[FamilyBounds], effort: str) -> bool:
    """Whether the other rungs may add to the dual over boxes: few records of a value, or pairs."""
    capped = any(x.family.caps is not None for x in per_family)
    return capped or (effort == "max" and per_family[0].family.size <= EASILY_PRICED)


def _ease(turn: int) -> float:
    """How much crowded points are eased: nothing at first, then less and less."""
    return 0.0 if turn < FIRM_ROUNDS else EASE * EASE_DECAY ** (turn - FIRM_ROUNDS)


def _exact(table: EncodedTable, models: Sequence[Model], found: Bound, clock: Clock) -> Bound:
    """The loss of the best release there is, where all can be tried."""
    try:
        minimum = least_subsets(table, models, Deadline(clock.limit.left))
    except ShoalError:  # no partition satisfies the models, or not in time: the rungs stand
        return found
    loss = _share(table, float(group_losses(table, minimum.partition).sum()))
    return Bound(max(loss, found.loss), "exact", 1.0)


def _share(table: EncodedTable, total: float) -> float:
    """A sum of losses of records as GCP, less a margin for rounding."""
    return max(0.0, total / (table.n * float(table.costs.weight.sum())) - MARGIN)


def _rounded_down(number: float, digits: int) -> float:
    steps = 10.0**digits
    return math.floor(number * steps) / steps

"""The least loss within an effort: a strong start, then large-neighbourhood search.

The start is the cheapest of CutTree (top-down cuts, each at the least loss) and
the constructive methods that suit the models. The search then pools a few
neighbouring groups at a time and divides them anew, under the true objective
and with every model satisfied after every step. `shoal.bounds` says how far
from the optimum the result can be at most.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from shoal.clock import NO_LIMIT, Limit, now
from shoal.effort import DEFAULT_EFFORT, EFFORTS, USUAL_RECORDS, Effort, time_factor
from shoal.encoding.table import EncodedTable, Partition, Recoding
from shoal.methods.base import Method, Options, Outcome, Run
from shoal.methods.best.improver import FEW, ORDERS, Improver
from shoal.methods.best.stars import StarImprover, asked_by, only_stars, starred
from shoal.methods.best.starts import Starts
from shoal.methods.curve import drawn_curve
from shoal.metrics.loss import gcp
from shoal.models.base import Model

Rows = NDArray[np.int64]
Search = Improver | StarImprover
Begin = Callable[[Partition], Search]

__all__ = ["Best", "BestOptions"]

SLOWER = 0.12
"""Each step of a longer table takes longer, by this power: its records are in no cache."""
LONG = 100_000
"""From so many records on they are laid out along a curve, so that near ones share a cache."""
ROUNDS_A_SECOND, FEWEST_ROUNDS = 3, 12
"""Where a time is given."""
LEAST_STEPS, LEAST_SECONDS = 500, 1.0
"""Steps of a stage, at least, unless so few take longer than this."""
SET_UP = 1.0
CURVES_SHARE = 0.3
"""Where a time is given: of what is left, the part that may go into finding near records."""
LONGEST = 1_000_000
"""Records for which the largest time of an effort was meant."""
CURVE_STEP, FEWEST_CURVES = 0.08, 2
"""Microseconds a value of the table takes on each curve; curves at least."""


class BestOptions(Options):
    """Options of `best`."""


class Best(Method[BestOptions]):
    """Search for the least loss, for as long as effort or time allow."""

    name = "best"
    summary = "Searches for the least loss within an effort or time, and bounds what is possible."
    promise = (
        "Every model holds in every group, and no method that it starts from (hilbert, mondrian "
        "and bsgi for l; tp+ for stars) loses less; more effort never loses more. The release says "
        "how far from the optimum it can be at most."
    )
    options = BestOptions
    takes_parts = True
    anytime = True
    default = True
    keeps_parts = True
    by_range = 100_000
    always_looks = True  # records of equal quasi-identifiers lie in the order of their values

    def run(
        self, table: EncodedTable, models: Sequence[Model], options: BestOptions, run: Run
    ) -> Outcome:
        """See `Method.run`."""
        begun, limit = now(), Limit.after(run.seconds)
        order = _layout(table, run.seed)
        laid_out = table if order is None else table.take(order)
        sorting = now() - begun
        starts = Starts(laid_out, models, run)
        searches = tuple(_searches(laid_out, models, run.seed))
        if limit.given:
            name, found, steps = _by_time(starts, searches, run, limit, sorting)
        else:
            name, found, steps = _by_effort(starts, searches, run)
        if order is not None:
            found = Partition(order[found.order], found.offsets)
        return Outcome(Recoding.single(found, len(table.qi)), {"start": name, "steps": steps})


Searched = tuple[str, Partition, int]
"""The start, what became of it, and the steps of the search."""


def _by_effort(starts: Starts, searches: Sequence[Begin], run: Run) -> Searched:
    """Stage by stage: what an effort does begins with all that the ones below it do.

    A stage may bring in starts that were too dear before. Where several searches take turns,
    each stage begins them anew.
    """
    table, name, steps = starts.table, "", 0
    found: Partition | None = None
    improver: Search | None = None
    for stage in _stages(run.effort or DEFAULT_EFFORT):
        new = starts.within(stage.start_seconds * 1e6)
        if new is not None and (found is None or new.loss < _loss(table, found)):
            name, found, improver = new.name, new.partition, None
        assert found is not None
        for search in searches:
            improver = search(found) if improver is None or len(searches) > 1 else improver
            before = improver.steps
            if improver.searched:
                improver.prepare(_curves(table, stage))
                seconds = stage.seconds * _factor(improver.searched, run.whole)
                _improve(improver, _steps(improver, seconds), stage.rounds, run)
                found = improver.partition()
            steps += improver.steps - before
    assert found is not None
    return name, found, steps


def _factor(records: int, whole: int | None) -> float:
    """How many times the usual time a search takes; a range's share of what the whole has.

    A whole table that is longer than any in one piece has as much for each of its records.
    """
    if whole is None:
        return time_factor(records)
    return time_factor(whole) * max(1.0, whole / LONGEST) * records / whole


def _by_time(
    starts: Starts, searches: Sequence[Begin], run: Run, limit: Limit, sorting: float
) -> Searched:
    """The cheapest start that there is time for, and a search up to the limit.

    Setting up a search takes longer than sorting the table: it is not begun in less time.
    """
    begun = starts.before(limit)
    found, steps = begun.partition, 0
    for number, search in enumerate(searches):
        own = limit.share(1 / (len(searches) - number))
        if own.left <= SET_UP * sorting:
            break
        improver = search(found)
        if improver.searched:
            improver.prepare(limit=own.share(CURVES_SHARE))
            left = own.left
            # of twice as much as should fit, so that the clock ends it and not a fast machine
            rounds = 2 * max(FEWEST_ROUNDS, int(ROUNDS_A_SECOND * left))
            _improve(improver, _steps(improver, 2 * left), rounds, run, own)
            found = improver.partition()
        steps += improver.steps
    return begun.name, found, steps


def _improve(improver: Search, steps: int, rounds: int, run: Run, limit: Limit = NO_LIMIT) -> None:
    def watch(done: int, loss: float) -> None:
        run.progress(done, rounds, loss)

    improver.improve(steps, rounds, watch, limit)


def _loss(table: EncodedTable, found: Partition) -> float:
    return gcp(table, Recoding.single(found, len(table.qi)))


def _curves(table: EncodedTable, stage: Effort) -> int:
    """Curves along which near records are looked for: fewer of long tables at low efforts."""
    each = CURVE_STEP * table.n * max(1, len(table.qi))
    return max(FEWEST_CURVES, min(ORDERS, int(stage.start_seconds * 1e6 / max(1.0, each))))


def _layout(table: EncodedTable, seed: int) -> Rows | None:
    """Records of a long table along a curve; None: as they come, in their canonical order."""
    return drawn_curve(table, seed, draws=1).order if table.n >= LONG else None


def _searches(table: EncodedTable, models: Sequence[Model], seed: int) -> Iterator[Begin]:
    """What improves a partition of the table, one after the other.

    Where stars can be told by patterns, that finds far more than a search of groups, which
    adds something on short tables only.
    """
    asked = asked_by(models, table) if only_stars(table) else None
    if asked is not None and StarImprover.fits(table):
        yield lambda start: StarImprover(table, asked, seed, start)
        if table.n > FEW:
            return
    yield lambda start: Improver(table, models, seed, _worth_searching(table, start)).begin(start)


def _stages(effort: str) -> Sequence[Effort]:
    """The effort and all below it."""
    return list(EFFORTS.values())[: list(EFFORTS).index(effort) + 1]


def _steps(improver: Search, seconds: float) -> int:
    """Steps that take about so long."""
    slower = max(1.0, improver.searched / USUAL_RECORDS) ** SLOWER
    least = min(LEAST_STEPS, max(1, int(LEAST_SECONDS * 1e6 / improver.pace)))
    return max(least, int(seconds * 1e6 / slower / improver.pace))


def _worth_searching(table: EncodedTable, start: Partition) -> Rows | slice:
    """Records of groups with a star; of a short table, or where intervals are released, all.

    With stars most records of a long table stay exact, at no price, in large groups that
    take long to look at and have little to give.
    """
    if table.n <= FEW or not only_stars(table):
        return slice(None)
    return np.flatnonzero(starred(table, start))

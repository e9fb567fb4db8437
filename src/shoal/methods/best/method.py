"""The least loss within an effort: a strong start, then large-neighbourhood search.

The start is the cheapest of CutTree (top-down cuts, each at the least loss) and
the constructive methods that suit the models. The search then pools a few
neighbouring groups at a time and divides them anew, under the true objective
and with every model satisfied after every step. `shoal.bounds` says how far
from the optimum the result can be at most.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from itertools import product

import numpy as np
from numpy.typing import NDArray

from shoal.effort import DEFAULT_EFFORT, EFFORTS, USUAL_RECORDS, Effort, time_factor
from shoal.encoding.table import EncodedTable, Partition, Recoding
from shoal.methods.base import Method, Options, Outcome, Run
from shoal.methods.best.improver import FEW, Improver
from shoal.methods.best.stars import StarImprover, asked_by, only_stars, starred
from shoal.methods.best.starts import strongest_start
from shoal.methods.hilbert import curve_of
from shoal.models.base import Model

Rows = NDArray[np.int64]
Search = Improver | StarImprover

__all__ = ["Best", "BestOptions"]

SLOWER = 0.12
"""Each step of a longer table takes longer, by this power: its records are in no cache."""
LONG = 100_000
"""From so many records on they are laid out along a curve, so that near ones share a cache."""
ROUNDS_A_SECOND, FEWEST_ROUNDS = 3, 12
"""Where a time is given."""
LEAST_STEPS = 500


class BestOptions(Options):
    """Options of `best`."""


class Best(Method[BestOptions]):
    """Search for the least loss, for as long as effort or time allow."""

    name = "best"
    summary = "Searches for the least loss within an effort or time, and bounds what is possible."
    promise = (
        "Every model holds in every group, and no start it tries (CutTree; hilbert, mondrian and "
        "bsgi for l; tp+ for stars) loses less; more effort never loses more. The release says "
        "how far from the optimum it can be at most."
    )
    options = BestOptions
    anytime = True
    default = True
    keeps_parts = True

    def run(
        self, table: EncodedTable, models: Sequence[Model], options: BestOptions, run: Run
    ) -> Outcome:
        """See `Method.run`."""
        until = None if run.seconds is None else time.monotonic() + run.seconds
        stages = _stages(run.effort or DEFAULT_EFFORT) if run.seconds is None else [EFFORTS["max"]]
        order = _canonical(table)
        sorted_table = table.take(order)
        name, found = strongest_start(sorted_table, models, run)
        searches = tuple(_searches(sorted_table, models, run.seed))
        # Several searches take turns in every stage: more effort goes on where less ended.
        turns = [(stage,) for stage in stages] if len(searches) > 1 else [stages]
        steps = 0
        for turn, search in product(turns, searches):
            improver = search(found)
            if improver.searched:
                for stage in turn:
                    _work_through(improver, stage, until, run)
                found = improver.partition()
            steps += improver.steps
        found = Partition(order[found.order], found.offsets)
        facts = {"start": name, "steps": steps}
        return Outcome(Recoding.single(found, len(table.qi)), facts)


def _canonical(table: EncodedTable) -> Rows:
    """Records in an order that does not depend on the input's: by all that the search looks at."""
    persons = [] if table.person is None else [table.person]
    columns = [*persons, *table.sensitive_codes, *table.codes]
    order: Rows = np.lexsort(columns).astype(np.int64)
    if table.n >= LONG:
        order = order[curve_of(table.take(order)).order]
    return order


def _searches(
    table: EncodedTable, models: Sequence[Model], seed: int
) -> Iterator[Callable[[Partition], Search]]:
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


def _work_through(improver: Search, stage: Effort, until: float | None, run: Run) -> None:
    rounds = stage.rounds
    steps = _steps(improver, stage.seconds * time_factor(improver.searched))
    if until is not None:
        improver.prepare()
        left = max(0.0, until - time.monotonic())
        # of twice as much as should fit, so that the clock ends it and not a fast machine
        rounds = 2 * max(FEWEST_ROUNDS, int(ROUNDS_A_SECOND * left))
        steps = _steps(improver, 2 * left)

    def watch(done: int, loss: float) -> None:
        run.progress(done, rounds, loss)

    improver.improve(steps, rounds, watch, until)


def _stages(effort: str) -> Sequence[Effort]:
    """The effort and all below it."""
    return list(EFFORTS.values())[: list(EFFORTS).index(effort) + 1]


def _steps(improver: Search, seconds: float) -> int:
    """Steps that take about so long."""
    slower = max(1.0, improver.searched / USUAL_RECORDS) ** SLOWER
    return max(LEAST_STEPS, int(seconds * 1e6 / slower / improver.pace))


def _worth_searching(table: EncodedTable, start: Partition) -> Rows | slice:
    """Records of groups with a star; of a short table, or where intervals are released, all.

    With stars most records of a long table stay exact, at no price, in large groups that
    take long to look at and have little to give.
    """
    if table.n <= FEW or not only_stars(table):
        return slice(None)
    return np.flatnonzero(starred(table, start))

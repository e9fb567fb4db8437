"""The least loss within an effort: a strong start, then large-neighbourhood search.

The start is the cheapest of CutTree (top-down cuts, each at the least loss) and
the constructive methods that suit the models. The search then pools a few
neighbouring groups at a time and divides them anew, under the true objective
and with every model satisfied after every step. `shoal.bounds` says how far
from the optimum the result can be at most.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence

from shoal.errors import InfeasibleError
from shoal.methods import get_method
from shoal.methods.base import Method, Options, Outcome, Run
from shoal.methods.improving import Improver
from shoal.metrics.loss import gcp
from shoal.models import needs_sensitive
from shoal.models.base import Model
from shoal.table import EncodedTable, Partition, Recoding

__all__ = ["EFFORTS", "Best", "BestOptions"]

EFFORTS = {"instant": 0.4, "fast": 3.0, "normal": 27.0, "max": 270.0}
"""Each effort adds a stage to the one before it: about so many seconds on two cores at
`USUAL` records. A stage counts steps, not seconds, so that its result can be repeated."""
USUAL = 30_000
GROWTH = 0.35
"""Longer tables get more steps, but not in proportion to their length."""
ROUNDS = {"instant": 4, "fast": 12, "normal": 60, "max": 300}
LEAST_STEPS = 500
DEFAULT = "fast"


class BestOptions(Options):
    """Options of `best`."""


class Best(Method):
    """Search for the least loss, for as long as effort or time allow."""

    name = "best"
    summary = "Searches for the least loss within an effort or time, and bounds what is possible."
    promise = (
        "Every model holds in every group, and no start it tries (CutTree, hilbert, mondrian; "
        "bsgi for l; tp+ for stars) loses less; more effort never loses more. The release says "
        "how far from the optimum it can be at most."
    )
    options = BestOptions
    anytime = True
    keeps_parts = True

    def run(
        self, table: EncodedTable, models: Sequence[Model], options: Options, run: Run
    ) -> Outcome:
        """See `Method.run`."""
        assert isinstance(options, BestOptions)
        begun = time.monotonic()
        improver = Improver(table, models, run.seed)
        effort = run.effort or (DEFAULT if run.seconds is None else "max")
        name, start = _strongest_start(improver, models, run, effort)
        improver.begin(start)
        until = None if run.seconds is None else begun + run.seconds
        for stage in _stages(effort) if until is None else ("max",):
            _work_through(improver, stage, until, run)
        found = improver.partition()
        if gcp(table, _single(start, table)) < gcp(table, _single(found, table)):
            found = start  # of two that cost the same to the last digit
        facts = {"start": name, "steps": improver.steps}
        return Outcome(_single(found, table), facts)


def _work_through(improver: Improver, stage: str, until: float | None, run: Run) -> None:
    rounds = ROUNDS[stage]

    def watch(done: int, loss: float) -> None:
        run.progress(done, rounds, loss)

    improver.improve(_steps(improver, stage), rounds, watch, until)


def _stages(effort: str) -> Iterable[str]:
    names = list(EFFORTS)
    return names[: names.index(effort) + 1]


def _steps(improver: Improver, stage: str) -> int:
    """Steps that take about as long as the stage should: measured on Adult at k = 5 and 50."""
    table = improver.table
    records = min(table.n, USUAL ** (1 - GROWTH) * table.n**GROWTH)
    microseconds = (1.5 + 0.23 * improver.least) * max(1, len(table.qi)) / 8
    return max(LEAST_STEPS, int(EFFORTS[stage] * 1e6 * records / USUAL / microseconds))


def _strongest_start(
    improver: Improver, models: Sequence[Model], run: Run, effort: str
) -> tuple[str, Partition]:
    """The cheapest of the partitions that constructive methods make."""
    table = improver.table
    starts = {"cuttree": improver.cut_tree()}
    for name, settings in _constructive(table, models, effort).items():
        method = get_method(name)
        if method.refusal(models):
            continue
        try:
            outcome = method.run(table, models, method.options(**settings), Run(run.seed))
        except InfeasibleError:  # it cannot, others can
            continue
        starts[name] = outcome.recoding.partitions[0]
    losses = {name: gcp(table, _single(start, table)) for name, start in starts.items()}
    best = min(losses, key=lambda name: losses[name])
    return best, starts[best]


def _constructive(
    table: EncodedTable, models: Sequence[Model], effort: str
) -> dict[str, dict[str, str]]:
    """Methods worth a try besides CutTree, with options."""
    if effort == "instant" and not needs_sensitive(models):
        return {}
    names: dict[str, dict[str, str]] = {"hilbert": {}, "mondrian": {}}
    if needs_sensitive(models):
        names["bsgi"] = {"search": "window"}
    if table.qi and table.qi[0].suppressed:
        names["tp+"] = {}
    return names


def _single(partition: Partition, table: EncodedTable) -> Recoding:
    return Recoding.single(partition, len(table.qi))


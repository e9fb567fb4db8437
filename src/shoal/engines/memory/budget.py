"""What a policy leaves to the table: the best l, and the strongest k within a budget of loss.

**The best l** (paper 002, Corollary 3) is max(2, floor(n / n_1)): n_1 is how
often the most frequent sensitive value occurs, and nothing larger is possible.

**The dual problem**: given a budget of loss, the strongest k (or l) that fits.
Paper 004 leaves it as future work (section 7). Loss mostly grows with k, so
doubling and then halving the interval finds a k whose loss is within the budget
while that of k + 1 is not, after about 2 log2(k) trials. A heuristic's loss need
not grow at every step, so larger levels are then tried as well, at growing
distances up to twice as many; where one fits the search goes on from there. The
answer is the largest level that was found to fit, and no more is said of it.

Where records may be suppressed, those that are kept are grouped alone before a level is
judged, and on their own scales: otherwise the level, which is public, would tell how far
away a suppressed record was. (Spans of fewer records are no wider, so that the loss on
the scales of all is within the budget, too.) Once it is known who is kept, the level is
searched anew among them (`decided_by_kept`): it follows from what is published.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator

from shoal.clock import NO_LIMIT, Limit
from shoal.encoding.codebook import Codebook
from shoal.encoding.table import EncodedTable
from shoal.engines.memory.outliers import Kept, partition_kept
from shoal.errors import InfeasibleError, NotFoundError, PolicyError
from shoal.models import check_eligible, largest_l, whole_histograms
from shoal.plan import Plan
from shoal.progress import Report, silent
from shoal.release import Budget

__all__ = ["best_l", "decided_by_kept", "strongest"]

Alone = Callable[[Kept, Plan, Limit | None], Kept]
"""Groups of kept records anew, under a plan, until a limit."""
Grouped = Callable[[Plan, Limit], Kept | None]
"""Groups under a plan, made until a limit; None where there are none."""
TRIAL_SHARE = 1 / 16
"""Of the time that is left, what one trial may take: about twenty leave a fourth of it."""


def best_l(book: Codebook) -> int:
    """The largest l that every sensitive column allows, and 2 at least.

    Where one value holds more than half of the records not even 2 is possible:
    the eligibility check then says so, and how large its share is.
    """
    if not book.sensitive:
        raise PolicyError("l = auto: expected a sensitive column to spread; got none")
    return max(2, _possible_l(book))


def _possible_l(book: Codebook) -> int:
    """Largest l for which the table as a whole is diverse, of records or persons."""
    return min(largest_l(c.largest, int(c.sizes.sum())) for c in whole_histograms(book))


def strongest(
    table: EncodedTable,
    plan: Plan,
    report: Report = silent,
    limit: Limit = NO_LIMIT,
    alone: Alone | None = None,
) -> tuple[Plan, Budget, Kept]:
    """The plan with the largest k or l found whose loss is within ``policy.max_loss``.

    Returns the plan, what the budget bought, and the groups that show it.

    Parameters
    ----------
    table, plan
        The table, and a plan with a budget; its other models stay as they are.
    report
        Told how far each trial is.
    limit
        Until when the whole run works: each trial gets a share of what is left.
    alone
        Groups kept records anew, as if there were no others; not asked where all are kept.
    """
    most = _largest(table.codebook, plan.policy.search)
    return _searched(
        most, plan, limit, lambda trial, until: _kept(table, trial, report, until, alone)
    )


def decided_by_kept(
    kept: Kept, undecided: Plan, alone: Alone, limit: Limit = NO_LIMIT
) -> tuple[Plan, Budget | None, Kept] | None:
    """What is left to the table, decided by the records that are kept: it is public.

    Counted with everybody, the largest l would tell whether one who was dropped had the most
    frequent value. None where what was decided with everybody has to stay.
    """
    plan = undecided
    if plan.policy.l == "auto":
        plan = plan.decided(l=best_l(kept.table.codebook))

    def grouped(trial: Plan, until: Limit) -> Kept | None:
        found = alone(kept, trial, until)
        return None if found is kept else found

    if not plan.open:
        found = alone(kept, plan, None)
        return None if found is kept else (plan, None, found)
    try:
        return _searched(_largest(kept.table.codebook, plan.policy.search), plan, limit, grouped)
    except (InfeasibleError, NotFoundError):
        return None


def _searched(most: int, plan: Plan, limit: Limit, grouped: Grouped) -> tuple[Plan, Budget, Kept]:
    """The plan with the largest level up to `most` whose groups fit, and these groups."""
    name, most_loss = plan.policy.search, plan.policy.max_loss
    assert most_loss is not None
    losses: dict[int, float] = {}
    fitting_groups: dict[int, Kept] = {}

    def fits(level: int) -> bool:
        if level not in losses:
            kept = grouped(plan.decided(**{name: level}), limit.share(TRIAL_SHARE))
            losses[level] = math.inf if kept is None else kept.loss_alone
            if kept is not None and losses[level] <= most_loss:
                for weaker in [known for known in fitting_groups if known < level]:
                    del fitting_groups[weaker]  # groups of a long table are not kept for nothing
                fitting_groups[level] = kept
        return losses[level] <= most_loss

    fitting = _largest_found(fits, most, look_beyond=not plan.searches)
    if fitting < 2:
        cost = losses.get(2, math.inf)
        what = (
            f"{name} = 2 already loses {cost:.4f}" if cost <= 1 else f"no {name} >= 2 is possible"
        )
        raise InfeasibleError(f"no release is within a loss of {most_loss}: {what}")
    above = losses.get(fitting + 1, math.inf)
    budget = Budget(
        most_loss, name, fitting, losses[fitting], len(losses), above if above <= 1 else None
    )
    return plan.decided(**{name: fitting}), budget, fitting_groups[fitting]


def _kept(
    table: EncodedTable, plan: Plan, report: Report, limit: Limit, alone: Alone | None
) -> Kept | None:
    """Groups under a plan; None where there are none."""
    try:
        check_eligible(table.codebook, plan.models)
        kept = partition_kept(table, plan, report, limit, regrouped=alone is not None)
    except InfeasibleError:
        return None
    if alone is None or kept.rows is None:
        return kept
    try:
        return alone(kept, plan, limit)
    except (InfeasibleError, NotFoundError):
        return None


def _largest_found(fits: Callable[[int], bool], most: int, look_beyond: bool) -> int:
    """The largest level seen to fit; 1 if not even 2 does."""
    fitting = _bracket(fits, 1, most)
    while look_beyond and fitting > 1:
        farther = next(filter(fits, _beyond(fitting, most)), None)
        if farther is None:
            break
        fitting = _bracket(fits, farther, most)
    return fitting


def _beyond(level: int, most: int) -> Iterator[int]:
    """Levels above one whose next does not fit, farther and farther away: up to twice as many."""
    step, following = 2, 3
    while level + step <= min(most, 2 * level):
        yield level + step
        step, following = following, step + following


def _bracket(fits: Callable[[int], bool], fitting: int, most: int) -> int:
    """A level from `fitting` on that fits while the next one does not."""
    too_much = 2 * fitting
    while too_much <= most and fits(too_much):
        fitting, too_much = too_much, 2 * too_much
    too_much = min(too_much, most + 1)
    while too_much - fitting > 1:
        middle = (fitting + too_much) // 2
        if fits(middle):
            fitting = middle
        else:
            too_much = middle
    return fitting


def _largest(book: Codebook, name: str) -> int:
    """The largest level that any release of the table can have."""
    if name == "k":
        return book.records
    if not book.sensitive:
        raise PolicyError("search = l: needs a sensitive column; none is declared")
    return _possible_l(book)

"""What a policy leaves to the table: the best l, and the strongest k within a budget of loss.

**The best l** (paper 002, Corollary 3) is max(2, floor(n / n_1)): n_1 is how
often the most frequent sensitive value occurs, and nothing larger is possible.

**The dual problem**: given a budget of loss, the strongest k (or l) that fits.
Paper 004 leaves it as future work (section 7). Loss grows with k, so doubling
and then halving the interval finds a k whose loss is within the budget while
that of k + 1 is not, after about 2 log2(k) trials. A heuristic's loss need not
grow at every single step; what is promised is exactly what is reported: this k
fits, the next does not.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from shoal.encoding.codebook import Codebook
from shoal.encoding.table import EncodedTable
from shoal.engines.memory.outliers import partition_kept
from shoal.errors import InfeasibleError, PolicyError
from shoal.models import largest_l, whole_histograms
from shoal.plan import Plan
from shoal.progress import Report, silent
from shoal.release import Budget

__all__ = ["best_l", "strongest"]


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
    return min(largest_l(c.counts, int(c.sizes.sum())) for c in whole_histograms(book))


def strongest(table: EncodedTable, plan: Plan, report: Report = silent) -> tuple[Plan, Budget]:
    """The plan with the largest k or l whose loss is within ``policy.max_loss``.

    Parameters
    ----------
    table, plan
        The table, and a plan with a budget; its other models stay as they are.
    report
        Told how far each trial is.
    """
    name, most_loss = plan.policy.search, plan.policy.max_loss
    assert most_loss is not None
    most = _largest(table.codebook, name)
    losses: dict[int, float] = {}

    def fits(level: int) -> bool:
        if level not in losses:
            losses[level] = _loss(table, plan.decided(**{name: level}), report)
        return losses[level] <= most_loss

    fitting, too_much = _bracket(fits, most)
    if fitting < 2:
        cost = losses.get(2, math.inf)
        what = (
            f"{name} = 2 already loses {cost:.4f}" if cost <= 1 else f"no {name} >= 2 is possible"
        )
        raise InfeasibleError(f"no release is within a loss of {most_loss}: {what}")
    above = losses[too_much] if too_much <= most else math.inf
    budget = Budget(
        most_loss, name, fitting, losses[fitting], len(losses), above if above <= 1 else None
    )
    return plan.decided(**{name: fitting}), budget


def _loss(table: EncodedTable, plan: Plan, report: Report) -> float:
    """Loss of a release under a plan; infinite where there is none."""
    try:
        return partition_kept(table, plan, report).loss
    except InfeasibleError:
        return math.inf


def _bracket(fits: Callable[[int], bool], most: int) -> tuple[int, int]:
    """Neighbours ``level, level + 1`` of which the first fits and the second does not."""
    fitting, too_much = 1, 2
    while too_much <= most and fits(too_much):
        fitting, too_much = too_much, 2 * too_much
    too_much = min(too_much, most + 1)
    while too_much - fitting > 1:
        middle = (fitting + too_much) // 2
        if fits(middle):
            fitting = middle
        else:
            too_much = middle
    return fitting, too_much


def _largest(book: Codebook, name: str) -> int:
    """The largest level that any release of the table can have."""
    if name == "k":
        return book.records
    if not book.sensitive:
        raise PolicyError("search = l: needs a sensitive column; none is declared")
    return _possible_l(book)

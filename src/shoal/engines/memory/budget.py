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

from collections.abc import Callable
from typing import Any

from shoal.encoding.codebook import Codebook
from shoal.errors import InfeasibleError, PolicyError
from shoal.models import largest_l, whole_histograms
from shoal.policy import Policy

__all__ = ["best_l", "strongest"]

Trial = Callable[[Policy], float]


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


def strongest(book: Codebook, policy: Policy, loss_of: Trial) -> tuple[Policy, dict[str, Any]]:
    """The policy with the largest k or l whose loss is within ``policy.max_loss``.

    Parameters
    ----------
    book, policy
        The table's codebook, and a policy with a budget; its other models stay as they are.
    loss_of
        The loss (GCP) of a release under a policy.

    Returns
    -------
    policy, facts
        The policy with k (or l) filled in, and what was found, for the manifest.
    """
    name, budget = policy.search, policy.max_loss
    assert budget is not None
    if getattr(policy, name) is not None:
        raise PolicyError(f"max_loss searches the largest {name}: do not give {name} as well")
    most = _largest(book, name)
    losses: dict[int, float] = {}

    def fits(level: int) -> bool:
        if level not in losses:
            try:
                losses[level] = loss_of(policy.override(**{name: level}))
            except InfeasibleError:
                losses[level] = float("inf")
        return losses[level] <= budget

    fitting, too_much = _bracket(fits, most)
    if fitting < 2:
        cost = losses.get(2, float("inf"))
        what = (
            f"{name} = 2 already loses {cost:.4f}" if cost <= 1 else f"no {name} >= 2 is possible"
        )
        raise InfeasibleError(f"no release is within a loss of {budget}: {what}")
    facts: dict[str, Any] = {
        "max_loss": budget, name: fitting, "loss": round(losses[fitting], 9), "trials": len(losses),
    }  # fmt: skip
    if too_much <= most and losses[too_much] <= 1:
        facts["next"] = {name: too_much, "loss": round(losses[too_much], 9)}
    return policy.override(**{name: fitting}), facts


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

"""The exact minimum: no release under the models loses less.

Minimising stars is NP-hard from k = 3 (paper 001, section 3) and from l = 3
(paper 000, section 4) on, so this is for small tables, for judging other methods,
and for the one case that is easy: l = 2 with two sensitive values. Three solvers
share the work, each with its proof in its module: `shoal.methods.exact`.
"""

# ruff: noqa: E741  (l is the word for it)

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from pydantic import Field

from shoal.encoding.exempt import any_exempt
from shoal.encoding.table import EncodedTable, Partition, Recoding
from shoal.errors import PolicyError
from shoal.methods.base import AMONG_EQUALS, Method, Options, Outcome, Run
from shoal.methods.exact import (
    INSTEAD,
    Deadline,
    Minimum,
    group_losses,
    matching,
    partitioning,
    subsets,
)
from shoal.methods.hilbert import Hilbert, HilbertOptions
from shoal.models import Model

__all__ = ["Optimal", "OptimalOptions"]

FEW = 18
"""Up to so many records trying all subsets takes less than a second, whatever k and l."""


class OptimalOptions(Options):
    """Options of `optimal`."""

    time_limit: float = Field(default=60.0, gt=0, allow_inf_nan=False)
    """Seconds after which the search gives up: with an error, never with less than the optimum."""


class Optimal(Method[OptimalOptions]):
    """Integer programming, matching, or all subsets: whichever fits models and table."""

    name = "optimal"
    summary = "The least loss there is, proven; small tables only."
    promise = (
        "Every model holds in every group, and no release of the table group by group has a lower "
        "loss (with suppression: fewer stars). Refuses tables that are too large to prove it."
    )
    options = OptimalOptions
    drawn = AMONG_EQUALS
    recodings = ("suppress", "generalise")
    keeps_parts = True
    exact = True

    def run(
        self, table: EncodedTable, models: Sequence[Model], options: OptimalOptions, run: Run
    ) -> Outcome:
        """See `Method.run`."""
        minimum = _minimum(table, models, Deadline(options.time_limit), run)
        run.progress(1, 1)
        loss = float(group_losses(table, minimum.partition).sum())
        recoding = Recoding.single(minimum.partition, len(table.qi))
        facts = {**minimum.facts, "least_loss": round(loss, 9)}
        return Outcome(recoding, facts, proof=_proof(table, loss))


def _minimum(table: EncodedTable, models: Sequence[Model], deadline: Deadline, run: Run) -> Minimum:
    """The minimum by the solver that goes farthest with these models."""
    counts = _counts(table, models)
    if counts is None:
        _refuse_above(table.n, subsets.MOST_RECORDS, models)
        return subsets.least_subsets(table, models, deadline)
    k, l = counts
    if k <= 2 == l and len(np.unique(table.sensitive_codes[0])) == 2:
        _refuse_above(table.n, matching.MOST_RECORDS, models)
        return matching.least_pairs(table, deadline)
    if table.n <= FEW:
        return subsets.least_subsets(table, models, deadline)
    if k == l == 1:
        return Minimum(Partition.single_records(table.n), {"solver": "partitioning"})
    most = partitioning.most_kinds(table, k, l)
    _refuse_above(partitioning.count_kinds(table, l), most, models, "distinct records")
    start = Hilbert().run(table, models, HilbertOptions(), run).recoding
    found = start.partitions[0] if start.partitions else Partition.whole(table.n)
    return partitioning.least_groups(table, k, l, found, deadline)


def _counts(table: EncodedTable, models: Sequence[Model]) -> tuple[int, int] | None:
    """The k and l that say all that the models ask for, 1 for nothing; None if they ask for more.

    More sensitive columns than one, persons, and models that do not amount to
    counting records have no known bound on the groups that need be looked at.
    """
    k, l = 1, 1
    for model in models:
        if not (model.size_and_cap and model.local and model.cap.numerator == 1):
            return None
        k, l = max(k, model.k_asked or 1), max(l, model.values_by_cap)
    one = len(table.sensitive) == 1 and not any_exempt(table)
    counted = table.person is None and (l == 1 or one)
    return (k, l) if counted else None


def _refuse_above(size: int, most: int, models: Sequence[Model], what: str = "records") -> None:
    """Raise, before the work starts, if the minimum cannot be found in reasonable time."""
    if size > most:
        asked = ", ".join(map(str, models))
        raise PolicyError(
            f"method optimal: expected at most about {most:,} {what} with {asked}, as the problem "
            f"is NP-hard; the table has {size:,}: {INSTEAD}"
        )


def _proof(table: EncodedTable, loss: float) -> str:
    """What is proven, in a sentence."""
    start = "optimal: no release of this table under these models by "
    if not all(column.suppressed for column in table.qi):
        share = loss / (table.n * table.costs.weight.sum())
        return f"{start}generalisation group by group has a lower loss (GCP {share:.6f})"
    if (table.costs.weight == 1).all():
        return f"{start}suppression has fewer than {round(loss)} stars"
    return f"{start}suppression has a lower weighted number of stars than {loss:g}"

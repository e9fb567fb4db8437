"""Incognito: every attribute climbs to one level, the same for all records.

LeFevre, DeWitt and Ramakrishnan, "Incognito: Efficient full-domain k-anonymity"
(SIGMOD 2005), with any model that is closed under union in place of k-anonymity.
Paper 002 compares with it. `shoal.methods.fulldomain` has the search.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from shoal.encoding.table import EncodedTable, Partition
from shoal.errors import PolicyError
from shoal.kernels.random import seed_words
from shoal.methods.base import AMONG_EQUALS, Method, Options, Outcome, Run
from shoal.methods.fulldomain import Search
from shoal.methods.leaving_out import Fit, least_within, proof_within, recoding_at
from shoal.methods.levels import AttributeLevels, levels_of
from shoal.metrics.loss import attribute_ncp, gcp
from shoal.models import Model

__all__ = ["Incognito", "IncognitoOptions"]

MOST_NODES = 10_000_000
"""Larger lattices are refused."""
ROUNDING = 1e-9
"""Losses that differ by less are equal."""
MANY_NODES = 1_000_000
"""Of larger lattices the user is warned."""

Metric = Literal["gcp", "dm", "c_avg", "height"]
METRICS: dict[Metric, str] = {
    "gcp": "loss (GCP)",
    "dm": "discernibility (DM)",
    "c_avg": "average class size",
    "height": "sum of levels",
}
Integers = NDArray[np.int64]


class IncognitoOptions(Options):
    """Options of `incognito`."""

    metric: Metric = "gcp"
    """What the best of the minimal generalisations has least of."""


class Incognito(Method[IncognitoOptions]):
    """All minimal full-domain generalisations; the best of them is published.

    A minimal node satisfies the models, and none below it does. The best node is
    a minimal one, because no metric falls on the way up. One step up replaces
    the blocks of one attribute by unions of them. GCP: a union costs at least as
    much as each of its parts (more of a range, a lowest common ancestor at least
    as high, more values of a set), and the other attributes cost what they did.
    DM and average class size: classes are united, of which ``(a + b)**2 >= a**2 +
    b**2``, and their number does not grow. The sum of levels grows by one or more.
    So below any node that satisfies the models lies a minimal one that loses no more.
    """

    name = "incognito"
    summary = "Climbs hierarchies, one level an attribute for all records; provably the best."
    promise = (
        "Every class satisfies every model, and no other choice of levels that does loses less. "
        "Models must be closed under union: with persons k, distinct l and (k, e) are."
    )
    options = IncognitoOptions
    drawn = AMONG_EQUALS
    recodings = ("generalise",)
    grows_classes = True

    def cautions(
        self, table: EncodedTable, models: Sequence[Model], options: IncognitoOptions
    ) -> Sequence[str]:
        """See `Method.cautions`."""
        nodes = math.prod(len(each.blocks) for each in _levels(table))
        if MANY_NODES < nodes <= MOST_NODES:
            return (
                f"the lattice has {nodes:,} nodes: this can take minutes; "
                "fewer quasi-identifiers or levels make it fast",
            )
        return ()

    def run(
        self, table: EncodedTable, models: Sequence[Model], options: IncognitoOptions, run: Run
    ) -> Outcome:
        """See `Method.run`."""
        attribute_levels = _levels(table)
        nodes = _lattice_size(table, attribute_levels)
        search = Search(table, models, attribute_levels)
        minimal = search.minimal_nodes(run.progress)
        best = _best(table, attribute_levels, search, minimal, options.metric, run.seed)
        levels = {
            column.name: each.levels[at]
            for column, each, at in zip(table.qi, attribute_levels, best, strict=True)
        }
        facts = {
            "levels": levels,
            "minimal_nodes": len(minimal),
            "nodes": nodes,
            "checked": search.checked,
        }
        proof = _proof(nodes, models, options.metric)
        return Outcome(recoding_at(table, attribute_levels, best), facts, proof=proof)

    def leave_out(
        self,
        table: EncodedTable,
        models: Sequence[Model],
        options: IncognitoOptions,
        run: Run,
        most: int,
        fit: Fit | None,
    ) -> tuple[Integers, Outcome]:
        """See `Method.leave_out`."""
        if options.metric != "gcp":
            raise PolicyError(
                f"incognito: max_suppressed weighs records by the loss; got metric = "
                f"{options.metric}: leave out one of the two"
            )
        attribute_levels = _levels(table)
        nodes = _lattice_size(table, attribute_levels)
        found = least_within(table, models, attribute_levels, most, fit, run.progress)
        # automatic levels follow from the values that are kept, and only from those
        rest = table.take(found.kept)
        outcome = self.run(rest, models, options, run)
        lost = gcp(rest, outcome.recoding) * rest.n + table.n - rest.n
        if lost > found.total + ROUNDING * table.n:  # they do not suit as well: nobody is left out
            return np.arange(table.n), self.run(table, models, options, run)
        what = f"choice among {nodes:,} combinations of levels"
        return found.kept, replace(outcome, proof=proof_within(what, models, fit))


def _levels(table: EncodedTable) -> list[AttributeLevels]:
    return [levels_of(*each) for each in zip(table.qi, table.counts, strict=True)]


def _lattice_size(table: EncodedTable, attribute_levels: Sequence[AttributeLevels]) -> int:
    """Number of nodes; refused if there are too many."""
    nodes = math.prod(len(each.blocks) for each in attribute_levels)
    if nodes > MOST_NODES:
        levels = ", ".join(
            f"{c.name} {len(r.blocks)}" for c, r in zip(table.qi, attribute_levels, strict=True)
        )
        raise PolicyError(
            f"incognito: expected a lattice of at most {MOST_NODES:,} nodes; got {nodes:,} "
            f"(levels: {levels}): take fewer quasi-identifiers, coarsen some or give them "
            "hierarchies of fewer levels, or choose method mondrian"
        )
    return nodes


def _proof(nodes: int, models: Sequence[Model], metric: Metric) -> str:
    asked = " and ".join(map(str, models))
    return (
        f"No node of the lattice of {nodes:,} full-domain generalisations that satisfies "
        f"{asked} has a lower {METRICS[metric]}."
    )


def _best(
    table: EncodedTable,
    attribute_levels: Sequence[AttributeLevels],
    search: Search,
    minimal: Integers,
    metric: Metric,
    seed: int,
) -> list[int]:
    """The minimal node that loses least; of equals by GCP, then by levels, then by the seed."""
    loss = np.zeros(len(minimal))
    height = np.zeros(len(minimal), dtype=np.int64)
    for a, (column, each) in enumerate(zip(table.qi, attribute_levels, strict=True)):
        by_value = Partition.from_group_ids(table.codes[a])
        ncp = [attribute_ncp(table, a, by_value, each.domain(r)) for r in range(len(each.blocks))]
        loss += column.weight * np.array(ncp)[minimal[:, a]]
        height += np.array(each.levels)[minimal[:, a]]
    loss = np.rint(loss * 1e12)  # what differs by rounding only is equal
    chosen: NDArray[Any] = height if metric == "height" else loss
    if metric == "dm":
        chosen = np.array([search.sizes_of(node)[0] for node in minimal])
    elif metric == "c_avg":
        chosen = -np.array([search.sizes_of(node)[1] for node in minimal])
    drawn = np.random.default_rng(seed_words(seed, "incognito")).permutation(len(minimal))
    minimal_in_order = np.lexsort(minimal.T[::-1])  # whatever order the search met them in
    ties = np.empty_like(drawn)
    ties[minimal_in_order] = drawn
    best = np.lexsort([ties, height, loss, chosen])[0]
    return [int(rung) for rung in minimal[best]]

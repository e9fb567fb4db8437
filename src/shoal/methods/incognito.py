"""Incognito: every attribute climbs to one level, the same for all records.

LeFevre, DeWitt and Ramakrishnan, "Incognito: Efficient full-domain k-anonymity"
(SIGMOD 2005), with any model that is closed under union in place of k-anonymity.
Paper 002 compares with it. `shoal.methods.fulldomain` has the search.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from shoal.encoding.classes import class_ids
from shoal.encoding.table import EncodedTable, Partition, Recoding
from shoal.errors import PolicyError
from shoal.methods.base import Method, Options, Outcome, Run
from shoal.methods.fulldomain import Search
from shoal.methods.levels import AttributeLevels, levels_of
from shoal.metrics.loss import attribute_ncp
from shoal.models import Model

__all__ = ["Incognito", "IncognitoOptions"]

MOST_NODES = 10_000_000
"""Larger lattices are refused."""
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
    recodings = ("generalise",)
    grows_classes = True

    def cautions(
        self, table: EncodedTable, models: Sequence[Model], options: IncognitoOptions
    ) -> Sequence[str]:
        """See `Method.cautions`."""
        nodes = math.prod(len(levels_of(column).blocks) for column in table.qi)
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
        attribute_levels = [levels_of(column) for column in table.qi]
        nodes = _lattice_size(table, attribute_levels)
        search = Search(table, models, attribute_levels)
        minimal = search.minimal_nodes(run.progress)
        best = _best(table, attribute_levels, search, minimal, options.metric)
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
        return Outcome(_recoding(table, attribute_levels, best), facts, proof=proof)


def _recoding(
    table: EncodedTable, attribute_levels: Sequence[AttributeLevels], node: Sequence[int]
) -> Recoding:
    """The classes of a node, and the blocks of values they are published as."""
    domains = tuple(each.domain(at) for each, at in zip(attribute_levels, node, strict=True))
    blocks = [each.blocks[at] for each, at in zip(attribute_levels, node, strict=True)]
    ids, _ = class_ids(
        [(block[row], int(block[-1]) + 1) for row, block in zip(table.codes, blocks, strict=True)],
        table.n,
    )
    return Recoding.single(Partition.from_group_ids(ids), len(table.qi), domains)


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
) -> list[int]:
    """The minimal node that loses least; of equals by GCP, then by levels, then the first."""
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
    best = np.lexsort([*minimal.T[::-1], height, loss, chosen])[0]
    return [int(rung) for rung in minimal[best]]

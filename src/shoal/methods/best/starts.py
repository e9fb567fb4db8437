"""Where the search of `best` begins: the cheapest of some partitions made in one go."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from shoal.encoding.table import EncodedTable, Partition, Recoding
from shoal.errors import InfeasibleError
from shoal.methods import get_method
from shoal.methods.base import Run
from shoal.methods.best.improver import FEW, Improver
from shoal.methods.best.stars import asked_by, only_stars
from shoal.metrics.loss import gcp
from shoal.models import needs_sensitive
from shoal.models.base import Model

__all__ = ["strongest_start"]


def strongest_start(
    table: EncodedTable, models: Sequence[Model], run: Run
) -> tuple[str, Partition]:
    """The cheapest of the partitions that constructive methods make, and its name.

    The same at every effort, so that more of it continues where less of it ended.
    """
    found = {}
    if not only_stars(table) or table.n <= FEW:
        found["cuttree"] = Improver(table, models, run.seed).cut_tree()
    for name, settings in _constructive(table, models):
        method = get_method(name)
        if method.refusal(models):
            continue
        try:
            outcome = method.run(table, models, method.options(**settings), Run(run.seed))
        except InfeasibleError:  # it cannot, others can
            continue
        found[name] = outcome.recoding.partitions[0]
    losses = {name: gcp(table, _single(start, table)) for name, start in found.items()}
    best = min(losses, key=lambda name: losses[name])
    return best, found[best]


def _constructive(
    table: EncodedTable, models: Sequence[Model]
) -> Iterator[tuple[str, dict[str, Any]]]:
    """Methods worth a try besides CutTree, with options."""
    if only_stars(table):
        yield "tp", {}
        yield "tp+", {}
        if asked_by(models, table) is not None:
            return  # the search of patterns finds more than any of the others
    if needs_sensitive(models):
        yield "hilbert", {}
        yield "mondrian", {}
        yield "bsgi", {"search": "window"}


def _single(partition: Partition, table: EncodedTable) -> Recoding:
    return Recoding.single(partition, len(table.qi))
